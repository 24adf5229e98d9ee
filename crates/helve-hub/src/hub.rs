//! The hub: everything that page, API and command line share, handed in once.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use helve::{Host, HostEvent};
use helve_model::json::RawJson;
use helve_model::{Definition as _, ServerName};
use helve_serve::Gateway;
use helve_serve::face::http::HttpFace;
use helve_setup::Setup;
use helve_store::{Moment, Retention, Seen, Store};

use crate::applied_edits::AppliedEdits;
use crate::approval_queue::ApprovalQueue;
use crate::bodies::BodySeal;
use crate::devices::Devices;
use crate::error::HubError;
use crate::feed::Feeds;
use crate::live::Live;
use crate::masks::Masks;
use crate::metrics::Metrics;
use crate::sessions::Sessions;
use crate::tokens::Tokens;
use crate::verbs::sign_in::Logins;
use crate::verbs::tools::Tries;
use crate::verbs::trials::Trials;

/// How often old calls are deleted, and uses of tokens are put down.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Definitions longer than this are not kept for comparison.
const LONGEST_DEFINITION: usize = 64 << 10;

/// Whether programs can be added, changed and tested here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Programs {
    /// A person at the page can.
    Allowed,
    /// Nobody can.
    Refused,
}

/// What a hub is told about itself.
#[derive(Debug, Clone)]
pub struct HubOptions {
    /// Its address as people know it: `http://127.0.0.1:7333`.
    pub address: String,
    /// Whether it is reached by https, by itself or through a proxy.
    pub is_secure: bool,
    /// The user of this machine whose hub it is, where the machine's word about who connects counts.
    pub owner: Option<u32>,
    /// Whether programs can be added, changed and tested.
    pub programs: Programs,
    /// How long calls are kept.
    pub retention: Retention,
    /// The program's version.
    pub version: String,
}

/// The hub.
pub struct Hub {
    pub(crate) options: HubOptions,
    pub(crate) store: Arc<Store>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) live: Arc<Live>,
    pub(crate) sessions: Sessions,
    pub(crate) masks: Masks,
    pub(crate) logins: Logins,
    pub(crate) tries: Tries,
    pub(crate) trials: Trials,
    pub(crate) edits: AppliedEdits,
    pub(crate) feeds: Feeds,
    pub(crate) devices: Devices,
    pub(crate) setup: Arc<Setup>,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) face: Arc<HttpFace>,
    pub(crate) approvals: Arc<ApprovalQueue>,
    /// Opens what was kept of calls.
    pub(crate) seal: Arc<BodySeal>,
    clock: fn() -> SystemTime,
    pub(crate) started: Moment,
}

impl Hub {
    /// A hub of these parts.
    #[expect(clippy::too_many_arguments, reason = "each is made by whoever starts the hub, once")]
    #[must_use]
    pub fn new(
        options: HubOptions,
        store: Arc<Store>,
        tokens: Arc<Tokens>,
        metrics: Arc<Metrics>,
        live: Arc<Live>,
        setup: Arc<Setup>,
        gateway: Arc<Gateway>,
        face: Arc<HttpFace>,
        approvals: Arc<ApprovalQueue>,
        clock: fn() -> SystemTime,
    ) -> Arc<Self> {
        let started = Moment::from(clock());
        // A machine without random numbers gives no link either, so that nobody ever sees a mark made of this.
        let mut key = [0; 32];
        if let Err(error) = getrandom::fill(&mut key) {
            tracing::error!(%error, "the machine gives no random numbers");
        }
        let seal = Arc::new(BodySeal::new(Arc::clone(&setup)));
        Arc::new(Self {
            options,
            store,
            tokens,
            metrics,
            live,
            sessions: Sessions::default(),
            masks: Masks::new(key),
            logins: Logins::default(),
            tries: Tries::default(),
            trials: Trials::default(),
            edits: AppliedEdits::default(),
            setup,
            gateway,
            face,
            approvals,
            feeds: Feeds::default(),
            devices: Devices::default(),
            seal,
            clock,
            started,
        })
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Moment {
        Moment::from((self.clock)())
    }

    pub(crate) fn host(&self) -> &Host {
        self.gateway.host()
    }

    /// A link that signs a person in, once and soon.
    ///
    /// # Errors
    /// The machine gives no random numbers.
    pub fn link(&self) -> Result<String, HubError> {
        let secret = self.sessions.link(self.now())?;
        Ok(format!("{}/sign-in/{secret}", self.options.address))
    }

    /// Its address as people know it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.options.address
    }

