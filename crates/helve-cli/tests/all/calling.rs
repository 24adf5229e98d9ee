//! `helve call`, `expand` and the verbs that look at tools, against servers that behave and servers that do not.

use std::time::{Duration, Instant};

use helve_testkit::{Scenario, alive, descendants_of, wait_until_dead};

use crate::support::TestEnv;

/// Long enough for a loaded machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A machine whose person has these servers, and may call what the rules say.
fn with_servers(servers: &[(&str, Scenario)], rules: &str) -> TestEnv {
    let env = TestEnv::new();
    let mut config = String::new();
    for (name, scenario) in servers {
        config.push_str(&format!("[servers.{name}]\n{}\n", started_by(scenario)));
    }
    config.push_str(rules);
    env.write("home/.config/helve/helve.toml", &config);
    env
}

fn started_by(scenario: &Scenario) -> String {
    let program = helve_testkit::peer_program();
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    format!("command = {}\nargs = [{}]\n", quoted(&program.to_string_lossy()), quoted(&scenario.to_json()))
}

const ALLOW: &str = "[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n";

#[test]
fn the_first_command_of_the_readme() {
    let env = TestEnv::new();
    env.write("project/README.md", "# A project\n");
    insta::assert_snapshot!(env.run(&["call", "filesystem/read_file", "path=README.md"]), @"");
}

#[test]
fn words_are_read_as_the_schema_wants_them() {
    let schema = r#"{"name":"add","inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"array","items":{"type":"number"}}}}}"#;
    let env = with_servers(&[("math", Scenario::dual().literal_tool(schema))], ALLOW);
    env.write("project/text.txt", "12");
    let call = |words: &[&str]| {
        let arguments: Vec<&str> = ["call", "--raw"].into_iter().chain(words.iter().copied()).collect();
        env.run(&arguments)
    };
    insta::assert_snapshot!(call(&["math/add", "a=1", "b=2", "c:=[1,2.5]"]), @"");
    insta::assert_snapshot!(call(&["math.add", "a=1", "b=@text.txt"]), @"");
    insta::assert_snapshot!(call(&["math", "add", "a=one"]), @"");
    insta::assert_snapshot!(call(&["math/add", "b=x"]), @"");
    insta::assert_snapshot!(call(&["math/add", "--args", "{\"a\": 9007199254740993}"]), @"");
    insta::assert_snapshot!(call(&["math/add", "--args", "nonsense"]), @"");
    insta::assert_snapshot!(env.run_with_input(&["call", "math/add", "--args", "-"], "{\"a\": 3}"), @"");
}

#[test]
fn unknown_names_come_with_what_is_near() {
    let env = with_servers(&[("files", Scenario::dual())], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "files/ecco"]), @"");
    insta::assert_snapshot!(env.run(&["call", "filez/echo"]), @"");
    insta::assert_snapshot!(env.json(&["call", "files/ecco", "--json"])["code"], @r#""TOOL_NOT_FOUND""#);
}

#[test]
fn a_tool_that_fails_has_an_exit_status_of_its_own() {
    let env = with_servers(&[("files", Scenario::dual())], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "files/fail", "message=disk full"]), @"");
    insta::assert_snapshot!(env.run(&["call", "files/fail", "message=disk full", "--json"]), @"");
}

#[test]
fn what_nobody_allowed_is_refused_in_a_script_and_a_yes_is_a_yes() {
    let denied = "[[rules]]\ntool = \"files/fail\"\naction = \"deny\"\n";
    let env = with_servers(&[("files", Scenario::dual())], denied);
    insta::assert_snapshot!(env.run(&["call", "files/echo", "a=1"]), @"");
    insta::assert_snapshot!(env.run(&["call", "files/echo", "a=1", "--yes"]), @"");
    insta::assert_snapshot!(env.run(&["call", "files/fail", "--yes"]), @"");
}

#[test]
fn images_and_sounds_are_saved_and_named() {
    let env = with_servers(&[("media", Scenario::dual())], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "media/contents", "--save", "out"]), @"");
}

#[test]
fn everything_is_bounded_by_the_time_out() {
    let hung = Scenario::dual().never_answers();
    let env = with_servers(&[("slow", Scenario::dual()), ("hung", hung)], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "slow/sleep", "ms=600000", "--timeout", "2s"]), @"");
    let started = Instant::now();
    insta::assert_snapshot!(env.run(&["call", "hung/echo", "--timeout", "500ms"]), @"");
    assert!(started.elapsed() < PATIENCE);
}

#[test]
fn a_server_that_does_not_start_says_why_and_the_others_go_on() {
    let env = with_servers(&[("good", Scenario::dual()), ("bad", Scenario::dual().exits_at_once(3))], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "good/echo", "a=1"]), @"");
    let bad = env.run(&["call", "bad/echo"]);
    assert!(bad.starts_with("exit status 3"), "{bad}");
    assert!(bad.contains("exited with status 3"), "{bad}");
    let tools = env.output(&["tools"], "");
    assert!(tools.status.success());
    assert!(String::from_utf8_lossy(&tools.stdout).contains("good/echo"));
    assert!(String::from_utf8_lossy(&tools.stderr).contains("`bad` is not available"));
}

