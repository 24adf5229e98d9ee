//! Which kinds of failure exist, for code that branches on them.

use std::fmt;

/// Why a call did not produce an outcome, as a closed set to branch on.
///
/// The spelling ([`ErrorCode::as_str`]) is part of the public surface: it appears in JSON output,
/// in logs and in the broker's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorCode {
    /// The connection could not be made, broke, or could not be written to.
    TransportError,
    /// The peer said something the protocol does not allow.
    ProtocolError,
    /// The server has no tool of that name.
    ToolNotFound,
    /// The arguments do not fit the tool's schema, or the peer rejected the parameters.
    InvalidParams,
    /// The tool ran and reported a failure of its own.
    ToolError,
    /// No answer came within the time allowed.
    Timeout,
    /// No server of that name is configured.
    ServerNotFound,
    /// The server is configured but switched off.
    ServerDisabled,
    /// The server is configured and on, but is not connected now.
    ServerUnavailable,
    /// A rule refuses the call.
    Denied,
    /// A rule asks for an approval and nobody gave one.
    ApprovalRequired,
    /// The server wants credentials it was not given.
    AuthRequired,
    /// The caller gave up.
    Cancelled,
    /// A named limit of helve was reached.
    LimitExceeded,
    /// The server has no resource of that URI.
    ResourceNotFound,
    /// The server has no prompt of that name.
    PromptNotFound,
    /// The server comes from a project that its person has not trusted yet.
    Untrusted,
    /// The configuration is wrong.
    Config,
}

impl ErrorCode {
    /// Every code, in the order of the enum.
    pub const ALL: [Self; 18] = [
        Self::TransportError,
        Self::ProtocolError,
        Self::ToolNotFound,
        Self::InvalidParams,
        Self::ToolError,
        Self::Timeout,
        Self::ServerNotFound,
        Self::ServerDisabled,
        Self::ServerUnavailable,
        Self::Denied,
        Self::ApprovalRequired,
        Self::AuthRequired,
        Self::Cancelled,
        Self::LimitExceeded,
        Self::ResourceNotFound,
        Self::PromptNotFound,
        Self::Untrusted,
        Self::Config,
    ];

    /// The stable spelling, for JSON and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TransportError => "TRANSPORT_ERROR",
            Self::ProtocolError => "PROTOCOL_ERROR",
            Self::ToolNotFound => "TOOL_NOT_FOUND",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::ToolError => "TOOL_ERROR",
            Self::Timeout => "TIMEOUT",
            Self::ServerNotFound => "SERVER_NOT_FOUND",
            Self::ServerDisabled => "SERVER_DISABLED",
            Self::ServerUnavailable => "SERVER_UNAVAILABLE",
            Self::Denied => "DENIED",
            Self::ApprovalRequired => "APPROVAL_REQUIRED",
            Self::AuthRequired => "AUTH_REQUIRED",
            Self::Cancelled => "CANCELLED",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
            Self::ResourceNotFound => "RESOURCE_NOT_FOUND",
            Self::PromptNotFound => "PROMPT_NOT_FOUND",
            Self::Untrusted => "UNTRUSTED",
            Self::Config => "CONFIG",
        }
    }

    /// The code with this spelling.
    #[must_use]
    pub fn parse(spelling: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == spelling)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn every_spelling_reads_back() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
        }
        assert_eq!(ErrorCode::parse("timeout"), None);
    }
}
