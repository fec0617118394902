//! `jurybox serve`: queues over HTTP.

use crate::messages::{line, say};
use anyhow::{Context, ensure};
use clap::ValueEnum;
use jurybox_http::{App, Limits, Log, Proxy, Settings, listen};
use jurybox_server::{Place, Role, Service};
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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
    /// The address to listen at; any but this machine's own takes a key
    #[arg(long, value_name = "ADDRESS", env = "JURYBOX_LISTEN", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// The port to listen at; 0 for any that is free
    #[arg(long, env = "JURYBOX_PORT", default_value_t = 8686)]
    port: u16,
    /// The largest body of a request, in bytes; lines (NDJSON) are taken however many there are
    #[arg(long, value_name = "BYTES", env = "JURYBOX_MAX_BODY", default_value_t = 16 << 20)]
    max_body: usize,
    /// How many requests are answered at once; who comes then is told to come again
    #[arg(long, value_name = "N", env = "JURYBOX_AT_ONCE", default_value_t = 1024)]
    at_once: usize,
    /// How many requests a second each key may send, on average; 0 for any number
    #[arg(long, value_name = "N", env = "JURYBOX_RATE", default_value_t = 1000)]
    rate: u32,
    /// How many seconds a client may take to send its headers, and then its body
    #[arg(long, value_name = "SECONDS", env = "JURYBOX_PATIENCE", default_value_t = 30)]
    patience: u64,
    /// The header in which a proxy says who has logged in; it must remove what clients send under that name
    #[arg(long, value_name = "HEADER", env = "JURYBOX_PROXY_HEADER", requires = "proxy_from")]
    proxy_header: Option<String>,
    /// The addresses of that proxy; from elsewhere the header is not believed
    #[arg(long, value_name = "ADDRESSES", env = "JURYBOX_PROXY_FROM", value_delimiter = ',')]
    proxy_from: Vec<IpAddr>,
    /// What those who come by that proxy may do
    #[arg(
        long,
        value_name = "ROLES",
        env = "JURYBOX_PROXY_ROLES",
        value_delimiter = ',',
        default_value = "read,review"
    )]
    proxy_roles: Vec<Role>,
    /// How requests are logged on standard error [default: text at a terminal, otherwise json]
    #[arg(long, value_name = "FORM", env = "JURYBOX_LOG")]
    log: Option<LogForm>,
    /// How many seconds to wait while another process has the folder
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    wait: u64,
}

/// Where the records are.
#[derive(clap::Args)]
pub(super) struct Records {
    /// The folder with the records; made where it is not there
    #[arg(long, value_name = "DIR", env = "JURYBOX_DATA", default_value = "jurybox-data")]
    data: PathBuf,
    /// A PostgreSQL database with the records, in place of a folder: any number of servers may share it
    #[arg(long, value_name = "URL", env = "JURYBOX_DATABASE", hide_env_values = true)]
    database: Option<String>,
}

impl Records {
    pub(super) fn place(&self) -> Place {
        match &self.database {
            Some(url) => Place::Database(url.clone()),
            None => Place::Folder(self.data.clone()),
        }
    }

    /// How a command is told of the same records; a database's URL has a password in it, and comes by its variable.
    fn flag(&self) -> String {
        if self.database.is_some() { String::new() } else { format!(" --data {}", self.data.display()) }
    }
}

/// What is written about requests.
#[derive(Clone, Copy, ValueEnum)]
enum LogForm {
    /// One JSON object a line
    Json,
    /// A line for people
    Text,
    /// Nothing
    Off,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let settings = self.settings();
        let public = !settings.listen.ip().is_loopback();
        let service = Service::open(&self.records.place(), Duration::from_secs(self.wait))?;
        if public && settings.proxy.is_none() {
            ensure!(
                !service.keys()?.is_empty(),
                "--listen {}: without keys only this machine may ask; make one first: jurybox server key add NAME{} --role admin",
                self.listen,
                self.records.flag()
            );
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let app = App::new(service, settings);
        let done = runtime.block_on(self.serve(app.clone()));
        // Queues are closed in order, with all that was answered in the database.
        runtime.shutdown_timeout(Duration::from_secs(5));
        drop(app);
        done
    }

    async fn serve(&self, app: App) -> anyhow::Result<()> {
        let listening = listen(app.clone()).await;
        let listening = listening
            .with_context(|| format!("cannot listen at {}", SocketAddr::from((self.listen, self.port))))?;
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let address = listening.address()?;
        // It answers while it loads: those who watch over it can see that it does.
        let answering = tokio::spawn(listening.run(async move { drop(ended.await) }));
        let stop = stopped()?;
        tokio::pin!(stop);
        let loading = app.clone();
        let loaded = tokio::task::spawn_blocking(move || loading.load());
        tokio::select! {
            loaded = loaded => loaded??,
            () = &mut stop => return Ok(()),
        }
        line(&format!("listening on http://{address}"));
        self.say_what_next(&app, address);
        stop.await;
        say(format_args!("ending: answers that are being made are let out"));
        drop(end);
        answering.await?;
        Ok(())
    }

    fn settings(&self) -> Settings {
        let terminal = std::io::stderr().is_terminal();
        Settings {
            listen: (self.listen, self.port).into(),
            limits: Limits {
                body: self.max_body,
                at_once: self.at_once,
                per_second: (self.rate > 0).then_some(self.rate),
                patience: Duration::from_secs(self.patience),
                ..Limits::default()
            },
            proxy: self.proxy_header.clone().map(|header| Proxy {
                header,
                from: self.proxy_from.iter().map(IpAddr::to_canonical).collect(),
                roles: self.proxy_roles.clone(),
            }),
            log: match self.log {
                Some(LogForm::Json) => Log::Json,
                Some(LogForm::Text) => Log::Text,
                Some(LogForm::Off) => Log::Off,
                None if terminal => Log::Text,
                None => Log::Json,
            },
        }
    }

    fn say_what_next(&self, app: &App, address: SocketAddr) {
        let flag = self.records.flag();
        if app.is_open() {
            say(format_args!(
                "there are no keys: anybody on this machine may ask for anything, and nobody from elsewhere; jurybox server key add NAME{flag} --role admin makes one"
            ));
            say(format_args!("what it can be asked: http://{address}/api; to begin with a queue:"));
            say(format_args!(
                "  curl -X PUT http://{address}/v1/queues/posts -H 'Content-Type: application/json' -d '{{\"evaluators\": [{{\"name\": \"spam\"}}]}}'"
            ));
        } else {
            say(format_args!("what it can be asked, with a key: http://{address}/api"));
        }
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
