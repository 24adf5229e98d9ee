//! Claude Desktop's `claude_desktop_config.json`: programs only.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "claude-desktop",
    title: "Claude Desktop",
    format: Format::Json,
    syntax: &interpolate::NONE,
    roots: &[&["mcpServers"]],
    list: false,
    only_servers: false,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
    written_types: ["", "http", "sse"],
    read: servers_only,
};

const KEYS: &[Known] = &[
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("type", Field::Type),
    known("url", Field::Url),
    known("headers", Field::Headers),
    known("cwd", Field::WorkingDirectory),
    known("disabled", Field::Disabled),
];
