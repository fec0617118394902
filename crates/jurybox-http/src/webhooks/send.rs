//! A minimal HTTP client for webhooks: one POST per connection, to an address that was checked
//! before. It follows no redirects, and returns only the status of a response, so that it cannot be
//! used to probe a network.

use super::address::WebhookTarget;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The time limit for resolving the name, and for each attempt to connect.
const REACH: Duration = Duration::from_secs(5);
/// The time limit from the connection to the status, TLS handshake included.
const ANSWER: Duration = Duration::from_secs(15);
/// The most bytes read of the response's head.
const HEAD: usize = 16 << 10;
/// The most addresses of a host to which a connection is tried.
const TRIED: usize = 3;

/// Sends `body` to a target. Returns the status of the response, or why there is none.
pub(super) async fn post(
    target: &WebhookTarget,
    headers: &[(&str, String)],
    body: &[u8],
    private: bool,
) -> Result<u16, String> {
    let late = |_| "it did not answer in time".to_string();
    let addresses = timeout(REACH, target.resolved(private)).await.map_err(late)??;
    let stream = connect(&addresses).await?;
    let _ = stream.set_nodelay(true);
    let mut request = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: jurybox/{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n",
        target.path,
        target.authority,
        env!("CARGO_PKG_VERSION"),
        body.len()
    );
    for (name, value) in headers {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    request.push_str("\r\n");
    let mut request = request.into_bytes();
    request.extend_from_slice(body);
    let answer = async {
        if !target.secure {
            return exchange(stream, &request).await;
        }
        let name = ServerName::try_from(target.host.clone()).map_err(io::Error::other)?;
        exchange(TlsConnector::from(TRUST.clone()).connect(name, stream).await?, &request).await
    };
    let answer = timeout(ANSWER, answer).await.map_err(late)?;
    answer.map_err(|error| format!("the exchange failed: {error}"))
}

async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, String> {
    let mut why = String::new();
    for address in addresses.iter().take(TRIED) {
        match timeout(REACH, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => why = format!("it cannot be reached: {}", error.kind()),
            Err(_) => why = "it cannot be reached in time".into(),
        }
    }
    Err(why)
}

/// Sends the request, reads the head of the response, and returns its status.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> io::Result<u16> {
    stream.write_all(request).await?;
    stream.flush().await?;
    let (mut head, mut piece) = (Vec::new(), [0_u8; 1024]);
    loop {
        if let Some(status) = status(&mut head)? {
            return Ok(status);
        }
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&piece[..read]);
        if head.len() > HEAD {
            return Err(io::Error::other("the head of the response is too long"));
        }
    }
}

/// The status once the response's head is complete, else None. Interim responses (1xx) are removed
/// from `head`.
fn status(head: &mut Vec<u8>) -> io::Result<Option<u16>> {
    while let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
        let status = head
            .strip_prefix(b"HTTP/1.")
            .and_then(|rest| rest.get(2..5))
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
            .filter(|status| (100..600).contains(status))
            .ok_or_else(|| io::Error::other("the response is not HTTP"))?;
        if status >= 200 {
            return Ok(Some(status));
        }
        head.drain(..end + 4);
    }
    Ok(None)
}

/// The TLS configuration, with Mozilla's root certificates.
static TRUST: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_an_answer_is_read_and_nothing_else_is_taken_for_one() {
        let read = |text: &str| status(&mut text.as_bytes().to_vec()).map_err(|error| error.to_string());
        assert_eq!(read("HTTP/1.1 204 No Content\r\n\r\n"), Ok(Some(204)));
        assert_eq!(read("HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n"), Ok(Some(302)));
        assert_eq!(read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), Ok(Some(200)));
        assert_eq!(read("HTTP/1.1 200 OK\r\n"), Ok(None));
        assert!(read("SSH-2.0-OpenSSH\r\n\r\n").is_err());
        assert!(read("HTTP/1.1 999 Odd\r\n\r\n").is_err());
        assert!(read("HTTP/1.").unwrap().is_none());
    }
}
