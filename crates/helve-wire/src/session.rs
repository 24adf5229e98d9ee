//! A connection to one server, ready to use: the same calls in either era.

mod call;
mod list;
mod subscribe;
mod task;
mod utility;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use helve_model::ErrorCode;
use helve_model::json::RawJson;
use helve_model::method::{self, Method, MethodPart, Need};
use helve_policy::{Clearance, MessageForm};
use secrecy::SecretString;
use tokio::sync::{Semaphore, watch};

use crate::channel::{Ask, Channel};
use crate::connect::{ConnectOptions, SavedSession};
use crate::encode::{Meta, Params};
use crate::era::param_headers::ParamHeader;
use crate::era::speech::Speech;
use crate::era::{Greeting, legacy, modern};
use crate::error::{Error, Result};
use crate::request::Times;
use helve_model::sync::lock;

pub use call::{CallOptions, Relayed};
pub use list::{CacheHint, CacheScope, Listing};
pub use subscribe::Changes;
pub use utility::{CompletionSubject, Diagnostics, LogLevel};

/// A session with one server. Cheap to share; dropping the last one ends the connection and the server's process.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
    /// Stops the task that listens, which shares the rest, with the last session.
    _owner: Arc<Owner>,
}

struct Owner(Arc<Shared>);

struct Shared {
    channel: Channel,
    greeting: Greeting,
    /// How what was agreed upon is spoken.
    speech: &'static dyn Speech,
    options: ConnectOptions,
    /// What the modern era demands in every request, rendered; empty in the legacy era.
    era_meta: Mutex<Arc<str>>,
    /// What the server is asked to log, in that metadata.
    log_level: Mutex<Option<LogLevel>>,
    /// That metadata as it was for the last call made in somebody else's name.
    own_meta: Mutex<Option<call::OwnMeta>>,
    /// Which arguments of which tool HTTP repeats in headers.
    param_headers: Mutex<HashMap<String, Arc<[ParamHeader]>>>,
    listening: Mutex<subscribe::Listening>,
    /// How often a server that had forgotten the session was greeted again, and whose turn it is to do so.
    renewals: AtomicU64,
    renewing: Semaphore,
    /// True once the last session is dropped: whatever else shares this must let go.
    released: watch::Sender<bool>,
}

impl Session {
    pub(crate) fn new(channel: Channel, greeting: Greeting, options: ConnectOptions) -> Self {
        let era_meta = render_meta(&greeting, &options, None);
        let shared = Arc::new(Shared {
            channel,
            speech: greeting.negotiated.era.speech(),
            greeting,
            options,
            era_meta: Mutex::new(era_meta),
            log_level: Mutex::default(),
            own_meta: Mutex::default(),
            param_headers: Mutex::default(),
            listening: Mutex::default(),
            renewals: AtomicU64::new(0),
            renewing: Semaphore::new(1),
            released: watch::Sender::new(false),
        });
        Self { _owner: Arc::new(Owner(Arc::clone(&shared))), shared }
    }

    /// What the server said about itself, and what was agreed upon.
    #[must_use]
    pub fn greeting(&self) -> &Greeting {
        &self.shared.greeting
    }

    /// Makes a request that needs no decision: one of the protocol's own that lists something, or belongs to the
    /// connection.
    ///
    /// # Errors
    /// `DENIED` for every other method. `tools/call`, `resources/read` and `prompts/get` have functions of their own, which
    /// take a [`helve_policy::Permit`]; the rest goes by [`Session::relay`]. Otherwise whatever the peer or the way to it
    /// does.
    pub async fn request(&self, method: &str, params: Option<&RawJson>, times: Times) -> Result<RawJson> {
        let is_open =
            |known: &Method| matches!(known.need, Need::Nothing | Need::Connection) && known.of == MethodPart::Core;
        if !method::request(method).is_some_and(is_open) {
            return Err(Error::new(ErrorCode::Denied, format!("`{method}` needs a permit or a clearance"))
                .with_hint("use the function that takes one"));
        }
        let params = params.map_or(Params::Members(&[]), Params::Raw);
        self.shared.ask(Ask { params, times, ..Ask::new(method, &[]) }).await
    }

    /// Passes a request of somebody else's on.
    ///
    /// # Errors
    /// `DENIED` when the clearance is for another server, or for a notification; otherwise whatever the peer or the way to
    /// it does.
    pub async fn relay(&self, clearance: &Clearance, times: Times) -> Result<RawJson> {
        self.shared.check(clearance, MessageForm::Request)?;
        let params = clearance.params().map_or(Params::Members(&[]), Params::Raw);
        self.shared.ask(Ask { params, times, ..Ask::new(clearance.method(), &[]) }).await
    }

    /// Passes a notification of somebody else's on. When the server has not read what waits for it, it is left out: see
    /// [`Diagnostics::dropped`].
    ///
    /// # Errors
    /// `DENIED` when the clearance is for another server, or for a request; otherwise when it can no longer be reached.
    pub async fn relay_notification(&self, clearance: &Clearance) -> Result<()> {
        self.shared.check(clearance, MessageForm::Notification)?;
        let params = clearance.params().map_or(Params::Members(&[]), Params::Raw);
        let era = self.shared.era_meta();
        self.shared.channel.notify(clearance.method(), params, Meta { era: &era, ..Meta::default() }).await
    }

