//! `jurybox desk export`: what was found, to take elsewhere.

use super::Place;
use crate::output;
use jurybox_files::write_whole;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

/// Write every verdict that stands with its item, scores and probability, as JSON lines.
///
/// `jurybox learn`, `replay` and `report` read it. Erased items are not in it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Where to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut desk = self.place.open()?;
        let names: Vec<String> = desk.status()?.config.evaluators.names().map(String::from).collect();
        let mut text = String::new();
        desk.export(&mut |row| {
            let mut line = json!({ "item": row.item });
            for (name, score) in names.iter().zip(&row.scores) {
                line[name] = json!(score);
            }
            for (name, tag) in &row.tags {
                line[name] = json!(tag);
            }
            line["reward"] = json!(row.reward);
            line["label"] = json!(row.label);
            line["reviewer"] = json!(row.reviewer);
            line["source"] = json!(row.source);
            line["probability"] = json!(row.probability);
            line["explored"] = json!(row.explored);
            let _ = writeln!(text, "{line}");
            Ok(())
        })?;
        match &self.out {
            Some(out) => Ok(write_whole(out, &text)?),
            None => output::text_to_stdout(&text),
        }
    }
}
