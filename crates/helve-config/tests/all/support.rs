//! What the tests share: an environment, reading one text, and a rendering of what was read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use helve_config::{Blocker, ConfiguredServer, Dialect, Environment, FileContent, FilePlace, read_text};
use helve_model::{ConfigText, Layer, Listed, Origin, Rule, TransportSpec};

pub(crate) const PROJECT: &str = "/home/me/project";

/// A person at home, with a few variables; every secret value holds the word `hunter`.
pub(crate) fn environment() -> Environment {
    let secrets = [
        "API_TOKEN",
        "GITHUB_TOKEN",
        "DOCS_TOKEN",
        "WIKI_PASSWORD",
        "SEARCH_KEY",
        "LOCAL_TOKEN",
        "DB_PASSWORD",
        "DESIGN_SECRET",
        "REMOTE_TOKEN",
        "FILES_TOKEN",
        "STREAM_KEY",
        "DOCS_KEY",
        "LINEAR_KEY",
        "BRAVE_API_KEY",
    ];
    Environment::new(PROJECT)
        .with_home("/home/me")
        .with_variables(secrets.map(|name| (name, format!("hunter-{name}"))))
        .with_variables([("AWS_PROFILE", "dev")])
}

pub(crate) fn place(dialect: Dialect, path: impl AsRef<Path>, layer: Layer) -> FilePlace {
    FilePlace {
        path: path.as_ref().to_path_buf(),
        application: dialect.name(),
        dialect,
        layer,
        project: PathBuf::from(PROJECT),
    }
}

pub(crate) fn read(dialect: Dialect, path: &str, text: &str) -> FileContent {
    read_text(&place(dialect, path, Layer::User), text, &environment())
}

/// Every problem of a file and its servers, rendered.
pub(crate) fn problems(content: &FileContent) -> String {
    let of_servers = content.servers.iter().flat_map(|server| &server.diagnostics);
    content.diagnostics.iter().chain(of_servers).map(|diagnostic| diagnostic.render()).collect::<Vec<_>>().join("\n")
}

/// Everything a file says, in a form for snapshots. Secret values are shown as their length.
pub(crate) fn describe(content: &FileContent) -> String {
    let mut out = String::new();
    for server in &content.servers {
        describe_server(&mut out, server);
    }
    for rule in &content.rules {
        describe_rule(&mut out, rule);
    }
    for input in &content.inputs {
        writeln!(
            out,
            "input {} {:?} secret={} options={:?} default={:?}",
            input.id, input.description, input.secret, input.options, input.default
        )
        .unwrap();
    }
    let settings = &content.settings;
    for (name, value) in [
        (
            "call_timeout",
            settings
                .call_timeout
                .as_ref()
                .map(|setting| format!("{:?} at {}", setting.value, position(&setting.origin))),
        ),
        (
            "startup_timeout",
            settings
                .startup_timeout
                .as_ref()
                .map(|setting| format!("{:?} at {}", setting.value, position(&setting.origin))),
        ),
        (
            "max_retries",
            settings.max_retries.as_ref().map(|setting| format!("{} at {}", setting.value, position(&setting.origin))),
        ),
        (
            "cache_tool_schemas",
            settings
                .cache_tool_schemas
                .as_ref()
                .map(|setting| format!("{} at {}", setting.value, position(&setting.origin))),
        ),
        (
            "schema_cache_ttl",
            settings
                .schema_cache_ttl
                .as_ref()
                .map(|setting| format!("{:?} at {}", setting.value, position(&setting.origin))),
        ),
        (
            "readonly",
            settings.readonly.as_ref().map(|setting| format!("{} at {}", setting.value, position(&setting.origin))),
        ),
        (
            "import",
            settings.import.as_ref().map(|setting| format!("{:?} at {}", setting.value, position(&setting.origin))),
        ),
    ] {
        if let Some(value) = value {
            writeln!(out, "setting {name} = {value}").unwrap();
        }
    }
    for diagnostic in &content.diagnostics {
        writeln!(out, "{diagnostic}").unwrap();
    }
    out
}

