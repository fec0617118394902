//! `jurybox policies`: the table of policies.

use crate::output;
use jurybox::{Links, policies};
use std::fmt::Write;

/// List every policy: what it assumes and where it stands in the paper.
///
/// A policy is named on other commands with its options in parentheses, such as 'eps-greedy(eps=0.1)' or
/// 'glm-esag(link=probit)'.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if self.json {
            return output::document(&policies());
        }
        let width = policies().iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for entry in policies() {
            let link = match entry.links {
                Links::Identity => "",
                Links::Glm => "; link: logistic or probit",
                Links::Any => "; link: identity, logistic or probit",
            };
            writeln!(text, "{:width$}  {}", entry.name, entry.assumes)?;
            writeln!(text, "{:width$}  ({}{link})", "", entry.paper)?;
        }
        output::text_to_stdout(&text)
    }
}
