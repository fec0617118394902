//! The outcome of a replay as a table, a plot and a page.

use super::entrants::BEST_SINGLE;
use super::{ReplayLine, ReplayOutcome};
use crate::rounded::RewardUnit;
use jurybox::Interval;
use jurybox_draw::{Curve, Frame, Plot, Scale, counted, escaped, page, short, warnings};
use jurybox_files::push_line;
use std::fmt::Write;

/// Makes the cell of a column for a line.
type CellText = Box<dyn Fn(&ReplayLine) -> String>;

/// The meaning of the columns, on the page.
const LEGEND: &str = "The best share is (reward − uniform) / (best possible − uniform), a ratio of \
                      sums over all runs: 0 for random picks, 1 for the best possible picks. \
                      Differences are to the first policy, paired. The best single evaluator is \
                      chosen in hindsight, as the one with the highest reward so far.";

impl ReplayOutcome {
    /// A table for the terminal: policies with the best first, then references.
    pub fn to_table(&self) -> String {
        let mut text = format!("{}\n", self.setting());
        if !self.ci95_covers.is_empty() {
            push_line(&mut text, &format!("95% intervals {}", self.ci95_covers));
        }
        // Many duplicates have a warning of their own.
        if self.duplicate_scores > 0 && !self.has_many_duplicates() {
            push_line(&mut text, &self.duplicates_sentence());
        }
        let cells: Vec<Vec<String>> =
            self.cells().into_iter().map(|row| row.iter().map(|cell| clipped(cell)).collect()).collect();
        let widths: Vec<usize> = (0..cells.first().map_or(0, Vec::len))
            .map(|column| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        for row in &cells {
            let mut line = String::new();
            for (cell, &width) in row.iter().zip(&widths) {
                let _ = write!(line, "{cell:width$}  ");
            }
            push_line(&mut text, line.trim_end());
        }
        for warning in &self.warnings {
            push_line(&mut text, &format!("warning: {warning}"));
        }
        text
    }

    fn setting(&self) -> String {
        let what = match self.method {
            "replayed" => match self.protocol {
                "pool" => "one pool, no row reviewed twice",
                "folds" => "folds, each ranked after learning from the others",
                "reuse" => "rounds in which rows come back",
                _ => "rounds, each row once",
            },
            _ => "not known",
        };
        let unit = if self.protocol == "pool" { "step" } else { "round" };
        format!(
            "{}, {}; {} of {} items, {}, {}, seed {}; {what}; intervals over {}",
            counted(self.rows as u64, "row"),
            counted(self.evaluators.len() as u64, "evaluator"),
            counted(self.k as u64, "pick"),
            short(self.items),
            counted(self.rounds as u64, unit),
            counted(self.runs as u64, "run"),
            self.seed,
            self.ci95_over
        )
    }

    /// Policies with the best first, then references.
    fn lines(&self) -> impl Iterator<Item = &ReplayLine> {
        let mut policies: Vec<&ReplayLine> = self.policies.iter().collect();
        policies.sort_by(|a, b| b.reward_per_pick.mean.total_cmp(&a.reward_per_pick.mean));
        policies.into_iter().chain(&self.references)
    }

    /// The cells of the table, with a header; columns without content are left out.
    fn cells(&self) -> Vec<Vec<String>> {
        let any = |has: &dyn Fn(&ReplayLine) -> bool| self.lines().any(has);
        let unit = self.unit;
        let mut columns: Vec<(String, CellText)> = vec![
            ("policy".into(), Box::new(shown_name)),
            ("reward per pick".into(), Box::new(move |line| unit.estimate(line.reward_per_pick))),
        ];
        if any(&|line| line.best_share.is_some()) {
            columns.push(("best share".into(), Box::new(|line| share(line.best_share))));
        }
        let marks: Vec<usize> =
            self.policies.first().map_or(Vec::new(), |line| line.best_share_at.keys().copied().collect());
        for mark in marks.into_iter().filter(|&mark| mark != self.labels) {
            columns.push((
                format!("at {mark} labels"),
                Box::new(move |line| share(line.best_share_at.get(&mark).copied())),
            ));
        }
        if let Some(first) = self.policies.first().filter(|_| any(&|line| line.difference_to_first.is_some()))
        {
            columns.push((format!("minus {}", first.name), Box::new(difference)));
        }
        if any(&|line| line.labelled_before.is_some()) {
            let before = |line: &ReplayLine| {
                line.labelled_before.map_or(String::new(), |x| format!("{:.0}%", 100.0 * x))
            };
            columns.push(("labelled before".into(), Box::new(before)));
        }
        if self.policies.is_empty() {
            return Vec::new();
        }
        let header = columns.iter().map(|(name, _)| name.clone()).collect();
        let rows = self.lines().map(|line| columns.iter().map(|(_, cell)| cell(line)).collect());
        std::iter::once(header).chain(rows).collect()
    }

    /// A plot of the best share by number of labels; of the reward per pick if nothing can be
    /// gained.
    pub fn to_svg(&self) -> String {
        let shares = self.policies.iter().any(|line| line.best_share.is_some());
        let curve = |line: &ReplayLine| {
            let point = |p: &super::CurvePoint| {
                let y = if shares { p.best_share? } else { p.reward_per_pick };
                Some((p.labels as f64, y))
            };
            Curve::new(&line.name, line.curve.iter().filter_map(point).collect())
        };
        let mut curves: Vec<Curve> = self.policies.iter().map(curve).collect();
        curves.extend(self.references.iter().map(|line| curve(line).as_reference()));
        let plot = Plot {
            title: String::new(),
            x_label: "labels".into(),
            y_label: if shares { "best share so far" } else { "reward per pick so far" }.into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            curves,
        };
        plot.drawn(&Frame::tight(860.0, 420.0, 190.0))
    }

    /// The outcome as a self-contained page.
    pub fn to_html(&self) -> String {
        let mut body =
            format!("<p class=\"lead\">{}</p>{}", escaped(&self.setting()), warnings(&self.warnings));
        let cells = self.cells();
        if !cells.is_empty() {
            body += "<div class=\"scroll\"><table>";
            for (at, row) in cells.iter().enumerate() {
                let reference = at > 0 && self.references.iter().any(|line| shown_name(line) == row[0]);
                let tag = if at == 0 { "th" } else { "td" };
                body += if reference { "<tr class=\"reference\">" } else { "<tr>" };
                row.iter().for_each(|cell| {
                    let _ = write!(body, "<{tag}>{}</{tag}>", escaped(cell));
                });
                body += "</tr>";
            }
            let _ = write!(body, "</table></div><p class=\"small\">{LEGEND}");
            if !self.ci95_covers.is_empty() {
                let _ = write!(body, " The 95% intervals are {}.", escaped(self.ci95_covers));
            }
            body += " References are in grey.</p>";
        }
        if self.policies.iter().any(|line| !line.curve.is_empty()) {
            let _ = write!(body, "<h2>By number of labels</h2><div class=\"scroll\">{}</div>", self.to_svg());
        }
        page("What each policy would have earned", &body)
    }
}

/// The difference to the first policy, or a remark that both picked the same rows.
fn difference(line: &ReplayLine) -> String {
    if line.same_picks_as_first { "same picks".into() } else { share(line.difference_to_first) }
}

/// A line's name. The best single evaluator is marked as chosen in hindsight.
fn shown_name(line: &ReplayLine) -> String {
    let hindsight = if line.name.starts_with(BEST_SINGLE) { " in hindsight" } else { "" };
    format!("{}{hindsight}", line.name)
}

/// A cell cut to 60 characters.
fn clipped(cell: &str) -> String {
    const MOST: usize = 60;
    if cell.chars().count() <= MOST {
        return cell.into();
    }
    cell.chars().take(MOST - 1).chain(['…']).collect()
}

fn share(estimate: Option<Interval>) -> String {
    estimate.map_or("–".into(), |share| RewardUnit::Plain.estimate(share))
}
