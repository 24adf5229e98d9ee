//! helve's own `helve.toml`: `[servers.NAME]`, `[[rules]]`, `[[inputs]]`, `[environment.NAME]`, `[hubs.NAME]` and
//! `[settings]`. It can say everything the
//! other dialects can.

use std::path::{Component, PathBuf};

use helve_model::method;
use helve_model::sandbox::Choice;
use helve_model::text::nearest;
use helve_model::{
    Action, Answerers, CallKind, HttpFlavour, LateSource, Layer, PrivateIdle, Risk, Rule, Validation, Who,
};

use super::Shape;
use crate::allowance::MAX_PROJECT_RULES;
use crate::diagnostic::{Code, Diagnostic, Severity, one_of, quoted};
use crate::document::{Format, Node, TableEntry, Value};
use crate::field::{Field, Known, OptionShape, Unit, known};
use crate::grants;
use crate::hub;
use crate::interpolate;
use crate::reader::{FileReader, wrong_type};
use crate::settings::Import;

pub(crate) const SHAPE: Shape = Shape {
    name: "helve",
    title: "helve",
    format: Format::Toml,
    syntax: &interpolate::OWN,
    roots: &[&["servers"]],
    list: false,
    only_servers: true,
    closed: true,
    keys: KEYS,
    bare_url: HttpFlavour::Auto,
    http: HttpFlavour::Auto,
    written_types: ["", "streamable-http", "sse"],
    read,
};

pub(crate) const KEYS: &[Known] = &[
    known("type", Field::Type),
    known("command", Field::Command),
    known("args", Field::Arguments),
    known("env", Field::Environment),
    known("env_file", Field::EnvironmentFile),
    known("pass_env", Field::PassedVariables),
    known("inherit_env", Field::InheritEnvironment),
    known("cwd", Field::WorkingDirectory),
    known("sandbox", Field::Sandbox),
    known("builtin", Field::Builtin),
    known("roots", Field::BuiltinOption(OptionShape::Paths)),
    known("database", Field::BuiltinOption(OptionShape::Path)),
    known("writable", Field::BuiltinOption(OptionShape::Flag)),
    known("max_file_bytes", Field::BuiltinOption(OptionShape::Count)),
    known("max_rows", Field::BuiltinOption(OptionShape::Count)),
    known("max_bytes", Field::BuiltinOption(OptionShape::Count)),
    known("max_steps", Field::BuiltinOption(OptionShape::Count)),
    known("url", Field::Url),
    known("headers", Field::Headers),
    known("bearer_token_env_var", Field::BearerVariable),
    known("oauth", Field::OAuth),
    known("enabled", Field::Enabled),
    known("required", Field::Required),
    known("lazy", Field::Lazy),
    known("one_at_a_time", Field::OneAtATime),
    known("shared", Field::Shared),
    known("redact", Field::Redact),
    known("record", Field::Record),
    known("private_idle", Field::PrivateIdle),
    known("protocol_version", Field::ProtocolVersion),
    known("startup_timeout_seconds", Field::StartupTimeout(Unit::Seconds)),
    known("timeout_seconds", Field::CallTimeout(Unit::Seconds)),
    known("max_retries", Field::MaxRetries),
    known("validate", Field::Validation),
    known("tools", Field::Tools),
    known("write_tools", Field::WriteTools),
    known("disabled_tools", Field::DisabledTools),
    known("readonly", Field::Readonly),
    known("trust_annotations", Field::TrustAnnotations),
    known("description", Field::Ignored),
];

/// helve's built-in servers and the options each of them has.
pub(crate) const BUILTINS: &[(&str, &[&str])] = &[
    ("filesystem", &["roots", "writable", "max_file_bytes"]),
    ("sqlite", &["database", "writable", "max_rows", "max_bytes", "max_steps"]),
    ("time", &[]),
];

/// The keys of the whole file.
pub(crate) const ROOT_KEYS: &[&str] = &["servers", "rules", "inputs", "environment", "hubs", "settings", "$schema"];

