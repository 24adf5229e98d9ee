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
    // A socket that nobody listens at is no reason to fail.
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
    assert!(plain.contains("mcp__peer__echo") && !plain.contains("ListMcpResources"), "{plain}");
    let managed = listed(&["serve", "--wait", "30s", "--manage"]);
    assert!(managed.contains("mcp__peer__echo") && managed.contains("mcp__helve__ListMcpResources"), "{managed}");
}
