//! The spellings of a tool that people bring from other programs, made helve's own: `server.tool`, `server tool`,
//! `mcp:server:tool`, `server_tool`.

use helve_config::Configuration;
use helve_model::ServerName;
use helve_model::name::{Spelling, begins_with_server, is_code_spelling};

/// The tool a command line names, and the words that are left for its arguments.
pub(crate) fn tool_and_words<'a>(
    configuration: &Configuration,
    tool: &str,
    words: &'a [String],
) -> (String, &'a [String]) {
    let names = || configuration.servers.iter().map(|server| &server.name);
    // `helve call server tool key=value`
    if let Some((second, rest)) = words.split_first()
        && !second.contains('=')
        && let Some(server) = names().find(|name| name.as_str() == tool)
    {
        return (format!("{}/{second}", Spelling::Slash.render_server(server)), rest);
    }
    (own_spelling(configuration, tool), words)
}

/// True when a text, in whatever spelling, may name a tool of this server.
pub(crate) fn may_mean(text: &str, server: &ServerName) -> bool {
    let text = text.strip_prefix("mcp:").unwrap_or(text);
    begins_with_server(text, server) || text.starts_with(server.as_str())
}

/// The text in helve's own spelling, when it is another program's and a configured server fits.
pub(crate) fn own_spelling(configuration: &Configuration, text: &str) -> String {
    let colons = text.strip_prefix("mcp:").unwrap_or(text);
    if text.contains('/') || text.starts_with("mcp__") || is_code_spelling(text) {
        return text.to_owned();
    }
    // The longest name first: `a.b` may be a server.
    let mut servers: Vec<_> = configuration.servers.iter().map(|server| &server.name).collect();
    servers.sort_by_key(|name| std::cmp::Reverse(name.as_str().len()));
    for server in servers {
        let rest = colons.strip_prefix(server.as_str()).and_then(|rest| rest.strip_prefix(['.', ':']));
        if let Some(tool) = rest.filter(|tool| !tool.is_empty()) {
            return format!("{}/{tool}", Spelling::Slash.render_server(server));
        }
    }
    text.to_owned()
}
