//! `jurybox learn --picks`: learning from verdicts on earlier picks.

use super::fit_warnings;
use super::learn::Args;
use super::state::{most_trusted, summary_with_warnings, write_back};
use crate::messages::{next, shell, wrote};
use crate::output;
use anyhow::bail;
use jurybox_files::{
    JoinedVerdicts, LearnHost, RowInput, State, VerdictOptions, VerdictResult, counted, expand,
    learn_verdicts,
};

/// Adds verdicts on picks to the state that made the picks.
pub(super) fn run(args: &Args, before: &State) -> anyhow::Result<()> {
    let [id] = &args.columns.id()[..] else { bail!("pass one --id: verdicts are joined by this column") };
    let learnt = || before.memory.reward().map(|reward| reward.name);
    let Some(reward) = args.reward.clone().or_else(learnt) else {
        bail!("pass --reward, the column of the verdicts");
    };
    let together = args.verdicts.is_empty();
    let how = VerdictOptions {
        reading: args.columns.reading(),
        id: id.clone(),
        reward,
        labels: args.labels.all(),
        reviewer: args.reviewer.clone(),
        invert: args.columns.roles().invert,
        together,
        again: args.again,
    };
    let picks = expand(&args.picks)?;
    let verdicts = if together { picks.clone() } else { expand(&args.verdicts)? };
    let (picks, verdicts) = (RowInput::Files(picks), RowInput::Files(verdicts));
    let Some(returned) = learn_verdicts(before, picks, verdicts, &how, &mut args.host(None))? else {
        return document(args, before, &JoinedVerdicts::default());
    };
    let VerdictResult { state, back } = &returned;
    if back.used + back.ignored_rewards > 0 {
        write_back(state, &args.state, |message| args.columns.say(message))?;
    }
    let trusted = (back.used > 0).then(|| most_trusted(&state.jury.fit())).flatten();
    args.columns.say(format_args!(
        "Learnt from {} on {}; {} without a verdict yet.{}",
        counted(back.used, "new verdict"),
        counted(back.picks, "pick"),
        back.waiting,
        trusted.map_or(String::new(), |trusted| format!(" {trusted}"))
    ));
    returned.notices().into_iter().for_each(|remark| args.host(None).notify(remark));
    fit_warnings::print(&state.jury.fit());
    document(args, state, back)?;
    if back.used + back.ignored_rewards > 0 {
        wrote([&*args.state]);
    }
    next(format_args!(
        "pick FILE --id {} --state {} --out picks.csv",
        shell(id),
        shell(args.state.display())
    ));
    Ok(())
}

fn document(args: &Args, state: &State, back: &JoinedVerdicts) -> anyhow::Result<()> {
    if args.json {
        let counts = serde_json::to_value(back)?;
        output::versioned("learn", summary_with_warnings(&state.jury, &counts))
    } else {
        Ok(())
    }
}
