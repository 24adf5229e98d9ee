//! claude-loop's `.claude-loop/mcp-config.json`: a list of servers with an `endpoint` each, which is a command line or
//! an address, and `global_settings`.

use helve_model::{HttpFlavour, Validation};

use super::Shape;
use crate::document::{Format, Node};
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::FileReader;

pub(crate) const SHAPE: Shape = Shape {
    name: "claude-loop",
    title: "claude-loop",
    format: Format::Json,
    syntax: &interpolate::OWN,
    roots: &[&["servers"]],
    list: true,
    only_servers: true,
    closed: true,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Auto,
    written_types: ["stdio", "http", "sse"],
    read,
};

const KEYS: &[Known] = &[
    known("name", Field::Name),
    known("endpoint", Field::Endpoint),
    known("transport", Field::Type),
    known("auth_type", Field::AuthType),
    known("auth_token", Field::AuthToken),
    known("enabled", Field::Enabled),
    known("tools_whitelist", Field::Tools),
    known("tools_write_whitelist", Field::WriteTools),
    known("readonly", Field::Readonly),
    known("env", Field::Environment),
    known("cwd", Field::WorkingDirectory),
    known("headers", Field::Headers),
    known("timeout_seconds", Field::CallTimeout(Unit::Seconds)),
    known("description", Field::Ignored),
];

const ROOT_KEYS: &[&str] = &["servers", "global_settings"];

const GLOBAL_KEYS: &[&str] = &["timeout_seconds", "max_retries", "cache_tool_schemas", "schema_cache_ttl_seconds"];

fn read(reader: &mut FileReader<'_>, root: &Node) {
    reader.servers(root);
    for server in &mut reader.content.servers {
        // Read-only unless the file says otherwise, and arguments checked before they are sent, as claude-loop promises.
        if let Some(spec) = &mut server.spec {
            spec.access.readonly.get_or_insert(true);
            spec.validation = Some(Validation::Strict);
        }
    }
    if let Some(settings) = root.get("global_settings") {
        reader.unknown_keys(settings, GLOBAL_KEYS);
        super::helve::common_settings(reader, settings);
    }
    for entry in root.entries() {
        if entry.key != "mcpServers" && !ROOT_KEYS.contains(&entry.key.as_str()) {
            let diagnostic = crate::reader::unknown_key(&entry.key, ROOT_KEYS.iter().copied());
            reader.report(diagnostic, entry.key_span);
        }
    }
}
