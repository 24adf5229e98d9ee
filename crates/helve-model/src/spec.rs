//! What a server is, as configured: how it is started or reached, and what the person said about it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{LateReference, Layer, Origin, SandboxSpec, ServerName};

/// One configured server.
///
/// Exhaustive on purpose: whoever decides what of it is trusted takes it apart whole, so that a new field does not compile
/// until somebody has decided. Others make one with [`ServerSpec::new`] and change it with [`ServerSpec::with`].
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSpec {
    /// The configured name; the server's identity.
    pub name: ServerName,
    /// How it is reached.
    pub transport: TransportSpec,
    /// Switched on?
    pub enabled: bool,
    /// Start-up fails when this server does.
    pub required: bool,
    /// Started at first use instead of at once.
    pub lazy: bool,
    /// Requests are sent one at a time, for servers that cannot take more.
    pub one_at_a_time: bool,
    /// Agents that are served share it, or each has one of its own; `None`: as its protocol allows.
    pub shared: Option<bool>,
    /// How long one that is an agent's alone runs on once that agent is gone; `None`: as the settings say.
    pub private_idle: Option<PrivateIdle>,
    /// The protocol version to speak; `None` finds out.
    pub protocol_version: Option<String>,
    /// How long start-up may take.
    pub startup_timeout: Option<Duration>,
    /// How long a call may stay without answer or progress.
    pub call_timeout: Option<Duration>,
    /// How often a call that cannot have run is repeated.
    pub max_retries: Option<u32>,
    /// Where the arguments of its calls are checked; `None`: as each call says.
    pub validation: Option<Validation>,
    /// The program gets helve's whole environment instead of the short allowlist.
    pub inherit_environment: bool,
    /// Its own secrets stay in its results; everywhere else they are hidden all the same.
    pub leaves_results: bool,
    /// What a hub records of its calls besides that they were made.
    pub record: RecordedBodies,
    /// What its program may touch; `None` when nobody said anything: everything.
    pub sandbox: Option<SandboxSpec>,
    /// What is known about signing in; `None` when nobody said anything.
    pub oauth: Option<OAuthSpec>,
    /// What its tools may do.
    pub access: AccessSpec,
    /// Where it is configured.
    pub origin: Origin,
    /// In which layer it is configured.
    pub layer: Layer,
}

/// How long a server that is one agent's alone runs on after the agent was last there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivateIdle {
    /// So long.
    After(Duration),
    /// It is not ended before the agent is forgotten.
    Never,
}

/// Where it is checked whether the arguments of a call fit the tool. Rules see them either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Validation {
    /// The tool's schema, before anything is sent.
    #[default]
    Strict,
    /// The server: it gets the arguments as they were written. Many take more than their schemas say, a number in quotes
    /// for one.
    Server,
}

/// Which of a server's tools exist for an agent, and which of them may change things.
///
/// Every list holds globs over the server's own tool names. `None` means nobody wrote such a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessSpec {
    /// Only these tools exist for the agent.
    pub tools: Option<Vec<Listed>>,
    /// These tools may write without asking.
    pub write_tools: Option<Vec<Listed>>,
    /// These tools do not exist for the agent.
    pub disabled_tools: Vec<Listed>,
    /// Tools that are not known to be read-only need `write_tools` or an approval. `None` counts as true.
    pub readonly: Option<bool>,
    /// The server's annotations may lower a tool's risk, not only raise it.
    pub trust_annotations: bool,
}

/// One entry of a list, with the place it was written at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// A glob over tool names.
    pub glob: String,
    /// Where it was written.
    pub origin: Origin,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum TransportSpec {
    /// A program that helve starts.
    Stdio(StdioSpec),
    /// A server reached over HTTP.
    Http(HttpSpec),
    /// Tools that ship inside helve and run in its own process.
    Builtin(BuiltinSpec),
}

