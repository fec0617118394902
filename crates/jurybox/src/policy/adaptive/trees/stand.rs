//! Trees from labelled rows: each is grown on what the earlier ones of its stand leave.
//!
//! Scores are sorted into a few bins, and sums over bins tell the best of all cuts. A tree makes
//! one cut after the other, each the same for all of its rows, so that it sees what depends on
//! three evaluators at once, and a row is valued without a branch. A leaf of few rows says little,
//! as if there were [`PRIOR`] more of which nothing is left.

use super::{BLOCK, Cuts, DEPTH, LEAVES, STANDS, TREES, Tree};
use crate::toolbox::hash_number;

/// Bins of an evaluator's scores, with about as many labelled rows in each.
const BINS: usize = 16;
/// How much of what leaves say is believed by all trees of a stand together, each of them as much.
const BELIEVED: f64 = 7.2;
const PRIOR: f64 = 3.0;
/// A tree sees seven in ten of the rows that its stand may see, and at most about so many rows, and
/// so many evaluators.
const SEEN: f64 = 0.7;
const MOST_ROWS: f64 = 768.0;
const MOST_COLUMNS: usize = 32;
/// Bins go by no more rows than these.
const SORTED: usize = 256;

/// Labelled rows.
#[derive(Debug)]
pub(super) struct Stand<'a> {
    /// Those whose scores vary.
    pub(super) cuts: Vec<Cuts>,
    /// The bins of a row, one for each of these evaluators, then those of the next row.
    bins: Vec<u8>,
    /// The same, evaluator by evaluator.
    columns: Vec<u8>,
    /// The same in blocks of rows, evaluator by evaluator.
    blocks: Vec<[u8; BLOCK]>,
    /// What is left of the reward of each row, and how often it was seen.
    pub(super) left: &'a [f64],
    pub(super) counts: &'a [f64],
    keys: Vec<u64>,
    /// The part of the labels that each row belongs to.
    parts: Vec<u8>,
}

/// Memory that every tree uses again: the rows it sees, what these sum up to, and their leaves so
/// far.
#[derive(Debug, Default)]
pub(super) struct Room {
    rows: Vec<u32>,
    sums: Vec<Sum>,
    leaves: Vec<u8>,
    /// Those of the rows that are summed up.
    some: Vec<u32>,
    columns: Vec<(u64, usize)>,
    cells: Vec<Cells>,
}

/// Sums over the rows of each leaf so far, by an evaluator's bins.
type Cells = [[Sum; BINS]; LEAVES / 2];

/// What is left, summed up, and counts.
type Sum = [f64; 2];

impl<'a> Stand<'a> {
    /// From a table of scores without gaps, and a key of each row that says what sees it; none
    /// where no evaluator's scores differ.
    pub(super) fn new(
        table: &[f64],
        width: usize,
        columns: &[usize],
        left: &'a [f64],
        counts: &'a [f64],
        keys: Vec<u64>,
    ) -> Option<Self> {
        let mut cut = Vec::new();
        let mut sorted = Vec::with_capacity(2 * SORTED);
        for &evaluator in columns {
            let step = (left.len() / SORTED).max(1);
            sorted.clear();
            sorted.extend(table.iter().skip(evaluator).step_by(step * width));
            sorted.sort_unstable_by(f64::total_cmp);
            let at = cuts(&sorted);
            if !at.is_empty() {
                cut.push(Cuts { evaluator, at });
            }
        }
        if cut.is_empty() {
            return None;
        }
        let rows = table.chunks(BLOCK * width);
        let blocks: Vec<[u8; BLOCK]> =
            rows.flat_map(|rows| cut.iter().map(move |cuts| cuts.bins(rows, width))).collect();
        let mut bins = vec![0; left.len() * cut.len()];
        for (rows, block) in bins.chunks_mut(BLOCK * cut.len()).zip(blocks.chunks_exact(cut.len())) {
            for (row, bins) in rows.chunks_exact_mut(cut.len()).enumerate() {
                bins.iter_mut().zip(block).for_each(|(bin, of)| *bin = of[row]);
            }
        }
        let columns = (0..cut.len()).flat_map(|column| {
            let blocks = blocks.iter().skip(column).step_by(cut.len()).flatten();
            blocks.take(left.len()).copied()
        });
        let columns = columns.collect();
        let parts = keys.iter().map(|key| (key % STANDS as u64) as u8).collect();
        Some(Stand { cuts: cut, bins, columns, blocks, left, counts, keys, parts })
    }

