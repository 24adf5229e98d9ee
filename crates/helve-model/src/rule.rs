//! What a person may say about a call: a rule, its action, the risk it speaks of.

use std::fmt;

use crate::{Layer, Origin};

/// One rule, as written; `helve-policy` gives it its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Which tools: a glob in any spelling (`github/*`, `github:create_*`, `mcp__github__*`).
    pub tool: String,
    /// Which arguments: `key=glob`, or a glob over any string argument. `None`: all.
    pub pattern: Option<String>,
    /// Which risk: `deny` and `ask` from this one up, `allow` up to this one. `None`: any.
    pub risk: Option<Risk>,
    /// Which kind of call. `None`: tools.
    pub kind: Option<CallKind>,
    /// Whose calls: one of these. Empty: everybody's.
    pub who: Vec<Who>,
    /// What happens.
    pub action: Action,
    /// Where it was written.
    pub origin: Origin,
    /// In which layer it was written.
    pub layer: Layer,
    /// Whose answer counts where it says *ask* and calls wait in a queue. `None`: as the risk of the call says.
    pub by: Option<Answerers>,
}

impl Rule {
    /// A rule about every call of these tools, whoever makes it.
    pub fn new(tool: impl Into<String>, action: Action, origin: Origin, layer: Layer) -> Self {
        Self {
            tool: tool.into(),
            pattern: None,
            risk: None,
            kind: None,
            who: Vec::new(),
            action,
            origin,
            layer,
            by: None,
        }
    }
}

/// Whose answer counts for a call that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answerers {
    /// Whoever is behind the agent, by its own form, or a person elsewhere.
    Anyone,
    /// A person on the page or at a terminal: a form is the agent's to fill in.
    Page,
}

/// Whose calls a rule speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// Of whoever holds a token whose name this glob matches.
    Token(String),
    /// Of the person whose machine it is, and of their agents that need no token.
    Local,
    /// Of a client that calls itself so. That is its own word: such a rule can only make a decision stricter.
    Agent(String),
}

impl Who {
    /// Reads `token:GLOB`, `local` or `agent:GLOB`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "local" {
            return Some(Self::Local);
        }
        match text.split_once(':')? {
            (_, "") => None,
            ("token", glob) => Some(Self::Token(glob.to_owned())),
            ("agent", glob) => Some(Self::Agent(glob.to_owned())),
            _ => None,
        }
    }
}

/// What a rule does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// It runs.
    Allow,
    /// It does not.
    Deny,
    /// The person decides.
    Ask,
}

/// How much harm a call could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Risk {
    /// Reads.
    Low,
    /// Writes, in a way that can be undone or repeated.
    Medium,
    /// Destroys, reaches out, or is unknown.
    High,
}

/// What is being asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// `tools/call`.
    Tool,
    /// `resources/read` and subscriptions.
    Resource,
    /// `prompts/get`.
    Prompt,
    /// A method or notification that is not one of the protocol's.
    Method,
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        })
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

impl fmt::Display for Answerers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Anyone => "anyone",
            Self::Page => "page",
        })
    }
}

impl fmt::Display for Who {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(glob) => write!(formatter, "token:{glob}"),
            Self::Local => formatter.write_str("local"),
            Self::Agent(glob) => write!(formatter, "agent:{glob}"),
        }
    }
}

impl fmt::Display for CallKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Method => "method",
        })
    }
}
