//! strawberry's `settings.yaml`: `mcp: servers:` among other settings, with secrets in a `.env` beside it.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::{Format, Node};
use crate::dotenv;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::FileReader;
use crate::server::Referenced;

pub(crate) const SHAPE: Shape = Shape {
    name: "strawberry",
    title: "strawberry",
    format: Format::Yaml,
    syntax: &interpolate::OWN,
    roots: &[&["mcp", "servers"]],
    list: true,
    only_servers: false,
    closed: true,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Auto,
    written_types: ["stdio", "http", "sse"],
    read,
};

const KEYS: &[Known] = &[
    known("name", Field::Name),
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("enabled", Field::Enabled),
    known("transport", Field::Type),
    known("url", Field::Url),
    known("headers", Field::Headers),
    known("timeout", Field::CallTimeout(Unit::Seconds)),
    known("cwd", Field::WorkingDirectory),
];

fn read(reader: &mut FileReader<'_>, root: &Node) {
    // `config/settings.yaml` has its `.env` in the project; a missing one is not a mistake.
    for directory in [Some(reader.scope.directory.as_path()), reader.scope.directory.parent()].into_iter().flatten() {
        let path = directory.join(".env");
        if let Ok(file) = dotenv::read(&path, &reader.scope.allowance.budget) {
            reader.scope.beside.extend(file.variables);
            reader.scope.beside_file = Some(Referenced { path, content: Some(file.content) });
            break;
        }
    }
    reader.servers(root);
}