    /// Tells the server something that needs no decision: a notification of the protocol's own that clients may send.
    ///
    /// # Errors
    /// `DENIED` for every other method: a server that does not look for an `id` would take one for a request. Otherwise
    /// when the server can no longer be reached.
    pub async fn notify(&self, method: &str, params: Option<&RawJson>) -> Result<()> {
        if method::client_notification(method).is_none_or(|known| known.need != Need::Nothing) {
            return Err(Error::new(
                ErrorCode::Denied,
                format!("`{method}` is not a notification that anybody may send"),
            ));
        }
        let params = params.map_or(Params::Members(&[]), Params::Raw);
        let era = self.shared.era_meta();
        self.shared.channel.notify(method, params, Meta { era: &era, ..Meta::default() }).await
    }

    /// True when the server may ask for things at any time; false when it asks in the course of calls alone.
    #[must_use]
    pub fn asks_at_any_time(&self) -> bool {
        self.shared.speech.asks_at_any_time()
    }

    /// Waits until the connection has ended, and says why. Cancel safe.
    pub async fn ended(&self) -> Error {
        self.shared.channel.dispatcher().ended().await
    }

    /// True when the connection has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.shared.channel.dispatcher().pending.is_closed()
    }

    /// The session at the server, to go on with in another process ([`ConnectOptions::resume`]): it is left open when this
    /// connection ends. `None` where there is none that could outlive the connection.
    #[must_use]
    pub fn suspend(&self) -> Option<SavedSession> {
        let id = self.shared.channel.link().leave_session_open()?;
        Some(SavedSession { id: SecretString::from(id), greeting: self.shared.greeting.clone() })
    }

    /// Ends the connection at once and without a word: all calls in flight fail, a program is killed.
    pub fn abandon(&self) {
        self.shared.stop_listening();
        self.shared.channel.link().abandon();
    }

    /// Ends the connection. A program is asked to end, then killed; when this returns it is gone.
    pub async fn close(&self) {
        self.shared.stop_listening();
        self.shared.channel.close().await;
    }

    fn set_log_level_in_meta(&self, level: LogLevel) {
        *lock(&self.shared.log_level) = Some(level);
        *lock(&self.shared.era_meta) = render_meta(&self.shared.greeting, &self.shared.options, Some(level.as_str()));
    }
}

impl Shared {
    /// Is the clearance for a message of this form to this server?
    fn check(&self, clearance: &Clearance, form: MessageForm) -> Result<()> {
        if clearance.server() == &self.options.server && clearance.form() == form {
            return Ok(());
        }
        let (server, ours) = (clearance.server(), &self.options.server);
        let problem = format!("the clearance is for a {} to {server}, not for a {form} to {ours}", clearance.form());
        Err(Error::new(ErrorCode::Denied, problem))
    }

    async fn ask(&self, mut ask: Ask<'_>) -> Result<RawJson> {
        let era = self.era_meta();
        if ask.era_meta.is_empty() {
            ask.era_meta = &era;
        }
        if !self.channel.link().has_session() {
            return self.channel.request(&mut ask).await;
        }
        let renewals = self.renewals.load(Ordering::Acquire);
        match self.channel.request(&mut ask.clone()).await {
            Err(error) if error.is_session_expired() => {
                Box::pin(self.renew(renewals, ask.times)).await?;
                if error.may_have_run() { Err(error) } else { Box::pin(self.channel.request(&mut ask)).await }
            }
            answer => answer,
        }
    }

    /// The server has forgotten us: one caller greets it again, the others wait for that.
    async fn renew(&self, seen: u64, times: Times) -> Result<()> {
        // The semaphore is never closed.
        let _turn = self.renewing.acquire().await;
        if self.renewals.load(Ordering::Acquire) != seen {
            return Ok(());
        }
        let version = &self.greeting.negotiated.version;
        drop(legacy::handshake(&self.channel, &self.options.client, version, times).await?);
        self.renewals.fetch_add(1, Ordering::Release);
        self.channel.dispatcher().handler().renewed();
        Ok(())
    }

    fn era_meta(&self) -> Arc<str> {
        Arc::clone(&lock(&self.era_meta))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.stop_listening();
        self.0.released.send_replace(true);
    }
}

fn render_meta(greeting: &Greeting, options: &ConnectOptions, log_level: Option<&str>) -> Arc<str> {
    let declared = modern::declared(options.handler.capabilities());
    let speech = greeting.negotiated.era.speech();
    speech.request_meta(&greeting.negotiated.version, &options.client, &declared, log_level).into()
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Session")
            .field("server", &self.shared.options.server)
            .field("negotiated", &self.shared.greeting.negotiated)
            .finish_non_exhaustive()
    }
}
