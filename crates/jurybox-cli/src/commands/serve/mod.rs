//! `jurybox serve`: queues over HTTP.

mod asked;
mod import;

pub(crate) use asked::Records;

use crate::messages::{is_quiet, line, say};
use anyhow::{Context, ensure};
use asked::Asked;
use jurybox_http::{App, Certificate, Settings, listen};
use jurybox_server::{Place, Service};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Serve queues over HTTP: systems send items with scores, reviewers claim the next ones, verdicts come back.
///
/// With nothing configured it works: a folder with an SQLite database, for this machine alone. Keys (`jurybox server key add`) open it to
/// others. What it can be asked is at `/api`, and for programs at `/openapi.json`.
///
/// With --import, a file of scores is put into a queue while it serves: from a file to reviewing in one command. Run again with the same file,
/// nothing is put in twice.
///
///   jurybox serve --import scores.csv --id post_id
///
/// What reviewers said comes back as CSV, JSON lines or Parquet, from the queue's page or by a command, also while it serves:
///
///   jurybox export --queue scores --out reviewed.csv
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    records: Records,
    #[command(flatten)]
    asked: Asked,
    /// How many seconds to wait while another process has the folder
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    wait: u64,
    #[command(flatten)]
    import: import::Files,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let (place, flag, asked) = asked::filled(&self.records, self.asked.clone())?;
        let connections = asked.connections()?;
        let settings = asked.settings()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let hangups = Hangups::noted(&runtime)?;
        let service = Arc::new(Service::open_with(&place, Duration::from_secs(self.wait), connections)?);
        if !settings.listen.ip().is_loopback() && settings.proxy.is_none() {
            ensure!(
                !service.keys()?.is_empty(),
                "--listen {}: without keys only this machine may ask; make one first: jurybox server key add NAME{flag} --role admin",
                settings.listen.ip()
            );
        }
        let import = self.import.open(&service)?.map(import::Import::beside);
        let app = App::new(service, settings.clone());
        let next = |app: &App, url: &str| say_what_next(app, url, &flag);
        let done = runtime.block_on(serve(app.clone(), &settings, &place, hangups, import, next));
        // Queues are closed in order, with all that was answered in the database.
        runtime.shutdown_timeout(Duration::from_secs(5));
        drop(app);
        done
    }
}

/// Something that is done beside serving; it is told where the server is, and is to end when it is told so. Where it fails, the server ends.
pub(crate) struct Beside {
    pub(crate) ending: Arc<AtomicBool>,
    #[expect(clippy::type_complexity, reason = "what is done, given the server's URL")]
    pub(crate) work: Box<dyn FnOnce(&str) -> anyhow::Result<()> + Send>,
}

/// Serves until it is asked to end.
pub(crate) async fn serve(
    app: App,
    settings: &Settings,
    place: &Place,
    hangups: Hangups,
    beside: Option<Beside>,
    say_what_next: impl FnOnce(&App, &str),
) -> anyhow::Result<()> {
    let listening = listen(app.clone()).await;
    let listening = listening.with_context(|| format!("cannot listen at {}", settings.listen))?;
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let address = listening.address()?;
    hangups.renew(listening.certificate());
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
    let _door = match place {
        Place::Folder(folder) => app.open_door(folder),
        Place::Database(_) => None,
    };
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}");
    line(&format!("listening on {url}"));
    let mut done = Ok(());
    if let Some(Beside { ending, work }) = beside {
        let mut working = tokio::task::spawn_blocking(move || work(&url));
        tokio::select! {
            worked = &mut working => {
                done = worked?;
                if done.is_ok() {
                    stop.await;
                }
            }
            () = &mut stop => {
                ending.store(true, Ordering::Relaxed);
                done = working.await?;
            }
        }
    } else {
        say_what_next(&app, &url);
        stop.await;
    }
    if !is_quiet() {
        // Whoever reads this may have stopped: that must not keep it from ending.
        app.say("ending: answers that are being made are let out".into());
    }
    drop(end);
    answering.await?;
    done
}

fn say_what_next(app: &App, url: &str, flag: &str) {
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

/// What SIGHUP asks for: that the certificate be read again, so that one can be renewed without an interruption. It would end a process that
/// does not note it, so it is noted before anything that may take long, as the wait for a folder or a database.
#[cfg(unix)]
pub(crate) struct Hangups(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangups {
    /// Notes them from now on.
    pub(crate) fn noted(runtime: &tokio::runtime::Runtime) -> std::io::Result<Hangups> {
        use tokio::signal::unix::{SignalKind, signal};
        let _within = runtime.enter();
        signal(SignalKind::hangup()).map(Hangups)
    }

    /// Reads the certificate again whenever one comes. Without a certificate it goes on all the same.
    fn renew(mut self, certificate: Option<Certificate>) {
        tokio::spawn(async move {
            while self.0.recv().await.is_some() {
                match certificate.as_ref().map(Certificate::renew) {
                    None => say(format_args!("there is no certificate to be read again")),
                    Some(Ok(())) => say(format_args!("the certificate was read again")),
                    Some(Err(error)) => say(format_args!("the certificate stays as it was: {error}")),
                }
            }
        });
    }
}

/// Nobody can ask for it here.
#[cfg(not(unix))]
pub(crate) struct Hangups;

#[cfg(not(unix))]
impl Hangups {
    pub(crate) fn noted(_: &tokio::runtime::Runtime) -> std::io::Result<Hangups> {
        Ok(Hangups)
    }

    fn renew(self, _: Option<Certificate>) {}
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
