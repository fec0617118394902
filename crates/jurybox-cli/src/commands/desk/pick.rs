//! `jurybox desk pick`: the next items for a reviewer.

use super::Place;
use crate::messages::say;
use crate::output;
use anyhow::Context;
use jurybox_files::plain;
use jurybox_server::{Answer, Call, Filter, LimitedBy, Request};
use serde_json::json;
use std::fmt::Write;

/// Give a reviewer the next items: they are nobody else's until the lease runs out or a verdict comes.
///
/// What is shown is what the reviewer should see, and no more: scores, ranks and audits stay hidden, because they would teach the
/// reviewer what to find. --json has them, for programs.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Who looks
    #[arg(long, value_name = "NAME")]
    reviewer: String,
    /// How many [default: what the desk was made with]
    #[arg(short, long)]
    k: Option<u32>,
    /// Only items with this tag, such as language=en; given twice for one name, either will do
    #[arg(long, value_name = "NAME=VALUE")]
    tag: Vec<String>,
    /// A key of the script's own: run again with the same one, the same items come out, and no others are taken; where they are not
    /// the reviewer's any more, as when the lease has run out, it says so
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Show what the reviewer holds already, and take no more
    #[arg(long, conflicts_with_all = ["k", "tag", "key"])]
    held: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut desk = self.place.open()?;
        let mut limited_by = None;
        let (model, claims) = if self.held {
            (None, desk.held(&self.reviewer)?)
        } else {
            let mut filter = Filter::default();
            for tag in &self.tag {
                let (name, value) =
                    tag.split_once('=').with_context(|| format!("--tag {tag}: write NAME=VALUE"))?;
                filter.0.entry(name.into()).or_default().push(value.into());
            }
            let request = Request::Claim { reviewer: self.reviewer.clone(), k: self.k, filter };
            let mut call = Call::new(&self.reviewer, request);
            call.idempotency.clone_from(&self.key);
            let Answer::Claims { model, claims, limited_by: limit } = desk.ask(&call)? else {
                anyhow::bail!("no claim came back")
            };
            limited_by = limit;
            match limit {
                Some(LimitedBy::MaxHeld) => say(format_args!(
                    "{} holds as many items as the desk allows: judge or release some, or raise it by jurybox desk set --max-held",
                    self.reviewer
                )),
                Some(LimitedBy::Bytes) => {
                    say(format_args!(
                        "these are as many as fit into one answer (8 MiB): pick again for more"
                    ));
                }
                None => {}
            }
            if self.key.is_some() {
                let held: Vec<u64> = desk.held(&self.reviewer)?.iter().map(|claim| claim.token).collect();
                let over = claims.iter().filter(|claim| !held.contains(&claim.token)).count();
                if over > 0 {
                    say(format_args!(
                        "{over} of these {} were given out with this key before, and {} has none of that claim any more: take another key for further items",
                        claims.len(),
                        self.reviewer
                    ));
                }
            }
            (Some(model), claims)
        };
        if self.json {
            let mut claims = json!(claims);
            if self.held {
                // At which place of its claim it came, and by what value, is in the answer to that claim alone.
                for claim in claims.as_array_mut().into_iter().flatten() {
                    claim["rank"] = serde_json::Value::Null;
                    claim["value"] = serde_json::Value::Null;
                }
            }
            return output::versioned(
                "desk-pick",
                json!({ "reviewer": self.reviewer, "model": model, "claims": claims, "limited_by": limited_by }),
            );
        }
        if claims.is_empty() && limited_by.is_none() {
            say(format_args!("there is nothing for {}", self.reviewer));
        }
        let mut text = String::new();
        for claim in &claims {
            let shown = claim.payload.as_ref().map(|payload| format!("\t{payload}")).unwrap_or_default();
            // A tab or an escape in an id would be taken for the end of it, or acted on; --json has it as it is.
            writeln!(text, "{}{shown}", plain(&claim.item, false).replace('\t', "\\u0009"))?;
        }
        output::text_to_stdout(&text)
    }
}
