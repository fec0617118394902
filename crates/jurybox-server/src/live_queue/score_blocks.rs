//! The scores of the open items in blocks of up to 4,096 rows. A background ranking shares the
//! blocks until they change (copy on write).

use crate::evaluator_history::EvaluatorHistory;
use std::sync::Arc;

/// The most rows in a block, apart from items that are inserted again between others.
const ROWS: usize = 4096;

/// Flag: the item is open.
pub(crate) const OPEN: u8 = 1;
/// Flag: a review slot of the item is free, so that it can be claimed.
pub(crate) const FREE: u8 = 2;
/// Flag: the item belongs to the ranking's set of newcomers. Its place in the sorted order, if it
/// has one, is ignored.
pub(crate) const IN_SET: u8 = 4;

/// Items with ascending numbers. A clone shares the columns until either changes.
#[derive(Debug, Clone)]
pub(crate) struct ScoreBlock {
    /// The number of the first item.
    pub(crate) first: u64,
    /// Scores, row-major.
    pub(crate) scores: Arc<Vec<f64>>,
    /// The arrival time of each row.
    pub(crate) arrived: Arc<Vec<i64>>,
    /// The tags of each row, as an index into the queue's list of tag sets.
    pub(crate) tags: Arc<Vec<u32>>,
    /// [`OPEN`], [`FREE`] and [`IN_SET`] of each row.
    pub(crate) flags: Arc<Vec<u8>>,
    /// The item numbers less `first`, one for each row, if closed rows were dropped. None means
    /// that row i is item `first + i`.
    sparse: Option<Arc<Vec<u32>>>,
    open: usize,
}

impl ScoreBlock {
    fn new(first: u64) -> Self {
        ScoreBlock {
            first,
            scores: Arc::default(),
            arrived: Arc::default(),
            tags: Arc::default(),
            flags: Arc::default(),
            sparse: None,
            open: 0,
        }
    }

    fn row_of(&self, n: u64) -> Option<usize> {
        let offset = n.checked_sub(self.first)?;
        match &self.sparse {
            None => (offset < self.flags.len() as u64).then_some(offset as usize),
            Some(rows) => rows.binary_search(&u32::try_from(offset).ok()?).ok(),
        }
    }

    /// The number of the item in a row.
    pub(crate) fn number(&self, row: usize) -> u64 {
        self.first + self.sparse.as_ref().map_or(row as u64, |rows| u64::from(rows[row]))
    }

    /// Inserts the row of an item between others, where it had been dropped.
    fn insert_between(&mut self, n: u64, scores: &[f64], arrived: i64, tags: u32) {
        let (offset, width) = ((n - self.first) as u32, scores.len());
        let Some(rows) = &mut self.sparse else { return };
        let row = rows.partition_point(|other| *other < offset);
        Arc::make_mut(rows).insert(row, offset);
        Arc::make_mut(&mut self.scores).splice(row * width..row * width, scores.iter().copied());
        Arc::make_mut(&mut self.arrived).insert(row, arrived);
        Arc::make_mut(&mut self.tags).insert(row, tags);
        Arc::make_mut(&mut self.flags).insert(row, OPEN);
        self.open += 1;
    }

    /// Drops the rows of closed items.
    fn squeeze(&mut self, width: usize) {
        let keep: Vec<usize> = (0..self.flags.len()).filter(|&row| self.flags[row] & OPEN != 0).collect();
        self.sparse =
            Some(Arc::new(keep.iter().map(|&row| (self.number(row) - self.first) as u32).collect()));
        let rows = |row: &usize| self.scores[row * width..(row + 1) * width].to_vec();
        self.scores = Arc::new(keep.iter().flat_map(rows).collect());
        self.arrived = Arc::new(keep.iter().map(|&row| self.arrived[row]).collect());
        self.tags = Arc::new(keep.iter().map(|&row| self.tags[row]).collect());
        self.flags = Arc::new(keep.iter().map(|&row| self.flags[row]).collect());
    }
}