/// A set of tools that ships inside helve.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltinSpec {
    /// Which set: `filesystem`, `sqlite`, `time`.
    pub kind: String,
    /// How it is set up: each option with its values, a single value being a list of one.
    pub options: IndexMap<String, Vec<ConfigText>>,
}

/// A program that speaks the protocol on its standard streams.
#[derive(Debug, Clone, PartialEq)]
pub struct StdioSpec {
    /// The program: a path, or a name to look up in `PATH`.
    pub command: ConfigText,
    /// Its arguments.
    pub arguments: Vec<ConfigText>,
    /// Variables it is given besides the short allowlist.
    pub environment: IndexMap<String, ConfigText>,
    /// Where it runs.
    pub working_directory: Option<PathBuf>,
}

/// A server reached over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpSpec {
    /// Its address.
    pub url: ConfigText,
    /// Headers sent with every request.
    pub headers: IndexMap<String, ConfigText>,
    /// Which of the HTTP transports it speaks.
    pub flavour: HttpFlavour,
}

/// What a configuration says about signing in to a server.
#[derive(Debug, Clone, PartialEq)]
pub struct OAuthSpec {
    /// False: the person said that this server must not be signed in to.
    pub enabled: bool,
    /// A client registered beforehand.
    pub client_id: Option<ConfigText>,
    /// That client's secret.
    pub client_secret: Option<ConfigText>,
    /// What to ask for.
    pub scopes: Vec<String>,
    /// The local port the authorization server redirects to.
    pub callback_port: Option<u16>,
    /// Where the authorization server describes itself.
    pub metadata_url: Option<ConfigText>,
    /// The resource indicator to ask for, when it is not the server's address.
    pub resource: Option<ConfigText>,
    /// No resource indicator is sent, for authorization servers that refuse it.
    pub resource_omitted: bool,
    /// The issuer that the authorization server has to be, when the server names another.
    pub issuer: Option<ConfigText>,
    /// The authorization server supports PKCE although it does not say so.
    pub pkce_assumed: bool,
    /// The browser is sent back to `localhost` instead of `127.0.0.1`.
    pub callback_localhost: bool,
    /// What the client calls itself when it registers.
    pub client_name: Option<String>,
    /// The address of a document that describes the client.
    pub client_document: Option<ConfigText>,
    /// The client is registered dynamically, even where a document would do.
    pub dynamic_registration: bool,
    /// Tells several logins to one server apart.
    pub account: Option<String>,
    /// The client signs in by itself, without a person.
    pub client_credentials: bool,
    /// The client's private key (PKCS #8 in PEM), instead of a secret.
    pub client_key: Option<ConfigText>,
    /// An identity provider that vouches for the person.
    pub identity: Option<IdentitySpec>,
    /// A token of the platform that says which workload this is.
    pub assertion: Option<ConfigText>,
}

/// An identity provider that vouches for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct IdentitySpec {
    /// Where it exchanges tokens.
    pub token_endpoint: ConfigText,
    /// The client that the identity token was issued to.
    pub client_id: ConfigText,
    /// That client's secret.
    pub client_secret: Option<ConfigText>,
    /// The identity token.
    pub id_token: ConfigText,
}

/// Which HTTP transport a server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HttpFlavour {
    /// Streamable HTTP, falling back to HTTP+SSE.
    #[default]
    Auto,
    /// Streamable HTTP only.
    Streamable,
    /// HTTP+SSE of 2024-11-05 only.
    Sse,
}

/// A text from a configuration: what was written, which may be shown, and what it means, which may be secret.
///
/// `token: ${GITHUB_TOKEN}` is written `${GITHUB_TOKEN}`; only [`ConfigText::expose`] gives the token. Debug output,
/// logs and hashes use the written form. A text without any reference is its own value.
#[derive(Clone)]
pub struct ConfigText {
    written: String,
    value: Option<SecretString>,
    /// What is filled when a server starts; `value` is the text around it then.
    late: Option<Arc<[LateReference]>>,
}

