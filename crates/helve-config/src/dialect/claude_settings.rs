//! Claude Code's `.claude/settings.json`: permissions for `mcp__…` tools become rules, and
//! `disabledMcpjsonServers` switches servers off. It configures no servers.
//!
//! Approvals (`enabledMcpjsonServers`, `enableAllProjectMcpServers`) are by name only and are not taken over: helve
//! trusts content, not names.

use helve_model::{Action, HttpFlavour};

use super::{Dialect, Shape};
use crate::document::{Format, Node};
use crate::field::Known;
use crate::interpolate;
use crate::reader::FileReader;
use crate::server::{Switch, SwitchKind};

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

fn read(reader: &mut FileReader<'_>, root: &Node) {
    if let Some(permissions) = root.get("permissions") {
        // Claude Code asks deny rules first, then ask, then allow.
        for (key, action) in [("deny", Action::Deny), ("ask", Action::Ask), ("allow", Action::Allow)] {
            let Some(entry) = permissions.entry(key) else { continue };
            for (text, span) in reader.strings(entry) {
                if let Some(tool) = tool_glob(&text) {
                    let rule = reader.rule(&tool, action, span);
                    reader.content.rules.push(rule);
                }
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

/// `mcp__server` stands for all of that server's tools; rules about Claude Code's own tools are not ours.
fn tool_glob(text: &str) -> Option<String> {
    let rest = text.strip_prefix("mcp__")?;
    if rest.contains("__") { Some(text.to_owned()) } else { Some(format!("{text}__*")) }
}
