//! Labelled examples as a regression needs them: the second moments of the features, or, where
//! there are fewer rows than features, the products of the rows with each other. Either way the
//! smaller of the two matrices.

use crate::estimate::Joint;
use crate::kernel::dot;
use crate::matrix::Symmetric;
use std::ops::Range;
use std::sync::Arc;

/// What is known of the examples. The last column is the reward.
#[derive(Debug, Clone)]
pub(crate) enum Examples {
    /// Moments alone.
    Moments(Joint),
    /// The rows themselves.
    Rows(Arc<Rows>),
}

/// Rows less their mean, each times the root of its weight: products of columns are moments.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    weight: f64,
    mean: Vec<f64>,
    table: Vec<f64>,
    counts: Vec<f64>,
}

/// The examples as one set of features sees them, the reward in units of its standard deviation.
#[derive(Debug, Clone)]
pub(super) struct Gram {
    pub(super) examples: f64,
    pub(super) unit: f64,
    pub(super) yy: f64,
    pub(super) features: usize,
    pub(super) form: Form,
}

#[derive(Debug, Clone)]
pub(super) enum Form {
    /// X^T X and X^T y.
    Features { xx: Symmetric, xy: Vec<f64> },
    /// X X^T and y, and where X is.
    Rows { xx: Symmetric, y: Vec<f64>, rows: Arc<Rows>, columns: Range<usize> },
}

impl Examples {
    pub(crate) fn mean(&self, column: usize) -> f64 {
        match self {
            Examples::Moments(joint) => joint.mean(column),
            Examples::Rows(rows) => rows.mean[column],
        }
    }

    /// The column of the reward.
    pub(crate) fn reward(&self) -> usize {
        match self {
            Examples::Moments(joint) => joint.columns() - 1,
            Examples::Rows(rows) => rows.columns() - 1,
        }
    }

    /// What each of several sets of features sees.
    pub(super) fn grams(&self, sets: &[Range<usize>]) -> Vec<Gram> {
        match self {
            Examples::Moments(joint) => {
                let gram = |set: &Range<usize>| Gram::of_moments(joint, joint.columns() - 1, set.clone());
                sets.iter().map(gram).collect()
            }
            Examples::Rows(rows) => rows.grams(sets),
        }
    }
}

impl Rows {
    /// From a table, row after row, each counting as its weight.
    pub(crate) fn new(table: Vec<f64>, columns: usize, counts: Vec<f64>) -> Self {
        let rewards = || table.iter().skip(columns - 1).step_by(columns).copied();
        let alike = rewards().next().filter(|first| rewards().all(|reward| reward == *first));
        let (weight, mut mean, mut table) = Joint::centred(table, columns, &counts);
        if let Some(reward) = alike {
            // What rounding leaves of rewards that are all alike would pass for all of their
            // variance.
            mean[columns - 1] = reward;
            table.iter_mut().skip(columns - 1).step_by(columns).for_each(|off| *off = 0.0);
        }
        Rows { weight, mean, table, counts }
    }

    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    /// The moments of all columns.
    pub(crate) fn joint(&self) -> Joint {
        let mut spread = Symmetric::zeros(self.columns());
        spread.add_outers(&self.table);
        Joint::from_parts(self.weight, self.mean.clone(), spread)
    }