fn describe_server(out: &mut String, server: &ConfiguredServer) {
    writeln!(out, "{} at {}", server.name, position(&server.origin)).unwrap();
    if let Some(spec) = &server.spec {
        match &spec.transport {
            TransportSpec::Stdio(stdio) => {
                let words: Vec<String> = std::iter::once(&stdio.command).chain(&stdio.arguments).map(text).collect();
                writeln!(out, "  runs {}", words.join(" | ")).unwrap();
                for (name, value) in &stdio.environment {
                    writeln!(out, "  env {name}={}", text(value)).unwrap();
                }
                if let Some(directory) = &stdio.working_directory {
                    writeln!(out, "  in {}", directory.display()).unwrap();
                }
            }
            TransportSpec::Http(http) => {
                writeln!(out, "  {:?} {}", http.flavour, text(&http.url)).unwrap();
                for (name, value) in &http.headers {
                    writeln!(out, "  header {name}: {}", text(value)).unwrap();
                }
            }
            TransportSpec::Builtin(builtin) => {
                writeln!(out, "  builtin {}", builtin.kind).unwrap();
                for (option, values) in &builtin.options {
                    let values: Vec<String> = values.iter().map(text).collect();
                    writeln!(out, "  option {option}: {}", values.join(" | ")).unwrap();
                }
            }
        }
        for (flag, name) in [
            (spec.required, "required"),
            (spec.lazy, "lazy"),
            (spec.one_at_a_time, "one at a time"),
            (spec.inherit_environment, "inherits environment"),
            (spec.access.trust_annotations, "trusts annotations"),
        ] {
            if flag {
                writeln!(out, "  {name}").unwrap();
            }
        }
        if let Some(sandbox) = &spec.sandbox {
            writeln!(out, "  {sandbox:?}").unwrap();
        }
        if let Some(version) = &spec.protocol_version {
            writeln!(out, "  speaks {version}").unwrap();
        }
        if spec.startup_timeout.is_some() || spec.call_timeout.is_some() || spec.max_retries.is_some() {
            writeln!(
                out,
                "  startup {:?} call {:?} retries {:?}",
                spec.startup_timeout, spec.call_timeout, spec.max_retries
            )
            .unwrap();
        }
        if let Some(oauth) = &spec.oauth {
            let shown = oauth.client_secret.as_ref().map(text);
            writeln!(
                out,
                "  oauth enabled={} client={:?} secret={shown:?} scopes={:?}",
                oauth.enabled, oauth.client_id, oauth.scopes
            )
            .unwrap();
        }
        list(out, "tools", spec.access.tools.as_deref());
        list(out, "write_tools", spec.access.write_tools.as_deref());
        list(
            out,
            "disabled_tools",
            (!spec.access.disabled_tools.is_empty()).then_some(spec.access.disabled_tools.as_slice()),
        );
        if let Some(readonly) = spec.access.readonly {
            writeln!(out, "  readonly={readonly}").unwrap();
        }
    }
    if let Some(by) = &server.disabled_by {
        writeln!(out, "  off by {}", position(by)).unwrap();
    }
    for rule in &server.rules {
        write!(out, "  ").unwrap();
        describe_rule(out, rule);
    }
    for blocker in &server.blockers {
        match blocker {
            Blocker::UnsetVariable { variable, field, origin } => {
                writeln!(out, "  blocked: {field} at {} needs {variable}", position(origin)).unwrap();
            }
            Blocker::NeedsInput { id, field, origin } => {
                writeln!(out, "  blocked: {field} at {} needs the answer {id}", position(origin)).unwrap();
            }
            other => writeln!(out, "  blocked: {other:?}").unwrap(),
        }
    }
    for diagnostic in &server.diagnostics {
        writeln!(out, "  {diagnostic}").unwrap();
    }
}

fn describe_rule(out: &mut String, rule: &Rule) {
    write!(out, "rule {} {}", rule.action, rule.tool).unwrap();
    if let Some(pattern) = &rule.pattern {
        write!(out, " pattern={pattern}").unwrap();
    }
    if let Some(risk) = rule.risk {
        write!(out, " risk={risk}").unwrap();
    }
    if let Some(kind) = rule.kind {
        write!(out, " kind={kind}").unwrap();
    }
    writeln!(out, " at {}", position(&rule.origin)).unwrap();
}

fn list(out: &mut String, name: &str, listed: Option<&[Listed]>) {
    if let Some(listed) = listed {
        let globs: Vec<&str> = listed.iter().map(|item| item.glob.as_str()).collect();
        writeln!(out, "  {name} {globs:?}").unwrap();
    }
}

/// What was written, and the value's length where it is another one.
fn text(text: &ConfigText) -> String {
    if text.is_expanded() {
        format!("{} ({} bytes)", text.written(), text.expose().len())
    } else {
        text.written().to_owned()
    }
}

pub(crate) fn position(origin: &Origin) -> String {
    match origin {
        Origin::File { line, column, .. } => format!("{line}:{column}"),
        other => other.to_string(),
    }
}
