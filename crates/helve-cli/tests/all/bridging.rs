//! claude-loop's own command line, answered to the letter.

use helve_testkit::{Scenario, peer_program};
use serde_json::{Value, json};

use crate::support::TestEnv;

/// A project of claude-loop's whose one server is trusted.
fn project() -> TestEnv {
    let env = TestEnv::new();
    let program = peer_program();
    let endpoint = Value::from(format!("{} '{}'", program.display(), Scenario::dual().to_json()));
    env.write(
        "project/.claude-loop/mcp-config.json",
        &format!(
            r#"{{"servers": [{{"name": "filesystem", "endpoint": {endpoint}, "tools_whitelist": ["echo", "fail"]}},
               {{"name": "dead", "endpoint": "no-such-program"}},
               {{"name": "web-search", "endpoint": "http://localhost:3100/mcp", "transport": "http", "enabled": false}}]}}"#
        ),
    );
    assert!(env.run(&["trust", "--yes"]).starts_with("exit status 0"));
    env
}

#[test]
fn c4_a_list_is_by_server_with_whole_definitions() {
    let env = project().with_variable("ENABLE_MCP", "true");
    let output = env.output(&["bridge", "claude-loop", "list"], "");
    assert!(output.status.success());
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let servers: Vec<&String> = listed.as_object().expect("an object").keys().collect();
    assert_eq!(servers, ["dead", "filesystem"], "what is switched off is left out, what is dead has no tools");
    assert_eq!(listed["dead"], json!([]));
    let echo = &listed["filesystem"][0];
    assert_eq!(echo["name"], "echo");
    assert_eq!(echo["description"], "Returns its arguments");
    assert!(echo["inputSchema"].is_object());
    assert_eq!(echo.as_object().expect("an object").len(), 3);
    let warned = String::from_utf8_lossy(&output.stderr);
    assert!(warned.contains("warning: the server `dead`"), "{warned}");
    // The flag of claude-loop's own shell script.
    let flagged = env.json(&["bridge", "claude-loop", "--list-mcp-tools"]);
    assert_eq!(flagged, listed);
}

#[test]
fn c4_a_call_is_told_as_success_content_and_is_error() {
    let env = project();
    let call = |tool: &'static str, params: &'static str| {
        ["bridge", "claude-loop", "--enable-mcp", "call", "--server", "filesystem", "--tool", tool, "--params", params]
    };
    insta::assert_snapshot!(env.run(&call("echo", r#"{"path": "README.md"}"#)), @r#"
    exit status 0
    --- stdout
    {
      "success": true,
      "content": [{"type":"text","text":"{\"path\": \"README.md\"}"}],
      "isError": false
    }
    "#);
    // A tool that fails has answered.
    assert_eq!(env.json(&call("fail", "{}"))["isError"], true);
    assert_eq!(env.json(&call("fail", "{}"))["success"], true);
    // Not on the whitelist.
    let refused = env.json(&call("sleep", "{}"));
    assert_eq!((&refused["success"], &refused["isError"]), (&json!(false), &json!(true)));
    assert!(env.run(&call("sleep", "{}")).starts_with("exit status 7"));
    assert!(env.run(&call("echo", "{")).starts_with("exit status 2"));
}

#[test]
fn c4_mcp_is_off_unless_it_is_switched_on() {
    let env = project();
    insta::assert_snapshot!(env.run(&["bridge", "claude-loop", "list"]), @"
    exit status 0
    --- stdout
    {}
    ");
    insta::assert_snapshot!(env.run(&["bridge", "claude-loop", "call", "--server", "filesystem", "--tool", "echo"]), @r#"
    exit status 3
    --- stdout
    {
      "success": false,
      "content": [{"text":"MCP is off: set ENABLE_MCP=true, or give --enable-mcp","type":"text"}],
      "isError": true
    }
    "#);
    let prompt = "Say [use-mcp:filesystem/echo:{\"path\": 1}] and [use-mcp:nobody/x:{]\n";
    insta::assert_snapshot!(env.run_with_input(&["--no-mcp", "expand"], prompt), @r#"
    exit status 0
    --- stdout
    Say [use-mcp:filesystem/echo:{"path": 1}] and [use-mcp:nobody/x:{]
    "#);
}

#[test]
fn c4_init_writes_claude_loops_own_example() {
    let env = TestEnv::new();
    assert!(env.run(&["init", "--format", "claude-loop"]).starts_with("exit status 0"));
    let written: Value = serde_json::from_str(&env.read("project/.claude-loop/mcp-config.json")).expect("JSON");
    assert_eq!(written["servers"][0]["name"], "filesystem");
    assert_eq!(written["servers"][0]["enabled"], false);
    assert!(env.run(&["init", "--format", "claude-loop"]).contains("exists already"));
}
