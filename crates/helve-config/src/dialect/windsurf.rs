//! Windsurf's `mcp_config.json`: an address is a `serverUrl`. Antigravity's is the same.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "windsurf",
    title: "Windsurf",
    format: Format::Json,
    syntax: &interpolate::EDITOR,
    roots: &[&["mcpServers"]],
    list: false,
    only_servers: true,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Auto,
    written_types: ["", "", "sse"],
    read: servers_only,
};

const KEYS: &[Known] = &[
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("cwd", Field::WorkingDirectory),
    known("serverUrl", Field::Url),
    known("url", Field::Url),
    known("headers", Field::Headers),
    known("type", Field::Type),
    known("transport", Field::Type),
    known("disabled", Field::Disabled),
    known("disabledTools", Field::DisabledTools),
    known("alwaysAllow", Field::ApprovedTools),
    known("oauth", Field::OAuth),
    known("timeout", Field::CallTimeout(Unit::Milliseconds)),
];
