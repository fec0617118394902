//! Picks from rounds with more scores than are kept in memory at once (2^20). They are the same
//! from memory and from CSV.

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use jurybox::rand::SeedableRng;
use jurybox::{Example, Jury};
use jurybox_files::{PickOptions, Ranker, Roles, State, Table, choose, new_jury, score_all, teach};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::sync::Arc;

const ROWS: usize = 140_000;
const WIDTH: usize = 8;

/// More than 2^20 scores, some of them missing.
fn scores() -> Vec<f64> {
    let number = |at: usize| match at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44 {
        draw if draw % 1000 == 7 => f64::NAN,
        draw => draw as f64 / f64::from(1 << 20),
    };
    (0..ROWS * WIDTH).map(number).collect()
}

fn batch(scores: &[f64]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("p{row}"))));
    let column = |j: usize| {
        let cells = scores.iter().skip(j).step_by(WIDTH).map(|&score| (!score.is_nan()).then_some(score));
        (format!("e{j}"), Arc::new(cells.collect::<Float64Array>()) as ArrayRef)
    };
    RecordBatch::try_from_iter([("post".to_string(), ids)].into_iter().chain((0..WIDTH).map(column))).unwrap()
}

fn roles() -> Roles {
    Roles { key: Some("post".into()), ..Roles::default() }
}

/// A jury that has learnt fifty rewards.
fn begun(policy: &str, table: &Table, scores: &[f64]) -> Jury {
    let mut jury = new_jury(&policy.parse().unwrap(), table.roles().evaluators()).unwrap();
    let rows = scores.chunks_exact(WIDTH).filter(|row| row.iter().all(|x| !x.is_nan())).take(50);
    for row in rows {
        jury.learn(&[Example { scores: row, reward: row[0] + 0.5 * row[1], receipt: None }], 0).unwrap();
    }
    jury
}

#[test]
fn picks_are_those_of_all_scores_at_once_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let scores = scores();
    let table = Table::from_batches(vec![batch(&scores)], &roles()).unwrap();
    let csv = dir.path().join("hour.csv");
    score_all(&table, &Ranker::Weights(vec![0.0; WIDTH]), &csv, jurybox_files::Format::Csv).unwrap();
    let csv = Table::open(&[csv], &roles(), true).unwrap().with_threads(3);
    for policy in ["adaptive", "lin-ucb", "average"] {
        let jury = begun(policy, &table, &scores);
        let mut expected = jury.clone();
        let view = expected.scores(&scores).unwrap();
        let rng = &mut ChaCha8Rng::seed_from_u64(0);
        let expected: Vec<usize> =
            expected.round(&view, 1, 20, rng).unwrap().iter().map(|pick| pick.item).collect();
        let mut states = Vec::new();
        for table in [&table, &csv] {
            let mut state = State::from(jury.clone());
            let options = PickOptions { k: 20, at: Some(1), ..PickOptions::default() };
            let picking = choose(table, &mut state, options).unwrap();
            let rows: Vec<usize> = picking.picks.iter().map(|pick| pick.row as usize).collect();
            assert_eq!(rows, expected, "{policy}");
            assert_eq!(*picking.picks[0].id, *format!("p{}", rows[0]));
            let probabilities = picking.probabilities().unwrap();
            let sum: f64 = probabilities.iter().sum();
            assert!((sum - 20.0).abs() < 1e-9 && picking.values().len() == ROWS, "{policy}: {sum}");
            assert_eq!((state.jury.seen().rounds, state.jury.seen().items), (1, ROWS as u64));
            let again = choose(table, &mut state, options).unwrap();
            assert!(again.observed_before && again.round == picking.round, "{policy}");
            states.push((state.jury.to_bytes(), picking.round));
        }
        assert_eq!(states[0], states[1], "{policy}");
    }
}

/// The probability on the receipt of a pick is that of its row in the list of all probabilities, to
/// the last bit. This includes ties at the border of the picks, and exploration.
#[test]
fn receipts_have_the_probabilities_of_all_rows() {
    let mut scores = scores();
    // Every hundredth row repeats the row before it, and the first thousand rows are equal.
    for row in (100..ROWS).step_by(100) {
        scores.copy_within((row - 1) * WIDTH..row * WIDTH, row * WIDTH);
    }
    for row in 1..1000 {
        scores.copy_within(0..WIDTH, row * WIDTH);
    }
    for few in [false, true] {
        let rows = if few { 1500 } else { ROWS };
        let table = Table::from_batches(vec![batch(&scores).slice(0, rows)], &roles()).unwrap();
        for policy in [
            "average",
            "lin-ucb",
            "adaptive",
            "eps-greedy-all(eps=0.3)",
            "eps-greedy-all(eps=0.3,slots=7)",
            "eps-greedy-all(eps=1,slots=7)",
            "adaptive(draws=4)",
            "rand",
        ] {
            let mut state = State::from(begun(policy, &table, &scores));
            for k in [20, 1200] {
                let options = PickOptions { k, only_choose: true, ..PickOptions::default() };
                let picking = choose(&table, &mut state, options).unwrap();
                let all = picking.probabilities().unwrap();
                assert_eq!(all.len(), rows, "{policy}");
                for pick in &picking.picks {
                    let (on_receipt, reckoned) = (pick.receipt.inclusion_probability, all[pick.row as usize]);
                    assert_eq!(
                        on_receipt.to_bits(),
                        reckoned.to_bits(),
                        "{policy}, {k} of {rows}: row {}",
                        pick.row
                    );
                }
            }
        }
    }
}

/// The rows of one file are learnt in several chunks, and the state's bytes read back.
#[test]
fn a_file_of_many_rows_is_learnt_and_its_state_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("month.csv");
    let mut text = String::from("post,a,b,verdict\n");
    for (row, pair) in scores().chunks_exact(2).take(20_000).enumerate() {
        let _ = writeln!(text, "p{row},{},{},{}", pair[0], pair[1], u8::from(pair[0] > 0.9));
    }
    std::fs::write(&path, text).unwrap();
    let roles = Roles { reward: Some("verdict".into()), id: vec!["post".into()], ..Roles::default() };
    let table = Table::open(&[path], &roles, true).unwrap().with_threads(2);
    let mut jury = new_jury(&jurybox::Spec::default(), table.roles().evaluators()).unwrap();
    teach(&table, &mut jury, 0).unwrap();
    assert_eq!((jury.seen().rounds, jury.seen().items), (1, 20_000));
    assert_eq!(Jury::from_bytes(&jury.to_bytes()).unwrap().to_json(), jury.to_json());
}
