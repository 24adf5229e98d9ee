//! Gemini CLI's `settings.json`: `httpUrl` is Streamable HTTP, `mcp.allowed` and `mcp.excluded` switch servers
//! off. A bare `url` is HTTP+SSE to Gemini CLI; here it is tried as Streamable HTTP first, which falls back to that.

use helve_model::HttpFlavour;

use super::{Dialect, Shape};
use crate::document::{Format, Node};
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::FileReader;
use crate::server::{Switch, SwitchKind};

pub(crate) const SHAPE: Shape = Shape {
    name: "gemini",
    title: "Gemini CLI",
    format: Format::Json,
    syntax: &interpolate::GEMINI,
    roots: &[&["mcpServers"]],
    list: false,
    only_servers: false,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
    written_types: ["", "http", "sse"],
    read,
};

const KEYS: &[Known] = &[
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("cwd", Field::WorkingDirectory),
    known("url", Field::Url),
    known("httpUrl", Field::StreamableUrl),
    known("type", Field::Type),
    known("headers", Field::Headers),
    known("disabled", Field::Disabled),
    known("timeout", Field::CallTimeout(Unit::Milliseconds)),
    known("trust", Field::ApproveAll),
    known("includeTools", Field::Tools),
    known("excludeTools", Field::DisabledTools),
    known("oauth", Field::OAuth),
    known("authProviderType", Field::Unsupported),
    known("targetAudience", Field::Unsupported),
    known("targetServiceAccount", Field::Unsupported),
    known("description", Field::Ignored),
    known("extensionName", Field::Ignored),
    known("tcp", Field::Unsupported),
];

const SERVERS: &[Dialect] = &[Dialect::Gemini];

fn read(reader: &mut FileReader<'_>, root: &Node) {
    reader.servers(root);
    if let Some(entry) = root.get("mcp").and_then(|mcp| mcp.entry("excluded")) {
        for (name, span) in reader.strings(entry) {
            let origin = reader.source.origin(span.start);
            reader.content.switches.push(Switch { kind: SwitchKind::Off(name), dialects: SERVERS, origin });
        }
    }
    if let Some(entry) = root.get("mcp").and_then(|mcp| mcp.entry("allowed")) {
        let names = reader.strings(entry).into_iter().map(|(name, _)| name).collect();
        let origin = reader.source.origin(entry.key_span.start);
        reader.content.switches.push(Switch { kind: SwitchKind::AllBut(names), dialects: SERVERS, origin });
    }
}
