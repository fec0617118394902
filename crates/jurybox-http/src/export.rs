//! The export of a queue as a table with one row per item.

use crate::time::Time;
use jurybox_files::RecordCell;
use jurybox_server::{
    Error, ExportPage, ExportedItem, ExportedPick, ExportedVerdict, SkippedItem, VerdictSource,
};
use serde_json::{Value, json};

/// The most items of a page.
const ITEMS: u64 = 1000;
/// About how many bytes of payload a page should have.
const BYTES: u64 = 4 << 20;
/// The number of items of the first page: with payloads of the default limit (256 KiB) they have
/// [`BYTES`] at most.
const FIRST: u64 = BYTES / (256 << 10);

/// The verdict that the flat columns show: the one that decides the item, else the last one.
fn shown_verdict(row: &ExportedItem) -> Option<&ExportedVerdict> {
    row.verdicts.iter().find(|verdict| verdict.decides).or(row.verdicts.last())
}

/// The label of a verdict with the final reward: of the shown verdict if it has that reward, else
/// of the last one that has it. None if no verdict has it, as when the median lies between two
/// rewards. Without a final reward, the label of the shown verdict.
fn label(row: &ExportedItem) -> Option<String> {
    let last = shown_verdict(row)?;
    let says = |verdict: &&ExportedVerdict| row.reward.is_none_or(|reward| verdict.reward == reward);
    Some(last).filter(says).or_else(|| row.verdicts.iter().rev().find(says))?.label.clone()
}

fn pick(row: &ExportedItem) -> Option<ExportedPick> {
    shown_verdict(row)?.pick
}

fn source(verdict: &ExportedVerdict) -> &'static str {
    match verdict.source {
        VerdictSource::Reviewer => "reviewer",
        VerdictSource::Appeal => "appeal",
        VerdictSource::Automatic => "automatic",
    }
}

/// A verdict with all its fields, as JSON.
fn verdict_json(verdict: &ExportedVerdict) -> Value {
    let time = |at: i64| Time(at).to_string();
    let pick = verdict.pick.as_ref();
    json!({
        "id": verdict.id,
        "reviewer": verdict.reviewer,
        "source": source(verdict),
        "label": verdict.label,
        "note": verdict.note,
        "reward": verdict.reward,
        "decides": verdict.decides,
        "seen": verdict.seen,
        "probability": pick.map(|pick| pick.probability),
        "explored": pick.map(|pick| pick.explored),
        "model": pick.and_then(|pick| pick.model),
        "token": pick.map(|pick| pick.token),
        "claimed_at": pick.and_then(|pick| pick.claimed).map(time),
        "given_at": time(verdict.given),
        "observed_at": verdict.observed.map(time),
    })
}

/// A skip with its reviewer and reason, as JSON.
fn skip_json(skip: &SkippedItem) -> Value {
    json!({"reviewer": skip.reviewer, "reason": skip.reason, "skipped_at": Time(skip.at).to_string()})
}

/// A name for a column of Jurybox: `name` with as many prefixes `jurybox_` as it takes to differ
/// from all evaluators and tags.
fn free_name(name: &str, taken: &[&String]) -> String {
    let mut name = name.to_string();
    while taken.iter().any(|other| **other == name) {
        name = format!("jurybox_{name}");
    }
    name
}

/// The columns of the export. `reward` is the final reward decided by people, and empty where no
/// person has decided. The flat columns show one verdict; `verdicts` has all as JSON.
///
/// With `random_checks_only`, `reward` and `probability` are filled for random checks only, with
/// the probability of the check. Weighted by its inverse, these rewards estimate totals without
/// bias.
pub fn columns(
    evaluators: &[String],
    tags: &[String],
    random_checks_only: bool,
) -> Vec<(String, RecordCell<ExportedItem>)> {
    let taken: Vec<&String> = evaluators.iter().chain(tags).collect();
    let ours = |name: &str, cell| (free_name(name, &taken), cell);
    let mut columns = vec![
        ours("item", RecordCell::Text(Box::new(|row: &ExportedItem| Some(row.id.clone())))),
        ours("arrived_at", RecordCell::Time(Box::new(|row| Some(row.arrived)))),
        ours(
            "state",
            RecordCell::Text(Box::new(|row| Some(if row.closed { "closed" } else { "open" }.into()))),
        ),
    ];
    for (at, name) in evaluators.iter().enumerate() {
        columns.push((
            name.clone(),
            RecordCell::Number(Box::new(move |row| row.scores.get(at).copied().flatten())),
        ));
    }
    for name in tags {
        let tag = name.clone();
        columns.push((name.clone(), RecordCell::Text(Box::new(move |row| row.tags.get(&tag).cloned()))));
    }
    columns.extend([
        ours(
            "reward",
            RecordCell::Number(Box::new(move |row: &ExportedItem| {
                row.reward.filter(|_| !random_checks_only || row.random_check.is_some())
            })),
        ),
        ours("label", RecordCell::Text(Box::new(label))),
        ours("reviewer", RecordCell::Text(Box::new(|row| Some(shown_verdict(row)?.reviewer.clone())))),
        ours("source", RecordCell::Text(Box::new(|row| Some(source(shown_verdict(row)?).into())))),
        ours(
            "probability",
            RecordCell::Number(Box::new(move |row| {
                if random_checks_only { row.random_check } else { pick(row).map(|pick| pick.probability) }
            })),
        ),
        ours("explored", RecordCell::Flag(Box::new(|row| Some(pick(row)?.explored)))),
        ours("model_id", RecordCell::Whole(Box::new(|row| pick(row)?.model))),
        ours("claimed_at", RecordCell::Time(Box::new(|row| pick(row)?.claimed))),
        ours("given_at", RecordCell::Time(Box::new(|row| Some(shown_verdict(row)?.given)))),
        ours("observed_at", RecordCell::Time(Box::new(|row| shown_verdict(row)?.observed))),
        ours("due_at", RecordCell::Time(Box::new(|row| row.due))),
        ours("payload", RecordCell::Json(Box::new(|row| row.payload.clone()))),
        ours(
            "verdicts",
            RecordCell::Json(Box::new(|row| {
                Some(Value::from(row.verdicts.iter().map(verdict_json).collect::<Vec<_>>()).to_string())
            })),
        ),
        ours(
            "skips",
            RecordCell::Json(Box::new(|row| {
                Some(Value::from(row.skips.iter().map(skip_json).collect::<Vec<_>>()).to_string())
            })),
        ),
    ]);
    columns
}

