//! `jurybox learn --picks`: verdicts that come back.

use super::concerns;
use super::learn::Args;
use super::state::{told, write_back};
use crate::output;
use anyhow::bail;
use jurybox_files::{Given, Host, Joining, Returned, State, TakenBack, counted, expand, learn_verdicts};
use serde_json::json;

/// Teaches a state the verdicts on its picks.
pub(super) fn run(args: &Args, before: &State) -> anyhow::Result<()> {
    let [id] = &args.columns.id()[..] else { bail!("--picks are joined by one column: pass one --id") };
    let learnt = || before.memory.reward().map(|reward| reward.name);
    let Some(reward) = args.reward.clone().or_else(learnt) else {
        bail!("which column is the verdict? Pass --reward");
    };
    let together = args.verdicts.is_empty();
    let how = Joining {
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
    let (picks, verdicts) = (Given::Files(picks), Given::Files(verdicts));
    let Some(returned) = learn_verdicts(before, picks, verdicts, &how, &mut args.person(None))? else {
        return document(args, before, &TakenBack::default());
    };
    let Returned { state, back } = &returned;
    if back.used + back.passed_over > 0 {
        write_back(state, &args.state, |what| args.columns.say(what))?;
    }
    args.columns.say(format_args!(
        "{}, {}, {} learnt from, by {}; {} without a verdict yet",
        counted(back.picks, "pick"),
        counted(back.verdicts, "verdict"),
        back.used,
        state.jury.spec(),
        counted(back.waiting, "pick")
    ));
    returned.remarks().into_iter().for_each(|remark| args.person(None).tell(remark));
    concerns::tell(&state.jury.fit());
    document(args, state, back)
}

fn document(args: &Args, state: &State, back: &TakenBack) -> anyhow::Result<()> {
    if args.json { output::versioned("learn", told(&state.jury, &json!(back))) } else { Ok(()) }
}
