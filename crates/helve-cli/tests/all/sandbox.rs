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

/// A server of the person's own that is a script for bash, with this line in its entry.
fn script(text: &str, sandbox: &str) -> TestEnv {
    let env = TestEnv::new();
    let entry = format!("command = \"/bin/bash\"\nargs = [\"-c\", '''{text}''']\n");
    env.write("home/.config/helve/helve.toml", &format!("[servers.s]\n{entry}{sandbox}\n{ALLOW}"));
    env
}

#[test]
fn a_path_that_was_refused_is_named_with_the_line_to_write() {
    let read = script("cat /etc/machine-id.d /var/lib/dpkg/status; exit 3", "sandbox = \"offline\"");
    let said = read.run(&["call", "s/echo"]);
    let hint = "its sandbox does not let it use /var/lib/dpkg/status: \
                `sandbox = { profile = \"offline\", read = [\"/var/lib/dpkg/status\"] }` at ";
    assert!(said.contains(hint), "{said}");
    let write = script("echo x > /usr/made-by-a-server; exit 3", "sandbox = { profile = \"offline\", unix = true }");
    let said = write.run(&["call", "s/echo"]);
    let hint = "its sandbox does not let it write /usr/made-by-a-server: \
                add \"/usr/made-by-a-server\" to `write` of `sandbox` at ";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn what_it_was_told_to_open_is_named_where_it_does_not_say() {
    let env = TestEnv::new();
    let script = "echo 'OperationalError: unable to open database file' >&2; exit 3";
    let entry = format!("command = \"/bin/bash\"\nargs = [\"-c\", \"{script}\", \"--db\", \"/srv/data.db\"]\n");
    let sandbox = "sandbox = \"standard\"";
    env.write("home/.config/helve/helve.toml", &format!("[servers.s]\n{entry}{sandbox}\n{ALLOW}"));
    let said = env.run(&["call", "s/echo"]);
    assert!(said.contains("its sandbox does not let it use /srv/data.db: "), "{said}");
}

#[test]
fn a_host_that_was_refused_is_named_with_the_line_to_write() {
    let ask = "exec 3<>/dev/tcp/127.0.0.1/3128; printf \"CONNECT other.example:443 HTTP/1.1\\r\\n\\r\\n\" >&3; read -r line <&3; exit 3";
    let env = script(ask, "sandbox = { network = [\"api.example\"], required = false }");
    if !env.run(&["get", "s"]).contains("network hosts") {
        println!("not looked at: this machine gives no network namespaces");
        return;
    }
    let said = env.run(&["call", "s/echo"]);
    let hint =
        "its sandbox does not let it reach other.example:443: add \"other.example:443\" to `network` of `sandbox` at ";
    assert!(said.contains(hint), "{said}");
}

/// The words that start a fake peer.
fn peer(scenario: &Scenario) -> [String; 2] {
    [helve_testkit::peer_program().to_string_lossy().into_owned(), scenario.to_json()]
}

#[test]
fn a_server_is_added_with_the_sandbox_that_it_starts_in() {
    let env = TestEnv::new();
    let [program, scenario] = peer(&Scenario::modern());
    let said = env.run(&["add", "s", "--", &program, &scenario]);
    assert!(said.contains("it starts in the sandbox `standard`, and its entry says so"), "{said}");
    assert!(env.read("home/.config/helve/helve.toml").ends_with("sandbox = \"standard\"\n"));
    assert!(env.run(&["get", "s"]).contains("standard: files full"));
    // Whoever changes the command does not change the sandbox.
    env.write(
        "home/.config/helve/helve.toml",
        &env.read("home/.config/helve/helve.toml").replace("standard", "offline"),
    );
    let said = env.run(&["add", "s", "--replace", "--", &program, &scenario]);
    assert!(!said.contains("sandbox"), "{said}");
    assert!(env.read("home/.config/helve/helve.toml").contains("sandbox = \"offline\""));
    let told = env.json(&["add", "t", "--json", "--", &program, &scenario]);
    assert_eq!(told["sandbox"], "standard");
}

#[test]
fn a_server_that_does_not_start_in_it_is_added_without_a_sandbox() {
    let env = TestEnv::new();
    let said = env.run(&["add", "s", "--", "/bin/bash", "-c", "echo x > /usr/made-by-a-server; exit 3"]);
    assert!(said.starts_with("exit status 0"), "{said}");
    assert!(said.contains("warning: it runs without a sandbox: in `standard` it did not start"), "{said}");
    assert!(said.contains("its sandbox does not let it write /usr/made-by-a-server"), "{said}");
    assert!(!env.read("home/.config/helve/helve.toml").contains("sandbox"));
    // A program that is not there says nothing about sandboxes.
    let said = env.run(&["add", "t", "--", "/nowhere/at-all"]);
    assert!(!said.contains("sandbox"), "{said}");
}

#[test]
fn a_setting_or_an_option_says_how_servers_are_added() {
    let env = TestEnv::new();
    let [program, scenario] = peer(&Scenario::modern());
    env.write("home/.config/helve/helve.toml", "[settings]\nsandbox = \"off\"\n");
    let said = env.run(&["add", "s", "--", &program, &scenario]);
    assert!(!said.contains("sandbox"), "{said}");
    assert!(!env.read("home/.config/helve/helve.toml").contains("standard"));
    env.run(&["add", "t", "--sandbox", "strict", "--", &program, &scenario]);
    assert!(env.read("home/.config/helve/helve.toml").contains("sandbox = \"strict\""));
    let refused = env.run(&["add", "u", "--sandbox", "strict", "https://a.example"]);
    assert!(refused.starts_with("exit status 2") && refused.contains("an address has no sandbox"), "{refused}");
}

/// A project with a server whose entry says nothing about a sandbox.
fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write("project/helve.toml", &format!("[servers.s]\n{}{ALLOW}", started_by(&Scenario::modern())));
    env
}

