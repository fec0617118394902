//! `jurybox demo --serve`: the server with a desk that is at work.

use super::super::serve::{Beside, Hangups, serve};
use super::feed::Feed;
use crate::messages::say;
use anyhow::Context;
use jurybox::Evaluators;
use jurybox_http::{App, Demo, Log, Settings};
use jurybox_lab::Stream;
use jurybox_server::{Config, Place, Rewards, Service};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The demo's queue.
const QUEUE: &str = "demo";

/// A folder that is gone when the demo is over.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn run(seed: u64, port: Option<u16>) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("jurybox-demo-{}", std::process::id()));
    // A new one: what somebody else has put under that name is not gone into, and not taken away in the end.
    std::fs::create_dir(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let folder = Folder(folder);
    let service = Service::open(&folder.0, Duration::ZERO)?;
    let queue = service.create(QUEUE, &config()?)?;
    let demo = Demo::new(QUEUE, Stream::PAIR);
    let normal = Settings::default();
    let port = port.unwrap_or_else(|| free_or_any(normal.listen.port()));
    let settings = Settings {
        listen: (Ipv4Addr::LOCALHOST, port).into(),
        log: Log::Off,
        demo: Some(demo.clone()),
        ..normal
    };
    let ending = Arc::<AtomicBool>::default();
    let told = ending.clone();
    let work = move |url: &str| {
        say(format_args!(
            "A review desk at work: 64 posts a second, one in ten harmful, and four people who look at six of them."
        ));
        say(format_args!(
            "See it learn whom to trust: {url}/q/{QUEUE}   review beside them: {url}/q/{QUEUE}/desk"
        ));
        let [one, other] = Stream::PAIR;
        say(format_args!(
            "Make it go wrong, and see it find out: curl -X POST {url}/demo/swap (swaps the noises of `{one}` and `{other}`)"
        ));
        say(format_args!("Ctrl-C ends it, and nothing of it stays."));
        Feed::new(queue, demo, seed).run(&told).context("the desk of the demo")
    };
    let beside = Beside { ending, work: Box::new(work) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let hangups = Hangups::noted(&runtime)?;
    let app = App::new(service, settings.clone());
    let place = Place::from(&folder.0);
    let done = runtime.block_on(serve(app.clone(), &settings, &place, hangups, Some(beside), |_, _| {}));
    runtime.shutdown_timeout(Duration::from_secs(5));
    drop(app);
    done
}

/// The usual port, or any where somebody has that.
fn free_or_any(usual: u16) -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, usual)).map_or(0, |_| usual)
}

/// A desk that watches for change, and draws one post in fifty whatever its scores. A verdict can be taken back for ten seconds: those that are given until
/// the first is learnt from show what is caught without.
fn config() -> anyhow::Result<Config> {
    Ok(Config {
        policy: "adaptive".parse()?,
        k: 4,
        lease_seconds: 120,
        audit_rate: 0.02,
        settle_seconds: 2,
        undo_seconds: 10,
        reward: Some(Rewards {
            lowest: 0.0,
            highest: 1.0,
            labels: [("fine".to_string(), 0.0), ("harmful".to_string(), 1.0)].into(),
        }),
        ..Config::new(Evaluators::new(Stream::evaluators())?)
    })
}