#[test]
fn kept_lists_start_nothing() {
    let env = with_servers(&[], ALLOW);
    let scenario = Scenario::dual().hide_builtin_tools().generated_tools(2, 64).to_json();
    let program = helve_testkit::peer_program();
    env.write("project/server.sh", &format!("#!/bin/sh\nexec '{}' '{scenario}'\n", program.display()));
    let script = env.project().join("server.sh");
    env.write(
        "home/.config/helve/helve.toml",
        &format!("[servers.kept]\ncommand = \"/bin/sh\"\nargs = [\"{}\"]\n{ALLOW}", script.display()),
    );
    let asked = env.run(&["tools"]);
    // Whoever starts it now gets nothing.
    env.write("project/server.sh", "exit 1\n");
    assert_eq!(env.run(&["tools"]), asked);
    insta::assert_snapshot!(asked, @"");
    let tool = env.run(&["tool", "kept/gen_0"]);
    assert!(tool.starts_with("exit status 0"), "{tool}");
    assert!(env.run(&["tools", "--refresh"]).contains("`kept` is not available"));
    assert!(env.run(&["call", "kept/gen_0"]).starts_with("exit status 3"));
}

#[test]
fn tools_for_models_and_languages() {
    let schema = r#"{"name":"add","description":"Adds.","inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}}"#;
    let env = with_servers(&[("math", Scenario::dual().hide_builtin_tools().literal_tool(schema))], ALLOW);
    insta::assert_snapshot!(env.run(&["tools", "--format", "python"]), @"");
    insta::assert_snapshot!(env.run(&["tools", "--format", "typescript"]), @"");
    insta::assert_snapshot!(env.run(&["tools", "--format", "anthropic"]), @"");
    insta::assert_snapshot!(env.run(&["tool", "math/add"]), @"");
    insta::assert_snapshot!(env.run(&["explain", "math/add", "a=1"]), @"");
    insta::assert_snapshot!(env.run(&["tools", "--json"]), @"");
}

#[test]
fn tags_become_results_and_a_failure_stays_where_it_happened() {
    let env = with_servers(&[("files", Scenario::dual())], ALLOW);
    let prompt = "Look: [use-mcp:files/echo:{\"a\": [1, \"]\"]}] and [use-mcp:gone/x:{}].\n";
    insta::assert_snapshot!(env.run_with_input(&["expand"], prompt), @"");
    insta::assert_snapshot!(env.run_with_input(&["expand", "--strict"], prompt), @"");
    env.write("project/prompt.md", "\\[use-mcp:files/echo] stays, [use-mcp:files/echo] does not\n");
    insta::assert_snapshot!(env.run(&["expand", "prompt.md"]), @"");
}

#[test]
fn a_changed_definition_is_refused_until_it_is_accepted() {
    let tool = |text: &str| {
        let definition = format!(r#"{{"name":"read","description":"{text}","inputSchema":{{"type":"object"}}}}"#);
        Scenario::dual().hide_builtin_tools().literal_tool(&definition)
    };
    let env = with_servers(&[("files", tool("Reads."))], ALLOW);
    insta::assert_snapshot!(env.run(&["pin", "files", "--yes"]), @"");
    let config = format!("[servers.files]\n{}\n{ALLOW}", started_by(&tool("Reads, and tells nobody.")));
    env.write("home/.config/helve/helve.toml", &config);
    insta::assert_snapshot!(env.run(&["call", "files/read"]), @"");
    insta::assert_snapshot!(env.run(&["pin", "files"]), @"");
    insta::assert_snapshot!(env.run(&["pin", "files", "--yes"]), @"");
    assert!(env.run(&["call", "files/read"]).starts_with("exit status 0"));
}

#[test]
fn servers_and_doctor_say_how_things_are() {
    let env = with_servers(&[("good", Scenario::modern()), ("bad", Scenario::dual().exits_at_once(3))], ALLOW);
    let servers = env.json(&["servers", "--json"]);
    assert_eq!(servers[0]["name"], "bad");
    assert_eq!(servers[0]["state"], "failed");
    assert_eq!(servers[1]["state"], "connected");
    assert_eq!(servers[1]["era"], "modern");
    let doctor = env.run(&["doctor"]);
    assert!(doctor.starts_with("exit status 1"), "{doctor}");
    assert!(doctor.contains("exited with status 3"), "{doctor}");
    assert!(env.run(&["servers", "bad"]).starts_with("exit status 3"));
}

#[test]
fn interrupted_the_call_is_cancelled_and_the_server_ends() {
    let env = with_servers(&[("slow", Scenario::dual())], ALLOW);
    let mut child = env.command(&["call", "slow/sleep", "ms=600000"]).spawn().expect("started");
    let servers = wait_for_descendants(child.id(), 1);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("there");
    let status = child.wait().expect("ended");
    assert_eq!(status.code(), Some(130));
    assert!(servers.iter().all(|server| !alive(*server)), "{servers:?}");
}

#[tokio::test]
async fn killed_it_leaves_no_server_behind() {
    let env = with_servers(&[("slow", Scenario::dual())], ALLOW);
    let mut child = env.command(&["call", "slow/sleep", "ms=600000"]).spawn().expect("started");
    let servers = wait_for_descendants(child.id(), 2);
    child.kill().expect("there");
    drop(child.wait());
    let left = wait_until_dead(&servers, PATIENCE).await;
    assert!(left.is_empty(), "{left:?}");
}

/// The warden and the server behind it, once there are so many.
fn wait_for_descendants(pid: u32, at_least: usize) -> Vec<u32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = descendants_of(pid);
        if found.len() >= at_least {
            return found;
        }
        assert!(Instant::now() < deadline, "no server was started");
        std::thread::yield_now();
    }
}
