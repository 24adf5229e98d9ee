//! What a host is given: its limits and times, its surroundings, and the servers and rules it is to have.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use helve_model::{
    BuiltinSpec, DisabledReason, HttpServer, QualifiedName, SecretSet, ServerSpec, StdioServer, Validation,
};
use helve_policy::pin::DefinitionHash;
use helve_policy::{ServerAccess, SourcedRule, Trust};
#[cfg(feature = "http")]
use helve_wire::Proxies;
use helve_wire::launch::{CloseTimes, Launcher, PlainLauncher};
use helve_wire::{ClientInfo, Limits, Nesting};

use crate::common_parts::CommonParts;
use crate::confine::Confining;
use crate::error::CallError;
use crate::keeping::Keeper;
use crate::late_references::SecretSource;
use crate::record::Recorder;
#[cfg(feature = "tls")]
use crate::sign_in::SignIns;
use crate::start_guard::SharedStartGuard;
use crate::tool::Toolbox;

/// How long things take and how much they may cost, for all servers that do not say otherwise.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostSettings {
    /// A call may stay without answer or progress for so long.
    pub call_timeout: Duration,
    /// A call may take so long in all, however much progress it reports.
    pub call_total: Duration,
    /// A server may take so long to start, its first listing included.
    pub startup_timeout: Duration,
    /// While a server that ended is started again for the first time, a call waits for it no longer than this. One whose
    /// new start failed as well is not waited for.
    pub restart_wait: Duration,
    /// A call that cannot have run is repeated so often.
    pub max_retries: u32,
    /// A kept tool list counts as fresh for so long; `None`: nothing is kept.
    pub schema_cache_ttl: Option<Duration>,
    /// Until a server is connected, a kept list is shown although the server would rather be asked again: for people, who see
    /// at once what there was a while ago.
    pub shows_aged_lists: bool,
    /// An idle connection is asked so often whether it lives; `None`: never.
    pub ping_interval: Option<Duration>,
    /// How long a server may take to say that it lives; the second time it does not, the connection is given up.
    pub ping_timeout: Duration,
    /// Changes of a server's lists are listened for. A program that makes one call and ends has no use for that.
    pub follow_changes: bool,
    /// Calls that may be on their way to one server; the others wait for their turn.
    pub in_flight_per_server: usize,
    /// Servers that may be starting at one time.
    pub starting_at_once: usize,
    /// Results above so many bytes are cut, and kept whole in a file of [`Surroundings::spill_directory`]. Whoever wants one
    /// uncut says so in his [`CallContext`](crate::CallContext).
    pub result_bytes: usize,
    /// Results of tools that only read are kept for so long; `None`: never.
    pub result_cache_ttl: Option<Duration>,
    /// Tools, by `server/tool`, whose results may be kept though nobody annotated them.
    pub cacheable: Vec<QualifiedName>,
    /// Tools that no rule and no list mentions are denied instead of asked for.
    pub denies_unlisted: bool,
    /// Where the arguments of calls are checked; `None`: as each call says.
    pub validation: Option<Validation>,
    /// So many events are kept for a listener that is slow; it is told how many it lost. Each has its room from the
    /// beginning, about a hundred bytes: a host that is one of many keeps few.
    pub events_kept: usize,
    /// What one peer may cost.
    pub limits: Limits,
    /// How patiently a program is ended.
    pub close_times: CloseTimes,
    /// The client's name and version.
    pub client: ClientInfo,
}

/// What a host may know about the machine. It never looks for itself. Hosts that are given clones of one keep once what
/// they have in common.
#[derive(Clone)]
#[non_exhaustive]
pub struct Surroundings {
    /// The variables servers get their share of.
    pub environment: Arc<[(OsString, OsString)]>,
    /// How programs are started.
    pub launcher: Arc<dyn Launcher>,
    /// The process that keeps servers running; `None`: none does.
    pub keeper: Option<Arc<dyn Keeper>>,
    /// Where programs are started that have no directory of their own; `None`: wherever this process is, and lists of
    /// programs that are named by relative paths are kept for all such places together.
    pub working_directory: Option<PathBuf>,
    /// Where tool lists are kept between runs; `None`: nowhere.
    pub cache_directory: Option<PathBuf>,
    /// Where results that are too large are kept whole; `None`: nowhere, what is cut is gone. Whenever a host starts, the
    /// files it made there go that are older than a week, and the oldest of those that take more than a gigabyte together.
    pub spill_directory: Option<PathBuf>,
    /// How servers are confined that are to run in a sandbox (Linux); `None`: they are not started.
    pub confining: Option<Confining>,
    /// The logins to servers over HTTP; `None`: nobody is signed in anywhere.
    #[cfg(feature = "tls")]
    pub sign_ins: Option<Arc<SignIns>>,
    /// The proxies that servers over HTTP are reached through; `None`: they are reached straight.
    #[cfg(feature = "http")]
    pub proxies: Option<Proxies>,
    /// The authorities (DER) that the system trusts, asked for at the first server over `https:`.
    pub certificates: fn() -> &'static [Vec<u8>],
    /// Where the values of late references come from; `None`: servers that have some are off.
    pub secrets: Option<Arc<dyn SecretSource>>,
    /// Gets every secret that a server is started with, so that nobody is shown one; `None`: only that server's own answers are
    /// looked through.
    pub known_secrets: Option<Arc<SecretSet>>,
    /// How deep this host runs below others of its kind: its servers are told.
    pub nesting: Nesting,
    /// What time it is: by it kept lists grow old, and records are dated.
    pub clock: fn() -> SystemTime,
    /// Is told of every call that ended; `None`: nobody is.
    pub recorder: Option<Arc<dyn Recorder>>,
    pub(crate) common: Arc<CommonParts>,
}

