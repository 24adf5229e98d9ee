//! `helve connect`, `helve disconnect`: helve in other applications' files, and out of them again.

use std::os::unix::fs::PermissionsExt as _;

use crate::running_hub::Hub;
use crate::support::{Person, TestEnv};

const HELVE: &str = env!("CARGO_BIN_EXE_helve");

/// What was said, with the place of this program left out.
fn said(env: &TestEnv, arguments: &[&str]) -> String {
    env.run(arguments).replace(HELVE, "[HELVE]")
}

#[test]
fn an_entry_is_put_in_and_taken_back_and_the_rest_stays() {
    let env = TestEnv::new();
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"npx\"}\n  }\n}\n";
    env.write("home/.cursor/mcp.json", before);
    insta::assert_snapshot!(said(&env, &["connect", "cursor", "--yes"]), @r#"
    exit status 0
    --- stderr
    Cursor keeps its servers in ~/.cursor/mcp.json:
      -     "other": {"command": "npx"}
      +     "other": {"command": "npx"},
      +     "helve": {
      +       "type": "stdio",
      +       "command": "[HELVE]",
      +       "args": ["serve"]
      +     }
    Cursor is connected: entry `helve` in ~/.cursor/mcp.json
    hint: switch helve on in Cursor's settings, under MCP
    "#);
    let text = env.read("home/.cursor/mcp.json");
    assert!(text.contains("// mine") && text.contains("\"other\"") && text.contains(HELVE), "{text}");
    insta::assert_snapshot!(said(&env, &["connect", "cursor", "--yes"]), @r#"
    exit status 0
    --- stderr
    Cursor is connected already: ~/.cursor/mcp.json
    "#);
    insta::assert_snapshot!(said(&env, &["disconnect", "cursor", "--yes"]), @r#"
    exit status 0
    --- stderr
    Cursor keeps its servers in ~/.cursor/mcp.json:
      -     "other": {"command": "npx"},
      -     "helve": {
      -       "type": "stdio",
      -       "command": "[HELVE]",
      -       "args": ["serve"]
      -     }
      +     "other": {"command": "npx"}
    Cursor is not connected any more
    hint: a running Cursor keeps it until it is started again
    "#);
    assert_eq!(env.read("home/.cursor/mcp.json"), before);
    insta::assert_snapshot!(said(&env, &["disconnect", "cursor", "--yes"]), @r#"
    exit status 5
    --- stderr
    error: Cursor is not connected: there is no entry `helve` in ~/.cursor/mcp.json
    "#);
}

#[test]
fn every_application_can_be_connected_and_disconnected_where_it_has_no_file_yet() {
    for application in [
        "claude-code",
        "claude-desktop",
        "cursor",
        "vscode",
        "codex",
        "gemini",
        "zed",
        "windsurf",
        "opencode",
        "goose",
        "cline",
        "copilot",
        "kiro",
    ] {
        let env = TestEnv::new();
        let connected = env.json(&["connect", application, "--yes", "--json"]);
        let file = connected["file"].as_str().expect("a file").to_owned();
        let text = fs_err::read_to_string(&file).expect("written");
        assert!(text.contains(HELVE) && text.contains("serve"), "{application}: {text}");
        // helve knows its own entry: connecting all of them starts nothing.
        let servers = env.json(&["servers", "--json"]);
        let helve = servers.as_array().expect("a list").iter().find(|server| server["name"] == "helve").cloned();
        assert_eq!(helve.expect("listed")["reason"], "helve itself", "{application}");
        env.stdout(&["disconnect", application, "--yes"]);
        // The file is helve's own doing, and goes too.
        assert!(!std::path::Path::new(&file).exists(), "{application}");
    }
}

#[test]
fn a_file_without_servers_becomes_what_it_was() {
    for (application, file, before) in [
        ("zed", "home/.config/zed/settings.json", "{\n  // mine\n  \"theme\": \"One Dark\"\n}\n"),
        ("gemini", "home/.gemini/settings.json", "{}"),
        ("goose", "home/.config/goose/config.yaml", "GOOSE_MODEL: x # mine\n"),
        ("codex", "home/.codex/config.toml", "# mine\nmodel = \"x\"\n"),
    ] {
        let env = TestEnv::new();
        env.write(file, before);
        env.stdout(&["connect", application, "--yes"]);
        assert!(env.read(file).contains(HELVE), "{application}");
        env.stdout(&["disconnect", application, "--yes"]);
        assert_eq!(env.read(file), before, "{application}");
    }
}

#[test]
fn applications_get_the_keys_without_which_they_leave_an_entry_out() {
    let env = TestEnv::new();
    env.stdout(&["connect", "goose", "--yes"]);
    insta::assert_snapshot!(env.read("home/.config/goose/config.yaml").replace(HELVE, "[HELVE]"), @r#"
    extensions:
      helve:
        name: helve
        enabled: true
        type: stdio
        cmd: [HELVE]
        args: [serve]
    "#);
    env.stdout(&["connect", "copilot", "--yes"]);
    insta::assert_snapshot!(env.read("home/.copilot/mcp-config.json").replace(HELVE, "[HELVE]"), @r#"
    {
      "mcpServers": {
        "helve": {
          "tools": ["*"],
          "type": "local",
          "command": "[HELVE]",
          "args": ["serve"]
        }
      }
    }
    "#);
}

#[test]
fn a_project_gets_an_entry_that_everybody_can_use() {
    let env = TestEnv::new();
    env.stdout(&["connect", "claude-code", "--scope", "project", "--yes", "--unlisted", "allow"]);
    let text = env.read("project/.mcp.json");
    let entry: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let entry = &entry["mcpServers"]["helve"];
    assert_eq!(
        (entry["command"].as_str(), entry["args"].to_string()),
        (Some("helve"), r#"["serve","--unlisted","allow"]"#.to_owned())
    );
    insta::assert_snapshot!(said(&env, &["connect", "windsurf", "--scope", "project", "--yes"]), @r#"
    exit status 2
    --- stderr
    error: Windsurf has no file for a project
    hint: leave out `--scope`: its file for you counts everywhere
    "#);
}

#[test]
fn an_entry_that_is_not_ours_is_left_alone() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", r#"{"mcpServers": {"helve": {"command": "mine"}}}"#);
    insta::assert_snapshot!(said(&env, &["connect", "cursor", "--yes"]), @r#"
    exit status 2
    --- stderr
    error: ~/.cursor/mcp.json has another entry called `helve`
    hint: look at it, and choose another name with `--name`, or remove it first
    "#);
    insta::assert_snapshot!(said(&env, &["disconnect", "cursor", "--yes"]), @r#"
    exit status 2
    --- stderr
    error: helve did not write the entry `helve` of ~/.cursor/mcp.json
    hint: it is yours: take `helve` out of ~/.cursor/mcp.json by hand, if it is to go
    "#);
    assert_eq!(env.read("home/.cursor/mcp.json"), r#"{"mcpServers": {"helve": {"command": "mine"}}}"#);
}

#[test]
fn an_entry_that_somebody_changed_since_is_left_alone() {
    let env = TestEnv::new();
    env.stdout(&["connect", "gemini", "--yes"]);
    let changed = env.read("home/.gemini/settings.json").replace("\"serve\"", "\"serve\", \"--readonly\"");
    env.write("home/.gemini/settings.json", &changed);
    insta::assert_snapshot!(said(&env, &["disconnect", "gemini", "--yes"]), @r#"
    exit status 2
    --- stderr
    error: somebody has changed the entry `helve` of ~/.gemini/settings.json since
    hint: it is yours: take `helve` out of ~/.gemini/settings.json by hand, if it is to go
    "#);
    assert_eq!(env.read("home/.gemini/settings.json"), changed);
}

#[test]
fn without_a_terminal_or_a_yes_nothing_is_changed() {
    let env = TestEnv::new();
    insta::assert_snapshot!(said(&env, &["connect", "codex"]), @r#"
    exit status 7
    --- stderr
    Codex keeps its servers in ~/.codex/config.toml:
      + [mcp_servers.helve]
      + command = "[HELVE]"
      + args = ["serve"]
    error: there is no terminal to ask at
    hint: say yes beforehand with `--yes`
    "#);
    assert!(!env.exists("home/.codex"));
}

#[test]
fn a_running_helve_is_reached_at_its_address() {
    let env = TestEnv::new();
    env.stdout(&["connect", "cursor", "--yes", "--hub", "http://127.0.0.1:7332/mcp"]);
    assert!(env.read("home/.cursor/mcp.json").contains("http://127.0.0.1:7332/mcp"));
    env.stdout(&["disconnect", "cursor", "--yes"]);
    insta::assert_snapshot!(said(&env, &["connect", "cursor", "--yes", "--hub", "localhost"]), @r#"
    exit status 2
    --- stderr
    error: `localhost` is not an address
    hint: it begins with http:// or https://, and most often ends with /mcp
    "#);
}

#[test]
fn without_an_address_the_hub_that_runs_is_meant() {
    let env = TestEnv::new();
    insta::assert_snapshot!(said(&env, &["connect", "cursor", "--yes", "--hub"]), @r#"
    exit status 1
    --- stderr
    error: no hub runs for this user
      cause: No such file or directory (os error 2)
    hint: `helve hub` starts one, in the foreground
    hint: or say where it is: `--hub http://ADDRESS/mcp`
    "#);
    assert!(!env.exists("home/.cursor"));
    let hub = Hub::start(&env, &[]);
    env.stdout(&["connect", "cursor", "--yes", "--hub"]);
    let address = format!("http://{}/mcp", hub.address());
    let file = env.read("home/.cursor/mcp.json");
    assert!(file.contains(&address), "{file}");
    // What helve itself wrote there is not a server of the person's.
    let tools = env.json(&["tools", "--json"]).to_string();
    assert!(tools.contains("read_file") && !tools.contains("\"helve"), "{tools}");
    env.stdout(&["disconnect", "cursor", "--yes"]);
    assert!(!env.exists("home/.cursor/mcp.json"));
}

#[test]
fn an_applications_own_command_changes_its_file() {
    let bin = tempfile::tempdir().expect("a directory");
    let env = TestEnv::new().with_variable("PATH", &format!("{}:/usr/bin:/bin", bin.path().display()));
    // What Codex' own command does, as far as it matters here.
    let script = "#!/bin/sh\nif [ \"$2\" = add ]; then\n  mkdir -p \"$HOME/.codex\"\n  shift 4\n  c=$1; shift\n  printf '[mcp_servers.helve]\\ncommand = \"%s\"\\nargs = [\"%s\"]\\n' \"$c\" \"$1\" > \"$HOME/.codex/config.toml\"\nelse\n  : > \"$HOME/.codex/config.toml\"\nfi\n";
    let program = bin.path().join("codex");
    fs_err::write(&program, script).expect("written");
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("executable");
    insta::assert_snapshot!(said(&env, &["connect", "codex", "--yes"]), @r#"
    exit status 0
    --- stderr
    Codex keeps its servers in ~/.codex/config.toml:
      + [mcp_servers.helve]
      + command = "[HELVE]"
      + args = ["serve"]
    It is changed by the application's own command: codex mcp add helve -- [HELVE] serve
    Codex is connected: entry `helve` in ~/.codex/config.toml
    hint: start Codex again
    "#);
    assert!(env.read("home/.codex/config.toml").contains("serve"));
    env.stdout(&["disconnect", "codex", "--yes"]);
    assert_eq!(env.read("home/.codex/config.toml"), "");
}

#[test]
fn a_command_that_fails_is_told_in_its_own_words() {
    let bin = tempfile::tempdir().expect("a directory");
    let env = TestEnv::new().with_variable("PATH", &format!("{}:/usr/bin:/bin", bin.path().display()));
    let program = bin.path().join("codex");
    fs_err::write(&program, "#!/bin/sh\necho 'no such thing' >&2\nexit 3\n").expect("written");
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("executable");
    insta::assert_snapshot!(said(&env, &["connect", "codex", "--yes"]), @r#"
    exit status 1
    --- stderr
    Codex keeps its servers in ~/.codex/config.toml:
      + [mcp_servers.helve]
      + command = "[HELVE]"
      + args = ["serve"]
    It is changed by the application's own command: codex mcp add helve -- [HELVE] serve
    error: `codex` exited with status 3
    hint: it said: no such thing
    "#);
}

#[test]
fn servers_are_moved_and_moved_back_to_the_byte() {
    let env = TestEnv::new();
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"npx\", \"args\": [\"-y\", \"it\"]},\n    \"odd\": {\"command\": 7}\n  }\n}\n";
    env.write("home/.cursor/mcp.json", before).write("home/.config/helve/helve.toml", "# kept\n");
    insta::assert_snapshot!(said(&env, &["connect", "cursor", "--move", "--yes"]), @r#"
    exit status 0
    --- stderr
    Cursor keeps its servers in ~/.cursor/mcp.json:
      -     "odd": {"command": 7}
      +     "odd": {"command": 7},
      +     "helve": {
      +       "type": "stdio",
      +       "command": "[HELVE]",
      +       "args": ["serve"]
      +     }
    Cursor is connected: entry `helve` in ~/.cursor/mcp.json
    moved server `other` to ~/.config/helve/helve.toml
    warning: `odd` stays where it is: `command` must be a string, not a number
    hint: switch helve on in Cursor's settings, under MCP
    "#);
    let left = env.read("home/.cursor/mcp.json");
    assert!(left.contains("// mine") && left.contains("\"odd\"") && !left.contains("npx"), "{left}");
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    # kept

    [servers.other]
    command = "npx"
    args = ["-y", "it"]
    cwd = "${workspaceFolder}"
    "#);
    env.stdout(&["disconnect", "cursor", "--yes"]);
    assert_eq!(env.read("home/.cursor/mcp.json"), before);
    assert_eq!(env.read("home/.config/helve/helve.toml").trim_end(), "# kept");
}

#[test]
fn a_secret_of_a_server_that_moves_goes_to_the_vault() {
    let env = TestEnv::new();
    let before = "{\"mcpServers\": {\"other\": {\"command\": \"npx\", \"env\": {\"API_KEY\": \"hunter2hunter2\"}}}}";
    env.write("home/.cursor/mcp.json", before);
    let told = env.run(&["connect", "cursor", "--move", "--yes", "--seal"]);
    assert!(told.contains("kept API_KEY of `other` sealed in the vault"), "{told}");
    assert!(!told.contains("written out"), "{told}");
    let file = env.read("home/.config/helve/helve.toml");
    assert!(file.contains("${secret:other.API_KEY}") && !file.contains("hunter2"), "{file}");
    env.stdout(&["disconnect", "cursor", "--yes"]);
    assert_eq!(env.read("home/.cursor/mcp.json"), before);

    let told = env.run(&["connect", "cursor", "--move", "--yes"]);
    assert!(told.contains("its secret is now written out in ~/.config/helve/helve.toml"), "{told}");
    assert!(told.contains("hint: `--seal` keeps it in the vault instead"), "{told}");
}

#[test]
fn servers_come_back_into_a_file_that_somebody_changed_since() {
    let env = TestEnv::new();
    let entries = "\"other\": {\"command\": \"npx\", \"args\": [\"-y\", \"it\"]}, \"more\": {\"url\": \"https://example.com/mcp\"}";
    env.write("home/.cursor/mcp.json", &format!("{{\"mcpServers\": {{{entries}}}}}\n"));
    env.stdout(&["connect", "cursor", "--move", "--yes"]);
    let mine = env.read("home/.cursor/mcp.json").replace("\"mcpServers\"", "\"mine\": 1, \"mcpServers\"");
    env.write("home/.cursor/mcp.json", &mine);
    let told = said(&env, &["disconnect", "cursor", "--yes"]);
    assert!(!told.contains("warning"), "{told}");
    let left: serde_json::Value = serde_json::from_str(&env.read("home/.cursor/mcp.json")).expect("JSON");
    assert_eq!(
        left,
        serde_json::json!({"mine": 1, "mcpServers": {
            "other": {"command": "npx", "args": ["-y", "it"]},
            "more": {"url": "https://example.com/mcp"},
        }})
    );
    assert_eq!(env.read("home/.config/helve/helve.toml").trim(), "");
}

#[test]
fn a_server_that_somebody_changed_since_it_was_moved_stays() {
    let env = TestEnv::new();
    let before = "{\"mcpServers\": {\"other\": {\"command\": \"npx\"}, \"more\": {\"command\": \"x\"}}}\n";
    env.write("home/.cursor/mcp.json", before);
    env.stdout(&["connect", "cursor", "--move", "--yes"]);
    let own = env.read("home/.config/helve/helve.toml").replace("\"npx\"", "\"bunx\"");
    env.write("home/.config/helve/helve.toml", &own);
    let mine = env.read("home/.cursor/mcp.json").replace("\"mcpServers\"", "\"mine\": 1, \"mcpServers\"");
    env.write("home/.cursor/mcp.json", &mine);
    insta::assert_snapshot!(said(&env, &["disconnect", "cursor", "--yes"]), @r#"
    exit status 0
    --- stderr
    Cursor keeps its servers in ~/.cursor/mcp.json:
      -     "helve": {
      -       "type": "stdio",
      -       "command": "[HELVE]",
      -       "args": ["serve"]
      +     "more": {
      +       "command": "x"
    moved server `more` back to ~/.cursor/mcp.json
    warning: `other` stays in ~/.config/helve/helve.toml: it was changed in ~/.config/helve/helve.toml since
    hint: to have it back, write it into ~/.cursor/mcp.json by hand, then `helve remove other`
    Cursor is not connected any more
    hint: a running Cursor keeps it until it is started again
    "#);
    let left = env.read("home/.cursor/mcp.json");
    assert!(left.contains("\"more\"") && !left.contains("\"other\"") && !left.contains(HELVE), "{left}");
    let own = env.read("home/.config/helve/helve.toml");
    assert!(own.contains("bunx") && !own.contains("[servers.more]"), "{own}");
}

#[test]
fn servers_come_back_by_the_applications_own_command() {
    let bin = tempfile::tempdir().expect("a directory");
    let env = TestEnv::new().with_variable("PATH", &format!("{}:/usr/bin:/bin", bin.path().display()));
    // What Claude Code's own command does, as far as it matters here; it writes its file as it likes.
    let script = r#"#!/usr/bin/python3
import json, os, sys
path = os.path.join(os.environ["HOME"], ".claude.json")
state = json.load(open(path)) if os.path.exists(path) else {}
state["startups"] = state.get("startups", 0) + 1
servers = state.setdefault("mcpServers", {})
words = sys.argv[2:]
if words[0] == "add-json":
    servers[words[3]] = json.loads(words[4])
else:
    del servers[words[3]]
json.dump(state, open(path, "w"))
open(path + ".log", "a").write(" ".join(words) + "\n")
"#;
    let program = bin.path().join("claude");
    fs_err::write(&program, script).expect("written");
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let token = "sk-abcdefghijklmnopqrstuvwxyz012345";
    let other = serde_json::json!({"type": "stdio", "command": "npx", "args": ["-y", "it"]});
    let secret = serde_json::json!({"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": format!("Bearer {token}")}});
    let before = serde_json::json!({"mcpServers": {"other": other, "secret": secret}});
    env.write("home/.claude.json", &before.to_string());
    env.stdout(&["connect", "claude-code", "--move", "--yes", "--seal"]);
    let moved: serde_json::Value = serde_json::from_str(&env.read("home/.claude.json")).expect("JSON");
    assert_eq!(moved["mcpServers"].as_object().expect("servers").len(), 1, "{moved}");
    // What went into the vault is nowhere else.
    for (file, text) in env.files_below("home") {
        assert!(!text.contains(token), "{file}");
    }
    let told = said(&env, &["disconnect", "claude-code", "--yes"]);
    assert!(told.contains("`helve secret remove secret.Authorization`"), "{told}");
    let after: serde_json::Value = serde_json::from_str(&env.read("home/.claude.json")).expect("JSON");
    assert_eq!(after["mcpServers"], before["mcpServers"]);
    assert_eq!(env.read("home/.config/helve/helve.toml").trim(), "");
    let log = env.read("home/.claude.json.log");
    assert!(log.contains("add-json --scope user other") && !log.contains(token), "{log}");
}

#[test]
fn a_yes_beforehand_is_a_yes_to_everything() {
    let env = TestEnv::new();
    let before = r#"{"mcpServers": {"other": {"command": "npx", "env": {"API_KEY": "hunter2hunter2"}}}}"#;
    env.write("home/.cursor/mcp.json", before);
    let end = Person::at(&env, &["connect", "cursor", "--move", "--yes", "--color", "never"]).sees_the_end();
    assert!(end.starts_with("exit status 0") && end.contains("its secret is now written out"), "{end}");
}

#[test]
fn each_server_is_asked_for_by_name_before_it_moves() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", r#"{"mcpServers": {"one": {"command": "a"}, "two": {"command": "b"}}}"#);
    let mut person = Person::at(&env, &["connect", "cursor", "--move", "--unlisted", "ask", "--color", "never"]);
    person.sees("Connect Cursor to helve? [y/N]");
    person.types("y\r");
    person.sees("Move `one` to ~/.config/helve/helve.toml? [y/N]");
    person.types("n\r");
    person.sees("Move `two` to ~/.config/helve/helve.toml? [y/N]");
    person.types("y\r");
    assert!(person.sees_the_end().starts_with("exit status 0"));
    let (theirs, own) = (env.read("home/.cursor/mcp.json"), env.read("home/.config/helve/helve.toml"));
    assert!(theirs.contains("\"one\"") && !theirs.contains("\"two\""), "{theirs}");
    assert!(own.contains("two") && !own.contains("one"), "{own}");
}

#[test]
fn a_file_that_changed_while_the_person_was_asked_is_left_alone() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", r#"{"mcpServers": {}}"#);
    let mut person = Person::at(&env, &["connect", "cursor", "--unlisted", "ask", "--color", "never"]);
    person.sees("Connect Cursor to helve? [y/N]");
    let changed = r#"{"mcpServers": {"new": {"command": "x"}}}"#;
    env.write("home/.cursor/mcp.json", changed);
    person.types("y\r");
    let end = person.sees_the_end();
    assert!(!end.starts_with("exit status 0") && end.contains("run the same command once more"), "{end}");
    assert_eq!(env.read("home/.cursor/mcp.json"), changed);
}

#[test]
fn the_mode_of_a_file_and_a_link_to_it_stay() {
    let env = TestEnv::new();
    env.write("home/dotfiles/mcp.json", "{}\n").write("home/.cursor/keep", "");
    let file = env.home().join("dotfiles/mcp.json");
    fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("changed");
    fs_err::os::unix::fs::symlink("../dotfiles/mcp.json", env.home().join(".cursor/mcp.json")).expect("linked");
    env.stdout(&["connect", "cursor", "--yes"]);
    assert!(env.read("home/dotfiles/mcp.json").contains(HELVE));
    assert_eq!(fs_err::metadata(&file).expect("there").permissions().mode() & 0o777, 0o640);
    assert!(fs_err::symlink_metadata(env.home().join(".cursor/mcp.json")).expect("there").is_symlink());
}

#[test]
fn helve_connected_everywhere_starts_no_second_helve() {
    let env = TestEnv::new();
    for application in ["claude-code", "cursor", "vscode", "codex", "gemini", "zed", "windsurf", "opencode"] {
        env.stdout(&["connect", application, "--yes"]);
    }
    let servers = env.json(&["tools", "--json"]);
    let text = servers.to_string();
    assert!(!text.contains("\"helve/") && !text.contains("mcp__helve__"), "{text}");
}
