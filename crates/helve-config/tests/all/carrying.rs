//! Carrying servers into helve's own file: the same server in helve's words, or a reason why not.

use helve_config::edit::{Change, EditError, carry, edit_text};
use helve_config::{Dialect, read_text};
use helve_model::{Layer, TransportSpec};

use crate::dialects::EXAMPLES;
use crate::support::{environment, place};

/// What `helve.toml` says about a server after it was carried there, or why it was not.
fn carried(dialect: Dialect, path: &str, text: &str, server: &str) -> String {
    let from = place(dialect, path, Layer::User);
    let to = place(Dialect::Helve, "/home/me/.config/helve/helve.toml", Layer::User);
    let server_on_its_way = match carry(&from, text, server, &environment()) {
        Ok(carried) => carried,
        Err(error) => return format!("error: {error}\n"),
    };
    let left_behind: String =
        server_on_its_way.left_behind.iter().map(|what| format!("# left behind: {what}\n")).collect();
    let secrets = if server_on_its_way.holds_secrets { "# holds secrets\n" } else { "" };
    match edit_text(&to, "", server, &Change::Carry(Box::new(server_on_its_way))) {
        Ok(written) => format!("{left_behind}{secrets}{written}"),
        Err(error) => format!("error: {error}\n"),
    }
}

