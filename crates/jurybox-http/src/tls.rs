//! TLS: a certificate and its key from PEM files, renewable while the server runs.

use crate::settings::Tls;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// The certificate of a server. When renewed, open connections keep the old one.
#[derive(Clone)]
pub struct TlsCertificate {
    files: Tls,
    current: Arc<RwLock<TlsAcceptor>>,
}

impl TlsCertificate {
    pub(crate) fn read(files: &Tls) -> io::Result<Self> {
        Ok(TlsCertificate { files: files.clone(), current: Arc::new(RwLock::new(acceptor(files)?)) })
    }

    /// Reads the files again. If that fails, the current certificate stays.
    pub fn renew(&self) -> io::Result<()> {
        let new = acceptor(&self.files)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    pub(crate) fn current(&self) -> TlsAcceptor {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads the files into a TLS acceptor.
///
/// # Errors
/// If a file cannot be read, or the two do not fit; the error names a file and the problem.
fn acceptor(tls: &Tls) -> io::Result<TlsAcceptor> {
    let refuse = |file: &Path, what: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {what}", file.display()))
    };
    let pem = |error: rustls::pki_types::pem::Error| error.to_string();
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(&tls.certificate).and_then(Iterator::collect);
    let chain = chain.map_err(|error| refuse(&tls.certificate, &pem(error)))?;
    if chain.is_empty() {
        return Err(refuse(&tls.certificate, &"it contains no certificate"));
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| refuse(&tls.key, &pem(error)))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| refuse(&tls.certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
