//! How agents are connected with the hub: one line for each of the common ones.

/// How one application is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectLine {
    /// Its name.
    pub application: &'static str,
    /// The line to run, or the text to put into a file.
    pub line: String,
    /// Where that goes.
    pub place: &'static str,
}

/// How agents are connected with a hub at this address, with a token where it takes one.
#[must_use]
pub fn connect_lines(address: &str, token: Option<&str>) -> Vec<ConnectLine> {
    let url = format!("{}/mcp", address.trim_end_matches('/'));
    let header = token.map(|token| format!("Bearer {token}"));
    let claude = header.as_ref().map_or_else(String::new, |header| format!(" --header \"Authorization: {header}\""));
    let quoted = |text: &str| helve_model::json::quoted(text);
    let headers = |header: &String| {
        let headers = helve_model::json::ObjectWriter::new().text("Authorization", header).finish();
        helve_model::json::ObjectWriter::new().raw("headers", headers.as_str())
    };
    let entry = |kind: Option<&str>| {
        let entry = header.as_ref().map_or_else(helve_model::json::ObjectWriter::new, headers).text("url", &url);
        match kind {
            Some(kind) => entry.text("type", kind).finish(),
            None => entry.finish(),
        }
    };
    let cursor = helve_model::json::ObjectWriter::new()
        .raw("mcpServers", helve_model::json::ObjectWriter::new().raw("helve", entry(None).as_str()).finish().as_str())
        .finish();
    let code = helve_model::json::ObjectWriter::new().text("name", "helve").members_of(&entry(Some("http")), |_| true);
    let codex_headers = header
        .as_ref()
        .map_or_else(String::new, |header| format!("\nhttp_headers = {{ Authorization = {} }}", quoted(header)));
    vec![
        ConnectLine {
            application: "Claude Code",
            line: format!("claude mcp add --transport http helve {url}{claude}"),
            place: "in a terminal",
        },
        ConnectLine { application: "Cursor", line: cursor.as_str().to_owned(), place: "into ~/.cursor/mcp.json" },
        ConnectLine {
            application: "VS Code",
            line: format!("code --add-mcp '{}'", code.finish().as_str()),
            place: "in a terminal",
        },
        ConnectLine {
            application: "Codex",
            line: format!("[mcp_servers.helve]\nurl = {}{codex_headers}", quoted(&url)),
            place: "into ~/.codex/config.toml",
        },
    ]
}
