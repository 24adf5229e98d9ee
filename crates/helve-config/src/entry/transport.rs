//! How a server is reached: a program, or an address, from whatever keys an application uses for it.

use std::path::PathBuf;

use base64::Engine as _;
use helve_model::text::nearest;
use helve_model::{ConfigText, HttpFlavour, HttpSpec, Layer, StdioSpec, TransportSpec};
use indexmap::IndexMap;

use super::values::{Secrecy, Values};
use super::{builtin, project_directory};
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::dialect::Dialect;
use crate::document::{TableEntry, Value};
use crate::dotenv;
use crate::environment::variable;
use crate::field::Field;
use crate::interpolate::{Place, Problem};
use crate::secret::looks_secret;
use crate::server::{Blocker, Referenced};
use crate::source::Span;

/// Every spelling of a transport that any application uses.
const TYPES: &[(&str, Kind)] = &[
    ("stdio", Kind::Stdio),
    ("local", Kind::Stdio),
    ("http", Kind::Http),
    ("streamable-http", Kind::Streamable),
    ("streamable_http", Kind::Streamable),
    ("streamableHttp", Kind::Streamable),
    ("streamableHTTP", Kind::Streamable),
    ("remote", Kind::Remote),
    ("sse", Kind::Sse),
    ("ws", Kind::WebSocket),
    ("websocket", Kind::WebSocket),
];

/// True for a word that means an address, over Streamable HTTP or whichever way it answers.
pub(crate) fn is_address_type(word: &str) -> bool {
    let means = TYPES.iter().find(|(known, _)| *known == word).map(|(_, kind)| kind);
    matches!(means, Some(Kind::Http | Kind::Streamable | Kind::Remote))
}

/// A command line with more words is none that a person wrote.
const MAX_WORDS: usize = 10_000;

/// goose's tool sets that are not servers.
const NOT_SERVERS: &[&str] = &["builtin", "platform", "frontend", "inline_python"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    Http,
    Streamable,
    Remote,
    Sse,
    WebSocket,
}

/// What an entry turned out to be.
pub(super) enum Found {
    Transport(Box<TransportSpec>),
    /// helve cannot do it.
    Unsupported(String, Span),
    /// Not something to connect to.
    NotAServer(String, Span),
    /// Nothing but a switch for a server that another file configures.
    SwitchedOff,
    /// The diagnostics say what is wrong.
    Mistake,
}

pub(super) fn read(values: &mut Values<'_, '_>, name_span: Span) -> Found {
    if let Some(entry) = values.find(Field::Builtin) {
        return builtin::read(values, entry, name_span);
    }
    builtin::refuse_options(values);
    let declared = match declared(values) {
        Ok(declared) => declared,
        Err(found) => return found,
    };
    let endpoint = values.find(Field::Endpoint);
    let program = values.find(Field::Command).filter(|entry| entry.node.value != Value::Null);
    let address = values
        .find(Field::StreamableUrl)
        .or_else(|| values.find(Field::Url))
        .filter(|entry| entry.node.value != Value::Null);

    if let Some(entry) = endpoint {
        return if matches!(declared, None | Some(Kind::Stdio)) {
            command_line(values, entry)
        } else {
            http(values, entry, declared)
        };
    }
    match (program, address, declared) {
        (Some(program), Some(_), Some(Kind::Stdio)) => stdio(values, program),
        (Some(_), Some(address), Some(_)) => http(values, address, declared),
        (Some(program), Some(address), None) => {
            let message = format!(
                "server {} has both {} and {}; it can be started or reached, not both",
                quoted(values.server.name.as_str()),
                quoted(&program.key),
                quoted(&address.key)
            );
            values
                .invalid(Diagnostic::error(Code::CommandAndUrl, message).hint("remove one of them"), address.key_span);
            Found::Mistake
        }
        (Some(program), None, _) => stdio(values, program),
        (None, Some(address), _) => http(values, address, declared),
        (None, None, _) => nothing(values, name_span),
    }
}

