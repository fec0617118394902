//! Names of the columns that Jurybox writes, and recognition of ids and verdicts by column name.

use crate::roles::NotEvaluator;

/// The columns that rankings, scores and picks add to a row.
pub(crate) const OURS: &[&str] =
    &["rank", "score", "value", "probability", "explored", "picked_at", "round", "row", "receipt"];

/// Prefix of the name given to a column without a name; the column's position from 0 follows.
pub(crate) const UNNAMED: &str = "Unnamed: ";

/// Separators between the words of a column name.
const SEPARATORS: [char; 6] = ['_', '-', ' ', '.', ':', '/'];

/// Prefix of an added column whose name the input uses already.
const PREFIX: &str = "jurybox_";

/// The name, prefixed until the input has no such column.
pub(crate) fn free_name(taken: &[String], name: &str) -> String {
    let mut name = name.to_string();
    while taken.contains(&name) {
        name = format!("{PREFIX}{name}");
    }
    name
}

/// The last column of the series `name`, `jurybox_name`, `jurybox_jurybox_name`, …, which ends
/// before the first name without a column. It is the one that Jurybox wrote.
pub(crate) fn written_name(columns: &[String], name: &str) -> Option<String> {
    let mut found = None;
    let mut name = name.to_string();
    while columns.contains(&name) {
        found = Some(name.clone());
        name = format!("{PREFIX}{name}");
    }
    found
}

/// The column of receipts, if these are the columns of a file of picks.
pub(crate) fn receipts_of_picks(columns: &[String]) -> Option<String> {
    let has = |name| written_name(columns, name).is_some();
    written_name(columns, "receipt").filter(|_| ["round", "row", "picked_at"].into_iter().all(has))
}

/// Whether a name, without prefixes, is one that rankings and picks write.
///
/// ```
/// assert!(jurybox_files::is_output_name("probability"));
/// assert!(!jurybox_files::is_output_name("verdict"));
/// ```
pub fn is_output_name(name: &str) -> bool {
    OURS.contains(&name.trim_start_matches(PREFIX))
}

/// Whether a column is probably one that Jurybox wrote: by its name, as `by_x` beside a column `x`,
/// or as part of an exported queue.
pub(crate) fn looks_like_output(name: &str, is_column: impl Fn(&str) -> bool) -> bool {
    let bare = name.trim_start_matches(PREFIX);
    // The payload of an exported queue, recognised by the columns beside it, may hold numbers.
    let shown = bare.starts_with("payload.") && is_column("verdicts") && is_column("model_id");
    is_output_name(name) || shown || bare.strip_prefix("by_").is_some_and(is_column)
}

/// Why a column is taken for an identifier, time, place or telephone number by its name; `None` if
/// it is not. Such a column is no evaluator unless the user says so.
pub(crate) fn names_things(name: &str) -> Option<NotEvaluator> {
    if name.starts_with(UNNAMED) || (name.starts_with("__index_level_") && name.ends_with("__")) {
        return Some(NotEvaluator::UnnamedIndex);
    }
    let last = name.rsplit(SEPARATORS).next().unwrap_or(name);
    let is = |word: &str| last.eq_ignore_ascii_case(word);
    // `postId` and `postID`, but not `paid`.
    let camel = ["Id", "ID"].iter().any(|end| {
        last.strip_suffix(end).is_some_and(|rest| rest.chars().next_back().is_some_and(char::is_lowercase))
    });
    let named = camel
        || ["id", "ids", "uid", "uuid", "guid", "pk", "idx", "index", "key"].iter().any(|word| is(word));
    if named {
        return Some(NotEvaluator::NamedLikeId);
    }
    // `created_at` and `createdAt`, but not `at` alone.
    let moment = name.len() > 2 && (name.ends_with("_at") || name.ends_with("_AT"))
        || last.strip_suffix("At").is_some_and(|rest| rest.ends_with(char::is_lowercase));
    if moment || ["timestamp", "ts", "datetime", "date", "year", "epoch"].iter().any(|word| is(word)) {
        return Some(NotEvaluator::NamedLikeTime);
    }
    let place = [
        "zip",
        "zipcode",
        "postcode",
        "plz",
        "phone",
        "telephone",
        "fax",
        "lat",
        "lon",
        "latitude",
        "longitude",
    ];
    let two = name.to_ascii_lowercase();
    let two =
        ["zip_code", "postal_code", "post_code", "phone_number"].iter().any(|words| two.ends_with(words));
    (two || place.iter().any(|word| is(word))).then_some(NotEvaluator::NamedLikePlace)
}

