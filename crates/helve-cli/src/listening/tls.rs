//! Whom a listener says it is: a certificate and its key, read once from two files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::failure::Failure;

/// No file with a certificate or a key is longer.
const LONGEST_FILE: u64 = 1 << 20;

/// Reads a certificate, with those it was signed by, and its key; both in PEM.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, Failure> {
    let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(&read(certificate)?).collect();
    let chain = chain.map_err(|error| not_pem(certificate, "certificate", &error))?;
    if chain.is_empty() {
        return Err(none_in(certificate, "certificate"));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| not_pem(key, "private key", &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let refused = |error: rustls::Error| {
        Failure::usage("the certificate and the key cannot be used together")
            .cause(&error)
            .hint("--tls-cert takes the certificate of --tls-key, with those that it was signed by")
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(refused)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(refused)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: &io::Error| Failure::file(error);
    let file = fs_err::File::open(path).map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, LONGEST_FILE), &mut bytes).map_err(|error| failed(&error))?;
    Ok(bytes)
}

fn not_pem(path: &Path, what: &str, error: &rustls::pki_types::pem::Error) -> Failure {
    if matches!(error, rustls::pki_types::pem::Error::NoItemsFound) {
        return none_in(path, what);
    }
    Failure::usage(format!("{} cannot be read as a {what}", path.display())).cause(error)
}

fn none_in(path: &Path, what: &str) -> Failure {
    let begins = what.to_uppercase();
    Failure::usage(format!("there is no {what} in {}", path.display()))
        .hint(format!("it is a file in PEM, with a line -----BEGIN {begins}-----"))
}