fn declared(values: &mut Values<'_, '_>) -> Result<Option<Kind>, Found> {
    let Some((text, entry)) = values.string(Field::Type) else { return Ok(None) };
    if NOT_SERVERS.contains(&text) && values.file.place.dialect == Dialect::Goose {
        let what = format!("it is built into {}", values.file.shape.title);
        return Err(Found::NotAServer(what, entry.key_span));
    }
    match TYPES.iter().find(|(name, _)| *name == text) {
        Some((_, Kind::WebSocket)) => {
            Err(Found::Unsupported("helve does not speak MCP over WebSocket".to_owned(), entry.node.span))
        }
        Some((_, kind)) => Ok(Some(*kind)),
        None => {
            let diagnostic = Diagnostic::error(Code::BadValue, format!("there is no transport {}", quoted(text)));
            let diagnostic = match nearest(text, TYPES.iter().map(|(name, _)| *name)) {
                Some(near) => diagnostic.hint(format!("did you mean {}?", quoted(near))),
                None => diagnostic.hint("transports are `stdio`, `http` and `sse`"),
            };
            values.invalid(diagnostic, entry.node.span);
            Err(Found::Mistake)
        }
    }
}

fn nothing(values: &mut Values<'_, '_>, name_span: Span) -> Found {
    if values.file.place.dialect == Dialect::Zed {
        return Found::NotAServer("it is started by a Zed extension".to_owned(), name_span);
    }
    let is_off = values.bool(Field::Enabled) == Some(false) || values.bool(Field::Disabled) == Some(true);
    if is_off && values.node.entries().iter().all(|entry| is_switch(values, entry)) {
        return Found::SwitchedOff;
    }
    let shape = values.file.shape;
    let command = shape.key_of(Field::Command).or_else(|| shape.key_of(Field::Endpoint)).unwrap_or("command");
    let message = format!("server {} does not say how it is reached", quoted(values.server.name.as_str()));
    let hint = match shape.key_of(Field::Url).or_else(|| shape.key_of(Field::StreamableUrl)) {
        Some(url) if shape.key_of(Field::Builtin).is_some() => {
            format!("give it a {} to start, a {}, or `builtin`", quoted(command), quoted(url))
        }
        Some(url) => format!("give it a {} to start, or a {}", quoted(command), quoted(url)),
        None => format!("give it a {}", quoted(command)),
    };
    values.invalid(Diagnostic::error(Code::NoTransport, message).hint(hint), name_span);
    Found::Mistake
}

fn is_switch(values: &Values<'_, '_>, entry: &TableEntry) -> bool {
    let field = values.file.shape.field_of(&entry.key);
    matches!(field, Some(Field::Enabled | Field::Disabled | Field::Name | Field::Ignored))
}

/// A program with its arguments in one text.
fn command_line(values: &mut Values<'_, '_>, entry: &TableEntry) -> Found {
    let Some(line) = entry.node.as_str() else {
        let message = crate::reader::wrong_type(&quoted(&entry.key), "a string", &entry.node);
        values.invalid(Diagnostic::error(Code::WrongType, message), entry.node.span);
        return Found::Mistake;
    };
    let Ok(words) = shell_words::split(line) else {
        let message = format!("{} has a quotation mark without its partner", quoted(&entry.key));
        values.invalid(Diagnostic::error(Code::BadValue, message), entry.node.span);
        return Found::Mistake;
    };
    if words.len() > MAX_WORDS {
        let message = format!("{} has more than {MAX_WORDS} words", quoted(&entry.key));
        values.invalid(Diagnostic::error(Code::TooMany, message), entry.node.span);
        return Found::Mistake;
    }
    // Split first, fill in afterwards: a value with a blank in it stays one argument.
    let mut texts: Vec<ConfigText> = Vec::with_capacity(words.len());
    for word in &words {
        texts.push(values.text(&entry.key, word, entry.node.span, Place::Elsewhere, Secrecy::Open));
    }
    program(values, texts, entry)
}

fn stdio(values: &mut Values<'_, '_>, entry: &TableEntry) -> Found {
    let texts = match &entry.node.value {
        Value::String(text) => {
            warn_of_command_line(values, text, entry);
            vec![values.text(&entry.key, text, entry.node.span, Place::Elsewhere, Secrecy::Open)]
        }
        Value::Array(_) => values.texts(entry),
        // Zed's older form: `command: {path, args, env}`.
        Value::Table(_) if values.file.place.dialect == Dialect::Zed => return nested(values, entry),
        _ => {
            let message = crate::reader::wrong_type(&quoted(&entry.key), "a string", &entry.node);
            values.invalid(Diagnostic::error(Code::WrongType, message), entry.node.span);
            return Found::Mistake;
        }
    };
    program(values, texts, entry)
}

