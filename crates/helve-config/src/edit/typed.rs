//! What a person types or pastes to say which server they mean: a command line, an address, or a piece of any application's
//! configuration.

use std::path::{Path, PathBuf};

use helve_model::Layer;
use helve_model::json::ObjectWriter;

use super::render::{NewServer, NewTransport};
use crate::dialect::Dialect;
use crate::document::{self, Format, Node};
use crate::reader::{FilePlace, ROOTS};
use crate::source::Source;

/// The longest text that is looked at.
const LONGEST: usize = 256 << 10;

/// What a server is called that has no better name.
const NAMELESS: &str = "server";

/// Programs that run what their arguments name.
const RUNNERS: &[&str] = &[
    "npx", "bunx", "pnpx", "uvx", "pipx", "docker", "podman", "node", "python", "python3", "deno", "bun", "uv", "npm",
    "pnpm", "yarn", "sh", "bash", "env",
];

/// Words between a runner and what it runs.
const RUNNER_WORDS: &[&str] = &["run", "exec", "dlx", "x", "tool", "start"];

/// What was typed, as far as its form goes.
#[derive(Debug, Clone)]
pub enum Typed {
    /// A command line or an address, and a name for it.
    Server {
        /// A name that suits it.
        name: String,
        /// The server.
        server: NewServer,
    },
    /// A piece of a configuration.
    Snippet(Snippet),
}

/// A piece of a configuration.
#[derive(Debug, Clone)]
pub struct Snippet {
    /// As if it were a file of its application.
    pub place: FilePlace,
    /// The text, made whole where only a part was given.
    pub text: String,
    /// The servers in it.
    pub names: Vec<String>,
}

impl Typed {
    /// What it came as, in words: `a command line`.
    #[must_use]
    pub fn came_as(&self) -> String {
        match self {
            Self::Server { server: NewServer { transport: NewTransport::Program { .. }, .. }, .. } => {
                "a command line".to_owned()
            }
            Self::Server { .. } => "an address".to_owned(),
            Self::Snippet(snippet) => format!("a piece of {}", snippet.place.dialect.title()),
        }
    }
}

/// Reads what was typed. `project` is where a program would run.
///
/// # Errors
/// What is wrong with it, with the line where that is known.
pub fn read_typed(text: &str, project: &Path) -> Result<Typed, (Option<(u32, u32)>, String)> {
    let text = text.trim();
    let wrong = |message: &str| Err((None, message.to_owned()));
    if text.is_empty() {
        return wrong("there is nothing in it");
    }
    if text.len() > LONGEST {
        return wrong("it is too long to be one server");
    }
    let is_one_word = !text.contains(char::is_whitespace);
    if let Some((scheme, rest)) = text.split_once("://").filter(|_| is_one_word) {
        if !matches!(scheme, "http" | "https") {
            return wrong("an address begins with http:// or https://");
        }
        if rest.split(['/', '?', '#']).next().unwrap_or_default().is_empty() {
            return wrong("the address names no host");
        }
        return Ok(Typed::Server { name: name_of_address(rest), server: NewServer::address(text) });
    }
    let is_table = |line: &str| line.trim_start().starts_with('[') && line.trim_end().ends_with(']');
    if text.starts_with('{') {
        return json(text.to_owned(), project);
    }
    if text.starts_with('"') && text.contains(':') {
        return json(format!("{{{}}}", text.trim_end_matches(',')), project);
    }
    if text.lines().any(is_table) {
        return snippet("snippet.toml", text.to_owned(), project);
    }
    if text.contains('\n') && text.lines().any(|line| line.trim_end().ends_with(':')) {
        return snippet("snippet.yaml", text.to_owned(), project);
    }
    command_line(text)
}

fn command_line(text: &str) -> Result<Typed, (Option<(u32, u32)>, String)> {
    // A line that ends with a backslash goes on.
    let text = text.replace("\\\n", " ");
    if has_several_lines(&text) {
        return Err((None, "it is neither one command line, nor an address, nor a configuration".to_owned()));
    }
    let words = shell_words::split(&text).map_err(|error| (None, format!("it is not a command line: {error}")))?;
    let is_variable = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        })
    };
    let environment: Vec<(String, String)> = words
        .iter()
        .take_while(is_variable)
        .filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut line = words.into_iter().skip(environment.len());
    let Some(command) = line.next().filter(|command| !command.is_empty()) else {
        return Err((None, "it names no program".to_owned()));
    };
    let arguments: Vec<String> = line.collect();
    let name = name_of_program(&command, &arguments);
    let transport = NewTransport::Program { command, arguments, environment, working_directory: None };
    Ok(Typed::Server { name, server: NewServer { transport, ..NewServer::address("") } })
}

