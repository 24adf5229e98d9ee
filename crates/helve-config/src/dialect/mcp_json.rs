//! `.mcp.json` and everything that looks like it: go-cli, Claude Code's project file, fastmcp, philschmid's mcp-cli,
//! the Inspector, Kimi, Pi, Mastra. Keys that only some of them know are read in all of them.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "mcp-json",
    title: "Claude Code",
    format: Format::Json,
    syntax: &interpolate::OWN,
    roots: &[&["mcpServers"]],
    list: false,
    only_servers: true,
    closed: true,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
    written_types: ["stdio", "http", "sse"],
    read: servers_only,
};

const KEYS: &[Known] = &[
    known("type", Field::Type),
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("cwd", Field::WorkingDirectory),
    known("url", Field::Url),
    known("headers", Field::Headers),
    known("transport", Field::Type),
    known("envFile", Field::EnvironmentFile),
    known("serverUrl", Field::Url),
    known("baseUrl", Field::Url),
    known("httpUrl", Field::StreamableUrl),
    known("headersHelper", Field::Unsupported),
    known("oauth", Field::OAuth),
    known("auth", Field::OAuth),
    known("disabled", Field::Disabled),
    known("enabled", Field::Enabled),
    known("timeout", Field::CallTimeout(Unit::MillisecondsFromOneSecond)),
    known("request_timeout_ms", Field::CallTimeout(Unit::Milliseconds)),
    known("connectionTimeout", Field::StartupTimeout(Unit::Milliseconds)),
    known("tools", Field::Tools),
    known("allowedTools", Field::Tools),
    known("includeTools", Field::Tools),
    known("enabled_tools", Field::Tools),
    known("disabledTools", Field::DisabledTools),
    known("blockedTools", Field::DisabledTools),
    known("excludeTools", Field::DisabledTools),
    known("disabled_tools", Field::DisabledTools),
    known("autoApprove", Field::ApprovedTools),
    known("alwaysAllow", Field::ApprovedTools),
    known("alwaysLoad", Field::Ignored),
    known("protocolEra", Field::Ignored),
    known("protocolVersion", Field::ProtocolVersion),
    known("description", Field::Ignored),
    known("name", Field::Ignored),
    known("icon", Field::Ignored),
    known("$schema", Field::Ignored),
];