    /// How many trees a stand has.
    pub(super) fn trees(&self) -> usize {
        self.cuts.len().clamp(TREES.0, TREES.1)
    }

    /// Takes what a tree says from what is left to its stand, and adds it up for the part of the
    /// labels that this has not seen.
    pub(super) fn take(&self, tree: &Tree, own: usize, left: &mut [f64], unseen: &mut [f64]) {
        let blocks = self.blocks.chunks_exact(self.cuts.len());
        let rows = left.chunks_mut(BLOCK).zip(unseen.chunks_mut(BLOCK)).zip(self.parts.chunks(BLOCK));
        for (block, ((left, unseen), parts)) in blocks.zip(rows) {
            let leaves = tree.each_leaf(block);
            for (((left, unseen), &part), leaf) in left.iter_mut().zip(unseen).zip(parts).zip(leaves) {
                let says = tree.of(leaf);
                *left -= says;
                *unseen += if usize::from(part) == own { says } else { 0.0 };
            }
        }
    }

    /// Grows a tree on what is left to a stand.
    pub(super) fn grow(&self, number: u64, own: usize, left: &[f64], room: &mut Room) -> Tree {
        self.look(number, own, left, room);
        let mut tree = Tree { columns: [0; DEPTH], bins: [u8::MAX; DEPTH], leaves: [0.0; LEAVES] };
        for level in 0..DEPTH {
            self.sum_up(level, room);
            let mut best: Option<(f64, usize, u8)> = None;
            for (&(_, column), cells) in room.columns.iter().zip(&room.cells) {
                let told = best_cut(&cells[..1 << level], self.cuts[column].at.len());
                if best.is_none_or(|best| is_more(told.0, best.0)) {
                    best = Some((told.0, column, told.1));
                }
            }
            let Some((_, column, bin)) = best else { break };
            (tree.columns[level], tree.bins[level]) = (column, bin);
            let bins = &self.columns[column * self.left.len()..][..self.left.len()];
            for (leaf, &row) in room.leaves.iter_mut().zip(&room.rows) {
                *leaf |= u8::from(bins[row as usize] > bin) << level;
            }
        }
        let mut sums = [[0.0; 2]; LEAVES];
        room.leaves.iter().zip(&room.sums).for_each(|(&leaf, sum)| add(&mut sums[usize::from(leaf)], sum));
        let rate = BELIEVED / self.trees() as f64;
        tree.leaves = sums.map(|[left, count]| rate * left / (count + PRIOR));
        tree
    }

    /// Chooses the rows and the evaluators that a tree sees.
    fn look(&self, number: u64, own: usize, left: &[f64], room: &mut Room) {
        let share = SEEN.min(MOST_ROWS / self.left.len() as f64);
        let below = (share * (1_u64 << 32) as f64) as u64;
        let draw = hash_number(0, number) | 1;
        // Without a branch that has to be guessed.
        room.rows.clear();
        room.rows.resize(self.left.len(), 0);
        let mut seen = 0;
        for (row, (key, part)) in self.keys.iter().zip(&self.parts).enumerate() {
            room.rows[seen] = row as u32;
            seen += usize::from(usize::from(*part) != own && key.wrapping_mul(draw) >> 32 < below);
        }
        room.rows.truncate(seen);
        room.sums.clear();
        room.sums.extend(room.rows.iter().map(|&row| {
            let (left, count) = (left[row as usize], self.counts[row as usize]);
            [count * left, count]
        }));
        room.leaves.clear();
        room.leaves.resize(room.rows.len(), 0);
        room.columns.clear();
        room.columns.extend((0..self.cuts.len()).map(|column| (hash_number(!number, column as u64), column)));
        if room.columns.len() > MOST_COLUMNS {
            room.columns.sort_unstable();
            room.columns.truncate(MOST_COLUMNS);
        }
    }

