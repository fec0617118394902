//! The result of a prevalence estimate as a table.

use super::{ErrorRate, ErrorRates, Prevalence, PrevalenceLine};
use crate::rounded::RewardUnit;
use jurybox::Interval;
use jurybox_draw::{counted, short};
use jurybox_files::{plain, push_line};

/// Text of an empty cell.
const NOTHING: &str = "–";

impl Prevalence {
    /// A text for the terminal: a headline, a table of all periods and groups with all rows last,
    /// and notes.
    pub fn to_table(&self) -> String {
        let mut text = String::new();
        push_line(&mut text, &self.headline());
        push_line(
            &mut text,
            &format!(
                "Predictions: {}. Rewards from {} to {} ({}).",
                self.predictions,
                short(self.reward_range.0),
                short(self.reward_range.1),
                self.reward_range_from
            ),
        );
        if let Some(errors) = &self.errors {
            push_line(&mut text, &errors_in_words(errors));
        }
        if let Some(items) = self.items {
            let items = counted(items, "item");
            push_line(&mut text, &format!("Rows of one id count as one item in the intervals: {items}."));
        }
        let mut cells = vec![self.header()];
        cells.extend(self.lines.iter().map(|line| self.cells(line, NOTHING)));
        cells.push(self.cells(&self.all, "all"));
        cells.iter_mut().flatten().for_each(|cell| *cell = plain(cell, false).into_owned());
        let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..cells[0].len()).map(width).collect();
        // Names are aligned left, figures right.
        let names = cells[0].len() - FIGURES.len() - usize::from(self.errors.is_some());
        for row in &cells {
            let padded = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < names { format!("{cell:width$}") } else { format!("{cell:>width$}") }
            });
            push_line(&mut text, padded.collect::<Vec<_>>().join("  ").trim_end());
        }
        if self
            .lines
            .iter()
            .chain([&self.all])
            .any(|line| line.low.is_some() && self.interval(line).is_none())
        {
            push_line(
                &mut text,
                "Without an interval, the mean can be anywhere in the range of rewards: review more rows.",
            );
        }
        for warning in &self.warnings {
            push_line(&mut text, &format!("warning: {warning}"));
        }
        text
    }

    /// The mean of all rows, as a sentence.
    fn headline(&self) -> String {
        let all = &self.all;
        let mean = match (all.mean, self.interval(all)) {
            (Some(mean), Some((low, high))) => {
                let [mean, low, high] = self.unit.aligned([mean, low, high]);
                format!("{mean} (95% interval {low} to {high})")
            }
            (Some(mean), None) => self.unit.number(mean),
            (None, _) => "unknown".into(),
        };
        let corrected = match self.errors {
            Some(_) => "corrected by golden items",
            None => "not corrected for errors of reviewers",
        };
        format!(
            "Mean `{}` of all {}: {mean}, from {} reviewed; {corrected}.",
            self.reward,
            counted(all.rows, "row"),
            all.labelled
        )
    }

    /// The interval of a line. None if it is unknown or the whole range of rewards.
    fn interval(&self, line: &PrevalenceLine) -> Option<(f64, f64)> {
        let (low, high) = (line.low?, line.high?);
        ((low, high) != self.reward_range).then_some((low, high))
    }

    fn header(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        names.extend(self.period.clone());
        names.extend(self.by.clone());
        if names.is_empty() {
            names.push(String::new());
        }
        let uncorrected = self.errors.map(|_| "uncorrected".into());
        names.into_iter().chain(FIGURES.map(String::from)).chain(uncorrected).collect()
    }

    fn cells(&self, line: &PrevalenceLine, unnamed: &str) -> Vec<String> {
        let name = |asked: bool, said: &Option<String>| asked.then(|| said.clone().unwrap_or(unnamed.into()));
        let mut cells: Vec<String> = Vec::new();
        cells.extend(name(self.period.is_some(), &line.period));
        cells.extend(name(self.by.is_some(), &line.group));
        if cells.is_empty() {
            cells.push(unnamed.into());
        }
        let number = |value: Option<f64>| value.map_or(NOTHING.into(), |value| self.unit.number(value));
        let [mean, low, high] = match (line.mean, self.interval(line)) {
            (Some(mean), Some((low, high))) => self.unit.aligned([mean, low, high]),
            (mean, _) => [number(mean), NOTHING.into(), NOTHING.into()],
        };
        let doubt = if line.reliable || line.mean.is_none() { "" } else { "?" };
        cells.extend([line.rows.to_string(), line.labelled.to_string(), mean, low, format!("{high}{doubt}")]);
        cells.extend(self.errors.map(|_| number(line.uncorrected.map(|called| called.mean))));
        cells
    }
}

/// Both error rates with their intervals, as a sentence.
fn errors_in_words(ErrorRates { false_positive_rate, false_negative_rate }: &ErrorRates) -> String {
    let rate = |of: &ErrorRate| {
        let ErrorRate { verdicts, mean, low, high } = *of;
        let rate = RewardUnit::Percent.estimate(Interval { mean, low, high });
        format!("{rate} of {}", counted(verdicts, "verdict"))
    };
    format!(
        "Errors on golden items: false positives {}; false negatives {}.",
        rate(false_positive_rate),
        rate(false_negative_rate)
    )
}

const FIGURES: [&str; 5] = ["rows", "reviewed", "mean", "low", "high"];
