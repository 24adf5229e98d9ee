//! `helve` alone, `helve init`, `helve get`: what there is.

use crate::support::{Person, TestEnv};

const OWN: &str = r#"[servers.files]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "."]

[servers.docs]
url = "https://docs.example.com/mcp?token=hunter2"
headers = { Authorization = "Bearer ${DOCS_TOKEN}", X-Key = "hunter2" }
enabled = false

[servers.github]
command = "docker"
args = ["run", "--token", "hunter2", "image"]
env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", API_KEY = "hunter2", LEVEL = "warn" }
tools = ["get_*"]
write_tools = ["create_issue"]
disabled_tools = ["delete_*"]
readonly = true
lazy = true
timeout_seconds = 12

[settings]
import = true
"#;

const CURSOR: &str =
    r#"{"mcpServers": {"github": {"command": "other"}, "linear": {"url": "https://linear.example.com"}}}"#;

#[test]
fn with_nothing_configured_helve_says_what_it_has_and_what_to_do() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER      STATE  VIA       FROM
    filesystem  on     built in  helve's defaults
    time        on     built in  helve's defaults
    --- stderr
    No server is configured; these come with helve.
    hint: add a server: `helve add NAME -- COMMAND`, or `helve add NAME URL`
    hint: or start with a commented file: `helve init`
    ");
    insta::assert_snapshot!(env.run(&["-q"]), @"
    exit status 0
    --- stdout
    SERVER      STATE  VIA       FROM
    filesystem  on     built in  helve's defaults
    time        on     built in  helve's defaults
    ");
    insta::assert_snapshot!(env.run(&["--no-mcp"]), @"
    exit status 0
    --- stdout
    SERVER      STATE       VIA       FROM
    filesystem  MCP is off  built in  helve's defaults
    time        MCP is off  built in  helve's defaults
    --- stderr
    No server is configured; these come with helve.
    hint: every server is off because of --no-mcp
    hint: add a server: `helve add NAME -- COMMAND`, or `helve add NAME URL`
    hint: or start with a commented file: `helve init`
    ");
    insta::assert_snapshot!(env.filter(&env.stdout(&["--json"])), @r#"
    {
      "approvals": 0,
      "diagnostics": [],
      "directories": {
        "cache": "[ROOT]/home/.cache/helve",
        "config": "[ROOT]/home/.config/helve",
        "runtime": null,
        "state": "[ROOT]/home/.local/state/helve"
      },
      "files": [],
      "rules": 0,
      "servers": [
        {
          "application": "helve",
          "layer": "defaults",
          "name": "filesystem",
          "origin": null,
          "state": "on",
          "transport": {
            "builtin": "filesystem",
            "options": {
              "roots": [
                "[ROOT]/project"
              ]
            },
            "type": "builtin"
          }
        },
        {
          "application": "helve",
          "layer": "defaults",
          "name": "time",
          "origin": null,
          "state": "on",
          "transport": {
            "builtin": "time",
            "options": {},
            "type": "builtin"
          }
        }
      ],
      "untrusted": 0
    }
    "#);
}

#[test]
fn the_status_tells_every_servers_state_and_place() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", OWN).write("home/.cursor/mcp.json", CURSOR);
    env.write("project/.mcp.json", r#"{"mcpServers": {"theirs": {"command": "theirs"}, "broken": {"command": ""}}}"#);
    insta::assert_snapshot!(env.run(&[]), @r#"
    exit status 0
    --- stdout
    SERVER  STATE                    VIA    FROM
    files   on                       stdio  ~/.config/helve/helve.toml:1
    docs    off                      http   ~/.config/helve/helve.toml:5
    github  GITHUB_TOKEN is not set  stdio  ~/.config/helve/helve.toml:10
    linear  on                       http   ~/.cursor/mcp.json:1
    theirs  not trusted              stdio  .mcp.json:1
    broken  mistakes                 -      .mcp.json:1
    --- stderr
    error: server `github` is off: `env.GITHUB_TOKEN` needs the variable GITHUB_TOKEN, which is not set
      --> [ROOT]/home/.config/helve/helve.toml:13:24
       |
    13 | env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", API_KEY = "•••••••", LEVEL = "warn" }
       |                        ^^^^^^^^^^^^^^^^^
       = help: set GITHUB_TOKEN, or give it a default: `${GITHUB_TOKEN:-…}`
    error: the command of server `broken` is empty
     --> [ROOT]/project/.mcp.json:1:72
      |
    1 | {"mcpServers": {"theirs": {"command": "theirs"}, "broken": {"command": ""}}}
      |                                                                        ^^
    6 servers in 3 files
    hint: look at what this project would run, and trust it: `helve trust`
    "#);
    insta::assert_snapshot!(env.run(&["--verbose"]), @r#"
    exit status 0
    --- stdout
    SERVER  STATE                    VIA    FROM
    files   on                       stdio  ~/.config/helve/helve.toml:1
    docs    off                      http   ~/.config/helve/helve.toml:5
    github  GITHUB_TOKEN is not set  stdio  ~/.config/helve/helve.toml:10
    linear  on                       http   ~/.cursor/mcp.json:1
    theirs  not trusted              stdio  .mcp.json:1
    broken  mistakes                 -      .mcp.json:1
    --- stderr
    error: server `github` is off: `env.GITHUB_TOKEN` needs the variable GITHUB_TOKEN, which is not set
      --> [ROOT]/home/.config/helve/helve.toml:13:24
       |
    13 | env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", API_KEY = "•••••••", LEVEL = "warn" }
       |                        ^^^^^^^^^^^^^^^^^
       = help: set GITHUB_TOKEN, or give it a default: `${GITHUB_TOKEN:-…}`
    error: the command of server `broken` is empty
     --> [ROOT]/project/.mcp.json:1:72
      |
    1 | {"mcpServers": {"theirs": {"command": "theirs"}, "broken": {"command": ""}}}
      |                                                                        ^^
    6 servers in 3 files
      .mcp.json (mcp-json, project)
      ~/.config/helve/helve.toml (helve, user)
      ~/.cursor/mcp.json (cursor, user)
      github at ~/.cursor/mcp.json:1 is hidden by ~/.config/helve/helve.toml:10
    hint: look at what this project would run, and trust it: `helve trust`
    "#);
    insta::assert_snapshot!(env.run(&["-q"]), @r#"
    exit status 0
    --- stdout
    SERVER  STATE                    VIA    FROM
    files   on                       stdio  ~/.config/helve/helve.toml:1
    docs    off                      http   ~/.config/helve/helve.toml:5
    github  GITHUB_TOKEN is not set  stdio  ~/.config/helve/helve.toml:10
    linear  on                       http   ~/.cursor/mcp.json:1
    theirs  not trusted              stdio  .mcp.json:1
    broken  mistakes                 -      .mcp.json:1
    --- stderr
    error: server `github` is off: `env.GITHUB_TOKEN` needs the variable GITHUB_TOKEN, which is not set
      --> [ROOT]/home/.config/helve/helve.toml:13:24
       |
    13 | env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", API_KEY = "•••••••", LEVEL = "warn" }
       |                        ^^^^^^^^^^^^^^^^^
       = help: set GITHUB_TOKEN, or give it a default: `${GITHUB_TOKEN:-…}`
    error: the command of server `broken` is empty
     --> [ROOT]/project/.mcp.json:1:72
      |
    1 | {"mcpServers": {"theirs": {"command": "theirs"}, "broken": {"command": ""}}}
      |                                                                        ^^
    "#);
}

#[test]
fn the_status_as_json() {
    let env = TestEnv::new().with_variable("GITHUB_TOKEN", "hunter2");
    env.write("home/.config/helve/helve.toml", OWN).write("home/.cursor/mcp.json", CURSOR);
    let text = env.filter(&env.stdout(&["--json"]));
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!(text, @r#"
    {
      "approvals": 0,
      "diagnostics": [],
      "directories": {
        "cache": "[ROOT]/home/.cache/helve",
        "config": "[ROOT]/home/.config/helve",
        "runtime": null,
        "state": "[ROOT]/home/.local/state/helve"
      },
      "files": [
        {
          "application": "helve",
          "dialect": "helve",
          "layer": "user",
          "path": "[ROOT]/home/.config/helve/helve.toml",
          "servers": 3
        },
        {
          "application": "cursor",
          "dialect": "cursor",
          "layer": "user",
          "path": "[ROOT]/home/.cursor/mcp.json",
          "servers": 2
        }
      ],
      "rules": 0,
      "servers": [
        {
          "access": {
            "disabled_tools": [],
            "readonly": null,
            "tools": null,
            "trust_annotations": false,
            "write_tools": null
          },
          "application": "helve",
          "layer": "user",
          "name": "files",
          "origin": {
            "column": 10,
            "line": 1,
            "path": "[ROOT]/home/.config/helve/helve.toml"
          },
          "state": "on",
          "transport": {
            "command_line": "npx -y @modelcontextprotocol/server-filesystem .",
            "cwd": null,
            "env": {},
            "type": "stdio"
          },
          "variables": []
        },
        {
          "access": {
            "disabled_tools": [],
            "readonly": null,
            "tools": null,
            "trust_annotations": false,
            "write_tools": null
          },
          "application": "helve",
          "disabled_by": {
            "column": 1,
            "line": 8,
            "path": "[ROOT]/home/.config/helve/helve.toml"
          },
          "layer": "user",
          "name": "docs",
          "origin": {
            "column": 10,
            "line": 5,
            "path": "[ROOT]/home/.config/helve/helve.toml"
          },
          "reason": "switched off in the configuration",
          "state": "off",
          "transport": {
            "headers": {
              "Authorization": "Bearer ${DOCS_TOKEN}",
              "X-Key": "(hidden)"
            },
            "type": "http",
            "url": "https://docs.example.com/mcp?token=(hidden)"
          },
          "variables": [
            "DOCS_TOKEN"
          ]
        },
        {
          "access": {
            "disabled_tools": [
              "delete_*"
            ],
            "readonly": true,
            "tools": [
              "get_*"
            ],
            "trust_annotations": false,
            "write_tools": [
              "create_issue"
            ]
          },
          "application": "helve",
          "layer": "user",
          "name": "github",
          "origin": {
            "column": 10,
            "line": 10,
            "path": "[ROOT]/home/.config/helve/helve.toml"
          },
          "state": "on",
          "transport": {
            "command_line": "docker run --token '(hidden)' image",
            "cwd": null,
            "env": {
              "API_KEY": "(hidden)",
              "GITHUB_TOKEN": "${GITHUB_TOKEN}",
              "LEVEL": "…"
            },
            "type": "stdio"
          },
          "variables": [
            "GITHUB_TOKEN"
          ]
        },
        {
          "access": {
            "disabled_tools": [],
            "readonly": null,
            "tools": null,
            "trust_annotations": false,
            "write_tools": null
          },
          "application": "cursor",
          "layer": "user",
          "name": "linear",
          "origin": {
            "column": 49,
            "line": 1,
            "path": "[ROOT]/home/.cursor/mcp.json"
          },
          "state": "on",
          "transport": {
            "headers": {},
            "type": "http",
            "url": "https://linear.example.com"
          },
          "variables": []
        }
      ],
      "untrusted": 0
    }
    "#);
}

#[test]
fn mistakes_of_one_file_stop_nobody() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", "[servers.good]\ncommand = \"good\"\n");
    env.write("home/.cursor/mcp.json", "{\"mcpServers\": ");
    env.write("home/.codex/config.toml", "[mcp_servers.bad]\ncommand = 3\n\n[mcp_servers.fine]\ncommand = \"fine\"\n");
    insta::assert_snapshot!(env.run(&[]), @r#"
    exit status 0
    --- stdout
    SERVER  STATE     VIA    FROM
    good    on        stdio  ~/.config/helve/helve.toml:1
    bad     mistakes  -      ~/.codex/config.toml:1
    fine    on        stdio  ~/.codex/config.toml:4
    --- stderr
    error: `command` must be a string, not a number
     --> [ROOT]/home/.codex/config.toml:2:11
      |
    2 | command = 3
      |           ^
    error: this is not JSON: expected value after colon in object property
     --> [ROOT]/home/.cursor/mcp.json:1:16
      |
    1 | {"mcpServers": 
      |                ^
    3 servers in 3 files
    "#);
}

#[test]
fn rules_that_cannot_be_read_are_reported() {
    let env = TestEnv::new();
    let text = "[servers.a]\ncommand = \"a\"\n\n[[rules]]\ntool = \"a/[\"\naction = \"deny\"\n";
    env.write("home/.config/helve/helve.toml", text);
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE  VIA    FROM
    a       on     stdio  ~/.config/helve/helve.toml:1
    --- stderr
    warning: [ROOT]/home/.config/helve/helve.toml:5:8: the tool glob `a/[` cannot be read (unclosed character class; missing ']'); it denies every tool it might mean
    1 server in 1 file
    ");
}

#[cfg(sandbox)]
#[test]
fn a_broken_memory_is_named_and_trusts_nothing() {
    let env = TestEnv::new();
    env.write("home/.local/state/helve/trust.json", "{");
    env.write("project/.mcp.json", r#"{"mcpServers": {"theirs": {"command": "theirs"}}}"#);
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE        VIA    FROM
    theirs  not trusted  stdio  .mcp.json:1
    --- stderr
    warning: [ROOT]/home/.local/state/helve/trust.json cannot be understood; nothing of this project counts as trusted
    1 server in 1 file
    hint: look at what this project would run, and trust it: `helve trust`
    ");
    insta::assert_snapshot!(env.run(&["trust", "--yes"]), @"
    exit status 2
    --- stdout
    server `theirs` of .mcp.json
      command      theirs
      variables    CLAUDE_PROJECT_DIR=[ROOT]/project
      directory    [ROOT]/project
      not covered  what the program imports or loads beyond this, and what a package runner downloads
      sandbox      standard, unless you choose another

    --- stderr
    warning: [ROOT]/home/.local/state/helve/trust.json cannot be understood; nothing of this project counts as trusted
    error: [ROOT]/home/.local/state/helve/trust.json cannot be understood
      cause: EOF while parsing an object at line 1 column 1
    hint: repair it, or move it out of the way and answer again what it knew
    ");
    assert_eq!(env.read("home/.local/state/helve/trust.json"), "{");
}

#[test]
fn one_server_in_full_without_its_secrets() {
    let env = TestEnv::new().with_variable("GITHUB_TOKEN", "hunter3");
    env.write("home/.config/helve/helve.toml", OWN).write("home/.cursor/mcp.json", CURSOR);
    for server in ["github", "docs", "linear"] {
        for arguments in [&["get", server][..], &["get", server, "--json"]] {
            let text = env.run(arguments);
            assert!(!text.contains("hunter"), "{text}");
        }
    }
    insta::assert_snapshot!(env.run(&["get", "github"]), @"
    exit status 0
    --- stdout
    server         github
    state          on
    from           ~/.config/helve/helve.toml:10 (helve, user layer)
    via            stdio
    command        docker run --token '(hidden)' image
    variables      GITHUB_TOKEN=${GITHUB_TOKEN}
                   API_KEY=(hidden)
                   LEVEL=…
    only tools     get_*
    may write      create_issue
    without tools  delete_*
    read-only      yes
    also           starts at first use
                   may take 12s for a call
    written        tools at ~/.config/helve/helve.toml:14
                   write_tools at ~/.config/helve/helve.toml:15
                   disabled_tools at ~/.config/helve/helve.toml:16
    hides          ~/.cursor/mcp.json:1 (in a later file)
    ");
    insta::assert_snapshot!(env.run(&["get", "docs"]), @"
    exit status 0
    --- stdout
    server   docs
    state    off, at ~/.config/helve/helve.toml:8
    from     ~/.config/helve/helve.toml:5 (helve, user layer)
    via      http
    address  https://docs.example.com/mcp?token=(hidden)
    headers  Authorization: Bearer ${DOCS_TOKEN}
             X-Key: (hidden)
    ");
    insta::assert_snapshot!(env.run(&["get", "cursor:github"]), @"
    exit status 0
    --- stdout
    server     github
    state      on
    from       ~/.cursor/mcp.json:1 (cursor, user layer)
    via        stdio
    command    other
    directory  [ROOT]/project
    ");
    insta::assert_snapshot!(env.run(&["get", "linear", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "access": {
        "disabled_tools": [],
        "readonly": null,
        "tools": null,
        "trust_annotations": false,
        "write_tools": null
      },
      "application": "cursor",
      "hides": [],
      "layer": "user",
      "name": "linear",
      "origin": {
        "column": 49,
        "line": 1,
        "path": "[ROOT]/home/.cursor/mcp.json"
      },
      "state": "on",
      "transport": {
        "headers": {},
        "type": "http",
        "url": "https://linear.example.com"
      },
      "variables": []
    }
    "#);
}

#[test]
fn a_server_that_cannot_run_says_why() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", OWN);
    env.write("home/.config/Code/User/mcp.json", r#"{"inputs": [{"id": "key", "type": "promptString"}], "servers": {"asking": {"command": "x", "env": {"KEY": "${input:key}"}}, "socket": {"type": "ws", "url": "wss://x"}}}"#);
    insta::assert_snapshot!(env.run(&["get", "github"]), @r#"
    exit status 0
    --- stdout
    server         github
    state          GITHUB_TOKEN is not set
    from           ~/.config/helve/helve.toml:10 (helve, user layer)
    via            stdio
    command        docker run --token '(hidden)' image
    variables      GITHUB_TOKEN=${GITHUB_TOKEN}
                   API_KEY=(hidden)
                   LEVEL=…
    only tools     get_*
    may write      create_issue
    without tools  delete_*
    read-only      yes
    also           starts at first use
                   may take 12s for a call
    written        tools at ~/.config/helve/helve.toml:14
                   write_tools at ~/.config/helve/helve.toml:15
                   disabled_tools at ~/.config/helve/helve.toml:16
    --- stderr
    error: server `github` is off: `env.GITHUB_TOKEN` needs the variable GITHUB_TOKEN, which is not set
      --> [ROOT]/home/.config/helve/helve.toml:13:24
       |
    13 | env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", API_KEY = "•••••••", LEVEL = "warn" }
       |                        ^^^^^^^^^^^^^^^^^
       = help: set GITHUB_TOKEN, or give it a default: `${GITHUB_TOKEN:-…}`
    "#);
    insta::assert_snapshot!(env.run(&["get", "asking"]), @r#"
    exit status 0
    --- stdout
    server     asking
    state      asks for key
    from       ~/.config/Code/User/mcp.json:1 (vscode, user layer)
    via        stdio
    command    x
    variables  KEY=${input:key}
    directory  [ROOT]/project
    --- stderr
    error: server `asking` is off: `env.KEY` needs an answer to the input `key`
     --> [ROOT]/home/.config/Code/User/mcp.json:1:107
      |
    1 | …g"}], "servers": {"asking": {"command": "x", "env": {"KEY": "${input:key}"}}, "socket": {"type": "ws", "url": "wss://x"}…
      |                                                              ^^^^^^^^^^^^^^
      = help: run helve at a terminal, where it asks, or set HELVE_INPUT_KEY
    "#);
    insta::assert_snapshot!(env.run(&["get", "socket"]), @r#"
    exit status 0
    --- stdout
    server  socket
    state   helve does not speak MCP over WebSocket
    from    ~/.config/Code/User/mcp.json:1 (vscode, user layer)
    --- stderr
    warning: server `socket` is off: helve does not speak MCP over WebSocket
     --> [ROOT]/home/.config/Code/User/mcp.json:1:144
      |
    1 | …": "x", "env": {"KEY": "${input:key}"}}, "socket": {"type": "ws", "url": "wss://x"}}}
      |                                                              ^^^^
    "#);
    insta::assert_snapshot!(env.run(&["get", "githup"]), @"
    exit status 5
    --- stderr
    error: there is no server `githup`
    hint: did you mean `github`?
    ");
    insta::assert_snapshot!(env.run(&["get", "zzz"]), @"
    exit status 5
    --- stderr
    error: there is no server `zzz`
    hint: there are: files, docs, github, asking, socket
    ");
}

#[test]
fn approvals_of_other_applications_are_shown_with_the_server() {
    let env = TestEnv::new();
    env.write("home/.gemini/settings.json", r#"{"mcpServers": {"a": {"command": "x", "trust": true}}}"#);
    insta::assert_snapshot!(env.run(&["get", "a"]), @"
    exit status 0
    --- stdout
    server   a
    state    on
    from     ~/.gemini/settings.json:1 (gemini, user layer)
    via      stdio
    command  x
    rules    allow a/* (~/.gemini/settings.json:1)
    ");
}

#[test]
fn a_first_file_is_written_once() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", CURSOR);
    insta::assert_snapshot!(env.run(&["init"]), @"
    exit status 0
    --- stdout
    SERVER  APP     FROM
    github  cursor  ~/.cursor/mcp.json:1
    linear  cursor  ~/.cursor/mcp.json:1
    --- stderr
    wrote helve.toml
    Other applications' files have these servers, and helve uses them as they are:
    hint: copy some into your own file: `helve import NAME…`
    ");
    let written = env.read("project/helve.toml");
    assert!(written.starts_with("# MCP servers for helve"), "{written}");
    insta::assert_snapshot!(env.run(&["init"]), @"
    exit status 2
    --- stderr
    error: helve.toml exists already; it is as it was
    hint: add servers to it with `helve add`, or see what it does with `helve`
    ");
    assert_eq!(env.read("project/helve.toml"), written);
    insta::assert_snapshot!(env.run(&["init", "--format", "mcp-json", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "file": "[ROOT]/project/.mcp.json",
      "found": [
        {
          "access": {
            "disabled_tools": [],
            "readonly": null,
            "tools": null,
            "trust_annotations": false,
            "write_tools": null
          },
          "application": "cursor",
          "layer": "user",
          "name": "github",
          "origin": {
            "column": 17,
            "line": 1,
            "path": "[ROOT]/home/.cursor/mcp.json"
          },
          "state": "on",
          "transport": {
            "command_line": "other",
            "cwd": "[ROOT]/project",
            "env": {},
            "type": "stdio"
          },
          "variables": []
        },
        {
          "access": {
            "disabled_tools": [],
            "readonly": null,
            "tools": null,
            "trust_annotations": false,
            "write_tools": null
          },
          "application": "cursor",
          "layer": "user",
          "name": "linear",
          "origin": {
            "column": 49,
            "line": 1,
            "path": "[ROOT]/home/.cursor/mcp.json"
          },
          "state": "on",
          "transport": {
            "headers": {},
            "type": "http",
            "url": "https://linear.example.com"
          },
          "variables": []
        }
      ]
    }
    --- stderr
    wrote .mcp.json
    "#);
    insta::assert_snapshot!(env.read("project/.mcp.json"), @r#"
    {
      "mcpServers": {}
    }
    "#);
    insta::assert_snapshot!(env.run(&["init", "--format", "mcp-json", "--scope", "local"]), @"
    exit status 2
    --- stderr
    error: there is no .mcp.json for you alone in a project
    hint: use `--scope user`, or a helve.local.toml: leave out --format
    ");
}

#[test]
fn a_first_file_for_the_person() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["init", "--scope", "user"]), @"
    exit status 0
    --- stderr
    wrote ~/.config/helve/helve.toml
    hint: add a server: `helve add NAME -- COMMAND`, or `helve add NAME URL`
    ");
    assert!(env.exists("home/.config/helve/helve.toml"));
    insta::assert_snapshot!(env.run(&["init", "--scope", "user", "--format", "mcp-json"]), @"
    exit status 0
    --- stderr
    wrote ~/.mcp.json
    hint: add a server: `helve add NAME -- COMMAND`, or `helve add NAME URL`
    ");
    assert!(env.exists("home/.mcp.json"));
    let home = env.home();
    insta::assert_snapshot!(env.run(&["init", "--cwd", &home.to_string_lossy()]), @"
    exit status 2
    --- stderr
    error: your home directory is not a project
    hint: use `--scope user`, or go to a project
    ");
}

#[test]
fn at_a_terminal_the_first_start_says_what_was_found_and_what_comes_next() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", CURSOR);
    env.write("project/.mcp.json", r#"{"mcpServers": {"mine": {"command": "no-such-program"}}}"#);
    let first = Person::at(&env, &["--color", "never"]).sees_the_end();
    insta::assert_snapshot!(first, @r#"
    exit status 0
    SERVER  STATE        VIA    FROM
    github  on           stdio  ~/.cursor/mcp.json:1
    linear  on           http   ~/.cursor/mcp.json:1
    mine    not trusted  stdio  .mcp.json:1
    3 servers in 2 files
    2 servers of Cursor: helve uses them as configured there.
    Not trusted, and not started: `mine` of this project
    Missing: the program `other` (for `github`), the program `no-such-program` (for `mine`)
    Next:
      helve trust           look at what this project would run, and trust it
      helve tools           every tool of every server
      helve connect cursor  give that application all of them
    "#);
    let second = Person::at(&env, &[]).sees_the_end();
    assert!(!second.contains("Next:") && second.contains("`helve trust`"), "{second}");
    // Nobody else is told: a script reads the table.
    assert!(!TestEnv::new().run(&[]).contains("Next:"));
}