/// Whether a column is named like an id.
///
/// ```
/// assert!(jurybox_files::names_items("post_id"));
/// assert!(!jurybox_files::names_items("created_at"));
/// ```
pub fn names_items(name: &str) -> bool {
    names_things(name) == Some(NotEvaluator::NamedLikeId)
}

/// Whether a column is named like a verdict: the last word of its name is `verdict`, `label` or
/// similar.
///
/// ```
/// assert!(jurybox_files::is_verdict_name("human_verdict"));
/// assert!(!jurybox_files::is_verdict_name("spam"));
/// ```
pub fn is_verdict_name(name: &str) -> bool {
    const ANSWERS: [&str; 12] = [
        "verdict", "verdicts", "reward", "rewards", "label", "labels", "outcome", "decision", "truth",
        "target", "answer", "golden",
    ];
    let last = name.rsplit(SEPARATORS).next().unwrap_or(name);
    ANSWERS.iter().any(|answer| last.eq_ignore_ascii_case(answer))
}

/// Whether a column is named like the verdict on the row, such as `human_label`. A judge's verdict,
/// such as `gpt_verdict` or `toxicity_label`, is a score.
pub(crate) fn is_the_verdict(name: &str) -> bool {
    const OF_THE_ROW: [&str; 4] = ["human", "final", "ground", "true"];
    let before = name.rsplit_once(SEPARATORS).map(|(before, _)| before);
    let of_the_row = |before: &str| OF_THE_ROW.iter().any(|word| before.eq_ignore_ascii_case(word));
    is_verdict_name(name) && before.is_none_or(of_the_row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_of_judges_are_not_the_verdict() {
        for name in ["verdict", "Label", "human_label", "ground-truth", "Final decision", "true.answer"] {
            assert!(is_the_verdict(name), "{name}");
        }
        for name in ["gpt_verdict", "claude-verdict", "toxicity_label", "non_human_label", "human", "spam"] {
            assert!(!is_the_verdict(name), "{name}");
        }
    }

    #[test]
    fn verdict_columns_are_recognised_by_name() {
        for name in ["verdict", "Reward", "human_label", "ground-truth", "final decision"] {
            assert!(is_verdict_name(name), "{name}");
        }
        for name in ["labelled_by", "target_language", "score", "text", "rewarding"] {
            assert!(!is_verdict_name(name), "{name}");
        }
    }

    #[test]
    fn columns_with_prefixed_names_are_found_again() {
        let mut columns: Vec<String> = vec!["rank".into(), "jurybox_rank".into()];
        let name = free_name(&columns, "rank");
        columns.push(name.clone());
        assert_eq!(name, "jurybox_jurybox_rank");
        assert_eq!(written_name(&columns, "rank"), Some(name));
        assert_eq!(written_name(&columns, "receipt"), None);
    }

    #[test]
    fn ids_are_recognised_by_name() {
        for name in [
            "id",
            "ID",
            "post_id",
            "postId",
            "userID",
            "row-index",
            "Unnamed: 0",
            "__index_level_0__",
            "meta.uuid",
            "created_at",
            "updatedAt",
            "event.timestamp",
            "birth_year",
            "zip",
            "ZIP_CODE",
            "home-phone",
        ] {
            assert!(names_things(name).is_some(), "{name}");
        }
        for name in [
            "paid", "spam", "valid", "monkey", "covid", "AID", "identity", "e10", "heat", "at", "flat",
            "update", "yearly", "zipper", "that",
        ] {
            assert_eq!(names_things(name), None, "{name}");
        }
    }

    #[test]
    fn a_by_column_alone_is_not_an_output_column() {
        let ours = |name| looks_like_output(name, |other| ["spam", "by_spam", "by_hand"].contains(&other));
        assert!(ours("by_spam") && ours("jurybox_score"));
        assert!(!ours("by_hand") && !ours("spam"));
    }
}
