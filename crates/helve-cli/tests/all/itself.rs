//! helve among its own servers (S0): known by its file it is not started, and where it cannot be known the depth ends it.

// Without a token, who connects is told by the system.
#[cfg(peer_user)]
mod gateways;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, TestEnv};

const HELVE: &str = env!("CARGO_BIN_EXE_helve");

/// The file Claude Code keeps the servers of a person in.
fn claude(servers: &Value) -> String {
    json!({ "mcpServers": servers }).to_string()
}

fn in_claude(servers: Value) -> TestEnv {
    let env = TestEnv::new().with_variable("PATH", "/usr/bin:/bin");
    env.write("home/.claude.json", &claude(&servers));
    env
}

/// What `helve servers` says about each.
fn states(env: &TestEnv) -> Vec<(String, String)> {
    let text = |report: &Value, key: &str| report[key].as_str().unwrap_or_default().to_owned();
    let reports = env.json(&["servers", "--json"]);
    let reports = reports.as_array().expect("a list");
    let state = |report: &Value| format!("{} {}", text(report, "state"), text(report, "reason")).trim().to_owned();
    reports.iter().map(|report| (text(report, "name"), state(report))).collect()
}

/// The only server is known to be helve itself, the built-in ones serve, and nothing else runs.
fn check_known(env: &TestEnv) {
    let states = states(env);
    let (built_in, known): (Vec<_>, Vec<_>) =
        states.into_iter().partition(|(name, _)| name == "filesystem" || name == "time");
    assert!(!known.is_empty());
    for (name, state) in known {
        assert_eq!(state, "disabled helve itself", "{name}");
    }
    assert_eq!(built_in.len(), 2, "{built_in:?}");
    assert!(env.stdout(&["tools"]).contains("time/"));
    let mut agent = Agent::new(env, &["serve", "--prefix", "none"]);
    let names = agent.tools();
    assert!(names.iter().any(|name| name == "list_directory"), "{names:?}");
    assert_eq!(processes(env), 1);
}

/// An agent that has started `helve serve`.
pub(crate) struct Agent {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Agent {
    pub(crate) fn new(env: &TestEnv, arguments: &[&str]) -> Self {
        Self::with_capabilities(env, arguments, &json!({}))
    }

    /// One that can do this.
    pub(crate) fn with_capabilities(env: &TestEnv, arguments: &[&str], capabilities: &Value) -> Self {
        let mut child = env.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut agent = Self { child, answers };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": { "name": "agent", "version": "1" }
        });
        agent.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
        agent.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    fn say(&mut self, message: &Value) {
        let mut input = self.child.stdin.as_ref().expect("a pipe");
        writeln!(input, "{message}").expect("said");
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.ask_answering(message, |_| Value::Null)
    }