    /// Reads from the store on a thread of its own kind: a disk that is slow delays nobody else.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, HubError> + Send + 'static,
    ) -> Result<T, HubError> {
        let hub = Arc::clone(self);
        match tokio::task::spawn_blocking(move || work(&hub)).await {
            Ok(result) => result,
            Err(_) => Err(HubError::failed("the work broke off")),
        }
    }

    /// Waits until a file was edited here since this was asked last: whoever follows the files looks at them then.
    pub async fn edited(&self) {
        self.edits.next().await;
    }

    /// Follows the files once: what they say counts when `look` has ended. Pages wait for it after an edit.
    pub async fn follow<T>(&self, look: impl Future<Output = T>) -> T {
        let number = self.edits.begin();
        let seen = look.await;
        self.edits.end(number);
        seen
    }

    /// Looks after the store, and tells live pages what changes; for ever. In the runtime of the page.
    pub async fn look_after(self: Arc<Self>) {
        let mut events = self.host().changes();
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        let mut seen = 0;
        loop {
            tokio::select! {
                event = events.next() => match event.inspect(|event| self.feeds.heard(event)) {
                    Some(HostEvent::Catalog { generation }) => {
                        if generation != std::mem::replace(&mut seen, generation) {
                            self.live.touch();
                            let hub = Arc::clone(&self);
                            drop(tokio::task::spawn_blocking(move || hub.see_definitions()).await);
                        }
                    }
                    Some(HostEvent::Status { .. } | HostEvent::Lost(_)) => self.live.touch(),
                    Some(_) => {}
                    None => return,
                },
                _ = sweep.tick() => {
                    let hub = Arc::clone(&self);
                    drop(tokio::task::spawn_blocking(move || hub.sweep()).await);
                }
            }
        }
    }

    /// Notes the definitions that servers give now.
    fn see_definitions(&self) {
        let snapshot = self.host().snapshot();
        let seen = snapshot.tools().filter(|tool| !tool.is_from_cache()).filter_map(|tool| {
            let text = tool.definition().raw();
            let hash = helve_policy::pin::DefinitionHash::of(text.as_str());
            (text.as_str().len() <= LONGEST_DEFINITION).then(|| Seen {
                server: tool.name().server.to_string(),
                tool: tool.name().tool.to_string(),
                hash: hash.to_string(),
                text: text.as_str().to_owned(),
            })
        });
        if let Err(error) = self.store.see_definitions(seen.collect(), self.now()) {
            tracing::warn!(%error, "definitions could not be noted");
        }
    }

    fn sweep(&self) {
        self.tokens.note_used(&self.store);
        if let Err(error) = self.approvals.sweep() {
            tracing::warn!(%error, "old approvals could not be ended");
        }
        self.devices.note(&self.store);
        loop {
            match self.store.sweep(self.options.retention, self.now()) {
                Ok(swept) if swept.is_unfinished => {}
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(%error, "old calls could not be deleted");
                    return;
                }
            }
        }
    }

    /// A server by name.
    pub(crate) fn server_name(&self, name: &str) -> Result<ServerName, HubError> {
        let snapshot = self.host().snapshot();
        match snapshot.server(name) {
            Some(entry) => Ok(entry.name().clone()),
            None => Err(HubError::not_found(format!("there is no server {name:?}"))),
        }
    }
}

/// What a definition costs a model, in tokens: four characters are one, as near as makes no difference.
pub(crate) fn definition_tokens(definition: &RawJson) -> u64 {
    (definition.as_str().len() / 4) as u64
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Hub").field("options", &self.options).finish_non_exhaustive()
    }
}
