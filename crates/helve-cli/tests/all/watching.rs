//! `helve watch`, `poll` and `logs`: what comes bit by bit, from servers that tell and servers that are asked.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use helve_testkit::{Offers, Scenario};

use crate::support::{ALLOW, TestEnv, with_servers};

/// A server that tells of one change as soon as somebody subscribes.
fn telling() -> Scenario {
    Scenario::legacy().scripted(
        "resources/subscribe",
        "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}\n\
         {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"test://watched\"}}\n",
    )
}

/// A server that refuses every subscription.
fn refusing() -> Scenario {
    Scenario::legacy().scripted(
        "resources/subscribe",
        "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-32002,\"message\":\"Resource not found\"}}\n",
    )
}

/// A server over HTTP, which several runs of helve can reach. It ends with its input.
struct WebServer {
    child: Child,
    url: String,
}

impl WebServer {
    #[expect(clippy::disallowed_methods, reason = "a server that lives beside helve is started by the test")]
    fn start(scenario: &Scenario) -> Self {
        let mut child = Command::new(helve_testkit::peer_program())
            .args(["http", &scenario.to_json()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut url).expect("a line");
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.wait());
    }
}

/// Starts helve, waits until it says `ready` on stderr, does something, and gives what helve says on stdout to its end.
fn meanwhile(env: &TestEnv, arguments: &[&str], ready: &str, act: impl FnOnce()) -> String {
    let arguments = [arguments, &["--timeout", "60s"]].concat();
    let mut child = env
        .command(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while !said.contains(ready) {
        assert_ne!(stderr.read_line(&mut said).expect("a line"), 0, "helve ended with:\n{said}");
    }
    act();
    let mut stdout = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("text");
    let status = child.wait().expect("ended");
    format!("exit status {}\n{}", status.code().unwrap_or(-1), env.filter(&stdout))
}

#[test]
fn changes_are_told_as_they_come() {
    let env = with_servers(&[("notes", telling())], "");
    insta::assert_snapshot!(env.run(&["watch", "notes", "test://watched", "--count", "1"]), @"
    exit status 0
    --- stdout
    notes  test://watched  changed
    --- stderr
    watching test://watched of `notes`; Ctrl-C ends it
    ");
    insta::assert_snapshot!(env.run(&["watch", "notes", "test://watched", "--count", "1", "--read"]), @"
    exit status 0
    --- stdout
    version 0
    --- stderr
    watching test://watched of `notes`; Ctrl-C ends it
    notes  test://watched  changed
    ");
    insta::assert_snapshot!(env.run(&["watch", "notes", "test://watched", "--count", "1", "--json", "-q"]), @r#"
    exit status 0
    --- stdout
    {"change":"changed","server":"notes","superseded":0,"uri":"test://watched"}
    "#);
    insta::assert_snapshot!(env.run(&["watch", "notes", "test://watched", "--count", "1", "--json", "-q", "--read"]), @r#"
    exit status 0
    --- stdout
    {"change":"changed","result":{"contents":[{"mimeType":"text/plain","text":"version 0","uri":"test://watched"}]},"server":"notes","superseded":0,"uri":"test://watched"}
    "#);
}

#[test]
fn a_command_runs_at_each_change() {
    let env = with_servers(&[("notes", telling())], "").with_variable("PATH", "/usr/bin:/bin");
    env.write("project/each.sh", "echo \"$HELVE_SERVER $HELVE_URI\"; cat; echo oh >&2; exit \"$1\"\n");
    insta::assert_snapshot!(env.run(&["watch", "notes", "test://watched", "--count", "1", "--exec", "sh each.sh 0"]), @r#"
    exit status 0
    --- stdout
    notes test://watched
    {"change":"changed","server":"notes","superseded":0,"uri":"test://watched"}
    --- stderr
    watching test://watched of `notes`; Ctrl-C ends it
    notes  test://watched  changed
    oh
    "#);
    insta::assert_snapshot!(env.run(&["watch", "notes", "test://watched", "--count", "1", "--exec", "sh each.sh 3"]), @r#"
    exit status 0
    --- stdout
    notes test://watched
    {"change":"changed","server":"notes","superseded":0,"uri":"test://watched"}
    --- stderr
    watching test://watched of `notes`; Ctrl-C ends it
    notes  test://watched  changed
    oh
    warning: `sh` exited with status 3
    "#);
    insta::assert_snapshot!(env.run(&["watch", "notes", "test://watched", "--exec", "'"]), @"
    exit status 2
    --- stderr
    error: `--exec '` is not a command: missing closing quote
    ");
}

#[test]
fn a_change_that_another_makes_is_told() {
    let server = WebServer::start(&Scenario::modern());
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", &format!("[servers.web]\nurl = \"{}\"\n{ALLOW}", server.url));
    let told = meanwhile(&env, &["watch", "web", "test://watched", "--count", "1", "--read"], "watching", || {
        assert!(env.run(&["call", "web/touch"]).starts_with("exit status 0"));
    });
    insta::assert_snapshot!(told, @"
    exit status 0
    version 1
    ");
}

#[test]
fn subscriptions_that_cannot_be() {
    let without = Offers { subscriptions: false, ..Offers::default() };
    let env = with_servers(&[("no", refusing()), ("bare", Scenario::legacy().offers(without))], "");
    insta::assert_snapshot!(env.run(&["watch", "no", "test://watched"]), @"
    exit status 5
    --- stderr
    error: the server refused `resources/subscribe`: Resource not found (-32002)
    hint: list again what the server has: it may have changed
    ");
    insta::assert_snapshot!(env.run(&["watch", "bare", "test://watched"]), @"
    exit status 3
    --- stderr
    error: the server `bare` does not tell when its resources change
    hint: poll the resource instead: `helve poll`, or the tool SubscribePolling
    ");
    insta::assert_snapshot!(env.run(&["watch", "nobody", "test://watched"]), @"
    exit status 5
    --- stderr
    error: there is no server `nobody`
    hint: there are: no, bare
    ");
    insta::assert_snapshot!(env.run(&["watch", "no", "test://{id}"]), @"
    exit status 2
    --- stderr
    error: the URI template needs a value for the variable `id`
    hint: add id=…
    ");
}

#[test]
fn a_resource_is_polled_until_it_is_another() {
    let server = WebServer::start(&Scenario::modern());
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", &format!("[servers.web]\nurl = \"{}\"\n{ALLOW}", server.url));
    let poll = ["poll", "web", "test://watched", "--every", "1s", "--count", "1", "--json"];
    let told = {
        let arguments = [&poll[..], &["--timeout", "60s"]].concat();
        let mut child = env.command(&arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("started");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut said = String::new();
        stdout.read_line(&mut said).expect("the first content");
        assert!(env.run(&["call", "web/touch"]).starts_with("exit status 0"));
        stdout.read_to_string(&mut said).expect("text");
        assert!(child.wait().expect("ended").success(), "{said}");
        said
    };
    let lines: Vec<serde_json::Value> = told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let texts: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {} {}", line["change"], line["uri"], line["result"]["contents"][0]["text"]))
        .collect();
    assert_eq!(texts, [r#""first" "test://watched" "version 0""#, r#""changed" "test://watched" "version 1""#]);
}

#[test]
fn a_tool_is_polled_with_permission_alone() {
    let env = with_servers(&[("notes", Scenario::dual())], "");
    let refused = env.run(&["poll", "notes/recorded", "--every", "1s", "--count", "1"]);
    assert!(refused.starts_with("exit status 7"), "{refused}");
    let polled = env.stdout(&["poll", "notes", "recorded", "--every", "1s", "--count", "1", "--yes", "--json"]);
    let lines: Vec<serde_json::Value> = polled.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let changes: Vec<&str> = lines.iter().filter_map(|line| line["change"].as_str()).collect();
    assert_eq!(changes, ["first", "changed"]);
    assert_eq!(lines[1]["tool"], "recorded");
    insta::assert_snapshot!(env.run(&["poll", "notes/echo", "--every", "500ms", "--yes"]), @"
    exit status 2
    --- stderr
    error: an interval of 500 ms is too short
    hint: the shortest is 1000 ms
    ");
    insta::assert_snapshot!(env.run(&["poll", "notes/ecco"]), @"
    exit status 5
    --- stderr
    error: the server `notes` has no tool `ecco`
    hint: did you mean `notes/echo` or `notes/exit` or `notes/ask`?
    ");
    insta::assert_snapshot!(env.run(&["poll", "notes", "test://gone"]), @"
    exit status 5
    --- stderr
    error: the server refused `resources/read`: Resource not found (-32602)
    hint: list again what the server has: it may have changed
    ");
}

#[test]
fn what_a_server_logs() {
    let logging = Scenario::legacy().scripted(
        "logging/setLevel",
        "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}\n\
         {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"warning\",\"logger\":\"disk\",\"data\":\"nearly\\u001b[2J full\"}}\n\
         {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":{\"free\":3}}}\n",
    );
    let env = with_servers(&[("notes", logging)], "");
    insta::assert_snapshot!(env.run(&["logs", "notes", "--count", "2"]), @r#"
    exit status 0
    --- stdout
    warning   disk: nearly\u{1b}[2J full
    info      {"free":3}
    "#);
    insta::assert_snapshot!(env.run(&["logs", "notes", "--count", "2", "--level", "debug", "--json"]), @r#"
    exit status 0
    --- stdout
    {"data":"nearly\u001b[2J full","level":"warning","logger":"disk","server":"notes"}
    {"data":{"free":3},"level":"info","logger":null,"server":"notes"}
    "#);
    // The server sends what it was not asked for.
    insta::assert_snapshot!(env.run(&["logs", "notes", "--count", "1", "--level", "warning"]), @r"
    exit status 0
    --- stdout
    warning   disk: nearly\u{1b}[2J full
    ");
    insta::assert_snapshot!(env.run(&["logs", "nots"]), @"
    exit status 5
    --- stderr
    error: there is no server `nots`
    hint: did you mean `notes`?
    ");
    insta::assert_snapshot!(env.run(&["logs", "notes", "--level", "loud"]), @"
    exit status 2
    --- stderr
    error: invalid value 'loud' for '--level <LEVEL>'
      [possible values: debug, info, notice, warning, error, critical, alert, emergency]

    For more information, try '--help'.
    ");
}

#[test]
fn what_a_program_writes_to_stderr_is_logged_too() {
    let env = TestEnv::new().with_variable("PATH", "/usr/bin:/bin");
    let silent = Scenario::dual().offers(Offers { logging: false, ..Offers::default() });
    let program = helve_testkit::peer_program();
    env.write(
        "project/server.sh",
        &format!("echo one >&2\necho two >&2\nexec '{}' '{}'\n", program.display(), silent.to_json()),
    );
    let script = env.project().join("server.sh");
    env.write(
        "home/.config/helve/helve.toml",
        &format!("[servers.talks]\ncommand = \"/bin/sh\"\nargs = [\"{}\"]\n", script.display()),
    );
    insta::assert_snapshot!(env.run(&["logs", "talks", "--count", "2"]), @"
    exit status 0
    --- stdout
    stderr    one
    stderr    two
    --- stderr
    warning: the server `talks` sends no log messages; its stderr is shown
    ");
    let web = WebServer::start(&silent);
    env.write("home/.config/helve/helve.toml", &format!("[servers.web]\nurl = \"{}\"\n", web.url));
    insta::assert_snapshot!(env.run(&["logs", "web"]), @"
    exit status 3
    --- stderr
    error: the server `web` sends no log messages
    hint: `helve servers web` shows how it is doing and what it writes
    ");
}
