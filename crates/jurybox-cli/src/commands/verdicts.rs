//! `jurybox learn --picks`: verdicts that come back.

use super::columns::warn;
use super::learn::Args;
use super::state::{summary, write_back};
use crate::output;
use anyhow::bail;
use jurybox::Direction;
use jurybox_files::{
    Decimal, Error, Reading, Roles, State, TakenBack, Warning, counted, expand, is_ours, take_back,
};
use serde_json::json;
use std::path::PathBuf;

/// Teaches a state the verdicts on its picks.
pub(super) fn run(args: &Args, mut state: State) -> anyhow::Result<()> {
    let [id] = &args.columns.id()[..] else { bail!("--picks are joined by one column: pass one --id") };
    let Some(name) = args.reward.clone().or_else(|| state.memory.reward().map(|reward| reward.name)) else {
        bail!("which column is the verdict? Pass --reward");
    };
    let reward = args.directed(&name, Some(&state))?;
    if args.verdicts.is_empty()
        && (is_ours(&name) || state.jury.evaluators().names().any(|known| known == name))
    {
        bail!(
            "`{name}` is what `jurybox pick` wrote, not what a person found: name the column of the verdicts with --reward"
        );
    }
    let key = || Some(id.clone());
    let seated = state.jury.evaluators().as_slice().to_vec();
    let picks = expand(&args.picks)?;
    let mut verdicts = if args.verdicts.is_empty() { picks.clone() } else { expand(&args.verdicts)? };
    let open = |paths: &[_], reading: &Reading, roles| args.columns.table(paths, reading, &roles, false);
    // What a person says of how numbers are written is about theirs: the scores of picks are as we wrote them.
    let theirs = args.columns.reading();
    let ours = if args.verdicts.is_empty() {
        Reading { decimal: Decimal::default(), na: Vec::new(), ..theirs.clone() }
    } else {
        Reading::default()
    };
    let picks = open(&picks, &ours, Roles { key: key(), seated, ..Roles::default() })?.heard(of_picks);
    picks.warnings().iter().for_each(of_picks);
    let turned = reward.direction == Direction::Low;
    let roles = || Roles {
        key: key(),
        evaluators: vec![name.clone()],
        invert: turned.then(|| name.clone()).into_iter().collect(),
        ..Roles::default()
    };
    let verdicts = loop {
        if verdicts.is_empty() {
            args.columns.say(format_args!("no verdicts yet: nothing is learnt"));
            let back = TakenBack::default();
            return if args.json {
                output::versioned("learn", summary(&state.jury, &json!(back)))
            } else {
                Ok(())
            };
        }
        match open(&verdicts, &theirs, roles()) {
            // Picks that people have not written a verdict into have no column for it.
            Err(error)
                if args.verdicts.is_empty()
                    && without_verdicts(&error).is_some_and(|path| verdicts.contains(path)) =>
            {
                let without = without_verdicts(&error).cloned();
                verdicts.retain(|path| Some(path) != without.as_ref());
            }
            Err(error) if without_verdicts(&error).is_some() => {
                let path =
                    without_verdicts(&error).map(|path| path.display().to_string()).unwrap_or_default();
                bail!(
                    "{path}: there is no column `{name}`, in which the verdicts should be; name another with --reward"
                );
            }
            // A desk that was quiet this hour sends a file without rows.
            Err(error) if without_rows(&error).is_some_and(|empty| verdicts.contains(empty)) => {
                let empty = without_rows(&error).cloned();
                verdicts.retain(|path| Some(path) != empty.as_ref());
            }
            opened => break opened?,
        }
    };
    args.columns.warn(&verdicts);
    let back = take_back(&mut state, &picks, &verdicts, args.again)?;
    args.remember(&mut state, &reward, back.range);
    if back.used + back.passed_over > 0 {
        write_back(&state, &args.state, |what| args.columns.say(what))?;
    }
    tell(args, &state, &back);
    if args.json { output::versioned("learn", summary(&state.jury, &json!(back))) } else { Ok(()) }
}

/// Says what is to be known of picks. Which evaluators had no scores for them was said when they were picked, and one that joined
/// since cannot have any: a desk that learns every hour would be told of it every hour.
fn of_picks(warning: &Warning) {
    if !["missing-column", "no-values"].contains(&warning.code()) {
        warn(warning);
    }
}

/// The file that has no rows, where that is what is wrong.
fn without_rows(error: &anyhow::Error) -> Option<&PathBuf> {
    match error.downcast_ref() {
        Some(Error::NoRows { path } | Error::Empty { path }) => Some(path),
        _ => None,
    }
}

/// The file that has no column of verdicts, where that is what is wrong: another one has it.
fn without_verdicts(error: &anyhow::Error) -> Option<&PathBuf> {
    match error.downcast_ref() {
        Some(Error::NoneOfTheEvaluators { path, .. }) => Some(path),
        _ => None,
    }
}

fn tell(args: &Args, state: &State, back: &TakenBack) {
    let say = |what: std::fmt::Arguments<'_>| args.columns.say(what);
    say(format_args!(
        "{}, {}, {} learnt from, by {}; {} without a verdict yet",
        counted(back.picks, "pick"),
        counted(back.verdicts, "verdict"),
        back.used,
        state.jury.spec(),
        counted(back.waiting, "pick")
    ));
    if back.already > 0 {
        say(format_args!("{} learnt already, and not counted again", counted(back.already, "verdict")));
    }
    if back.passed_over > 0 {
        let policy = state.jury.spec().name();
        say(format_args!("`{policy}` does not learn from {} of these picks", back.passed_over));
    }
    if back.forgotten > 0 {
        say(format_args!(
            "warning: {} on picks so old that the state does not know whether it has learnt them: not counted",
            counted(back.forgotten, "verdict")
        ));
    }
    for (items, one, many) in [
        (
            &back.contradictory,
            "has verdicts that contradict each other, none of which is learnt",
            "have verdicts that contradict each other, none of which is learnt",
        ),
        (
            &back.strangers,
            "has a verdict and is not among the picks",
            "have a verdict and are not among the picks",
        ),
        (
            &back.picked_twice,
            "was picked more than once; a verdict counts once, with the first pick that it comes to",
            "were picked more than once; a verdict counts once, with the first pick that it comes to",
        ),
    ] {
        if items.count > 0 {
            let what = if items.count == 1 { one } else { many };
            say(format_args!("warning: {} {what}: {items}", counted(items.count, "item")));
        }
    }
    args.outside(&state.jury);
}
