//! From a server's spec to a session, and what a person is told when there is none.

use std::collections::HashSet;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::time::Duration;

use helve_model::{ConfigText, ErrorCode, HttpSpec, ServerSpec, StdioSpec, TransportSpec};
use helve_wire::launch::{Launched, Launcher, ServerCommand, child_environment};
use helve_wire::{
    ConnectOptions, HttpTarget, PeerHandler, ProtocolChoice, SavedSession, Session, Verdict, connect_http,
    connect_stdio, connect_stream,
};
use secrecy::SecretString;
use tokio::sync::oneshot;

use crate::error::CallError;
use crate::kept_by::Kept;
use crate::settings::{HostSettings, Surroundings};
use crate::start_guard::Guard;

/// How many withheld variables an error names.
const WITHHELD_SHOWN: usize = 5;

/// Words of programs that miss a variable.
const COMPLAINTS: [&str; 8] =
    ["keyerror", "not set", "environment", "env var", "missing", "required", "undefined", "must be set"];

/// What an earlier connection found out.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) verdict: Option<Verdict>,
    /// An HTTP session that may still be valid.
    pub(crate) session: Option<SavedSession>,
}

/// A connection.
pub(crate) struct Connected {
    pub(crate) session: Session,
    /// Another process keeps the server: what is spoken here says nothing about what the server speaks.
    pub(crate) is_borrowed: bool,
    /// What the server itself speaks, where that is known.
    pub(crate) verdict: Option<Verdict>,
}

/// Kept by all that was started for an attempt: when the last has let go of it, the receiver hears of it.
pub(crate) type Alive = Arc<oneshot::Sender<Infallible>>;

/// A launcher whose processes keep `alive` until they are gone.
#[derive(Debug)]
struct Guarding<'launcher> {
    launcher: &'launcher dyn Launcher,
    alive: Alive,
}

impl Launcher for Guarding<'_> {
    fn launch(&self, command: &ServerCommand) -> helve_wire::Result<Launched> {
        let launched = self.launcher.launch(command)?;
        launched.process.keep_until_gone(Arc::clone(&self.alive));
        Ok(launched)
    }
}

