//! `jurybox policies`: the table of policies.

use crate::output;
use anyhow::anyhow;
use jurybox::{Entry, policies};
use std::fmt::Write;

/// List every policy, or show one with its options.
///
/// A policy is named on other commands with its options in parentheses, such as 'eps-greedy(eps=0.1)' or
/// 'glm-esag(link=probit)'. 'jurybox policies eps-greedy' shows what can be set there.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Show this policy with its options
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.name {
            Some(name) => self.show(find(name)?),
            None => self.list(),
        }
    }

    fn list(&self) -> anyhow::Result<()> {
        if self.json {
            let list: Vec<_> = policies().iter().map(described).collect();
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
            return output::versioned("policies", serde_json::json!({ "policies": [described(entry)] }));
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

/// An entry with every option it has, the link included.
fn described(entry: &Entry) -> serde_json::Value {
    serde_json::json!({
        "name": entry.name,
        "assumes": entry.assumes,
        "paper": entry.paper,
        "options": entry.all_options().collect::<Vec<_>>(),
    })
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
