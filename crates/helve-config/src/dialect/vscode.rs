//! VS Code's `mcp.json` and the other places it keeps servers in: `settings.json`, workspaces, dev containers.
//! `inputs` are values to ask the person for.

use helve_model::HttpFlavour;

use super::Shape;
use crate::allowance::MAX_PROJECT_INPUTS;
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::document::{Format, Node, Value};
use crate::field::{Field, Known, known};
use crate::interpolate;
use crate::reader::{FileReader, wrong_type};
use crate::server::Input;

pub(crate) const SHAPE: Shape = Shape {
    name: "vscode",
    title: "VS Code",
    format: Format::Json,
    syntax: &interpolate::EDITOR,
    roots: &[
        &["servers"],
        &["mcp", "servers"],
        &["settings", "mcp", "servers"],
        &["customizations", "vscode", "mcp", "servers"],
    ],
    list: false,
    only_servers: true,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Auto,
    written_types: ["stdio", "http", "sse"],
    read,
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
    known("oauth", Field::OAuth),
    known("dev", Field::Ignored),
    known("sandboxEnabled", Field::Unsupported),
    known("sandbox", Field::Unsupported),
    known("gallery", Field::Ignored),
    known("version", Field::Ignored),
    known("name", Field::Ignored),
    known("disabled", Field::Disabled),
];

fn read(reader: &mut FileReader<'_>, root: &Node) {
    for path in [&["inputs"] as &[&str], &["mcp", "inputs"], &["settings", "mcp", "inputs"]] {
        if let Some(node) = root.at(path) {
            inputs(reader, node);
        }
    }
    // A settings file or a dev container is about much else; only `mcp.json` is about servers alone.
    if root.get("servers").is_some() || reader.place.path.ends_with("mcp.json") {
        reader.servers(root);
    } else if let Some(node) = SHAPE.roots.iter().find_map(|path| root.at(path)) {
        reader.server_collection(node, false);
    }
}

/// Reads `inputs`: what to ask, and whether the answer is secret.
pub(super) fn inputs(reader: &mut FileReader<'_>, node: &Node) {
    if !(node.is_array() || node.value == Value::Null) {
        let message = wrong_type(&quoted("inputs"), "a list of tables", node);
        reader.report(Diagnostic::error(Code::WrongType, message), node.span);
    }
    for element in node.elements() {
        if !reader.scope.allowance.take_input() {
            let message = format!("the files of this project ask for more than {MAX_PROJECT_INPUTS} values");
            let hint = "remove those you do not need; the rest is not read";
            return reader.report(Diagnostic::error(Code::TooMany, message).hint(hint), element.span);
        }
        let text = |key: &str| element.get(key).and_then(Node::as_str).map(str::to_owned);
        let Some(id) = text("id").filter(|id| !id.is_empty()) else {
            let message = format!("an input needs an {}", quoted("id"));
            reader.report(Diagnostic::error(Code::BadValue, message), element.span);
            continue;
        };
        if text("type").as_deref() == Some("command") {
            let message = format!("the input {} comes from a command of VS Code, which helve cannot run", quoted(&id));
            let hint = format!("helve asks for {} instead", quoted(&id));
            reader.report(Diagnostic::warning(Code::Unsupported, message).hint(hint), element.span);
        }
        let options = element.get("options").map(Node::elements).unwrap_or_default();
        let input = Input {
            description: text("description").unwrap_or_else(|| id.clone()),
            secret: element.get("password").is_some_and(|password| password.value == Value::Bool(true)),
            options: options.iter().filter_map(option).collect(),
            default: text("default"),
            origin: reader.source.origin(element.span.start),
            id,
        };
        reader.scope.inputs.push(input.id.clone());
        reader.content.inputs.push(input);
    }
}

/// An option is a text, or a label with a value.
fn option(node: &Node) -> Option<String> {
    node.as_str().or_else(|| node.get("value").and_then(Node::as_str)).map(str::to_owned)
}
