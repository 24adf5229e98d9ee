//! Owns the words between the driver and the child process that starts one gateway and works through it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::job::Era;

use super::gateway::{Gateway, Upstream};

/// One gateway, the server behind it, and what to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(super) gateway: Gateway,
    pub(super) behind: Behind,
    pub(super) work: Work,
}

/// The server behind a gateway, by its program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Behind {
    pub(super) program: PathBuf,
    pub(super) kind: BehindKind,
    pub(super) era: Era,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum BehindKind {
    /// The thin echo server: what is measured is the gateway.
    Thin,
    /// A server on rmcp, as many are: what the gateway costs it is measured too.
    Rmcp,
}

impl Behind {
    /// Over stdio, with a large text prepared where one is wanted.
    pub(super) fn stdio(&self, text: Option<usize>) -> Upstream {
        let mut arguments = vec!["stdio".to_owned()];
        arguments.extend(self.options());
        if let Some(bytes) = text {
            arguments.extend(["--text".to_owned(), bytes.to_string()]);
        }
        Upstream::Stdio { program: self.program.clone(), arguments }
    }

    /// What it is told besides the transport.
    fn options(&self) -> Vec<String> {
        let words: &[&str] = match (self.kind, self.era) {
            (BehindKind::Thin, Era::Modern) => &[],
            (BehindKind::Thin, Era::Legacy) => &["--legacy", "1"],
            (BehindKind::Rmcp, Era::Modern) => &["modern"],
            (BehindKind::Rmcp, Era::Legacy) => &["legacy"],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
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
    /// Processor time of the server behind it for one call.
    pub(super) upstream: f64,
}