    /// Sums up for every evaluator that the tree sees: a row at a time, so that one sum need not
    /// wait for another. Below the first cut only the rows on that side of the last one where fewer
    /// are need be looked at: the others are what is left of the sums before.
    fn sum_up(&self, level: usize, room: &mut Room) {
        room.some.clear();
        room.some.resize(room.rows.len(), 0);
        if level == 0 {
            room.cells.resize(room.columns.len(), [[[0.0; 2]; BINS]; LEAVES / 2]);
            room.cells.iter_mut().for_each(|cells| cells[0].fill([0.0; 2]));
            room.some.iter_mut().zip(0..).for_each(|(some, at)| *some = at);
            return self.add_some(room);
        }
        let last = 1_u8 << (level - 1);
        let above = room.leaves.iter().filter(|&&leaf| leaf & last != 0).count();
        let fewer = if 2 * above <= room.leaves.len() { last } else { 0 };
        let mut some = 0;
        for (at, leaf) in (0..).zip(&room.leaves) {
            room.some[some] = at;
            some += usize::from(leaf & last == fewer);
        }
        room.some.truncate(some);
        let halves = usize::from(last);
        for cells in &mut room.cells {
            // What both sides sum up to moves to where the side of more rows will be.
            let (lower, upper) = cells[..2 * halves].split_at_mut(halves);
            let (whole, part) = if fewer == 0 { (upper, lower) } else { (lower, upper) };
            if fewer == 0 {
                whole.copy_from_slice(part);
            }
            part.fill([[0.0; 2]; BINS]);
        }
        self.add_some(room);
        for cells in &mut room.cells {
            let (lower, upper) = cells[..2 * halves].split_at_mut(halves);
            let (whole, part) = if fewer == 0 { (upper, lower) } else { (lower, upper) };
            for (whole, part) in whole.iter_mut().flatten().zip(part.iter().flatten()) {
                let count = whole[1] - part[1];
                // Where nobody is left, rounding leaves nothing either.
                *whole = if count > 0.0 { [whole[0] - part[0], count] } else { [0.0; 2] };
            }
        }
    }

    fn add_some(&self, room: &mut Room) {
        let width = self.cuts.len();
        for &at in &room.some {
            let (row, leaf, sum) = (room.rows[at as usize], room.leaves[at as usize], room.sums[at as usize]);
            let bins = &self.bins[row as usize * width..][..width];
            let leaf = usize::from(leaf) % (LEAVES / 2);
            if room.columns.len() == width {
                for (&bin, cells) in bins.iter().zip(&mut room.cells) {
                    add(&mut cells[leaf][usize::from(bin) % BINS], &sum);
                }
            } else {
                for (&(_, column), cells) in room.columns.iter().zip(&mut room.cells) {
                    add(&mut cells[leaf][usize::from(bins[column]) % BINS], &sum);
                }
            }
        }
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
    for cells in leaves {
        let mut all = [0.0; 2];
        let mut below = [[0.0; BINS]; 2];
        for (bin, cell) in cells.iter().enumerate() {
            add(&mut all, cell);
            (below[0][bin], below[1][bin]) = (all[0], all[1]);
        }
        for (bin, taken) in taken.iter_mut().enumerate() {
            let (below, above) =
                ([below[0][bin], below[1][bin]], [all[0] - below[0][bin], all[1] - below[1][bin]]);
            *taken += below[0] * below[0] / (below[1] + PRIOR) + above[0] * above[0] / (above[1] + PRIOR);
        }
    }
    let mut best = (0.0, 0);
    for (bin, &taken) in (0..).zip(&taken[..cuts]) {
        best = if is_more(taken, best.0) { (taken, bin) } else { best };
    }
    best
}

/// Whether a cut takes away more than another, and not only by rounding: the first of those that
/// are as good is taken, in whichever order labels were added up.
#[inline]
fn is_more(taken: f64, other: f64) -> bool {
    taken > other * (1.0 + 1e-9)
}

/// Where bins of about as many of the scores, which are sorted, end: between two scores that
/// differ.
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
        // Two leaves: in one what is left rises behind the third bin, in the other it falls there,
        // and together nothing is seen.
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
        let cut: Vec<usize> = (0..2).map(|level| stand.cuts[tree.columns[level]].evaluator).collect();
        assert!(cut == [0, 2] || cut == [2, 0], "{cut:?}");
        let rate = BELIEVED / TREES.0 as f64;
        let above: Vec<f64> = tree.leaves.iter().copied().filter(|leaf| *leaf > 0.5).collect();
        assert!(!above.is_empty() && above.iter().all(|leaf| (leaf / rate - 3.0).abs() < 0.5), "{tree:?}");
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
