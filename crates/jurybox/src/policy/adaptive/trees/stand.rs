//! Trees from labelled rows: each is grown on what the earlier ones of its stand leave.
//!
//! Scores are sorted into a few bins, and sums over bins tell the best of all cuts. A tree makes one cut after the other, each the same for all of its
//! rows, so that it sees what depends on three evaluators at once, and a row is valued without a branch. A leaf of few rows says
//! little, as if there were [`PRIOR`] more of which nothing is left.

use super::{DEPTH, LEAVES, STANDS};
use crate::toolbox::hash_number;

/// Bins of an evaluator's scores, with about as many labelled rows in each.
const BINS: usize = 16;
/// How much of what a leaf says is believed, each time.
const RATE: f64 = 0.3;
const PRIOR: f64 = 3.0;
/// A tree sees seven in ten of the rows that its stand may see, and at most about so many rows, and so many evaluators.
const SEEN: f64 = 0.7;
const MOST_ROWS: f64 = 768.0;
const MOST_COLUMNS: usize = 16;
/// Bins go by no more rows than these.
const SORTED: usize = 256;

/// Labelled rows.
#[derive(Debug)]
pub(super) struct Stand<'a> {
    /// Which evaluators these are: those whose scores vary.
    columns: Vec<usize>,
    /// Where each one's bins end; a score above is in the next.
    cuts: Vec<Vec<f64>>,
    /// The bins of a row, one for each of these evaluators, then those of the next row.
    bins: Vec<u8>,
    /// What is left of the reward of each row, and how often it was seen.
    pub(super) left: &'a [f64],
    pub(super) counts: &'a [f64],
    keys: Vec<u64>,
}

/// A tree as bins see it.
#[derive(Debug, Clone)]
pub(super) struct Grown {
    columns: [usize; DEPTH],
    /// Rows in later bins than this are above.
    bins: [u8; DEPTH],
    pub(super) leaves: [f64; LEAVES],
}

/// Memory that every tree uses again: the rows it sees, what these sum up to, and their leaves so far.
#[derive(Debug, Default)]
pub(super) struct Room {
    rows: Vec<u32>,
    sums: Vec<Sum>,
    leaves: Vec<u8>,
    columns: Vec<(u64, usize)>,
    cells: Vec<Cells>,
}

/// Sums over the rows of each leaf so far, by an evaluator's bins.
type Cells = [[Sum; BINS]; LEAVES / 2];

/// What is left, summed up, and counts.
type Sum = [f64; 2];

impl<'a> Stand<'a> {
    /// From a table of scores without gaps, and a key of each row that says what sees it; none where no evaluator's scores differ.
    pub(super) fn new(
        table: &[f64],
        width: usize,
        columns: &[usize],
        left: &'a [f64],
        counts: &'a [f64],
        keys: Vec<u64>,
    ) -> Option<Self> {
        let mut stand = Stand { columns: Vec::new(), cuts: Vec::new(), bins: Vec::new(), left, counts, keys };
        let mut sorted = Vec::with_capacity(2 * SORTED);
        for &column in columns {
            let step = (left.len() / SORTED).max(1);
            sorted.clear();
            sorted.extend(table.iter().skip(column).step_by(step * width));
            sorted.sort_unstable_by(f64::total_cmp);
            let cuts = cuts(&sorted);
            if !cuts.is_empty() {
                stand.columns.push(column);
                stand.cuts.push(cuts);
            }
        }
        stand.bins.reserve_exact(left.len() * stand.columns.len());
        for row in table.chunks_exact(width) {
            let bin = |(&column, cuts): (&usize, &Vec<f64>)| {
                cuts.iter().map(|&cut| u8::from(row[column] > cut)).sum::<u8>()
            };
            stand.bins.extend(stand.columns.iter().zip(&stand.cuts).map(bin));
        }
        (!stand.columns.is_empty()).then_some(stand)
    }

    /// The evaluator and the score of one of a tree's cuts.
    pub(super) fn cut(&self, tree: &Grown, level: usize) -> (usize, f64) {
        let column = tree.columns[level];
        let above = self.cuts[column].get(usize::from(tree.bins[level])).copied();
        (self.columns[column], above.unwrap_or(f64::INFINITY))
    }

    /// The part of the labels that a row belongs to.
    fn part(&self, row: usize) -> usize {
        (self.keys[row] % STANDS as u64) as usize
    }

    fn bins(&self) -> impl Iterator<Item = &[u8]> {
        self.bins.chunks_exact(self.columns.len())
    }

