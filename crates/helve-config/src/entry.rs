//! From one server's entry to its spec: which transport it means, and everything said about it.
//!
//! Whatever cannot be understood keeps this server from running, and no other: a filter that was misspelt must not
//! turn into no filter.

mod builtin;
pub(crate) mod sandbox;
mod transport;

pub(crate) use transport::is_address_type;
mod values;

use helve_model::text::nearest;
use helve_model::{
    Action, ConfigText, IdentitySpec, Layer, Listed, OAuthSpec, PrivateIdle, RecordedBodies, Rule, ServerName,
    ServerSpec, TransportSpec, Validation,
};

use crate::diagnostic::{Code, Diagnostic, Severity, quoted};
use crate::dialect::Dialect;
use crate::dialect::helve::not_an_idle_time;
use crate::document::{Node, TableEntry, Value};
use crate::environment::variable;
use crate::field::Field;
use crate::interpolate::Place;
use crate::reader::{FileReader, unknown_key, wrong_type};
use crate::server::{Blocker, ConfiguredServer};
use crate::source::Span;

use transport::Found;
use values::{MAX_PROBLEMS, Secrecy, Values};

/// Reads one entry. `None` when it is not a server at all, like a tool set that is built into its application.
pub(crate) fn read(
    file: &mut FileReader<'_>,
    name: ServerName,
    name_span: Span,
    node: &Node,
) -> Option<ConfiguredServer> {
    let server = file.blank(name, name_span);
    let mut values = Values { file, node, server };
    if !node.is_table() {
        let what = format!("server {}", quoted(values.server.name.as_str()));
        values.invalid(Diagnostic::error(Code::WrongType, wrong_type(&what, "a table", node)), node.span);
        return Some(values.server);
    }
    unknown_keys(&mut values);
    match transport::read(&mut values, name_span) {
        Found::Transport(transport) => describe(&mut values, *transport),
        Found::Unsupported(what, span) => {
            let message = format!("server {} is off: {what}", quoted(values.server.name.as_str()));
            values.report(Diagnostic::warning(Code::Unsupported, message), span);
            values.server.blockers.push(Blocker::Unsupported(what));
            switches(&mut values);
        }
        Found::Mistake | Found::SwitchedOff => {
            switches(&mut values);
        }
        Found::NotAServer(what, span) => {
            let message = format!("{} is left out: {what}", quoted(values.server.name.as_str()));
            let diagnostic = Diagnostic::note(Code::Unsupported, message).at(&values.file.source, span);
            file.content.diagnostics.push(diagnostic);
            return None;
        }
    }
    Some(values.server)
}

/// Everything but the transport.
fn describe(values: &mut Values<'_, '_>, transport: TransportSpec) {
    // helve's own tools tell the truth about themselves.
    let is_own = matches!(transport, TransportSpec::Builtin(_));
    let mut spec =
        ServerSpec::new(values.server.name.clone(), transport, values.server.origin.clone(), values.server.layer);
    spec.sandbox = sandbox::read(values, &spec.transport);
    spec.enabled = switches(values);
    spec.required = values.bool(Field::Required).unwrap_or(false);
    spec.lazy = lazy(values);
    spec.one_at_a_time = values
        .bool(Field::OneAtATime)
        .or_else(|| values.bool(Field::Parallel).map(|parallel| !parallel))
        .unwrap_or(false);
    spec.shared = values.bool(Field::Shared);
    spec.private_idle = private_idle(values);
    spec.inherit_environment = values.bool(Field::InheritEnvironment).unwrap_or(false);
    spec.leaves_results = values.bool(Field::Redact) == Some(false);
    spec.record = values.word(Field::Record, &RecordedBodies::WORDS).unwrap_or_default();
    spec.protocol_version = values.string(Field::ProtocolVersion).map(|(version, _)| version.to_owned());
    spec.max_retries = values.count(Field::MaxRetries);
    spec.validation = values.word(Field::Validation, &Validation::WORDS);
    values.server.as_written.validation = spec.validation;
    let startup = values.timeout(|field| if let Field::StartupTimeout(unit) = field { Some(unit) } else { None });
    let call = values.timeout(|field| if let Field::CallTimeout(unit) = field { Some(unit) } else { None });
    (values.server.as_written.startup_timeout, values.server.as_written.call_timeout) = (startup, call);
    spec.startup_timeout = startup.or_else(|| claude_timeout(values, variable::MCP_TIMEOUT));
    spec.call_timeout = call.or_else(|| claude_timeout(values, variable::MCP_TOOL_TIMEOUT));
    spec.oauth = oauth(values);

    if let Some(entry) = values.find(Field::Tools) {
        spec.access.tools = tool_list(values, entry);
    }
    spec.access.write_tools = values.find(Field::WriteTools).map(|entry| values.listed(entry));
    for entry in values.node.entries() {
        if values.file.shape.field_of(&entry.key) == Some(Field::DisabledTools) {
            let listed = values.listed(entry);
            spec.access.disabled_tools.extend(listed);
        }
    }
    spec.access.readonly = values.bool(Field::Readonly);
    spec.access.trust_annotations = values.bool(Field::TrustAnnotations).unwrap_or(is_own);
    approvals(values);
    values.server.spec = Some(spec);
}

