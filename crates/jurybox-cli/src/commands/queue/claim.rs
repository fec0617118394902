//! `jurybox queue claim`: the next items for a reviewer.

use super::super::columns::OUTPUT;
use super::QueueAddress;
use crate::messages::{next, say, shell};
use crate::output;
use anyhow::Context;
use jurybox_files::plain;
use jurybox_server::{Answer, Call, ClaimedItem, EmbeddedQueue, Filter, LimitedBy, Request};
use serde_json::json;
use std::fmt::Write;

const EXAMPLES: &str = "\
Examples:
  # Five items in English
  jurybox queue claim review --reviewer ann -k 5 --tag language=en
  # What Ann holds now
  jurybox queue claim review --reviewer ann --held";

/// Claim the next items for a reviewer, until a verdict comes or the lease ends
///
/// Prints what the reviewer should see. Scores, ranks and random checks are hidden, because they
/// would bias the verdict; --json prints them for programs.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    address: QueueAddress,
    /// The reviewer
    #[arg(long, value_name = "NAME")]
    reviewer: String,
    /// How many items [default: that of the queue]
    #[arg(short, long)]
    k: Option<u32>,
    /// Only items with this tag, such as language=en; repeated for one name, either value will do
    #[arg(long, value_name = "NAME=VALUE")]
    tag: Vec<String>,
    /// Idempotency key: repeated with the same key, the command prints the same claim and takes no
    /// more
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Print the items that the reviewer holds, and claim no more
    #[arg(long, conflicts_with_all = ["k", "tag", "key"])]
    held: bool,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut queue = self.address.open()?;
        let (model, claims, limited_by) = if self.held {
            (None, queue.held(&self.reviewer)?, None)
        } else {
            let (model, claims, limit) = self.claim(&mut queue)?;
            (Some(model), claims, limit)
        };
        if self.json {
            let mut items = Vec::with_capacity(claims.len());
            for claim in &claims {
                let mut item = output::renamed(claim, &[("explored", "random_check")])?;
                if self.held {
                    // Rank and value are known only when the items are claimed.
                    item["rank"] = serde_json::Value::Null;
                    item["value"] = serde_json::Value::Null;
                }
                items.push(item);
            }
            output::versioned(
                "queue-claim",
                json!({ "reviewer": self.reviewer, "model": model, "claims": items, "limited_by": limited_by }),
            )?;
        } else {
            let mut text = String::new();
            for claim in &claims {
                let payload =
                    claim.payload.as_ref().map(|payload| format!("\t{payload}")).unwrap_or_default();
                // A tab would end the id early, and an escape sequence would act on the terminal.
                // --json has the id unchanged.
                writeln!(text, "{}{payload}", plain(&claim.item, false).replace('\t', "\\u0009"))?;
            }
            output::text_to_stdout(&text)?;
        }
        let (address, reviewer) = (self.address.argument(), shell(&self.reviewer));
        if let Some(first) = claims.first() {
            next(format_args!(
                "queue verdict {address} --reviewer {reviewer} --item {} --reward NUMBER",
                shell(&first.item)
            ));
            return Ok(());
        }
        if limited_by.is_none() {
            say(format_args!("There is no item for {}.", self.reviewer));
        }
        next(format_args!("queue status {address}"));
        Ok(())
    }

    /// Claims items, and prints why they may be fewer than asked for.
    fn claim(&self, queue: &mut EmbeddedQueue) -> anyhow::Result<(u64, Vec<ClaimedItem>, Option<LimitedBy>)> {
        let mut filter = Filter::default();
        for tag in &self.tag {
            let (name, value) =
                tag.split_once('=').with_context(|| format!("--tag {tag}: write NAME=VALUE"))?;
            filter.0.entry(name.into()).or_default().push(value.into());
        }
        let request = Request::Claim { reviewer: self.reviewer.clone(), k: self.k, filter };
        let mut call = Call::new(&self.reviewer, request);
        call.idempotency.clone_from(&self.key);
        let Answer::Claims { model, claims, limited_by } = queue.ask(&call)? else {
            anyhow::bail!("the queue did not answer with a claim")
        };
        match limited_by {
            Some(LimitedBy::MaxHeld) => say(format_args!(
                "{} holds as many items as the queue allows: give verdicts, or raise the limit with `jurybox queue set --max-held`.",
                self.reviewer
            )),
            Some(LimitedBy::Bytes) => {
                say(format_args!("One answer holds 8 MiB of items: claim again for more."));
            }
            None => {}
        }
        if self.key.is_some() {
            let held: Vec<u64> = queue.held(&self.reviewer)?.iter().map(|claim| claim.token).collect();
            let over = claims.iter().filter(|claim| !held.contains(&claim.token)).count();
            if over > 0 {
                say(format_args!(
                    "{over} of these {} items were claimed with this key before, and {} no longer holds them: use another key for new items.",
                    claims.len(),
                    self.reviewer
                ));
            }
        }
        Ok((model, claims, limited_by))
    }
}