#[test]
fn servers_of_every_dialect_mean_the_same_afterwards() {
    let mut refused = Vec::new();
    let mut arrived = 0;
    for (dialect, path, text) in EXAMPLES.iter().filter(|(dialect, ..)| *dialect != Dialect::Helve) {
        let from = place(*dialect, path, Layer::User);
        for server in read_text(&from, text, &environment()).servers {
            let name = server.name.as_str();
            let written = carried(*dialect, path, text, name);
            if written.starts_with("error") {
                refused.push(format!("{dialect} {name}: {}", written.trim_end()));
                continue;
            }
            let to = place(Dialect::Helve, "/home/me/.config/helve/helve.toml", Layer::User);
            let content = read_text(&to, &written, &environment());
            let [new] = &content.servers[..] else { panic!("{dialect} {name}\n{written}") };
            let (Some(new), Some(old)) = (&new.spec, &server.spec) else { continue };
            match (&new.transport, &old.transport) {
                (TransportSpec::Stdio(new), TransportSpec::Stdio(old)) => {
                    let line = |stdio: &helve_model::StdioSpec| {
                        let words = std::iter::once(&stdio.command).chain(&stdio.arguments);
                        words.map(|text| text.expose().to_owned()).collect::<Vec<_>>()
                    };
                    assert_eq!(line(new), line(old), "{dialect} {name}\n{written}");
                }
                (TransportSpec::Http(new), TransportSpec::Http(old)) => {
                    assert_eq!(new.url.expose(), old.url.expose(), "{dialect} {name}\n{written}");
                    assert!(new.headers.len() >= old.headers.len(), "{dialect} {name}\n{written}");
                }
                _ => panic!("{dialect} {name}: another transport\n{written}"),
            }
            arrived += 1;
        }
    }
    assert!(arrived > 40, "{arrived}");
    insta::assert_snapshot!(refused.join("\n"), @"
    vscode api: error: it asks for the value `token`; carry that question over by hand
    windsurf local: error: `args[0]` refers to the file `windsurf/note.txt`: it does not exist
    ");
}

#[test]
fn references_are_respelt() {
    let opencode = r#"{"mcp": {"a": {"type": "local", "command": ["run", "{env:API_TOKEN}"], "environment": {"HOME_DIR": "${HOME}"}}}}"#;
    insta::assert_snapshot!(carried(Dialect::Opencode, "/home/me/.config/opencode/opencode.json", opencode, "a"), @r#"
    [servers.a]
    command = "run"
    args = ["${API_TOKEN:-}"]
    env = { HOME_DIR = "$${HOME}" }
    "#);

    let gemini = r#"{"mcpServers": {"a": {"command": "run", "args": ["$API_TOKEN", "${NOBODY:-x}"], "env": {"T": "$NOBODY"}, "trust": true}}}"#;
    insta::assert_snapshot!(carried(Dialect::Gemini, "/home/me/.gemini/settings.json", gemini, "a"), @r#"
    # left behind: tools approved for good
    [servers.a]
    command = "run"
    args = ["${API_TOKEN}", "${NOBODY:-x}"]
    env = { T = "${NOBODY:-}" }
    "#);

    let codex = r#"
        [mcp_servers.a]
        command = "run"
        args = ["${NOT_A_REFERENCE}"]
        env_vars = ["API_TOKEN", "NOBODY"]
        tool_timeout_sec = 1.5
        [mcp_servers.b]
        url = "https://example.com/mcp"
        bearer_token_env_var = "NOBODY"
        env_http_headers = { X-Team = "TEAM" }
    "#;
    insta::assert_snapshot!(carried(Dialect::Codex, "/home/me/.codex/config.toml", codex, "a"), @r#"
    [servers.a]
    command = "run"
    args = ["$${NOT_A_REFERENCE}"]
    pass_env = ["API_TOKEN", "NOBODY"]
    timeout_seconds = 1.5
    "#);
    insta::assert_snapshot!(carried(Dialect::Codex, "/home/me/.codex/config.toml", codex, "b"), @r#"
    [servers.b]
    type = "streamable-http"
    url = "https://example.com/mcp"
    headers = { X-Team = "${TEAM}", Authorization = "Bearer ${NOBODY}" }
    "#);
}

#[test]
fn secrets_that_are_written_out_are_reported() {
    let cursor =
        r#"{"mcpServers": {"a": {"url": "https://example.com", "headers": {"Authorization": "Bearer hunter2"}}}}"#;
    insta::assert_snapshot!(carried(Dialect::Cursor, "/home/me/.cursor/mcp.json", cursor, "a"), @r#"
    # holds secrets
    [servers.a]
    url = "https://example.com"
    headers = { Authorization = "Bearer hunter2" }
    "#);
}

#[test]
fn what_cannot_be_carried_is_refused() {
    let vscode = r#"{"inputs": [{"id": "key", "type": "promptString"}], "servers": {"a": {"command": "run", "env": {"KEY": "${input:key}"}}}}"#;
    insta::assert_snapshot!(carried(Dialect::VsCode, "/home/me/.config/Code/User/mcp.json", vscode, "a"), @"error: it asks for the value `key`; carry that question over by hand");
    let opencode = r#"{"mcp": {"a": {"type": "local", "command": ["run", "{file:token}"]}}}"#;
    insta::assert_snapshot!(carried(Dialect::Opencode, "/home/me/.config/opencode/opencode.json", opencode, "a"), @"error: `command[1]` refers to the file `/home/me/.config/opencode/token`: it does not exist");
    insta::assert_snapshot!(carried(Dialect::Cursor, "/home/me/.cursor/mcp.json", r#"{"mcpServers": {"a": {}}}"#, "a"), @"error: server `a` does not say how it is reached");
    insta::assert_snapshot!(carried(Dialect::Cursor, "/home/me/.cursor/mcp.json", r#"{"mcpServers": {}}"#, "a"), @"error: there is no server `a` in this file");
    insta::assert_snapshot!(carried(Dialect::Cursor, "/home/me/.cursor/mcp.json", r#"{"mcpServers": "#, "a"), @"error: the file has to be repaired first: /home/me/.cursor/mcp.json:1:16: error: this is not JSON: expected value after colon in object property");

    let cursor = r#"{"mcpServers": {"a": {"command": "run"}}}"#;
    let from = place(Dialect::Cursor, "/home/me/.cursor/mcp.json", Layer::User);
    let server = carry(&from, cursor, "a", &environment()).expect("carried");
    let refused = |dialect, text| {
        edit_text(&place(dialect, "x", Layer::User), text, "a", &Change::Carry(Box::new(server.clone())))
    };
    assert!(matches!(refused(Dialect::Zed, ""), Err(EditError::NotPossible(_))));
    assert!(matches!(refused(Dialect::Helve, "[servers.a]\ncommand = 'x'\n"), Err(EditError::Exists(_))));
}

#[test]
fn a_server_of_another_file_is_switched_off() {
    let own = place(Dialect::Helve, "/home/me/.config/helve/helve.toml", Layer::User);
    let switched =
        edit_text(&own, "# mine\n[servers.b]\ncommand = \"run\"\n", "a", &Change::SwitchOff).expect("edited");
    insta::assert_snapshot!(switched, @r#"
    # mine
    [servers.b]
    command = "run"

    [servers.a]
    enabled = false
    "#);
    assert_eq!(edit_text(&own, &switched, "a", &Change::SwitchOff).expect("edited"), switched);
    let cursor = place(Dialect::Cursor, "/home/me/.cursor/mcp.json", Layer::User);
    let refused = edit_text(&cursor, "{}", "a", &Change::SwitchOff).expect_err("refused");
    insta::assert_snapshot!(refused, @"only helve's own file can do that, not one of Cursor");
}
