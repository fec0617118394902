//! Advice on errors and warnings, in terms of the options of the command line.
//!
//! The errors of the libraries do not know the options. Advice follows from the
//! variant and the fields of an error, or comes from the command ([`Advised`]). The words of a
//! message do not matter.

use jurybox_files::{Error, ForeignKind, LearnNotice, OddColumn, Warning};
use std::fmt;

/// Advice on values that were learnt only from labels of items that the policy chose.
pub(crate) const ON_CHOSEN_LABELS: &str = "have some items reviewed with a known probability (`--policy 'adaptive(audit=1,slots=5)'` where a state begins), and `jurybox prevalence --probability` measures the mean reward";

/// An error with advice from the command that met it, for errors whose type is not enough to choose
/// advice.
#[derive(Debug)]
pub(crate) struct Advised {
    error: anyhow::Error,
    advice: String,
}

impl Advised {
    pub(crate) fn error(error: impl Into<anyhow::Error>, advice: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Advised { error: error.into(), advice: advice.into() })
    }
}

impl fmt::Display for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl std::error::Error for Advised {}

/// The advice on the first error of a chain for which there is advice.
pub(crate) fn on(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(advised) = cause.downcast_ref::<Advised>() {
            return Some(advised.advice.clone());
        }
        let of_lab = || match cause.downcast_ref() {
            Some(jurybox_lab::Error::Table(error)) => Some(error),
            _ => None,
        };
        cause.downcast_ref().or_else(of_lab).and_then(on_files)
    })
}

/// Advice on a warning, if there is any.
pub(crate) fn on_warning(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::HeaderOfNumbers { .. } => "if it is a row, pass --no-header".into(),
        Warning::TwoNumbers { .. } => "say which with --decimal , or --decimal .".into(),
        Warning::NearlyIds { .. } => {
            "name it with --id or --ignore; if it is an evaluator, name all evaluators with --evaluators"
                .into()
        }
        Warning::NamedLikeAVerdict { column, .. } => format!(
            "if it has verdicts, learn from them with `jurybox learn --reward {column}`; if not, pass --ignore {column}; if it is an evaluator, name all evaluators with --evaluators"
        ),
        Warning::OtherScale { columns, .. } => {
            let names: Vec<String> = columns.iter().map(|(name, _)| quoted(name)).collect();
            format!("name columns that are not evaluators with --ignore {}", names.join(","))
        }
        Warning::LooksLong { item, judge, grade, .. } => {
            let names = [item, judge, grade].map(|name| quoted(name)).join(",");
            format!(
                "for one row per `{item}`, pass --long {names}; if each row is an item, pass --evaluators {}",
                quoted(grade)
            )
        }
        Warning::NoOrder { .. } => {
            "where an empty cell means something, such as a rule that did not fire, write 0 there (the default --policy reads it so where a rule writes 1 or nothing)".into()
        }
        Warning::OddCells(odd) if odd.may_be_two_numbers() => {
            "say what the comma is with --decimal , or --decimal .".into()
        }
        Warning::OddCells(odd) if odd.is_of_another_scale() => ONE_SCALE.into(),
        _ => return None,
    })
}

/// A name as an element of a list option. With a comma it is in double quotes, within single quotes
/// for the shell.
fn quoted(name: &str) -> String {
    if name.contains(',') { format!("'\"{name}\"'") } else { name.into() }
}

/// A `--label WORD=NUMBER` option for each word that `odd` lists. The user replaces `NUMBER`.
pub(crate) fn labels(odd: &OddColumn) -> String {
    let flag = |(_, word): &(_, String)| {
        if word.contains(',') {
            format!("--label '\"{word}\"=NUMBER'")
        } else if word.chars().all(|character| character.is_alphanumeric() || "_-".contains(character)) {
            format!("--label {word}=NUMBER")
        } else {
            format!("--label '{word}=NUMBER'")
        }
    };
    odd.first.iter().map(flag).collect::<Vec<_>>().join(" ")
}

