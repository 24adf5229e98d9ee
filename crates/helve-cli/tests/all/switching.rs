//! `helve remove`, `helve disable`, `helve enable`: whose file is changed, and whose is not.

use crate::support::TestEnv;

const OWN: &str = "# mine\n[servers.a]\ncommand = \"a\" # why\n\n[servers.b]\ncommand = \"b\"\n";
const CURSOR: &str = "{\n  \"mcpServers\": {\n    \"c\": { \"command\": \"c\" },\n    \"off\": { \"command\": \"c\", \"disabled\": true }\n  }\n}\n";

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", OWN).write("home/.cursor/mcp.json", CURSOR);
    env
}

#[test]
fn a_server_of_helves_own_file_is_removed() {
    let env = env();
    insta::assert_snapshot!(env.run(&["remove", "a"]), @"
    exit status 0
    --- stderr
    removed server `a` from ~/.config/helve/helve.toml
    ");
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    # mine

    [servers.b]
    command = "b"
    "#);
    insta::assert_snapshot!(env.run(&["rm", "b", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "removed": [
        {
          "file": "[ROOT]/home/.config/helve/helve.toml",
          "server": "b"
        }
      ]
    }
    --- stderr
    removed server `b` from ~/.config/helve/helve.toml
    "#);
    insta::assert_snapshot!(env.run(&["remove", "b"]), @"
    exit status 5
    --- stderr
    error: there is no server `b`
    hint: there are: c, off
    ");
    insta::assert_snapshot!(env.run(&["remove", "x", "-s", "user"]), @"
    exit status 5
    --- stderr
    error: ~/.config/helve/helve.toml: there is no server `x` in this file
    ");
}

#[test]
fn what_comes_to_light_behind_a_removed_server_is_said() {
    let env = env();
    env.run(&["add", "c", "--", "mine"]);
    insta::assert_snapshot!(env.run(&["remove", "c"]), @"
    exit status 0
    --- stderr
    removed server `c` from ~/.config/helve/helve.toml
    warning: `c` is still configured at ~/.cursor/mcp.json:3, which counts now
    ");
}

#[test]
fn another_applications_file_is_left_alone_unless_it_is_named() {
    let env = env();
    insta::assert_snapshot!(env.run(&["remove", "c"]), @"
    exit status 2
    --- stderr
    error: `c` is configured at ~/.cursor/mcp.json:3, which belongs to Cursor
    hint: to switch it off for helve alone: `helve disable c`
    hint: to remove it there: `helve remove c --config ~/.cursor/mcp.json`
    ");
    assert_eq!(env.read("home/.cursor/mcp.json"), CURSOR);
    let file = env.home().join(".cursor/mcp.json");
    insta::assert_snapshot!(env.run(&["remove", "c", "--config", &file.to_string_lossy()]), @"
    exit status 0
    --- stderr
    removed server `c` from ~/.cursor/mcp.json
    ");
    insta::assert_snapshot!(env.read("home/.cursor/mcp.json"), @r#"
    {
      "mcpServers": {
        "off": { "command": "c", "disabled": true }
      }
    }
    "#);
}

#[test]
fn a_server_is_switched_off_and_on_again_where_it_stands() {
    let env = env();
    insta::assert_snapshot!(env.run(&["disable", "a"]), @"
    exit status 0
    --- stderr
    server `a` is off, at ~/.config/helve/helve.toml:4
    ");
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    # mine
    [servers.a]
    command = "a" # why
    enabled = false

    [servers.b]
    command = "b"
    "#);
    insta::assert_snapshot!(env.run(&["disable", "a"]), @"
    exit status 0
    --- stderr
    server `a` is off already, at ~/.config/helve/helve.toml:4
    ");
    insta::assert_snapshot!(env.run(&["enable", "a"]), @"
    exit status 0
    --- stderr
    server `a` is on
    ");
    insta::assert_snapshot!(env.run(&["enable", "a"]), @"
    exit status 0
    --- stderr
    server `a` is on already
    ");
    insta::assert_snapshot!(env.run(&["disable", "zzz"]), @"
    exit status 5
    --- stderr
    error: there is no server `zzz`
    hint: there are: a, b, c, off
    ");
    insta::assert_snapshot!(env.run(&["disable", "b", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "disabled": [
        {
          "file": "[ROOT]/home/.config/helve/helve.toml",
          "server": "b"
        }
      ]
    }
    --- stderr
    server `b` is off, at ~/.config/helve/helve.toml:8
    "#);
    insta::assert_snapshot!(env.run(&["enable", "b", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "enabled": [
        "b"
      ]
    }
    --- stderr
    server `b` is on
    "#);
}

#[test]
fn a_server_of_another_application_is_switched_off_for_helve_alone() {
    let env = env();
    insta::assert_snapshot!(env.run(&["disable", "c"]), @"
    exit status 0
    --- stderr
    server `c` is off, at ~/.config/helve/helve.toml:9
    only helve does without it; ~/.cursor/mcp.json:3 is as it was
    ");
    assert_eq!(env.read("home/.cursor/mcp.json"), CURSOR);
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    # mine
    [servers.a]
    command = "a" # why

    [servers.b]
    command = "b"

    [servers.c]
    enabled = false
    "#);
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE  VIA    FROM
    a       on     stdio  ~/.config/helve/helve.toml:2
    b       on     stdio  ~/.config/helve/helve.toml:5
    c       off    stdio  ~/.cursor/mcp.json:3
    off     off    stdio  ~/.cursor/mcp.json:4
    --- stderr
    4 servers in 2 files
    ");
    insta::assert_snapshot!(env.run(&["enable", "c"]), @"
    exit status 0
    --- stderr
    server `c` is on
    ");
    assert_eq!(env.read("home/.config/helve/helve.toml"), OWN);
}

#[test]
fn a_server_that_another_application_switched_off_is_its_own_business() {
    let env = env();
    insta::assert_snapshot!(env.run(&["enable", "off"]), @"
    exit status 2
    --- stderr
    error: `off` is off at ~/.cursor/mcp.json:4, which belongs to Cursor
    hint: to switch it on there: `helve enable off --config ~/.cursor/mcp.json`
    hint: or keep it in a file of your own: `helve import off`, then `helve enable off`
    ");
    let file = env.home().join(".cursor/mcp.json");
    insta::assert_snapshot!(env.run(&["enable", "off", "--config", &file.to_string_lossy()]), @"
    exit status 0
    --- stderr
    server `off` is on
    ");
    env.write(
        "home/.claude.json",
        &format!("{{\"projects\": {{\"{}\": {{\"disabledMcpServers\": [\"p\"]}}}}}}", env.project().display()),
    );
    env.write("project/.mcp.json", r#"{"mcpServers": {"p": {"command": "p"}}}"#);
    insta::assert_snapshot!(env.run(&["enable", "p"]), @"
    exit status 2
    --- stderr
    error: `p` is off at ~/.claude.json:1, which belongs to Claude Code
    hint: edit that line
    hint: or keep it in a file of your own: `helve import p`, then `helve enable p`
    ");
}

#[test]
fn a_server_of_a_project_is_switched_off_for_the_person_alone() {
    let env = TestEnv::new();
    env.write("project/.mcp.json", r#"{"mcpServers": {"p": {"command": "p"}}}"#);
    insta::assert_snapshot!(env.run(&["disable", "p"]), @"
    exit status 0
    --- stderr
    server `p` is off, at helve.local.toml:2
    only helve does without it; .mcp.json:1 is as it was
    ");
    insta::assert_snapshot!(env.read("project/helve.local.toml"), @"
    [servers.p]
    enabled = false
    ");
    insta::assert_snapshot!(env.run(&["enable", "p"]), @"
    exit status 0
    --- stderr
    server `p` is on
    warning: it does not run yet: untrusted project
    ");
    insta::assert_snapshot!(env.run(&["disable", "p", "--scope", "user"]), @"
    exit status 2
    --- stderr
    error: ~/.config/helve/helve.toml cannot switch `p` off
    hint: it is configured at .mcp.json:1, in a layer above
    hint: switch it off there, or in another scope: `--scope local`
    ");
}

#[test]
fn two_servers_of_one_name_are_switched_apart() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", r#"{"mcpServers": {"x": {"command": "cursor"}}}"#);
    env.write("home/.codex/config.toml", "[mcp_servers.x]\ncommand = \"codex\"\n");
    insta::assert_snapshot!(env.run(&["disable", "x@codex"]), @"
    exit status 0
    --- stderr
    server `x@codex` is off, at ~/.config/helve/helve.toml:2
    only helve does without it; ~/.codex/config.toml:1 is as it was
    ");
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER   STATE  VIA    FROM
    x        on     stdio  ~/.cursor/mcp.json:1
    x@codex  off    stdio  ~/.codex/config.toml:1
    --- stderr
    2 servers in 3 files
    hint: these come from other applications' files; keep one of your own with `helve import`
    ");
    insta::assert_snapshot!(env.run(&["enable", "x@codex"]), @"
    exit status 0
    --- stderr
    server `x@codex` is on
    ");
}
