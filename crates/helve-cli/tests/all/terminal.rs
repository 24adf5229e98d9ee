//! At a terminal: questions are asked and answered, colours are on, tables fit.

use crate::support::{Person, TestEnv};

/// Runs helve at a terminal of 60 columns, types `input`, and gives everything the person sees, their own typing
/// included, and the exit status.
fn at_terminal(env: &TestEnv, arguments: &[&str], input: &str) -> String {
    let mut person = Person::at(env, arguments);
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

#[test]
fn trust_is_asked_for() {
    let env = project();
    let refused = plain(&env, &["trust"], "\n");
    assert!(refused.starts_with("exit status 0") && refused.contains("Trust all of it? [y/N/each]"), "{refused}");
    assert_eq!(env.json(&["--json"])["untrusted"], 2);
    let one = plain(&env, &["trust"], "each\nn\ny\n");
    assert!(one.contains("Trust server `a` of .mcp.json? [y/N]"), "{one}");
    assert!(one.contains("trusted server `b` of .mcp.json") && !one.contains("trusted server `a`"), "{one}");
    let rest = plain(&env, &["trust"], "yes\n");
    assert!(rest.contains("Trust this? [y/N]") && rest.contains("trusted server `a`"), "{rest}");
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
    insta::assert_snapshot!(plain(&env, &[], ""), @"
    exit status 0
    SERVER            STATE  VIA    FROM
    a-server-with-a…  on     stdio  ~/.config/helve/helve.toml:1
    1 server in 1 file
    ");
    let colored = at_terminal(&env, &[], "");
    assert!(colored.contains("\u{1b}[32mon\u{1b}[0m"), "{colored:?}");
    let help = at_terminal(&env, &["--help"], "");
    assert!(help.contains('\u{1b}'), "{help:?}");
}