/// Is the server on? Also remembers who switched it off.
fn switches(values: &mut Values<'_, '_>) -> bool {
    let off = match (values.bool(Field::Enabled), values.bool(Field::Disabled)) {
        (Some(false), _) => values.find(Field::Enabled),
        (_, Some(true)) => values.find(Field::Disabled),
        _ => None,
    };
    values.server.disabled_by = off.map(|entry| values.origin(entry.key_span));
    off.is_none()
}

/// A list that holds `*` names all tools. In a file whose lists also allow what they name it stays a list; another
/// application's only says what there is. An empty list means all tools where the application says it does.
fn tool_list(values: &mut Values<'_, '_>, entry: &TableEntry) -> Option<Vec<Listed>> {
    let listed = values.listed(entry);
    let allows = matches!(values.file.place.dialect, Dialect::Helve | Dialect::ClaudeLoop);
    if !allows && listed.iter().any(|item| item.glob == "*") {
        return None;
    }
    let empty_means_all = matches!(values.file.place.dialect, Dialect::ClaudeLoop | Dialect::Goose);
    if listed.is_empty() && (empty_means_all || entry.node.value == Value::Null) { None } else { Some(listed) }
}

fn lazy(values: &mut Values<'_, '_>) -> bool {
    match values.find(Field::Lazy).map(|entry| &entry.node.value) {
        // mcporter's `lifecycle`: only `keep-alive` wants the server up all the time.
        Some(Value::String(lifecycle)) => lifecycle == "ephemeral",
        Some(Value::Table(_)) | None => false,
        Some(_) => values.bool(Field::Lazy).unwrap_or(false),
    }
}

fn private_idle(values: &mut Values<'_, '_>) -> Option<PrivateIdle> {
    let (text, entry) = values.string(Field::PrivateIdle)?;
    let idle = PrivateIdle::parse(text);
    if idle.is_none() {
        values.invalid(Diagnostic::error(Code::BadValue, not_an_idle_time(entry)), entry.node.span);
    }
    idle
}

/// Claude Code's time-outs for all of its servers, in milliseconds.
fn claude_timeout(values: &Values<'_, '_>, name: &str) -> Option<std::time::Duration> {
    if !matches!(values.file.place.dialect, Dialect::ClaudeCode | Dialect::McpJson) {
        return None;
    }
    let milliseconds: u64 = values.file.scope.environment.variable(name)?.parse().ok()?;
    (milliseconds >= 1_000).then(|| std::time::Duration::from_millis(milliseconds))
}