/// All blocks, in ascending order of their item numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScoreBlocks {
    blocks: Vec<ScoreBlock>,
    width: usize,
    open: usize,
    /// How many free items each set of tags has, by its index.
    free: Vec<u32>,
}

impl ScoreBlocks {
    pub(crate) fn new(width: usize) -> Self {
        ScoreBlocks { blocks: Vec::new(), width, open: 0, free: Vec::new() }
    }

    /// How many free items have this set of tags.
    pub(crate) fn free(&self, tags: u32) -> u32 {
        self.free.get(tags as usize).copied().unwrap_or(0)
    }

    /// Updates the count of free items when the flags of a row with these tags change.
    fn count(&mut self, tags: u32, before: u8, after: u8) {
        let free = |flags: u8| flags & (OPEN | FREE) == OPEN | FREE;
        if free(before) == free(after) {
            return;
        }
        let tags = tags as usize;
        if self.free.len() <= tags {
            self.free.resize(tags + 1, 0);
        }
        self.free[tags] = if free(after) { self.free[tags] + 1 } else { self.free[tags].saturating_sub(1) };
    }

    /// The number of open items.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ScoreBlock> {
        self.blocks.iter()
    }

    fn find(&self, n: u64) -> Option<(usize, usize)> {
        let at = self.blocks.partition_point(|block| block.first <= n).checked_sub(1)?;
        Some((at, self.blocks[at].row_of(n)?))
    }

    /// Adds an open item. A new item comes to the end, a reopened one to its old position.
    pub(crate) fn insert(&mut self, n: u64, scores: &[f64], arrived: i64, tags: u32) {
        debug_assert_eq!(scores.len(), self.width);
        self.open += 1;
        if let Some((at, row)) = self.find(n) {
            self.count(self.blocks[at].tags[row], self.blocks[at].flags[row], OPEN);
            let (block, width) = (&mut self.blocks[at], self.width);
            Arc::make_mut(&mut block.scores)[row * width..(row + 1) * width].copy_from_slice(scores);
            Arc::make_mut(&mut block.arrived)[row] = arrived;
            Arc::make_mut(&mut block.tags)[row] = tags;
            Arc::make_mut(&mut block.flags)[row] = OPEN;
            block.open += 1;
            return;
        }
        let place = self.blocks.partition_point(|block| block.first <= n);
        if let Some(block) = place.checked_sub(1).map(|at| &mut self.blocks[at])
            && block.number(block.flags.len() - 1) > n
        {
            block.insert_between(n, scores, arrived, tags);
            return;
        }
        let extends = place.checked_sub(1).filter(|&at| {
            let block = &self.blocks[at];
            let last = block.flags.len().checked_sub(1).map(|row| block.number(row));
            match (&block.sparse, last) {
                // Numbers may have gaps: while loading, only open items are added.
                (Some(_), Some(last)) => {
                    last < n && block.flags.len() < ROWS && n - block.first < u64::from(u32::MAX)
                }
                (None, Some(last)) => last + 1 == n && block.flags.len() < ROWS,
                (_, None) => false,
            }
        });
        let at = extends.unwrap_or_else(|| {
            self.blocks.insert(place, ScoreBlock::new(n));
            place
        });
        let block = &mut self.blocks[at];
        if let Some(rows) = &mut block.sparse {
            Arc::make_mut(rows).push((n - block.first) as u32);
        }
        Arc::make_mut(&mut block.scores).extend_from_slice(scores);
        Arc::make_mut(&mut block.arrived).push(arrived);
        Arc::make_mut(&mut block.tags).push(tags);
        Arc::make_mut(&mut block.flags).push(OPEN);
        block.open += 1;
    }

    /// Adds an open item while loading, where item numbers have gaps.
    pub(crate) fn load(&mut self, n: u64, scores: &[f64], arrived: i64, tags: u32) {
        let gap = self.blocks.last().is_some_and(|block| {
            let last = block.number(block.flags.len() - 1);
            last + 1 != n && block.sparse.is_none() && block.flags.len() < ROWS
        });
        if gap && let Some(block) = self.blocks.last_mut() {
            block.sparse = Some(Arc::new((0..block.flags.len() as u32).collect()));
        }
        self.insert(n, scores, arrived, tags);
    }

    pub(crate) fn flags(&self, n: u64) -> u8 {
        self.find(n).map_or(0, |(at, row)| self.blocks[at].flags[row])
    }

    /// Sets an item's flags. Does nothing for an item that is not here.
    pub(crate) fn set_flags(&mut self, n: u64, flags: u8) {
        let Some((at, row)) = self.find(n) else { return };
        let block = &mut self.blocks[at];
        let was = block.flags[row];
        if was == flags {
            return;
        }
        Arc::make_mut(&mut block.flags)[row] = flags;
        let tags = block.tags[row];
        match (was & OPEN != 0, flags & OPEN != 0) {
            (true, false) => (block.open, self.open) = (block.open - 1, self.open - 1),
            (false, true) => (block.open, self.open) = (block.open + 1, self.open + 1),
            _ => {}
        }
        self.count(tags, was, flags);
    }

    /// Clears a flag in all rows.
    pub(crate) fn clear_flag(&mut self, flag: u8) {
        for block in &mut self.blocks {
            if block.flags.iter().any(|flags| flags & flag != 0) {
                Arc::make_mut(&mut block.flags).iter_mut().for_each(|flags| *flags &= !flag);
            }
        }
    }

    pub(crate) fn scores(&self, n: u64) -> Option<&[f64]> {
        let (at, row) = self.find(n)?;
        Some(&self.blocks[at].scores[row * self.width..(row + 1) * self.width])
    }

    pub(crate) fn set_scores(&mut self, n: u64, scores: &[f64]) {
        let Some((at, row)) = self.find(n) else { return };
        let width = self.width;
        Arc::make_mut(&mut self.blocks[at].scores)[row * width..(row + 1) * width].copy_from_slice(scores);
    }

    pub(crate) fn arrived(&self, n: u64) -> Option<i64> {
        let (at, row) = self.find(n)?;
        Some(self.blocks[at].arrived[row])
    }

    pub(crate) fn tags(&self, n: u64) -> Option<u32> {
        let (at, row) = self.find(n)?;
        Some(self.blocks[at].tags[row])
    }

    /// For each of the first `sets` sets of tags, whether an open item has it.
    pub(crate) fn used_tags(&self, sets: usize) -> Vec<bool> {
        let mut used = vec![false; sets];
        for block in &self.blocks {
            let open = block.flags.iter().zip(block.tags.iter()).filter(|(flags, _)| **flags & OPEN != 0);
            open.for_each(|(_, tags)| used[*tags as usize] = true);
        }
        used
    }

    /// Renumbers the sets of tags: `moved` is indexed by the old number.
    pub(crate) fn retag(&mut self, moved: &[u32]) {
        for block in &mut self.blocks {
            Arc::make_mut(&mut block.tags).iter_mut().for_each(|tags| *tags = moved[*tags as usize]);
        }
        let mut free = Vec::new();
        for (old, many) in
            std::mem::take(&mut self.free).into_iter().enumerate().filter(|(_, many)| *many > 0)
        {
            let now = moved[old] as usize;
            free.resize(free.len().max(now + 1), 0);
            free[now] = many;
        }
        self.free = free;
    }

    /// Frees memory: drops blocks without open items, drops closed rows where fewer than half are
    /// open, and merges small neighbours. Drops nothing from a last block that is not full. Only
    /// between transactions, since it cannot be rolled back.
    pub(crate) fn squeeze(&mut self) {
        let (last, width) = (self.blocks.len().saturating_sub(1), self.width);
        let mut at = 0;
        self.blocks.retain_mut(|block| {
            at += 1;
            let filling = at - 1 == last && block.flags.len() < ROWS;
            if !filling && block.open > 0 && block.open < block.flags.len() / 2 {
                block.squeeze(width);
            }
            filling || block.open > 0
        });
        // Merges small blocks. Otherwise a large queue would keep one for every old item that stays
        // open.
        let mut merged: Vec<ScoreBlock> = Vec::with_capacity(self.blocks.len());
        for block in self.blocks.drain(..) {
            match merged.last_mut() {
                Some(before)
                    if before.sparse.is_some()
                        && block.sparse.is_some()
                        && before.flags.len() + block.flags.len() <= ROWS
                        && block.number(block.flags.len() - 1) - before.first < u64::from(u32::MAX) =>
                {
                    let numbers = (0..block.flags.len()).map(|row| (block.number(row) - before.first) as u32);
                    let numbers: Vec<u32> = numbers.collect();
                    if let Some(rows) = &mut before.sparse {
                        Arc::make_mut(rows).extend(numbers);
                    }
                    Arc::make_mut(&mut before.scores).extend_from_slice(&block.scores);
                    Arc::make_mut(&mut before.arrived).extend_from_slice(&block.arrived);
                    Arc::make_mut(&mut before.tags).extend_from_slice(&block.tags);
                    Arc::make_mut(&mut before.flags).extend_from_slice(&block.flags);
                    before.open += block.open;
                }
                _ => merged.push(block),
            }
        }
        self.blocks = merged;
    }

    /// Rearranges all rows from the second last list of evaluators to the last list.
    pub(crate) fn change_evaluators(&mut self, history: &EvaluatorHistory) {
        let (to, width) = (history.len() - 1, self.width);
        self.width = history.current().len();
        for block in &mut self.blocks {
            let mut moved = Vec::with_capacity(block.flags.len() * self.width);
            for row in block.scores.chunks_exact(width) {
                let mut row = row.to_vec();
                history.carry(&mut row, to - 1, to);
                moved.extend(row);
            }
            block.scores = Arc::new(moved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_found_by_its_number_whatever_was_squeezed_out_around_it() {
        let mut blocks = ScoreBlocks::new(1);
        for n in 1..=10_000_u64 {
            blocks.insert(n, &[n as f64], n.cast_signed(), 0);
        }
        for n in (1..=10_000).filter(|n| n % 5 != 0) {
            blocks.set_flags(n, 0);
        }
        blocks.squeeze();
        assert_eq!(blocks.open(), 2000);
        for n in (5..=10_000_u64).step_by(5) {
            assert_eq!((blocks.scores(n), blocks.arrived(n)), (Some(&[n as f64][..]), Some(n.cast_signed())));
            assert_eq!(blocks.flags(n) & OPEN, OPEN);
        }
        assert_eq!(blocks.flags(7) & OPEN, 0);
        blocks.insert(7, &[7.5], 7, 3);
        blocks.insert(10_001, &[1.0], 1, 0);
        assert_eq!((blocks.scores(7), blocks.tags(7)), (Some(&[7.5][..]), Some(3)));
        assert_eq!(blocks.scores(10), Some(&[10.0][..]));
        assert_eq!(blocks.scores(10_001), Some(&[1.0][..]));
        let listed: Vec<u64> = blocks
            .iter()
            .flat_map(|block| {
                (0..block.flags.len()).map(|row| (block.number(row), block.flags[row])).collect::<Vec<_>>()
            })
            .filter(|(_, flags)| flags & OPEN != 0)
            .map(|(n, _)| n)
            .collect();
        assert!(listed.is_sorted() && listed.len() == blocks.open());
    }

    #[test]
    fn loading_leaves_gaps_out() {
        let mut blocks = ScoreBlocks::new(2);
        for n in (1..=9000_u64).filter(|n| n % 3 == 0) {
            blocks.load(n, &[n as f64, 0.0], 0, 0);
        }
        assert_eq!((blocks.open(), blocks.iter().count()), (3000, 1));
        assert_eq!(blocks.scores(8997), Some(&[8997.0, 0.0][..]));
        assert_eq!(blocks.scores(8998), None);
    }
}
