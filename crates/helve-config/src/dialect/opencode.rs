//! opencode's `opencode.json[c]`: `command` is a list, the environment is `environment`. Kilo and fx are the same.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "opencode",
    title: "opencode",
    format: Format::Json,
    syntax: &interpolate::OPENCODE,
    roots: &[&["mcp", "servers"], &["mcp"]],
    list: false,
    only_servers: false,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Auto,
    written_types: ["local", "remote", "remote"],
    read: servers_only,
};

const KEYS: &[Known] = &[
    known("type", Field::Type),
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("environment", Field::Environment),
    known("env", Field::Environment),
    known("cwd", Field::WorkingDirectory),
    known("url", Field::Url),
    known("headers", Field::Headers),
    known("enabled", Field::Enabled),
    known("timeout", Field::StartupTimeout(Unit::Milliseconds)),
    known("oauth", Field::OAuth),
];
