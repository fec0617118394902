//! The report on reviewers: severity, noise and weight of their verdicts.

use super::text::{clipped, interval};
use super::{Report, as_estimate};
use crate::error::Error;
use crate::ranker::new_jury;
use crate::table::{ScanRequest, Table};
use crate::teach::teach;
use crate::terminal::push_line;
use jurybox::options::Fraction;
use jurybox::{Interval, Jury, Reviewer, Spec};
use jurybox_draw::{counted, short, table as html_table};
use serde::Serialize;
use std::collections::HashMap;

/// The figures of one reviewer, compared with the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReviewerReport {
    /// The name in the column; `None` for verdicts without a name.
    pub name: Option<String>,
    /// The number of verdicts in the table.
    pub verdicts: u64,
    /// How much higher the verdicts are than those of other reviewers on the same rows, in units of
    /// the reward, with a 95% interval. Its ends are infinite if there are too few verdicts.
    #[serde(serialize_with = "as_estimate")]
    pub severity: Interval,
    /// The noise of a verdict relative to the median reviewer, with a 95% interval: 2 is twice as
    /// noisy. It includes the part of the reward that no score explains, which all reviewers share.
    #[serde(serialize_with = "as_estimate")]
    pub noise: Interval,
    /// The weight of a verdict relative to the median reviewer.
    pub weight: f64,
}

/// The reviewers of a table, most verdicts first. Figures come from `state` or, if it has none,
/// from the default policy taught with the table.
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

/// The number of verdicts per reviewer; verdicts without a name are under the empty name.
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
    /// The cells of a table row.
    fn cells(&self) -> [String; 5] {
        let name = self.name.clone().unwrap_or_else(|| "(no name)".into());
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

/// Greater noise is shown as "over 20".
const MOST_SHOWN: f64 = 20.0;

impl Report {
    /// The reviewers as a plain-text table.
    pub(super) fn reviewers_as_text(&self) -> String {
        let mut text = String::new();
        if self.reviewers.is_empty() {
            return text;
        }
        let rows: Vec<[String; 5]> = self.reviewers.iter().map(ReviewerReport::cells).collect();
        let width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0).max(8);
        let heads = ["verdicts", "severity", "noise", "weight"];
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

    /// The reviewers as a section of the page.
    pub(super) fn reviewers_as_html(&self) -> String {
        if self.reviewers.is_empty() {
            return String::new();
        }
        let rows: Vec<[String; 5]> = self.reviewers.iter().map(ReviewerReport::cells).collect();
        let head = ["reviewer", "verdicts", "severity", "noise", "weight"];
        format!(
            "<h2>The reviewers</h2>{}<p class=\"small\">{} by {}. <b>Severity</b>: how much higher the verdicts are than those of the \
             others on the same rows. <b>Noise</b>: relative to the median reviewer; it includes what no score shows of a row. A \
             reviewer who always gives the same verdict says nothing about rows. <b>Weight</b>: what a verdict counts for, relative to the \
             median reviewer. Each interval has 95%.</p>",
            html_table(&head, &rows),
            counted(self.reviewers.iter().map(|about| about.verdicts).sum(), "verdict"),
            counted(self.reviewers.len() as u64, "reviewer"),
        )
    }
}