#[test]
fn a_projects_server_is_trusted_with_a_sandbox() {
    let env = project();
    let shown = env.run(&["trust"]);
    assert!(shown.contains("sandbox      standard, unless you choose another"), "{shown}");
    let trusted = env.run(&["trust", "--yes"]);
    assert!(trusted.contains("trusted server `s` of helve.toml, in the sandbox `standard`"), "{trusted}");
    let called = env.run(&["call", "s/echo", "text=hello"]);
    assert!(called.contains("hello"), "{called}");
    assert!(env.run(&["get", "s"]).contains("standard (the entry says nothing)"));
    let changed = env.run(&["trust", "s", "--sandbox", "off"]);
    assert!(changed.contains("server `s` runs without a sandbox from its next start on"), "{changed}");
    assert!(!env.run(&["get", "s"]).contains("sandbox"));
    env.run(&["trust", "s", "--sandbox", "offline"]);
    assert!(env.run(&["get", "s"]).contains("offline: files full"));
    // What was said yes to stays; what is asked next is what the settings say by then.
    env.write("home/.config/helve/helve.toml", "[settings]\nsandbox = \"strict\"\n");
    assert!(env.run(&["get", "s"]).contains("offline: files full"));
    env.run(&["trust", "--revoke"]);
    assert!(env.run(&["trust"]).contains("sandbox      strict, unless you choose another"));
}

#[test]
fn a_yes_that_is_older_than_the_question_stays_what_it_was() {
    let env = project();
    env.run(&["trust", "--yes"]);
    let file = "home/.local/state/helve/trust.json";
    let mut kept: serde_json::Value = serde_json::from_str(&env.read(file)).expect("JSON");
    for trusted in kept["trusted"].as_array_mut().expect("a list") {
        trusted.as_object_mut().expect("an object").remove("sandbox");
    }
    env.write(file, &kept.to_string());
    assert!(!env.run(&["get", "s"]).contains("sandbox"));
    // Unless the person writes down how projects are confined.
    env.write("home/.config/helve/helve.toml", "[settings]\nsandbox = \"offline\"\n");
    assert!(env.run(&["get", "s"]).contains("offline: files full"));
    // A word from another version of helve is never taken for less.
    for trusted in kept["trusted"].as_array_mut().expect("a list") {
        trusted["sandbox"] = "airtight".into();
    }
    env.write(file, &kept.to_string());
    assert!(env.run(&["get", "s"]).contains("strict"));
}

#[test]
fn what_an_entry_says_itself_is_not_asked_for() {
    let env = TestEnv::new();
    let entry = started_by(&Scenario::modern());
    env.write("project/helve.toml", &format!("[servers.s]\n{entry}sandbox = \"off\"\n{ALLOW}"));
    let shown = env.run(&["trust"]);
    assert!(shown.contains("sandbox      off") && !shown.contains("unless you choose another"), "{shown}");
    env.run(&["trust", "--yes"]);
    assert!(env.run(&["call", "s/echo", "text=hello"]).contains("hello"));
    let refused = env.run(&["trust", "s", "--sandbox", "strict"]);
    assert!(refused.contains("the entry of `s` says itself what it may touch"), "{refused}");
}

/// A server that the person writes into a project's file themselves keeps the sandbox that they chose for it.
#[test]
fn an_own_edit_keeps_the_sandbox_that_was_chosen() {
    let env = TestEnv::new();
    let [program, scenario] = peer(&Scenario::modern());
    env.write("project/helve.toml", "");
    env.run(&["add", "s", "--sandbox", "off", "--", &program, &scenario]);
    assert!(!env.run(&["get", "s"]).contains("sandbox"));
    env.run(&["disable", "s"]);
    env.run(&["enable", "s"]);
    assert!(!env.run(&["get", "s"]).contains("sandbox"), "{}", env.read("home/.local/state/helve/trust.json"));
    assert!(env.run(&["call", "s/echo", "text=hello", "--yes"]).contains("hello"));
}

/// A tool that runs into its sandbox says so in its own words; the line that would let it is put beside them.
#[test]
fn a_call_that_fails_at_a_path_names_the_line_to_write() {
    let env = with_sandbox("sandbox = \"standard\"");
    let said = env.run(&["call", "s/fail", "message=EACCES: permission denied, open '/srv/notes/today.md'"]);
    assert!(said.contains("its sandbox does not let it use /srv/notes/today.md: "), "{said}");
}
