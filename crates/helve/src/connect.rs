//! From a server's spec to a session, and what a person is told when there is none.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ffi::OsString;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_model::name::PlaceName;
use helve_model::{ConfigText, ErrorCode, Hint, HttpSpec, SecretSet, ServerKey, ServerSpec, StdioSpec, TransportSpec};
#[cfg(sandbox)]
use helve_wire::launch::SandboxedLauncher;
use helve_wire::launch::{Launched, Launcher, ServerCommand, child_environment};
use helve_wire::{
    ConnectOptions, EraPreference, NegotiatedVersion, PeerHandler, ProtocolChoice, SavedSession, Session, connect_stdio,
};
#[cfg(feature = "http")]
use helve_wire::{HttpTarget, connect_http};
#[cfg(feature = "http")]
use secrecy::SecretString;
use tokio::sync::oneshot;

use crate::confine;
use crate::error::CallError;
use crate::event::StartStep;
use crate::handler::ServerHandler;
use crate::late_references::fill_and_hide;
use crate::missed_variables;
use crate::settings::{HostSettings, Surroundings};
use crate::start_guard::SharedStartGuard;
use helve_model::sync::lock;

/// What an earlier connection found out, and what is wanted of the next.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) negotiated: Option<NegotiatedVersion>,
    /// In which era the server is to be spoken to if it has both.
    pub(crate) preference: EraPreference,
    /// An HTTP session that may still be valid.
    pub(crate) session: Option<SavedSession>,
}

/// Kept by all that was started for an attempt: when the last has let go of it, the receiver hears of it.
pub(crate) type Alive = Arc<oneshot::Sender<Infallible>>;

/// A launcher whose processes keep `alive` until they are gone, and that tells of each.
#[derive(Debug)]
struct Guarding<'launcher> {
    launcher: &'launcher dyn Launcher,
    alive: Alive,
    /// Hears that a process was started.
    handler: Option<&'launcher ServerHandler>,
}

impl Launcher for Guarding<'_> {
    fn launch(&self, command: &ServerCommand) -> helve_wire::Result<Launched> {
        let launched = self.launcher.launch(command)?;
        launched.process.keep_until_gone(Arc::clone(&self.alive));
        if let Some(handler) = self.handler {
            handler.started(|| StartStep::Launched);
        }
        Ok(launched)
    }

    fn confines(&self) -> bool {
        self.launcher.confines()
    }
}

/// Makes one attempt to connect. What is started for it keeps `alive`.
pub(crate) async fn connect(
    spec: &ServerSpec,
    settings: &HostSettings,
    surroundings: &Surroundings,
    handler: &Arc<ServerHandler>,
    known: Known,
    alive: Alive,
    guard: Option<SharedStartGuard>,
) -> Result<Session, CallError> {
    let mut options = ConnectOptions::new(spec.name.clone());
    options.client = settings.client.clone();
    options.handler = Arc::clone(handler) as Arc<dyn PeerHandler>;
    options.limits = settings.limits.clone();
    options.resume = known.session;
    options.protocol = match &spec.protocol_version {
        Some(version) => ProtocolChoice::Pinned(version.clone()),
        None => ProtocolChoice::new(known.negotiated.clone(), known.preference),
    };
    options.startup = startup_time(spec, settings);
    options.one_at_a_time = spec.one_at_a_time;
    options.close_times = settings.close_times;
    let hidden = Arc::new(SecretSet::new());
    let filled = fill_and_hide(spec, surroundings.secrets.as_deref(), &hidden).await?;
    let spec = filled.as_ref().unwrap_or(spec);
    if let Some(known) = &surroundings.known_secrets {
        known.add_all(&hidden);
    }
    // A server that has no secrets is heard as it is.
    options.secrets = (!hidden.is_empty()).then(|| Arc::clone(&hidden));
    options.leaves_results = spec.leaves_results;
    let session = match &spec.transport {
        TransportSpec::Stdio(stdio) => {
            if let Some(session) = borrowed(spec, stdio, surroundings, &options, &alive).await {
                return Ok(session);
            }
            let begun = match &guard {
                Some(guard) => Some(guard.begin_start(&spec.name).await?),
                None => None,
            };
            let mut command = command(spec, stdio, surroundings);
            command.is_private = stdio
                .arguments
                .iter()
                .any(|text| text.is_expanded() || matches!(hidden.hide(text.expose()), Cow::Owned(_)));
            command.executable = begun.as_ref().and_then(|start| start.executable());
            // Not for the entry to say: a server that leads back here must not seem to be the first.
            for (name, value) in surroundings.nesting.variables(stdio.written()) {
                command.environment.set(name, value);
            }
            let launcher = Guarding { launcher: surroundings.launcher.as_ref(), alive, handler: Some(handler) };
            #[cfg(sandbox)]
            let sandbox = confine::of_spec(spec, stdio, surroundings)?.map(Arc::new);
            #[cfg(sandbox)]
            if let (Some(begun), Some(_)) = (&begun, &sandbox) {
                command.sealed = begun.copies(&spec.name).await?;
            }
            #[cfg(sandbox)]
            let connected = match &sandbox {
                Some(sandbox) => {
                    let launcher = SandboxedLauncher::new(&launcher, Arc::clone(sandbox));
                    connect_stdio(&launcher, &command, options).await
                }
                None => connect_stdio(&launcher, &command, options).await,
            };
            #[cfg(not(sandbox))]
            let connected = {
                confine::refuse(spec)?;
                connect_stdio(&launcher, &command, options).await
            };
            // The server has answered its greeting and has been told nothing else. Either it is known by now what it read
            // of its files, or it is ended.
            if let Some(begun) = begun
                && let Err(error) = begun.check_again(&spec.name).await
            {
                if let Ok(session) = connected {
                    session.abandon();
                }
                return Err(error);
            }
            let as_written = |error: helve_wire::Error| error.reworded(|text| as_written(text, &stdio.command));
            let explained = |error| {
                let error = CallError::from_wire(as_written(error), &spec.name);
                slow_to_start(missed_variables::explain(error, spec, surroundings), spec, settings)
            };
            #[cfg(sandbox)]
            let explained = |error: helve_wire::Error| match &sandbox {
                Some(sandbox) => {
                    let words = format!("{error} {}", error.hints().join("\n"));
                    let hints = confine::hints(&words, sandbox, &command, spec);
                    let refusal = confine::refusal(&error);
                    let ours = confine::explain(explained(error), refusal, spec);
                    hints.into_iter().fold(ours, |error, hint| error.with_hint(hint))
                }
                None => explained(error),
            };
            connected.map_err(explained)?
        }
        // Kept apart: it is the larger one by far, and nobody who starts programs shall hold room for it.
        #[cfg(feature = "http")]
        TransportSpec::Http(http) => {
            Box::pin(connect_over_http(spec, http, settings, surroundings, options, hidden)).await?
        }
        #[cfg(not(feature = "http"))]
        TransportSpec::Http(http) => {
            let message = format!("{} cannot be reached: this program was built without HTTP", http.url.written());
            let error = CallError::new(ErrorCode::Config, message).at_server(&spec.name);
            return Err(error.with_hint("build it with the features `http` and `tls`"));
        }
        TransportSpec::Builtin(builtin) => {
            return Err(CallError::new(
                ErrorCode::Config,
                format!("the built-in tools `{}` of the server `{}` cannot be connected to", builtin.kind, spec.name),
            )
            .at_server(&spec.name));
        }
    };
    Ok(session)
}

