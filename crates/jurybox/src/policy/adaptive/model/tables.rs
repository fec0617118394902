//! The value of a row, read off tables: one piecewise linear function per evaluator.
//!
//! A complete row takes one lookup per score. A row with gaps takes the same lookups, and from each
//! also what the present score says about the missing ones: under the one-factor model the
//! standardised and the normal score of a missing evaluator are its loading times one number each,
//! both running sums over the present scores, and the bends of the latter are those of a normal law
//! around it. Which rows stand next to each other plays no part.

use super::super::landscape::{self, Landscape};
use crate::estimate::grid::{Grid, MOST_KNOTS, PIECES, with_halvings};
use crate::form::Curves;
use crate::scores::Scores;

/// One table per evaluator.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    columns: Vec<Column>,
    /// What each evaluator's expected score adds where it is missing.
    gaps: Vec<Gap>,
    /// The halvings that the hardest of the grids needs.
    halvings: usize,
}

/// An evaluator's contribution to the value of a row that has its score, and to the expectation of
/// the others.
#[derive(Debug, Clone)]
struct Column {
    grid: Grid,
    /// Value at the beginning of each piece, and slope.
    value: [[f64; 2]; PIECES],
    /// The same for the normal score, times what it says about the common factor.
    ranked: [[f64; 2]; PIECES],
    /// The standardised score, times the same; and how much is known of the factor from this
    /// evaluator.
    centre: f64,
    plain: f64,
    precision: f64,
}

/// An evaluator's contribution per unit of the common factor where its score is missing.
#[derive(Debug, Clone)]
struct Gap {
    plain: f64,
    ranked: f64,
    /// What the normal score is per unit of the factor, and the variance that is its own, for the
    /// bends.
    loading: f64,
    noise: f64,
    bends: [f64; landscape::BENDS.len()],
    /// What it adds that the score is missing.
    blank: f64,
}

impl Tables {
    pub(super) fn new(landscape: &Landscape, weights: &[f64]) -> Self {
        let width = landscape.width();
        let columns: Vec<Column> = (0..width).map(|j| Column::new(landscape, weights, j)).collect();
        let weight =
            |block: usize, j: usize| if block < landscape.blocks { weights[block * width + j] } else { 0.0 };
        let mut gaps: Vec<Gap> =
            (0..width)
                .map(|j| Gap {
                    plain: weight(0, j) * landscape.loading[j],
                    ranked: weight(1, j) * landscape.loading[j],
                    loading: landscape.loading[j],
                    noise: landscape.noise[j],
                    bends: std::array::from_fn(|bend| {
                        if landscape.scale[j] == 0.0 { 0.0 } else { weight(bend + 2, j) }
                    }),
                    blank: 0.0,
                })
                .collect();
        for (blank, weight) in landscape.blanks.iter().zip(&weights[landscape.in_blocks()..]) {
            gaps[blank.evaluator].blank = blank.size * weight;
        }
        let halvings = columns.iter().map(|column| column.grid.halvings()).max().unwrap_or(0);
        Tables { columns, gaps, halvings }
    }

    /// The value of each row, `intercept` included.
    pub(super) fn values(&self, intercept: f64, scores: &Scores<'_>, out: &mut Vec<f64>) {
        with_halvings!(self.halvings, N => if scores.is_complete() {
            out.extend(scores.rows().map(|row| intercept + self.complete::<N>(row)));
        } else {
            out.extend(scores.rows().map(|row| {
                let complete = row.iter().fold(true, |all, x| all & !x.is_nan());
                intercept + if complete { self.complete::<N>(row) } else { self.with_gaps::<N>(row) }
            }));
        });
    }

    #[inline]
    fn complete<const HALVINGS: usize>(&self, row: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (&x, column) in row.iter().zip(&self.columns) {
            let piece = column.grid.piece::<HALVINGS>(x);
            let [value, slope] = column.value[piece % PIECES];
            sum += value + slope * (x - column.grid.knot(piece));
        }
        sum
    }

    /// Column by column: the additions of [`complete`](Self::complete) in their order.
    #[inline]
    fn add_column<const HALVINGS: usize>(column: &Column, scores: &[f64], sums: &mut [f64]) {
        for (&x, sum) in scores.iter().zip(sums) {
            let piece = column.grid.piece::<HALVINGS>(x);
            let [value, slope] = column.value[piece % PIECES];
            *sum += value + slope * (x - column.grid.knot(piece));
        }
    }

