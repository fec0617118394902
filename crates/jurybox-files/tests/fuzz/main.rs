//! Fuzzing: mutated files, specs and states, which must be read or refused without a panic.
//!
//! A target is a function of bytes that panics on a fault. Each file in `corpus/<target>` is tried
//! as it is; mutations of these files follow. The first failing input is written to
//! `target/tmp/fuzz`. Moved to the corpus, it is tried in every run. A long run:
//!
//! ```sh
//! JURYBOX_FUZZ=100000 JURYBOX_FUZZ_SEED=7 cargo test --workspace --release --test fuzz
//! ```

mod mutate;
mod targets;

use mutate::Mutator;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Default number of mutated files per target, which take a few seconds.
const CASES: u64 = 300;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

/// The files of a target's corpus, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Runs a target on its corpus, then on mutations of it. Panics at the first failing input.
fn run(target: &str, corpus: &[Vec<u8>], words: &[&str], check: impl Fn(&[u8])) {
    assert!(!corpus.is_empty(), "{target} has no corpus");
    let mut mutator = Mutator::new(ChaCha8Rng::seed_from_u64(number("JURYBOX_FUZZ_SEED", 1)), corpus, words);
    let cases = number("JURYBOX_FUZZ", CASES) as usize;
    let mutated = std::iter::repeat_with(|| mutator.next()).take(cases);
    for case in corpus.iter().cloned().chain(mutated) {
        if catch_unwind(AssertUnwindSafe(|| check(&case))).is_err() {
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
            std::fs::create_dir_all(&folder).unwrap();
            let path = folder.join(format!("{target}-{:016x}", twox_hash::XxHash64::oneshot(0, &case)));
            std::fs::write(&path, &case).unwrap();
            panic!("{target} fails on {}", path.display());
        }
    }
}

#[test]
fn csv() {
    let words = [
        "\"", "\"\"", ",", ";", "\t", "\n", "\r\n", "NA", "1e308", "-", "13%", "4/5", "0,5", "\u{feff}", "é",
    ];
    run("csv", &corpus("csv"), &words, |case| targets::table(case, "csv"));
}

#[test]
fn json_lines() {
    let words =
        ["{", "}", "[", "]", "\"", ":", ",", "null", "true", "\\u0000", "\n", "1e999", "{\"a\":{\"b\":1}}"];
    run("jsonl", &corpus("jsonl"), &words, |case| targets::table(case, "jsonl"));
}

#[test]
fn parquet() {
    let corpus = [corpus("parquet"), targets::parquet_files(&corpus("csv"))].concat();
    run("parquet", &corpus, &["PAR1"], |case| targets::table(case, "parquet"));
}

#[test]
fn any_format_and_compression() {
    let mut all = [corpus("csv"), corpus("jsonl")].concat();
    let gz = |text: &Vec<u8>| {
        use std::io::Write;
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    };
    let zst = |text: &Vec<u8>| zstd::encode_all(&text[..], 1).unwrap();
    let utf16 = |text: &Vec<u8>| {
        let text = String::from_utf8_lossy(text);
        text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let others: Vec<Vec<u8>> = all.iter().flat_map(|text| [gz(text), zst(text), utf16(text)]).collect();
    all.extend(others);
    run("any", &all, &["PAR1", "PK\x03\x04", "[{", "\0"], |case| targets::table(case, "data"));
}

#[test]
fn spec() {
    let words =
        ["(", ")", "=", ",", "[", "]", "inf", "NaN", "-1", "1e400", "true", "adaptive", "esag", "eps"];
    run("spec", &corpus("spec"), &words, targets::spec);
}

#[test]
fn state() {
    let corpus = [corpus("state"), targets::states()].concat();
    let words =
        ["0", "-1", "1e308", "9007199254740993", "18446744073709551615", "null", "[]", "{}", "\"a\"", ","];
    run("state", &corpus, &words, targets::state);
}
