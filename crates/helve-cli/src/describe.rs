//! A server in words: how it is reached, what it is given, what it may do. Values of variables are never shown.

use helve_config::{Configuration, ConfiguredServer, looks_secret};
use helve_model::{
    ConfigText, HttpFlavour, Listed, Origin, PrivateIdle, RecordedBodies, ServerSpec, StdioSpec, TransportSpec,
    Validation,
};
use helve_setup::held_word;
use serde_json::{Map, Value, json};

use crate::confinement;
use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style};

/// Whether texts that a file spells out are shown where they look like secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrets {
    Hidden,
    /// As a file of a project has them: the person has to see what they would run.
    AsWritten,
}

/// One property with its values, one per line.
pub(crate) type Detail = (&'static str, Vec<String>);

/// How a server is reached, in one word.
pub(crate) const fn transport(transport: &TransportSpec) -> &'static str {
    match transport {
        TransportSpec::Stdio(_) => "stdio",
        TransportSpec::Http(http) => match http.flavour {
            HttpFlavour::Auto | HttpFlavour::Streamable => "http",
            HttpFlavour::Sse => "sse",
        },
        TransportSpec::Builtin(_) => "built in",
    }
}

/// The command as a shell would need it.
pub(crate) fn command_line(stdio: &StdioSpec, secrets: Secrets) -> String {
    let mut words: Vec<String> = vec![stdio.command.written().to_owned()];
    let mut follows_secret_flag = false;
    for argument in &stdio.arguments {
        let written = argument.written();
        let (flag, value) = match written.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (written, None),
        };
        let names_secret = flag.starts_with('-') && looks_secret(flag.trim_start_matches('-'));
        let is_spelt_out = !argument.is_expanded() && !written.contains('$');
        let shown = match (secrets, value) {
            (Secrets::Hidden, None) if follows_secret_flag && is_spelt_out => ConfigText::HIDDEN.to_owned(),
            (Secrets::Hidden, Some(_)) if names_secret && is_spelt_out => format!("{flag}={}", ConfigText::HIDDEN),
            _ => written.to_owned(),
        };
        follows_secret_flag = names_secret && value.is_none();
        words.push(shown);
    }
    shell_words::join(words)
}

/// An address, without what opens doors in it.
pub(crate) fn address(url: &ConfigText, secrets: Secrets) -> String {
    let written = url.written();
    if secrets == Secrets::AsWritten {
        return written.to_owned();
    }
    let (before, query) = match written.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (written, None),
    };
    let mut shown = match (before.find("://"), before.find('@')) {
        (Some(scheme), Some(at)) if !before.get(scheme + 3..at).is_none_or(|user| user.contains('/')) => {
            let (scheme, host) = (before.get(..scheme + 3), before.get(at..));
            format!("{}{}{}", scheme.unwrap_or_default(), ConfigText::HIDDEN, host.unwrap_or_default())
        }
        _ => before.to_owned(),
    };
    if let Some(query) = query {
        let hide = |pair: &str| match pair.split_once('=') {
            Some((name, value)) if looks_secret(name) && !value.contains('$') => {
                format!("{name}={}", ConfigText::HIDDEN)
            }
            _ => pair.to_owned(),
        };
        shown.push('?');
        shown.push_str(&query.split('&').map(hide).collect::<Vec<_>>().join("&"));
    }
    shown
}

/// What stands in the place of a value that a file spells out.
const LEFT_OUT: &str = "…";

/// Words in front of credentials that are none themselves.
const SCHEMES: [&str; 3] = ["Bearer", "Basic", "Token"];

/// The value of a variable or a header: the references in it, and nothing that the file spells out.
fn value(text: &ConfigText, secrets: Secrets) -> String {
    let written = text.written();
    if secrets == Secrets::AsWritten || written == ConfigText::HIDDEN {
        return written.to_owned();
    }
    let mut shown = String::new();
    let mut rest = written;
    loop {
        let (before, reference, after) = next_reference(rest);
        match before.trim() {
            "" => shown.push_str(before),
            scheme if SCHEMES.contains(&scheme) && !reference.is_empty() => shown.push_str(before),
            _ => shown.push_str(LEFT_OUT),
        }
        if reference.is_empty() {
            return shown;
        }
        shown.push_str(&without_default(reference));
        rest = after;
    }
}

