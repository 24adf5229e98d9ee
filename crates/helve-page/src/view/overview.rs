//! What the overview shows.

use super::{CallRow, Link, Tone};

/// What needs a person, four numbers of the last hour, the newest calls. At `/`; live at `/live/overview`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// One line for each thing that needs a person.
    pub needs: Vec<Need>,
    /// Servers that are ready, of all that are on.
    pub ready: u64,
    /// Servers that are on.
    pub servers: u64,
    /// Calls of the last hour.
    pub calls: Series,
    /// Calls that a rule or a person refused.
    pub refused: Series,
    /// Calls that ended in an error.
    pub errors: Series,
    /// 95 of 100 calls were done within so many microseconds.
    pub p95_us: Series,
    /// The tools called most in the last hour.
    pub busiest: Vec<BusyTool>,
    /// The newest calls, 20 at most.
    pub newest: Vec<CallRow>,
    /// How agents come in; shown large while there were no calls yet, folded afterwards.
    pub connect: Vec<ConnectLine>,
}

/// A number and how it came about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// The number.
    pub total: u64,
    /// Its parts, oldest first, 60 at most.
    pub points: Vec<u64>,
}

/// Something that needs a person.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Need {
    /// How bad it is.
    pub tone: Tone,
    /// What it is, as in `postgres is down`.
    pub what: String,
    /// Why, and what comes next.
    pub detail: Option<String>,
    /// Where it is put right.
    pub link: Link,
}

/// A tool and how often it was called.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BusyTool {
    /// Its server.
    pub server: String,
    /// Its name.
    pub tool: String,
    /// Calls in the last hour.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
}

/// How one application is connected with the hub.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConnectLine {
    /// As in `Claude Code`.
    pub application: String,
    /// The line to run, or the text to put into a file.
    pub line: String,
    /// Where it goes, as in `in a terminal`, `into ~/.codex/config.toml`.
    pub place: String,
}
