//! mcporter's `mcporter.json[c]`: relative directories are relative to the file.

use helve_model::HttpFlavour;

use super::Shape;
use crate::document::Format;
use crate::field::{Field, Known, Unit, known};
use crate::interpolate;
use crate::reader::servers_only;

pub(crate) const SHAPE: Shape = Shape {
    name: "mcporter",
    title: "mcporter",
    format: Format::Json,
    syntax: &interpolate::MCPORTER,
    roots: &[&["mcpServers"]],
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
    known("cwd", Field::WorkingDirectory),
    known("baseUrl", Field::Url),
    known("url", Field::Url),
    known("serverUrl", Field::Url),
    known("headers", Field::Headers),
    known("transport", Field::Type),
    known("type", Field::Type),
    known("lifecycle", Field::Lazy),
    known("allowedTools", Field::Tools),
    known("blockedTools", Field::DisabledTools),
    known("auth", Field::OAuth),
    known("oauth", Field::OAuth),
    known("bearerTokenEnv", Field::BearerVariable),
    known("bearer_token_env_var", Field::BearerVariable),
    known("oauthRedirectUrl", Field::Ignored),
    known("oauthScope", Field::Ignored),
    known("tokenCacheDir", Field::Ignored),
    known("clientName", Field::Ignored),
    known("description", Field::Ignored),
    known("logging", Field::Ignored),
    known("enabled", Field::Enabled),
    known("disabled", Field::Disabled),
    known("timeout", Field::CallTimeout(Unit::Milliseconds)),
];