/// No application splits a command; a person who wrote a whole line should hear why it does not start.
fn warn_of_command_line(values: &mut Values<'_, '_>, text: &str, entry: &TableEntry) {
    let Some((program, rest)) = text.trim().split_once(' ') else { return };
    // A path may hold blanks; a name to look up does not.
    if program.contains(['/', '\\', '$']) {
        return;
    }
    let arguments = values.file.shape.key_of(Field::Arguments).unwrap_or("args");
    let message = format!("{} is one program, not a line of a shell", quoted(&entry.key));
    let hint = format!("write {} there, and {} into {}", quoted(program), quoted(rest), quoted(arguments));
    values.report(Diagnostic::warning(Code::BadValue, message).hint(hint), entry.node.span);
}

fn nested(values: &mut Values<'_, '_>, entry: &TableEntry) -> Found {
    let Some(path) = entry.node.entry("path").filter(|path| path.node.as_str().is_some()) else {
        let message = format!("{} needs a {}", quoted(&entry.key), quoted("path"));
        values.invalid(Diagnostic::error(Code::NoTransport, message), entry.node.span);
        return Found::Mistake;
    };
    let text = path.node.as_str().unwrap_or_default();
    let mut texts = vec![values.text("command.path", text, path.node.span, Place::Elsewhere, Secrecy::Open)];
    if let Some(arguments) = entry.node.entry("args") {
        texts.extend(values.texts(arguments));
    }
    let mut environment = IndexMap::new();
    if let Some(variables) = entry.node.entry("env") {
        environment.extend(values.text_table(variables, Place::Environment, secrecy_of_variable));
    }
    finish_program(values, texts, environment, entry)
}

fn program(values: &mut Values<'_, '_>, texts: Vec<ConfigText>, entry: &TableEntry) -> Found {
    finish_program(values, texts, IndexMap::new(), entry)
}

/// Adds arguments, environment and directory to the first words of a command.
fn finish_program(
    values: &mut Values<'_, '_>,
    texts: Vec<ConfigText>,
    mut environment: IndexMap<String, ConfigText>,
    entry: &TableEntry,
) -> Found {
    let mut texts = texts.into_iter();
    let command = texts.next();
    let is_missing = command.as_ref().is_none_or(|command| command.written().trim().is_empty());
    let Some(command) = command.filter(|_| !is_missing) else {
        let message = format!("the command of server {} is empty", quoted(values.server.name.as_str()));
        values.invalid(Diagnostic::error(Code::EmptyCommand, message), entry.node.span);
        return Found::Mistake;
    };
    let mut arguments: Vec<ConfigText> = texts.collect();
    if let Some(more) = values.find(Field::Arguments) {
        arguments.extend(values.texts(more));
    }
    if let Some(directory) = project_directory(values) {
        environment.insert(variable::CLAUDE_PROJECT_DIR.to_owned(), directory);
    }
    if let Some(file) = values.find(Field::EnvironmentFile) {
        environment_file(values, file, &mut environment);
    }
    if let Some(variables) = values.find(Field::Environment) {
        environment.extend(values.text_table(variables, Place::Environment, secrecy_of_variable));
    }
    passed_variables(values, &mut environment);
    let working_directory = working_directory(values);
    // No program can be given such a text, and what ends at it for one reader goes on for another.
    let holds_zero = |text: &ConfigText| text.expose().contains('\0');
    let names_zero = |(name, text): (&String, &ConfigText)| holds_zero(text) || name.contains(['\0', '=']);
    if holds_zero(&command) || arguments.iter().any(holds_zero) || environment.iter().any(names_zero) {
        let message = format!(
            "server {} is given a zero byte, or a variable with `=` in its name",
            quoted(values.server.name.as_str())
        );
        values.invalid(Diagnostic::error(Code::BadValue, message), entry.node.span);
    }
    Found::Transport(Box::new(TransportSpec::Stdio(StdioSpec { command, arguments, environment, working_directory })))
}

fn secrecy_of_variable(name: &str) -> Secrecy {
    if looks_secret(name) { Secrecy::Secret } else { Secrecy::Open }
}

fn working_directory(values: &mut Values<'_, '_>) -> Option<PathBuf> {
    let (default, base) = directories(values);
    let written = values.string(Field::WorkingDirectory).map(|(text, _)| text.to_owned());
    values.server.as_written.directory = written.filter(|text| !text.is_empty());
    values.path(Field::WorkingDirectory, &base).or(default)
}

