//! Those who judged, beside one another.

use super::text::{clipped, interval};
use super::{Report, as_estimate};
use crate::error::Error;
use crate::ranker::new_jury;
use crate::table::{Table, ScanRequest};
use crate::teach::teach;
use crate::terminal::push_line;
use jurybox::options::Fraction;
use jurybox::{Interval, Jury, Reviewer, Spec};
use jurybox_draw::{counted, short, table as html_table};
use serde::Serialize;
use std::collections::HashMap;

/// What is known of one reviewer, beside the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReviewerReport {
    /// The name in the column; none for the verdicts without one.
    pub name: Option<String>,
    /// How many verdicts of the table are theirs.
    pub verdicts: u64,
    /// How far their verdicts lie above those that the others would give the same rows, in units of the reward, with a 95% interval: without ends
    /// where verdicts are too few to say.
    #[serde(serialize_with = "as_estimate")]
    pub severity: Interval,
    /// How far a verdict of theirs is from telling what a row is worth, beside the middle reviewer: 2 is twice as noisy. What no score
    /// sees of a row is a part of it, alike for all. With a 95% interval.
    #[serde(serialize_with = "as_estimate")]
    pub noise: Interval,
    /// What a verdict of theirs counts for, beside one of the middle reviewer.
    pub weight: f64,
}

/// Those who judged the rows of a table, by its column of reviewers; those of most verdicts first. By what `state` has learnt of them, if it
/// has, otherwise by what the default policy learns of the table.
pub(super) fn of(table: &Table, state: Option<&Jury>) -> Result<Vec<ReviewerReport>, Error> {
    let verdicts = counts(table)?;
    let of = |jury: &Jury| {
        Fraction::try_from(0.95).map_or_else(|_| Vec::new(), |level| jury.fit().reviewers(level))
    };
    let mut standings = state.map_or_else(Vec::new, of);
    if standings.is_empty() {
        let mut jury = new_jury(&Spec::default(), table.roles().evaluators())?;
        teach(table, &mut jury, 0)?;
        standings = of(&jury);
    }
    let names: HashMap<Option<Reviewer>, &str> = verdicts
        .keys()
        .map(|name| ((!name.is_empty()).then(|| Reviewer::named(name)), name.as_str()))
        .collect();
    let known = standings.into_iter().filter_map(|standing| {
        let name = *names.get(&standing.reviewer)?;
        Some(ReviewerReport {
            name: (!name.is_empty()).then(|| name.into()),
            verdicts: verdicts[name],
            severity: standing.severity,
            noise: standing.noise,
            weight: standing.weight,
        })
    });
    let mut known: Vec<ReviewerReport> = known.collect();
    known.sort_by(|a, b| b.verdicts.cmp(&a.verdicts).then_with(|| a.name.cmp(&b.name)));
    Ok(known)
}

/// How many verdicts each has given; those without a name are together under an empty one.
fn counts(table: &Table) -> Result<HashMap<String, u64>, Error> {
    let mut counts = HashMap::new();
    table.scan(
        ScanRequest { reward: true, reviewer: true, ..ScanRequest::default() },
        |part| Ok((part.batch.rewards, part.batch.reviewers)),
        |_, (rewards, names)| {
            for (_, name) in rewards.into_iter().zip(names).filter(|(reward, _)| !reward.is_nan()) {
                *counts.entry(name.into()).or_insert(0) += 1;
            }
            Ok(())
        },
    )?;
    Ok(counts)
}

impl ReviewerReport {
    fn cells(&self) -> [String; 5] {
        let name = self.name.clone().unwrap_or_else(|| "(nobody named)".into());
        let shown =
            |noise: f64| if noise > MOST_SHOWN { format!("over {MOST_SHOWN:.0}") } else { short(noise) };
        let Interval { mean, low, high } = self.noise;
        let noise = format!("{} [{}, {}]", shown(mean), shown(low), shown(high));
        let severity = if self.severity.half_width().is_finite() {
            interval(Some(self.severity))
        } else {
            format!("{} [unknown]", short(self.severity.mean))
        };
        [clipped(&name), self.verdicts.to_string(), severity, noise, short(self.weight)]
    }
}

/// Noise beyond this is told as that.
const MOST_SHOWN: f64 = 20.0;

impl Report {
    /// The reviewers as a table of plain text.
    pub(super) fn reviewers_as_text(&self) -> String {
        let mut text = String::new();
        if self.reviewers.is_empty() {
            return text;
        }
        let rows: Vec<[String; 5]> = self.reviewers.iter().map(ReviewerReport::cells).collect();
        let width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0).max(8);
        let heads = ["verdicts", "severity", "noise", "counts for"];
        push_line(
            &mut text,
            &format!(
                "{:width$}  {:>8}  {:>26}  {:>26}  {:>10}",
                "reviewer", heads[0], heads[1], heads[2], heads[3]
            ),
        );
        for [name, verdicts, severity, noise, weight] in rows {
            push_line(
                &mut text,
                &format!("{name:width$}  {verdicts:>8}  {severity:>26}  {noise:>26}  {weight:>10}"),
            );
        }
        text
    }

    /// The same on the page.
    pub(super) fn reviewers_as_html(&self) -> String {
        if self.reviewers.is_empty() {
            return String::new();
        }
        let rows: Vec<[String; 5]> = self.reviewers.iter().map(ReviewerReport::cells).collect();
        let head = ["reviewer", "verdicts", "severity", "noise", "counts for"];
        format!(
            "<h2>The reviewers</h2>{}<p class=\"small\">{} by {}. <b>Severity</b>: how far their verdicts lie above those that the \
             others would give the same rows. <b>Noise</b>: how far a verdict is from telling what a row is worth, beside the middle \
             reviewer, with what no score sees of the row itself; one who always says the same tells nothing. <b>Counts for</b>: what a verdict weighs beside one of the middle \
             reviewer. Intervals are of 95% each.</p>",
            html_table(&head, &rows),
            counted(self.reviewers.iter().map(|about| about.verdicts).sum(), "verdict"),
            counted(self.reviewers.len() as u64, "reviewer"),
        )
    }
}
