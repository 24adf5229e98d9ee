//! Which way a connection takes: straight, to an address that the policy allows, or through a proxy of the person's.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::egress::resolver::Filtering;

type BoxError = Box<dyn StdError + Send + Sync>;

/// Makes connections.
#[derive(Clone)]
pub(crate) struct Route {
    straight: HttpConnector<Filtering>,
    to_proxy: HttpConnector,
    proxies: Option<Arc<Matcher>>,
}

impl Route {
    pub(crate) fn new(straight: HttpConnector<Filtering>, proxies: Option<Arc<Matcher>>, time: Duration) -> Self {
        let mut to_proxy = HttpConnector::new();
        to_proxy.set_nodelay(true);
        to_proxy.set_connect_timeout(Some(time));
        Self { straight, to_proxy, proxies }
    }
}

impl Service<Uri> for Route {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // Both connectors are ready at any time.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        // What is not encrypted is on this machine, where no proxy is asked.
        let is_encrypted = address.scheme_str() == Some("https");
        let proxy = self.proxies.as_ref().filter(|_| is_encrypted).and_then(|proxies| proxies.intercept(&address));
        match proxy {
            Some(proxy) => {
                let tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy.clone());
                let mut tunnel = match proxy.basic_auth() {
                    Some(authorization) => tunnel.with_auth(authorization.clone()),
                    None => tunnel,
                };
                Box::pin(async move { tunnel.call(address).await.map_err(Into::into) })
            }
            None => {
                let connecting = self.straight.call(address);
                Box::pin(async move { connecting.await.map_err(Into::into) })
            }
        }
    }
}
