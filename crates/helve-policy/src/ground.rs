//! What a decision rests on: the rule, the list or the default, and where it was written.

use std::fmt;
use std::sync::Arc;

use helve_model::text::one_line;
use helve_model::{Action, CallKind, Hint, Listed, Origin, QualifiedName, Risk, Rule};

use crate::access::Trust;
use crate::approval::ApprovalSpan;
use crate::hints;
use crate::party;
use crate::rules::SourcedRule;
use crate::scope::ScopeExclusion;

/// Why a decision came out as it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// What decided.
    pub decider: Decider,
    /// How much harm the call could do.
    pub risk: Risk,
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// A rule.
    Rule(Arc<SourcedRule>),
    /// An entry of a list names the tool.
    Listed(ListName, Arc<Listed>),
    /// The server has a `tools` list and the tool is not on it. The origin is the server's entry.
    NotListed(Origin),
    /// The server says that the tool only reads, and its entry has `trust_annotations`.
    TrustedAnnotation(Origin),
    /// The tool is on `tools`, but the server is read-only and says that this tool writes. The origin is the server's
    /// entry.
    AnnotatedWriting(Origin),
    /// Nobody said anything about this resource or prompt, and what only reads may. The origin is the server's entry.
    Reading(Origin),
    /// Nobody said anything about this call. The origin is the server's entry.
    Default(Origin),
    /// Nobody said anything about this call, and here nothing runs that nobody spoke of. The origin is the server's entry.
    Unlisted(Origin),
    /// Nobody said anything about this call, and its agent asks its person itself. The origin is the server's entry.
    LeftToAgent(Origin),
    /// No rule opens this method, which is not one of the protocol's. The origin is the server's entry.
    Unopened(Origin),
    /// Neither a rule nor a list settles it, and a person typed the call.
    Typed(Origin),
    /// No server of that name is configured.
    ServerUnknown,
    /// The server is switched off.
    ServerDisabled(Origin),
    /// The server comes from a project that its person has not trusted.
    ServerUntrusted(Origin),
    /// Its definition is not the one that its person pinned.
    ChangedSincePinned,
    /// A person approved it.
    Approved(ApprovalSpan),
    /// A person was asked and said no.
    Declined,
    /// It does not belong to what its agent may see and call.
    OutOfScope(ScopeExclusion),
    /// The rule set allows everything.
    AllowAll,
}

/// One of a server's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListName {
    /// `tools`, which is `tools_whitelist` or `enabled_tools` in other dialects.
    Tools,
    /// `write_tools`, which is `tools_write_whitelist` in another dialect.
    WriteTools,
    /// `disabled_tools`.
    DisabledTools,
}

impl Ground {
    /// What to change so that what was decided against may run; `None` when nothing was.
    #[must_use]
    pub fn hint(&self, name: &QualifiedName, kind: CallKind) -> Option<Hint> {
        hints::for_decider(&self.decider, name, kind)
    }
}

impl Decider {
    /// Where what decided was written; `None` when nobody wrote it.
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Rule(source) => Some(&source.rule.origin),
            Self::Listed(_, entry) => Some(&entry.origin),
            Self::NotListed(origin)
            | Self::TrustedAnnotation(origin)
            | Self::AnnotatedWriting(origin)
            | Self::Reading(origin)
            | Self::Default(origin)
            | Self::Unlisted(origin)
            | Self::LeftToAgent(origin)
            | Self::Unopened(origin)
            | Self::Typed(origin)
            | Self::ServerDisabled(origin)
            | Self::ServerUntrusted(origin) => Some(origin),
            Self::ServerUnknown
            | Self::ChangedSincePinned
            | Self::Approved(_)
            | Self::Declined
            | Self::OutOfScope(_)
            | Self::AllowAll => None,
        }
    }
}