    /// Takes what a tree says from what is left to its stand, and adds it up for the part of the labels that this has not seen.
    pub(super) fn take(&self, tree: &Grown, own: usize, left: &mut [f64], unseen: &mut [f64]) {
        for (row, (bins, left)) in self.bins().zip(left).enumerate() {
            let says = tree.leaves[tree.leaf(bins)];
            *left -= says;
            unseen[row] += if self.part(row) == own { says } else { 0.0 };
        }
    }

    /// Grows a tree on what is left to a stand.
    pub(super) fn grow(&self, number: u64, own: usize, left: &[f64], room: &mut Room) -> Grown {
        self.look(number, own, left, room);
        let mut tree = Grown { columns: [0; DEPTH], bins: [u8::MAX; DEPTH], leaves: [0.0; LEAVES] };
        for level in 0..DEPTH {
            self.sum_up(room);
            let mut best: Option<(f64, usize, u8)> = None;
            for (&(_, column), cells) in room.columns.iter().zip(&room.cells) {
                let told = best_cut(&cells[..1 << level], self.cuts[column].len());
                if best.is_none_or(|best| told.0 > best.0) {
                    best = Some((told.0, column, told.1));
                }
            }
            let Some((_, column, bin)) = best else { break };
            (tree.columns[level], tree.bins[level]) = (column, bin);
            for (leaf, &row) in room.leaves.iter_mut().zip(&room.rows) {
                *leaf |= u8::from(self.bins[row as usize * self.columns.len() + column] > bin) << level;
            }
        }
        let mut sums = [[0.0; 2]; LEAVES];
        room.leaves.iter().zip(&room.sums).for_each(|(&leaf, sum)| add(&mut sums[usize::from(leaf)], sum));
        tree.leaves = sums.map(|[left, count]| RATE * left / (count + PRIOR));
        tree
    }

    /// Chooses the rows and the evaluators that a tree sees.
    fn look(&self, number: u64, own: usize, left: &[f64], room: &mut Room) {
        let share = SEEN.min(MOST_ROWS / self.left.len() as f64);
        let below = (share * (1_u64 << 32) as f64) as u64;
        let draw = hash_number(0, number) | 1;
        let seen = |row: usize| self.keys[row].wrapping_mul(draw) >> 32 < below;
        let all = 0..self.left.len();
        room.rows.clear();
        room.rows.extend(all.filter(|&row| self.part(row) != own && seen(row)).map(|row| row as u32));
        room.sums.clear();
        room.sums.extend(room.rows.iter().map(|&row| {
            let (left, count) = (left[row as usize], self.counts[row as usize]);
            [count * left, count]
        }));
        room.leaves.clear();
        room.leaves.resize(room.rows.len(), 0);
        room.columns.clear();
        room.columns
            .extend((0..self.columns.len()).map(|column| (hash_number(!number, column as u64), column)));
        if room.columns.len() > MOST_COLUMNS {
            room.columns.sort_unstable();
            room.columns.truncate(MOST_COLUMNS);
        }
    }

    /// Sums up for every evaluator that the tree sees: a row at a time, so that one sum need not wait for another.
    fn sum_up(&self, room: &mut Room) {
        room.cells.clear();
        room.cells.resize(room.columns.len(), [[[0.0; 2]; BINS]; LEAVES / 2]);
        for ((&row, &leaf), sum) in room.rows.iter().zip(&room.leaves).zip(&room.sums) {
            let bins = &self.bins[row as usize * self.columns.len()..][..self.columns.len()];
            let leaf = usize::from(leaf) % (LEAVES / 2);
            for (&(_, column), cells) in room.columns.iter().zip(&mut room.cells) {
                add(&mut cells[leaf][usize::from(bins[column]) % BINS], sum);
            }
        }
    }
}

impl Grown {
    /// The leaf of a row, by its bins.
    #[inline]
    fn leaf(&self, bins: &[u8]) -> usize {
        let above = |level: usize| bins[self.columns[level]] > self.bins[level];
        (0..DEPTH).fold(0, |leaf, level| leaf | usize::from(above(level)) << level)
    }
}

#[inline]
fn add(sum: &mut Sum, more: &Sum) {
    sum[0] += more[0];
    sum[1] += more[1];
}