/// Advice on a notice of `learn`, if there is any.
pub(crate) fn on_told(told: &LearnNotice) -> Option<String> {
    match told {
        LearnNotice::LearntFile { .. }
        | LearnNotice::LearntRows { .. }
        | LearnNotice::LearntVerdicts { .. } => Some("--again counts it again".into()),
        LearnNotice::Warning(warning) => on_warning(warning),
        _ => None,
    }
}

/// Advice on a column that has both shares, such as 13%, and plain numbers.
const ONE_SCALE: &str =
    "a column has one scale: write all of it as shares such as 13% and 4/5, or none of it";

/// How to get the input that a skipped part of `jurybox reproduce` needs.
pub(crate) fn on_skipped(part: jurybox_lab::SkippedPart) -> &'static str {
    match part {
        jurybox_lab::SkippedPart::NoContent => "name it with --data DIR",
        jurybox_lab::SkippedPart::NoPredictions => {
            "make them with `train.py --data DIR --out FILE.csv`, then pass --jester FILE.csv"
        }
    }
}

/// Whether line ends are kept when an error is printed. They are kept in TOML errors, which draw
/// the faulty line of the file, and in the lab's errors about settings and contents of files.
pub(crate) fn draws_settings(error: &anyhow::Error) -> bool {
    use jurybox_lab::Error::{Content, Setting};
    let of_the_lab = |cause: &jurybox_lab::Error| matches!(cause, Content { .. } | Setting { .. });
    error.chain().any(|cause| cause.downcast_ref().is_some_and(of_the_lab) || cause.is::<toml::de::Error>())
}

