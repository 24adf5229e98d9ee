//! Which way a connection to a server takes: straight, or through a proxy that the person uses.

use std::fmt;
use std::sync::Arc;

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;

/// Reached straight, whatever the person's list says: a proxy elsewhere cannot know this machine's own servers.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// The proxies that a person uses, and for which hosts none. They come from the person's environment or settings, never from
/// a project.
#[derive(Clone)]
pub struct Proxies(Arc<Matcher>);

/// A proxy on the way to one origin.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) address: Uri,
    /// What it is told in `Proxy-Authorization`.
    pub(crate) authorization: Option<HeaderValue>,
}

impl Proxies {
    /// Through `http` for servers at `http://`, through `https` for those at `https://`, straight to the hosts of `none_for`:
    /// names (with all below them), addresses and ranges, separated by commas, as in `NO_PROXY`.
    #[must_use]
    pub fn new(http: Option<&str>, https: Option<&str>, none_for: Option<&str>) -> Self {
        let straight = none_for.map_or_else(|| THIS_MACHINE.to_owned(), |hosts| format!("{hosts},{THIS_MACHINE}"));
        let mut builder = Matcher::builder().no(straight);
        if let Some(http) = http.filter(|address| !address.is_empty()) {
            builder = builder.http(http.to_owned());
        }
        if let Some(https) = https.filter(|address| !address.is_empty()) {
            builder = builder.https(https.to_owned());
        }
        Self(Arc::new(builder.build()))
    }

    /// The rules themselves, for others that make connections on the person's behalf.
    #[must_use]
    pub fn matcher(&self) -> &Arc<Matcher> {
        &self.0
    }

    /// The proxy on the way to an origin; `None`: there is none.
    pub(crate) fn on_the_way_to(&self, origin: &Uri) -> Option<Proxy> {
        let found = self.0.intercept(origin)?;
        let authorization = found.basic_auth().map(|value| {
            let mut value = value.clone();
            value.set_sensitive(true);
            value
        });
        Some(Proxy { address: found.uri().clone(), authorization })
    }
}

impl Proxy {
    /// As it may be shown: without a name and a password.
    pub(crate) fn shown(&self) -> String {
        let host = self.address.host().unwrap_or_default();
        self.address.port_u16().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Proxies")
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Proxy").field("address", &self.shown()).finish_non_exhaustive()
    }
}
