//! `jurybox serve`: the HTTP server, how it starts and ends, and work that runs beside it.

mod import;
mod settings;

pub(crate) use import::IMPORT;
pub(crate) use settings::StorageArgs;

use crate::messages::{is_quiet, line, say};
use anyhow::{Context, ensure};
use jurybox_http::{App, Settings, TlsCertificate, listen};
use jurybox_server::{Service, StoreLocation};
use settings::ServeSettings;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  # Review the items of a file in the browser
  jurybox serve --import posts.csv --id post_id
  # On another port, from a folder of its own
  jurybox serve --data reviews --port 0";

/// Serve queues over HTTP: systems send items, reviewers claim them and give verdicts
///
/// Needs no configuration: an SQLite database in a folder, for this machine only. Keys (`jurybox
/// server key add`) let others in. The API is described at `/api` and `/openapi.json`.
///
/// With --import, the items of a file go into a queue; a repeated import adds nothing twice. The
/// queue's page and `jurybox export` return the verdicts as CSV, JSON lines or Parquet, while it
/// serves.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    storage: StorageArgs,
    #[command(flatten)]
    settings: ServeSettings,
    /// Seconds to wait for another process that has the folder
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    wait: u64,
    #[command(flatten)]
    import: import::ImportOptions,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let (place, data_option, settings) = settings::resolve(&self.storage, self.settings.clone())?;
        let connections = settings.connections()?;
        let settings = settings.settings()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let hangups = HangupSignals::listen(&runtime)?;
        let service = Arc::new(Service::open_with(&place, Duration::from_secs(self.wait), connections)?);
        if !settings.listen.ip().is_loopback() && settings.proxy.is_none() {
            ensure!(
                !service.keys()?.is_empty(),
                "--listen {}: without keys the server answers this machine only; create one first: jurybox server key add NAME{data_option} --role admin",
                settings.listen.ip()
            );
        }
        let import = self.import.open(&service)?.map(import::QueueImport::in_background);
        let app = App::new(service, settings.clone());
        let next = |app: &App, url: &str| say_next(app, url, &data_option);
        let done = runtime.block_on(serve(app.clone(), &settings, &place, hangups, import, next));
        // Queues get five seconds to close. Answered requests are in the database already.
        runtime.shutdown_timeout(Duration::from_secs(5));
        drop(app);
        done
    }
}

/// Work on a thread beside the server. If the work fails, the server ends.
pub(crate) struct BackgroundWork {
    /// Set when the server ends. The work must then end soon.
    pub(crate) ending: Arc<AtomicBool>,
    /// The work, given the URL of the server.
    #[expect(clippy::type_complexity, reason = "a function of the server's URL")]
    pub(crate) work: Box<dyn FnOnce(&str) -> anyhow::Result<()> + Send>,
}

/// Serves until a signal comes or `work` fails. `say_next` prints what to do next; it is called
/// only if there is no `work`.
pub(crate) async fn serve(
    app: App,
    settings: &Settings,
    place: &StoreLocation,
    hangups: HangupSignals,
    work: Option<BackgroundWork>,
    say_next: impl FnOnce(&App, &str),
) -> anyhow::Result<()> {
    let listening = listen(app.clone()).await;
    let listening = listening.with_context(|| format!("cannot listen on {}", settings.listen))?;
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let address = listening.address()?;
    hangups.renew(listening.certificate());
    // From now on the server answers health checks, also while it loads the queues.
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
        StoreLocation::Folder(folder) => app.open_local_socket(folder),
        StoreLocation::Database(_) => None,
    };
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}");
    line(&format!("listening on {url}"));
    let mut done = Ok(());
    if let Some(BackgroundWork { ending, work }) = work {
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
        say_next(&app, &url);
        stop.await;
    }
    if !is_quiet() {
        // The log's own thread prints this: a standard error that nobody reads any more must not
        // delay the end.
        app.say("ending: requests under way are answered".into());
    }
    drop(end);
    answering.await?;
    done
}

/// Says who has access, and how to begin.
fn say_next(app: &App, url: &str, data_option: &str) {
    if app.is_open() {
        say(format_args!(
            "There are no keys: this machine has access to everything, others to nothing. To create a key: jurybox server key add NAME{data_option} --role admin"
        ));
        say(format_args!("Next: open {url}/api, or create a queue:"));
        say(format_args!(
            "  curl -X PUT {url}/v1/queues/posts -H 'Content-Type: application/json' -d '{{\"evaluators\": [{{\"name\": \"spam\"}}]}}'"
        ));
    } else if app.is_locked_out() {
        say(format_args!(
            "All keys were revoked: nobody has access. Next: jurybox server key add NAME{data_option} --role admin"
        ));
    } else {
        say(format_args!("Next: open {url}/api with a key"));
    }
}

/// The SIGHUP signals of this process. At each, the server reads its certificate again.
///
/// An unhandled SIGHUP ends a process. The handler is therefore set before anything that may take
/// long, such as waiting for a folder or a database.
#[cfg(unix)]
pub(crate) struct HangupSignals(tokio::signal::unix::Signal);

#[cfg(unix)]
impl HangupSignals {
    /// Handles the signal from now on.
    pub(crate) fn listen(runtime: &tokio::runtime::Runtime) -> std::io::Result<HangupSignals> {
        use tokio::signal::unix::{SignalKind, signal};
        let _within = runtime.enter();
        signal(SignalKind::hangup()).map(HangupSignals)
    }

    /// Reads the certificate again at every signal. A server without a certificate prints that
    /// there is none.
    fn renew(mut self, certificate: Option<TlsCertificate>) {
        tokio::spawn(async move {
            while self.0.recv().await.is_some() {
                match certificate.as_ref().map(TlsCertificate::renew) {
                    None => say(format_args!("SIGHUP: there is no certificate to read again")),
                    Some(Ok(())) => say(format_args!("SIGHUP: the certificate was read again")),
                    Some(Err(error)) => say(format_args!("SIGHUP: the earlier certificate is kept: {error}")),
                }
            }
        });
    }
}

/// Systems without SIGHUP: the server reads its certificate only at the start.
#[cfg(not(unix))]
pub(crate) struct HangupSignals;

#[cfg(not(unix))]
impl HangupSignals {
    pub(crate) fn listen(_: &tokio::runtime::Runtime) -> std::io::Result<HangupSignals> {
        Ok(HangupSignals)
    }

    fn renew(self, _: Option<TlsCertificate>) {}
}

/// Completes at Ctrl-C or SIGTERM.
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

/// Completes at Ctrl-C.
#[cfg(not(unix))]
fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}
