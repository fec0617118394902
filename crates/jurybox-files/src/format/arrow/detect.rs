//! Detection of column kinds from the first cells of Arrow arrays, as in text formats.

use super::numbers::{is_numeric, is_text, numbers};
use super::text::each_text;
use crate::cell_number::{self, Notation, ParsedCell};
use crate::detect::{ColumnDetector, ROWS};
use crate::roles::ColumnInfo;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

/// Whether the cells of this type decide the column's kind: numbers may be identifiers, and text
/// may hold numbers. For all other types, the type alone decides.
pub(crate) fn is_looked_at(data_type: &DataType) -> bool {
    is_numeric(data_type) || is_text(data_type) || *data_type == DataType::Null
}

/// Sets the kinds of columns from the first rows of the batches. A column that no batch has keeps
/// its kind.
pub(crate) fn look<'a>(
    columns: &mut [ColumnInfo],
    batches: impl Iterator<Item = &'a RecordBatch>,
    notation: &Notation,
) {
    let mut looks: Vec<Option<ColumnDetector>> = columns.iter().map(|_| None).collect();
    let mut left = ROWS;
    for batch in batches {
        let rows = batch.num_rows().min(left);
        if rows == 0 {
            continue;
        }
        let schema = batch.schema();
        // The columns of a batch are in the order of `columns`; some may be absent.
        let mut fields = schema.fields().iter().zip(batch.columns()).peekable();
        for (found, look) in columns.iter().zip(&mut looks) {
            let Some((_, array)) = fields.next_if(|(field, _)| *field.name() == found.name) else { continue };
            if is_looked_at(array.data_type()) {
                see(look.get_or_insert_default(), &array.slice(0, rows), notation);
            }
        }
        left -= rows;
        if left == 0 {
            break;
        }
    }
    for (found, look) in columns.iter_mut().zip(looks) {
        if let Some(look) = look {
            let (name, data_type) = (std::mem::take(&mut found.name), found.data_type.take());
            *found = ColumnInfo { data_type, nested: found.nested, ..look.found(name) };
        }
    }
}

/// Adds the cells of an array to the statistics of a column.
fn see(look: &mut ColumnDetector, array: &ArrayRef, notation: &Notation) {
    match array.data_type() {
        DataType::Null => (0..array.len()).for_each(|_| look.see_stored(ParsedCell::Missing)),
        // As text, so that a column of `true` alone counts as one word.
        DataType::Boolean => array.as_boolean().iter().for_each(|flag| match flag {
            None => look.see_stored(ParsedCell::Missing),
            Some(flag) => look.see(if flag { b"true" } else { b"false" }, notation),
        }),
        kind if is_numeric(kind) => {
            // Only decimals that are read from their text reach the callback. Their cells are
            // numbers or missing.
            let value = |cell| if let ParsedCell::Number(value) = cell { value } else { f64::NAN };
            if let Ok(values) = numbers(array, notation, &mut |_, cell, _| Ok(value(cell))) {
                (0..values.len()).for_each(|row| look.see_stored(cell_number::of(values.get(row))));
            }
        }
        _ => {
            let Ok(()) = each_text(array, |_, cell| {
                look.see(cell.as_bytes(), notation);
                Ok::<(), std::convert::Infallible>(())
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::ColumnKind;
    use arrow_array::types::Int8Type;
    use arrow_array::{
        BooleanArray, Decimal128Array, DictionaryArray, Float64Array, LargeStringArray, StringArray,
        StringViewArray, UInt64Array,
    };
    use std::path::Path;
    use std::sync::Arc;

    fn kind(array: ArrayRef) -> ColumnKind {
        let batch = RecordBatch::try_from_iter_with_nullable([("a", array, true)]).unwrap();
        let mut columns = super::super::columns(Path::new("t"), batch.schema_ref()).unwrap();
        look(
            &mut columns,
            [&batch.slice(0, 2), &batch.slice(2, batch.num_rows() - 2)].into_iter(),
            &Notation::default(),
        );
        columns[0].kind
    }

    #[test]
    fn text_is_judged_by_its_cells_in_every_type() {
        let cells = vec![Some("0.5"), None, Some("timeout"), Some("0,25"), Some("80%")];
        let dictionary: DictionaryArray<Int8Type> = cells.iter().copied().collect();
        for array in [
            Arc::new(StringArray::from(cells.clone())) as ArrayRef,
            Arc::new(LargeStringArray::from(cells.clone())),
            Arc::new(StringViewArray::from(cells)),
            Arc::new(dictionary),
        ] {
            assert_eq!(kind(array), ColumnKind::Number);
        }
        assert_eq!(kind(Arc::new(StringArray::from(vec!["a", "2", "b"]))), ColumnKind::Text);
        assert_eq!(
            kind(Arc::new(StringArray::from(vec![None::<&str>, Some("n/a"), None]))),
            ColumnKind::Empty
        );
        assert_eq!(
            kind(Arc::new(StringArray::from(vec!["1,234", "2,500", "7,100"]))),
            ColumnKind::TwoNumbers
        );
        let nothing = DictionaryArray::<Int8Type>::from_iter([None::<&str>, None, None]);
        assert_eq!(kind(Arc::new(nothing)), ColumnKind::Empty);
    }

    #[test]
    fn identifiers_are_recognised_by_value_not_by_type() {
        assert_eq!(
            kind(Arc::new(Float64Array::from_iter_values((7..12).map(f64::from)))),
            ColumnKind::Serial
        );
        assert_eq!(kind(Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5, 3.5, 4.5]))), ColumnKind::Number);
        let large = UInt64Array::from_iter_values((0..40).map(|n| (1 << 63) + n * n));
        assert_eq!(kind(Arc::new(large)), ColumnKind::Serial);
        let wide = Decimal128Array::from_iter_values((0..40).map(|n| (1 << 90) + n * n));
        assert_eq!(kind(Arc::new(wide.with_precision_and_scale(38, 0).unwrap())), ColumnKind::Serial);
        assert_eq!(kind(Arc::new(BooleanArray::from(vec![true; 5]))), ColumnKind::OneWord);
        assert_eq!(kind(Arc::new(BooleanArray::from(vec![true, false, true]))), ColumnKind::Number);
        assert_eq!(kind(Arc::new(Float64Array::from(vec![None::<f64>; 5]))), ColumnKind::Empty);
    }
}
