//! Seriation by average-linkage clustering: orders similar things side by side.

/// Orders 0 to n - 1 so that similar ones are neighbours. `alike` gives the similarity of two.
///
/// Average-linkage agglomerative clustering: the two most similar groups are joined until one is
/// left. Each join turns the groups so that their most similar ends meet. A similarity that is not
/// finite counts as 0. Takes O(n^3).
pub(crate) fn by_likeness(n: usize, alike: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let known = |i: usize, j: usize| {
        let both = [alike(i, j), alike(j, i)].map(|v| if v.is_finite() { v } else { 0.0 });
        0.5 * (both[0] + both[1])
    };
    let mut groups: Vec<Vec<usize>> = (0..n).map(|i| vec![i]).collect();
    let mut mean: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| known(i, j)).collect()).collect();
    while groups.len() > 1 {
        let mut best = (0, 1);
        for a in 0..groups.len() {
            for b in a + 1..groups.len() {
                // Of equally similar pairs the first is joined, so that the order is deterministic.
                if mean[a][b] > mean[best.0][best.1] {
                    best = (a, b);
                }
            }
        }
        let (a, b) = best;
        let (size_a, size_b) = (groups[a].len() as f64, groups[b].len() as f64);
        for c in 0..groups.len() {
            let joint = (size_a * mean[a][c] + size_b * mean[b][c]) / (size_a + size_b);
            mean[a][c] = joint;
            mean[c][a] = joint;
        }
        mean.remove(b);
        for row in &mut mean {
            row.remove(b);
        }
        let second = groups.remove(b);
        let first = std::mem::take(&mut groups[a]);
        groups[a] = joined(first, second, known);
    }
    groups.pop().unwrap_or_default()
}

fn joined(mut first: Vec<usize>, mut second: Vec<usize>, alike: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let ends = |group: &[usize]| (group[0], group[group.len() - 1]);
    let (first_ends, second_ends) = (ends(&first), ends(&second));
    let turns = [
        (false, false, alike(first_ends.1, second_ends.0)),
        (false, true, alike(first_ends.1, second_ends.1)),
        (true, false, alike(first_ends.0, second_ends.0)),
        (true, true, alike(first_ends.0, second_ends.1)),
    ];
    let best = turns.iter().fold(turns[0], |best, turn| if turn.2 > best.2 { *turn } else { best });
    if best.0 {
        first.reverse();
    }
    if best.1 {
        second.reverse();
    }
    first.extend(second);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_were_scattered_stand_together() {
        // Numbers of the same parity are similar, and 3 is a little similar to the even ones.
        let alike = |i: usize, j: usize| match (i % 2 == j % 2, i == 3 || j == 3) {
            (true, _) => 0.9,
            (false, true) => 0.4,
            (false, false) => 0.0,
        };
        let order = by_likeness(8, alike);
        let changes = order.windows(2).filter(|pair| pair[0] % 2 != pair[1] % 2).count();
        assert_eq!(changes, 1, "{order:?}");
        let mut all = order;
        all.sort_unstable();
        assert_eq!(all, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_and_unknown_are_no_trouble() {
        assert_eq!(by_likeness(0, |_, _| 1.0), [0; 0]);
        assert_eq!(by_likeness(3, |_, _| f64::NAN).len(), 3);
    }
}
