//! Numbers of a Parquet file are the same for many encodings, compressions, pages and types.

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch};
use jurybox_files::{RankOptions, Ranker, Roles, ScanRequest, Table, rank};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use std::path::Path;
use std::sync::Arc;

const ROWS: usize = 5000;

/// The cells of a row: a double; a float and an integer with few values and gaps; and a large
/// integer with long gaps.
fn cells(row: usize) -> [Option<f64>; 4] {
    let mixed = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    [
        Some(mixed as f64 / 1e5),
        (!row.is_multiple_of(3)).then_some((row % 50) as f64 * 0.5),
        (row % 7 > 1).then_some((row % 5) as f64 - 2.0),
        (row / 600).is_multiple_of(2).then_some((row * 1000) as f64),
    ]
}

fn batch() -> RecordBatch {
    let column = |at: usize| (0..ROWS).map(move |row| cells(row)[at]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("double", Arc::new(column(0).collect::<Float64Array>())),
        ("float", Arc::new(column(1).map(|x| x.map(|x| x as f32)).collect::<Float32Array>())),
        ("few", Arc::new(column(2).map(|x| x.map(|x| x as i32)).collect::<Int32Array>())),
        ("large", Arc::new(column(3).map(|x| x.map(|x| x as i64)).collect::<Int64Array>())),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, name != "double")),
    )
    .unwrap()
}

fn write(path: &Path, properties: WriterProperties) {
    let batch = batch();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    // In small pieces, because the writer checks page limits between them.
    for start in (0..ROWS).step_by(250) {
        writer.write(&batch.slice(start, 250)).unwrap();
    }
    writer.close().unwrap();
}

/// Ways of writing that the reader treats differently.
fn kinds() -> Vec<(&'static str, WriterPropertiesBuilder)> {
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let zstd = Compression::ZSTD(ZstdLevel::try_new(3).unwrap());
    vec![
        ("one plain page", plain()),
        ("plain, zstd", plain().set_compression(zstd)),
        ("plain, zstd, small pages", plain().set_compression(zstd).set_data_page_row_count_limit(333)),
        (
            "plain, snappy, several groups",
            plain().set_compression(Compression::SNAPPY).set_max_row_group_row_count(Some(1100)),
        ),
        ("dictionary", WriterProperties::builder()),
        ("dictionary, zstd", WriterProperties::builder().set_compression(zstd)),
        (
            "dictionary given up half way",
            WriterProperties::builder()
                .set_dictionary_page_size_limit(600)
                .set_data_page_row_count_limit(500),
        ),
        (
            "second version, zstd, small pages",
            WriterProperties::builder()
                .set_writer_version(WriterVersion::PARQUET_2_0)
                .set_compression(zstd)
                .set_data_page_row_count_limit(777),
        ),
        ("byte stream split", plain().set_column_encoding("double".into(), Encoding::BYTE_STREAM_SPLIT)),
        ("delta", plain().set_column_encoding("large".into(), Encoding::DELTA_BINARY_PACKED)),
    ]
}

#[test]
fn every_encoding_gives_the_same_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let mut scored = Vec::new();
    for (kind, properties) in kinds() {
        let path = dir.path().join("scores.parquet");
        write(&path, properties.build());
        let table = Table::open(&[path], &Roles::default(), false).unwrap();
        assert_eq!(table.roles().evaluators().to_string(), "double, float, few, large");
        let mut read = Vec::new();
        let rows = table.scan(
            ScanRequest::default(),
            |mut part| Ok(part.batch.scores().to_vec()),
            |_, scores| {
                read.extend(scores);
                Ok(())
            },
        );
        assert_eq!(rows.unwrap(), ROWS as u64, "{kind}");
        for (row, found) in read.chunks_exact(4).enumerate() {
            let wanted = cells(row).map(|cell| cell.unwrap_or(f64::NAN));
            let same = found
                .iter()
                .zip(wanted)
                .all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()));
            assert!(same, "{kind}, row {row}: {found:?} instead of {wanted:?}");
        }
        let ranker = Ranker::Weights(vec![0.3, 0.7, -1.1, 1e-5]);
        let ranking = rank(&table, &ranker, RankOptions { k: 50, ..RankOptions::default() }).unwrap();
        let winners: Vec<_> = ranking.winners().iter().map(|w| (w.row, w.score.to_bits())).collect();
        scored.push(winners);
    }
    assert!(
        scored.windows(2).all(|pair| pair[0] == pair[1]),
        "the order or the last bit of a score depends on the writer"
    );
}

#[test]
fn an_infinite_score_is_reported_with_its_row() {
    let dir = tempfile::tempdir().unwrap();
    for (page, weighed) in [(10, true), (10, false), (10_000, true), (10_000, false)] {
        let path = dir.path().join("scores.parquet");
        let column = Float64Array::from_iter_values(
            (0..100).map(|i| if i == 57 { f64::INFINITY } else { f64::from(i) / 3.0 }),
        );
        let batch = RecordBatch::try_from_iter([("a", Arc::new(column) as ArrayRef)]).unwrap();
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_data_page_row_count_limit(page)
            .set_write_batch_size(page.min(100))
            .build();
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let table = Table::open(&[path], &Roles::default(), false).unwrap();
        let error = if weighed {
            rank(&table, &Ranker::Weights(vec![0.0]), RankOptions { k: 1, ..RankOptions::default() })
                .unwrap_err()
        } else {
            table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).unwrap_err()
        };
        assert!(error.to_string().contains("row 58, column `a`: inf"), "{error}");
    }
}

#[test]
fn a_damaged_file_is_refused_or_read_without_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scores.parquet");
    for (kind, properties) in kinds() {
        write(&path, properties.build());
        let whole = std::fs::read(&path).unwrap();
        for turn in 0..150_usize {
            let mut bytes = whole.clone();
            let at = turn.wrapping_mul(0x9e37_79b9) % bytes.len();
            bytes[at] ^= 1 << (turn % 8);
            bytes[(at * 31) % whole.len()] = turn as u8;
            std::fs::write(&path, &bytes).unwrap();
            let Ok(table) = Table::open(std::slice::from_ref(&path), &Roles::default(), false) else {
                continue;
            };
            // Damage to the schema may have changed which columns are evaluators.
            let (width, mut rows) = (table.roles().evaluators().len(), 0);
            let count = table.scan(
                ScanRequest::default(),
                |mut part| Ok(part.batch.scores().len() / width),
                |_, here| {
                    rows += here as u64;
                    Ok(())
                },
            );
            assert!(count.is_err() || count.is_ok_and(|count| count == rows), "{kind}, byte {at}");
        }
    }
}
