//! `jurybox serve`: queues over HTTP.

mod asked;

pub(crate) use asked::Records;

use crate::messages::{is_quiet, line, say};
use anyhow::{Context, ensure};
use asked::Asked;
use jurybox_http::{App, Settings, listen};
use jurybox_server::Service;
use std::path::PathBuf;
use std::time::Duration;

/// Serve queues over HTTP: systems send items with scores, reviewers claim the next ones, verdicts come back.
///
/// With nothing configured it works: a folder with an SQLite database, for this machine alone. Keys (`jurybox server key add`) open it to
/// others. What it can be asked is at `/api`, and for programs at `/openapi.json`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    records: Records,
    #[command(flatten)]
    asked: Asked,
    /// A TOML file with any of these, under the same names; flags and the environment come before it
    #[arg(long, value_name = "FILE", env = "JURYBOX_CONFIG")]
    config: Option<PathBuf>,
    /// How many seconds to wait while another process has the folder
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    wait: u64,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let (records, asked) =
            asked::filled(self.records.clone(), self.asked.clone(), self.config.as_deref())?;
        let settings = asked.settings()?;
        let service = Service::open(records.place(), Duration::from_secs(self.wait))?;
        if !settings.listen.ip().is_loopback() && settings.proxy.is_none() {
            ensure!(
                !service.keys()?.is_empty(),
                "--listen {}: without keys only this machine may ask; make one first: jurybox server key add NAME{} --role admin",
                settings.listen.ip(),
                records.flag()
            );
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let app = App::new(service, settings.clone());
        let done = runtime.block_on(serve(app.clone(), &settings, &records));
        // Queues are closed in order, with all that was answered in the database.
        runtime.shutdown_timeout(Duration::from_secs(5));
        drop(app);
        done
    }
}

async fn serve(app: App, settings: &Settings, records: &Records) -> anyhow::Result<()> {
    let listening = listen(app.clone()).await;
    let listening = listening.with_context(|| format!("cannot listen at {}", settings.listen))?;
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let address = listening.address()?;
    // It answers while it loads: those who watch over it can see that it does.
    let answering = tokio::spawn(listening.run(async move { drop(ended.await) }));
    let stop = stopped()?;
    tokio::pin!(stop);
    let loading = app.clone();
    let loaded = tokio::task::spawn_blocking(move || loading.load());
    let failed = tokio::select! {
        loaded = loaded => loaded??,
        () = &mut stop => return Ok(()),
    };
    for (queue, why) in failed {
        say(format_args!("queue `{queue}` is not served: {why}"));
    }
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}");
    line(&format!("listening on {url}"));
    say_what_next(&app, &url, records);
    stop.await;
    if !is_quiet() {
        // Whoever reads this may have stopped: that must not keep it from ending.
        app.say("ending: answers that are being made are let out".into());
    }
    drop(end);
    answering.await?;
    Ok(())
}

fn say_what_next(app: &App, url: &str, records: &Records) {
    let flag = records.flag();
    if app.is_open() {
        say(format_args!(
            "there are no keys: anybody on this machine may ask for anything, and nobody from elsewhere; jurybox server key add NAME{flag} --role admin makes one"
        ));
        say(format_args!("what it can be asked: {url}/api; to begin with a queue:"));
        say(format_args!(
            "  curl -X PUT {url}/v1/queues/posts -H 'Content-Type: application/json' -d '{{\"evaluators\": [{{\"name\": \"spam\"}}]}}'"
        ));
    } else if app.is_shut() {
        say(format_args!(
            "no key opens this: those there were have been revoked; jurybox server key add NAME{flag} --role admin makes one"
        ));
    } else {
        say(format_args!("what it can be asked, with a key: {url}/api"));
    }
}

/// When somebody asks it to end.
#[cfg(unix)]
fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// When somebody asks it to end.
#[cfg(not(unix))]
fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}