fn oauth(values: &mut Values<'_, '_>) -> Option<OAuthSpec> {
    let entry = values.find(Field::OAuth)?;
    let mut oauth = OAuthSpec::new();
    match &entry.node.value {
        Value::Bool(enabled) => oauth.enabled = *enabled,
        // `auth: "oauth"`.
        Value::String(_) | Value::Null => {}
        Value::Table(entries) => {
            for inner in entries {
                let field = format!("{}.{}", entry.key, inner.key);
                let text = |values: &mut Values<'_, '_>, secrecy| {
                    let text = inner.node.as_str()?;
                    Some(values.text(&field, text, inner.node.span, Place::Elsewhere, secrecy))
                };
                match inner.key.to_lowercase().replace('_', "").as_str() {
                    "clientid" => oauth.client_id = text(values, Secrecy::Open),
                    "clientsecret" => oauth.client_secret = text(values, Secrecy::Secret),
                    "authservermetadataurl" | "metadataurl" => oauth.metadata_url = text(values, Secrecy::Open),
                    "resource" if inner.node.value == Value::Bool(false) => oauth.resource_omitted = true,
                    "resource" => oauth.resource = text(values, Secrecy::Open),
                    "issuer" => oauth.issuer = text(values, Secrecy::Open),
                    "pkce" => oauth.pkce_assumed = inner.node.as_str() == Some("assume"),
                    "callbackhost" => oauth.callback_localhost = inner.node.as_str() == Some("localhost"),
                    "clientname" => oauth.client_name = inner.node.as_str().map(str::to_owned),
                    "clientmetadataurl" => oauth.client_document = text(values, Secrecy::Open),
                    "registration" => oauth.dynamic_registration = inner.node.as_str() == Some("dynamic"),
                    "account" => oauth.account = inner.node.as_str().map(str::to_owned),
                    "grant" => oauth.client_credentials = inner.node.as_str() == Some("client_credentials"),
                    "clientkey" => oauth.client_key = text(values, Secrecy::Secret),
                    "assertion" => oauth.assertion = text(values, Secrecy::Secret),
                    "enterprise" => oauth.identity = Some(identity(values, &field, &inner.node)),
                    "callbackport" => {
                        oauth.callback_port =
                            if let Value::Integer(port) = inner.node.value { u16::try_from(port).ok() } else { None };
                    }
                    "scopes" | "scope" => oauth.scopes = scopes(&inner.node),
                    _ => {}
                }
            }
        }
        Value::Integer(_) | Value::Float(_) | Value::Array(_) => {
            let message = wrong_type(&quoted(&entry.key), "a table or false", &entry.node);
            values.invalid(Diagnostic::error(Code::WrongType, message), entry.node.span);
        }
    }
    Some(oauth)
}

/// `oauth.enterprise`. What is missing is told when somebody signs in.
fn identity(values: &mut Values<'_, '_>, field: &str, node: &Node) -> IdentitySpec {
    let mut text = |key: &str, secrecy| {
        let entry = node.entries().iter().rev().find(|entry| entry.key == key)?;
        let field = format!("{field}.{key}");
        Some(values.text(&field, entry.node.as_str()?, entry.node.span, Place::Elsewhere, secrecy))
    };
    let missing = || ConfigText::literal("");
    IdentitySpec {
        token_endpoint: text("token_endpoint", Secrecy::Open).unwrap_or_else(missing),
        client_id: text("client_id", Secrecy::Open).unwrap_or_else(missing),
        client_secret: text("client_secret", Secrecy::Secret),
        id_token: text("id_token", Secrecy::Secret).unwrap_or_else(missing),
    }
}

fn scopes(node: &Node) -> Vec<String> {
    match node.as_str() {
        Some(text) => text.split([' ', ',']).filter(|scope| !scope.is_empty()).map(str::to_owned).collect(),
        None => node.elements().iter().filter_map(Node::as_str).map(str::to_owned).collect(),
    }
}

