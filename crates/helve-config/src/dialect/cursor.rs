//! Cursor's `mcp.json`.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "cursor",
    title: "Cursor",
    format: Format::Json,
    syntax: &interpolate::EDITOR,
    roots: &[&["mcpServers"]],
    list: false,
    only_servers: true,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Auto,
    written_types: ["stdio", "", "sse"],
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
    known("envFile", Field::EnvironmentFile),
    known("auth", Field::OAuth),
    known("disabled", Field::Disabled),
    known("enabled", Field::Enabled),
    known("transport", Field::Type),
    known("description", Field::Ignored),
];
