//! What somebody can do about a failure, as data: every door says it in its own words.
//!
//! A hint names things (a tool, a server, a place in a file, a meaning of a key), never a command, an option or a button:
//! those belong to whoever shows it. [`fmt::Display`] is the wording for doors that have none of their own.

use std::fmt;
use std::time::Duration;

use crate::name::{PlaceName, Spelling};
use crate::text::one_line;
use crate::{CallKind, Origin, QualifiedName, ServerName};

/// One thing that somebody can do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// A sentence that is the same at every door.
    Text(String),
    /// Ask for it where a person can say yes to this one call.
    AllowOnce {
        /// What is to be called.
        name: QualifiedName,
        /// Which kind of call.
        kind: CallKind,
    },
    /// Add a rule of one's own that allows such calls.
    AddRule {
        /// What is to be called.
        name: QualifiedName,
        /// Which kind of call.
        kind: CallKind,
        /// With which arguments, where a rule about such arguments is in the way: as in a rule.
        pattern: Option<String>,
    },
    /// A rule stands in the way that no rule of one's own overrules: change it where it is written.
    ChangeRule {
        /// Where it is written.
        origin: Origin,
        /// Why no other rule helps.
        because: RuleHolds,
    },
    /// Add something to a list of a server's entry.
    AddToList {
        /// Whose list.
        server: ServerName,
        /// Which list.
        list: ServerKey,
        /// What is to be added.
        entry: String,
        /// Where the entry is written.
        origin: Origin,
    },
    /// Take something out of a list of a server's entry.
    TakeFromList {
        /// Whose list.
        server: ServerName,
        /// Which list.
        list: ServerKey,
        /// What is to be taken out.
        entry: String,
        /// Where it is written.
        origin: Origin,
    },
    /// Give a server more time.
    RaiseTimeout {
        /// Which server.
        server: ServerName,
        /// Which of its times.
        key: ServerKey,
        /// How long it had.
        had: Duration,
        /// Where its entry is written.
        origin: Origin,
    },
    /// Configure a server of this name.
    AddServer {
        /// Which name.
        server: ServerName,
    },
    /// Switch a server on.
    EnableServer {
        /// Which one.
        server: ServerName,
    },
    /// Sign in to a server.
    SignIn {
        /// Which one.
        server: ServerName,
    },
    /// Look at what a project would run, then trust it.
    Trust {
        /// What it is about, where that is one entry.
        origin: Option<Origin>,
    },
    /// Look at what changed in a pinned definition, then accept it.
    AcceptDefinition {
        /// Of which tool.
        name: QualifiedName,
    },
    /// Look at which servers there are.
    ListServers,
    /// Look at which tools there are.
    ListTools,
    /// Look at which resources or prompts there are.
    ListOffers(CallKind),
    /// Look at how a server is doing and what it writes.
    ShowServer {
        /// Which one.
        server: ServerName,
    },
    /// Look at a tool's definition.
    ShowTool {
        /// Which one.
        name: QualifiedName,
    },
    /// Look for mistakes in the configuration.
    CheckConfiguration,
    /// Ask for a resource from time to time instead of watching it.
    PollInstead,
    /// Say which application's form a file has that was named for this run.
    NameDialect,
    /// Look at which hubs were joined and how they are doing.
    ShowHubs,
    /// Join a hub again, with a token that counts.
    JoinAgain {
        /// The name it was joined under.
        place: PlaceName,
    },
    /// Keep a secret under this name.
    KeepSecret {
        /// Which name.
        name: String,
    },
}

/// Why a rule holds whatever else a person writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleHolds {
    /// A project may narrow what its person allows elsewhere.
    ProjectNarrows,
    /// The project's own rules are asked before the person's.
    ProjectFirst,
    /// It is of the command line, or of a file that was named for this run.
    OfThisRun,
}

/// A key of a server's entry, by its meaning: each dialect spells it in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerKey {
    /// The only tools that exist.
    Tools,
    /// Tools that may write.
    WriteTools,
    /// Tools that do not exist.
    DisabledTools,
    /// How long a call may stay without answer or progress.
    CallTimeout,
    /// How long the server may take to start.
    StartupTimeout,
}

impl Hint {
    /// A sentence that is the same at every door.
    pub fn text(sentence: impl Into<String>) -> Self {
        Self::Text(sentence.into())
    }
}