    /// Without branches on what is missing: they would be guessed wrong as often as not.
    #[inline]
    fn with_gaps<const HALVINGS: usize>(&self, row: &[f64]) -> f64 {
        let (mut sum, mut precision, mut plain, mut ranked) = (0.0, 1.0, 0.0, 0.0);
        let (mut missing_plain, mut missing_ranked, mut blank) = (0.0, 0.0, 0.0);
        for ((&x, column), gap) in row.iter().zip(&self.columns).zip(&self.gaps) {
            let missing = x.is_nan();
            let pick = |present: f64| if missing { 0.0 } else { present };
            let piece = column.grid.piece::<HALVINGS>(x);
            let beyond = x - column.grid.knot(piece);
            let [value, slope] = column.value[piece % PIECES];
            let [score, score_slope] = column.ranked[piece % PIECES];
            sum += pick(value + slope * beyond);
            ranked += pick(score + score_slope * beyond);
            plain += pick(column.plain * (x - column.centre));
            precision += pick(column.precision);
            missing_plain += if missing { gap.plain } else { 0.0 };
            missing_ranked += if missing { gap.ranked } else { 0.0 };
            blank += if missing { gap.blank } else { 0.0 };
        }
        let (plain, ranked) = (plain / precision, ranked / precision);
        sum += missing_plain * plain + missing_ranked * ranked + blank;
        let bent = row.iter().zip(&self.gaps).filter(|(x, gap)| x.is_nan() && gap.bends != [0.0; 2]);
        for (_, gap) in bent {
            let deviation = (gap.noise + gap.loading * gap.loading / precision).sqrt();
            for (at, weight) in gap.bends.iter().enumerate() {
                sum += weight * landscape::expected_bend(gap.loading * ranked, deviation, at + 1);
            }
        }
        sum
    }
}

impl Curves for Tables {
    fn add(&self, evaluator: usize, scores: &[f64], sums: &mut [f64]) {
        let column = &self.columns[evaluator];
        with_halvings!(column.grid.halvings(), N => Self::add_column::<N>(column, scores, sums));
    }
}

impl Column {
    /// The pieces between knots, and the straight line beyond the last ones.
    fn new(landscape: &Landscape, weights: &[f64], j: usize) -> Self {
        let (scale, width) = (landscape.scale[j], landscape.width());
        let share = if scale == 0.0 { 0.0 } else { landscape.loading[j] / landscape.noise[j] };
        let mut column = Column {
            grid: Grid::default(),
            value: [[0.0; 2]; PIECES],
            ranked: [[0.0; 2]; PIECES],
            centre: landscape.centre[j],
            plain: share * scale,
            precision: share * landscape.loading[j],
        };
        if scale == 0.0 {
            return column; // present or not, an evaluator that never varies says nothing
        }
        let knots = with_bends(landscape.curves[j].knots());
        let straight = weights[j] * scale;
        let bent = |score: f64| -> f64 {
            let bends = landscape.blocks - 1;
            (0..bends).map(|bend| weights[(bend + 1) * width + j] * landscape::bend(score, bend)).sum()
        };
        let first = knots.first().copied().unwrap_or((column.centre, 0.0));
        column.grid = Grid::new(&knots.iter().map(|knot| knot.0).collect::<Vec<_>>());
        let at = column.grid.knot(0);
        column.value[0] = [straight * (at - column.centre) + bent(first.1), straight];
        column.ranked[0] = [share * first.1, 0.0];
        for (i, &(x, score)) in knots.iter().enumerate() {
            let slope = |f: &dyn Fn(f64) -> f64| match knots.get(i + 1) {
                Some(&(next, next_score)) => {
                    let slope = (f(next_score) - f(score)) / (next - x);
                    if slope.is_finite() { slope } else { 0.0 }
                }
                None => 0.0,
            };
            let value = straight * (x - column.centre) + bent(score);
            column.value[i + 1] = [value, straight + slope(&bent)];
            column.ranked[i + 1] = [share * score, slope(&|score| share * score)];
        }
        column
    }
}

/// The knots of a curve, with those added where the normal score passes a bend.
fn with_bends((at, score): (&[f64], &[f64])) -> Vec<(f64, f64)> {
    let most = MOST_KNOTS - landscape::BENDS.len();
    let mut knots: Vec<(f64, f64)> = Vec::with_capacity(at.len() + landscape::BENDS.len());
    for (&x, &score) in at.iter().zip(score).take(most) {
        if let Some(&(before, last)) = knots.last() {
            let between: [Option<(f64, f64)>; landscape::BENDS.len()] = landscape::BENDS.map(|bend| {
                let share = (bend - last) / (score - last);
                let place = before + share * (x - before);
                (place > before && place < x).then_some((place, bend))
            });
            knots.extend(between.into_iter().flatten());
        }
        knots.push((x, score));
    }
    knots
}
