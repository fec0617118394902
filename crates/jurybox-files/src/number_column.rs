//! A column of numbers in one of several storages: owned, the bytes of a Parquet page, or an Arrow
//! array.

use crate::cell_number::LIMIT;
use arrow_array::{Float32Array, Float64Array};
use bytes::Bytes;
use jurybox::Form;

/// The numbers of a column, NaN where missing.
#[derive(Debug, Clone)]
pub(crate) enum NumberColumn {
    Own(Vec<f64>),
    /// Little-endian doubles, possibly not aligned.
    Doubles(Bytes),
    /// Little-endian floats, possibly not aligned.
    Floats(Bytes),
    /// An array without nulls.
    Array64(Float64Array),
    /// An array without nulls.
    Array32(Float32Array),
}

/// Evaluates an expression with `$values` bound to an iterator over the numbers, compiled
/// separately for each storage.
macro_rules! each_kind {
    ($numbers:expr, $values:ident => $body:expr) => {
        match $numbers {
            NumberColumn::Own(list) => {
                let $values = list.iter().copied();
                $body
            }
            NumberColumn::Doubles(bytes) => {
                let $values = bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes));
                $body
            }
            NumberColumn::Floats(bytes) => {
                let $values = bytes.as_chunks().0.iter().map(|&bytes| f64::from(f32::from_le_bytes(bytes)));
                $body
            }
            NumberColumn::Array64(array) => {
                let $values = array.values().iter().copied();
                $body
            }
            NumberColumn::Array32(array) => {
                let $values = array.values().iter().map(|&value| f64::from(value));
                $body
            }
        }
    };
}

