//! The configurations that other hosts describe, each with a session as it is described there.

use helve_testkit::{Scenario, peer_program};

use crate::support::TestEnv;

fn program() -> String {
    peer_program().to_string_lossy().into_owned()
}

fn scenario() -> String {
    serde_json::Value::from(Scenario::dual().to_json()).to_string()
}

/// A JSON list with a whitelist, read-only by default, and tags in prompts.
#[test]
fn a_prompt_loop() {
    let env = TestEnv::new();
    let endpoint = serde_json::Value::from(format!("{} '{}'", program(), Scenario::dual().to_json()));
    env.write(
        "project/.claude-loop/mcp-config.json",
        &format!(
            r#"{{"servers": [{{"name": "filesystem", "endpoint": {endpoint}, "transport": "stdio", "auth_type": "none",
                "enabled": true, "tools_whitelist": ["echo"], "readonly": true}},
               {{"name": "web-search", "endpoint": "http://localhost:3100/mcp", "transport": "http", "auth_type": "bearer",
                "auth_token": "${{WEB_SEARCH_API_KEY}}", "enabled": false, "tools_whitelist": ["search"]}}],
              "global_settings": {{"timeout_seconds": 30, "max_retries": 2, "cache_tool_schemas": true, "schema_cache_ttl_seconds": 3600}}}}"#
        ),
    );
    assert!(env.run(&["trust", "--yes"]).starts_with("exit status 0"));
    insta::assert_snapshot!(env.run(&["tools"]), @r"
    exit status 0
    --- stdout
    TOOL             WHAT IT DOES
    filesystem/echo  Returns its arguments
    ");
    insta::assert_snapshot!(env.run_with_input(&["expand"], "Say [use-mcp:filesystem/echo:{\"path\": \"README.md\"}]!"), @r#"
    exit status 0
    --- stdout
    Say {"path": "README.md"}!
    "#);
    // Not on the whitelist: which file and list to add it to.
    insta::assert_snapshot!(env.run(&["call", "filesystem/fail", "--yes"]), @"
    exit status 7
    --- stderr
    error: `filesystem/fail` may not be called: it is not in the list of allowed tools of the server at [ROOT]/project/.claude-loop/mcp-config.json:1:23
    hint: to allow it, add `fail` to `tools_whitelist` of server `filesystem` at .claude-loop/mcp-config.json:1
    ");
    // One switch turns MCP off as a whole.
    insta::assert_snapshot!(env.run(&["--no-mcp", "call", "filesystem/echo"]), @r"
    exit status 3
    --- stderr
    error: the server `filesystem` is off because MCP as a whole is off
    ");
}

/// `.mcp.json` of the person and of the project, project first; rules by `mcp__server__tool`.
#[test]
fn a_coding_agent() {
    let env = TestEnv::new();
    let server = format!(r#"{{"command": "{}", "args": [{}]}}"#, program(), scenario());
    env.write("home/.mcp.json", r#"{"mcpServers": {"github": {"command": "no-such-program"}}}"#);
    env.write("project/.mcp.json", &format!(r#"{{"mcpServers": {{"github": {server}}}}}"#));
    env.write("home/.config/helve/helve.toml", "[[rules]]\ntool = \"mcp__github__*\"\naction = \"allow\"\n");
    assert!(env.run(&["trust", "--yes"]).starts_with("exit status 0"));
    insta::assert_snapshot!(env.run(&["call", "mcp__github__echo", "title=Bug"]), @r#"
    exit status 0
    --- stdout
    {"title":"Bug"}
    "#);
    assert!(env.stdout(&["mcp"]).contains("connected"));
}

/// TOML, tools as `server:tool`.
#[test]
fn an_agent_runtime() {
    let env = TestEnv::new();
    let text = format!("[[servers]]\nname = \"filesystem\"\ncommand = \"{}\"\nargs = [{}]\n", program(), scenario());
    env.write("project/mcp-config.toml", &text);
    let call = ["--config", "mcp-config.toml", "call", "filesystem:echo", "path=/docs/README.md", "--yes"];
    insta::assert_snapshot!(env.run(&call), @r#"
    exit status 0
    --- stdout
    {"path":"/docs/README.md"}
    "#);
}

/// YAML settings, tools as `device.<Name>MCP.<tool>`.
#[test]
fn a_home_assistant() {
    let env = TestEnv::new().with_variable("BRAVE_API_KEY", "hunter2");
    let text = format!(
        "mcp:\n  servers:\n    - name: brave-search\n      command: {}\n      args: [{}]\n      env:\n        BRAVE_API_KEY: \"${{BRAVE_API_KEY}}\"\n      enabled: true\n    - name: context7\n      command: npx\n      args: [\"-y\", \"x\"]\n      enabled: false\n",
        program(),
        scenario()
    );
    env.write("project/config/settings.yaml", &text);
    assert!(env.run(&["trust", "--yes"]).starts_with("exit status 0"));
    insta::assert_snapshot!(env.run(&["call", "device.BraveSearchMCP.echo", "query=weather", "--yes"]), @r#"
    exit status 0
    --- stdout
    {"query":"weather"}
    "#);
    let shown = env.run(&["get", "brave-search"]);
    assert!(!shown.contains("hunter2"), "{shown}");
}