/// What is recorded of calls besides that they were made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordedBodies {
    /// Nothing.
    #[default]
    None,
    /// The arguments.
    Arguments,
    /// The arguments and the results.
    All,
}

impl RecordedBodies {
    /// The words, as configurations write them.
    pub const WORDS: [(&str, Self); 3] = [("none", Self::None), ("arguments", Self::Arguments), ("all", Self::All)];

    /// As configurations write it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Arguments => "arguments",
            Self::All => "all",
        }
    }
}

impl Validation {
    /// The words for both, as configurations write them.
    pub const WORDS: [(&str, Self); 2] = [("strict", Self::Strict), ("server", Self::Server)];

    /// As configurations write it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Server => "server",
        }
    }
}

impl ServerSpec {
    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// A server that is on, with nothing else said about it.
    #[must_use]
    pub const fn new(name: ServerName, transport: TransportSpec, origin: Origin, layer: Layer) -> Self {
        Self {
            name,
            transport,
            enabled: true,
            required: false,
            lazy: false,
            one_at_a_time: false,
            shared: None,
            private_idle: None,
            protocol_version: None,
            startup_timeout: None,
            call_timeout: None,
            max_retries: None,
            validation: None,
            inherit_environment: false,
            leaves_results: false,
            record: RecordedBodies::None,
            sandbox: None,
            oauth: None,
            access: AccessSpec {
                tools: None,
                write_tools: None,
                disabled_tools: Vec::new(),
                readonly: None,
                trust_annotations: false,
            },
            origin,
            layer,
        }
    }
}

impl PrivateIdle {
    /// As it is written: a number with `ms`, `s`, `m` or `h` behind it and above 0, or `never`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "never" {
            return Some(Self::Never);
        }
        let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
        let seconds_each = match text.get(digits.len()..)? {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            _ => return None,
        };
        let time = Duration::try_from_secs_f64(digits.parse::<f64>().ok()? * seconds_each).ok()?;
        (!time.is_zero()).then_some(Self::After(time))
    }
}

impl Default for PrivateIdle {
    fn default() -> Self {
        Self::After(Duration::from_secs(45))
    }
}

impl fmt::Display for PrivateIdle {
    /// As [`PrivateIdle::parse`] reads it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::After(time) = self else { return formatter.write_str("never") };
        match u64::try_from(time.as_millis()).unwrap_or(u64::MAX) {
            whole if whole % 60_000 == 0 => write!(formatter, "{}m", whole / 60_000),
            whole if whole % 1_000 == 0 => write!(formatter, "{}s", whole / 1_000),
            milliseconds => write!(formatter, "{milliseconds}ms"),
        }
    }
}

impl StdioSpec {
    /// The command line, as it is written.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.command).chain(&self.arguments).map(ConfigText::written)
    }
}

impl OAuthSpec {
    /// Signing in is allowed, and nothing else is known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            enabled: true,
            client_id: None,
            client_secret: None,
            scopes: Vec::new(),
            callback_port: None,
            metadata_url: None,
            resource: None,
            resource_omitted: false,
            issuer: None,
            pkce_assumed: false,
            callback_localhost: false,
            client_name: None,
            client_document: None,
            dynamic_registration: false,
            account: None,
            client_credentials: false,
            client_key: None,
            identity: None,
            assertion: None,
        }
    }
}

impl Default for OAuthSpec {
    fn default() -> Self {
        Self::new()
    }
}

impl ConfigText {
    /// What is shown instead of a secret that was written out in a file.
    pub const HIDDEN: &str = "(hidden)";

