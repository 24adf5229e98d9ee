//! `helve add` and `helve add-json`: from the words of a command line to an entry in a file.

use crate::support::TestEnv;

#[test]
fn a_program_is_added_to_the_persons_own_file() {
    let env = TestEnv::new().with_variable("GITHUB_TOKEN", "hunter2");
    insta::assert_snapshot!(env.run(&["add", "files", "--", "npx", "-y", "server-filesystem", "a b"]), @r#"
    exit status 0
    --- stderr
    added server `files` at ~/.config/helve/helve.toml:1
    the built-in servers `filesystem` and `time` run while there is no other server, and are off from now on
    hint: an entry of its own keeps one: `[servers.time]` with `builtin = "time"` in helve.toml
    "#);
    insta::assert_snapshot!(env.run(&["add", "-e", "GITHUB_TOKEN", "-e", "LEVEL=warn=x", "github", "docker", "run"]), @"
    exit status 0
    --- stderr
    added server `github` at ~/.config/helve/helve.toml:5
    ");
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    [servers.files]
    command = "npx"
    args = ["-y", "server-filesystem", "a b"]

    [servers.github]
    command = "docker"
    args = ["run"]
    env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", LEVEL = "warn=x" }
    "#);
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE  VIA    FROM
    files   on     stdio  ~/.config/helve/helve.toml:1
    github  on     stdio  ~/.config/helve/helve.toml:5
    --- stderr
    2 servers in 1 file
    ");
}

#[test]
fn an_address_is_added_with_its_headers() {
    let env = TestEnv::new().with_variable("DOCS_TOKEN", "hunter2");
    let header = "Authorization: Bearer ${DOCS_TOKEN}";
    insta::assert_snapshot!(env.run(&["add", "docs", "https://docs.example.com/mcp", "--header", header]), @r#"
    exit status 0
    --- stderr
    added server `docs` at ~/.config/helve/helve.toml:1
    the built-in servers `filesystem` and `time` run while there is no other server, and are off from now on
    hint: an entry of its own keeps one: `[servers.time]` with `builtin = "time"` in helve.toml
    "#);
    insta::assert_snapshot!(env.run(&["add", "--transport", "sse", "tickets", "https://x.example.com/sse", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "file": "[ROOT]/home/.config/helve/helve.toml",
      "sandbox": null,
      "server": "tickets",
      "state": "on"
    }
    --- stderr
    added server `tickets` at ~/.config/helve/helve.toml:5
    "#);
    insta::assert_snapshot!(env.run(&["add", "-t", "http", "plain", "http://localhost:1", "--tool", "get_*"]), @"
    exit status 0
    --- stderr
    added server `plain` at ~/.config/helve/helve.toml:9
    ");
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    [servers.docs]
    url = "https://docs.example.com/mcp"
    headers = { Authorization = "Bearer ${DOCS_TOKEN}" }

    [servers.tickets]
    type = "sse"
    url = "https://x.example.com/sse"

    [servers.plain]
    url = "http://localhost:1"
    tools = ["get_*"]
    "#);
}

#[test]
fn a_server_added_to_a_project_is_trusted_as_it_stands() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["add", "--scope", "project", "a", "--", "run", "a"]), @r#"
    exit status 0
    --- stderr
    added server `a` at helve.toml:1
    the built-in servers `filesystem` and `time` run while there is no other server, and are off from now on
    hint: an entry of its own keeps one: `[servers.time]` with `builtin = "time"` in helve.toml
    "#);
    // With a file of its own, the project is where servers go.
    insta::assert_snapshot!(env.run(&["add", "b", "--", "run", "b"]), @"
    exit status 0
    --- stderr
    added server `b` at helve.toml:5
    ");
    insta::assert_snapshot!(env.run(&["add", "-s", "local", "c", "--", "run", "c"]), @"
    exit status 0
    --- stderr
    added server `c` at helve.local.toml:1
    ");
    insta::assert_snapshot!(env.read("project/helve.toml"), @r#"
    [servers.a]
    command = "run"
    args = ["a"]

    [servers.b]
    command = "run"
    args = ["b"]
    "#);
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE  VIA    FROM
    c       on     stdio  helve.local.toml:1
    a       on     stdio  helve.toml:1
    b       on     stdio  helve.toml:5
    --- stderr
    3 servers in 2 files
    ");
    let changed = env.read("project/helve.toml").replace("\"a\"", "\"--evil\"");
    env.write("project/helve.toml", &changed);
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE        VIA    FROM
    c       on           stdio  helve.local.toml:1
    b       on           stdio  helve.toml:5
    a       not trusted  stdio  helve.toml:1
    --- stderr
    3 servers in 2 files
    hint: look at what this project would run, and trust it: `helve trust`
    ");
}

#[test]
fn a_server_is_added_to_the_file_that_is_named() {
    let env = TestEnv::new();
    env.write(
        "home/.cursor/mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"x\": { \"command\": \"x\" }\n  }\n}\n",
    );
    let file = env.home().join(".cursor/mcp.json");
    insta::assert_snapshot!(env.run(&["add", "a", "--config", &file.to_string_lossy(), "--", "run", "-a"]), @"
    exit status 0
    --- stderr
    added server `a` at ~/.cursor/mcp.json:5
    ");
    insta::assert_snapshot!(env.read("home/.cursor/mcp.json"), @r#"
    {
      // mine
      "mcpServers": {
        "x": { "command": "x" },
        "a": {
          "type": "stdio",
          "command": "run",
          "args": ["-a"]
        }
      }
    }
    "#);
    insta::assert_snapshot!(env.run(&["add", "a", "--config", "new.json", "--", "run"]), @"
    exit status 2
    --- stderr
    error: new.json has no form that helve knows
    hint: say which one it has with --dialect: helve, mcp-json, claude-loop, loom, strawberry, claude-code, claude-settings, claude-desktop, vscode, cursor, codex, gemini, opencode, zed, goose, windsurf, cline, copilot, kiro, mcporter
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "--config", "new.json", "--dialect", "zed", "--", "run"]), @"
    exit status 0
    --- stderr
    added server `a` at new.json:3
    ");
    insta::assert_snapshot!(env.read("project/new.json"), @r#"
    {
      "context_servers": {
        "a": {
          "command": "run"
        }
      }
    }
    "#);
    insta::assert_snapshot!(env.run(&["add", "a", "--config", "x", "--config", "y", "--", "run"]), @"
    exit status 2
    --- stderr
    error: only one file can be changed at a time
    hint: name one with --config
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "--config", "new.json", "-s", "user", "--", "run"]), @"
    exit status 2
    --- stderr
    error: --scope and --config both say which file to change
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "--config", "desktop.json", "--dialect", "claude-desktop", "http://x"]), @"
    exit status 2
    --- stderr
    error: Claude Desktop cannot reach an address; it only starts programs
    ");
}

#[test]
fn a_name_is_taken_once() {
    let env = TestEnv::new();
    env.run(&["add", "a", "--", "run", "one"]);
    insta::assert_snapshot!(env.run(&["add", "a", "--", "run", "two"]), @"
    exit status 2
    --- stderr
    error: ~/.config/helve/helve.toml: there is a server `a` in this file already
    hint: change it with `--replace`, or choose another name
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "--replace", "--", "run", "two"]), @"
    exit status 0
    --- stderr
    changed server `a` at ~/.config/helve/helve.toml:1
    ");
    insta::assert_snapshot!(env.run(&["add", "b", "--replace", "--", "run", "b"]), @"
    exit status 0
    --- stderr
    added server `b` at ~/.config/helve/helve.toml:5
    ");
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    [servers.a]
    command = "run"
    args = ["two"]

    [servers.b]
    command = "run"
    args = ["b"]
    "#);
}

#[test]
fn a_server_that_another_file_hides_is_pointed_out() {
    let env = TestEnv::new();
    env.run(&["add", "-s", "project", "a", "--", "run", "theirs"]);
    insta::assert_snapshot!(env.run(&["add", "-s", "user", "a", "--", "run", "mine"]), @"
    exit status 0
    --- stderr
    added server `a` in ~/.config/helve/helve.toml
    warning: helve.toml:1 has a server `a` too, and wins
    ");
}

#[test]
fn secrets_that_are_typed_out_are_pointed_out() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["add", "a", "-e", "API_KEY=hunter2", "--", "run"]), @r#"
    exit status 0
    --- stderr
    warning: the value of API_KEY is written into ~/.config/helve/helve.toml, where everybody who can read the file sees it
    hint: refer to a variable instead: '${API_KEY}'
    hint: or have it kept sealed: `--secret API_KEY` instead of its value
    added server `a` at ~/.config/helve/helve.toml:1
    the built-in servers `filesystem` and `time` run while there is no other server, and are off from now on
    hint: an entry of its own keeps one: `[servers.time]` with `builtin = "time"` in helve.toml
    "#);
    insta::assert_snapshot!(env.run(&["add", "b", "http://x", "-H", "X-Api-Key: hunter2"]), @"
    exit status 0
    --- stderr
    warning: the value of X-Api-Key is written into ~/.config/helve/helve.toml, where everybody who can read the file sees it
    hint: refer to a variable instead: '${X_API_KEY}'
    hint: or have it kept sealed: `--secret X-Api-Key` instead of its value
    added server `b` at ~/.config/helve/helve.toml:5
    ");
    insta::assert_snapshot!(env.run(&["add", "c", "-e", "TOKEN", "--", "run"]), @r#"
    exit status 0
    --- stderr
    added server `c` at ~/.config/helve/helve.toml:9
    error: server `c` is off: `env.TOKEN` needs the variable TOKEN, which is not set
      --> [ROOT]/home/.config/helve/helve.toml:11:17
       |
    11 | env = { TOKEN = "${TOKEN}" }
       |                 ^^^^^^^^^^
       = help: set TOKEN, or give it a default: `${TOKEN:-…}`
    warning: it does not run yet: TOKEN is not set
    "#);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["add", "a"]), @"
    exit status 2
    --- stderr
    error: how is `a` reached?
    hint: start it: `helve add a -- COMMAND ARGUMENTS…`
    hint: or reach it: `helve add a https://…`
    ");
    insta::assert_snapshot!(env.run(&["add", "", "--", "x"]), @"
    exit status 2
    --- stderr
    error: a server name must not be empty
    ");
    insta::assert_snapshot!(env.run(&["add", "a\nb", "--", "x"]), @r#"
    exit status 2
    --- stderr
    error: `a\nb` cannot be a server's name
    hint: use letters, digits, `-` and `_`
    "#);
    insta::assert_snapshot!(env.run(&["add", "a", "http://x", "--", "y"]), @"
    exit status 2
    --- stderr
    error: a server is started or reached, not both
    hint: give it an address, or a command behind `--`
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "http://x", "y"]), @"
    exit status 2
    --- stderr
    error: a server has one address, and nothing behind it
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "-t", "http", "--", "y"]), @"
    exit status 2
    --- stderr
    error: a server over HTTP needs one address, and nothing else
    hint: it begins with http:// or https://
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "http://x", "-e", "A=b"]), @"
    exit status 2
    --- stderr
    error: an address takes no variables
    hint: send headers with --header
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "-H", "A: b", "--", "x"]), @"
    exit status 2
    --- stderr
    error: a command takes no headers
    hint: hand it variables with --env
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "http://x", "-H", "nothing"]), @"
    exit status 2
    --- stderr
    error: `nothing` is not a header
    hint: write 'Name: value'
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "-e", "=x", "--", "x"]), @"
    exit status 2
    --- stderr
    error: `=x` is not a variable
    hint: write NAME=value, or NAME alone
    ");
    insta::assert_snapshot!(env.run(&["add", "a", "npx", "-y", "x"]), @"
    exit status 2
    --- stderr
    error: unexpected argument '-y' found

      tip: the command of the server stands behind `--`: helve add a -- npx -y x

    Usage: helve add [OPTIONS] <NAME> [URL|COMMAND]... [-- <COMMAND>...]

    For more information, try '--help'.
    ");
    assert!(!env.exists("home/.config/helve/helve.toml"));
    let home = env.home();
    insta::assert_snapshot!(env.run(&["add", "a", "-s", "project", "--cwd", &home.to_string_lossy(), "--", "x"]), @"
    exit status 2
    --- stderr
    error: your home directory is not a project
    hint: use `--scope user`, or go to a project
    ");
}

#[test]
fn a_file_that_is_broken_stays_as_it_is() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", "[servers.a\n");
    insta::assert_snapshot!(env.run(&["add", "b", "--", "x"]), @"
    exit status 2
    --- stderr
    error: ~/.config/helve/helve.toml has to be repaired first
      cause: [ROOT]/home/.config/helve/helve.toml:1:11: error: this is not TOML: unclosed table, expected `]`
    ");
    assert_eq!(env.read("home/.config/helve/helve.toml"), "[servers.a\n");
}

#[test]
fn an_entry_is_added_as_json() {
    let env = TestEnv::new().with_variable("TOKEN", "hunter2");
    let entry = r#"{"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${TOKEN}"}}"#;
    insta::assert_snapshot!(env.run(&["add-json", "a", entry]), @r#"
    exit status 0
    --- stderr
    added server `a` at ~/.config/helve/helve.toml:1
    the built-in servers `filesystem` and `time` run while there is no other server, and are off from now on
    hint: an entry of its own keeps one: `[servers.time]` with `builtin = "time"` in helve.toml
    "#);
    insta::assert_snapshot!(env.run_with_input(&["add-json", "b", "-"], r#"{"type": "sse", "url": "https://x.example.com"}"#), @"
    exit status 0
    --- stderr
    added server `b` at ~/.config/helve/helve.toml:6
    ");
    env.write("project/entry.json", r#"{"mcpServers": {"c": {"command": "c", "env": {"API_KEY": "hunter2"}}}}"#);
    insta::assert_snapshot!(env.run(&["add-json", "c", "@entry.json", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "file": "[ROOT]/home/.config/helve/helve.toml",
      "server": "c",
      "state": "on"
    }
    --- stderr
    warning: a secret is written into ~/.config/helve/helve.toml, where everybody who can read the file sees it
    hint: refer to a variable instead: ${NAME}
    added server `c` at ~/.config/helve/helve.toml:10
    "#);
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    [servers.a]
    command = "npx"
    args = ["-y", "x"]
    env = { TOKEN = "${TOKEN}" }

    [servers.b]
    type = "sse"
    url = "https://x.example.com"

    [servers.c]
    command = "c"
    env = { API_KEY = "hunter2" }
    "#);
    insta::assert_snapshot!(env.run(&["add-json", "d", "@entry.json"]), @"
    exit status 2
    --- stderr
    error: this JSON has no server `d`
    hint: it has: c
    ");
    insta::assert_snapshot!(env.run(&["add-json", "d", "{"]), @"
    exit status 2
    --- stderr
    error: this is not JSON: EOF while parsing an object at line 1 column 1
    hint: quote it for the shell: '{…}'
    ");
    insta::assert_snapshot!(env.run(&["add-json", "d", "{}"]), @"
    exit status 2
    --- stderr
    error: this is not a server: server `d` does not say how it is reached
    ");
    insta::assert_snapshot!(env.run(&["add-json", "d", "@missing.json"]), @"
    exit status 1
    --- stderr
    error: failed to open file `[ROOT]/project/missing.json`: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(env.run(&["add-json", "a", "{\"command\": \"x\"}"]), @"
    exit status 2
    --- stderr
    error: ~/.config/helve/helve.toml: there is a server `a` in this file already
    ");
    env.write("project/zed.json", "{}");
    insta::assert_snapshot!(env.run(&["add-json", "a", "{\"command\": \"x\"}", "--config", "zed.json", "--dialect", "zed"]), @"
    exit status 2
    --- stderr
    error: zed.json is not helve's own file
    hint: leave out --config
    ");
}

/// Whoever adds at the same time waits for his turn; nothing is lost.
#[test]
fn additions_at_the_same_time_all_land() {
    let env = TestEnv::new();
    let children: Vec<_> = (0..12)
        .map(|number| {
            let (name, command) = (format!("c{number}"), format!("run-{number}"));
            let mut helve = env.command(&["add", "-q", "--scope", "user", &name, "--", &command]);
            helve.stdin(std::process::Stdio::null()).spawn().expect("started")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("ended").success());
    }
    let listed = env.json(&["--json"]);
    assert_eq!(listed["servers"].as_array().map(Vec::len), Some(12), "{listed}");
}
