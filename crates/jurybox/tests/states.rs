//! Tests of states that were tampered with: impossible numbers are refused, and accepted states
//! stay readable after learning and merging.

use jurybox::{Evaluators, Example, Jury, policies};
use serde_json::{Value, json};

/// A jury that has observed three rounds and learnt from them; one label of each round lacks a
/// score.
fn taught(policy: &str) -> Jury {
    let spec = match policy {
        "oracle" => "oracle(alpha=[1,1],sigma=1)".parse().unwrap(),
        other => other.parse().unwrap(),
    };
    let mut jury = Jury::new(&spec, Evaluators::new(["a", "b"]).unwrap()).unwrap();
    for round in 0..3 {
        let table: Vec<f64> = (0..16).map(|i| 0.05 + 0.9 * f64::from((i * 7 + round) % 16) / 16.0).collect();
        jury.observe(&jury.scores(&table).unwrap(), round as u64).unwrap();
        let rows = table.chunks(2);
        let examples: Vec<Example<'_>> =
            rows.map(|scores| Example { scores, reward: scores[0], receipt: None }).collect();
        jury.learn(&examples, round as u64).unwrap();
        jury.learn(&[Example { scores: &[0.4, f64::NAN], reward: 0.5, receipt: None }], round as u64)
            .unwrap();
    }
    jury
}

fn document(jury: &Jury) -> Value {
    serde_json::from_str(&jury.to_json()).unwrap()
}

fn read(document: &Value) -> Result<Jury, jurybox::Error> {
    Jury::from_json(&document.to_string())
}

/// Adds the JSON pointers of all numbers in `value`, whose own pointer is `at`.
fn numbers(value: &Value, at: &str, into: &mut Vec<String>) {
    match value {
        Value::Number(_) => into.push(at.into()),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, value)| numbers(value, &format!("{at}/{i}"), into));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| numbers(value, &format!("{at}/{key}"), into));
        }
        _ => {}
    }
}

#[test]
fn a_sampled_row_may_lack_a_score_but_not_its_reward() {
    let mut state = document(&taught("adaptive"));
    let kept = state.pointer_mut("/state/labelled/kept").unwrap().as_array_mut().unwrap();
    assert!(kept.iter().any(|row| row["values"][1].is_null()), "a missing score is null");
    kept[0]["values"][2] = Value::Null;
    assert!(read(&state).is_err());
}

#[test]
fn no_number_of_a_state_may_be_beyond_what_could_have_been_learnt() {
    for entry in policies() {
        let state = document(&taught(entry.name));
        let mut places = Vec::new();
        numbers(&state["state"], "/state", &mut places);
        for place in places {
            for huge in [json!(1e230), json!(-1e308)] {
                let mut forged = state.clone();
                *forged.pointer_mut(&place).unwrap() = huge.clone();
                assert!(read(&forged).is_err(), "{}: {place} = {huge} is accepted", entry.name);
            }
        }
    }
}

#[test]
fn whatever_is_accepted_stays_readable_after_learning_and_merging() {
    for entry in policies() {
        let jury = taught(entry.name);
        let state = document(&jury);
        let mut places = Vec::new();
        numbers(&state["state"], "/state", &mut places);
        for place in places {
            for large in [json!(1e100), json!(-1e100), json!(1e215), json!(1_u64 << 52)] {
                let mut forged = state.clone();
                *forged.pointer_mut(&place).unwrap() = large.clone();
                let Ok(mut forged) = read(&forged) else { continue };
                forged
                    .learn(&[Example { scores: &[-1e100, 1e100], reward: 1e100, receipt: None }], 3)
                    .unwrap();
                forged.merge(&jury).unwrap();
                let says = format!("{}: {place} = {large}", entry.name);
                assert!(!forged.to_json().contains("inf") && read(&document(&forged)).is_ok(), "{says}");
            }
        }
    }
}

#[test]
fn counters_that_contradict_themselves_are_refused() {
    let state = document(&taught("adaptive"));
    for (place, value, says) in [
        ("/seen/used", json!((1_u64 << 53) + 1), "2^53"),
        ("/seen/rounds", json!(u64::MAX), "2^53"),
        ("/seen/outside", json!(1000), "moved"),
        ("/seen/latest", json!(u64::MAX), "2^62"),
    ] {
        let mut forged = state.clone();
        *forged.pointer_mut(place).unwrap() = value;
        let message = read(&forged).unwrap_err().to_string();
        assert!(message.contains(says), "{place}: {message}");
    }
    let mut seen = state["seen"].clone();
    seen["items"] = json!(1_000_000);
    let mut forged = state.clone();
    forged["rounds_rank_by"] = json!({"earlier": {"seen": seen, "state": state["state"]}});
    let message = read(&forged).unwrap_err().to_string();
    assert!(message.contains("earlier state has seen more"), "{message}");
    forged["rounds_rank_by"]["earlier"]["seen"] = state["seen"].clone();
    assert!(read(&forged).is_ok());
}

#[test]
fn a_state_doubled_again_and_again_is_refused_before_its_counts_are_wrong() {
    for policy in ["adaptive", "esag", "lin-ucb", "eps-greedy-all"] {
        let mut jury = taught(policy);
        let refused = (0..64).find_map(|_| {
            let same = jury.clone();
            let refused = jury.merge(&same).err();
            assert_eq!(Jury::from_json(&jury.to_json()).unwrap().to_json(), jury.to_json());
            refused
        });
        assert!(refused.unwrap().to_string().contains("2^53"), "{policy}");
    }
}