/// Makes one attempt to connect to a server at an address.
#[cfg(feature = "http")]
#[cfg_attr(not(feature = "tls"), expect(unused_mut, unused_variables, reason = "for what tells of signing in"))]
async fn connect_over_http(
    spec: &ServerSpec,
    http: &HttpSpec,
    settings: &HostSettings,
    surroundings: &Surroundings,
    mut options: ConnectOptions,
    hidden: Arc<SecretSet>,
) -> Result<Session, CallError> {
    let as_written = |error: helve_wire::Error| error.reworded(|text| as_written(text, &http.url));
    let target = target(http).map_err(|error| CallError::from_wire(as_written(error), &spec.name))?;
    let mut target = target.with_nesting(surroundings.nesting.clone());
    if http.url.expose().starts_with("https:") {
        target = target.with_system_certificates((surroundings.certificates)());
    }
    if let Some(proxies) = &surroundings.proxies {
        target = target.with_proxies(proxies.clone());
    }
    #[cfg(feature = "tls")]
    if let Some(sign_ins) = &surroundings.sign_ins
        && let Some(headers) = sign_ins.headers(spec, &hidden)?
    {
        target = target.with_header_source(headers);
        // Its tokens come and go while it is connected.
        options.secrets = Some(hidden);
    }
    let connected = connect_http(&target, http.flavour, options).await;
    connected.map_err(|error| slow_to_start(explain_http(as_written(error), spec, http), spec, settings))
}

/// A session with a program that somebody else keeps. It was started from what was trusted, by whoever keeps it; where nothing
/// comes of it, the program is started here as usual.
async fn borrowed(
    spec: &ServerSpec,
    stdio: &StdioSpec,
    surroundings: &Surroundings,
    options: &ConnectOptions,
    alive: &Alive,
) -> Option<Session> {
    let kept = surroundings.keeper.as_ref()?.borrow(spec).await?;
    let kept = Kept(Mutex::new(Some(kept)));
    let launcher = Guarding { launcher: &kept, alive: Arc::clone(alive), handler: None };
    match connect_stdio(&launcher, &command(spec, stdio, surroundings), options.clone()).await {
        Ok(session) => Some(session),
        Err(error) => {
            tracing::debug!(server = %spec.name, %error, "the one that is kept cannot be used: another one is started");
            None
        }
    }
}

/// A program that runs already, in place of the first one that is to be started.
#[derive(Debug)]
struct Kept(Mutex<Option<Launched>>);

