//! Everything that does not depend on a face: the host behind it, and how it is shown.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use helve::Host;
use helve_wire::plane::quoted;
use tokio::task::AbortHandle;

use crate::catalog::{Catalog, Catalogs};
use crate::limits::Limits;
use crate::naming::Naming;
use crate::news::{self, Listeners};

/// A host, shown as one MCP server. Faces hand it what agents ask.
pub struct Gateway {
    pub(crate) host: Host,
    pub(crate) options: Options,
    pub(crate) listeners: Listeners,
    catalogs: Catalogs,
    /// Who we say we are, as JSON.
    pub(crate) server_info: String,
    news: std::sync::OnceLock<AbortHandle>,
}

/// How a host is shown.
#[derive(Debug, Clone)]
pub struct Options {
    /// How tools and prompts are named.
    pub naming: Naming,
    /// How long the first list waits for servers that are still connecting. `None`: it does not; they are announced when
    /// they come.
    pub wait: Option<Duration>,
    /// What agents may cost.
    pub limits: Limits,
    /// The name and version we give.
    pub server: (String, String),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            naming: Naming::default(),
            wait: None,
            limits: Limits::default(),
            server: ("helve".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        }
    }
}

impl Gateway {
    /// Shows this host. Must be called within a runtime.
    #[must_use]
    pub fn new(host: Host, options: Options) -> Arc<Self> {
        let (name, version) = &options.server;
        let server_info = format!(r#"{{"name":{},"version":{}}}"#, quoted(name), quoted(version));
        let events = host.events();
        let gateway = Arc::new(Self {
            host,
            options,
            listeners: Listeners::default(),
            catalogs: Catalogs::default(),
            server_info,
            news: std::sync::OnceLock::new(),
        });
        let task = tokio::spawn(news::pass_on(Arc::downgrade(&gateway), events));
        gateway.news.get_or_init(|| task.abort_handle());
        gateway
    }

    /// What agents see now.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalogs.current(&self.host, &self.options.naming)
    }

    /// Waits for servers that are still connecting, if lists are to wait for them.
    pub(crate) async fn settle(&self) {
        if let Some(wait) = self.options.wait {
            self.host.settled(wait).await;
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(task) = self.news.get() {
            task.abort();
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Gateway")
            .field("host", &self.host)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
