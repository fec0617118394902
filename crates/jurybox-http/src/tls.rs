//! Encryption by option: a certificate and its key, from PEM files.

use crate::settings::Tls;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// What greets those who come encrypted. An error says which file, and what is wrong with it.
pub(crate) fn acceptor(tls: &Tls) -> io::Result<TlsAcceptor> {
    let refuse = |file: &Path, what: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {what}", file.display()))
    };
    let pem = |error: rustls::pki_types::pem::Error| error.to_string();
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(&tls.certificate).and_then(Iterator::collect);
    let chain = chain.map_err(|error| refuse(&tls.certificate, &pem(error)))?;
    if chain.is_empty() {
        return Err(refuse(&tls.certificate, &"there is no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| refuse(&tls.key, &pem(error)))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| refuse(&tls.certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
