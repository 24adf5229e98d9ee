//! Servers that are kept in the background, and built-in tools as servers of their own.

use helve_testkit::{Scenario, alive, wait_until_dead};

use crate::support::{ALLOW, PATIENCE, TestEnv, with_servers};

/// A machine whose background process is told to end when the test is over, however it ends.
struct Keeping(TestEnv);

impl Drop for Keeping {
    fn drop(&mut self) {
        drop(self.0.output(&["keep", "stop", "--all"], ""));
    }
}

fn keeping(scenario: Scenario) -> Keeping {
    Keeping(with_servers(&[("peer", scenario)], ALLOW))
}

/// Which process answers: a server that is kept is the same one every time.
fn process_of(env: &TestEnv) -> u64 {
    let listed = env.json(&["keep", "status", "--json"]);
    listed[0]["process"].as_u64().unwrap_or_else(|| panic!("{listed}"))
}

#[test]
fn servers_are_started_once_and_shared() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let keeping = keeping(Scenario::legacy().record_to(&record));
    let env = &keeping.0;
    insta::assert_snapshot!(env.run(&["keep", "status"]), @r"
    exit status 0
    --- stderr
    nothing is kept
    hint: `helve keep start` keeps the servers of this directory running
    ");
    let started = env.json(&["keep", "start", "--json"]);
    assert_eq!(started["servers"], serde_json::json!({}));
    for _ in 0..3 {
        assert_eq!(env.stdout(&["call", "peer/echo", "a=1"]), "{\"a\":\"1\"}\n");
    }
    assert_eq!(fs_err::read_to_string(&record).unwrap().matches("initialize\\\"").count(), 1, "one start for all");
    let listed = env.json(&["keep", "status", "--json"]);
    assert_eq!(listed[0]["servers"], serde_json::json!({"peer": "connected"}));
    // What the server speaks, not what is spoken with whoever keeps it.
    assert_eq!(env.json(&["servers", "--json"])[0]["era"], "legacy");
    let again = env.run(&["keep", "start"]);
    assert!(again.contains("keeps these servers already"), "{again}");

    // Another directory would start other servers.
    fs_err::create_dir_all(env.project().join("below")).unwrap();
    env.stdout(&["--cwd", "below", "call", "peer/echo", "a=1"]);
    assert_eq!(env.json(&["keep", "status", "--json"]).as_array().map(Vec::len), Some(1));

    let process = u32::try_from(process_of(env)).unwrap();
    let stopped = env.run(&["keep", "stop"]);
    assert!(stopped.contains("has ended, with its servers"), "{stopped}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert!(runtime.block_on(wait_until_dead(&[process], PATIENCE)).is_empty());
    assert!(!alive(process));
    insta::assert_snapshot!(env.run(&["keep", "stop"]), @r"
    exit status 0
    --- stderr
    nothing is kept
    ");
}

/// Whoever stops it can start it again at once, however long its servers took to end.
#[test]
fn it_starts_again_after_it_was_stopped() {
    for scenario in [Scenario::modern(), Scenario::modern().ignores_eof().ignores_sigterm()] {
        let keeping = keeping(scenario);
        let env = &keeping.0;
        let mut processes = Vec::new();
        for _ in 0..3 {
            let started = env.json(&["keep", "start", "--json"]);
            processes.push(started["process"].as_u64().unwrap_or_else(|| panic!("{started}")));
            assert_eq!(env.stdout(&["call", "peer/echo", "a=1"]), "{\"a\":\"1\"}\n");
            let stopped = env.run(&["keep", "stop"]);
            assert!(stopped.contains("has ended, with its servers"), "{stopped}");
            insta::allow_duplicates! {
                insta::assert_snapshot!(env.run(&["keep", "stop"]), @r"
                exit status 0
                --- stderr
                nothing is kept
                ");
            }
        }
        processes.dedup();
        assert_eq!(processes.len(), 3, "each time another one");
    }
}

/// What a server asks reaches the person who made the call, though another process started the server; whichever era the
/// server speaks.
#[test]
fn kept_servers_ask_as_others_do() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let keeping = keeping(scenario);
        let env = &keeping.0;
        env.stdout(&["keep", "start"]);
        let answered = env.stdout(&["call", "peer/ask", "kind=form", "--answer", "name=Ada"]);
        assert!(answered.contains(r#""name":"Ada""#), "{answered}");
        let declined = env.stdout(&["call", "peer/ask", "kind=form"]);
        assert!(declined.contains("decline"), "{declined}");
        assert_eq!(env.stdout(&["read", "peer", "test://text"]), "Hello, wörld\n");
        assert_eq!(env.json(&["keep", "status", "--json"])[0]["servers"]["peer"], "connected");
    }
}

#[test]
fn the_rules_are_those_of_whoever_calls() {
    let env = with_servers(&[("peer", Scenario::legacy())], "[[rules]]\ntool = \"peer/fail\"\naction = \"deny\"\n");
    let keeping = Keeping(env);
    let env = &keeping.0;
    env.stdout(&["keep", "start"]);
    let denied = env.run(&["call", "peer/fail"]);
    assert!(denied.starts_with("exit status 7"), "{denied}");
    let asked = env.run(&["call", "peer/echo"]);
    assert!(asked.starts_with("exit status 7"), "{asked}");
}

#[test]
fn it_begins_by_itself_where_the_settings_say_so() {
    let env = with_servers(&[("peer", Scenario::modern())], &format!("[settings]\nkeep = true\n{ALLOW}"));
    let keeping = Keeping(env);
    let env = &keeping.0;
    env.stdout(&["call", "peer/echo", "a=1"]);
    let first = process_of(env);
    env.stdout(&["call", "peer/echo", "a=1"]);
    assert_eq!(process_of(env), first);
}

#[test]
fn it_ends_when_nobody_comes() {
    let keeping = keeping(Scenario::modern());
    let env = &keeping.0;
    let started = env.json(&["keep", "start", "--idle", "50ms", "--json"]);
    let process = u32::try_from(started["process"].as_u64().unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert!(runtime.block_on(wait_until_dead(&[process], PATIENCE)).is_empty());
    // A socket that nobody listens at is not a reason to fail.
    assert_eq!(env.stdout(&["call", "peer/echo", "a=1"]), "{\"a\":\"1\"}\n");
}

#[test]
fn a_server_that_does_not_start_says_why_as_ever() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", "[servers.gone]\ncommand = \"no-such-program-anywhere\"\n");
    let keeping = Keeping(env);
    let env = &keeping.0;
    let alone = env.run(&["call", "gone/echo"]);
    env.stdout(&["keep", "start"]);
    assert_eq!(env.run(&["call", "gone/echo"]), alone);
}

/// A tool that the server has not had from the start.
const GROWING: &str = r#"
import json, sys
tools = [{"name": "grow", "inputSchema": {"type": "object"}}]
print("starting", file=sys.stderr, flush=True)
print("noise that is not a message", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, params = message["method"], message.get("params") or {}
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "experimental": {"x": {"y": 1}}},
            "serverInfo": {"name": "growing", "version": "7", "title": "Grows"}, "instructions": "be kind"}
    elif method == "tools/list": answer["result"] = {"tools": tools, "vendor": [1, 2]}
    elif method == "tools/call" and params["name"] == "exit":
        print("KeyError: 'TOKEN'", file=sys.stderr, flush=True)
        sys.exit(3)
    elif method == "tools/call":
        name = "extra%d" % len(tools)
        tools.append({"name": name, "inputSchema": {"type": "object"}})
        tools.append({"name": "exit", "inputSchema": {"type": "object"}})
        print("grown", file=sys.stderr, flush=True)
        answer["result"] = {"content": [{"type": "text", "text": name}], "vendor": {"b": 1, "a": [1.50]}, "_meta": {"x": 1}}
    elif method == "ping": answer["result"] = {}
    else: answer["error"] = {"code": -32601, "message": "no such method", "data": {"method": method}}
    print(json.dumps(answer), flush=True)
"#;

/// Times that are measured differ from run to run; everything else has to be the same byte for byte.
fn without_times(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    for at in 1..words.len() {
        let is_unit = words[at] == "ms" || words[at].starts_with("ms\n") || words[at].starts_with("ms,");
        if is_unit && words[at - 1].parse::<f64>().is_ok() {
            words[at - 1] = "[TIME]";
        }
        if words[at - 1].ends_with("Ms\":") {
            words[at] = "[TIME],\n";
        }
    }
    // How wide a column is depends on the times in it.
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

/// G5: nobody can tell a kept server from one of their own. The same commands, in the same order, with and without `keep`.
#[test]
fn g5_every_command_prints_the_same_with_and_without_keep() {
    let commands: &[&[&str]] = &[
        &["call", "old/echo", "a=1"],
        &["call", "old/echo", "a=1", "--json"],
        &["call", "old/echo", "a=1", "--raw"],
        &["call", "new/echo", "a=1"],
        &["call", "new/echo", "a=1", "--json"],
        &["call", "new/echo", "a=1", "--raw"],
        &["call", "old/fail"],
        &["call", "old/fail", "--json"],
        &["call", "new/fail", "--json"],
        &["call", "old/nothing", "--json"],
        &["call", "old/echo", "--args", "[1]", "--json"],
        &["call", "new/sleep", "ms=long", "--json"],
        &["call", "old/ask", "kind=form", "--answer", "name=Ada"],
        &["call", "new/ask", "kind=form", "--answer", "name=Ada", "--json"],
        &["call", "old/ask", "kind=form", "--json"],
        &["call", "old/progress", "steps=3", "delay_ms=1", "--json"],
        &["call", "new/progress", "steps=3", "delay_ms=1", "--json"],
        &["call", "old/exit", "--json"],
        &["call", "new/exit", "--json"],
        &["call", "old/echo", "again=1", "--json"],
        &["--timeout", "300ms", "call", "old/sleep", "ms=60000", "--json"],
        &["call", "old/echo", "after=1", "--json"],
        &["tools"],
        &["tools", "--fresh", "--json"],
        &["tools", "old", "--format", "python"],
        &["tool", "new/echo"],
        &["tool", "old/echo", "--json"],
        &["servers", "old"],
        &["servers", "old", "--json"],
        &["servers", "new", "--json"],
        &["servers", "grow"],
        &["servers", "grow", "--json"],
        &["resources", "old"],
        &["resources", "new", "--json"],
        &["read", "old", "test://text"],
        &["read", "new", "test://text", "--json"],
        &["read", "old", "test://nowhere", "--json"],
        &["prompts", "old", "--json"],
        &["prompts", "new"],
        &["explain", "old/echo", "a=1"],
        &["doctor", "old"],
        &["logs", "grow", "--count", "1"],
        &["logs", "grow", "--count", "1", "--json"],
        // Last: a server that is kept remembers what it was told, as it should.
        &["call", "grow/grow", "--raw"],
    ];
    assert!(commands.len() >= 40);
    let printed = |keeps: bool| -> Vec<String> {
        let env = with_servers(&[("old", Scenario::legacy()), ("new", Scenario::modern())], ALLOW);
        env.write("project/grow.py", GROWING);
        let config = env.read("home/.config/helve/helve.toml");
        let grow = format!("[servers.grow]\ncommand = \"python3\"\nargs = [{:?}]\n", env.project().join("grow.py"));
        env.write("home/.config/helve/helve.toml", &format!("{grow}{config}"));
        let keeping = Keeping(env.with_variable("PATH", &search_path()));
        let env = &keeping.0;
        if keeps {
            env.stdout(&["keep", "start"]);
        }
        let run = |command: &&[&str]| {
            let output = env.output(command, "");
            let stdout = env.filter(&String::from_utf8_lossy(&output.stdout));
            format!("helve {}\n{}\n{:?}", command.join(" "), without_times(&stdout), output.status.code())
        };
        let printed = commands.iter().map(run).collect();
        if keeps {
            let kept = env.json(&["keep", "status", "--json"])[0]["servers"].clone();
            assert_eq!(kept.as_object().map(serde_json::Map::len), Some(3), "{kept}");
        }
        printed
    };
    for (own, kept) in printed(false).iter().zip(&printed(true)) {
        assert_eq!(own, kept);
    }
}

/// G5: what a server has added, announced or not, is there for the next command.
#[test]
fn g5_a_tool_that_a_kept_server_has_just_added_can_be_called() {
    let env = TestEnv::new();
    env.write("project/grow.py", GROWING);
    let grow = format!("[servers.grow]\ncommand = \"python3\"\nargs = [{:?}]\n", env.project().join("grow.py"));
    env.write("home/.config/helve/helve.toml", &format!("{grow}{ALLOW}"));
    let keeping = Keeping(env.with_variable("PATH", &search_path()));
    let env = &keeping.0;
    env.stdout(&["keep", "start"]);
    assert_eq!(env.stdout(&["call", "grow/grow"]), "extra1\n");
    assert_eq!(env.stdout(&["call", "grow/extra1"]), "extra3\n");
    assert!(env.stdout(&["tools", "grow", "--fresh"]).contains("grow/extra3"));
    // One that ends is told as one's own would be, and is started again for the next.
    let ended = env.run(&["call", "grow/exit"]);
    assert!(
        ended.contains("the server `grow` is gone: exited with status 3") && ended.contains("`TOKEN` is not set"),
        "{ended}"
    );
    assert_eq!(env.stdout(&["call", "grow/grow"]), "extra1\n");
}

/// G5: several at once share one process, and each gets its own answers.
#[test]
fn g5_many_at_once_share_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let keeping = keeping(Scenario::legacy().record_to(&record));
    let env = &keeping.0;
    env.stdout(&["keep", "start"]);
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|number| scope.spawn(move || (number, env.stdout(&["call", "peer/echo", &format!("a={number}")]))))
            .collect();
        for call in calls {
            let (number, answer) = call.join().unwrap();
            assert_eq!(answer, format!("{{\"a\":\"{number}\"}}\n"));
        }
    });
    assert_eq!(fs_err::read_to_string(&record).unwrap().matches("initialize\\\"").count(), 1, "one start for all");
}

