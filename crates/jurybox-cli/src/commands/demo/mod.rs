//! `jurybox demo`: the first thing to see.

mod feed;
mod serve;

use super::lab;
use crate::messages::{can_move, say};
use crate::output;
use anyhow::Context;
use jurybox_files::Aside;
use jurybox_lab::{Demo, Standing};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Watch a review desk learn whom to trust: no files, no network, a few seconds.
///
/// Every hour brings 100 posts and time to look at ten. Six evaluators score the posts; some are biased, one scores
/// backwards. Jurybox, the plain average and an oracle choose from the same posts. A page with the curves is written at
/// the end.
///
/// With --serve, the same desk is at work behind a server of this machine, for as long as you look: posts come in, four people look at some
/// of them, and the page shows what is learnt. An evaluator can be made to go wrong while it runs.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write the page [default: jurybox-demo.html in the system's folder for temporary files]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Serve a desk that is at work, until Ctrl-C
    #[arg(long, conflicts_with_all = ["out", "json"])]
    serve: bool,
    /// The port to serve at; 0 for any that is free [default: 8686, or any where that is taken]
    #[arg(long, requires = "serve")]
    port: Option<u16>,
}

/// Time between two hours on a terminal: 400 of them take about five seconds.
const TICK: Duration = Duration::from_millis(12);

/// How the page ends.
const CLOSING: &str = "<h2>Now with your own</h2><p><code>jurybox policies</code> lists every way to choose and what it \
    assumes; <code>jurybox simulate --help</code> sets them against each other on desks like this one; <code>jurybox \
    reproduce --out DIR</code> makes the figures of the paper behind it.</p>";

impl Args {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.serve {
            return serve::run(self.seed, self.port);
        }
        // Begun now, so that what is wrong is found out before the show. Everybody may write to the folder for temporary files: the page
        // takes its name there, and is not written through what somebody else has put under it.
        let chosen = self.out.is_some();
        let path = self.out.unwrap_or_else(|| std::env::temp_dir().join("jurybox-demo.html"));
        let mut page = if chosen { Aside::new(&path)? } else { Aside::replacing(&path)? };
        let mut demo = Demo::new(self.seed)?;
        let live = can_move();
        let stop = lab::stop_flag();
        say(format_args!("A review desk: 100 posts an hour, one in ten harmful, time to look at ten."));
        say(format_args!("Six evaluators score every post. Some are biased, and nobody has said which."));
        say(format_args!(""));
        let mut lines = 0;
        while demo.step()? && !stop.load(Ordering::Relaxed) {
            let now = demo.standing();
            if live {
                let frame = frame(&now)?;
                // Back to the first line of the last frame; each line clears what it does not cover.
                let up = if lines == 0 { String::new() } else { format!("\x1b[{lines}A") };
                lines = frame.lines().count();
                write!(stderr(), "{up}{}", frame.replace('\n', "\x1b[K\n"))?;
                std::thread::sleep(TICK);
            } else if [1, 10, 50, 100, 200, Demo::HOURS].contains(&now.hour) {
                say(format_args!(
                    "hour {:3}: caught by Jurybox {}, by the plain average {}, by the oracle {}",
                    now.hour, now.jurybox, now.average, now.oracle
                ));
            }
        }
        page.write_all(demo.to_html(CLOSING).as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        page.finish()?;
        let end = demo.standing();
        if self.json {
            return output::versioned("demo", document(self.seed, &end, &path));
        }
        output::text_to_stdout(&summary(&end, &path.display().to_string())?)
    }
}

fn frame(now: &Standing) -> anyhow::Result<String> {
    let mut text = String::new();
    writeln!(text, "hour {:3} of {}     harmful posts so far: {}", now.hour, Demo::HOURS, now.harmful)?;
    writeln!(text)?;
    let most = now.oracle.max(now.jurybox).max(1) as f64;
    for (name, caught) in [("oracle", now.oracle), ("Jurybox", now.jurybox), ("plain average", now.average)] {
        let bar = bar(caught as f64 / most, 36);
        writeln!(text, "  caught by {name:14} {bar} {caught}")?;
    }
    writeln!(text)?;
    let heaviest = now.weights.iter().map(|(_, share)| share.abs()).fold(1e-9, f64::max);
    for (name, share) in &now.weights {
        let sign = if *share < -0.005 { "read backwards" } else { "" };
        writeln!(
            text,
            "  trust in {name:15} {} {:3.0}% {sign}",
            bar(share.abs() / heaviest, 36),
            100.0 * share.abs()
        )?;
    }
    Ok(text)
}

fn bar(share: f64, width: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    "█".repeat(full) + &"·".repeat(width - full)
}

fn document(seed: u64, end: &Standing, page: &Path) -> serde_json::Value {
    let weights = end.weights.iter().map(|(name, share)| json!({"name": name, "weight": share}));
    json!({
        "seed": seed,
        "hours": end.hour,
        "harmful": end.harmful,
        "caught": {"jurybox": end.jurybox, "average": end.average, "oracle": end.oracle},
        "evaluators": weights.collect::<Vec<_>>(),
        "page": page.display().to_string(),
    })
}

fn summary(end: &Standing, path: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "\nAfter {} hours Jurybox has caught {} harmful posts: {:+.0}% over plain averaging ({}),\n{:.0}% of an oracle \
         that was told everything ({}). It was told nothing; it learnt from what\npeople found in the posts it picked.\n",
        end.hour,
        end.jurybox,
        100.0 * (end.jurybox as f64 / end.average.max(1) as f64 - 1.0),
        end.average,
        100.0 * end.jurybox as f64 / end.oracle.max(1) as f64,
        end.oracle
    )?;
    writeln!(text, "The whole story, with curves: {path}")?;
    Ok(text)
}
