//! The settings that are not about one server: their defaults, and how layers change them key by key.

use std::path::PathBuf;
use std::time::Duration;

use helve_model::sandbox::{Choice, Profile};
use helve_model::{Action, Layer, Origin, PrivateIdle, Validation};

/// One setting and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// Its value.
    pub value: T,
    /// Where it was written.
    pub origin: Origin,
    /// In which layer.
    pub layer: Layer,
}

/// Every setting, with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long a call may stay without answer or progress.
    pub call_timeout: Setting<Duration>,
    /// How long a server may take to start.
    pub startup_timeout: Setting<Duration>,
    /// How often a call that cannot have run is repeated.
    pub max_retries: Setting<u32>,
    /// Tool lists are kept between runs.
    pub cache_tool_schemas: Setting<bool>,
    /// How long a kept tool list counts as fresh.
    pub schema_cache_ttl: Setting<Duration>,
    /// How many calls may be on their way to one server.
    pub calls_per_server: Setting<u32>,
    /// How many bytes of a result an agent gets; `None`: all.
    pub result_bytes: Setting<Option<u32>>,
    /// How long results are kept that may be given again; `None`: not at all.
    pub result_cache_ttl: Setting<Option<Duration>>,
    /// Tools whose results may be kept although nobody called them read-only, as `server/tool`.
    pub cacheable_tools: Setting<Vec<String>>,
    /// Where the arguments of calls are checked; `None`: as each call says.
    pub validation: Setting<Option<Validation>>,
    /// A host that runs on picks up changed configuration files.
    pub watch: Setting<bool>,
    /// Servers are kept running in the background between commands.
    pub keep: Setting<bool>,
    /// How long they are kept without use.
    pub keep_idle: Setting<Duration>,
    /// How long a server that is one agent's alone runs on once that agent is gone, unless its entry says otherwise.
    pub private_idle: Setting<PrivateIdle>,
    /// What agents that are served meet where no rule and no list mentions a tool; never by a project's word.
    pub unlisted: Setting<Action>,
    /// It counts for agents that come with a token, too; never by a project's word.
    pub unlisted_tokens: Setting<bool>,
    /// Servers that do not say otherwise are read-only.
    pub readonly: Setting<bool>,
    /// The sandbox of a project's programs that have none of their own.
    pub sandbox: Setting<Choice>,
    /// Which other applications' files are read too.
    pub import: Setting<Import>,
    /// The directories that servers are told to work in.
    pub roots: Setting<Vec<PathBuf>>,
    /// Addresses that hear of calls that wait for a person at the hub. Files of the person's own alone say it.
    pub notify: Setting<Vec<String>>,
    /// The program that prints the key of the vault; `None`: the key is elsewhere. A file of the person's own alone says it.
    pub vault_key: Setting<Option<String>>,
    /// The Python that programs of models run in, a path or a name on the search path; `None`: the first that is found. A file
    /// of the person's own alone says it.
    pub code_python: Setting<Option<String>>,
    /// The program that answers for the model servers may use, and its arguments; empty: they may use none.
    pub sampling_command: Setting<Vec<String>>,
    /// How often each server may use it.
    pub sampling_calls: Setting<u32>,
    /// How many tokens each server may ask for, all requests together.
    pub sampling_tokens: Setting<u64>,
    /// How many requests of one server may be open at once.
    pub sampling_concurrent: Setting<u32>,
    /// How long an answer may take.
    pub sampling_timeout: Setting<Duration>,
}

/// The settings one file or the command line speaks of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsPatch {
    /// See [`Settings::call_timeout`].
    pub call_timeout: Option<Setting<Duration>>,
    /// See [`Settings::startup_timeout`].
    pub startup_timeout: Option<Setting<Duration>>,
    /// See [`Settings::max_retries`].
    pub max_retries: Option<Setting<u32>>,
    /// See [`Settings::cache_tool_schemas`].
    pub cache_tool_schemas: Option<Setting<bool>>,
    /// See [`Settings::schema_cache_ttl`].
    pub schema_cache_ttl: Option<Setting<Duration>>,
    /// See [`Settings::calls_per_server`].
    pub calls_per_server: Option<Setting<u32>>,
    /// See [`Settings::result_bytes`].
    pub result_bytes: Option<Setting<Option<u32>>>,
    /// See [`Settings::result_cache_ttl`].
    pub result_cache_ttl: Option<Setting<Option<Duration>>>,
    /// See [`Settings::cacheable_tools`].
    pub cacheable_tools: Option<Setting<Vec<String>>>,
    /// See [`Settings::validation`].
    pub validation: Option<Setting<Option<Validation>>>,
    /// See [`Settings::watch`].
    pub watch: Option<Setting<bool>>,
    /// See [`Settings::keep`].
    pub keep: Option<Setting<bool>>,
    /// See [`Settings::keep_idle`].
    pub keep_idle: Option<Setting<Duration>>,
    /// See [`Settings::private_idle`].
    pub private_idle: Option<Setting<PrivateIdle>>,
    /// See [`Settings::unlisted`].
    pub unlisted: Option<Setting<Action>>,
    /// See [`Settings::unlisted_tokens`].
    pub unlisted_tokens: Option<Setting<bool>>,
    /// See [`Settings::readonly`].
    pub readonly: Option<Setting<bool>>,
    /// See [`Settings::sandbox`].
    pub sandbox: Option<Setting<Choice>>,
    /// See [`Settings::import`].
    pub import: Option<Setting<Import>>,
    /// See [`Settings::roots`].
    pub roots: Option<Setting<Vec<PathBuf>>>,
    /// See [`Settings::notify`].
    pub notify: Option<Setting<Vec<String>>>,
    /// See [`Settings::vault_key`].
    pub vault_key: Option<Setting<Option<String>>>,
    /// See [`Settings::code_python`].
    pub code_python: Option<Setting<Option<String>>>,
    /// See [`Settings::sampling_command`].
    pub sampling_command: Option<Setting<Vec<String>>>,
    /// See [`Settings::sampling_calls`].
    pub sampling_calls: Option<Setting<u32>>,
    /// See [`Settings::sampling_tokens`].
    pub sampling_tokens: Option<Setting<u64>>,
    /// See [`Settings::sampling_concurrent`].
    pub sampling_concurrent: Option<Setting<u32>>,
    /// See [`Settings::sampling_timeout`].
    pub sampling_timeout: Option<Setting<Duration>>,
}

