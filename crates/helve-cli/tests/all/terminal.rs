//! At a terminal: questions are asked and answered, colours are on, tables fit.

use helve_testkit::Scenario;

use crate::support::{ALLOW, Person, TestEnv, with_servers};

/// Runs helve at a terminal of 60 columns, types `input`, and gives everything the person sees, their own typing
/// included, and the exit status.
fn at_terminal(env: &TestEnv, arguments: &[&str], input: &str) -> String {
    let mut person = Person::at(env, arguments);
    person.types(input);
    person.sees_the_end()
}

/// The same, typed when `question` is to be seen.
fn at_terminal_after(env: &TestEnv, arguments: &[&str], question: &str, input: &str) -> String {
    let mut person = Person::at(env, arguments);
    person.sees(question);
    person.types(input);
    person.sees_the_end()
}

fn plain(env: &TestEnv, arguments: &[&str], input: &str) -> String {
    at_terminal(env, &[arguments, &["--color", "never"]].concat(), input)
}

fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write("project/.mcp.json", r#"{"mcpServers": {"a": {"command": "run-a"}, "b": {"command": "run-b"}}}"#);
    env
}

#[cfg(sandbox)]
#[test]
fn trust_is_asked_for() {
    let env = project();
    let refused = plain(&env, &["trust"], "\n");
    assert!(refused.starts_with("exit status 7") && refused.contains("Trust all of it? [y/N/each]"), "{refused}");
    assert!(refused.contains("error: nothing was trusted"), "{refused}");
    assert_eq!(env.json(&["--json"])["untrusted"], 2);
    let one = plain(&env, &["trust"], "each\nn\ny\n");
    assert!(one.contains("Trust server `a` of .mcp.json, in the sandbox `standard`?"), "{one}");
    let trusted = "trusted server `b` of .mcp.json, in the sandbox `standard`";
    assert!(one.contains(trusted) && !one.contains("trusted server `a`"), "{one}");
    let rest = plain(&env, &["trust"], "offline\n");
    assert!(rest.contains("Trust this, in the sandbox `standard`?"), "{rest}");
    assert!(rest.contains("[y/N, or a yes to off, offline, strict]"), "{rest}");
    assert!(rest.contains("trusted server `a` of .mcp.json, in the sandbox `offline`"), "{rest}");
    assert_eq!(env.json(&["--json"])["untrusted"], 0);
}

#[test]
fn import_asks_what_to_take() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "run-a"}, "b": {"command": "run-b"}}}"#);
    let nothing = plain(&env, &["import"], "\n");
    assert!(nothing.contains("Which ones? (names, `all`, or nothing)"), "{nothing}");
    assert!(!env.exists("home/.config/helve/helve.toml"));
    let one = plain(&env, &["import"], "b\n");
    assert!(one.contains("imported server `b`"), "{one}");
    let rest = plain(&env, &["import"], "all\n");
    assert!(rest.contains("imported server `a`"), "{rest}");
}

#[test]
fn tables_fit_and_colours_are_on() {
    let env = TestEnv::new();
    let long = "a-server-with-a-name-that-goes-on-and-on-and-on-beyond-the-edge";
    env.write("home/.config/helve/helve.toml", &format!("[servers.{long}]\ncommand = \"x\"\n"));
    insta::assert_snapshot!(plain(&env, &[], ""), @r#"
    exit status 0
    a-server-with-a-name-that-goes-on-and-on-and-on-beyond-the-edge
      STATE  on
      VIA    stdio
      FROM   ~/.config/helve/helve.toml:1
    1 server in 1 file
    Missing: the program `x` (for `a-server-with-a-name-that-goes-on-and-on-and-on-beyond-the-edge`)
    Next:
      helve tools   every tool of every server
      helve doctor  what is wrong, and what to do about it
    "#);
    let colored = at_terminal(&env, &[], "");
    assert!(colored.contains("\u{1b}[32mon\u{1b}[0m"), "{colored:?}");
    let help = at_terminal(&env, &["--help"], "");
    assert!(help.contains('\u{1b}'), "{help:?}");
}

/// A server that says how long its key is, so that a test sees that it was given one.
fn asking_for(kind: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "home/.config/Code/User/mcp.json",
        &format!(
            r#"{{"inputs": [{{"type": "promptString", "id": "api-key", "description": "Your key"{kind}}}],
               "servers": {{"asking": {{"command": "/bin/sh", "args": ["-c", "echo \"given: ${{#KEY}} letters\" >&2; exit 1"], "env": {{"KEY": "${{input:api-key}}"}}}}}}}}"#
        ),
    );
    env.write("home/.config/helve/helve.toml", "import = \"all\"\n");
    env
}

