//! What servers offer besides tools: resources, resource templates and prompts, listed across servers, read and got.
//!
//! Whoever asks, asks the server. A server that does not answer costs the others nothing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use helve_model::json::RawJson;
use helve_model::{
    ErrorCode, Hint, PromptDefinition, PromptOutcome, ResourceDefinition, ResourceTemplateDefinition, ServerName,
    ServerStatus,
};
use helve_policy::{CalledBy, Caller, Subject};
use helve_wire::{BoxFuture, CompletionSubject, Listing, LogLevel, Result as WireResult, Session, Times};
use tokio::time::Instant;

use crate::call::{CallContext, ResourceOutcome, reading};
use crate::error::CallError;
use crate::host::Host;
use crate::server_handle::ServerHandle;

/// What several servers offer, and why some of them did not answer.
#[derive(Debug)]
pub struct Offers<D> {
    /// What is offered, by server and in each server's order.
    pub items: Vec<Offered<D>>,
    /// Servers that could not be asked.
    pub errors: Vec<CallError>,
    /// Items that had to be left out, each a line with its server's name.
    pub warnings: Vec<String>,
    /// How long the lists of servers that say so count.
    pub count_for: Vec<(ServerName, Duration)>,
    /// What servers said with their lists besides the items, each as an object: `_meta`, and whatever is not known here.
    pub more: Vec<(ServerName, RawJson)>,
}

/// One thing that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered<D> {
    /// The server that offers it.
    pub server: ServerName,
    /// What it is.
    pub definition: D,
}

impl Host {
    /// The resources of one server, or of all.
    ///
    /// # Errors
    /// `SERVER_NOT_FOUND` when there is no server of that name. Servers that do not answer are in [`Offers::errors`].
    pub async fn resources(&self, server: Option<&str>) -> Result<Offers<ResourceDefinition>, CallError> {
        self.offers(server, "resources", |session, times| Box::pin(async move { session.list_resources(times).await }))
            .await
    }

    /// The resource templates of one server, or of all.
    ///
    /// # Errors
    /// As [`Host::resources`].
    pub async fn resource_templates(
        &self,
        server: Option<&str>,
    ) -> Result<Offers<ResourceTemplateDefinition>, CallError> {
        self.offers(server, "resources", |session, times| {
            Box::pin(async move { session.list_resource_templates(times).await })
        })
        .await
    }

    /// The prompts of one server, or of all.
    ///
    /// # Errors
    /// As [`Host::resources`].
    pub async fn prompts(&self, server: Option<&str>) -> Result<Offers<PromptDefinition>, CallError> {
        self.offers(server, "prompts", |session, times| Box::pin(async move { session.list_prompts(times).await }))
            .await
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// `RESOURCE_NOT_FOUND` when the server does not know it; otherwise as [`Host::call`].
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
        context: &CallContext,
    ) -> Result<ResourceOutcome, CallError> {
        let handle = self.handle_of(server)?;
        reading::read_resource(self.shared(), &handle, uri, context).await
    }

    /// Gets a prompt, its arguments checked.
    ///
    /// # Errors
    /// `PROMPT_NOT_FOUND` with what there is, `INVALID_PARAMS`; otherwise as [`Host::call`].
    pub async fn get_prompt(
        &self,
        server: &str,
        prompt: &str,
        arguments: impl Into<RawJson>,
        context: &CallContext,
    ) -> Result<PromptOutcome, CallError> {
        let handle = self.handle_of(server)?;
        reading::get_prompt(self.shared(), &handle, prompt, arguments.into(), context).await
    }

    /// What could stand in an argument of a prompt, or in a variable of a resource template, that begins with `value`;
    /// `known` has those chosen before.
    ///
    /// # Errors
    /// When the server does not offer completion, or refuses.
    pub async fn complete(
        &self,
        server: &str,
        subject: CompletionSubject<'_>,
        argument: &str,
        value: &str,
        known: Option<&RawJson>,
    ) -> Result<Vec<String>, CallError> {
        let handle = self.handle_of(server)?;
        let times = self.times(&handle);
        let session = handle.session(Instant::now() + times.idle).await?;
        let answer = session.complete(subject, argument, value, known, times).await;
        let answer = answer.map_err(|error| CallError::from_wire(error, handle.server()))?;
        let values = answer.member("completion").and_then(|completion| completion.member("values"));
        Ok(values.and_then(|values| values.parse().ok()).unwrap_or_default())
    }

    /// Asks a server for log messages from this level on, for as long as the connection lives.
    ///
    /// # Errors
    /// When the server refuses, or logs nothing.
    pub async fn set_log_level(&self, server: &str, level: LogLevel) -> Result<(), CallError> {
        let handle = self.handle_of(server)?;
        let times = self.times(&handle);
        let session = handle.session(Instant::now() + times.idle).await?;
        if !session.greeting().offers("logging") {
            let message = format!("the server `{server}` sends no log messages");
            return Err(CallError::new(ErrorCode::ProtocolError, message)
                .at_server(handle.server())
                .with_hint(Hint::ShowServer { server: handle.server().clone() }));
        }
        session.set_log_level(level, times).await.map_err(|error| CallError::from_wire(error, handle.server()))
    }

