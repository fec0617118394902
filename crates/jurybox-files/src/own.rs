//! The columns that we write ourselves: never evaluators unless a person says so, and found again in what `pick` wrote.

/// The names of the columns that rankings, scores and picks add to a row.
pub(crate) const OURS: &[&str] =
    &["rank", "score", "value", "probability", "explored", "picked_at", "round", "row", "receipt"];

/// What is put before a name that the file uses already.
const BEFORE: &str = "jurybox_";

/// A name that the file does not use already.
pub(crate) fn free_name(taken: &[String], name: &str) -> String {
    let mut name = name.to_string();
    while taken.contains(&name) {
        name = format!("{BEFORE}{name}");
    }
    name
}

/// The column that was written under this name: with the most put before it, since the file had the others already.
pub(crate) fn written_name(columns: &[String], name: &str) -> Option<String> {
    let mut found = None;
    let mut name = name.to_string();
    while columns.contains(&name) {
        found = Some(name.clone());
        name = format!("{BEFORE}{name}");
    }
    found
}

/// The column of receipts, where these are the columns of picks.
pub(crate) fn receipts_of_picks(columns: &[String]) -> Option<String> {
    let has = |name| written_name(columns, name).is_some();
    written_name(columns, "receipt").filter(|_| ["round", "row", "picked_at"].into_iter().all(has))
}

/// Whether a column looks like one of ours: by its name, or as `by_x` beside a column `x`.
pub(crate) fn is_ours<'a>(name: &str, mut columns: impl Iterator<Item = &'a str>) -> bool {
    let bare = name.trim_start_matches(BEFORE);
    OURS.contains(&bare) || bare.strip_prefix("by_").is_some_and(|of| columns.any(|other| other == of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_under_a_free_name_is_found_again() {
        let mut columns: Vec<String> = vec!["rank".into(), "jurybox_rank".into()];
        let name = free_name(&columns, "rank");
        columns.push(name.clone());
        assert_eq!(name, "jurybox_jurybox_rank");
        assert_eq!(written_name(&columns, "rank"), Some(name));
        assert_eq!(written_name(&columns, "receipt"), None);
    }

    #[test]
    fn by_alone_is_not_ours() {
        let columns = || ["spam", "by_spam", "by_hand"].into_iter();
        assert!(is_ours("by_spam", columns()) && is_ours("jurybox_score", columns()));
        assert!(!is_ours("by_hand", columns()) && !is_ours("spam", columns()));
    }
}