/// The keys of `[settings]`.
pub(crate) const SETTINGS_KEYS: &[&str] = &[
    "timeout_seconds",
    "startup_timeout_seconds",
    "max_retries",
    "cache_tool_schemas",
    "watch",
    "schema_cache_ttl_seconds",
    "calls_per_server",
    "result_bytes",
    "result_cache_seconds",
    "cacheable_tools",
    "validate",
    "keep",
    "keep_idle_seconds",
    "private_idle",
    "unlisted",
    "unlisted_tokens",
    "readonly",
    "sandbox",
    "import",
    "roots",
    "notify",
    "vault_key",
    "code",
    "sampling",
];

/// The keys of `[settings.code]`.
pub(crate) const CODE_KEYS: &[&str] = &["python"];

/// The keys of `[settings.sampling]`.
pub(crate) const SAMPLING_KEYS: &[&str] = &["command", "calls", "tokens", "concurrent", "timeout_seconds"];

/// The keys of a rule.
pub(crate) const RULE_KEYS: &[&str] = &["tool", "pattern", "risk", "kind", "who", "action", "by"];

fn read(reader: &mut FileReader<'_>, root: &Node) {
    if let Some(inputs) = root.get("inputs") {
        super::vscode::inputs(reader, inputs);
    }
    reader.servers(root);
    if let Some(entry) = root.entry("rules") {
        rules(reader, entry);
    }
    if let Some(entry) = root.entry("environment") {
        grants::read(reader, entry);
    }
    if let Some(entry) = root.entry("hubs") {
        hub::read(reader, entry);
    }
    if let Some(entry) = root.entry("settings")
        && !entry.node.is_table()
    {
        let message = wrong_type(&quoted("settings"), "a table", &entry.node);
        reader.report(Diagnostic::error(Code::WrongType, message), entry.node.span);
    } else if let Some(settings) = root.get("settings") {
        reader.unknown_keys_with_limits(settings, SETTINGS_KEYS, &["readonly"]);
        common_settings(reader, settings);
        own_settings(reader, settings);
    }
    for entry in root.entries() {
        let is_other_root =
            matches!(entry.key.as_str(), "mcpServers" | "mcp_servers" | "context_servers" | "mcp" | "extensions");
        if !is_other_root && !ROOT_KEYS.contains(&entry.key.as_str()) {
            let mut diagnostic = crate::reader::unknown_key(&entry.key, ROOT_KEYS.iter().copied());
            // Rules under a misspelt key must not be taken for none.
            if nearest(&entry.key, ROOT_KEYS.iter().copied()).is_some_and(|near| matches!(near, "rules" | "settings")) {
                diagnostic.severity = Severity::Error;
            }
            reader.report(diagnostic, entry.key_span);
        }
    }
}

