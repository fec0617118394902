//! `jurybox demo --serve`: a local server with a simulated queue.

use super::super::serve::{BackgroundWork, HangupSignals, serve};
use super::feed::Feed;
use crate::messages::say;
use anyhow::Context;
use jurybox::Evaluators;
use jurybox_http::{App, DemoControl, LogFormat, Settings};
use jurybox_lab::PostStream;
use jurybox_server::{Config, Service, StoreLocation, VerdictScale};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The demo's queue.
const QUEUE: &str = "demo";

/// A folder that is deleted when the demo ends.
struct TemporaryFolder(PathBuf);

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn run(seed: u64, port: Option<u16>) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("jurybox-demo-{}", std::process::id()));
    // Fails if the name is taken: a folder of another user must be neither used nor deleted.
    std::fs::create_dir(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let folder = TemporaryFolder(folder);
    let service = Service::open(&folder.0, Duration::ZERO)?;
    let queue = service.create(QUEUE, &config()?)?;
    let demo = DemoControl::new(QUEUE, PostStream::PAIR);
    let normal = Settings::default();
    let port = port.unwrap_or_else(|| free_or_any(normal.listen.port()));
    let settings = Settings {
        listen: (Ipv4Addr::LOCALHOST, port).into(),
        log: LogFormat::Off,
        demo: Some(demo.clone()),
        ..normal
    };
    let ending = Arc::<AtomicBool>::default();
    let flag = ending.clone();
    let work = move |url: &str| {
        say(format_args!(
            "A simulated queue: 64 posts a second, one in ten harmful, of which four people review six."
        ));
        say(format_args!("Next: watch it learn at {url}/q/{QUEUE}, or review posts at {url}/q/{QUEUE}/desk"));
        let [one, other] = PostStream::PAIR;
        say(format_args!(
            "To make an evaluator fail: curl -X POST {url}/demo/swap (swaps the noise of `{one}` and `{other}`)"
        ));
        say(format_args!("Ctrl-C ends the demo and deletes its data."));
        Feed::new(queue, demo, seed).run(&flag).context("the queue of the demo")
    };
    let work = BackgroundWork { ending, work: Box::new(work) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let hangups = HangupSignals::listen(&runtime)?;
    let app = App::new(service, settings.clone());
    let place = StoreLocation::from(&folder.0);
    let done = runtime.block_on(serve(app.clone(), &settings, &place, hangups, Some(work), |_, _| {}));
    runtime.shutdown_timeout(Duration::from_secs(5));
    drop(app);
    done
}

/// The usual port, or 0 (any free port) if the usual one is taken.
fn free_or_any(usual: u16) -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, usual)).map_or(0, |_| usual)
}

/// The settings of the demo's queue, with 2% random checks. Verdicts are learnt from after ten
/// seconds, so that the page first shows results without learning.
fn config() -> anyhow::Result<Config> {
    Ok(Config {
        policy: "adaptive".parse()?,
        k: 4,
        lease_seconds: 120,
        random_check_rate: 0.02,
        settle_seconds: 2,
        undo_seconds: 10,
        reward: Some(VerdictScale {
            lowest: 0.0,
            highest: 1.0,
            labels: [("fine".to_string(), 0.0), ("harmful".to_string(), 1.0)].into(),
        }),
        ..Config::new(Evaluators::new(PostStream::evaluators())?)
    })
}