    /// Each row, times the root of its count, and its count.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.table.chunks_exact(self.columns()).zip(self.counts.iter().copied())
    }

    fn columns(&self) -> usize {
        self.mean.len()
    }

    fn len(&self) -> usize {
        self.table.len() / self.columns()
    }

    pub(super) fn row(&self, row: usize, columns: Range<usize>) -> &[f64] {
        &self.table[row * self.columns()..][columns]
    }

    /// X^T v, for some of the columns.
    pub(super) fn times_transposed(&self, columns: Range<usize>, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; columns.len()];
        for (i, v) in v.iter().enumerate() {
            out.iter_mut().zip(self.row(i, columns.clone())).for_each(|(out, x)| *out += v * x);
        }
        out
    }

    /// X d, for some of the columns; what d is too short for counts as zero.
    pub(super) fn times(&self, columns: Range<usize>, d: &[f64]) -> Vec<f64> {
        (0..self.len()).map(|i| dot(self.row(i, columns.clone()), d)).collect()
    }

    fn grams(self: &Arc<Self>, sets: &[Range<usize>]) -> Vec<Gram> {
        let (count, reward) = (self.len(), self.columns() - 1);
        let few = |set: &&Range<usize>| count < set.len();
        // The features' moments, over each stretch of columns that sets with enough rows share, the
        // reward behind them.
        let mut stretches: Vec<Range<usize>> = sets.iter().filter(|set| !few(set)).cloned().collect();
        stretches.sort_unstable_by_key(|set| set.start);
        stretches.dedup_by(|next, last| {
            let shared = next.start < last.end;
            last.end = if shared { last.end.max(next.end) } else { last.end };
            shared
        });
        let moments: Vec<(Range<usize>, Joint)> = stretches
            .into_iter()
            .map(|stretch| {
                let mut spread = Symmetric::zeros(stretch.len() + 1);
                if stretch == (0..reward) {
                    spread.add_outers(&self.table);
                } else {
                    let mut part = Vec::with_capacity(count * spread.order());
                    for row in self.table.chunks_exact(self.columns()) {
                        part.extend_from_slice(&row[stretch.clone()]);
                        part.push(row[reward]);
                    }
                    spread.add_outers(&part);
                }
                (stretch, Joint::from_parts(self.weight, Vec::new(), spread))
            })
            .collect();
        // The rows' products, over each stretch of columns that some set begins or ends with.
        let mut cuts: Vec<usize> = sets.iter().filter(few).flat_map(|set| [set.start, set.end]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let products: Vec<(Range<usize>, Symmetric)> = cuts
            .windows(2)
            .map(|cut| {
                let mut xx = Symmetric::zeros(count);
                xx.add_inners(&self.table, self.columns(), cut[0]..cut[1]);
                (cut[0]..cut[1], xx)
            })
            .collect();
        let gram = |set: &Range<usize>| {
            let enough = moments.iter().find(|(stretch, _)| !few(&set) && stretch.contains(&set.start));
            if let Some((stretch, joint)) = enough {
                let within = set.start - stretch.start..set.end - stretch.start;
                return Gram::of_moments(joint, stretch.len(), within);
            }
            let mut xx = Symmetric::zeros(count);
            let parts = products.iter().filter(|(part, _)| set.start <= part.start && part.end <= set.end);
            parts.for_each(|(_, products)| xx.add(products));
            self.gram_of_products(xx, set.clone())
        };
        sets.iter().map(gram).collect()
    }

    fn gram_of_products(self: &Arc<Self>, xx: Symmetric, columns: Range<usize>) -> Gram {
        let reward = self.columns() - 1;
        let rewards: Vec<f64> = (0..self.len()).map(|i| self.row(i, reward..reward + 1)[0]).collect();
        let yy = dot(&rewards, &rewards);
        let unit = unit(self.weight, yy);
        let y = rewards.iter().map(|y| y / unit).collect();
        Gram {
            examples: self.weight,
            unit,
            yy: yy / (unit * unit),
            features: columns.len(),
            form: Form::Rows { xx, y, rows: Arc::clone(self), columns },
        }
    }
}

impl Gram {
    fn of_moments(joint: &Joint, y: usize, set: Range<usize>) -> Self {
        let yy = joint.spread(y, y);
        let unit = unit(joint.weight(), yy);
        let mut xx = Symmetric::zeros(set.len());
        for (a, i) in set.clone().enumerate() {
            for (b, j) in (set.start..=i).enumerate() {
                xx.set(a, b, joint.spread(i, j));
            }
        }
        let xy = set.clone().map(|i| joint.spread(i, y) / unit).collect();
        Gram {
            examples: joint.weight(),
            unit,
            yy: yy / (unit * unit),
            features: set.len(),
            form: Form::Features { xx, xy },
        }
    }

    /// The smaller of the two matrices, and the reward beside it.
    pub(super) fn matrix(&self) -> (&Symmetric, &[f64]) {
        match &self.form {
            Form::Features { xx, xy } => (xx, xy),
            Form::Rows { xx, y, .. } => (xx, y),
        }
    }

    /// A direction beside that matrix: X^T X d, or X d.
    pub(super) fn image(&self, direction: &[f64]) -> Vec<f64> {
        match &self.form {
            Form::Features { xx, .. } => xx.times(direction),
            Form::Rows { rows, columns, .. } => rows.times(columns.clone(), direction),
        }
    }

    /// Weights of the features from a solution of the matrix.
    pub(super) fn weights(&self, solution: Vec<f64>) -> Vec<f64> {
        match &self.form {
            Form::Features { .. } => solution,
            Form::Rows { rows, columns, .. } => rows.times_transposed(columns.clone(), &solution),
        }
    }
}

/// The standard deviation of the reward, or one where it does not vary.
fn unit(examples: f64, yy: f64) -> f64 {
    let variance = if examples > 1.0 { yy / examples } else { 0.0 };
    if variance > 0.0 && variance.is_normal() { variance.sqrt() } else { 1.0 }
}
