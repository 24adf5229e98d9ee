//! `helve trust`: what is shown before a yes, what a yes is good for, and how it is taken back.

use helve_testkit::Scenario;
use serde_json::{Value, json};

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

#[cfg(sandbox)]
#[test]
fn what_would_run_is_shown_and_nobody_is_asked_without_a_terminal() {
    let env = env();
    let shown = env.run(&["trust"]);
    assert!(!shown.contains("hunter2"), "{shown}");
    insta::assert_snapshot!(shown, @r"
    exit status 7
    --- stdout
    server `run` of helve.toml
      command      node server.js --name 'it'\''s'
      variables    TOKEN=${GITHUB_TOKEN}
                   MODE=fast
      directory    [ROOT]/project
      may write    write_*
      reads yours  GITHUB_TOKEN
      file         server.js (sha256 7692c3ad3540…)
      not covered  what the program imports or loads beyond this, and what a package runner downloads
      sandbox      standard, unless you choose another

    server `reach` of helve.toml
      address      https://example.com/mcp
      headers      Authorization: Bearer ${GITHUB_TOKEN}
      reads yours  GITHUB_TOKEN

    rules and settings of helve.toml
      rules     allow run/*
      settings  a call may take 300s

    --- stderr
    error: there is no terminal to ask at, so nothing was trusted
    hint: trust it with `helve trust --yes`, once you looked at it
    ");
    assert!(!env.exists("home/.local/state/helve/trust.json"));
    insta::assert_snapshot!(env.filter(&env.stdout(&["trust", "--json"])), @r#"
    {
      "asked": [
        {
          "covers": [
            {
              "is": "run",
              "what": "server"
            },
            {
              "is": "node server.js --name 'it'\\''s'",
              "what": "command"
            },
            {
              "is": "TOKEN=${GITHUB_TOKEN}",
              "what": "variables"
            },
            {
              "is": "MODE=fast",
              "what": "variables"
            },
            {
              "is": "[ROOT]/project",
              "what": "directory"
            },
            {
              "is": "write_*",
              "what": "may write"
            },
            {
              "is": "GITHUB_TOKEN",
              "what": "reads yours"
            },
            {
              "is": "server.js (sha256 7692c3ad3540…)",
              "what": "file"
            }
          ],
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
          "covers": [
            {
              "is": "reach",
              "what": "server"
            },
            {
              "is": "https://example.com/mcp",
              "what": "address"
            },
            {
              "is": "Authorization: Bearer ${GITHUB_TOKEN}",
              "what": "headers"
            },
            {
              "is": "GITHUB_TOKEN",
              "what": "reads yours"
            }
          ],
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
          "covers": [
            {
              "is": "allow run/*",
              "what": "rules"
            },
            {
              "is": "a call may take 300s",
              "what": "settings"
            }
          ],
          "file": "[ROOT]/project/helve.toml",
          "hash": "[HASH]",
          "project": "[ROOT]/project",
          "rules": [
            "allow run/*"
          ],
          "server": null
        }
      ]
    }
    "#);
}

#[cfg(sandbox)]
#[test]
fn a_yes_is_for_exactly_this() {
    let env = env();
    insta::assert_snapshot!(env.run(&["trust", "--yes", "-q"]), @r"
    exit status 0
    --- stdout
    server `run` of helve.toml
      command      node server.js --name 'it'\''s'
      variables    TOKEN=${GITHUB_TOKEN}
                   MODE=fast
      directory    [ROOT]/project
      may write    write_*
      reads yours  GITHUB_TOKEN
      file         server.js (sha256 7692c3ad3540…)
      not covered  what the program imports or loads beyond this, and what a package runner downloads
      sandbox      standard, unless you choose another

    server `reach` of helve.toml
      address      https://example.com/mcp
      headers      Authorization: Bearer ${GITHUB_TOKEN}
      reads yours  GITHUB_TOKEN

    rules and settings of helve.toml
      rules     allow run/*
      settings  a call may take 300s
    ");
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

#[cfg(sandbox)]
#[test]
fn one_server_may_be_trusted_alone() {
    let env = env();
    insta::assert_snapshot!(env.run(&["trust", "run", "--yes"]), @r"
    exit status 0
    --- stdout
    server `run` of helve.toml
      command      node server.js --name 'it'\''s'
      variables    TOKEN=${GITHUB_TOKEN}
                   MODE=fast
      directory    [ROOT]/project
      may write    write_*
      reads yours  GITHUB_TOKEN
      file         server.js (sha256 7692c3ad3540…)
      not covered  what the program imports or loads beyond this, and what a package runner downloads
      sandbox      standard, unless you choose another

    --- stderr
    trusted server `run` of helve.toml, in the sandbox `standard`
    ");
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
    // What is said about a yes is what was said when it was asked for.
    let json = |arguments: &[&str]| -> Value { serde_json::from_str(&env.stdout(arguments)).expect("JSON") };
    let asked = json(&["trust", "reach", "--json"])["asked"].clone();
    assert_eq!((&asked[0]["server"]["name"], asked.as_array().map(Vec::len)), (&json!("reach"), Some(1)));
    assert_eq!(json(&["trust", "reach", "--yes", "--json"]), json!({ "trusted": asked }));
}

#[cfg(sandbox)]
#[test]
fn every_yes_can_be_seen_and_taken_back() {
    let env = env();
    insta::assert_snapshot!(env.run(&["trust", "--list"]), @"
    exit status 0
    --- stderr
    You have not said yes to anything yet.
    ");
    env.run(&["trust", "--yes"]);
    let approvals = r#"{"version": 2, "approvals": [{"server": "github", "tool": "create_issue", "kind": "tool", "pattern": "title=*"}]}"#;
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
          "sandbox": "standard",
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

#[test]
fn s5_yeses_of_an_earlier_helve_end_and_are_named_once() {
    let env = env();
    let old = r#"{"version": 1, "trusted": [{"project": "/elsewhere", "file": "/elsewhere/.mcp.json", "hash": "12"}]}"#;
    env.write("home/.local/state/helve/trust.json", old);
    let approvals = r#"{"approvals": [{"server": "github", "tool": "create_issue", "kind": "tool"}]}"#;
    env.write("home/.local/state/helve/approvals.json", approvals);
    insta::assert_snapshot!(env.run(&["trust", "--list"]), @"
    exit status 0
    --- stderr
    warning: trust covers more than it did, so what you trusted before is asked again: /elsewhere
    warning: approvals are for one server and no longer for its name, so these are asked again: github/create_issue
    You have not said yes to anything yet.
    ");
    insta::assert_snapshot!(env.run(&["trust", "--list"]), @"
    exit status 0
    --- stderr
    You have not said yes to anything yet.
    ");
}

#[cfg(sandbox)]
#[test]
fn s5_a_header_that_sends_another_secret_is_asked_again() {
    let env = env();
    env.run(&["trust", "--yes"]);
    assert_eq!(env.json(&["--json"])["untrusted"], 0);
    env.write("project/helve.toml", &PROJECT.replace("Bearer ${GITHUB_TOKEN}", "Bearer ${AWS_SECRET}"));
    assert_eq!(env.json(&["--json"])["untrusted"], 1);
    env.write("project/helve.toml", PROJECT);
    assert_eq!(env.json(&["--json"])["untrusted"], 0, "back to what was trusted");
}

/// A project whose server is `run.sh`, which does `first` and then becomes a fake peer that records what it is told.
fn scripted(env: &TestEnv, first: &str) {
    let scenario = Scenario::legacy().record_to(env.home().join("record")).to_json();
    let peer = helve_testkit::peer_program();
    let script = format!("{first}\nexec '{}' '{scenario}'\n", peer.display());
    env.write("project/run.sh", &script).write("project/evil.sh", &script.replace("exec", "true; exec"));
    let rules = "[[rules]]\ntool = \"s/*\"\naction = \"allow\"\n";
    env.write("project/helve.toml", &format!("[servers.s]\ncommand = \"sh\"\nargs = [\"run.sh\"]\n\n{rules}"));
    // It swaps its own script, which no sandbox lets it.
    env.run(&["trust", "--yes", "--sandbox", "off"]);
}

/// The methods that reached the server.
fn told(env: &TestEnv) -> Vec<String> {
    let record = fs_err::read_to_string(env.home().join("record")).unwrap_or_default();
    let frames = record.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let frames = frames.filter_map(|entry| serde_json::from_str::<serde_json::Value>(entry["frame"].as_str()?).ok());
    frames.filter_map(|frame| Some(frame["method"].as_str()?.to_owned())).collect()
}

#[test]
fn s6_a_script_that_is_swapped_while_it_starts_gets_no_call() {
    for (how, swap) in [
        ("replaced", "cp evil.sh next.sh; mv next.sh run.sh"),
        ("written", "cat evil.sh > run.sh; true"),
        ("replaced and put back", "mv run.sh aside.sh; cp evil.sh run.sh; mv aside.sh run.sh"),
        ("removed", "rm run.sh"),
    ] {
        let env = TestEnv::new().with_variable("PATH", "/usr/bin:/bin");
        scripted(&env, swap);
        let said = env.run(&["call", "s/echo", "text=hello"]);
        assert!(said.starts_with("exit status 7\n"), "{how}: {said}");
        assert!(
            said.contains("the server `s` is not trusted as it is now: `[ROOT]/project/run.sh` changed"),
            "{how}: {said}"
        );
        let told = told(&env);
        let is_handshake =
            |method: &String| matches!(method.as_str(), "server/discover" | "initialize" | "notifications/initialized");
        assert!(!told.is_empty() && told.iter().all(is_handshake), "{how}: {told:?}");
    }
}

/// What is renamed over a script takes the sealed copy away that lies over it in a sandbox: it is noticed all the same.
#[cfg(sandbox)]
#[test]
fn s6_a_script_that_is_replaced_under_its_sandbox_gets_no_call() {
    let env = TestEnv::new().with_variable("PATH", "/usr/bin:/bin");
    let scenario = Scenario::legacy().record_to(env.project().join("out/record")).to_json();
    let peer = helve_testkit::peer_program();
    let script = format!(
        "echo > out/started\nwhile [ ! -e out/go ]; do sleep 0.02; done\nexec '{}' '{scenario}'\n",
        peer.display()
    );
    env.write("project/run.sh", &script).write("project/out/readme", "");
    let rules = "[[rules]]\ntool = \"s/*\"\naction = \"allow\"\n";
    let sandbox = format!("sandbox = {{ write = [\"out\"], exec = [\"{}\"] }}\n", peer.display());
    env.write("project/helve.toml", &format!("[servers.s]\ncommand = \"sh\"\nargs = [\"run.sh\"]\n{sandbox}\n{rules}"));
    env.run(&["trust", "--yes"]);
    let call = |env: &TestEnv| {
        std::thread::spawn({
            let mut command = env.command(&["call", "s/echo", "text=hello"]);
            move || command.output().expect("started")
        })
    };
    let waiting = call(&env);
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while !env.exists("project/out/started") {
        assert!(std::time::Instant::now() < deadline && !waiting.is_finished(), "it does not start");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    env.write("project/next.sh", "exit 1\n");
    fs_err::rename(env.project().join("next.sh"), env.project().join("run.sh")).expect("renamed");
    env.write("project/out/go", "");
    let output = waiting.join().expect("ended");
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("run.sh` changed"), "{said}");
    let record = env.read("project/out/record");
    assert!(record.contains("initialize") && !record.contains("tools/call"), "{record}");
}

#[test]
fn s6_what_is_as_it_was_is_started_and_called() {
    let env = TestEnv::new().with_variable("PATH", "/usr/bin:/bin");
    scripted(&env, "true");
    assert!(env.run(&["call", "s/echo", "text=hello"]).contains("hello"));
    // Touched and checked out anew: the content is what counts.
    let script = env.read("project/run.sh");
    fs_err::remove_file(env.project().join("run.sh")).expect("removed");
    env.write("project/run.sh", &script);
    assert!(env.run(&["call", "s/echo", "text=again"]).contains("again"));
    assert!(told(&env).contains(&"tools/call".to_owned()));
}

#[cfg(sandbox)]
#[test]
fn s6_a_program_of_the_project_is_run_from_its_descriptor() {
    let env = TestEnv::new();
    let scenario = Scenario::legacy().to_json();
    fs_err::copy(fs_err::canonicalize("/bin/sh").expect("a shell"), env.project().join("tool")).expect("copied");
    // Whoever runs by name would find a script by now: the shell's first act is to replace itself.
    let line = format!("echo \"$0\" > name; exec '{}' '{scenario}'", helve_testkit::peer_program().display());
    let server = serde_json::json!({ "mcpServers": { "s": { "command": "./tool", "args": ["-c", line] } } });
    env.write("project/.mcp.json", &server.to_string());
    env.run(&["trust", "--yes", "--sandbox", "off"]);
    assert!(env.run(&["call", "s/echo", "text=hello", "--yes"]).contains("hello"));
    assert_eq!(env.read("project/name"), "./tool\n", "it is called what its entry calls it");
    fs_err::write(env.project().join("tool"), "#!/bin/sh\necho evil > ran\n").expect("written");
    assert!(env.run(&["call", "s/echo", "text=hello", "--yes"]).starts_with("exit status 7"));
    assert!(!env.exists("project/ran"));
}
