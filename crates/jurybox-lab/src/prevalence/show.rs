//! The result of a prevalence estimate as a table.

use super::{ErrorRate, ErrorRates, Prevalence, PrevalenceLine};
use jurybox_draw::{counted, short};
use jurybox_files::{plain, push_line};

/// Text of an empty cell.
const NOTHING: &str = "–";

impl Prevalence {
    /// A table for the terminal: one line per period and group, then all rows.
    pub fn to_table(&self) -> String {
        let mut text = String::new();
        push_line(
            &mut text,
            &format!(
                "mean `{}` of all rows, {}, from {} of {} with one; 95% intervals",
                self.reward,
                if self.errors.is_some() { "corrected by golden items" } else { "as reviewers call it" },
                self.all.labelled,
                counted(self.all.rows, "row"),
            ),
        );
        push_line(
            &mut text,
            &format!(
                "predictions: {}; rewards from {} to {} ({})",
                self.predictions,
                short(self.reward_range.0),
                short(self.reward_range.1),
                self.reward_range_from
            ),
        );
        if let Some(ErrorRates { false_positive_rate, false_negative_rate }) = &self.errors {
            let rate = |of: &ErrorRate| {
                let ErrorRate { verdicts, mean, low, high } = of;
                format!("{} ({} to {}) of {verdicts}", short(*mean), short(*low), short(*high))
            };
            push_line(
                &mut text,
                &format!(
                    "golden items: called yes {} that are no; called no {} that are yes",
                    rate(false_positive_rate),
                    rate(false_negative_rate)
                ),
            );
        }
        if let Some(items) = self.items {
            push_line(&mut text, &format!("rows of one id are taken together: {}", counted(items, "id")));
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
        for warning in &self.warnings {
            push_line(&mut text, &format!("warning: {warning}"));
        }
        text
    }

    fn header(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        names.extend(self.period.clone());
        names.extend(self.by.clone());
        if names.is_empty() {
            names.push(String::new());
        }
        let called = self.errors.map(|_| "as called".into());
        names.into_iter().chain(FIGURES.map(String::from)).chain(called).collect()
    }

    fn cells(&self, line: &PrevalenceLine, unnamed: &str) -> Vec<String> {
        let name = |asked: bool, said: &Option<String>| asked.then(|| said.clone().unwrap_or(unnamed.into()));
        let mut cells: Vec<String> = Vec::new();
        cells.extend(name(self.period.is_some(), &line.period));
        cells.extend(name(self.by.is_some(), &line.group));
        if cells.is_empty() {
            cells.push(unnamed.into());
        }
        let figure = |value: Option<f64>| value.map_or(NOTHING.into(), short);
        let doubt = if line.reliable || line.mean.is_none() { "" } else { "?" };
        cells.extend([
            line.rows.to_string(),
            line.labelled.to_string(),
            figure(line.mean),
            figure(line.low),
            format!("{}{doubt}", figure(line.high)),
        ]);
        cells.extend(self.errors.map(|_| figure(line.uncorrected.map(|called| called.mean))));
        cells
    }
}

const FIGURES: [&str; 5] = ["rows", "looked at", "mean", "low", "high"];