/// Where a server runs when nobody says so, and where its relative paths start.
///
/// Project files run in the project, mcporter's beside the file; others where helve runs.
pub(super) fn directories(values: &Values<'_, '_>) -> (Option<PathBuf>, PathBuf) {
    let place = values.file.place;
    let beside = values.file.scope.directory.clone();
    let default = match (place.layer, place.dialect) {
        (_, Dialect::Mcporter) => Some(beside.clone()),
        (Layer::Project, _) | (_, Dialect::VsCode | Dialect::Cursor | Dialect::Zed) => Some(place.project.clone()),
        _ => None,
    };
    let base = default.clone().unwrap_or(beside);
    (default, base)
}

fn environment_file(values: &mut Values<'_, '_>, entry: &TableEntry, environment: &mut IndexMap<String, ConfigText>) {
    let base = values.file.place.project.clone();
    let Some(path) = values.path(Field::EnvironmentFile, &base) else { return };
    let written = entry.node.as_str().unwrap_or_default();
    values.server.as_written.environment_file = Some((written.to_owned(), path.clone()));
    match dotenv::read(&path, &values.file.scope.allowance.budget) {
        Ok(file) => {
            values.server.as_written.files.push(Referenced { path, content: Some(file.content) });
            for (name, value) in file.variables {
                let bytes = written.len().saturating_add(name.len()).saturating_add(value.len());
                values.charge(&entry.key, bytes, entry.node.span);
                if values.server.blockers.contains(&Blocker::Invalid) {
                    return;
                }
                let reference = format!("${{{}:{written}:{name}}}", entry.key);
                values.server.as_written.file_variables.push((name.clone(), reference.clone()));
                environment.insert(name, ConfigText::expanded(reference, value));
            }
        }
        Err(reason) => values.expansion_problem(&entry.key, &Problem::File(path, reason), entry.node.span),
    }
}

fn passed_variables(values: &mut Values<'_, '_>, environment: &mut IndexMap<String, ConfigText>) {
    for (field, required) in [(Field::PassedVariables, false), (Field::RequiredVariables, true)] {
        let Some(entry) = values.find(field) else { continue };
        for (name, span) in values.names(entry) {
            values.server.as_written.passed_variables.push(name.clone());
            if environment.contains_key(&name) {
                continue;
            }
            note_variable(values, &name);
            match values.file.scope.environment.variable(&name) {
                Some(value) => {
                    let text = ConfigText::expanded(format!("${{{name}}}"), value);
                    environment.insert(name, text);
                }
                None if required => values.expansion_problem(&entry.key, &Problem::Unset(name), span),
                None => {}
            }
        }
    }
}

fn note_variable(values: &mut Values<'_, '_>, name: &str) {
    if !values.server.variables.iter().any(|known| known == name) {
        values.server.variables.push(name.to_owned());
    }
}

fn http(values: &mut Values<'_, '_>, entry: &TableEntry, declared: Option<Kind>) -> Found {
    let Some(text) = entry.node.as_str() else {
        let message = crate::reader::wrong_type(&quoted(&entry.key), "a string", &entry.node);
        values.invalid(Diagnostic::error(Code::WrongType, message), entry.node.span);
        return Found::Mistake;
    };
    let url = values.text(&entry.key, text, entry.node.span, Place::Elsewhere, Secrecy::Open);
    if !values.server.blockers.is_empty() {
        // A reference is missing: what the address would be is not known.
    } else if url.expose().starts_with("unix:") {
        return Found::Unsupported("helve does not speak HTTP over a socket file".to_owned(), entry.node.span);
    } else if !(url.expose().starts_with("http://") || url.expose().starts_with("https://")) {
        let diagnostic =
            Diagnostic::error(Code::BadValue, format!("{} must be an http or https address", quoted(&entry.key)));
        values.invalid(diagnostic, entry.node.span);
    }
    let shape = values.file.shape;
    let flavour = match declared {
        Some(Kind::Sse) => HttpFlavour::Sse,
        Some(Kind::Streamable) => HttpFlavour::Streamable,
        Some(Kind::Http) => shape.http,
        Some(Kind::Remote) => HttpFlavour::Auto,
        Some(Kind::Stdio | Kind::WebSocket) => {
            let message = "a server with an address is not started; its type is `http` or `sse`";
            values.invalid(Diagnostic::error(Code::BadValue, message), entry.key_span);
            HttpFlavour::Auto
        }
        None if shape.field_of(&entry.key) == Some(Field::StreamableUrl) => HttpFlavour::Streamable,
        None => shape.bare_url,
    };
    let headers = headers(values);
    refuse_control_characters(values, &url, &headers, entry);
    Found::Transport(Box::new(TransportSpec::Http(HttpSpec { url, headers, flavour })))
}