impl Launcher for Kept {
    fn launch(&self, _command: &ServerCommand) -> helve_wire::Result<Launched> {
        let kept = lock(&self.0).take();
        kept.ok_or_else(|| helve_wire::Error::new(ErrorCode::TransportError, "what was kept has ended"))
    }
}

/// How long a server may take to start.
pub(crate) fn startup_time(spec: &ServerSpec, settings: &HostSettings) -> Duration {
    spec.startup_timeout.unwrap_or(settings.startup_timeout)
}

pub(crate) fn command(spec: &ServerSpec, stdio: &StdioSpec, surroundings: &Surroundings) -> ServerCommand {
    let named = stdio.environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value.expose())));
    let parent = surroundings.environment.iter().cloned();
    // Told to inherit, everything counts as named; what the spec itself names comes last and wins.
    let environment = if spec.inherit_environment {
        child_environment([], parent.chain(named))
    } else {
        child_environment(parent, named)
    };
    ServerCommand {
        program: stdio.command.expose().into(),
        args: stdio.arguments.iter().map(|argument| argument.expose().into()).collect(),
        working_directory: stdio.working_directory.clone(),
        environment,
        ..ServerCommand::default()
    }
}

/// What a configuration filled in is shown as it is written there: it may be a secret.
fn as_written(text: &str, configured: &ConfigText) -> String {
    let value = configured.expose();
    if value.is_empty() || value == configured.written() {
        text.to_owned()
    } else {
        text.replace(value, configured.written())
    }
}

#[cfg(feature = "http")]
fn target(http: &HttpSpec) -> helve_wire::Result<HttpTarget> {
    let target = HttpTarget::new(http.url.expose())?;
    http.headers.iter().try_fold(target, |target, (name, value)| {
        target.with_header(name, &SecretString::from(value.expose().to_owned()))
    })
}

/// A server that refused: which variable its credentials came from is known here.
#[cfg(feature = "http")]
fn explain_http(error: helve_wire::Error, spec: &ServerSpec, http: &HttpSpec) -> CallError {
    let refused = error.code() == ErrorCode::AuthRequired;
    if let Some(hint) = hub_hint(spec, &error) {
        return CallError::from_wire(error, &spec.name).with_hint(hint);
    }
    let by_sign_in = login_hint(&error, spec);
    let ours = CallError::from_wire(error, &spec.name);
    match by_sign_in {
        Some(hint) => hint.into_iter().fold(ours, CallError::with_hint),
        None if refused => ours.with_hint(credentials_hint(spec, http)),
        None => ours,
    }
}

/// What to do about an error of signing in; `None` when it is not one, and no hint when signing in does not help.
pub(crate) fn login_hint(error: &helve_wire::Error, spec: &ServerSpec) -> Option<Option<Hint>> {
    let helps = login_helps(error)?;
    Some(helps.then(|| Hint::SignIn { server: spec.name.clone() }))
}

/// Whether a login mends an error of signing in; `None` when it is not one.
#[cfg(feature = "tls")]
pub(crate) fn login_helps(error: &helve_wire::Error) -> Option<bool> {
    let cause = std::error::Error::source(error)?.downcast_ref::<helve_auth::AuthError>()?;
    Some(*cause.kind() == helve_auth::ErrorKind::LoginRequired)
}

/// Nobody signs in without TLS.
#[cfg(not(feature = "tls"))]
pub(crate) const fn login_helps(_error: &helve_wire::Error) -> Option<bool> {
    None
}

/// What to do about a server of a hub that cannot be reached or refuses: both are about the hub.
pub(crate) fn hub_hint(spec: &ServerSpec, error: &helve_wire::Error) -> Option<Hint> {
    let place = PlaceName::new(spec.name.place()?).ok()?;
    match error.code() {
        ErrorCode::AuthRequired => Some(Hint::JoinAgain { place }),
        ErrorCode::TransportError | ErrorCode::Timeout => Some(Hint::ShowHubs),
        _ => None,
    }
}

/// A server that took too long: which time that was is known here.
fn slow_to_start(error: CallError, spec: &ServerSpec, settings: &HostSettings) -> CallError {
    if error.code() != ErrorCode::Timeout {
        return error;
    }
    let (had, origin) = (startup_time(spec, settings), spec.origin.clone());
    error.with_hint(Hint::RaiseTimeout { server: spec.name.clone(), key: ServerKey::StartupTimeout, had, origin })
}

/// What to do about a server that wants credentials, or other ones.
pub(crate) fn credentials_hint(spec: &ServerSpec, http: &HttpSpec) -> String {
    let origin = &spec.origin;
    match http.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        Some((name, value)) if value.is_expanded() && value.written() != ConfigText::HIDDEN => format!(
            "the server did not accept `{name}: {}` of {origin}: check the variable it refers to",
            value.written()
        ),
        Some((name, _)) => format!("the server did not accept the `{name}` header of {origin}"),
        None => format!(
            "no credentials are configured: add `Authorization = \"Bearer ${{VARIABLE}}\"` to `headers` of the server at {origin}"
        ),
    }
}
