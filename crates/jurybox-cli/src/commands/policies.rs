//! `jurybox policies`: the list of policies and their options.

use super::columns::OUTPUT;
use crate::messages::next;
use crate::output;
use anyhow::anyhow;
use jurybox::{Entry, policies};
use std::fmt::Write;

const EXAMPLES: &str = "\
Examples:
  # All policies
  jurybox policies
  # The options of one
  jurybox policies eps-greedy";

/// List the policies, or show one with its options
///
/// Other commands take a policy with its options in parentheses, such as 'eps-greedy(eps=0.1)' or
/// 'glm-esag(link=probit)'.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Show this policy with its options
    name: Option<String>,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if let Some(name) = &self.name {
            let entry = find(name)?;
            self.show(entry)?;
            next(format_args!("rank FILE --policy {}", entry.name));
        } else {
            self.list()?;
            next(format_args!("policies NAME"));
        }
        Ok(())
    }

    fn list(&self) -> anyhow::Result<()> {
        if self.json {
            let list = policies().iter().map(as_json).collect::<Result<Vec<_>, _>>()?;
            return output::versioned("policies", serde_json::json!({ "policies": list }));
        }
        let width = policies().iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for entry in policies() {
            let names: Vec<&str> = entry.all_options().map(|option| option.name).collect();
            let options =
                if names.is_empty() { String::new() } else { format!("; options: {}", names.join(", ")) };
            writeln!(text, "{:width$}  {}", entry.name, entry.assumes)?;
            writeln!(text, "{:width$}  ({}{options})", "", entry.paper)?;
        }
        output::text_to_stdout(&text)
    }

    fn show(&self, entry: &Entry) -> anyhow::Result<()> {
        if self.json {
            return output::versioned("policies", serde_json::json!({ "policies": [as_json(entry)?] }));
        }
        let mut text = format!("{}: {}\nIn the paper: {}.\n", entry.name, entry.assumes, entry.paper);
        for option in entry.all_options() {
            let default = match option.default {
                "none" => "not set".to_string(),
                "required" => "must be set".to_string(),
                value => format!("{value} when not set"),
            };
            writeln!(text, "\n  {}  ({}; {default})\n      {}", option.name, option.range, option.help)?;
        }
        output::text_to_stdout(&text)
    }
}

/// A policy with all of its options, including the link.
fn as_json(entry: &Entry) -> serde_json::Result<serde_json::Value> {
    let options = entry.all_options().map(|option| output::renamed(option, &[("without", "conflicts_with")]));
    Ok(serde_json::json!({
        "name": entry.name,
        "assumes": entry.assumes,
        "paper": entry.paper,
        "options": options.collect::<Result<Vec<_>, _>>()?,
    }))
}

fn find(name: &str) -> anyhow::Result<&'static Entry> {
    policies().iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names = policies().iter().map(|entry| entry.name);
        match jurybox::nearest(name, names) {
            Some(near) => anyhow!("there is no policy `{name}`; did you mean `{near}`?"),
            None => anyhow!("there is no policy `{name}`; `jurybox policies` lists them"),
        }
    })
}
