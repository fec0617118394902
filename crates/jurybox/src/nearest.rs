//! "Did you mean": the nearest name by edit distance.

/// The name with the smallest edit distance to a word, if it is close enough to be meant. Case does
/// not count, and dashes, spaces and underscores are the same.
///
/// ```
/// assert_eq!(jurybox::nearest("Lin ucv", ["esag", "lin-ucb"].into_iter()), Some("lin-ucb"));
/// assert_eq!(jurybox::nearest("thompson", ["esag", "lin-ucb"].into_iter()), None);
/// ```
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let word = fold(word);
    let (distance, name) =
        names.map(|name| (edits(&word, &fold(name)), name)).min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + word.chars().count() / 3).then_some(name)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