/// The cut that leaves the least, how much it takes away, and the bin it is above.
fn best_cut(leaves: &[[Sum; BINS]], cuts: usize) -> (f64, u8) {
    let mut taken = [0.0; BINS];
    let taken = &mut taken[..cuts];
    for cells in leaves {
        let mut all = [0.0; 2];
        cells.iter().for_each(|cell| add(&mut all, cell));
        let mut below = [0.0; 2];
        for (taken, cell) in taken.iter_mut().zip(cells) {
            add(&mut below, cell);
            let above = [all[0] - below[0], all[1] - below[1]];
            *taken += below[0] * below[0] / (below[1] + PRIOR) + above[0] * above[0] / (above[1] + PRIOR);
        }
    }
    let mut best = (f64::NEG_INFINITY, 0);
    for (bin, &taken) in (0..).zip(&*taken) {
        best = if taken > best.0 { (taken, bin) } else { best };
    }
    best
}

/// Where bins of about as many of the scores, which are sorted, end: between two scores that differ.
fn cuts(sorted: &[f64]) -> Vec<f64> {
    let mut cuts: Vec<f64> = Vec::with_capacity(BINS - 1);
    for bin in 1..BINS {
        let last = sorted[(bin * sorted.len() / BINS).max(1) - 1];
        let next = sorted.partition_point(|&x| x <= last);
        if let Some(&next) = sorted.get(next) {
            let cut = f64::midpoint(last, next);
            if cuts.last().is_none_or(|&before| cut > before) {
                cuts.push(cut);
            }
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_end_between_scores_that_differ() {
        let scores: Vec<f64> = (0..160).map(f64::from).collect();
        assert_eq!(cuts(&scores), (1..16).map(|bin| f64::from(bin * 10) - 0.5).collect::<Vec<_>>());
        assert_eq!(cuts(&[1.0, 1.0, 1.0, 2.0, 2.0, 5.0]), [1.5, 3.5]);
        assert!(cuts(&[3.0; 20]).is_empty());
    }

    #[test]
    fn the_best_cut_takes_away_most() {
        // Two leaves: in one what is left rises behind the third bin, in the other it falls there, and together nothing is seen.
        let mut leaves = [[[0.0, 10.0]; BINS]; 2];
        for (leaf, sign) in leaves.iter_mut().zip([1.0, -1.0]) {
            leaf.iter_mut()
                .enumerate()
                .for_each(|(bin, cell)| cell[0] = if bin > 2 { sign * 13.0 } else { -sign * 30.0 });
        }
        let below = 90.0 * 90.0 / (30.0 + PRIOR);
        let above = 169.0 * 169.0 / (130.0 + PRIOR);
        let (taken, bin) = best_cut(&leaves, BINS - 1);
        assert_eq!(bin, 2);
        assert!((taken - 2.0 * (below + above)).abs() < 1e-9, "{taken}");
    }

    #[test]
    fn a_tree_sees_what_two_must_agree_on_and_not_its_own_part() {
        let rows = 4000_u64;
        let at = |row: u64, column: u64| (hash_number(column, row) % 100) as f64;
        let table: Vec<f64> = (0..rows).flat_map(|row| [at(row, 1), at(row, 2), at(row, 3)]).collect();
        let left: Vec<f64> =
            table.chunks(3).map(|row| if row[0] > 49.5 && row[2] > 49.5 { 3.0 } else { -1.0 }).collect();
        let counts = vec![1.0; rows as usize];
        let keys: Vec<u64> = (0..rows).map(|row| hash_number(5, row)).collect();
        let stand = Stand::new(&table, 3, &[0, 1, 2], &left, &counts, keys.clone()).unwrap();
        let mut room = Room::default();
        let tree = stand.grow(0, 1, &left, &mut room);
        let cut: Vec<usize> = (0..2).map(|level| stand.cut(&tree, level).0).collect();
        assert!(cut == [0, 2] || cut == [2, 0], "{cut:?}");
        let above: Vec<f64> = tree.leaves.iter().copied().filter(|leaf| *leaf > 0.5).collect();
        assert!(!above.is_empty() && above.iter().all(|leaf| (leaf / RATE - 3.0).abs() < 0.5), "{tree:?}");
        // The same, however often it is grown, and whatever the rows of its own part say.
        let mut other = left.clone();
        other
            .iter_mut()
            .zip(&keys)
            .filter(|(_, key)| **key % STANDS as u64 == 1)
            .for_each(|(left, _)| *left = 1e6);
        assert_eq!(stand.grow(0, 1, &other, &mut room).leaves, tree.leaves);
        let (mut taken, mut unseen) = (left.clone(), vec![0.0; left.len()]);
        stand.take(&tree, 1, &mut taken, &mut unseen);
        for (row, key) in keys.iter().enumerate() {
            let says = left[row] - taken[row];
            assert!(tree.leaves.iter().any(|leaf| (leaf - says).abs() < 1e-12));
            assert!((unseen[row] - if key % 4 == 1 { says } else { 0.0 }).abs() < 1e-12);
        }
    }
}
