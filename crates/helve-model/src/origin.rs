//! Where a configured value was written, and which layer of configuration it belongs to.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The place a value comes from; shown in every message about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// Built into helve.
    BuiltIn,
    /// A file, with line and column counted from 1.
    File {
        /// The file as it was named.
        path: Arc<Path>,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
    },
    /// An option or argument of the command line.
    CommandLine,
    /// Handed in by the program that embeds helve.
    Program,
}

/// The layer a value comes from: precedence is the order of this enum, later layers win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// helve's own defaults.
    Defaults,
    /// The person's own files.
    User,
    /// Files found in the project directory: not trusted until the person says so.
    Project,
    /// Files the person named for this run.
    Explicit,
    /// The command line, or the embedding program.
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => formatter.write_str("helve's defaults"),
            Self::File { path, line, column } => write!(formatter, "{}:{line}:{column}", path.display()),
            Self::CommandLine => formatter.write_str("the command line"),
            Self::Program => formatter.write_str("the embedding program"),
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Defaults => "defaults",
            Self::User => "user",
            Self::Project => "project",
            Self::Explicit => "explicit",
            Self::CommandLine => "command line",
        })
    }
}
