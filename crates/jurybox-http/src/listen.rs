//! The accept loop: connections with time limits, TLS, and a graceful shutdown.

use crate::app::App;
use crate::connection_limit::ConnectionLimit;
use crate::guard::Peer;
use crate::tls::TlsCertificate;
use crate::write_timeout::WriteTimeout;
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

/// How long running requests and webhook deliveries may take during shutdown.
const LAST_ANSWERS: Duration = Duration::from_secs(25);
/// The most bytes of a request's head (path and headers).
pub(crate) const HEAD: usize = 64 << 10;

/// A server bound to its port that does not answer yet.
pub struct Listening {
    listener: TcpListener,
    certificate: Option<TlsCertificate>,
    app: App,
}

/// Reads the TLS certificate, if there is one, and binds the address.
pub async fn listen(app: App) -> std::io::Result<Listening> {
    let certificate = app.0.settings.tls.as_ref().map(TlsCertificate::read).transpose()?;
    let listener = TcpListener::bind(app.0.settings.listen).await?;
    Ok(Listening { listener, certificate, app })
}

impl Listening {
    /// The bound address, with the actual port if 0 was requested.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The TLS certificate, if there is one; it can be renewed.
    pub fn certificate(&self) -> Option<TlsCertificate> {
        self.certificate.clone()
    }

    /// Serves until `end`, then gives running requests 25 seconds to finish.
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
        let webhooks =
            tokio::spawn(crate::webhooks::deliver_all(app.clone(), async move { drop(stopped.await) }));
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
                // The cause is usually too many open files. Connections that close meanwhile free
                // some.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Connections of the trusted proxy are not limited by address.
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
                    // Errors of a client's connection concern only that client.
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
        // Streams to pages could otherwise last for minutes.
        app.0.watch.end();
        let all = async { tokio::join!(graceful.shutdown(), webhooks) };
        let _ = tokio::time::timeout(LAST_ANSWERS, all).await;
    }
}
