//! Compact storage for the ids of all rows of a round: one text, and the end of each id in it.

use crate::id;
use crate::join_verdicts::ItemList;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Ids in the order of their rows, in less memory than a `String` each.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdColumn {
    text: String,
    ends: Vec<usize>,
}

impl IdColumn {
    pub(crate) fn of<'a>(ids: impl IntoIterator<Item = &'a str>) -> IdColumn {
        let mut all = IdColumn::default();
        for id in ids {
            all.text.push_str(id);
            all.ends.push(all.text.len());
        }
        all
    }

    /// Appends the ids of the following rows.
    pub(crate) fn append(&mut self, more: &IdColumn) {
        let before = self.text.len();
        self.text.push_str(&more.text);
        self.ends.extend(more.ends.iter().map(|end| before + end));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The id of a row, as written.
    pub(crate) fn get(&self, row: usize) -> &str {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.text[begin..self.ends[row]]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// The number of rows whose id occurs more than once, and the first such ids.
    pub(crate) fn repeated(&self) -> ItemList {
        let mut hashes: Vec<u64> = self.iter().map(hash_of).collect();
        hashes.sort_unstable();
        let again: HashSet<u64> =
            hashes.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
        drop(hashes);
        let mut counts: HashMap<Cow<'_, str>, (usize, u64)> = HashMap::new();
        for (row, cell) in self.iter().enumerate().filter(|(_, cell)| again.contains(&hash_of(cell))) {
            counts.entry(id::of(cell)).or_insert((row, 0)).1 += 1;
        }
        let mut shared: Vec<(usize, u64)> = counts.into_values().filter(|(_, count)| *count > 1).collect();
        shared.sort_unstable();
        let mut repeated = ItemList::default();
        shared.iter().for_each(|(row, _)| repeated.push(&id::of(self.get(*row))));
        ItemList { count: shared.iter().map(|(_, count)| count).sum(), ..repeated }
    }
}

fn hash_of(cell: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id::of(cell).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_order_and_equal_ones_are_counted() {
        let mut ids = IdColumn::of(["p1", "", "p2"]);
        ids.append(&IdColumn::of([
            " p2 ",
            "x",
            "2026-03-01 09:30:00",
            "p1",
            "2026-03-01T09:30:00.000",
            "p2",
        ]));
        assert_eq!((ids.len(), ids.get(0), ids.get(1), ids.get(3)), (9, "p1", "", " p2 "));
        let shared = ids.repeated();
        assert_eq!(shared.first, ["p1", "p2", "2026-03-01T09:30:00"]);
        assert_eq!(shared.count, 7);
        assert_eq!(IdColumn::of(["a", "b"]).repeated(), ItemList::default());
    }
}