    /// The same, and answers what it is asked meanwhile.
    pub(crate) fn ask_answering(&mut self, message: &Value, mut answer_to: impl FnMut(&Value) -> Value) -> Value {
        self.say(message);
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).expect("read") > 0, "helve has ended");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer.get("method").is_some() && answer.get("id").is_some() {
                let result = answer_to(&answer);
                self.say(&json!({ "jsonrpc": "2.0", "id": answer["id"], "result": result }));
            } else if answer["id"] == message["id"] {
                return answer;
            }
        }
    }

    /// Waits for a notification; whatever else comes is dropped.
    pub(crate) fn hear(&mut self, method: &str) {
        let mut line = String::new();
        while !line.contains(&format!("\"{method}\"")) {
            line.clear();
            assert!(self.answers.read_line(&mut line).expect("read") > 0, "helve has ended");
        }
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let answer = self.ask(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
        let tools = answer["result"]["tools"].as_array().expect("a list");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// How many processes of helve there are in this home, wardens aside.
fn processes(env: &TestEnv) -> usize {
    let home = format!("HOME={}", env.home().display());
    let is_ours = |directory: &std::path::Path| {
        let read = |name: &str| fs_err::read(directory.join(name)).unwrap_or_default();
        let is_helve = fs_err::read_link(directory.join("exe")).is_ok_and(|path| path.as_os_str() == HELVE);
        is_helve
            && read("environ").split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
            && read("cmdline").split(|byte| *byte == 0).nth(1) != Some(b"__warden")
    };
    let entries = fs_err::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| is_ours(&entry.path())).count()
}

#[test]
#[cfg(target_os = "linux")]
fn s0_helve_knows_itself_by_its_file() {
    check_known(&in_claude(json!({ "helve": { "command": HELVE, "args": ["serve"] } })));
    check_known(&in_claude(json!({
        "plain": { "command": HELVE, "args": ["serve", "--wait", "3s"] },
        "kept": { "command": HELVE, "args": ["keep", "run"] },
        "other": { "command": HELVE, "args": ["--no-discover", "serve"] },
        "shell": { "command": "sh", "args": ["-c", format!("cd / && exec '{HELVE}' serve 2>/dev/null")] },
        "variable": { "command": "env", "args": ["X=y", HELVE, "serve"] },
        "positions": { "command": "bash", "args": ["-c", "exec \"$@\"", "bash", HELVE, "serve"] },
    })));

    // As the README says, by its name alone, and behind links of other names.
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    std::os::unix::fs::symlink(HELVE, path("helve")).expect("linked");
    std::os::unix::fs::symlink(path("helve"), path("other")).expect("linked");
    let shown = |name: &str| path(name).to_string_lossy().into_owned();
    let env = TestEnv::new().with_variable("PATH", &format!("{}:/usr/bin:/bin", directory.path().display()));
    env.write(
        "home/.claude.json",
        &claude(&json!({
            "helve": { "command": "helve", "args": ["serve"] },
            "link": { "command": shown("other"), "args": ["serve"] },
            "runner": { "command": "npx", "args": ["-y", "helve", "serve"] },
        })),
    );
    check_known(&env);
    // Another file system may hold the temporary directory; a hard link lies beside the program then.
    let beside = std::path::Path::new(HELVE).with_file_name(format!("helve-hard-{}", std::process::id()));
    fs_err::hard_link(HELVE, &beside).expect("linked");
    let env = in_claude(json!({ "hard": { "command": beside, "args": ["serve"] } }));
    let states = states(&env);
    fs_err::remove_file(&beside).expect("removed");
    assert!(states.contains(&("hard".to_owned(), "disabled helve itself".to_owned())), "{states:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn s0_three_agents_files_hold_helve() {
    let env = TestEnv::new().with_variable("PATH", "/usr/bin:/bin");
    let entry = json!({ "command": HELVE, "args": ["serve"] });
    env.write("home/.claude.json", &claude(&json!({ "first": entry })));
    env.write("home/.gemini/settings.json", &claude(&json!({ "second": entry })));
    env.write("home/.codex/config.toml", &format!("[mcp_servers.third]\ncommand = \"{HELVE}\"\nargs = [\"serve\"]\n"));
    check_known(&env);
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER      STATE         VIA       FROM
    first       helve itself  stdio     ~/.claude.json:1
    third       helve itself  stdio     ~/.codex/config.toml:1
    second      helve itself  stdio     ~/.gemini/settings.json:1
    filesystem  on            built in  helve's defaults
    time        on            built in  helve's defaults
    --- stderr
    No server is configured but helve itself; the others come with helve.
    hint: add a server: `helve add NAME -- COMMAND`, or `helve add NAME URL`
    hint: or start with a commented file: `helve init`
    ");
    let doctor = env.run(&["doctor"]).replace(HELVE, "[HELVE]");
    // What programs run in depends on the machine.
    let (before, after) = doctor.split_once("code mode\n").expect("it is said");
    let after = after.split_once('\n').map_or("", |(_, after)| after);
    insta::assert_snapshot!(format!("{before}{after}"), @"
    exit status 0
    --- stdout
    configuration
      ok   3 configuration files read without a problem
    first
      ok   the command is [HELVE]
      note not started: helve itself
    third
      ok   the command is [HELVE]
      note not started: helve itself
    second
      ok   the command is [HELVE]
      note not started: helve itself
    filesystem
      ok   built in, 5 tools
    time
      ok   built in, 2 tools
    --- stderr
    Nothing has to be done.
    ");
    insta::assert_snapshot!(env.run(&["import", "--all"]), @"
    exit status 0
    --- stderr
    `first` at ~/.claude.json:1 is left out: it is helve itself
    `third` at ~/.codex/config.toml:1 is left out: it is helve itself
    `second` at ~/.gemini/settings.json:1 is left out: it is helve itself
    ");
    insta::assert_snapshot!(env.run(&["call", "first/x"]), @"
    exit status 3
    --- stderr
    error: the server `first` is not started: helve itself
    ");
}

#[test]
fn s0_other_servers_of_the_same_program_are_servers() {
    let env = in_claude(json!({
        "clock": { "command": HELVE, "args": ["builtin", "time"] },
        "helve": { "command": HELVE, "args": ["serve"] },
    }));
    let states = states(&env);
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(states.contains(&("clock".to_owned(), "connected".to_owned())), "{states:?}");
    assert!(states.contains(&("helve".to_owned(), "disabled helve itself".to_owned())), "{states:?}");
    assert!(env.stdout(&["tools"]).contains("clock/"));
}

/// Scripts nobody looks into start helve; each start leaves a line with the depth.
fn behind_scripts(count: usize, start: &str) -> TestEnv {
    let env = TestEnv::new().with_variable("PATH", "/usr/bin:/bin");
    let home = env.home();
    let mut servers = serde_json::Map::new();
    for number in 0..count {
        let path = format!("home/wrapper{number}");
        let (starts, words) = (home.join("starts"), home.join("words"));
        let script =
            format!("#!/bin/sh\necho \"$HELVE_DEPTH\" >>'{}'\n{start} 2>>'{}'\n", starts.display(), words.display());
        env.write(&path, &script);
        let wrapper = home.join(format!("wrapper{number}"));
        fs_err::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).expect("set");
        servers.insert(format!("hidden{number}"), json!({ "command": wrapper }));
    }
    env.write("home/.claude.json", &claude(&servers.into()));
    env
}

#[test]
#[cfg(target_os = "linux")]
fn s0_behind_a_script_the_next_one_knows_where_it_came_from() {
    let env = behind_scripts(1, &format!("exec '{HELVE}' serve --wait 60s"));
    // The second one serves its built-in tools: it has seen the script among its servers by then, and left it alone.
    let tools = env.stdout(&["tools"]);
    assert!(tools.contains("hidden0/time__"), "{tools}");
    assert_eq!(env.read("home/starts"), "1\n");
}

#[test]
#[cfg(target_os = "linux")]
fn s0_where_it_cannot_be_known_the_depth_ends_it() {
    // The system knows how deep it is, whatever the script hides.
    for hides in ["env -u HELVE_DEPTH -u HELVE_TRAIL", "env HELVE_DEPTH=0 HELVE_TRAIL=", "env HELVE_TRAIL=no"] {
        let env = behind_scripts(1, &format!("exec {hides} '{HELVE}' serve"));
        let agent = Agent::new(&env, &["serve"]);
        let deadline = Instant::now() + PATIENCE;
        // The deepest one says that it starts nothing: after that nothing more can come.
        while !(env.exists("home/words") && env.read("home/words").contains("switch it off")) {
            assert!(Instant::now() < deadline, "{}", env.read("home/starts"));
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(agent);
        insta::allow_duplicates! {
            insta::assert_snapshot!(env.read("home/starts") + &env.read("home/words"), @"
            1
            2
            3
            4
            warning: nothing is started: helve runs as a server of helve, 4 deep
            hint: one of the servers leads back to helve: remove it, or switch it off
            ");
        }
    }
}

#[test]
fn s0_too_deep_nothing_is_started() {
    let env = TestEnv::new().with_variable("HELVE_DEPTH", "4");
    env.write("home/.claude.json", &claude(&json!({ "files": { "command": "/bin/cat" } })));
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stdout
    SERVER  STATE                                    VIA    FROM
    files   helve runs as a server of helve, 4 deep  stdio  ~/.claude.json:1
    --- stderr
    1 server in 1 file
    hint: these come from other applications' files; keep one of your own with `helve import`
    ");
    insta::assert_snapshot!(env.run(&["servers"]), @"
    exit status 0
    --- stdout
    SERVER  STATE     VIA    ERA  TOOLS  READY IN  FROM              WHY
    files   disabled  stdio  -    0      -         ~/.claude.json:1  helve runs as a server of helve, 4 deep
    --- stderr
    warning: nothing is started: helve runs as a server of helve, 4 deep
    hint: one of the servers leads back to helve: remove it, or switch it off
    ");
    insta::assert_snapshot!(env.run(&["serve"]), @"
    exit status 0
    --- stderr
    warning: nothing is started: helve runs as a server of helve, 4 deep
    hint: one of the servers leads back to helve: remove it, or switch it off
    ");
    let env = TestEnv::new().with_variable("HELVE_DEPTH", "3");
    env.write("home/.claude.json", &claude(&json!({ "files": { "command": "/nonexistent" } })));
    assert!(states(&env).iter().any(|(_, state)| state.starts_with("failed")));
}
