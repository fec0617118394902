//! What a person can do about an error, in the words of the command line: the one place where errors meet flags.
//!
//! The libraries say what was found, where, and the value; they do not know by which flags it was asked for.

use jurybox_files::{Error, Odd, Told, Warning};

/// What to do about values that were learnt from labels that were chosen.
pub(crate) const ON_CHOSEN_LABELS: &str = "have some reviewed with a known chance (`--policy 'adaptive(audit=1,slots=5)'` where a state is begun, or by lot), and `jurybox prevalence --probability` says what they come to";

/// Advice on an error, where there is any.
pub(crate) fn on(error: &anyhow::Error) -> Option<String> {
    let of_files = error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(error) => Some(error),
        None => match cause.downcast_ref() {
            Some(jurybox_lab::Error::Table(error)) => Some(error),
            _ => None,
        },
    });
    of_files.map_or_else(|| on_queues(error), on_files)
}

/// Advice on what a queue refuses, where there is any.
fn on_queues(error: &anyhow::Error) -> Option<String> {
    let told = error.to_string();
    if told.starts_with("there are several queues") {
        Some("pass its name with --queue".into())
    } else if told.starts_with("there is no queue here") {
        Some("`jurybox desk init` makes one".into())
    } else if told.contains("the queue does not say what label") {
        Some(
            "`jurybox desk set DESK --label WORD=NUMBER`, once for every word, says what words are worth"
                .into(),
        )
    } else {
        None
    }
}

/// Advice on a warning, where there is any.
pub(crate) fn on_warning(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::HeaderOfNumbers { .. } => "if it is a row, pass --no-header".into(),
        Warning::TwoNumbers { .. } => "say which with --decimal , or --decimal .".into(),
        Warning::NearlyIds { .. } => {
            "name it with --id or --ignore; where it is an evaluator, name all of them with --evaluators"
                .into()
        }
        Warning::NamedLikeAVerdict { column, .. } => format!(
            "where it holds verdicts, learn from them with `jurybox learn --reward {column}`; leave it out in silence with --ignore {column}; where it is an evaluator, name all of them with --evaluators"
        ),
        Warning::OtherScale { columns, .. } => {
            let names: Vec<String> = columns.iter().map(|(name, _)| quoted(name)).collect();
            format!("what is no evaluator is named by --ignore {}", names.join(","))
        }
        Warning::LooksLong { item, judge, grade, .. } => {
            let names = [item, judge, grade].map(|name| quoted(name)).join(",");
            format!(
                "to make a row of every `{item}`, pass --long {names}; where each row is an item, pass --evaluators {}",
                quoted(grade)
            )
        }
        Warning::NoOrder { .. } => {
            "where an empty cell says something, as of a rule that did not fire, write 0 there (the default --policy reads it so where a rule writes 1 or nothing)".into()
        }
        Warning::OddCells(odd) if odd.may_be_two_numbers() => {
            "say what the comma is with --decimal , or --decimal .".into()
        }
        Warning::OddCells(odd) if odd.is_of_another_scale() => ONE_SCALE.into(),
        _ => return None,
    })
}

/// A name as a list on the command line has it: in quotes where it has a comma.
fn quoted(name: &str) -> String {
    if name.contains(',') { format!("'\"{name}\"'") } else { name.into() }
}

/// Flags that say what the words are worth that were met first, to be typed in a shell. Which of them is worth what, nobody knows here.
pub(crate) fn labels(odd: &Odd) -> String {
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

/// Advice on what is told of learning, where there is any.
pub(crate) fn on_told(told: &Told) -> Option<String> {
    match told {
        Told::Known { .. } | Told::KnownRows { .. } | Told::KnownVerdicts { .. } => {
            Some("--again would".into())
        }
        Told::Warning(warning) => on_warning(warning),
        _ => None,
    }
}

/// What is to be done about shares and plain numbers in one column.
const ONE_SCALE: &str =
    "a column has one scale: write all of it as shares such as 13% and 4/5, or none of it";

/// How a part of the paper that was left out can be had.
pub(crate) fn on_skipped(part: jurybox_lab::Skipped) -> &'static str {
    match part {
        jurybox_lab::Skipped::NoContent => "name it with --data DIR",
        jurybox_lab::Skipped::NoPredictions => {
            "make them with `train.py --data DIR --out FILE.csv`, then pass --jester FILE.csv"
        }
    }
}

/// Whether an error is about settings, and may draw them.
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
            "say what each word is worth, by {}, once for every word, or say with --na what means that there is no verdict",
            labels(odd)
        ),
        Error::Label { .. } => "write --label WORD=NUMBER, such as --label remove=1 --label keep=0".into(),
        Error::OddCells(odd) => format!(
            "correct them, say which words mean that a score is missing with --na, or leave the column out with --ignore {}",
            odd.column
        ),
        Error::Foreign { path, what } => match *what {
            "an Excel workbook" | "an old Excel workbook" | "an OpenDocument spreadsheet" => "save it as CSV".into(),
            "a zip archive" => format!("pipe its file in: unzip -p {} | jurybox ... -", path.display()),
            what if what.starts_with("compressed by ") => {
                let by = what.trim_start_matches("compressed by ");
                format!("decompress it into a pipe: {by} -dc {} | jurybox ... -", path.display())
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
        Error::Turned { column } => {
            format!("leave `{column}` out of --invert, or learn a new state with it")
        }
        Error::NotInvertible { column } => format!("leave `{column}` out of --invert"),
        Error::NoneWanted => "pass -k 1 or more".into(),
        Error::NotRewards { .. } => {
            "learn from verdicts with `jurybox learn` and pass the --state, or say how many with -k instead of --worth".into()
        }
        Error::ReadOnce { .. } => "save it to a file first, and pass that".into(),
        Error::Overwrites { .. } => "write to another file with --out".into(),
        Error::Locked { .. } => "try again, or wait longer with --wait".into(),
        Error::OtherReward { learnt, .. } => {
            format!("pass --reward {}, or learn another state with --state", learnt.name)
        }
        Error::Shared { .. } => "merge states that were learnt apart, or count it twice with --again".into(),
        Error::OtherPolicy { .. } => "leave --policy out, or use another state with --state".into(),
        Error::TwoRoles { column, one: "a context", other: "a round or group" } => {
            format!("the weights of the state differ by it: to group by it as well, give the file a copy of `{column}` under another name")
        }
        Error::OtherEvaluators { learnt, here } if here.contains("(context)") && !learnt.contains("(context)") => {
            "leave --context out: the state began without; a context joins it when `jurybox learn --context` learns rows that have it".into()
        }
        Error::OtherEvaluators { .. } => {
            "leave --evaluators out; an evaluator that is new joins the state when `jurybox learn` learns rows that have it, with all of them named by --evaluators"
                .into()
        }
        Error::WouldForget { evaluator } => {
            format!("name it too in --evaluators, or pass --drop {evaluator}")
        }
        Error::NoId { .. } => "give every row an id of its own".into(),
        Error::RoundedId { .. } => {
            "write the column as text or as whole numbers of 64 bits from where its ids come, before anything makes floats of them"
                .into()
        }
        Error::PickedFrom { .. } => {
            "pass the picks with --picks and the verdicts on them with --verdicts, or count the rows twice with --again"
                .into()
        }
        Error::ArePicks { .. } => "pass them with --picks, and the verdicts on them with --verdicts".into(),
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
}
