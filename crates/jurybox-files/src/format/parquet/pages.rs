//! Decoder for the pages of numeric Parquet columns. Doubles and floats in the plain encoding,
//! without missing values, are not copied.
//!
//! It handles flat columns of doubles, floats and 32-bit and 64-bit signed integers in the plain
//! and dictionary encodings. A unit with a requested column of any other kind is read through Arrow
//! arrays. Format: <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use super::page_memory::PageMemory;
use super::positioned_file::PositionedFile;
use crate::number_column::NumberColumn;
use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::basic::{Compression, Encoding, Type};
use ::parquet::column::page::{Page, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::serialized_reader::SerializedPageReader;
use arrow_schema::DataType;
use bytes::Bytes;
use std::sync::Arc;

/// The numbers of one column of a row group, page after page.
pub(super) struct PageNumbers {
    reader: SerializedPageReader<PositionedFile>,
    physical: Type,
    optional: bool,
    /// Whether pages are compressed by zstd and decompressed here. With any other compression, the
    /// reader decompresses them.
    packed: bool,
    /// Upper bound of a decompressed page's size in bytes: the smaller of the column's size and
    /// 24 bytes per row plus 64 KiB.
    largest: usize,
    dictionary: Vec<f64>,
    /// Rows of the row group, an upper bound for the rows of a page.
    rows: usize,
    /// Rows still to skip before the range starts; `left` counts the rows still to return.
    skip: usize,
    left: usize,
}

impl PageNumbers {
    /// Opens a column to read `left` rows after the first `skip` ones of a row group. `None` if its
    /// pages cannot be decoded here.
    pub(super) fn open(
        file: &Arc<PositionedFile>,
        metadata: &ArrowReaderMetadata,
        group: usize,
        column: usize,
        (skip, left): (usize, usize),
    ) -> Result<Option<PageNumbers>> {
        let schema = metadata.parquet_schema();
        let Some(leaf) = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == column)
        else {
            return Ok(None);
        };
        let (about, group) = (schema.column(leaf), metadata.metadata().row_group(group));
        let flat = about.max_rep_level() == 0 && about.max_def_level() <= 1;
        let optional = about.max_def_level() == 1;
        let physical = about.physical_type();
        let number = matches!(
            (physical, metadata.schema().field(column).data_type()),
            (Type::DOUBLE, DataType::Float64)
                | (Type::FLOAT, DataType::Float32)
                | (Type::INT32, DataType::Int32)
                | (Type::INT64, DataType::Int64)
        );
        let chunk = group.column(leaf);
        let known = |encoding| {
            use Encoding::{PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY};
            matches!(encoding, PLAIN | RLE | RLE_DICTIONARY | PLAIN_DICTIONARY)
        };
        if !flat || !number || !chunk.encodings().all(known) {
            return Ok(None);
        }
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let whole = usize::try_from(chunk.uncompressed_size()).unwrap_or(0);
        let packed = matches!(chunk.compression(), Compression::ZSTD(_));
        // The reader leaves pages compressed if the metadata declares no compression.
        let as_they_are = || chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build();
        let chunk = if packed { &as_they_are()? } else { chunk };
        let reader = SerializedPageReader::new(file.clone(), chunk, rows, None)?;
        Ok(Some(PageNumbers {
            reader,
            physical,
            optional,
            packed,
            largest: whole.min(24 * rows + (1 << 16)),
            dictionary: Vec::new(),
            rows,
            skip,
            left,
        }))
    }

    /// The next numbers of the range, at most one page. `None` at the end of the range.
    pub(super) fn next(&mut self, memory: &mut PageMemory) -> Result<Option<NumberColumn>> {
        while self.left > 0 {
            let Some(about) = self.reader.peek_next_page()? else { return Err(ended()) };
            match about.num_rows.or(about.num_levels) {
                // The page lies before the range: it is skipped without decompressing it.
                Some(rows) if !about.is_dict && rows <= self.skip => {
                    self.reader.skip_next_page()?;
                    self.skip -= rows;
                }
                _ => {
                    let page = self.load(memory)?;
                    let from = self.skip.min(page.len());
                    let to = page.len().min(from + self.left);
                    self.skip -= from;
                    self.left -= to - from;
                    if to > from {
                        return Ok(Some(page.slice(from, to)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Reads the numbers of the next data page, and the dictionary if that comes before it.
    fn load(&mut self, memory: &mut PageMemory) -> Result<NumberColumn> {
        loop {
            let Some(page) = self.reader.get_next_page()? else { return Err(ended()) };
            let (levels, values, count, encoding) = match page {
                Page::DictionaryPage { buf, num_values, .. } => {
                    let bytes = self.unpacked(buf, memory)?;
                    self.dictionary = plain(self.physical, &bytes, num_values as usize)?.into_vec();
                    continue;
                }
                Page::DataPage { buf, num_values, encoding, .. } => {
                    let bytes = self.unpacked(buf, memory)?;
                    let length = match bytes.first_chunk() {
                        Some(&length) if self.optional => 4 + u32::from_le_bytes(length) as usize,
                        _ => 0,
                    };
                    let levels = within(&bytes, length.min(4), length)?;
                    (levels, bytes.slice(length..), num_values, encoding)
                }
                Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    is_compressed,
                    ..
                } => {
                    let start = rep_levels_byte_len as usize;
                    let end = start + def_levels_byte_len as usize;
                    let levels = within(&buf, start, end)?;
                    let values = buf.slice(end..);
                    let packed = is_compressed && !values.is_empty();
                    let values = if packed { self.unpacked(values, memory)? } else { values };
                    (levels, values, num_values, encoding)
                }
            };
            let count = count as usize;
            if count > self.rows {
                return Err(damaged("a page declares more rows than its row group has"));
            }
            let mut present = count;
            if self.optional {
                present = 0;
                runs(&levels, 1, count, |level, times| present += level as usize * times)?;
            }
            let numbers = match encoding {
                Encoding::PLAIN => plain(self.physical, &values, present)?,
                Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => self.looked_up(&values, present)?,
                other => {
                    return Err(damaged(&format!(
                        "a page is encoded as {other}, which its column does not declare"
                    )));
                }
            };
            return if present == count { Ok(numbers) } else { with_gaps(&levels, count, &numbers) };
        }
    }

    /// A page's bytes, decompressed unless the reader has done so.
    fn unpacked(&self, bytes: Bytes, memory: &mut PageMemory) -> Result<Bytes> {
        if self.packed { memory.unpacked(&bytes, self.largest) } else { Ok(bytes) }
    }

    /// Replaces dictionary indices by the numbers of the dictionary.
    fn looked_up(&self, bytes: &[u8], count: usize) -> Result<NumberColumn> {
        let mut list = Vec::with_capacity(count);
        let mut unknown = false;
        if let Some((&width, indices)) = bytes.split_first() {
            runs(indices, width, count, |index, times| match self.dictionary.get(index as usize) {
                Some(&value) => list.extend(std::iter::repeat_n(value, times)),
                None => unknown = true,
            })?;
        }
        if unknown || list.len() != count {
            return Err(damaged("a page refers to values that are not in its dictionary"));
        }
        Ok(NumberColumn::Own(list))
    }
}

/// Decodes the plain encoding: numbers one after the other.
fn plain(physical: Type, bytes: &Bytes, count: usize) -> Result<NumberColumn> {
    let size = if matches!(physical, Type::DOUBLE | Type::INT64) { 8 } else { 4 };
    if count > bytes.len() / size {
        return Err(damaged("a page is shorter than its numbers"));
    }
    let bytes = bytes.slice(..count * size);
    Ok(match physical {
        Type::DOUBLE => NumberColumn::Doubles(bytes),
        Type::FLOAT => NumberColumn::Floats(bytes),
        Type::INT32 => NumberColumn::Own(
            bytes.as_chunks().0.iter().map(|&bytes| f64::from(i32::from_le_bytes(bytes))).collect(),
        ),
        _ => NumberColumn::Own(
            bytes.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes) as f64).collect(),
        ),
    })
}

/// Spreads `numbers` over `count` rows. A row of definition level 0 has no number and gets NaN.
fn with_gaps(levels: &[u8], count: usize, numbers: &NumberColumn) -> Result<NumberColumn> {
    let mut list = Vec::with_capacity(count);
    let mut used = 0;
    runs(levels, 1, count, |level, times| {
        if level == 0 {
            list.extend(std::iter::repeat_n(f64::NAN, times));
        } else {
            list.extend((used..used + times).map(|at| numbers.get(at)));
            used += times;
        }
    })?;
    Ok(NumberColumn::Own(list))
}

/// Decodes Parquet's RLE/bit-packing hybrid. Calls `each` with every value and the length of its
/// run, which is 1 for bit-packed values.
fn runs(mut bytes: &[u8], width: u8, count: usize, mut each: impl FnMut(u64, usize)) -> Result<()> {
    let short = || damaged("a page ends within its levels or indices");
    if width > 32 {
        return Err(damaged("a page declares indices of more than 32 bits"));
    }
    let mut left = count;
    while left > 0 {
        let (mut header, mut shift) = (0_u64, 0);
        loop {
            let (&byte, rest) = bytes.split_first().ok_or_else(short)?;
            bytes = rest;
            header |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
            if shift > 56 {
                return Err(short());
            }
        }
        let times = usize::try_from(header >> 1).map_err(|_| short())?;
        if header & 1 == 0 {
            let (value, rest) = bytes.split_at_checked(usize::from(width).div_ceil(8)).ok_or_else(short)?;
            bytes = rest;
            let value = value.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            let times = times.min(left);
            if times == 0 {
                return Err(short());
            }
            each(value, times);
            left -= times;
        } else {
            // Values are packed in groups of eight; the last ones may be padding.
            let length = times.checked_mul(usize::from(width)).ok_or_else(short)?;
            let (packed, rest) = bytes.split_at_checked(length.min(bytes.len())).ok_or_else(short)?;
            bytes = rest;
            let here = times.saturating_mul(8).min(left);
            if here == 0 || packed.len() * 8 < here * usize::from(width) {
                return Err(short());
            }
            let (mut bits, mut held, mut from) = (0_u64, 0, packed.iter());
            for _ in 0..here {
                while held < width {
                    bits |= u64::from(from.next().copied().unwrap_or(0)) << held;
                    held += 8;
                }
                each(bits & ((1 << width) - 1), 1);
                bits >>= width;
                held -= width;
            }
            left -= here;
        }
    }
    Ok(())
}

/// The bytes `from..to` of a page; errors if the page is too short.
fn within(bytes: &Bytes, from: usize, to: usize) -> Result<Bytes> {
    if to <= bytes.len() { Ok(bytes.slice(from..to)) } else { Err(damaged("a page ends within its levels")) }
}

fn ended() -> ParquetError {
    damaged("a column ends before its rows do")
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(bytes: &[u8], width: u8, count: usize) -> Option<Vec<u64>> {
        let mut list = Vec::new();
        runs(bytes, width, count, |value, times| list.extend(std::iter::repeat_n(value, times))).ok()?;
        Some(list)
    }

    #[test]
    fn runs_and_packed_bits_follow_the_specification() {
        // The specification's example: 0 to 7 in three bits each.
        let packed = [0b0000_0011, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(expanded(&packed, 3, 8).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(expanded(&packed, 3, 5).unwrap(), [0, 1, 2, 3, 4]);
        // A run: the header 10 means five repetitions, and 300 takes two bytes.
        assert_eq!(expanded(&[10, 44, 1], 9, 5).unwrap(), [300; 5]);
        // Two truncated inputs, zero repetitions, no bytes, and a header without end.
        for bad in [&packed[..3], &[10, 44], &[0, 0, 0], &[], &[0xff; 12]] {
            assert!(expanded(bad, 9, 8).is_none(), "{bad:?}");
        }
    }
}
