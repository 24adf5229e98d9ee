//! The authorities that this system trusts, for servers whose certificates no public authority signed: read at the first server
//! that is reached by `https:`.

use std::sync::LazyLock;

/// Certificates (DER). What cannot be read is told nobody: a server that needs it says so by its own error.
pub(crate) fn of_system() -> &'static [Vec<u8>] {
    static KNOWN: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::debug!(%error, "a certificate of the system cannot be read");
        }
        found.certs.into_iter().map(|certificate| certificate.as_ref().to_vec()).collect()
    });
    &KNOWN
}