/// Which servers a host is to have, and what may be called.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The servers.
    pub servers: Vec<Planned>,
    /// Further entries of these servers, hidden by the ones above, that still narrow what may be called.
    pub narrowing: Vec<ServerAccess>,
    /// The rules; `None` keeps those the host has.
    pub rules: Option<Vec<SourcedRule>>,
    /// Definitions the person accepted, and no others of these tools may be called; `None` keeps those the host has.
    pub pins: Option<HashMap<QualifiedName, DefinitionHash>>,
}

impl HostSettings {
    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Surroundings {
    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Planned {
    /// A server, how far it is trusted, why it is held back if it is, and who looks after its files.
    #[must_use]
    pub const fn new(spec: ServerSpec, trust: Trust) -> Self {
        Self { spec, trust, held: None, guard: None }
    }

    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Plan {
    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The same servers, each started at its first use.
    #[must_use]
    pub fn on_demand(mut self) -> Self {
        for planned in &mut self.servers {
            planned.spec.lazy = true;
            planned.spec.required = false;
        }
        self
    }
}

/// One server of a plan.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Planned {
    /// The server.
    pub spec: ServerSpec,
    /// Does the person stand behind it?
    pub trust: Trust,
    /// Why it must not be started although it is switched on.
    pub held: Option<DisabledReason>,
    /// The guard of the files it is started from; `None`: it needs none.
    pub guard: Option<SharedStartGuard>,
}

/// Opens the sets of tools that ship inside, for servers that are [`helve_model::TransportSpec::Builtin`].
pub trait Builtins: Send + Sync {
    /// The tools a server's entry asks for.
    ///
    /// # Errors
    /// `CONFIG` when there is no such set, or its options are wrong.
    fn open(&self, spec: &ServerSpec, builtin: &BuiltinSpec) -> Result<Toolbox, CallError>;
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_secs(30),
            call_total: Duration::from_secs(30 * 60),
            startup_timeout: Duration::from_secs(30),
            restart_wait: Duration::from_secs(5),
            max_retries: 2,
            schema_cache_ttl: Some(Duration::from_secs(3_600)),
            shows_aged_lists: false,
            ping_interval: Some(Duration::from_secs(30)),
            ping_timeout: Duration::from_secs(10),
            follow_changes: true,
            in_flight_per_server: 64,
            starting_at_once: 128,
            result_bytes: 1024 * 1024,
            result_cache_ttl: None,
            cacheable: Vec::new(),
            denies_unlisted: false,
            validation: None,
            events_kept: 1_024,
            limits: Limits::default(),
            close_times: CloseTimes::default(),
            client: ClientInfo::default(),
        }
    }
}

impl Default for Surroundings {
    /// No variables, no directories, programs started plainly.
    fn default() -> Self {
        Self {
            environment: Arc::default(),
            launcher: Arc::new(PlainLauncher),
            keeper: None,
            working_directory: None,
            cache_directory: None,
            spill_directory: None,
            confining: None,
            #[cfg(feature = "tls")]
            sign_ins: None,
            secrets: None,
            known_secrets: None,
            #[cfg(feature = "http")]
            proxies: None,
            certificates: || &[],
            nesting: Nesting::default(),
            clock: system_clock,
            recorder: None,
            common: Arc::default(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one clock of the host, which a test replaces")]
fn system_clock() -> SystemTime {
    SystemTime::now()
}

impl From<ServerSpec> for Planned {
    /// A server that the embedding program stands behind.
    fn from(spec: ServerSpec) -> Self {
        Self { spec, trust: Trust::Trusted, held: None, guard: None }
    }
}

impl From<StdioServer> for Planned {
    fn from(server: StdioServer) -> Self {
        Self::from(server.build())
    }
}

impl From<HttpServer> for Planned {
    fn from(server: HttpServer) -> Self {
        Self::from(server.build())
    }
}

impl From<Vec<ServerSpec>> for Plan {
    /// These servers, and the rules as they are.
    fn from(specs: Vec<ServerSpec>) -> Self {
        Self { servers: specs.into_iter().map(Planned::from).collect(), ..Self::default() }
    }
}

impl fmt::Debug for Surroundings {
    /// Names of variables only: any value may be a secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Surroundings")
            .field("environment", &names)
            .field("launcher", &self.launcher)
            .field("cache_directory", &self.cache_directory)
            .field("spill_directory", &self.spill_directory)
            .finish()
    }
}