/// Passes all pages of a queue to `each`. `page` reads one, given the number of the item before it
/// and the most items. Pages become shorter for large payloads.
///
/// # Errors
/// Those of `page` and `each`, and a conflict if the queue's evaluators change meanwhile, because
/// the columns would change.
pub fn pages<E: From<Error>>(
    mut page: impl FnMut(u64, u64) -> Result<ExportPage, Error>,
    mut each: impl FnMut(&ExportPage) -> Result<(), E>,
) -> Result<(), E> {
    let (mut next, mut many, mut evaluators) = (Some(0), FIRST, None);
    while let Some(after) = next {
        let now = page(after, many)?;
        if evaluators.get_or_insert_with(|| now.evaluators.clone()) != &now.evaluators {
            return Err(Error::Conflict(
                "the queue's evaluators changed during the export: start it again".into(),
            )
            .into());
        }
        let bytes: usize = now.items.iter().map(|item| item.payload.as_ref().map_or(0, String::len)).sum();
        many = (many * BYTES / (bytes as u64).max(1)).clamp(1, ITEMS);
        each(&now)?;
        next = now.next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(after: u64, many: u64, payload: usize, all: u64) -> ExportPage {
        let item = |n: u64| ExportedItem {
            id: format!("p{n}"),
            arrived: 0,
            due: None,
            random_check: None,
            closed: false,
            scores: Vec::new(),
            tags: std::collections::BTreeMap::default(),
            payload: Some("x".repeat(payload)),
            reward: None,
            verdicts: Vec::new(),
            skips: Vec::new(),
        };
        let last = (after + many).min(all);
        let items = (after + 1..=last).map(item).collect();
        ExportPage { evaluators: Vec::new(), items, next: (last < all).then_some(last) }
    }

    #[test]
    fn pages_of_large_payloads_are_short_and_nothing_is_left_out() {
        let (mut asked, mut seen) = (Vec::new(), 0);
        let read = |after, many| {
            asked.push(many);
            Ok(page(after, many, 1 << 16, 5000))
        };
        pages::<Error>(read, |page| {
            seen += page.items.len();
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, 5000);
        assert_eq!(asked[..2], [16, 64]);
    }

    /// The label is that of a verdict with the final reward, even if another verdict decided.
    #[test]
    fn the_label_is_that_of_what_was_decided() {
        let verdict = |label: &str, reward: f64, decides: bool| ExportedVerdict {
            id: label.into(),
            reviewer: label.into(),
            source: VerdictSource::Reviewer,
            label: Some(label.into()),
            note: None,
            reward,
            decides,
            seen: false,
            pick: None,
            given: 0,
            observed: None,
        };
        let decided = |reward: Option<f64>| {
            let row = page(0, 1, 0, 1).items.remove(0);
            label(&ExportedItem {
                reward,
                verdicts: vec![verdict("no", 0.0, false), verdict("yes", 1.0, true)],
                ..row
            })
        };
        assert_eq!(decided(Some(0.0)).as_deref(), Some("no"));
        assert_eq!(decided(Some(1.0)).as_deref(), Some("yes"));
        assert_eq!(decided(Some(0.5)), None, "no verdict has this reward");
        assert_eq!(decided(None).as_deref(), Some("yes"));
    }

    #[test]
    fn other_evaluators_in_between_end_it() {
        let read = |after, many| {
            Ok(ExportPage { evaluators: vec![format!("{}", after > 0)], ..page(after, many, 0, 1500) })
        };
        assert_eq!(pages::<Error>(read, |_| Ok(())).unwrap_err().code(), "conflict");
    }

    #[test]
    fn names_of_ours_give_way() {
        let evaluators = ["reward".to_string(), "jurybox_reward".into()];
        let names: Vec<String> =
            columns(&evaluators, &["item".into()], false).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names[0], "jurybox_item");
        assert!(names.contains(&"jurybox_jurybox_reward".into()), "{names:?}");
    }
}
