//! Why an item has its value: what each evaluator adds to it beyond that of the item with every
//! score at its mean.

use super::super::explain::credit_the_present;
use super::super::landscape::Landscape;
use super::lens::{self, Places, Seen};
use super::logistic::logistic;
use super::{Levels, Question, odds};
use crate::contributions::Contributions;

impl Levels {
    /// Joins what each evaluator adds here with what it adds to the value by straight lines and
    /// bends.
    pub(crate) fn contributions(
        &self,
        landscape: &Landscape,
        row: &[f64],
        by_lines: &Contributions,
    ) -> Contributions {
        let width = row.len();
        let mut origin = vec![0.0; lens::order(landscape)];
        origin[0] = 1.0;
        let origin = Seen { plain: &origin, ranked: &origin };
        let places = Places::of(landscape, row);
        let seen = places.each().next().unwrap_or(origin);
        let mut each = vec![0.0; width];
        let mut base = self.lowest;
        for (at, question) in self.questions.iter().enumerate() {
            let there = question.log_odds(origin, self.forest.shares(origin.plain)[at]);
            base += question.gap * logistic(there);
            let (here, terms) = self.terms(landscape, question, at, seen, origin);
            let slope = question.gap * secant(logistic, there, here, |p| p * (1.0 - p));
            each.iter_mut().zip(terms).for_each(|(sum, term)| *sum += slope * term);
        }
        base += credit_the_present(landscape, row, &mut each);
        // What lines say beyond the levels is cut off, in proportion.
        let base_by_lines = self.within(by_lines.base);
        let told = by_lines.value() - by_lines.base;
        let kept = if told == 0.0 { 1.0 } else { (self.within(by_lines.value()) - base_by_lines) / told };
        let mix = |here: f64, lines: f64| self.share * here + (1.0 - self.share) * lines;
        Contributions {
            base: mix(base, base_by_lines),
            each: each.iter().zip(&by_lines.each).map(|(here, lines)| mix(*here, kept * lines)).collect(),
        }
    }

    /// The log-odds of a question, and what each evaluator adds to them.
    fn terms(
        &self,
        landscape: &Landscape,
        question: &Question,
        at: usize,
        seen: Seen<'_>,
        origin: Seen<'_>,
    ) -> (f64, Vec<f64>) {
        let width = landscape.width();
        // Those that say what is missing stand behind the evaluators.
        let blanks = lens::blanks(landscape);
        let mut terms = vec![0.0; width + blanks.len()];
        question.plain.explain(seen.plain, &mut terms);
        question.ranked.explain(seen.ranked, &mut terms);
        let (mut down, mut down_there) = (vec![0.0; width], vec![0.0; width]);
        self.forest.path(seen.plain, at, &mut down);
        self.forest.path(origin.plain, at, &mut down_there);
        let (here, there) = (self.forest.shares(seen.plain)[at], self.forest.shares(origin.plain)[at]);
        for (blank, term) in blanks.iter().zip(terms.split_off(width)) {
            terms[blank.evaluator] += term;
        }
        let slope = question.trees * secant(odds, there, here, |_| 1.0 / (here * (1.0 - here)));
        for (term, (down, down_there)) in terms.iter_mut().zip(down.iter().zip(&down_there)) {
            *term = (*term + slope * (down - down_there)) / (2.0 + question.trees);
        }
        (question.log_odds(seen, here), terms)
    }
}

/// The slope of a function between two points; where they meet, its derivative, told by its value.
fn secant(f: impl Fn(f64) -> f64, from: f64, to: f64, derivative: impl Fn(f64) -> f64) -> f64 {
    let run = to - from;
    if run.abs() > 1e-9 { (f(to) - f(from)) / run } else { derivative(f(to)) }
}
