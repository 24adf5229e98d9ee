//! What is said about `https:` addresses where TLS is not built in.

use std::error::Error as StdError;

use helve_model::ErrorCode;
use hyper_util::client::legacy::connect::HttpConnector;

use crate::error::{Error, Result};
use crate::transport::http::pool::Connector;
use crate::transport::http::proxy::Proxy;
use crate::transport::http::target::HttpTarget;

/// There is none.
pub(super) fn connector(target: &HttpTarget, _proxy: Option<&Proxy>, _tcp: HttpConnector) -> Result<Connector> {
    let message = format!("{} cannot be reached: this program was built without TLS", target.address());
    Err(Error::new(ErrorCode::Config, message).with_hint("build it with the feature `tls`"))
}

/// Nothing breaks over TLS here.
pub(super) fn error<'a>(_error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    None
}