/// A line break in a header would begin another header, whoever wrote the value.
fn refuse_control_characters(
    values: &mut Values<'_, '_>,
    url: &ConfigText,
    headers: &IndexMap<String, ConfigText>,
    entry: &TableEntry,
) {
    let is_control = |character: char| character.is_control() && character != '\t';
    if url.expose().contains(char::is_control) {
        let message = format!("{} holds a line break or a control character", quoted(&entry.key));
        values.invalid(Diagnostic::error(Code::BadValue, message), entry.node.span);
    }
    for (name, value) in headers {
        let is_named = !name.is_empty() && name.bytes().all(is_header_name);
        if is_named && !value.expose().contains(is_control) {
            continue;
        }
        let what = if is_named { "holds a line break or a control character" } else { "is not the name of a header" };
        let message = format!("the header {} {what}", quoted(name));
        let span = values.find(Field::Headers).map_or(entry.node.span, |headers| headers.key_span);
        values.invalid(Diagnostic::error(Code::BadValue, message), span);
    }
}

/// What RFC 9110 calls a token.
const fn is_header_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}

fn headers(values: &mut Values<'_, '_>) -> IndexMap<String, ConfigText> {
    let mut headers = IndexMap::new();
    if let Some(entry) = values.find(Field::Headers) {
        headers.extend(values.text_table(entry, Place::Elsewhere, |_| Secrecy::Secret));
    }
    if let Some(entry) = values.find(Field::HeaderVariables) {
        for inner in entry.node.entries() {
            let Some(variable) = inner.node.as_str() else {
                let message = crate::reader::wrong_type(&quoted(&inner.key), "a variable's name", &inner.node);
                values.invalid(Diagnostic::error(Code::WrongType, message), inner.node.span);
                continue;
            };
            note_variable(values, variable);
            values.server.as_written.header_variables.push((inner.key.clone(), variable.to_owned()));
            match values.file.scope.environment.variable(variable) {
                Some(value) => {
                    headers.insert(inner.key.clone(), ConfigText::expanded(format!("${{{variable}}}"), value));
                }
                None => {
                    let message = format!("the header {} is left out: {variable} is not set", quoted(&inner.key));
                    values.report(Diagnostic::warning(Code::UnsetVariable, message), inner.node.span);
                }
            }
        }
    }
    if let Some((variable, entry)) = values.string(Field::BearerVariable) {
        note_variable(values, variable);
        values.server.as_written.bearer_variable = Some(variable.to_owned());
        match values.file.scope.environment.variable(variable) {
            Some(token) => {
                let text = ConfigText::expanded(format!("Bearer ${{{variable}}}"), format!("Bearer {token}"));
                headers.insert("Authorization".to_owned(), text);
            }
            None => values.expansion_problem(&entry.key, &Problem::Unset(variable.to_owned()), entry.node.span),
        }
    }
    authorization(values, &mut headers);
    headers
}

/// claude-loop's `auth_type` and `auth_token`.
fn authorization(values: &mut Values<'_, '_>, headers: &mut IndexMap<String, ConfigText>) {
    let Some((kind, kind_entry)) = values.string(Field::AuthType) else { return };
    if kind == "none" {
        return;
    }
    let scheme = match kind {
        "bearer" => "Bearer",
        "basic" => "Basic",
        _ => {
            let message = format!("there is no authentication {}", quoted(kind));
            let hint = "it is `none`, `bearer` or `basic`";
            values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), kind_entry.node.span);
            return;
        }
    };
    let Some((written, entry)) = values.string(Field::AuthToken) else {
        let message = format!("{kind} authentication needs a token");
        let hint = "write `\"auth_token\": \"${NAME_OF_A_VARIABLE}\"`";
        values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), kind_entry.node.span);
        return;
    };
    let token = values.text(&entry.key, written, entry.node.span, Place::Elsewhere, Secrecy::Secret);
    let value = token.expose();
    // `user:password` is what people write; the header wants it encoded.
    let credentials = if scheme == "Basic" && value.contains(':') {
        base64::engine::general_purpose::STANDARD.encode(value)
    } else {
        value.to_owned()
    };
    let header = ConfigText::expanded(format!("{scheme} {}", token.written()), format!("{scheme} {credentials}"));
    headers.insert("Authorization".to_owned(), header);
}