/// Tools that the person approved for good in another application become rules.
fn approvals(values: &mut Values<'_, '_>) {
    if let Some(entry) = values.find(Field::ApprovedTools) {
        for (tool, span) in values.names(entry) {
            approval(values, &tool, Action::Allow, span);
        }
    }
    if let Some(entry) = values.find(Field::ApproveAll)
        && values.bool(Field::ApproveAll) == Some(true)
    {
        approval(values, "*", Action::Allow, entry.key_span);
    }
    if let Some(entry) = values.find(Field::ToolTable) {
        for tool in entry.node.entries() {
            if let Some(mode) = tool.node.get("approval_mode") {
                approval_mode(values, &tool.key, mode);
            }
        }
    }
    if let Some(entry) = values.find(Field::ApprovalMode) {
        approval_mode(values, "*", &entry.node);
    }
}

fn approval_mode(values: &mut Values<'_, '_>, tool: &str, mode: &Node) {
    match mode.as_str() {
        Some("approve") => approval(values, tool, Action::Allow, mode.span),
        Some("prompt") => approval(values, tool, Action::Ask, mode.span),
        // What Codex decides by itself is left to helve's own defaults.
        Some("auto" | "writes") => {}
        _ => {
            let message = "an approval mode is `auto`, `prompt`, `writes` or `approve`";
            values.invalid(Diagnostic::error(Code::BadValue, message), mode.span);
        }
    }
}

fn approval(values: &mut Values<'_, '_>, tool: &str, action: Action, span: Span) {
    let server = values.server.name.as_str();
    // A rule is a glob; a name that reads as one would reach further than the person meant.
    if server.contains(['*', '?', '[', '{', '/', '\\']) {
        let message = format!("approvals of {} are left out: its name reads as a pattern", quoted(server));
        values.report(Diagnostic::warning(Code::Unsupported, message), span);
        return;
    }
    let rule = Rule::new(format!("{server}/{tool}"), action, values.origin(span), values.server.layer);
    values.server.rules.push(rule);
}

fn unknown_keys(values: &mut Values<'_, '_>) {
    let shape = values.file.shape;
    for entry in values.node.entries() {
        match shape.field_of(&entry.key) {
            Some(Field::Unsupported) => {
                let message = format!("helve has no use for {} and does without it", quoted(&entry.key));
                values.report(Diagnostic::warning(Code::Unsupported, message), entry.key_span);
            }
            Some(_) => {}
            None if values.server.diagnostics.len() > MAX_PROBLEMS => {
                // The rest is not looked at, so nobody knows what it would have limited.
                return crate::reader::block(&mut values.server);
            }
            None => {
                let known: Vec<&str> = shape.keys.iter().map(|known| known.key).collect();
                let mut diagnostic = unknown_key(&entry.key, known.iter().copied());
                // Other applications grow keys helve has not heard of; only a near miss is likely a mistake.
                if !shape.closed && nearest(&entry.key, known).is_none() {
                    diagnostic.severity = Severity::Note;
                    diagnostic.hints.clear();
                }
                if is_misspelt_limit(values, &entry.key) {
                    diagnostic.severity = Severity::Error;
                    values.invalid(diagnostic, entry.key_span);
                } else {
                    values.report(diagnostic, entry.key_span);
                }
            }
        }
    }
}

/// In a file that is helve's alone, a misspelt limit keeps the server off: `read_only` must not mean no limit at all.
fn is_misspelt_limit(values: &Values<'_, '_>, key: &str) -> bool {
    let shape = values.file.shape;
    let meant = nearest(key, shape.keys.iter().map(|known| known.key)).and_then(|near| shape.field_of(near));
    let is_limit = matches!(
        meant,
        Some(
            Field::Tools
                | Field::WriteTools
                | Field::DisabledTools
                | Field::Readonly
                | Field::Sandbox
                | Field::Enabled
                | Field::Disabled
                | Field::BuiltinOption(_)
        )
    );
    is_limit && matches!(values.file.place.dialect, Dialect::Helve | Dialect::ClaudeLoop)
}

fn project_directory(values: &Values<'_, '_>) -> Option<ConfigText> {
    let given = values.server.layer == Layer::Project && values.file.place.dialect == Dialect::McpJson;
    given.then(|| ConfigText::literal(values.file.place.project.to_string_lossy().into_owned()))
}