    /// False when a rule forbids this caller to read a resource.
    #[must_use]
    pub fn may_read<'a>(&self, server: &ServerName, uri: &str, party: impl Into<CalledBy<'a>>) -> bool {
        self.may(Subject::resource(server, uri), party.into())
    }

    /// False when a rule forbids this caller to get a prompt, whatever its arguments.
    #[must_use]
    pub fn may_get_prompt<'a>(&self, server: &ServerName, prompt: &str, party: impl Into<CalledBy<'a>>) -> bool {
        self.may(Subject::unknown_prompt(server, prompt), party.into())
    }

    /// False when a rule forbids everybody to read a resource.
    #[must_use]
    pub fn anybody_may_read(&self, server: &ServerName, uri: &str) -> bool {
        self.anybody_may(Subject::resource(server, uri))
    }

    /// False when a rule forbids everybody to get a prompt, whatever its arguments.
    #[must_use]
    pub fn anybody_may_get_prompt(&self, server: &ServerName, prompt: &str) -> bool {
        self.anybody_may(Subject::unknown_prompt(server, prompt))
    }

    /// True when some rule is for some callers only: what one sees is not what all see.
    #[must_use]
    pub fn differs_by_caller(&self) -> bool {
        self.shared().rule_set().is_some_and(|rules| rules.differ_by_caller())
    }

    fn anybody_may(&self, subject: Subject) -> bool {
        let Some(rules) = self.shared().rule_set() else { return false };
        !rules.for_tool(subject).denies_everybody()
    }

    fn may(&self, subject: Subject, party: CalledBy<'_>) -> bool {
        let Some(rules) = self.shared().rule_set() else { return false };
        !rules.for_tool(subject).denies(party)
    }

    /// Asks every server for log messages from this level on: those that are connected now, and all others as soon as
    /// they are. A server that does not care logs as before.
    pub async fn want_log_level(&self, level: LogLevel) {
        self.shared().want_log_level(level);
        let told = self.shared().handles().into_iter().filter_map(|handle| {
            let session = handle.session_now().filter(|session| session.greeting().offers("logging"))?;
            let times = self.times(&handle);
            Some(async move { session.set_log_level(level, times).await })
        });
        drop(join_all(told).await);
    }

    async fn offers<D>(
        &self,
        server: Option<&str>,
        capability: &str,
        list: impl Fn(Arc<Session>, Times) -> BoxFuture<'static, WireResult<Listing<D>>>,
    ) -> Result<Offers<D>, CallError> {
        let handles = match server {
            Some(name) => self.shared().handle(name)?.into_iter().collect(),
            None => self.links_to_ask(),
        };
        let listings = join_all(handles.iter().map(|handle| {
            let (list, times) = (&list, self.times(handle));
            async move {
                let session = handle.session(Instant::now() + times.idle).await?;
                if !session.greeting().offers(capability) {
                    return Ok(None);
                }
                let listing = list(session, times).await;
                listing.map(Some).map_err(|error| CallError::from_wire(error, handle.server()))
            }
        }))
        .await;
        let mut offers = Offers {
            items: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            count_for: Vec::new(),
            more: Vec::new(),
        };
        for (handle, listing) in handles.iter().zip(listings) {
            match listing {
                Ok(None) => {}
                Ok(Some(listing)) => offers.add(handle.server(), listing),
                Err(error) => offers.errors.push(error),
            }
        }
        Ok(offers)
    }

    /// Everybody who can be asked: who is switched off is not.
    fn links_to_ask(&self) -> Vec<Arc<ServerHandle>> {
        let handles = self.shared().handles().into_iter();
        handles.filter(|handle| !matches!(handle.status(), ServerStatus::Disabled(_))).collect()
    }

    pub(crate) fn times(&self, handle: &ServerHandle) -> Times {
        let idle = reading::timeout(self.shared(), handle, &CallContext::new(Caller::Script));
        Times { idle, total: self.shared().settings.call_total.max(idle) }
    }
}

impl<D> Offers<D> {
    fn add(&mut self, server: &ServerName, listing: Listing<D>) {
        self.warnings.extend(listing.warnings.iter().map(|warning| format!("{server}: {warning}")));
        if let Some(error) = listing.incomplete {
            self.errors.push(CallError::from_wire(error, server));
        }
        let count_for = listing.cache.map(|cache| Duration::from_millis(cache.ttl_ms));
        self.count_for.extend(count_for.map(|count_for| (server.clone(), count_for)));
        self.more.extend(listing.more.map(|more| (server.clone(), more)));
        let offered = listing.items.into_iter();
        self.items.extend(offered.map(|definition| Offered { server: server.clone(), definition }));
    }
}
