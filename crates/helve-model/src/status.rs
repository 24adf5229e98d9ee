//! How a server is doing, as people and programs are told.

use std::fmt;

use crate::ErrorCode;

/// The state of one server: small, public, each with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerStatus {
    /// Not started, and will not be until something changes.
    Disabled(DisabledReason),
    /// Not connected yet, or again on its way.
    Pending(PendingReason),
    /// Connected.
    Connected,
    /// Could not be connected, or broke.
    Failed(Failure),
    /// Wants credentials first.
    NeedsAuth {
        /// What the server said it wants (the `WWW-Authenticate` header), if it said anything.
        challenge: Option<String>,
    },
}

/// Why a server is not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DisabledReason {
    /// The configuration says so.
    Configured,
    /// Switched off while running.
    Toggled,
    /// Comes from a project that its person has not trusted.
    Untrusted,
    /// A variable it needs is not set.
    UnsetVariable(String),
    /// Its entry in the configuration has mistakes.
    Invalid,
    /// A person has to be asked for this value first.
    NeedsInput(String),
    /// helve cannot do what it asks for.
    Unsupported(String),
    /// MCP as a whole is off.
    HostOff,
    /// It is the very program that would start it, serving: it would start itself again, without end.
    Itself,
    /// The program that would start it was started by itself, through so many servers.
    Nested(u32),
    /// It is in no configuration any more, or another one has taken its place.
    Gone,
}

/// Why a server is not connected yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingReason {
    /// Waits for its first use.
    Lazy,
    /// Is being connected.
    Connecting,
    /// Was connected, broke, and is tried again.
    Reconnecting,
}

/// What broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of error.
    pub code: ErrorCode,
    /// One line that says it.
    pub message: String,
}

impl ServerStatus {
    /// The one-word state.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Disabled(_) => "disabled",
            Self::Pending(_) => "pending",
            Self::Connected => "connected",
            Self::Failed(_) => "failed",
            Self::NeedsAuth { .. } => "needs-auth",
        }
    }
}

impl fmt::Display for ServerStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())?;
        match self {
            Self::Disabled(reason) => write!(formatter, " ({reason})"),
            Self::Pending(reason) => write!(formatter, " ({reason})"),
            Self::Failed(failure) => write!(formatter, " ({}: {})", failure.code, failure.message),
            Self::NeedsAuth { challenge: Some(challenge) } => write!(formatter, " ({challenge})"),
            Self::Connected | Self::NeedsAuth { challenge: None } => Ok(()),
        }
    }
}

impl fmt::Display for DisabledReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured => formatter.write_str("switched off in the configuration"),
            Self::Toggled => formatter.write_str("switched off"),
            Self::Untrusted => formatter.write_str("untrusted project"),
            Self::UnsetVariable(name) => write!(formatter, "{name} is not set"),
            Self::Invalid => formatter.write_str("its configuration has mistakes"),
            Self::NeedsInput(id) => write!(formatter, "asks for {id}"),
            Self::Unsupported(what) => formatter.write_str(what),
            Self::HostOff => formatter.write_str("MCP is off"),
            Self::Itself => formatter.write_str("helve itself"),
            Self::Nested(depth) => write!(formatter, "helve runs as a server of helve, {depth} deep"),
            Self::Gone => formatter.write_str("no longer configured"),
        }
    }
}

impl fmt::Display for PendingReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Lazy => "starts at first use",
            Self::Connecting => "connecting",
            Self::Reconnecting => "reconnecting",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_reads() {
        let shown = |status: ServerStatus| status.to_string();
        insta::assert_snapshot!(shown(ServerStatus::Connected), @"connected");
        insta::assert_snapshot!(shown(ServerStatus::Pending(PendingReason::Lazy)), @"pending (starts at first use)");
        insta::assert_snapshot!(
            shown(ServerStatus::Disabled(DisabledReason::UnsetVariable("GITHUB_TOKEN".into()))),
            @"disabled (GITHUB_TOKEN is not set)"
        );
        insta::assert_snapshot!(
            shown(ServerStatus::Failed(Failure { code: ErrorCode::TransportError, message: "exited with status 1".into() })),
            @"failed (TRANSPORT_ERROR: exited with status 1)"
        );
        insta::assert_snapshot!(shown(ServerStatus::NeedsAuth { challenge: None }), @"needs-auth");
    }
}
