//! loom's `mcp-config.toml`: `[[servers]]` that helve starts.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "loom",
    title: "loom",
    format: Format::Toml,
    syntax: &interpolate::OWN,
    roots: &[&["servers"]],
    list: true,
    only_servers: true,
    closed: true,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
    written_types: ["", "http", "sse"],
    read: servers_only,
};

const KEYS: &[Known] = &[
    known("name", Field::Name),
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("cwd", Field::WorkingDirectory),
    known("protocol_version", Field::ProtocolVersion),
    known("url", Field::Url),
    known("transport", Field::Type),
    known("headers", Field::Headers),
    known("enabled", Field::Enabled),
];
