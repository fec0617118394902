//! Sums over the verdicts of one reviewer.

/// Sums over a reviewer's verdicts: x is what was expected less the centre, y how far off the
/// verdict was.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) verdicts: f64,
    pub(super) weight: f64,
    pub(super) x: f64,
    pub(super) y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
    /// Over single verdicts: how far off, squared, beside what such verdicts are off on average;
    /// and the squares of that.
    squares: f64,
    fourths: f64,
}

impl Sums {
    pub(super) fn add(&mut self, x: f64, y: f64, count: f64, weight: f64) {
        self.verdicts += count;
        self.weight += weight;
        self.x += weight * x;
        self.y += weight * y;
        self.xx += weight * x * x;
        self.xy += weight * x * y;
        self.yy += weight * y * y;
        let square = weight / count * y * y;
        self.squares += count * square;
        self.fourths += count * square * square;
    }

    /// Spread of x, its product with y, and spread of y, around their means.
    pub(super) fn around_means(&self) -> (f64, f64, f64) {
        let within = |product: f64, a: f64, b: f64| product - a * b / self.weight;
        (
            within(self.xx, self.x, self.x).max(0.0),
            within(self.xy, self.x, self.y),
            within(self.yy, self.y, self.y).max(0.0),
        )
    }

    /// The slope of y on x, where x varies.
    pub(super) fn slope(&self) -> Option<f64> {
        let (xx, xy, _) = self.around_means();
        (xx > 1e-12 * self.xx.max(f64::MIN_POSITIVE)).then(|| xy / xx)
    }

    /// The squares that its own line leaves, and by how many verdicts more than it takes.
    pub(super) fn left(&self) -> (f64, f64) {
        let (_, xy, yy) = self.around_means();
        let squares = (yy - self.slope().unwrap_or(0.0) * xy).max(0.0);
        (squares, self.verdicts - 2.0)
    }
}

/// By how many times its mean squared the square of how far a verdict is off varies: twice for
/// normal ones, and many times where a few are far off, as the yes among many no. Within reviewers,
/// and over all of them; none where every verdict is as expected.
pub(super) fn wide(groups: &[Sums]) -> Option<(f64, f64)> {
    let (mut verdicts, mut squares, mut fourths) = (0.0, 0.0, 0.0);
    let (mut fourths_within, mut products) = (0.0, 0.0);
    for group in groups {
        verdicts += group.verdicts;
        squares += group.squares;
        fourths += group.fourths;
        if group.verdicts > 1.5 {
            // Of two different verdicts the product of squares is the square of the mean, however
            // few there are.
            fourths_within += group.fourths;
            products += (group.squares * group.squares - group.fourths) / (group.verdicts - 1.0);
        }
    }
    // Reviewers who differ make squares vary, too: what they do within each is not to be more than
    // over all.
    let over_all = verdicts * fourths / (squares * squares) - 1.0;
    let within = if products > 0.0 { fourths_within / products - 1.0 } else { f64::INFINITY };
    (squares > 0.0 && over_all.is_finite()).then(|| (within.min(over_all).max(1.0), over_all.max(1.0)))
}
