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
        "npx -y @modelcontextprotocol/server-filesystem '/my files'",
        "GITHUB_TOKEN=x docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server:1",
        "uvx mcp-server-time@2 --local",
        "/usr/bin/python3 ./tools/weather.py",
        "https://mcp.linear.app/sse",
        "http://127.0.0.1:9/mcp",
        "ftp://files.example",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"url\": \"https://b.example\"}}}",
        "{\"command\": \"npx\", \"args\": [\"-y\", \"tavily-mcp\"]}",
        "\"one\": {\"command\": \"x\"},",
        "{\"servers\": {\"vs\": {\"type\": \"stdio\", \"command\": \"x\"}}}",
        "[mcp_servers.codex]\ncommand = \"x\"",
        "[servers.own]\ncommand = \"x\"",
        "extensions:\n  goose:\n    cmd: x\n    type: stdio",
        "{\"name\": \"nothing\"}",
        "{\"mcpServers\": {",
        "FOO=bar",
        "say 'hello",
        "one line\nanother line",
        "  ",
    ];
    let read: Vec<String> = cases.iter().map(|text| read(text)).collect();
    insta::assert_snapshot!(read.join("\n"), @"");
}
