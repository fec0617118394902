//! The loop that accepts connections: with time limits for slow clients, and an end that lets answers out.

use crate::connection_limit::ConnectionLimit;
use crate::app::App;
use crate::guard::Peer;
use crate::write_timeout::WriteTimeout;
use crate::tls::TlsCertificate;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::ServiceExt;

/// How long answers that are being made may take once the server is to end.
const LAST_ANSWERS: Duration = Duration::from_secs(25);
/// The largest head of a request.
pub(crate) const HEAD: usize = 64 << 10;

/// A server that has its port, and does not answer yet.
pub struct Listening {
    listener: TcpListener,
    certificate: Option<TlsCertificate>,
    app: App,
}

/// Takes the port.
pub async fn listen(app: App) -> std::io::Result<Listening> {
    let certificate = app.0.settings.tls.as_ref().map(TlsCertificate::read).transpose()?;
    let listener = TcpListener::bind(app.0.settings.listen).await?;
    Ok(Listening { listener, certificate, app })
}

impl Listening {
    /// The address it has; its port is a free one where none was named.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What it speaks TLS with, where it does.
    pub fn certificate(&self) -> Option<TlsCertificate> {
        self.certificate.clone()
    }

    /// Answers until the end, and then lets those answers out that are being made.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let Listening { listener, certificate, app } = self;
        let (router, limits) = (app.router(), app.0.settings.limits.clone());
        let connections = Arc::new(Semaphore::new(limits.connections));
        let addresses = ConnectionLimit::new(limits.max_connections_per_address);
        let proxy = app.0.settings.proxy.clone();
        let graceful = GracefulShutdown::new();
        let mut protocol = http1::Builder::new();
        protocol.timer(TokioTimer::new()).header_read_timeout(limits.client_timeout).max_buf_size(HEAD);
        tokio::pin!(end);
        let (stop_webhooks, stopped) = tokio::sync::oneshot::channel::<()>();
        let webhooks = tokio::spawn(crate::webhooks::follow(app.clone(), async move { drop(stopped.await) }));
        let pages = tokio::spawn(crate::pages::watch(app.clone()));
        loop {
            let accepted = async {
                let permit = connections.clone().acquire_owned().await;
                (listener.accept().await, permit)
            };
            let accepted = tokio::select! {
                accepted = accepted => accepted,
                () = &mut end => break,
            };
            let (Ok((stream, peer)), Ok(permit)) = accepted else {
                // Too many open files, mostly: others will close theirs.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Behind a proxy are many.
            let counts = !proxy.as_ref().is_some_and(|proxy| proxy.is_at(Some(peer.ip())));
            let place = if counts { addresses.take(peer.ip()) } else { None };
            if counts && place.is_none() {
                continue;
            }
            let permit = (permit, place);
            let _ = stream.set_nodelay(true);
            let stream = WriteTimeout::new(stream, limits.client_timeout);
            let router = router.clone();
            let service = tower::service_fn(move |mut request: hyper::Request<Incoming>| {
                request.extensions_mut().insert(Peer(peer));
                router.clone().oneshot(request.map(axum::body::Body::new) as Request)
            });
            let service = TowerToHyperService::new(service);
            let Some(tls) = certificate.as_ref().map(TlsCertificate::current) else {
                let connection = graceful.watch(protocol.serve_connection(TokioIo::new(stream), service));
                tokio::spawn(async move {
                    // How a client leaves is its own affair.
                    let _ = connection.await;
                    drop(permit);
                });
                continue;
            };
            let (protocol, watcher, patience) = (protocol.clone(), graceful.watcher(), limits.client_timeout);
            tokio::spawn(async move {
                if let Ok(Ok(stream)) = tokio::time::timeout(patience, tls.accept(stream)).await {
                    let _ = watcher.watch(protocol.serve_connection(TokioIo::new(stream), service)).await;
                }
                drop(permit);
            });
        }
        drop(listener);
        drop(stop_webhooks);
        pages.abort();
        // Pages that listen would do so for good.
        app.0.watch.end();
        let all = async { tokio::join!(graceful.shutdown(), webhooks) };
        let _ = tokio::time::timeout(LAST_ANSWERS, all).await;
    }
}
