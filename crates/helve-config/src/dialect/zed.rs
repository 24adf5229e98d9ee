//! Zed's `settings.json`: `context_servers`, in the present form and the older one with a nested `command`.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "zed",
    title: "Zed",
    format: Format::Json,
    syntax: &interpolate::NONE,
    roots: &[&["context_servers"]],
    list: false,
    only_servers: false,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
    written_types: ["", "", ""],
    read: servers_only,
};

const KEYS: &[Known] = &[
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("url", Field::Url),
    known("headers", Field::Headers),
    known("oauth", Field::OAuth),
    known("timeout", Field::CallTimeout(Unit::Seconds)),
    known("enabled", Field::Enabled),
    known("source", Field::Ignored),
    known("settings", Field::Ignored),
    known("remote", Field::Ignored),
    known("type", Field::Type),
    known("cwd", Field::WorkingDirectory),
];
