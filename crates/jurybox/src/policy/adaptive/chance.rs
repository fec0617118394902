//! How far chance may have moved what labelled rows tell, each of which tells some of it.
//!
//! Two measures, of which the wider one counts: by noise that is the same everywhere, and by noise
//! that differs from row to row. The latter is HC3 of MacKinnon and White (1985), how far each
//! reward is from the line of all others; and where few rewards make up most of it, as the few yes
//! among many no, it is known no better than from those (Satterthwaite's degrees of freedom). Where
//! all that is told is told by a few rows, as by those in which a rare rule fires, both are blind:
//! the line goes through the mean of these few whatever they are, and the noise of all others says
//! nothing of theirs.

use crate::toolbox::student_quantile;

/// The least that a reward is thought to move its own line less than entirely.
const LEAST_LEFT: f64 = 1e-6;
/// So many rows are few, or one in so many labels where these are fewer,
const FEW: usize = 3;
const ONE_IN: f64 = 10.0;
/// where they tell this share of all.
const MOST: f64 = 0.8;

/// How far a number may be off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance {
    pub(super) variance: f64,
    /// By how many labels that is known.
    pub(super) freedom: f64,
}

/// The labels do not say.
pub(super) const ENDLESS: Chance = Chance { variance: f64::INFINITY, freedom: 1.0 };

impl Chance {
    /// How far it reaches to either side at a level.
    pub(super) fn reach(self, level: f64) -> f64 {
        student_quantile(0.5 + 0.5 * level, self.freedom) * self.variance.sqrt()
    }
}

/// What the rows tell of one number, row by row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    squares: f64,
    fourths: f64,
    /// The sum of squares of what a unit of each reward moves the number by, and the largest of
    /// these.
    all: f64,
    most: [f64; FEW],
}

impl Told {
    /// Adds a row of so many labels: what a unit of each of its rewards moves the number by, how
    /// far these are off the line, and how much of them the line leaves.
    pub(super) fn add(&mut self, moves: f64, off: f64, left: f64, count: f64) {
        let square = (moves * off / left.max(LEAST_LEFT)).powi(2);
        self.squares += count * square;
        self.fourths += count * square * square;
        self.all += count * moves * moves;
        // A row that was seen several times is several rows.
        let times = count.ceil().max(1.0);
        let one = count * moves * moves / times;
        for _ in 0..FEW.min(times as usize) {
            let least = self.most.iter_mut().min_by(|a, b| a.total_cmp(b));
            if let Some(least) = least.filter(|least| **least < one) {
                *least = one;
            }
        }
    }

    /// Where the noise is each row's own, the rows being so small a part of the labels.
    pub(super) fn uneven(&self, labels_per_row: f64, most_freedom: f64) -> Chance {
        // The square of a normal number has a variance of twice its mean squared.
        let freedom =
            labels_per_row * 2.0 * self.squares * self.squares / self.fourths.max(f64::MIN_POSITIVE);
        Chance { variance: labels_per_row * self.squares, freedom: freedom.clamp(1.0, most_freedom) }
    }

    /// Whether a few rows of so many labels tell most of it.
    pub(super) fn rests_on_few(&self, labels: f64) -> bool {
        let mut most = self.most;
        most.sort_unstable_by(|a, b| b.total_cmp(a));
        let few = ((labels / ONE_IN).ceil() as usize).min(FEW);
        most[..few].iter().sum::<f64>() >= MOST * self.all
    }
}
