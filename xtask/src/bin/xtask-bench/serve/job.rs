//! Owns the words between the driver and the child process that starts one gateway and works through it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::gateway::Gateway;

/// One gateway, the server behind it, and what to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(super) gateway: Gateway,
    /// The thin echo server's program.
    pub(super) server: PathBuf,
    pub(super) work: Work,
}

/// What a child is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Work {
    /// Small calls to a server over stdio: one after the other, then many at once by one agent, then by as many agents,
    /// each for so many seconds.
    Calls { seconds: f64 },
    /// Small calls to a server over HTTP, one after the other.
    Http { seconds: f64 },
    /// Calls whose result is large.
    Large { bytes: usize, calls: usize },
    /// From nothing to the first answer.
    Start,
    /// So many agents that come, call, and are never heard of again.
    Abandoned { agents: usize },
    /// The same where a session ends after so many seconds: how many are still there then?
    Expired { agents: usize, seconds: u64 },
}

/// What a child reports; what it was not asked for stays zero. Seconds and bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sample {
    /// Median time of one call after the other.
    pub(super) alone: f64,
    pub(super) one_agent: Load,
    pub(super) many_agents: Load,
    /// Resident memory of the gateway after its first call.
    pub(super) idle: f64,
    /// Resident memory of the gateway after everything.
    pub(super) loaded: f64,
    /// Median time of a call with a large result.
    pub(super) large: f64,
    /// The gateway's memory at its highest during the first large result, above what it was before.
    pub(super) growth: f64,
    /// From the gateway's start to the first answer.
    pub(super) start: f64,
    /// Resident memory of the gateway for each abandoned session.
    pub(super) abandoned: f64,
    /// Sessions that should have gone and have not.
    pub(super) left: f64,
}

/// Many calls at once.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Load {
    /// Calls per second.
    pub(super) rate: f64,
    /// Of a hundred calls, 99 are faster.
    pub(super) p99: f64,
    /// Processor time of the gateway for one call.
    pub(super) processor: f64,
}
