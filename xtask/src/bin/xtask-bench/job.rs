//! Owns the words between the driver and the child process that does one piece of measuring.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One run in a process of its own: who works, against which server, doing what.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) subject: Subject,
    /// The thin echo server's program.
    pub(crate) server: PathBuf,
    pub(crate) work: Work,
}

/// A client in the surroundings it runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subject {
    pub(crate) client: Kind,
    pub(crate) runtime: Runtime,
    pub(crate) era: Era,
}

impl Subject {
    /// One thread and the older era: where every client is at its best, and what the goals were set against.
    pub(crate) const fn new(client: Kind) -> Self {
        Self { client, runtime: Runtime::CurrentThread, era: Era::Legacy }
    }

    pub(crate) const fn on(mut self, runtime: Runtime) -> Self {
        self.runtime = runtime;
        self
    }

    pub(crate) const fn in_era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }
}

/// The columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// The least that could possibly work: bytes there, bytes back, nothing parsed.
    Floor,
    /// The official Rust SDK's typed client.
    Rmcp,
    /// helve's wire, servers started by the plain launcher.
    Helve,
    /// helve's wire, with the typed view of every answer opened.
    HelveTyped,
    /// helve's wire, with five secrets that the server must not repeat.
    HelveSecrets,
    /// helve's wire, servers held by a warden.
    HelveWarden,
    /// helve's wire over HTTP with a token that never changes.
    #[value(skip)]
    HelveFixedToken,
    /// helve's wire over HTTP with a login whose token is fresh.
    #[value(skip)]
    HelveSignedIn,
    /// A whole host, one rule: policy, validation and record above the wire.
    #[value(skip)]
    Host,
    /// A whole host, a thousand rules, fifty of which look at the arguments of the tool that is called.
    #[value(skip)]
    HostManyRules,
    /// A gateway with an agent on a stream, and such a host behind it.
    #[value(skip)]
    Gateway,
    /// The same, with a queue for calls that a rule wants asked about, as a hub has one.
    #[value(skip)]
    GatewayApprovals,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Runtime {
    CurrentThread,
    MultiThread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// What a child is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Work {
    /// Small calls over stdio, one after the other.
    Echo { calls: usize },
    /// Small calls over stdio, many at once.
    Flood { calls: usize, in_flight: usize },
    /// Calls whose result is large.
    Large { shape: Shape, bytes: usize, calls: usize },
    /// Listing many tools.
    List { tools: usize, calls: usize },
    /// Holding connections that do nothing.
    Idle { connections: usize },
    /// Starting and shaking hands with many servers at once.
    Connect { connections: usize },
    /// Small calls over Streamable HTTP, one after the other.
    Http { calls: usize },
    /// Getting all of these servers ready at once, each of which takes so many milliseconds to start.
    Ready { servers: usize, delay: usize },
    /// Holding so many connected servers, and nothing else.
    Hold { servers: usize },
    /// Starting a host from what an earlier one kept of these servers, each with so many tools.
    Kept { servers: usize, tools: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    Text,
    Structured,
}

/// What a child reports; what it was not asked for stays zero.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sample {
    /// Median time of one call.
    pub(crate) median_seconds: f64,
    /// Time of everything together.
    pub(crate) total_seconds: f64,
    pub(crate) calls: usize,
    /// Resident memory at its highest during the first call, above what it was before.
    pub(crate) peak_growth_bytes: f64,
    /// Resident memory after the work, above what it was before.
    pub(crate) held_growth_bytes: f64,
    /// Bytes of the answer on the wire.
    pub(crate) answer_bytes: f64,
    /// Connections the server counted.
    pub(crate) connections: u64,
    /// Resident memory at the end of the work, all of it.
    pub(crate) resident_bytes: f64,
    /// Servers that were started.
    pub(crate) started: usize,
    /// Schemas that were compiled.
    pub(crate) compiled: usize,
}