/// A text up to its first reference, that reference, and what stands behind it. Any application's way of writing one.
fn next_reference(text: &str) -> (&str, &str, &str) {
    let braced = ["${", "{env:", "{file:", "{{"].iter().filter_map(|open| text.find(open)).min();
    let nothing = (text, "", "");
    let Some(start) = braced else { return nothing };
    let Some(length) = text.get(start..).and_then(|reference| reference.find('}')) else { return nothing };
    let end = start + length + 1;
    // `{{name}}`
    let end = if text.get(start..).is_some_and(|text| text.starts_with("{{")) && text.get(end..end + 1) == Some("}") {
        end + 1
    } else {
        end
    };
    match (text.get(..start), text.get(start..end), text.get(end..)) {
        (Some(before), Some(reference), Some(after)) => (before, reference, after),
        _ => nothing,
    }
}

/// `${NAME:-default}` with the default left out: it is spelt out too.
fn without_default(reference: &str) -> String {
    match reference.split_once(":-") {
        Some((name, default)) if default != "}" => format!("{name}:-{LEFT_OUT}}}"),
        _ => reference.to_owned(),
    }
}

/// Everything a spec says, property by property.
pub(crate) fn details(context: &Context, spec: &ServerSpec, secrets: Secrets) -> Vec<Detail> {
    let mut details: Vec<Detail> = Vec::new();
    let mut say = |label: &'static str, values: Vec<String>| {
        if !values.is_empty() {
            details.push((label, values));
        }
    };
    let pairs = |texts: &indexmap::IndexMap<String, ConfigText>, between: &str| -> Vec<String> {
        texts.iter().map(|(name, text)| format!("{name}{between}{}", value(text, secrets))).collect()
    };
    match &spec.transport {
        TransportSpec::Stdio(stdio) => {
            say("command", vec![command_line(stdio, secrets)]);
            say("variables", pairs(&stdio.environment, "="));
            say("directory", stdio.working_directory.iter().map(|path| context.env.shown(path)).collect());
        }
        TransportSpec::Http(http) => {
            say("address", vec![address(&http.url, secrets)]);
            say("headers", pairs(&http.headers, ": "));
        }
        TransportSpec::Builtin(builtin) => {
            say("built in", vec![builtin.kind.clone()]);
            for (option, values) in &builtin.options {
                let values: Vec<&str> = values.iter().map(ConfigText::written).collect();
                say("option", vec![format!("{option}={}", values.join(", "))]);
            }
        }
    }
    say("sandbox", spec.sandbox.iter().flat_map(|sandbox| confinement::written(context, sandbox)).collect());
    let globs = |listed: &[Listed]| vec![listed.iter().map(|item| item.glob.as_str()).collect::<Vec<_>>().join(", ")];
    let access = &spec.access;
    say("only tools", access.tools.as_deref().map(globs).unwrap_or_default());
    say("may write", access.write_tools.as_deref().filter(|tools| !tools.is_empty()).map(globs).unwrap_or_default());
    if !access.disabled_tools.is_empty() {
        say("without tools", globs(&access.disabled_tools));
    }
    say("read-only", access.readonly.iter().map(|flag| yes_or_no(*flag)).collect());
    let flag = |is_said: bool, what: &str| is_said.then(|| what.to_owned());
    say(
        "also",
        [
            flag(spec.inherit_environment, "gets your whole environment"),
            flag(spec.leaves_results, "its results may show its secrets"),
            flag(spec.record == RecordedBodies::Arguments, "a hub records what is sent to it"),
            flag(spec.record == RecordedBodies::All, "a hub records what is sent to it and what it answers"),
            flag(access.trust_annotations, "is believed when it calls a tool harmless"),
            flag(spec.required, "helve does not start without it"),
            flag(spec.lazy, "starts at first use"),
            flag(spec.one_at_a_time, "takes one request at a time"),
            spec.shared
                .map(|shared| if shared { "is shared by all agents" } else { "is one for each agent" }.to_owned()),
            spec.private_idle.map(|idle| match idle {
                PrivateIdle::After(_) => format!("runs on for {idle} without its agent"),
                PrivateIdle::Never => "runs on without its agent".to_owned(),
            }),
            spec.oauth.as_ref().and_then(|oauth| flag(!oauth.enabled, "must not be signed in to")),
            spec.protocol_version.as_ref().map(|version| format!("speaks protocol version {version}")),
            spec.startup_timeout.map(|timeout| format!("may take {timeout:?} to start")),
            spec.call_timeout.map(|timeout| format!("may take {timeout:?} for a call")),
            spec.max_retries.map(|retries| format!("is tried {retries} times more")),
            spec.validation.map(|validation| {
                match validation {
                    Validation::Strict => "arguments are checked before they are sent",
                    Validation::Server => "arguments are sent unchecked, the server judges them",
                }
                .to_owned()
            }),
        ]
        .into_iter()
        .flatten()
        .collect(),
    );
    details
}