/// The four settings that claude-loop has too.
pub(super) fn common_settings(reader: &mut FileReader<'_>, settings: &Node) {
    if let Some(entry) = settings.entry("timeout_seconds") {
        reader.content.settings.call_timeout = reader.seconds(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("max_retries") {
        reader.content.settings.max_retries = reader.count(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("watch") {
        reader.content.settings.watch = reader.bool(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("cache_tool_schemas") {
        reader.content.settings.cache_tool_schemas = reader.bool(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("schema_cache_ttl_seconds") {
        reader.content.settings.schema_cache_ttl = reader.seconds(entry).and_then(|value| reader.setting(entry, value));
    }
}

fn own_settings(reader: &mut FileReader<'_>, settings: &Node) {
    if let Some(entry) = settings.entry("startup_timeout_seconds") {
        reader.content.settings.startup_timeout = reader.seconds(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("calls_per_server") {
        let count = above_zero(reader, entry);
        reader.content.settings.calls_per_server = count.and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("result_bytes") {
        let count = above_zero(reader, entry);
        reader.content.settings.result_bytes = count.and_then(|value| reader.setting(entry, Some(value)));
    }
    if let Some(entry) = settings.entry("result_cache_seconds") {
        let time = reader.seconds(entry);
        reader.content.settings.result_cache_ttl = time.and_then(|value| reader.setting(entry, Some(value)));
    }
    if let Some(entry) = settings.entry("cacheable_tools") {
        let tools = reader.strings(entry).into_iter().map(|(tool, _)| tool).collect();
        reader.content.settings.cacheable_tools = reader.setting(entry, tools);
    }
    if let Some(entry) = settings.entry("validate") {
        let validation = word(reader, entry, &Validation::WORDS);
        reader.content.settings.validation = validation.and_then(|value| reader.setting(entry, Some(value)));
    }
    if let Some(entry) = settings.entry("keep") {
        reader.content.settings.keep = reader.bool(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("keep_idle_seconds") {
        reader.content.settings.keep_idle = reader.seconds(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("private_idle") {
        reader.content.settings.private_idle =
            private_idle(reader, entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("unlisted").filter(|entry| is_for_the_person(reader, entry)) {
        let words = [("ask", Action::Ask), ("allow", Action::Allow), ("deny", Action::Deny)];
        reader.content.settings.unlisted = word(reader, entry, &words).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("unlisted_tokens").filter(|entry| is_for_the_person(reader, entry)) {
        reader.content.settings.unlisted_tokens = reader.bool(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("readonly") {
        reader.content.settings.readonly = reader.bool(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = settings.entry("sandbox") {
        // Whose projects are confined is not for a project to say.
        if reader.place.layer == Layer::Project {
            let message = "a project cannot say how the programs of projects are confined";
            let hint = "put `sandbox` into `[settings]` of your own helve.toml, or into the server's entry";
            reader.report(Diagnostic::warning(Code::BadValue, message).hint(hint), entry.key_span);
        } else {
            let words = Choice::ALL.map(|choice| (choice.as_str(), choice));
            reader.content.settings.sandbox =
                word(reader, entry, &words).and_then(|value| reader.setting(entry, value));
        }
    }
    if let Some(entry) = settings.entry("import") {
        let import = match entry.node.value {
            Value::Bool(true) => Import::All,
            Value::Bool(false) => Import::Only(Vec::new()),
            _ => Import::Only(reader.strings(entry).into_iter().map(|(name, _)| name).collect()),
        };
        reader.content.settings.import = reader.setting(entry, import);
    }
    if let Some(entry) = settings.entry("roots") {
        let roots = reader.strings(entry).into_iter().map(|(text, _)| directory(reader, &text)).collect();
        reader.content.settings.roots = reader.setting(entry, roots);
    }
    if let Some(entry) = settings.entry("notify")
        && is_for_the_person(reader, entry)
    {
        let mut addresses = Vec::new();
        for (address, span) in reader.strings(entry) {
            if address.starts_with("https://") {
                addresses.push(address);
            } else {
                let message = format!("{} takes addresses that begin with https://", quoted(&entry.key));
                reader.report(Diagnostic::error(Code::BadValue, message), span);
            }
        }
        reader.content.settings.notify = reader.setting(entry, addresses);
    }
    if let Some(entry) = settings.entry("vault_key")
        && is_for_the_person(reader, entry)
    {
        let command = reader.string(entry).map(|text| vault_key(&text));
        if command == Some(None) {
            let message = format!("{} names a program that prints the key: ${{cmd:…}}", quoted(&entry.key));
            reader.report(Diagnostic::error(Code::BadValue, message), entry.node.span);
        }
        reader.content.settings.vault_key = command.flatten().and_then(|command| reader.setting(entry, Some(command)));
    }
    // Which interpreter runs a model's programs is for the person to say.
    if let Some(entry) = settings.entry("code").filter(|entry| is_for_the_person(reader, entry)) {
        table(reader, entry, code);
    }
    if let Some(entry) = settings.entry("sampling") {
        table(reader, entry, sampling);
    }
}

fn table(reader: &mut FileReader<'_>, entry: &TableEntry, read: fn(&mut FileReader<'_>, &Node)) {
    if matches!(entry.node.value, Value::Table(_)) {
        read(reader, &entry.node);
    } else {
        let message = wrong_type(&quoted(&entry.key), "a table", &entry.node);
        reader.report(Diagnostic::error(Code::WrongType, message), entry.node.span);
    }
}

fn code(reader: &mut FileReader<'_>, node: &Node) {
    reader.unknown_keys(node, CODE_KEYS);
    if let Some(entry) = node.entry("python") {
        let python = reader.string(entry).map(|text| {
            let home = reader.scope.environment.expand_home(&text);
            home.to_string_lossy().into_owned()
        });
        reader.content.settings.code_python = python.and_then(|python| reader.setting(entry, Some(python)));
    }
}

/// The command in `${cmd:…}`.
fn vault_key(text: &str) -> Option<String> {
    let body = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    match LateSource::parse(body)? {
        LateSource::Command(command) => Some(command),
        _ => None,
    }
}

/// A time with its unit, or `never`.
fn private_idle(reader: &mut FileReader<'_>, entry: &TableEntry) -> Option<PrivateIdle> {
    let idle = reader.string(entry).map(|text| PrivateIdle::parse(&text))?;
    if idle.is_none() {
        reader.report(Diagnostic::error(Code::BadValue, not_an_idle_time(entry)), entry.node.span);
    }
    idle
}

/// What is wrong with a time that is none.
pub(crate) fn not_an_idle_time(entry: &TableEntry) -> String {
    format!("{} is a time like 45s, 10m or 1h, or never", quoted(&entry.key))
}

/// What agents may do where nobody spoke of it is for the person to say, and for no project, trusted or not.
fn is_for_the_person(reader: &mut FileReader<'_>, entry: &TableEntry) -> bool {
    if reader.place.layer != Layer::Project {
        return true;
    }
    let message = format!("a project cannot say {}", quoted(&entry.key));
    let hint = "put it under `[settings]` of your own helve.toml";
    reader.report(Diagnostic::warning(Code::BadValue, message).hint(hint), entry.key_span);
    false
}

fn above_zero(reader: &mut FileReader<'_>, entry: &TableEntry) -> Option<u32> {
    let count = reader.count(entry)?;
    if count == 0 {
        let message = format!("{} must be above 0", quoted(&entry.key));
        reader.report(Diagnostic::error(Code::BadValue, message), entry.node.span);
        return None;
    }
    Some(count)
}

/// A directory, seen from the workspace.
fn directory(reader: &FileReader<'_>, text: &str) -> PathBuf {
    let place = interpolate::Place::Elsewhere;
    let text = interpolate::expand(text, &interpolate::DIRECTORIES, &reader.scope, place).into_value();
    let path = reader.scope.workspace.join(reader.scope.environment.expand_home(&text));
    // `.` means the directory itself, not a name in it.
    path.components().filter(|part| *part != Component::CurDir).collect()
}

fn sampling(reader: &mut FileReader<'_>, node: &Node) {
    reader.unknown_keys(node, SAMPLING_KEYS);
    if let Some(entry) = node.entry("command") {
        // What a project would run is trusted by its content; that of a command of a setting is not looked at.
        if reader.place.layer == Layer::Project {
            let message = "a project cannot say which program answers for a model";
            let hint = "put `[settings.sampling]` into your own helve.toml";
            reader.report(Diagnostic::warning(Code::BadValue, message).hint(hint), entry.key_span);
        } else {
            let words = match entry.node.as_str() {
                Some(program) => vec![program.to_owned()],
                None => reader.strings(entry).into_iter().map(|(word, _)| word).collect(),
            };
            reader.content.settings.sampling_command = reader.setting(entry, words);
        }
    }
    if let Some(entry) = node.entry("calls") {
        reader.content.settings.sampling_calls = reader.count(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = node.entry("tokens") {
        let tokens = reader.count(entry).map(u64::from);
        reader.content.settings.sampling_tokens = tokens.and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = node.entry("concurrent") {
        reader.content.settings.sampling_concurrent =
            reader.count(entry).and_then(|value| reader.setting(entry, value));
    }
    if let Some(entry) = node.entry("timeout_seconds") {
        reader.content.settings.sampling_timeout = reader.seconds(entry).and_then(|value| reader.setting(entry, value));
    }
}

fn rules(reader: &mut FileReader<'_>, entry: &TableEntry) {
    if !entry.node.is_array() {
        let message = wrong_type(&quoted("rules"), "a list of tables", &entry.node);
        reader.report(Diagnostic::error(Code::WrongType, message), entry.node.span);
    }
    for node in entry.node.elements() {
        if !read_rule(reader, node) {
            return;
        }
    }
}

/// Reads one rule; false when there are too many.
pub(super) fn read_rule(reader: &mut FileReader<'_>, node: &Node) -> bool {
    if !reader.scope.allowance.take_rule() {
        let message = format!("the files of this project hold more than {MAX_PROJECT_RULES} rules");
        let hint = "nothing is started by rules that are not read: remove some, or say more with one pattern";
        reader.report(Diagnostic::error(Code::TooMany, message).hint(hint), node.span);
        return false;
    }
    let problems = reader.content.diagnostics.len();
    reader.unknown_keys(node, RULE_KEYS);
    let rule = rule(reader, node);
    let is_broken = reader.content.diagnostics.len() > problems;
    match (rule, node.entry("tool")) {
        (Some(rule), _) if !is_broken && allows_for_a_project(reader, &rule, node) => {}
        (Some(rule), _) if !is_broken => reader.content.rules.push(rule),
        (_, Some(tool)) => broken_rule(reader, tool, problems),
        (_, None) => {}
    }
    true
}

/// A rule with a mistake denies what it speaks of: half a pattern must not allow everything, nor half a `deny` nothing.
fn broken_rule(reader: &mut FileReader<'_>, tool: &TableEntry, problems: usize) {
    let Some(glob) = tool.node.as_str() else { return };
    for diagnostic in reader.content.diagnostics.iter_mut().skip(problems) {
        diagnostic.severity = Severity::Error;
    }
    if let Some(last) = reader.content.diagnostics.last_mut() {
        last.hints.push(format!("until it is repaired, this rule denies {}", quoted(glob)));
    }
    let rule = reader.rule(glob, Action::Deny, tool.node.span);
    reader.content.rules.push(rule);
}

fn rule(reader: &mut FileReader<'_>, node: &Node) -> Option<Rule> {
    let (Some(tool), Some(action)) = (node.entry("tool"), node.entry("action")) else {
        let message = "a rule needs `tool` and `action`";
        let hint = "write `tool = \"github/*\"` and `action = \"allow\"`, `\"deny\"` or `\"ask\"`";
        reader.report(Diagnostic::error(Code::BadValue, message).hint(hint), node.span);
        return None;
    };
    let tool = (reader.string(tool)?, tool.node.span);
    let action = word(reader, action, &[("allow", Action::Allow), ("deny", Action::Deny), ("ask", Action::Ask)])?;
    let mut rule = reader.rule(&tool.0, action, tool.1);
    if let Some(entry) = node.entry("pattern") {
        let pattern = reader.string(entry)?;
        let place = interpolate::Place::Elsewhere;
        let pattern = interpolate::expand(&pattern, &interpolate::DIRECTORIES, &reader.scope, place);
        rule.pattern = Some(pattern.into_value());
    }
    if let Some(entry) = node.entry("risk") {
        let risks = [("low", Risk::Low), ("medium", Risk::Medium), ("high", Risk::High)];
        rule.risk = Some(word(reader, entry, &risks)?);
    }
    if let Some(entry) = node.entry("kind") {
        let kinds = [
            ("tool", CallKind::Tool),
            ("resource", CallKind::Resource),
            ("prompt", CallKind::Prompt),
            ("method", CallKind::Method),
        ];
        let kind = word(reader, entry, &kinds)?;
        let named = tool.0.split_once(['/', ':']).map_or(tool.0.as_str(), |(_, method)| method);
        if kind == CallKind::Method && !named.contains(['*', '?', '[', '{']) && method::is_reserved(named) {
            let message = format!("{} is a method of the protocol's own", quoted(named));
            let hint = "a rule of this kind opens what a vendor added; the protocol's methods are decided as tools, \
                        resources and prompts";
            reader.report(Diagnostic::error(Code::BadValue, message).hint(hint), tool.1);
            return None;
        }
        rule.kind = Some(kind);
    }
    if let Some(entry) = node.entry("by") {
        rule.by = Some(word(reader, entry, &[("anyone", Answerers::Anyone), ("page", Answerers::Page)])?);
        if action != Action::Ask {
            let message = "`by` says who may answer: it does nothing in a rule that does not ask";
            reader.report(Diagnostic::warning(Code::BadValue, message), entry.key_span);
        }
    }
    if let Some(entry) = node.entry("who") {
        rule.who = who(reader, entry, action)?;
    }
    Some(rule)
}

/// Whom a rule is for: one, or a list.
fn who(reader: &mut FileReader<'_>, entry: &TableEntry, action: Action) -> Option<Vec<Who>> {
    let written = match entry.node.as_str() {
        Some(one) => vec![(one.to_owned(), entry.node.span)],
        None => reader.strings(entry),
    };
    if written.is_empty() {
        let message = format!("{} names nobody", quoted(&entry.key));
        let hint = "leave it out where a rule is for everybody";
        reader.report(Diagnostic::error(Code::BadValue, message).hint(hint), entry.node.span);
        return None;
    }
    let mut meant = Vec::new();
    for (text, span) in written {
        match Who::parse(&text) {
            Some(Who::Agent(_)) if action == Action::Allow => {
                let message = format!("{} is what a client calls itself, and allows nothing", quoted(&text));
                let hint = "give the agent a token and write `token:NAME`; rules that deny or ask may name an agent";
                reader.report(Diagnostic::error(Code::BadValue, message).hint(hint), span);
                return None;
            }
            Some(who) => meant.push(who),
            None => {
                let message = format!("{} cannot be {}", quoted(&entry.key), quoted(&text));
                let hint = "write `token:` and a glob over names of tokens, `local`, or a list of them";
                reader.report(Diagnostic::error(Code::BadValue, message).hint(hint), span);
                return None;
            }
        }
    }
    Some(meant)
}

/// Which tokens there are is not a project's to know: what it would allow to one of them it allows to nobody.
fn allows_for_a_project(reader: &mut FileReader<'_>, rule: &Rule, node: &Node) -> bool {
    let Some(entry) = node.entry("who").filter(|_| rule.action == Action::Allow) else { return false };
    if reader.place.layer != Layer::Project {
        return false;
    }
    let message = "a project cannot allow something to somebody; the rule allows nothing";
    let hint = "leave out `who`, or put the rule into your own helve.toml";
    reader.report(Diagnostic::warning(Code::BadValue, message).hint(hint), entry.key_span);
    true
}

/// One of a few words.
fn word<T: Copy>(reader: &mut FileReader<'_>, entry: &TableEntry, words: &[(&str, T)]) -> Option<T> {
    let text = reader.string(entry)?;
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
        return Some(*meaning);
    }
    let message = format!("{} cannot be {}", quoted(&entry.key), quoted(&text));
    let hint = one_of(&text, words.iter().map(|(word, _)| *word));
    reader.report(Diagnostic::error(Code::BadValue, message).hint(hint), entry.node.span);
    None
}