#[test]
fn an_input_is_asked_for_where_a_server_needs_it() {
    let env = asking_for("");
    let seen = plain(&env, &["tools", "asking"], "abc-123\n");
    assert!(seen.contains("Your key:") && seen.contains("given: 7 letters"), "{seen}");
    // A verb that starts nothing asks nothing.
    let quiet = plain(&env, &["get", "asking"], "");
    assert!(!quiet.contains("Your key:"), "{quiet}");
}

#[test]
fn a_secret_is_not_shown_while_it_is_typed() {
    let env = asking_for(r#", "password": true"#);
    let arguments = ["tools", "asking", "--color", "never"];
    let seen = at_terminal_after(&env, &arguments, "Your key:", "abc\u{7f}-123\n");
    assert!(seen.contains("given: 6 letters") && !seen.contains("123"), "{seen}");
    let interrupted = at_terminal_after(&env, &arguments, "Your key:", "abc\u{3}");
    assert!(interrupted.starts_with("exit status 130"), "{interrupted}");
}

#[test]
fn where_nobody_can_be_asked_the_error_says_how_to_give_it() {
    let env = asking_for("");
    let failed = env.run(&["tools", "asking"]);
    assert!(failed.starts_with("exit status 2"), "{failed}");
    assert!(failed.contains("help: run helve at a terminal, where it asks, or set HELVE_INPUT_API_KEY"), "{failed}");
    let given = asking_for("").with_variable("HELVE_INPUT_API_KEY", "secret").run(&["tools", "asking"]);
    assert!(given.contains("given: 6 letters"), "{given}");
}

/// What shows that something goes on does not stay in the way of what is said in the end.
#[test]
fn a_spinner_is_gone_before_the_error() {
    let env = with_servers(&[("slow", Scenario::dual())], ALLOW);
    let words = ["call", "slow/sleep", "ms=600000", "--color", "never", "--timeout", "2s"];
    let mut late = Person::at(&env, &words);
    late.sees("slow/sleep");
    let seen = late.sees_the_end();
    assert!(seen.contains("\r\u{1b}[Kerror: timed out after 2 s"), "{seen:?}");
    let mut interrupted = Person::at(&env, &words[..5]);
    interrupted.sees("slow/sleep");
    interrupted.interrupts();
    let seen = interrupted.sees_the_end();
    assert!(seen.starts_with("exit status 130") && seen.contains("\r\u{1b}[Kerror: interrupted"), "{seen:?}");
}

/// Text that is piped in is not an answer, and no reason not to ask.
#[cfg(target_os = "linux")]
#[test]
fn who_pipes_something_in_is_asked_at_the_terminal() {
    let ask = "[[rules]]\ntool = \"*/*\"\naction = \"ask\"\n";
    let env = with_servers(&[("peer", Scenario::dual())], ask).with_variable("PATH", "/usr/bin:/bin");
    let helve = env!("CARGO_BIN_EXE_helve");
    for (answer, status) in [("once\n", "exit status 0"), ("n\n", "exit status 7")] {
        let script = format!("echo '{{\"m\": \"5\"}}' | '{helve}' call peer/echo --args -");
        let mut person = Person::in_session(&env, &["sh", "-c", &script]);
        person.sees("[n]o?");
        person.types(answer);
        let seen = person.sees_the_end();
        assert!(seen.starts_with(status), "{seen}");
    }
}
