//! Every hint in the words of the command line.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use helve_config::{Dialect, FilePlace};
use helve_model::{CallKind, Hint, Layer, Origin, QualifiedName, RuleHolds, ServerKey, ServerName, ToolName};
use helve_setup::Environment;

use super::HintWords;

fn name(server: &str, tool: &str) -> QualifiedName {
    QualifiedName::new(ServerName::new(server).expect("a name"), ToolName::new(tool))
}

fn at(path: &Path, line: u32) -> Origin {
    Origin::File { path: Arc::from(path), line, column: 1 }
}

#[test]
fn commands_are_quoted_for_a_shell_and_name_just_what_was_refused() {
    let words = HintWords::new(&Environment::new("/"));
    let tool = |server, tool| Hint::AddRule { name: name(server, tool), kind: CallKind::Tool, pattern: None };
    let hints = [
        tool("github", "create_issue"),
        tool("my server", "get[x]"),
        tool("a/b", "c"),
        // What a server calls its tools is shown on one line, and moves no cursor.
        tool("s", "x\nhint: run this\u{1b}[2J"),
        Hint::AddRule { name: name("files", "write_file"), kind: CallKind::Tool, pattern: Some("path=/a b/**".into()) },
        Hint::AddRule { name: name("docs", "file:///a"), kind: CallKind::Resource, pattern: None },
        Hint::AllowOnce { name: name("github", "create_issue"), kind: CallKind::Tool },
        Hint::AllowOnce { name: name("docs", "file:///a b"), kind: CallKind::Resource },
        Hint::AllowOnce { name: name("docs", "greet"), kind: CallKind::Prompt },
        Hint::ChangeRule { origin: Origin::CommandLine, because: RuleHolds::OfThisRun },
        Hint::EnableServer { server: ServerName::new("my server").expect("a name") },
        Hint::AcceptDefinition { name: name("github", "create_issue") },
        Hint::ListOffers(CallKind::Resource),
    ];
    insta::assert_snapshot!(words.say_all(&hints).join("\n"), @r"
    to allow it for good: `helve allow github/create_issue`
    to allow it for good: `helve allow 'my server/get\[x\]'`
    to allow it for good: `helve allow 'a%2Fb/c'`
    to allow it for good: `helve allow 's/x\nhint: run this\u{1b}\[2J'`
    to allow it for good: `helve allow files/write_file 'path=/a b/**'`
    to allow it for good: `helve allow docs/file:///a --kind resource`
    to allow it once, run `helve call github/create_issue` at a terminal and answer, or add `--yes`
    to allow it once, run `helve read docs 'file:///a b'` at a terminal and answer, or add `--yes`
    to allow it once, run `helve prompt docs/greet` at a terminal and answer, or add `--yes`
    to allow it, change the rule at the command line: it was named for this run, and is asked before all others
    `helve enable 'my server'` switches it on
    `helve pin github/create_issue` shows what changed, and asks whether to accept it
    `helve resources` lists those of all servers
    ");
}

/// C2: a key is called as the file calls it that the hint points at.
#[test]
fn c2_keys_are_those_of_the_dialect() {
    let home = tempfile::tempdir().expect("a directory");
    let words = HintWords::new(&Environment::new(home.path().join("elsewhere")).with_home(home.path()));
    let file = |file: &str, dialect: Dialect, text: &str| {
        let path = home.path().join(file);
        fs_err::write(&path, text).expect("written");
        let place = FilePlace {
            path: path.clone(),
            application: dialect.name(),
            dialect,
            layer: Layer::User,
            project: home.path().to_owned(),
        };
        words.files.lock().expect("not poisoned").push(place);
        at(&path, 3)
    };
    let server = || ServerName::new("s").expect("a name");
    let add = |origin: &Origin| Hint::AddToList {
        server: server(),
        list: ServerKey::Tools,
        entry: "x".to_owned(),
        origin: origin.clone(),
    };
    let take = |origin: &Origin| Hint::TakeFromList {
        server: server(),
        list: ServerKey::DisabledTools,
        entry: "x".to_owned(),
        origin: origin.clone(),
    };
    let slow = |origin: &Origin, key| Hint::RaiseTimeout {
        server: server(),
        key,
        had: Duration::from_secs(30),
        origin: origin.clone(),
    };
    let claude_loop = file(
        "mcp-config.json",
        Dialect::ClaudeLoop,
        r#"{"servers":[{"name":"s","transport":"stdio","endpoint":"true","tools_whitelist":["y"]}]}"#,
    );
    let mcp_json = file(
        ".mcp.json",
        Dialect::McpJson,
        r#"{"mcpServers":{"s":{"command":"true","allowedTools":["y"],"excludeTools":["x"]}}}"#,
    );
    let strawberry =
        file("settings.yaml", Dialect::Strawberry, "mcp:\n  servers:\n    - name: s\n      command: 'true'\n");
    let codex = file("config.toml", Dialect::Codex, "[mcp_servers.s]\ncommand = 'true'\n");
    let desktop =
        file("claude_desktop_config.json", Dialect::ClaudeDesktop, r#"{"mcpServers":{"s":{"command":"true"}}}"#);
    let hints = [
        add(&claude_loop),
        slow(&claude_loop, ServerKey::CallTimeout),
        add(&mcp_json),
        take(&mcp_json),
        slow(&mcp_json, ServerKey::CallTimeout),
        slow(&mcp_json, ServerKey::StartupTimeout),
        slow(&strawberry, ServerKey::CallTimeout),
        slow(&codex, ServerKey::CallTimeout),
        slow(&codex, ServerKey::StartupTimeout),
        slow(&desktop, ServerKey::CallTimeout),
        slow(&Origin::BuiltIn, ServerKey::StartupTimeout),
    ];
    insta::assert_snapshot!(words.say_all(&hints).join("\n"), @"
    to allow it, add `x` to `tools_whitelist` of server `s` at ~/mcp-config.json:3
    the tool had 30 s: `timeout_seconds` of the server `s` at ~/mcp-config.json:3 sets that, `--timeout` for one command
    to allow it, add `x` to `allowedTools` of server `s` at ~/.mcp.json:3
    to allow it, take `x` out of `excludeTools` of server `s` at ~/.mcp.json:3
    the tool had 30 s: `timeout` (in milliseconds) of the server `s` at ~/.mcp.json:3 sets that, `--timeout` for one command
    it had 30 s to start: `connectionTimeout` (in milliseconds) of the server `s` at ~/.mcp.json:3 sets that, `--timeout` for one command
    the tool had 30 s: `timeout` of the server `s` at ~/settings.yaml:3 sets that, `--timeout` for one command
    the tool had 30 s: `tool_timeout_sec` of the server `s` at ~/config.toml:3 sets that, `--timeout` for one command
    it had 30 s to start: `startup_timeout_sec` of the server `s` at ~/config.toml:3 sets that, `--timeout` for one command
    the tool had 30 s: `timeout_seconds` under `[settings]` of your helve.toml sets that, `--timeout` for one command
    it had 30 s to start: `startup_timeout_seconds` under `[settings]` of your helve.toml sets that, `--timeout` for one command
    ");
}