impl ServerKey {
    /// What helve's own file calls it.
    #[must_use]
    pub const fn own_spelling(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::WriteTools => "write_tools",
            Self::DisabledTools => "disabled_tools",
            Self::CallTimeout => "timeout_seconds",
            Self::StartupTimeout => "startup_timeout_seconds",
        }
    }
}

impl From<String> for Hint {
    fn from(sentence: String) -> Self {
        Self::Text(sentence)
    }
}

impl From<&str> for Hint {
    fn from(sentence: &str) -> Self {
        Self::Text(sentence.to_owned())
    }
}

impl From<&String> for Hint {
    fn from(sentence: &String) -> Self {
        Self::Text(sentence.clone())
    }
}

impl From<&Self> for Hint {
    fn from(hint: &Self) -> Self {
        hint.clone()
    }
}

impl fmt::Display for RuleHolds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ProjectNarrows => "a project may narrow what you allow",
            Self::ProjectFirst => "the rules of a project are asked before your own",
            Self::OfThisRun => "it was named for this run, and is asked before all others",
        })
    }
}

impl fmt::Display for ServerKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tools => "the list of its tools",
            Self::WriteTools => "the list of its tools that may write",
            Self::DisabledTools => "the list of its disabled tools",
            Self::CallTimeout => "the time of its calls",
            Self::StartupTimeout => "the time it has to start",
        })
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |name: &QualifiedName| one_line(&Spelling::Slash.render(name)).into_owned();
        match self {
            Self::Text(sentence) => formatter.write_str(sentence),
            Self::AllowOnce { name, .. } => {
                write!(formatter, "to allow it once, ask for `{}` where a person can answer", shown(name))
            }
            Self::AddRule { name, kind, pattern } => {
                let what = if *kind == CallKind::Tool { String::new() } else { format!("the {kind} ") };
                write!(formatter, "to allow it for good, add a rule of your own that allows {what}`{}`", shown(name))?;
                match pattern {
                    Some(pattern) => write!(formatter, " with `{}`", one_line(pattern)),
                    None => Ok(()),
                }
            }
            Self::ChangeRule { origin, because } => write!(formatter, "change the rule at {origin}: {because}"),
            Self::AddToList { server, list, entry, origin } => {
                write!(formatter, "add `{}` to {list}, of server `{server}` at {origin}", one_line(entry))
            }
            Self::TakeFromList { server, list, entry, origin } => {
                write!(formatter, "take `{}` out of {list}, of server `{server}` at {origin}", one_line(entry))
            }
            Self::RaiseTimeout { server, key, had, origin } => {
                write!(formatter, "raise {key}, {} s now, of server `{server}` at {origin}", had.as_secs_f64())
            }
            Self::AddServer { server } => write!(formatter, "configure a server `{server}`"),
            Self::EnableServer { server } => write!(formatter, "switch server `{server}` on"),
            Self::SignIn { server } => write!(formatter, "sign in to server `{server}`"),
            Self::Trust { origin: Some(origin) } => {
                write!(formatter, "look at what {origin} would run, then trust it")
            }
            Self::Trust { origin: None } => formatter.write_str("look at what would run, then trust it"),
            Self::AcceptDefinition { name } => {
                write!(formatter, "look at what changed in `{}`, then accept it", shown(name))
            }
            Self::ListServers => formatter.write_str("look at which servers there are"),
            Self::ListTools => formatter.write_str("look at which tools there are"),
            Self::ListOffers(kind) => write!(formatter, "look at which {kind}s there are"),
            Self::ShowServer { server } => write!(formatter, "look at how server `{server}` is doing"),
            Self::ShowTool { name } => write!(formatter, "look at the whole definition of `{}`", shown(name)),
            Self::CheckConfiguration => formatter.write_str("look for mistakes in the configuration"),
            Self::PollInstead => formatter.write_str("poll the resource instead"),
            Self::NameDialect => formatter.write_str("say which application's form the file has"),
            Self::ShowHubs => formatter.write_str("look at how the hubs are doing"),
            Self::JoinAgain { place } => write!(formatter, "join the hub `{place}` again, with a token that counts"),
            Self::KeepSecret { name } => write!(formatter, "keep a secret under the name `{}`", one_line(name)),
        }
    }
}