#[test]
fn built_in_tools_as_servers_of_their_own() {
    let env = TestEnv::new();
    env.write("project/notes/a.txt", "inside\n").write("project/b.txt", "outside\n");
    let ask = |arguments: &[&str], method: &str, params: &str| {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let input = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{{params}{meta}}}}}\n");
        let output = env.output(arguments, &input);
        String::from_utf8(output.stdout).unwrap()
    };
    let files = ["builtin", "filesystem", "notes"];
    let listed = ask(&files, "tools/list", "");
    assert!(listed.contains(r#""name":"read_file""#) && !listed.contains(r#""name":"write_file""#), "{listed}");
    let call = |path: &str| format!(r#""name":"read_file","arguments":{{"path":"{path}"}},"#);
    assert!(ask(&files, "tools/call", &call("a.txt")).contains("inside"));
    assert!(!ask(&files, "tools/call", &call("../b.txt")).contains("outside\\n"));
    let writable = ask(&["builtin", "filesystem", "notes", "--writable"], "tools/list", "");
    assert!(writable.contains(r#""name":"write_file""#), "{writable}");
    assert!(ask(&["builtin", "time"], "tools/call", r#""name":"now","arguments":{},"#).contains("UTC"));
    insta::assert_snapshot!(env.run(&["builtin", "sqlite", "missing.db"]), @r"
    exit status 2
    --- stderr
    error: the database `[ROOT]/project/missing.db` cannot be opened: No such file or directory (os error 2)
    ");
}

/// The six tools, beside those of the servers, for an agent that starts helve itself.
#[test]
fn management_tools_are_offered_by_choice() {
    let env = with_servers(&[("peer", Scenario::legacy())], ALLOW);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let list = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{{meta}}}}}\n");
    let listed = |arguments: &[&str]| String::from_utf8(env.output(arguments, &list).stdout).unwrap();
    let plain = listed(&["serve", "--wait", "30s"]);
    assert!(plain.contains("peer__echo") && !plain.contains("ListMcpResources"), "{plain}");
    let managed = listed(&["serve", "--wait", "30s", "--manage"]);
    assert!(managed.contains("peer__echo") && managed.contains("helve__ListMcpResources"), "{managed}");
}

/// Whoever comes to a kept server may be a person: one that can ask in the older era alone is kept in that (G1).
#[test]
fn g1_a_kept_server_of_both_eras_asks() {
    let keeping = keeping(Scenario::asks_in_legacy_only());
    let env = &keeping.0;
    env.json(&["keep", "start", "--json"]);
    let asked = env.run(&["call", "peer/ask", "--answer", "name=Ada"]);
    insta::assert_snapshot!(asked, @r#"
    exit status 0
    --- stdout
    {"answers":[{"action":"accept","content":{"age":30,"name":"Ada"}}]}
    "#);
}

/// Where Python is looked for.
#[expect(clippy::disallowed_methods, reason = "the tests of the machine's own Python need its search path")]
fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}