fn on_files(error: &Error) -> Option<String> {
    Some(match error {
        Error::Directory { path } => {
            format!("name its files, or a pattern such as '{}/*.csv'", path.display())
        }
        Error::Empty { .. } => "expected a header and rows, JSON lines, or Parquet".into(),
        Error::Ragged { .. } => "every row needs one cell per column".into(),
        Error::NotANumber { .. } => {
            "correct it, leave the cell empty where the score is missing, or leave the column out with --ignore".into()
        }
        Error::OddCells(odd) if odd.may_be_two_numbers() => {
            format!("say what the comma in `{}` is: --decimal , or --decimal .", odd.first[0].1)
        }
        Error::OddCells(odd) if odd.is_of_another_scale() => ONE_SCALE.into(),
        Error::OddCells(odd) if odd.is_reward => format!(
            "give each word its reward with {}, or name the words for a missing verdict with --na",
            labels(odd)
        ),
        Error::Label { .. } => "write --label WORD=NUMBER, such as --label remove=1 --label keep=0".into(),
        Error::OddCells(odd) => format!(
            "correct them, name the words for a missing score with --na, or leave the column out with --ignore {}",
            odd.column
        ),
        Error::Foreign { path, kind } => match kind {
            ForeignKind::Spreadsheet(_) => "save it as CSV".into(),
            ForeignKind::ZipArchive => format!("pipe its file in: unzip -p {} | jurybox ... -", path.display()),
            ForeignKind::Compressed(program) => {
                format!("decompress it into a pipe: {program} -dc {} | jurybox ... -", path.display())
            }
            _ => "turn it into CSV, JSON lines or Parquet first".into(),
        },
        Error::NotUtf8 { .. } => {
            "convert the file first, for instance with `iconv -f latin1 -t utf-8`".into()
        }
        Error::LongRecord { .. } => "is this a text file with line ends?".into(),
        Error::DuplicateColumn { .. } => "rename one".into(),
        Error::NoEvaluator { .. } => "name them with --evaluators".into(),
        Error::NoneOfTheEvaluators { .. } => "name its columns with --evaluators, or leave the file out".into(),
        Error::DirectionChanged { column } => {
            format!("leave `{column}` out of --invert, or learn a new state with it")
        }
        Error::NotInvertible { column } => format!("leave `{column}` out of --invert"),
        Error::ZeroRows => "pass -k 1 or more".into(),
        Error::NotRewards { .. } => {
            "learn from verdicts with `jurybox learn` and pass the --state, or pass -k instead of --min-reward".into()
        }
        Error::ReadOnce { .. } => "save it to a file first, and pass that".into(),
        Error::Overwrites { .. } => "write to another file with --out".into(),
        Error::Locked { .. } => "try again, or wait longer with --wait".into(),
        Error::OtherReward { learnt, .. } => {
            format!("pass --reward {}, or learn another state with --state", learnt.name)
        }
        Error::SharedHistory { .. } => "merge states that were learnt apart, or count it twice with --again".into(),
        Error::OtherPolicy { .. } => "leave --policy out, or use another state with --state".into(),
        Error::TwoRoles { column, .. } => format!(
            "name it for one of them; for both, give the file a copy of `{column}` under another name"
        ),
        Error::OtherEvaluators { .. } => {
            "leave --evaluators and --context out; new ones join the state when `jurybox learn` learns rows that have them, with all evaluators named by --evaluators and contexts by --context"
                .into()
        }
        Error::WouldForget { evaluator } => {
            format!("name it too in --evaluators, or pass --drop {evaluator}")
        }
        Error::NoId { .. } => "give every row an id of its own".into(),
        Error::RoundedId { .. } => {
            "export the column as text or as 64-bit integers, before any program reads it as floating point"
                .into()
        }
        Error::PickedFrom { .. } => {
            "pass the picks with --picks and the verdicts on them with --verdicts, or count the rows twice with --again"
                .into()
        }
        Error::UnexpectedPicks { .. } => "pass them with --picks, and the verdicts on them with --verdicts".into(),
        Error::NotAVerdict { .. } => "name the column of the verdicts with --reward".into(),
        Error::NoVerdictColumn { .. } => "name another with --reward".into(),
        Error::NotPicks { .. } => "pass what `jurybox pick` wrote".into(),
        Error::Truncated { .. } => "copy it again".into(),
        Error::Changed { .. } => "wait until it is written, or work on a copy".into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_found_under_what_was_added_on_the_way() {
        let error = || Error::Empty { path: "a.csv".into() };
        let plain = on(&error().into()).unwrap();
        assert_eq!(on(&anyhow::Error::from(error()).context("--weights")).unwrap(), plain);
        assert_eq!(on(&jurybox_lab::Error::from(error()).into()).unwrap(), plain);
        assert_eq!(on(&anyhow::anyhow!("something else")), None);
    }

    /// An error with the message of another type of error gets no advice. Context put before an
    /// error does not change its advice.
    #[test]
    fn no_message_changes_advice() {
        let errors = [
            Error::Directory { path: "folder".into() },
            Error::Empty { path: "a.csv".into() },
            Error::ZeroRows,
            Error::DirectionChanged { column: "spam".into() },
            Error::NotAVerdict { column: "spam".into() },
        ];
        for error in errors {
            let words = error.to_string();
            let advice = on_files(&error).unwrap();
            assert_eq!(on(&anyhow::anyhow!("{words}")), None, "{words}");
            assert_eq!(on(&jurybox_server::Error::Refused(words.clone()).into()), None, "{words}");
            let error = anyhow::Error::from(error).context("there are several queues").context(words);
            assert_eq!(on(&error).unwrap(), advice);
        }
        for words in ["there is no queue here", "the queue does not say what label `x` is worth"] {
            assert_eq!(on(&jurybox_server::Error::Refused(words.into()).into()), None);
        }
    }

    #[test]
    fn a_command_adds_advice_that_the_type_of_an_error_does_not_have() {
        let error = Advised::error(jurybox_server::Error::Refused("no".into()), "pass --queue");
        assert_eq!(on(&error).as_deref(), Some("pass --queue"));
        assert_eq!(format!("{:#}", error.context("first")), "first: no");
    }
}