/// Which other applications' files are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Import {
    /// All that are found.
    All,
    /// Only these; an empty list means none.
    Only(Vec<String>),
}

impl Settings {
    /// Applies what a higher layer says: every key it names replaces ours.
    pub fn apply(&mut self, patch: &SettingsPatch) {
        replace(&mut self.call_timeout, patch.call_timeout.as_ref());
        replace(&mut self.startup_timeout, patch.startup_timeout.as_ref());
        replace(&mut self.max_retries, patch.max_retries.as_ref());
        replace(&mut self.cache_tool_schemas, patch.cache_tool_schemas.as_ref());
        replace(&mut self.schema_cache_ttl, patch.schema_cache_ttl.as_ref());
        replace(&mut self.calls_per_server, patch.calls_per_server.as_ref());
        replace(&mut self.result_bytes, patch.result_bytes.as_ref());
        replace(&mut self.result_cache_ttl, patch.result_cache_ttl.as_ref());
        replace(&mut self.cacheable_tools, patch.cacheable_tools.as_ref());
        replace(&mut self.validation, patch.validation.as_ref());
        replace(&mut self.watch, patch.watch.as_ref());
        replace(&mut self.keep, patch.keep.as_ref());
        replace(&mut self.keep_idle, patch.keep_idle.as_ref());
        replace(&mut self.private_idle, patch.private_idle.as_ref());
        replace(&mut self.unlisted, patch.unlisted.as_ref());
        replace(&mut self.unlisted_tokens, patch.unlisted_tokens.as_ref());
        replace(&mut self.readonly, patch.readonly.as_ref());
        replace(&mut self.sandbox, patch.sandbox.as_ref());
        replace(&mut self.import, patch.import.as_ref());
        replace(&mut self.roots, patch.roots.as_ref());
        replace(&mut self.notify, patch.notify.as_ref());
        replace(&mut self.vault_key, patch.vault_key.as_ref());
        replace(&mut self.code_python, patch.code_python.as_ref());
        replace(&mut self.sampling_command, patch.sampling_command.as_ref());
        replace(&mut self.sampling_calls, patch.sampling_calls.as_ref());
        replace(&mut self.sampling_tokens, patch.sampling_tokens.as_ref());
        replace(&mut self.sampling_concurrent, patch.sampling_concurrent.as_ref());
        replace(&mut self.sampling_timeout, patch.sampling_timeout.as_ref());
    }
}

impl SettingsPatch {
    /// The part a project may say before anybody trusted it: it may make servers read-only, nothing else.
    #[must_use]
    pub(crate) fn narrowing(&self) -> Self {
        Self { readonly: self.readonly.clone().filter(|readonly| readonly.value), ..Self::default() }
    }

    /// True when it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Import {
    /// True when files of `application` are read.
    #[must_use]
    pub fn includes(&self, application: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|name| name == application),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            call_timeout: built_in(Duration::from_secs(30)),
            startup_timeout: built_in(Duration::from_secs(30)),
            max_retries: built_in(2),
            cache_tool_schemas: built_in(true),
            schema_cache_ttl: built_in(Duration::from_secs(3_600)),
            calls_per_server: built_in(64),
            result_bytes: built_in(None),
            result_cache_ttl: built_in(None),
            cacheable_tools: built_in(Vec::new()),
            validation: built_in(None),
            watch: built_in(true),
            keep: built_in(false),
            keep_idle: built_in(Duration::from_secs(600)),
            private_idle: built_in(PrivateIdle::default()),
            unlisted: built_in(Action::Ask),
            unlisted_tokens: built_in(false),
            readonly: built_in(false),
            sandbox: built_in(Choice::In(Profile::Standard)),
            import: built_in(Import::All),
            roots: built_in(Vec::new()),
            notify: built_in(Vec::new()),
            vault_key: built_in(None),
            code_python: built_in(None),
            sampling_command: built_in(Vec::new()),
            sampling_calls: built_in(100),
            sampling_tokens: built_in(200_000),
            sampling_concurrent: built_in(2),
            sampling_timeout: built_in(Duration::from_secs(120)),
        }
    }
}

const fn built_in<T>(value: T) -> Setting<T> {
    Setting { value, origin: Origin::BuiltIn, layer: Layer::Defaults }
}

fn replace<T: Clone>(ours: &mut Setting<T>, theirs: Option<&Setting<T>>) {
    if let Some(setting) = theirs {
        *ours = setting.clone();
    }
}
