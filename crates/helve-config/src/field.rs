//! What a key of a server's entry can mean. A dialect is, for the most part, a table from keys to these meanings.

/// The meaning of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// The server's name, where servers are a list.
    Name,
    /// How it is reached.
    Type,
    /// The program; a list holds its arguments too.
    Command,
    /// Program and arguments in one line, split as a shell does; an address when the transport is HTTP.
    Endpoint,
    Arguments,
    Environment,
    EnvironmentFile,
    /// Names of variables to pass on; unset ones are left out.
    PassedVariables,
    /// Names of variables that hold secrets; unset ones keep the server from running.
    RequiredVariables,
    InheritEnvironment,
    /// What the program may touch.
    Sandbox,
    WorkingDirectory,
    /// Which of helve's built-in servers.
    Builtin,
    /// An option of a built-in server.
    BuiltinOption(OptionShape),
    Url,
    /// An address that speaks Streamable HTTP.
    StreamableUrl,
    Headers,
    /// Header names with the variables that hold their values.
    HeaderVariables,
    /// The variable that holds a bearer token.
    BearerVariable,
    AuthType,
    AuthToken,
    OAuth,
    Enabled,
    Disabled,
    Required,
    /// `keep-alive` or `ephemeral`, and helve's own lazy start.
    Lazy,
    OneAtATime,
    Shared,
    /// Secrets are taken out of results.
    Redact,
    /// What a hub keeps of its calls.
    Record,
    /// How long an agent's own runs on without it.
    PrivateIdle,
    Parallel,
    ProtocolVersion,
    StartupTimeout(Unit),
    CallTimeout(Unit),
    MaxRetries,
    /// `strict` or `server`.
    Validation,
    /// Only these tools exist.
    Tools,
    WriteTools,
    DisabledTools,
    Readonly,
    TrustAnnotations,
    /// These tools run without asking.
    ApprovedTools,
    /// All tools run without asking.
    ApproveAll,
    /// Codex: `approve`, `prompt`, `auto`, `writes` for all tools.
    ApprovalMode,
    /// Codex: a table of tools with their approval modes.
    ToolTable,
    /// For people, or for the application's own screen.
    Ignored,
    /// Means something to the application that helve cannot do; says so.
    Unsupported,
}

/// What a number of a time-out counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    /// Milliseconds, where anything under a second is a mistake that Claude Code ignores.
    MillisecondsFromOneSecond,
}

/// What an option of a built-in server holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionShape {
    Path,
    Paths,
    Flag,
    Count,
}

/// One key and its meaning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub(crate) key: &'static str,
    pub(crate) field: Field,
}

pub(crate) const fn known(key: &'static str, field: Field) -> Known {
    Known { key, field }
}
