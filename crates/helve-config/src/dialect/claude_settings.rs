//! Claude Code's `.claude/settings.json`: permissions for `mcp__…` tools become rules, and
//! `disabledMcpjsonServers` switches servers off. It configures no servers. `permissions` may also be a list of rules, as
//! go-cli writes it.
//!
//! Approvals (`enabledMcpjsonServers`, `enableAllProjectMcpServers`) are by name only and are not taken over: helve
//! trusts content, not names.

use helve_model::text::nearest;
use helve_model::{Action, HttpFlavour};

use super::{Dialect, Shape, helve};
use crate::allowance::MAX_PROJECT_RULES;
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::document::{Format, Node, Value};
use crate::field::Known;
use crate::interpolate;
use crate::reader::{FileReader, wrong_type};
use crate::server::{Switch, SwitchKind};
use crate::source::Span;

pub(crate) const SHAPE: Shape = Shape {
    name: "claude-settings",
    title: "Claude Code settings",
    format: Format::Json,
    syntax: &interpolate::NONE,
    roots: &[],
    list: false,
    only_servers: false,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
    written_types: ["stdio", "http", "sse"],
    read,
};

const KEYS: &[Known] = &[];

/// Keys of `permissions` that are lists of rules. Claude Code asks deny rules first, then ask, then allow.
const LISTS: &[(&str, Action)] = &[("deny", Action::Deny), ("ask", Action::Ask), ("allow", Action::Allow)];

/// Keys of `permissions` that are about Claude Code alone.
const OTHERS: &[&str] = &[
    "defaultMode",
    "additionalDirectories",
    "disableBypassPermissionsMode",
    "disableAutoMode",
    "allowManagedPermissionRulesOnly",
];

fn read(reader: &mut FileReader<'_>, root: &Node) {
    if let Some(entry) = root.entry("permissions") {
        match &entry.node.value {
            Value::Table(_) => lists(reader, &entry.node),
            Value::Array(elements) => list(reader, elements),
            Value::Null => {}
            _ => {
                let message = wrong_type(&quoted("permissions"), "a table or a list of rules", &entry.node);
                reader.report(Diagnostic::error(Code::WrongType, message), entry.node.span);
            }
        }
    }
    if let Some(entry) = root.entry("disabledMcpjsonServers") {
        for (name, span) in reader.strings(entry) {
            let origin = reader.source.origin(span.start);
            let kind = SwitchKind::Off(name);
            reader.content.switches.push(Switch { kind, dialects: &[Dialect::McpJson], origin });
        }
    }
}

/// Claude Code's form: a list of names for each action.
fn lists(reader: &mut FileReader<'_>, permissions: &Node) {
    for (key, action) in LISTS {
        let Some(entry) = permissions.entry(key).filter(|entry| entry.node.value != Value::Null) else { continue };
        for (text, span) in reader.strings(entry) {
            if let Some(tool) = tool_glob(&text, *action) {
                if !reader.scope.allowance.take_rule() {
                    return too_many_rules(reader, span);
                }
                let rule = reader.rule(&tool, *action, span);
                reader.content.rules.push(rule);
            }
        }
    }
    // Claude Code grows keys of its own; one that was meant to be a list of rules must not mean no rules.
    for entry in permissions.entries() {
        let is_known = LISTS.iter().any(|(key, _)| *key == entry.key) || OTHERS.contains(&entry.key.as_str());
        if !is_known && let Some(near) = nearest(&entry.key, LISTS.iter().map(|(key, _)| *key)) {
            let diagnostic = Diagnostic::error(Code::UnknownKey, format!("unknown key {}", quoted(&entry.key)));
            reader.report(diagnostic.hint(format!("did you mean {}?", quoted(near))), entry.key_span);
        }
    }
}

/// The form of go-cli: a list of tables with `tool`, `action` and perhaps `pattern`, the first that fits decides.
fn list(reader: &mut FileReader<'_>, elements: &[Node]) {
    for element in elements {
        let action = element.get("action").and_then(Node::as_str);
        let narrowest = if action == Some("allow") { Action::Allow } else { Action::Deny };
        let tool = element.get("tool").and_then(Node::as_str);
        let glob = tool.map(|tool| tool_glob(tool, narrowest));
        // It is about a tool of the application itself, whatever else is wrong with it.
        if glob == Some(None) {
            continue;
        }
        let known = reader.content.rules.len();
        if !helve::read_rule(reader, element) {
            return;
        }
        for rule in reader.content.rules.iter_mut().skip(known) {
            rule.tool = glob.clone().flatten().unwrap_or_else(|| std::mem::take(&mut rule.tool));
        }
    }
}

fn too_many_rules(reader: &mut FileReader<'_>, span: Span) {
    let message = format!("the files of this project hold more than {MAX_PROJECT_RULES} rules");
    let hint = "nothing is started by rules that are not read: remove some, or say more with one pattern";
    reader.report(Diagnostic::error(Code::TooMany, message).hint(hint), span);
}

/// `mcp__server` stands for all of that server's tools; rules about Claude Code's own tools are not ours.
///
/// What cannot be said in a rule narrows more than it says, and never allows: `mcp__a__b(x)` denies the whole tool, and a
/// glob that might mean a server's tool denies them all.
fn tool_glob(text: &str, action: Action) -> Option<String> {
    let narrows = action != Action::Allow;
    let (name, arguments) = text.split_once('(').map_or((text, None), |(name, rest)| (name, Some(rest)));
    if let Some(rest) = name.strip_prefix("mcp__") {
        return (narrows || arguments.is_none())
            .then(|| if rest.contains("__") { name.to_owned() } else { format!("{name}__*") });
    }
    let literal = name.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
    let is_glob = literal.len() < name.len();
    let is_everything = matches!(text, "*" | "**");
    (is_glob && "mcp__".starts_with(literal) && (narrows || is_everything)).then(|| "*/*".to_owned())
}