    /// A text that means what it says.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { written: text.into(), value: None, late: None }
    }

    /// A text whose references were filled in.
    pub fn expanded(written: impl Into<String>, value: impl Into<String>) -> Self {
        Self { written: written.into(), value: Some(SecretString::from(value.into())), late: None }
    }

    /// A text with references that are filled when a server starts; `around` is the text without them.
    pub fn late(written: impl Into<String>, around: impl Into<String>, references: Vec<LateReference>) -> Self {
        let (written, value) = (written.into(), Some(SecretString::from(around.into())));
        Self { written, value, late: (!references.is_empty()).then(|| references.into()) }
    }

    /// The references that have to be filled before the text means anything.
    #[must_use]
    pub fn late_references(&self) -> &[LateReference] {
        self.late.as_deref().unwrap_or_default()
    }

    /// The same with its late references filled, one value each, in their order.
    #[must_use]
    pub fn filled<'a>(&self, values: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let around = self.value.as_ref().map_or(self.written.as_str(), |value| value.expose_secret());
        let mut text = String::new();
        let mut done = 0;
        for (reference, value) in self.late_references().iter().zip(values) {
            text.push_str(around.get(done..reference.at).unwrap_or_default());
            text.push_str(value.expose_secret());
            done = reference.at;
        }
        text.push_str(around.get(done..).unwrap_or_default());
        Self::expanded(self.written.clone(), text)
    }

    /// A secret written out where everybody can read it; shown as [`ConfigText::HIDDEN`].
    pub fn hidden(value: impl Into<String>) -> Self {
        Self::expanded(Self::HIDDEN, value)
    }

    /// What was written; safe to show.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.written
    }

    /// What it means; for the child's environment, the request's headers and nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        if self.late.is_some() {
            // Nobody can take the text around a secret for the whole.
            return &self.written;
        }
        self.value.as_ref().map_or(&self.written, |value| value.expose_secret())
    }

    /// True when the value differs from what was written, so that it may be a secret.
    #[must_use]
    pub const fn is_expanded(&self) -> bool {
        self.value.is_some()
    }
}

impl fmt::Debug for ConfigText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.written, formatter)
    }
}

impl PartialEq for ConfigText {
    /// Equal when written alike *and* meaning alike: a rotated token is a change.
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written && self.expose() == other.expose()
    }
}

impl From<&str> for ConfigText {
    fn from(text: &str) -> Self {
        Self::literal(text)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::{ConfigText, PrivateIdle};
    use crate::{LateReference, LateSource};

    #[test]
    fn g3_times_are_read_as_they_are_written() {
        for text in ["45s", "10m", "never", "250ms"] {
            assert_eq!(PrivateIdle::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(PrivateIdle::parse("2h"), PrivateIdle::parse("120m"));
        assert_eq!(PrivateIdle::parse("1.5s"), PrivateIdle::parse("1500ms"));
        assert_eq!(PrivateIdle::parse("45s"), Some(PrivateIdle::default()));
        for text in ["", "0s", "45", "s", "-1s", "nan s", "NaNs", "infs", "1e400s", "10 m", "Never", "5d"] {
            assert_eq!(PrivateIdle::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_secret_is_never_shown() {
        let token = ConfigText::expanded("Bearer ${TOKEN}", "Bearer hunter2");
        assert_eq!(format!("{token:?}"), r#""Bearer ${TOKEN}""#);
        assert_eq!(token.expose(), "Bearer hunter2");
        assert_ne!(token, ConfigText::expanded("Bearer ${TOKEN}", "Bearer other"));

        let late = ConfigText::late(
            "a ${secret:x} b ${secret:y}",
            "a  b ",
            vec![
                LateReference::new(2, LateSource::Secret("x".to_owned())),
                LateReference::new(5, LateSource::Secret("y".to_owned())),
            ],
        );
        assert_eq!((late.expose(), late.late_references().len()), ("a ${secret:x} b ${secret:y}", 2));
        let filled = late.filled(&[SecretString::from("one"), SecretString::from("two")]);
        assert_eq!((filled.expose(), filled.written()), ("a one b two", "a ${secret:x} b ${secret:y}"));

        let literal = ConfigText::hidden("hunter2");
        assert_eq!(format!("{literal:?}"), r#""(hidden)""#);
        assert_eq!(literal.expose(), "hunter2");
    }
}
