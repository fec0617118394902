//! `jurybox demo`: a simulated review queue that learns which evaluators to trust.

mod feed;
mod serve;

use super::columns::OUTPUT;
use super::lab;
use crate::messages::{can_redraw, next, say, wrote};
use crate::output;
use anyhow::Context;
use jurybox_files::PendingFile;
use jurybox_lab::{DemoSimulation, DemoStanding};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  # In the terminal, with a page at the end
  jurybox demo --out demo.html
  # In the browser, until Ctrl-C
  jurybox demo --serve --port 0";

/// Watch a simulated review queue learn which evaluators to trust, in a few seconds
///
/// Every hour brings 100 posts, and time to review ten. Six evaluators score the posts; some are
/// biased, one scores backwards. Jurybox, a plain average and an oracle choose from the same posts.
/// A page shows the curves.
///
/// With --serve, such a queue runs on a local server: posts come in, four simulated people review
/// some, and the page shows the learnt weights. You can make an evaluator fail while it runs.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Seed of all draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The page [default: jurybox-demo.html in the folder for temporary files]
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
    /// Serve a simulated queue until Ctrl-C
    #[arg(long, conflicts_with_all = ["out", "json"])]
    serve: bool,
    /// Port of --serve; 0 for any free one [default: 8686, or any free one if it is taken]
    #[arg(long = "port", id = "demo_port", value_name = "PORT", requires = "serve")]
    port: Option<u16>,
}

/// The pause after each simulated hour on a terminal: 400 hours take about five seconds.
const FRAME_TIME: Duration = Duration::from_millis(12);

/// The last section of the page.
const CLOSING: &str = "<h2>Now with your own data</h2><p><code>jurybox rank FILE</code> ranks your own items; <code>jurybox policies</code> lists \
    the policies and what they assume; <code>jurybox simulate --help</code> compares them on queues like this one; <code>jurybox \
    reproduce --out DIR</code> makes the figures of the paper.</p>";

impl Args {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.serve {
            return serve::run(self.seed, self.port);
        }
        // The page is opened before the simulation, so that an error shows at once. Everybody may
        // write to the folder for temporary files, so a file or link of this name there is
        // replaced, and not written through.
        let chosen = self.out.is_some();
        let path = self.out.unwrap_or_else(|| std::env::temp_dir().join("jurybox-demo.html"));
        let mut page = if chosen { PendingFile::new(&path)? } else { PendingFile::replacing(&path)? };
        let mut demo = DemoSimulation::new(self.seed)?;
        let live = can_redraw();
        let stop = lab::stop_flag();
        say(format_args!("A review queue: 100 posts an hour, one in ten harmful, time to review ten."));
        say(format_args!("Six evaluators score every post. Some are biased; Jurybox does not know which."));
        say(format_args!(""));
        let mut lines = 0;
        while demo.step()? && !stop.load(Ordering::Relaxed) {
            let now = demo.standing();
            if live {
                let frame = frame(&now)?;
                // Moves up to the first line of the last frame. Each new line clears the rest of
                // the old one.
                let up = if lines == 0 { String::new() } else { format!("\x1b[{lines}A") };
                lines = frame.lines().count();
                write!(stderr(), "{up}{}", frame.replace('\n', "\x1b[K\n"))?;
                std::thread::sleep(FRAME_TIME);
            } else if [1, 10, 50, 100, 200, DemoSimulation::HOURS].contains(&now.hour) {
                say(format_args!(
                    "hour {:3}: found by Jurybox {}, by a plain average {}, by the oracle {}",
                    now.hour, now.jurybox, now.average, now.oracle
                ));
            }
        }
        page.write_all(demo.to_html(CLOSING).as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        page.finish()?;
        let end = demo.standing();
        if self.json {
            output::versioned("demo", document(self.seed, &end, &path))?;
        } else {
            output::text_to_stdout(&summary(&end, &path.display().to_string())?)?;
        }
        wrote([&*path]);
        next(format_args!("rank FILE, with your own scores"));
        Ok(())
    }
}

fn frame(now: &DemoStanding) -> anyhow::Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "hour {:3} of {}     harmful posts so far: {}",
        now.hour,
        DemoSimulation::HOURS,
        now.harmful
    )?;
    writeln!(text)?;
    let most = now.oracle.max(now.jurybox).max(1) as f64;
    for (name, found) in [("oracle", now.oracle), ("Jurybox", now.jurybox), ("plain average", now.average)] {
        let bar = bar(found as f64 / most, 36);
        writeln!(text, "  found by {name:15} {bar} {found}")?;
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

fn document(seed: u64, end: &DemoStanding, page: &Path) -> serde_json::Value {
    let weights = end.weights.iter().map(|(name, share)| json!({"name": name, "weight": share}));
    json!({
        "seed": seed,
        "hours": end.hour,
        "harmful": end.harmful,
        "found": {"jurybox": end.jurybox, "average": end.average, "oracle": end.oracle},
        "evaluators": weights.collect::<Vec<_>>(),
        "page": page.display().to_string(),
    })
}

fn summary(end: &DemoStanding, path: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "\nAfter {} hours Jurybox has found {} harmful posts: {:+.0}% over a plain average ({}),\n{:.0}% of an oracle \
         that knows every evaluator ({}). Jurybox learnt which evaluators\nto trust from the verdicts on its picks.\n",
        end.hour,
        end.jurybox,
        100.0 * (end.jurybox as f64 / end.average.max(1) as f64 - 1.0),
        end.average,
        100.0 * end.jurybox as f64 / end.oracle.max(1) as f64,
        end.oracle
    )?;
    writeln!(text, "Page with all curves: {path}")?;
    Ok(text)
}
