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
