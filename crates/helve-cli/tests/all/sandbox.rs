//! Servers in a sandbox, from their entry to what a person reads. `cargo xtask escapes` attacks sandboxes.

use helve_testkit::Scenario;

use crate::support::{ALLOW, TestEnv, started_by};

/// A server of the person's own with this line in its entry.
fn with_sandbox(sandbox: &str) -> TestEnv {
    let env = TestEnv::new();
    let entry = started_by(&Scenario::modern());
    env.write("home/.config/helve/helve.toml", &format!("[servers.s]\n{entry}{sandbox}\n{ALLOW}"));
    env
}

#[test]
fn a_confined_server_answers_and_its_status_says_what_holds() {
    let env = with_sandbox("sandbox = { profile = \"standard\", required = false }");
    let called = env.run(&["call", "s/echo", "text=hello"]);
    assert!(called.contains("hello"), "{called}");
    let line = "standard: files full, metadata ";
    for verb in [&["get", "s"] as &[&str], &["doctor", "s"], &["servers", "s"]] {
        let said = env.run(verb);
        assert!(said.contains(line), "{verb:?}: {said}");
    }
    let table = env.run(&["servers"]);
    assert!(table.contains("SANDBOX") && table.contains("standard"), "{table}");
    let json = env.json(&["get", "s", "--json"]);
    assert_eq!(json["sandbox"]["profile"], "standard");
    let checked = env.run(&["sandbox", "check", "s"]);
    assert!(checked.contains("echo") && checked.contains("read, write, run"), "{checked}");
}

#[test]
fn a_refused_sandbox_names_the_place_and_the_line() {
    let env = with_sandbox("sandbox = { read = [\"~\"] }");
    let said = env.run(&["call", "s/echo", "text=hello"]);
    assert!(!said.starts_with("exit status 0"), "{said}");
    assert!(said.contains("must not open") && said.contains("in `sandbox`"), "{said}");
    assert!(env.run(&["doctor", "s"]).contains("must not open"));
}

#[test]
fn without_a_sandbox_nothing_is_said_about_one() {
    let env = with_sandbox("");
    assert!(!env.run(&["servers"]).contains("SANDBOX"));
    assert!(!env.run(&["get", "s"]).contains("sandbox"));
    let said = env.run(&["sandbox", "check", "s"]);
    assert!(said.contains("the server `s` has no sandbox") && said.contains("sandbox = \"standard\""), "{said}");
}
