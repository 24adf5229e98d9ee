//! How connections to `https:` addresses are made: which authorities are believed, and the way through a proxy.

use std::error::Error as StdError;
use std::sync::Arc;

use helve_model::ErrorCode;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use rustls::{ClientConfig, RootCertStore};

use crate::error::{Error, Result};
use crate::transport::http::pool::Connector;
use crate::transport::http::proxy::Proxy;
use crate::transport::http::target::HttpTarget;

/// A connector to the server, straight or through a proxy that only sees bytes.
pub(super) fn connector(target: &HttpTarget, proxy: Option<&Proxy>, tcp: HttpConnector) -> Result<Connector> {
    let tls = HttpsConnectorBuilder::new().with_tls_config(config(target)?).https_only().enable_http1();
    let Some(proxy) = proxy else { return Ok(Connector::Tls(Box::new(tls.wrap_connector(tcp)))) };
    let tunnel = Tunnel::new(proxy.address.clone(), tcp);
    let tunnel = match &proxy.authorization {
        Some(authorization) => tunnel.with_auth(authorization.clone()),
        None => tunnel,
    };
    Ok(Connector::Tunnel(Box::new(tls.wrap_connector(tunnel))))
}

/// What TLS has against a connection, where that is why it broke.
pub(super) fn error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    let error: &rustls::Error = error.downcast_ref()?;
    Some(error)
}

fn config(target: &HttpTarget) -> Result<ClientConfig> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    // A system's store may hold what no client of today understands.
    roots.add_parsable_certificates(target.system_certificates.iter().map(|der| der.as_slice().into()));
    for certificate in &target.certificates {
        roots
            .add(certificate.clone().into())
            .map_err(|error| Error::new(ErrorCode::Config, "a root certificate cannot be read").with_source(error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorCode::Config, "TLS is not available").with_source(error))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
