//! Claude Code's `~/.claude.json`: servers for everywhere, and servers for one directory (its *local* scope), which
//! only count where the person stands. Its lists of switched-off servers count too.

use std::collections::HashSet;

use helve_model::{HttpFlavour, ServerName};

use super::{Dialect, Shape};
use crate::document::{Format, Node};
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::FileReader;
use crate::server::{Switch, SwitchKind};

pub(crate) const SHAPE: Shape = Shape {
    name: "claude-code",
    title: "Claude Code",
    format: Format::Json,
    syntax: &interpolate::CLAUDE,
    roots: &[&["mcpServers"]],
    list: false,
    only_servers: false,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
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
    known("disabled", Field::Disabled),
    known("headersHelper", Field::Unsupported),
    known("oauth", Field::OAuth),
    known("timeout", Field::CallTimeout(Unit::MillisecondsFromOneSecond)),
    known("request_timeout_ms", Field::CallTimeout(Unit::Milliseconds)),
    known("alwaysLoad", Field::Ignored),
    known("scope", Field::Ignored),
];

fn read(reader: &mut FileReader<'_>, root: &Node) {
    reader.servers(root);
    let global = reader.take_servers();
    if let Some(projects) = root.get("projects") {
        for entry in projects.entries() {
            if reader.place.project.as_os_str() == entry.key.as_str()
                || reader.scope.environment.working_directory.as_os_str() == entry.key.as_str()
            {
                project(reader, &entry.node);
            }
        }
    }
    // Claude Code's order: what is configured for this directory wins over what is configured for everywhere.
    for server in &mut reader.content.servers {
        server.is_local = true;
    }
    let local: HashSet<ServerName> = reader.content.servers.iter().map(|server| server.name.clone()).collect();
    reader.content.servers.extend(global.into_iter().filter(|server| !local.contains(&server.name)));
}

fn project(reader: &mut FileReader<'_>, node: &Node) {
    if let Some(servers) = node.get("mcpServers") {
        reader.server_collection(servers, false);
    }
    for (key, dialects) in [
        ("disabledMcpServers", &[Dialect::ClaudeCode, Dialect::McpJson] as &[Dialect]),
        ("disabledMcpjsonServers", &[Dialect::McpJson]),
    ] {
        let Some(entry) = node.entry(key) else { continue };
        for (name, span) in reader.strings(entry) {
            let origin = reader.source.origin(span.start);
            reader.content.switches.push(Switch { kind: SwitchKind::Off(name), dialects, origin });
        }
    }
}
