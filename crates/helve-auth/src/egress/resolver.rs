//! Names are resolved here and their addresses filtered before anything connects: a name that resolves to a forbidden
//! address, at whatever moment, leads nowhere.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use crate::egress::policy::{AddressClass, Policy};
use crate::ports::BoxFuture;

/// Turns names into addresses.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of a name.
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A resolver that forgets the addresses the policy does not allow.
#[derive(Clone)]
pub(super) struct Filtering {
    pub(super) policy: Arc<Policy>,
    pub(super) inner: Arc<dyn Resolve>,
}

/// A name that has only addresses that must not be asked.
#[derive(Debug)]
pub(super) struct NothingAllowed {
    pub(super) host: String,
    pub(super) class: AddressClass,
}

impl std::fmt::Display for NothingAllowed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} has no address that may be asked", self.host)
    }
}

impl std::error::Error for NothingAllowed {}

impl Service<Name> for Filtering {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let host = name.as_str().to_owned();
        let policy = Arc::clone(&self.policy);
        let found = self.inner.resolve(host.clone());
        Box::pin(async move {
            let found = found.await?;
            let allowed: Vec<SocketAddr> = found
                .iter()
                .filter(|address| policy.allows_address(&host, **address))
                .map(|address| SocketAddr::new(*address, 0))
                .collect();
            match (allowed.is_empty(), found.first()) {
                (true, Some(first)) => {
                    let class = AddressClass::of(*first);
                    Err(io::Error::new(io::ErrorKind::PermissionDenied, NothingAllowed { host, class }))
                }
                _ => Ok(allowed.into_iter()),
            }
        })
    }
}