/// Prints labels in one column and values in the next, one line each.
pub(crate) fn print(context: &Context, details: &[Detail], indent: &str) -> Result<(), Failure> {
    let width = details.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, values) in details {
        for (index, value) in values.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let line = Line::styled(Style::Dim, format!("{indent}{label:width$}  "));
            context.printer.line(&line.then(Style::Plain, value))?;
        }
    }
    Ok(())
}

/// A configured server for scripts. The keys are part of helve's interface.
pub(crate) fn as_json(context: &Context, server: &ConfiguredServer) -> Value {
    as_json_with(context, server, Secrets::Hidden)
}

/// The same, with as much of it as the reader has to see.
pub(crate) fn as_json_with(context: &Context, server: &ConfiguredServer, secrets: Secrets) -> Value {
    let held = context.setup.held(server);
    let mut object = Map::new();
    object.insert("name".to_owned(), server.name.as_str().into());
    object.insert("state".to_owned(), held_word(held.as_ref()).into());
    if let Some(reason) = &held {
        object.insert("reason".to_owned(), reason.to_string().into());
    }
    object.insert("application".to_owned(), server.application.into());
    object.insert("layer".to_owned(), server.layer.to_string().into());
    object.insert("origin".to_owned(), origin(&server.origin));
    if let Some(spec) = &server.spec {
        object.insert("transport".to_owned(), transport_json(&spec.transport, secrets));
        object.insert("access".to_owned(), access(spec));
    }
    if let Some(by) = &server.disabled_by {
        object.insert("disabled_by".to_owned(), origin(by));
    }
    object.insert("variables".to_owned(), server.variables.clone().into());
    Value::Object(object)
}

/// `{"path", "line", "column"}`, or `null` for what no file says.
pub(crate) fn origin(origin: &Origin) -> Value {
    match origin {
        Origin::File { path, line, column } => {
            json!({ "path": path.to_string_lossy(), "line": line, "column": column })
        }
        Origin::BuiltIn | Origin::CommandLine | Origin::Program => Value::Null,
    }
}

/// The servers that lost their name to `server`.
pub(crate) fn hidden_by<'a>(
    configuration: &'a Configuration,
    server: &'a ConfiguredServer,
) -> impl Iterator<Item = &'a helve_config::Shadowed> {
    configuration.shadowed.iter().filter(|shadowed| shadowed.server.name == server.name && shadowed.by == server.origin)
}

/// A transport for scripts.
pub(crate) fn transport_json(spec: &TransportSpec, secrets: Secrets) -> Value {
    let texts = |texts: &indexmap::IndexMap<String, ConfigText>| -> Value {
        texts.iter().map(|(name, text)| (name.clone(), Value::from(value(text, secrets)))).collect::<Map<_, _>>().into()
    };
    match spec {
        TransportSpec::Stdio(stdio) => json!({
            "type": transport(spec),
            "command_line": command_line(stdio, Secrets::Hidden),
            "env": texts(&stdio.environment),
            "cwd": stdio.working_directory.as_ref().map(|path| path.to_string_lossy()),
        }),
        TransportSpec::Http(http) => json!({
            "type": transport(spec),
            "url": address(&http.url, Secrets::Hidden),
            "headers": texts(&http.headers),
        }),
        TransportSpec::Builtin(builtin) => {
            let options: Map<String, Value> = builtin
                .options
                .iter()
                .map(|(name, values)| (name.clone(), values.iter().map(ConfigText::written).collect()))
                .collect();
            json!({ "type": "builtin", "builtin": builtin.kind, "options": options })
        }
    }
}

fn access(spec: &ServerSpec) -> Value {
    let globs = |listed: &[Listed]| listed.iter().map(|item| item.glob.clone()).collect::<Vec<_>>();
    json!({
        "tools": spec.access.tools.as_deref().map(globs),
        "write_tools": spec.access.write_tools.as_deref().map(globs),
        "disabled_tools": globs(&spec.access.disabled_tools),
        "readonly": spec.access.readonly,
        "trust_annotations": spec.access.trust_annotations,
    })
}

fn yes_or_no(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

#[cfg(test)]
#[path = "describe_tests.rs"]
mod tests;
