//! Codex's `config.toml`: nothing is filled in; variables have keys of their own. Grok's `config.toml` is the same.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "codex",
    title: "Codex",
    format: Format::Toml,
    syntax: &interpolate::NONE,
    roots: &[&["mcp_servers"]],
    list: false,
    only_servers: false,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Streamable,
    http: HttpFlavour::Streamable,
    written_types: ["", "", ""],
    read: servers_only,
};

const KEYS: &[Known] = &[
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("env_vars", Field::PassedVariables),
    known("cwd", Field::WorkingDirectory),
    known("url", Field::Url),
    known("bearer_token_env_var", Field::BearerVariable),
    known("http_headers", Field::Headers),
    known("headers", Field::Headers),
    known("env_http_headers", Field::HeaderVariables),
    known("http_headers_helper", Field::Unsupported),
    known("enabled", Field::Enabled),
    known("required", Field::Required),
    known("startup_timeout_sec", Field::StartupTimeout(Unit::Seconds)),
    known("startup_timeout_ms", Field::StartupTimeout(Unit::Milliseconds)),
    known("tool_timeout_sec", Field::CallTimeout(Unit::Seconds)),
    known("enabled_tools", Field::Tools),
    known("disabled_tools", Field::DisabledTools),
    known("default_tools_approval_mode", Field::ApprovalMode),
    known("tools", Field::ToolTable),
    known("supports_parallel_tool_calls", Field::Parallel),
    known("omit_tools_from", Field::Ignored),
    known("scopes", Field::Ignored),
    known("oauth", Field::OAuth),
    known("oauth_resource", Field::Ignored),
    known("auth", Field::Ignored),
    known("environment_id", Field::Ignored),
    known("bearer_token", Field::Unsupported),
    known("type", Field::Type),
];
