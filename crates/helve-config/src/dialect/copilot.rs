//! Copilot CLI's `mcp-config.json`: `tools: ["*"]` means all.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "copilot",
    title: "Copilot CLI",
    format: Format::Json,
    syntax: &interpolate::SHELL_LIKE,
    roots: &[&["mcpServers"]],
    list: false,
    only_servers: true,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
    written_types: ["local", "http", "sse"],
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
    known("tools", Field::Tools),
    known("timeout", Field::CallTimeout(Unit::Milliseconds)),
    known("disabled", Field::Disabled),
    known("oauth", Field::OAuth),
    known("isDefaultServer", Field::Ignored),
    known("displayName", Field::Ignored),
    known("description", Field::Ignored),
];
