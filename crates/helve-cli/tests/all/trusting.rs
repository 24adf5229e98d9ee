//! `helve trust`: what is shown before a yes, what a yes is good for, and how it is taken back.

use crate::support::TestEnv;

const PROJECT: &str = r#"[servers.run]
command = "node"
args = ["server.js", "--name", "it's"]
env = { TOKEN = "${GITHUB_TOKEN}", MODE = "fast" }
write_tools = ["write_*"]

[servers.reach]
url = "https://example.com/mcp"
headers = { Authorization = "Bearer ${GITHUB_TOKEN}" }

[[rules]]
tool = "run/*"
action = "allow"

[settings]
timeout_seconds = 300
"#;

fn env() -> TestEnv {
    let env = TestEnv::new().with_variable("GITHUB_TOKEN", "hunter2");
    env.write("project/helve.toml", PROJECT).write("project/server.js", "one");
    env
}

#[test]
fn what_would_run_is_shown_and_nobody_is_asked_without_a_terminal() {
    let env = env();
    let shown = env.run(&["trust"]);
    assert!(!shown.contains("hunter2"), "{shown}");
    insta::assert_snapshot!(shown, @r#"
    exit status 7
    --- stdout
    server `run` of helve.toml
      command      node server.js --name 'it'\''s'
      variables    TOKEN=${GITHUB_TOKEN}
                   MODE=fast
      directory    [ROOT]/project
      may write    write_*
      reads yours  GITHUB_TOKEN

    server `reach` of helve.toml
      address      https://example.com/mcp
      headers      Authorization: Bearer ${GITHUB_TOKEN}
      reads yours  GITHUB_TOKEN

    rules and settings of helve.toml
      rules     run/* may be called without asking
      settings  a call may take 300s

    --- stderr
    error: there is no terminal to ask at, so nothing was trusted
    hint: trust it with `helve trust --yes`, once you looked at it
    "#);
    assert!(!env.exists("home/.local/state/helve/trust.json"));
    insta::assert_snapshot!(env.filter(&env.stdout(&["trust", "--json"])), @r#"
    {
      "asked": [
        {
          "file": "[ROOT]/project/helve.toml",
          "hash": "[HASH]",
          "project": "[ROOT]/project",
          "rules": [],
          "server": {
            "access": {
              "disabled_tools": [],
              "readonly": null,
              "tools": null,
              "trust_annotations": false,
              "write_tools": [
                "write_*"
              ]
            },
            "application": "helve",
            "layer": "project",
            "name": "run",
            "origin": {
              "column": 10,
              "line": 1,
              "path": "[ROOT]/project/helve.toml"
            },
            "reason": "untrusted project",
            "state": "untrusted",
            "transport": {
              "command_line": "node server.js --name 'it'\\''s'",
              "cwd": "[ROOT]/project",
              "env": {
                "MODE": "fast",
                "TOKEN": "${GITHUB_TOKEN}"
              },
              "type": "stdio"
            },
            "variables": [
              "GITHUB_TOKEN"
            ]
          }
        },
        {
          "file": "[ROOT]/project/helve.toml",
          "hash": "[HASH]",
          "project": "[ROOT]/project",
          "rules": [],
          "server": {
            "access": {
              "disabled_tools": [],
              "readonly": null,
              "tools": null,
              "trust_annotations": false,
              "write_tools": null
            },
            "application": "helve",
            "layer": "project",
            "name": "reach",
            "origin": {
              "column": 10,
              "line": 7,
              "path": "[ROOT]/project/helve.toml"
            },
            "reason": "untrusted project",
            "state": "untrusted",
            "transport": {
              "headers": {
                "Authorization": "Bearer ${GITHUB_TOKEN}"
              },
              "type": "http",
              "url": "https://example.com/mcp"
            },
            "variables": [
              "GITHUB_TOKEN"
            ]
          }
        },
        {
          "file": "[ROOT]/project/helve.toml",
          "hash": "[HASH]",
          "project": "[ROOT]/project",
          "rules": [
            "run/* may be called without asking"
          ],
          "server": null
        }
      ]
    }
    "#);
}

#[test]
fn a_yes_is_for_exactly_this() {
    let env = env();
    insta::assert_snapshot!(env.run(&["trust", "--yes", "-q"]), @r#"
    exit status 0
    --- stdout
    server `run` of helve.toml
      command      node server.js --name 'it'\''s'
      variables    TOKEN=${GITHUB_TOKEN}
                   MODE=fast
      directory    [ROOT]/project
      may write    write_*
      reads yours  GITHUB_TOKEN

    server `reach` of helve.toml
      address      https://example.com/mcp
      headers      Authorization: Bearer ${GITHUB_TOKEN}
      reads yours  GITHUB_TOKEN

    rules and settings of helve.toml
      rules     run/* may be called without asking
      settings  a call may take 300s
    "#);
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE  VIA    FROM
    run     on     stdio  helve.toml:1
    reach   on     http   helve.toml:7
    --- stderr
    2 servers in 1 file
    ");
    insta::assert_snapshot!(env.run(&["trust"]), @"
    exit status 0
    --- stderr
    Nothing here waits for your trust.
    ");
    // A file that the command names is part of what runs.
    env.write("project/server.js", "two");
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE        VIA    FROM
    reach   on           http   helve.toml:7
    run     not trusted  stdio  helve.toml:1
    --- stderr
    2 servers in 1 file
    hint: look at what this project would run, and trust it: `helve trust`
    ");
}

#[test]
fn one_server_may_be_trusted_alone() {
    let env = env();
    insta::assert_snapshot!(env.run(&["trust", "run", "--yes"]), @r#"
    exit status 0
    --- stdout
    server `run` of helve.toml
      command      node server.js --name 'it'\''s'
      variables    TOKEN=${GITHUB_TOKEN}
                   MODE=fast
      directory    [ROOT]/project
      may write    write_*
      reads yours  GITHUB_TOKEN

    --- stderr
    trusted server `run` of helve.toml
    "#);
    insta::assert_snapshot!(env.run(&["trust", "run"]), @"
    exit status 0
    --- stderr
    server `run` is trusted already
    ");
    insta::assert_snapshot!(env.run(&["trust", "nobody"]), @"
    exit status 5
    --- stderr
    error: there is no server `nobody`
    hint: there are: run, reach
    ");
    env.write("home/.config/helve/helve.toml", "[servers.mine]\ncommand = \"mine\"\n");
    insta::assert_snapshot!(env.run(&["trust", "mine"]), @"
    exit status 0
    --- stderr
    server `mine` is your own, and needs no trust
    ");
    insta::assert_snapshot!(env.filter(&env.stdout(&["trust", "reach", "--yes", "--json"])), @r#"
    {
      "trusted": [
        {
          "file": "[ROOT]/project/helve.toml",
          "hash": "[HASH]",
          "project": "[ROOT]/project",
          "rules": [],
          "server": {
            "access": {
              "disabled_tools": [],
              "readonly": null,
              "tools": null,
              "trust_annotations": false,
              "write_tools": null
            },
            "application": "helve",
            "layer": "project",
            "name": "reach",
            "origin": {
              "column": 10,
              "line": 7,
              "path": "[ROOT]/project/helve.toml"
            },
            "reason": "untrusted project",
            "state": "untrusted",
            "transport": {
              "headers": {
                "Authorization": "Bearer ${GITHUB_TOKEN}"
              },
              "type": "http",
              "url": "https://example.com/mcp"
            },
            "variables": [
              "GITHUB_TOKEN"
            ]
          }
        }
      ]
    }
    "#);
}

#[test]
fn every_yes_can_be_seen_and_taken_back() {
    let env = env();
    insta::assert_snapshot!(env.run(&["trust", "--list"]), @"
    exit status 0
    --- stderr
    You have not said yes to anything yet.
    ");
    env.run(&["trust", "--yes"]);
    let approvals = r#"{"version": 1, "approvals": [{"server": "github", "tool": "create_issue", "kind": "tool", "pattern": "title=*"}]}"#;
    env.write("home/.local/state/helve/approvals.json", approvals);
    let pins = r#"{"version": 1, "pins": [{"server": "github", "tool": "create_issue", "definition": "{}"}]}"#;
    env.write("home/.local/state/helve/pins.json", pins);
    insta::assert_snapshot!(env.run(&["trust", "--list"]), @"
    exit status 0
    --- stdout
    YES TO  WHAT                              WHERE
    server  run                               helve.toml
    server  reach                             helve.toml
    rules   all of them                       helve.toml
    call    github/create_issue with title=*  everywhere
    tool    github/create_issue               everywhere
    ");
    assert_eq!(env.json(&["trust", "--list", "--json"])["pins"], env.json(&["pin", "--json"]));
    insta::assert_snapshot!(env.filter(&env.stdout(&["trust", "--list", "--json"])), @r#"
    {
      "approvals": [
        {
          "kind": "tool",
          "pattern": "title=*",
          "server": "github",
          "tool": "create_issue"
        }
      ],
      "pins": [
        {
          "definition": "[HASH]",
          "name": "github/create_issue"
        }
      ],
      "trusted": [
        {
          "file": "[ROOT]/project/helve.toml",
          "hash": "[HASH]",
          "project": "[ROOT]/project",
          "server": "run"
        },
        {
          "file": "[ROOT]/project/helve.toml",
          "hash": "[HASH]",
          "project": "[ROOT]/project",
          "server": "reach"
        },
        {
          "file": "[ROOT]/project/helve.toml",
          "hash": "[HASH]",
          "project": "[ROOT]/project"
        }
      ]
    }
    "#);
    insta::assert_snapshot!(env.run(&["trust", "--revoke", "run"]), @"
    exit status 0
    --- stderr
    no longer trusted: server `run` of helve.toml
    ");
    insta::assert_snapshot!(env.run(&["trust", "--revoke", "github/create_issue"]), @"
    exit status 0
    --- stderr
    no longer approved: github/create_issue
    no longer pinned: github/create_issue
    ");
    insta::assert_snapshot!(env.run(&["trust", "--revoke"]), @"
    exit status 0
    --- stderr
    no longer trusted: server `reach` of helve.toml
    no longer trusted: rules and settings of helve.toml
    ");
    insta::assert_snapshot!(env.run(&["trust", "--revoke", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "revoked": 0
    }
    "#);
    insta::assert_snapshot!(env.run(&["trust", "--revoke"]), @"
    exit status 0
    --- stderr
    There was nothing to take back.
    ");
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE        VIA    FROM
    run     not trusted  stdio  helve.toml:1
    reach   not trusted  http   helve.toml:7
    --- stderr
    2 servers in 1 file
    hint: look at what this project would run, and trust it: `helve trust`
    ");
}

#[test]
fn another_project_with_the_same_files_is_asked_again() {
    let env = env();
    env.run(&["trust", "--yes"]);
    env.write("other/helve.toml", PROJECT).write("other/server.js", "one");
    assert_eq!(env.json(&["--cwd", "../other", "--json"])["untrusted"], 3);
    insta::assert_snapshot!(env.run(&["trust", "--revoke", "--cwd", "../other"]), @"
    exit status 0
    --- stderr
    There was nothing to take back.
    ");
    assert_eq!(env.json(&["--json"])["untrusted"], 0);
}