impl Decider {
    /// What decided, apart from the line it stands on: two that mean the same ask the same.
    #[must_use]
    pub fn meaning(&self) -> String {
        match self {
            Self::Rule(source) => {
                let place = match &source.rule.origin {
                    Origin::File { path, .. } => path.display().to_string(),
                    other => other.to_string(),
                };
                // As it is, with the place of every rule of its file.
                let rule = Rule { origin: Origin::BuiltIn, ..source.rule.clone() };
                format!("rule {rule:?} {:?} in {place}", source.trust)
            }
            Self::Listed(list, entry) => format!("list {list:?} {}", entry.glob),
            Self::NotListed(_) => "not listed".to_owned(),
            Self::TrustedAnnotation(_) => "trusted annotation".to_owned(),
            Self::AnnotatedWriting(_) => "annotated writing".to_owned(),
            Self::Reading(_) => "reading".to_owned(),
            Self::Default(_) => "default".to_owned(),
            Self::Unlisted(_) => "unlisted".to_owned(),
            Self::LeftToAgent(_) => "left to agent".to_owned(),
            Self::Unopened(_) => "unopened".to_owned(),
            Self::Typed(_) => "typed".to_owned(),
            Self::ServerUnknown => "server unknown".to_owned(),
            Self::ServerDisabled(_) => "server disabled".to_owned(),
            Self::ServerUntrusted(_) => "server untrusted".to_owned(),
            Self::ChangedSincePinned => "changed since pinned".to_owned(),
            Self::Approved(span) => format!("approved {span}"),
            Self::Declined => "declined".to_owned(),
            Self::OutOfScope(left_out) => format!("out of scope {left_out}"),
            Self::AllowAll => "allow all".to_owned(),
        }
    }
}

impl fmt::Display for Decider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(source) => write!(formatter, "{source}"),
            Self::Listed(list, entry) => {
                write!(formatter, "`{}` in the list of {list} at {}", one_line(&entry.glob), entry.origin)
            }
            Self::NotListed(origin) => {
                write!(formatter, "it is not in the list of allowed tools of the server at {origin}")
            }
            Self::TrustedAnnotation(origin) => {
                write!(formatter, "the server says it only reads, and `trust_annotations` is set at {origin}")
            }
            Self::AnnotatedWriting(origin) => {
                write!(formatter, "the server says that it writes, and is read-only at {origin}")
            }
            Self::Reading(_) => formatter.write_str("no rule mentions it, and it only reads"),
            Self::Default(_) => formatter.write_str("no rule or list mentions it"),
            Self::Unlisted(_) => {
                formatter.write_str("no rule or list mentions it, and nothing runs here that none of them mentions")
            }
            Self::LeftToAgent(_) => {
                formatter.write_str("no rule or list mentions it, and the agent asks its person itself")
            }
            Self::Unopened(_) => formatter.write_str("no rule opens this method"),
            Self::Typed(_) => formatter.write_str("no rule is against it, and a person typed it"),
            Self::ServerUnknown => formatter.write_str("no server of that name is configured"),
            Self::ServerDisabled(origin) => write!(formatter, "the server is switched off at {origin}"),
            Self::ServerUntrusted(origin) => {
                write!(formatter, "the server comes from a project that is not trusted yet, at {origin}")
            }
            Self::ChangedSincePinned => formatter.write_str("its definition is not the one that was pinned"),
            Self::Approved(span) => write!(formatter, "a person approved it {span}"),
            Self::Declined => formatter.write_str("a person was asked and said no"),
            Self::OutOfScope(left_out) => write!(formatter, "{left_out}"),
            Self::AllowAll => formatter.write_str("every call is allowed here"),
        }
    }
}

impl fmt::Display for SourcedRule {
    /// ``rule `github/*` with `title=x*` (deny, user layer) at helve.toml:3:1``.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = &self.rule;
        write!(formatter, "rule `{}`", one_line(&rule.tool))?;
        if let Some(pattern) = &rule.pattern {
            write!(formatter, " with `{}`", one_line(pattern))?;
        }
        if let Some(kind) = rule.kind {
            write!(formatter, " for each {kind}")?;
        }
        if !rule.who.is_empty() {
            write!(formatter, " of {}", party::in_words(rule))?;
        }
        match (rule.risk, rule.action) {
            (None, _) => {}
            (Some(risk), Action::Allow) => write!(formatter, " up to {risk} risk")?,
            (Some(risk), Action::Deny | Action::Ask) => write!(formatter, " from {risk} risk up")?,
        }
        if let Some(by) = rule.by {
            write!(formatter, ", answered by {by}")?;
        }
        let untrusted = if self.trust == Trust::Untrusted { "untrusted " } else { "" };
        write!(formatter, " ({}, {untrusted}{} layer) at {}", rule.action, rule.layer, rule.origin)
    }
}

impl fmt::Display for ListName {
    /// What is on it. Each dialect has a key of its own for the list, which only whoever reads the file can tell.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tools => "allowed tools",
            Self::WriteTools => "allowed writing tools",
            Self::DisabledTools => "disabled tools",
        })
    }
}
