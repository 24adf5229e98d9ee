//! A server that is started aside, once, to see whether it comes: with a host of its own that keeps nothing, and with values
//! for its secrets that are not kept yet.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use helve::{CallError, Host, HostEvent, SecretSource, ServerReport, StartStep};
use helve_config::trust::ServerTrust;
use helve_config::{Configuration, ConfiguredServer};
use helve_model::{LateSource, ServerSpec};
use helve_wire::BoxFuture;
use secrecy::SecretString;

use crate::error::SetupError;
use crate::recipe::{Lifetime, Recipe, Wanted};
use crate::secrets::Secrets;
use crate::setup::Setup;

/// What came of a trial.
#[derive(Debug)]
#[non_exhaustive]
pub struct Trial {
    /// How the server was doing in the end.
    pub report: ServerReport,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// It did not come within the time it had.
    pub is_late: bool,
}

impl Setup {
    /// Starts a server aside and ends it again. `given` are values for its secrets by name; the vault has the others. `heard`
    /// is told how far it is.
    ///
    /// # Errors
    /// `CONFIG` when it is not known which rules there are, or something is remembered that cannot be read.
    pub async fn try_server(
        &self,
        mut configuration: Configuration,
        mut server: ConfiguredServer,
        given: HashMap<String, SecretString>,
        time: Duration,
        heard: impl Fn(StartStep) + Send,
    ) -> Result<Option<Trial>, SetupError> {
        let name = server.name.clone();
        // Whoever has it tried has seen it.
        server.trust = ServerTrust::Own;
        server.disabled_by = None;
        if let Some(spec) = &mut server.spec {
            spec.enabled = true;
            spec.required = false;
            spec.startup_timeout = Some(time);
        }
        configuration.servers = vec![server];
        let only = [name.to_string()];
        let mut recipe = Recipe::new(self, &configuration, Wanted::Only(&only), Lifetime::Short)?;
        recipe.settings.schema_cache_ttl = None;
        recipe.set_secrets(Arc::new(Given { given, kept: Secrets::new(self) }));
        let host = recipe.builder().start().await?;
        let is_late = !settled(&host, time + time / 10, heard).await;
        let tools = host
            .snapshot()
            .server(name.as_str())
            .map(|entry| entry.all_tools().map(|tool| tool.name().tool.to_string()).collect());
        let report = host.server_status(name.as_str());
        host.shutdown().await;
        Ok(report.map(|report| Trial { report, tools: tools.unwrap_or_default(), is_late }))
    }
}

/// Waits until the server has come or failed, and tells meanwhile how far it is.
async fn settled(host: &Host, within: Duration, heard: impl Fn(StartStep) + Send) -> bool {
    let mut events = host.events();
    let mut settled = std::pin::pin!(host.settled(within));
    loop {
        tokio::select! {
            biased;
            event = events.next() => match event {
                Some(HostEvent::Starting { step, .. }) => heard(step),
                Some(_) => {}
                None => return settled.await,
            },
            settled = &mut settled => return settled,
        }
    }
}

/// The person's secrets, and values that they have given just now.
#[derive(Debug)]
struct Given {
    given: HashMap<String, SecretString>,
    kept: Secrets,
}

impl SecretSource for Given {
    fn value<'a>(&'a self, source: &'a LateSource) -> BoxFuture<'a, Result<SecretString, CallError>> {
        match source {
            LateSource::Secret(name) if self.given.contains_key(name) => {
                let value = self.given.get(name).cloned().unwrap_or_default();
                Box::pin(std::future::ready(Ok(value)))
            }
            _ => self.kept.value(source),
        }
    }

    fn own_values(&self, spec: &ServerSpec) -> Vec<SecretString> {
        self.kept.own_values(spec)
    }
}