impl NumberColumn {
    /// A column of `rows` missing numbers.
    pub(crate) fn missing(rows: usize) -> NumberColumn {
        NumberColumn::Own(vec![f64::NAN; rows])
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            NumberColumn::Own(list) => list.len(),
            NumberColumn::Doubles(bytes) => bytes.len() / 8,
            NumberColumn::Floats(bytes) => bytes.len() / 4,
            NumberColumn::Array64(array) => array.len(),
            NumberColumn::Array32(array) => array.len(),
        }
    }

    /// The number of a row, which must exist.
    pub(crate) fn get(&self, row: usize) -> f64 {
        match self {
            NumberColumn::Own(list) => list[row],
            NumberColumn::Doubles(bytes) => f64::from_le_bytes(bytes.as_chunks().0[row]),
            NumberColumn::Floats(bytes) => f64::from(f32::from_le_bytes(bytes.as_chunks().0[row])),
            NumberColumn::Array64(array) => array.value(row),
            NumberColumn::Array32(array) => f64::from(array.value(row)),
        }
    }

    /// Whether all numbers are missing.
    pub(crate) fn is_missing(&self) -> bool {
        each_kind!(self, values => { let mut values = values; values.all(f64::is_nan) })
    }

    /// Rows `from` to `to`; pages and arrays are shared, not copied.
    pub(crate) fn slice(&self, from: usize, to: usize) -> NumberColumn {
        match self {
            NumberColumn::Own(list) => NumberColumn::Own(list[from..to].to_vec()),
            NumberColumn::Doubles(bytes) => NumberColumn::Doubles(bytes.slice(8 * from..8 * to)),
            NumberColumn::Floats(bytes) => NumberColumn::Floats(bytes.slice(4 * from..4 * to)),
            NumberColumn::Array64(array) => NumberColumn::Array64(array.slice(from, to - from)),
            NumberColumn::Array32(array) => NumberColumn::Array32(array.slice(from, to - from)),
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<f64> {
        each_kind!(self, values => values.collect())
    }

    pub(crate) fn into_vec(self) -> Vec<f64> {
        match self {
            NumberColumn::Own(list) => list,
            other => other.to_vec(),
        }
    }

    /// The numbers times `sign`, which is 1 or -1.
    #[must_use]
    pub(crate) fn signed(self, sign: f64) -> NumberColumn {
        if sign < 0.0 {
            NumberColumn::Own(each_kind!(&self, values => values.map(|x| -x).collect()))
        } else {
            self
        }
    }

    /// Adds to each row's sum the term of its number under `form`. Returns the first row whose
    /// number exceeds [`LIMIT`] in magnitude.
    pub(crate) fn add_to(&self, form: &Form, evaluator: usize, sums: &mut [f64]) -> Option<usize> {
        // Counted without an early exit, so that the compiler can vectorise the loop.
        let mut bad = 0_u64;
        each_kind!(self, values => {
            let counted = values.inspect(|x| bad += u64::from(x.abs() > LIMIT));
            form.add(evaluator, counted, sums);
        });
        if bad == 0 { None } else { self.unusable() }
    }

    /// Writes the numbers from row `start` on into `places`, to its first element and then to every
    /// `step`-th.
    pub(crate) fn spread(&self, start: usize, places: &mut [f64], step: usize) {
        each_kind!(self, values => {
            let mut values = values;
            if start > 0 {
                values.nth(start - 1);
            }
            for (places, x) in places.chunks_mut(step).zip(values) {
                places[0] = x;
            }
        });
    }

    /// Writes the numbers of the given rows into `places`, to its first element and then to every
    /// `step`-th.
    pub(crate) fn gather(&self, rows: &[usize], places: &mut [f64], step: usize) {
        match self {
            NumberColumn::Own(list) => gather(rows, places, step, |row| list[row]),
            NumberColumn::Doubles(bytes) => {
                let list = bytes.as_chunks().0;
                gather(rows, places, step, |row| f64::from_le_bytes(list[row]));
            }
            NumberColumn::Floats(bytes) => {
                let list = bytes.as_chunks().0;
                gather(rows, places, step, |row| f64::from(f32::from_le_bytes(list[row])));
            }
            NumberColumn::Array64(array) => gather(rows, places, step, |row| array.values()[row]),
            NumberColumn::Array32(array) => gather(rows, places, step, |row| f64::from(array.values()[row])),
        }
    }

    /// The first row whose number exceeds [`LIMIT`] in magnitude.
    pub(crate) fn unusable(&self) -> Option<usize> {
        let count = each_kind!(self, values => values.map(|x| u64::from(x.abs() > LIMIT)).sum::<u64>());
        if count == 0 {
            return None;
        }
        (0..self.len()).find(|&row| self.get(row).abs() > LIMIT)
    }
}

/// Writes `number(row)` of each row into `places`, to its first element and then to every
/// `step`-th.
fn gather(rows: &[usize], places: &mut [f64], step: usize, number: impl Fn(usize) -> f64) {
    for (places, &row) in places.chunks_mut(step).zip(rows) {
        places[0] = number(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_storage_holds_the_same_numbers() {
        let list = [0.5, -2.0, f64::NAN, 1e30];
        let doubles: Vec<u8> = list.iter().flat_map(|x| x.to_le_bytes()).collect();
        let floats: Vec<u8> = list.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
        for (numbers, large) in [
            (NumberColumn::Own(list.to_vec()), 1e30),
            (NumberColumn::Doubles(doubles.into()), 1e30),
            (NumberColumn::Floats(floats.into()), f64::from(1e30_f32)),
            (NumberColumn::Array64(list.to_vec().into()), 1e30),
            (NumberColumn::Array32(list.map(|x| x as f32).to_vec().into()), f64::from(1e30_f32)),
        ] {
            assert_eq!((numbers.len(), numbers.get(3), numbers.unusable()), (4, large, None));
            assert_eq!(numbers.slice(0, 2).signed(-1.0).into_vec(), [-0.5, 2.0]);
            let mut sums = [1.0; 2];
            let form = Form::weighted(&[0.0, 2.0]);
            assert_eq!((numbers.slice(0, 2).add_to(&form, 1, &mut sums), sums), (None, [2.0, -3.0]));
            let mut places = [0.0; 4];
            numbers.spread(1, &mut places[1..], 2);
            assert!(places[1] == -2.0 && places[3].is_nan() && places[2] == 0.0);
            numbers.gather(&[3, 0], &mut places, 2);
            assert_eq!((places[0], places[1], places[2]), (large, -2.0, 0.5));
        }
        assert_eq!(NumberColumn::Own(vec![1.0, -1e101]).unusable(), Some(1));
        assert_eq!(
            NumberColumn::Own(vec![1.0, -1e101]).add_to(&Form::weighted(&[0.0]), 0, &mut [0.0; 2]),
            Some(1)
        );
        assert_eq!(NumberColumn::Doubles(f64::INFINITY.to_le_bytes().to_vec().into()).unusable(), Some(0));
    }
}