/// True when a line ends outside of quotes.
fn has_several_lines(text: &str) -> bool {
    let mut quote = None;
    let mut is_escaped = false;
    for letter in text.chars() {
        match (quote, letter) {
            (None, '\n') => return true,
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    false
}

/// JSON that is a whole file, its servers alone, or one entry alone.
fn json(text: String, project: &Path) -> Result<Typed, (Option<(u32, u32)>, String)> {
    let root = parsed("snippet.json", &text)?;
    if is_entry(&root) {
        let said = |key: &str| root.get(key).and_then(Node::as_str).unwrap_or_default();
        let address = ["url", "httpUrl", "serverUrl", "uri"].into_iter().map(said).find(|url| !url.is_empty());
        let name = match address.and_then(|url| url.split_once("://")) {
            Some((_, rest)) => name_of_address(rest),
            None => {
                let words = root.get("args").map(Node::elements).unwrap_or_default();
                let words: Vec<String> = words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect();
                name_of_program(said("command"), &words)
            }
        };
        return snippet("snippet.json", under_root(&under(&name, &text)), project);
    }
    let has_root = ROOTS.iter().any(|path| root.at(path).is_some_and(|node| node.is_table() || node.is_array()));
    let are_entries = !root.entries().is_empty() && root.entries().iter().all(|entry| is_entry(&entry.node));
    let text = if are_entries && !has_root { under_root(&text) } else { text };
    snippet("snippet.json", text, project)
}

/// Entries as a file holds them.
fn under_root(entries: &str) -> String {
    under("mcpServers", entries)
}

/// An object with this one member, whose text may have comments in it.
fn under(key: &str, text: &str) -> String {
    ObjectWriter::new().raw(key, text).into_text()
}

fn is_entry(node: &Node) -> bool {
    let says = |key: &&str| node.get(key).is_some_and(|value| value.as_str().is_some() || value.is_array());
    ["command", "url", "httpUrl", "serverUrl", "uri"].iter().any(says)
}

fn snippet(name: &str, text: String, project: &Path) -> Result<Typed, (Option<(u32, u32)>, String)> {
    let path = PathBuf::from(name);
    let root = parsed(name, &text)?;
    let nothing = || (None, "there is no server in it that helve could read".to_owned());
    let dialect = Dialect::recognise(&path, &root).ok_or_else(nothing)?;
    let project = project.to_owned();
    let place = FilePlace { path, application: dialect.name(), dialect, layer: Layer::User, project };
    let names = super::server_names(&place, &root);
    if names.is_empty() { Err(nothing()) } else { Ok(Typed::Snippet(Snippet { place, text, names })) }
}

fn parsed(name: &str, text: &str) -> Result<Node, (Option<(u32, u32)>, String)> {
    let path = Path::new(name);
    document::parse(&Source::new(path, text), Format::of(path)).map_err(|diagnostic| {
        let place = match diagnostic.origin {
            helve_model::Origin::File { line, column, .. } => Some((line, column)),
            _ => None,
        };
        (place, diagnostic.message)
    })
}

/// `linear` for `mcp.linear.app/mcp`.
fn name_of_address(behind_scheme: &str) -> String {
    let authority = behind_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let is_number = host.starts_with('[') || host.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let telling = labels.iter().find(|label| !matches!(**label, "www" | "mcp" | "api" | "app"));
    match telling {
        Some(label) if !is_number && *label != "localhost" => plain_name(label),
        _ => "local".to_owned(),
    }
}

/// `filesystem` for `npx -y @modelcontextprotocol/server-filesystem .`.
fn name_of_program(command: &str, arguments: &[String]) -> String {
    let base = |word: &str| word.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let program = base(command);
    let is_runner = RUNNERS.contains(&program.as_str());
    let mut words = arguments.iter().filter(|word| !word.starts_with('-') && !RUNNER_WORDS.contains(&word.as_str()));
    let telling = match program.as_str() {
        // What is behind an image is for the program in it; options of docker take a word each.
        "docker" | "podman" => {
            arguments.iter().rev().find(|word| word.contains(['/', ':'])).or_else(|| words.next_back())
        }
        _ if is_runner => words.next(),
        _ => None,
    };
    let word = base(telling.unwrap_or(&program));
    // `name@1.2`, `name:latest`, `name.py`
    let word = word.split(['@', ':']).next().unwrap_or_default();
    let word =
        [".py", ".js", ".mjs", ".ts", ".exe", ".sh"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let mut name = word;
    for start in ["mcp-server-", "server-", "mcp-"] {
        name = name.strip_prefix(start).unwrap_or(name);
    }
    for end in ["-mcp-server", "-mcp", "-server", "_mcp"] {
        name = name.strip_suffix(end).unwrap_or(name);
    }
    plain_name(if name.is_empty() { word } else { name })
}

fn plain_name(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let name: String = text.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).take(40).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { NAMELESS.to_owned() } else { name.to_owned() }
}

#[cfg(test)]
#[path = "typed_tests.rs"]
mod tests;
