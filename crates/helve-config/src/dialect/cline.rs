//! Cline's `cline_mcp_settings.json`.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "cline",
    title: "Cline",
    format: Format::Json,
    syntax: &interpolate::ENV_PREFIX,
    roots: &[&["mcpServers"]],
    list: false,
    only_servers: true,
    closed: false,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Streamable,
    written_types: ["stdio", "streamableHttp", "sse"],
    read: servers_only,
};

const KEYS: &[Known] = &[
    known("type", Field::Type),
    known("transportType", Field::Type),
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("cwd", Field::WorkingDirectory),
    known("url", Field::Url),
    known("headers", Field::Headers),
    known("disabled", Field::Disabled),
    known("autoApprove", Field::ApprovedTools),
    known("alwaysAllow", Field::ApprovedTools),
    known("disabledTools", Field::DisabledTools),
    known("timeout", Field::CallTimeout(Unit::Seconds)),
    known("remoteConfigured", Field::Ignored),
    known("oauth", Field::OAuth),
];
