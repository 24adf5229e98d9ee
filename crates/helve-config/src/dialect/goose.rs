//! goose's `config.yaml`: `extensions`, of which only some are servers.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "goose",
    title: "goose",
    format: Format::Yaml,
    syntax: &interpolate::SHELL_LIKE,
    roots: &[&["extensions"]],
    list: false,
    only_servers: false,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
    written_types: ["stdio", "streamable_http", "sse"],
    read: servers_only,
};

const KEYS: &[Known] = &[
    known("type", Field::Type),
    known("cmd", Field::Command),
    known("args", Field::Arguments),
    known("envs", Field::Environment),
    known("env_keys", Field::RequiredVariables),
    known("uri", Field::Url),
    known("headers", Field::Headers),
    known("enabled", Field::Enabled),
    known("timeout", Field::CallTimeout(Unit::Seconds)),
    known("available_tools", Field::Tools),
    known("cwd", Field::WorkingDirectory),
    known("name", Field::Ignored),
    known("description", Field::Ignored),
    known("display_name", Field::Ignored),
    known("bundled", Field::Ignored),
];