/// Makes one attempt to connect. What is started for it keeps `alive`.
pub(crate) async fn connect(
    spec: &ServerSpec,
    settings: &HostSettings,
    surroundings: &Surroundings,
    handler: Arc<dyn PeerHandler>,
    known: Known,
    alive: Alive,
    guard: Option<Guard>,
) -> Result<Connected, CallError> {
    let mut options = ConnectOptions::new(spec.name.clone());
    options.client = settings.client.clone();
    options.handler = handler;
    options.limits = settings.limits.clone();
    options.resume = known.session;
    options.protocol = match (&spec.protocol_version, known.verdict) {
        (Some(version), _) => ProtocolChoice::Pinned(version.clone()),
        (None, Some(verdict)) => ProtocolChoice::Known(verdict),
        (None, None) => ProtocolChoice::Auto,
    };
    options.startup = startup_time(spec, settings);
    options.one_at_a_time = spec.one_at_a_time;
    options.close_times = settings.close_times;
    if let Some(keeper) = &surroundings.keeper
        && let Some(Kept { stream, speaks }) = keeper.connect(spec).await
    {
        options.protocol = ProtocolChoice::Known(Verdict::newest());
        let session = connect_stream(stream, options).await.map_err(|error| CallError::from_wire(error, &spec.name))?;
        return Ok(Connected { session, is_borrowed: true, verdict: speaks });
    }
    let session = match &spec.transport {
        TransportSpec::Stdio(stdio) => {
            let begun = match &guard {
                Some(guard) => Some(guard.begin_start(&spec.name).await?),
                None => None,
            };
            let mut command = command(spec, stdio, surroundings);
            command.executable = begun.as_ref().and_then(|start| start.executable());
            // Not for the entry to say: a server that leads back here must not seem to be the first.
            for (name, value) in surroundings.nesting.variables(stdio.written()) {
                command.environment.set(name, value);
            }
            let launcher = Guarding { launcher: surroundings.launcher.as_ref(), alive };
            let connected = connect_stdio(&launcher, &command, options).await;
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
            connected.map_err(|error| explain_stdio(as_written(error), spec, &command, surroundings))?
        }
        TransportSpec::Http(http) => {
            let as_written = |error: helve_wire::Error| error.reworded(|text| as_written(text, &http.url));
            let target = target(http).map_err(|error| CallError::from_wire(as_written(error), &spec.name))?;
            let target = target.with_nesting(surroundings.nesting.clone());
            // Kept apart: it is the larger one by far, and nobody who starts programs shall hold room for it.
            let connected = Box::pin(connect_http(&target, http.flavour, options)).await;
            connected.map_err(|error| explain_http(as_written(error), spec, http))?
        }
        TransportSpec::Builtin(builtin) => {
            return Err(CallError::new(
                ErrorCode::Config,
                format!("the built-in tools `{}` of the server `{}` cannot be connected to", builtin.kind, spec.name),
            )
            .at_server(&spec.name));
        }
    };
    let verdict = Some(session.greeting().verdict.clone());
    Ok(Connected { session, is_borrowed: false, verdict })
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
        executable: None,
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

fn target(http: &HttpSpec) -> helve_wire::Result<HttpTarget> {
    let target = HttpTarget::new(http.url.expose())?;
    http.headers.iter().try_fold(target, |target, (name, value)| {
        target.with_header(name, &SecretString::from(value.expose().to_owned()))
    })
}

/// A program that did not come up: the wire says how it ended and what it wrote; which variables it did not get is
/// known here.
fn explain_stdio(
    error: helve_wire::Error,
    spec: &ServerSpec,
    command: &ServerCommand,
    surroundings: &Surroundings,
) -> CallError {
    let words = format!("{error} {}", error.hints().join("\n"));
    let withheld: Vec<String> = surroundings
        .environment
        .iter()
        .filter(|(name, _)| command.environment.get(name).is_none())
        .filter_map(|(name, _)| name.to_str())
        .filter(|name| mentions(&words, name))
        .take(WITHHELD_SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    let unset: Vec<String> = variables_missed(&words)
        .filter(|name| {
            let is_name = |(known, _): &(OsString, OsString)| known.to_str() == Some(name);
            command.environment.get(OsStr::new(name)).is_none() && !surroundings.environment.iter().any(is_name)
        })
        .take(WITHHELD_SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    let mut ours = CallError::from_wire(error, &spec.name);
    if !unset.is_empty() {
        ours = ours.with_hint(format!(
            "{} is not set: set it, and name it in `env` or `pass_env` of the server `{}` at {}",
            unset.join(", "),
            spec.name,
            spec.origin
        ));
    }
    if withheld.is_empty() {
        return ours;
    }
    ours.with_hint(format!(
        "{} is set here and was withheld from the server: name it in `env` or `pass_env` of the server `{}` at {}",
        withheld.join(", "),
        spec.name,
        spec.origin
    ))
}

/// The variables whose want a text complains about: in a line that has one of the words programs use for that, names
/// that only variables have.
fn variables_missed(text: &str) -> impl Iterator<Item = &str> {
    let complains = |line: &&str| {
        let line = line.to_lowercase();
        COMPLAINTS.iter().any(|complaint| line.contains(complaint))
    };
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let is_name = |word: &&str| {
        let is_upper = |character: char| !character.is_ascii_lowercase();
        word.contains('_') && word.starts_with(|first: char| first.is_ascii_uppercase()) && word.chars().all(is_upper)
    };
    let names = text.lines().filter(complains).flat_map(move |line| line.split(move |c| !is_part(c)).filter(is_name));
    let mut seen = HashSet::new();
    names.filter(move |name| seen.insert(*name))
}

/// True when a text speaks of a variable: the name as a whole word, and long enough to be no accident.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    name.len() >= 4
        && text.match_indices(name).any(|(start, _)| {
            let before = text.get(..start).and_then(|text| text.chars().next_back());
            let after = text.get(start + name.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
}

/// A server that refused: which variable its credentials came from is known here.
fn explain_http(error: helve_wire::Error, spec: &ServerSpec, http: &HttpSpec) -> CallError {
    let refused = error.code() == ErrorCode::AuthRequired;
    let ours = CallError::from_wire(error, &spec.name);
    if refused { ours.with_hint(credentials_hint(spec, http)) } else { ours }
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
