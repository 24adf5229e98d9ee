//! What a person may type for a new server, and what it is understood as.

use std::path::Path;

use super::{Typed, read_typed};
use crate::edit::{NewServer, NewTransport};

fn read(text: &str) -> String {
    match read_typed(text, Path::new("/p")) {
        Ok(Typed::Server { name, server: NewServer { transport, .. } }) => match transport {
            NewTransport::Program { command, arguments, environment, .. } => {
                let variables: Vec<String> =
                    environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("{name}: {} | {command} | {}", variables.join(" "), arguments.join(" | "))
            }
            NewTransport::Address { url, .. } => format!("{name}: {url}"),
        },
        Ok(Typed::Snippet(snippet)) => format!("{}: {}", snippet.place.dialect.name(), snippet.names.join(", ")),
        Err((place, message)) => format!("{place:?} {message}"),
    }
}

#[test]
fn what_people_paste_is_understood() {
    let cases = [
        ("npx -y @modelcontextprotocol/server-filesystem '/my files'", "filesystem: "),
        ("npx -y x '/my files'", "| npx | -y | x | /my files"),
        ("T=x docker run -i --rm -e T ghcr.io/github/github-mcp-server:1", "github: T=x | docker | run"),
        ("uvx mcp-server-time@2 --local", "time: "),
        ("/usr/bin/python3 ./tools/weather.py", "weather: "),
        ("sh -c 'one\ntwo'", "| sh | -c | one\ntwo"),
        ("https://mcp.linear.app/sse", "linear: https://mcp.linear.app/sse"),
        ("http://127.0.0.1:9/mcp", "local: "),
        ("{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"url\": \"https://b.example\"}}}", ": a, b"),
        ("{\"command\": \"npx\", \"args\": [\"-y\", \"tavily-mcp\"]}", ": tavily"),
        ("\"one\": {\"command\": \"x\"},", ": one"),
        ("{\"servers\": {\"vs\": {\"type\": \"stdio\", \"command\": \"x\"}}}", "vscode: vs"),
        ("[mcp_servers.theirs]\ncommand = \"x\"", "codex: theirs"),
        ("[servers.own]\ncommand = \"x\"", "helve: own"),
        ("extensions:\n  bird:\n    cmd: x\n    type: stdio", "goose: bird"),
    ];
    for (text, expected) in cases {
        let read = read(text);
        assert!(read.contains(expected), "{text}: {read}");
    }
}

#[test]
fn what_is_none_of_it_says_why() {
    let cases = [
        ("ftp://files.example", "begins with http:// or https://"),
        ("https:///path", "names no host"),
        ("{\"name\": \"nothing\"}", "no server in it"),
        ("{\"mcpServers\": {", "Some((1, "),
        ("FOO=bar", "names no program"),
        ("say 'hello", "not a command line"),
        ("one line\nanother line", "neither one command line"),
        ("  ", "nothing in it"),
    ];
    for (text, expected) in cases {
        let read = read(text);
        assert!(read.contains(expected), "{text}: {read}");
    }
}
