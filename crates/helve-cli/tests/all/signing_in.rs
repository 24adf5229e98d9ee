//! Signing in, as a person, a script and several processes at once do it, against a fake authorization server.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use helve_testkit::Scenario;
use helve_testkit::authority::{Authority, DeviceKind, Switches, visit};
use insta::assert_snapshot;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::ruling::{Served, served};
use crate::support::{ALLOW, Person, TestEnv};

/// A machine, and a server elsewhere that wants a login.
struct World {
    runtime: Runtime,
    authority: Authority,
    env: TestEnv,
}

impl World {
    fn new(switches: Switches) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let authority = runtime.block_on(Authority::start(&Scenario::modern(), switches)).expect("started");
        let env = TestEnv::new();
        let url = authority.url();
        env.write("home/.config/helve/helve.toml", &format!("[servers.far]\nurl = \"{url}\"\n{ALLOW}"));
        Self { runtime, authority, env }
    }

    /// Signs in as an agent would: one process prints the page, another gets the address.
    fn login(&self) -> Value {
        let begun = self.env.json(&["login", "far", "--start", "--json"]);
        let page = begun["page"].as_str().unwrap_or_else(|| panic!("{begun}"));
        let visit = self.runtime.block_on(visit(page)).expect("a page");
        self.env.json(&["login", "far", "--paste", &visit.url, "--json"])
    }

    fn call(&self) -> String {
        self.env.run(&["call", "far/echo", "text=hello"])
    }

    /// Without what differs from run to run.
    fn filtered(&self, text: &str) -> String {
        text.replace(&self.authority.base(), "[BASE]")
    }
}

#[test]
fn a_server_that_wants_a_login_says_so_and_how() {
    let world = World::new(Switches::default());
    let told = world.call();
    assert!(told.starts_with("exit status 6\n"), "{told}");
    assert!(told.contains("hint: `helve login far` signs in"), "{told}");
    let error = world.env.json(&["call", "far/echo", "text=hello", "--json"]);
    assert_eq!(error["code"], "AUTH_REQUIRED");
    let challenge = error["challenge"].as_str().unwrap_or_else(|| panic!("{error}"));
    assert!(challenge.starts_with("Bearer "), "{challenge}");
}

#[test]
fn a_login_in_two_processes_then_calls_then_a_renewal_then_a_logout() {
    let world = World::new(Switches::default());
    let facts = world.login();
    assert_eq!(facts["issuer"], world.authority.base());
    let told = world.call();
    assert!(told.starts_with("exit status 0\n") && told.contains("hello"), "{told}");
    assert_eq!(world.authority.count("/register"), 1);
    let tokens = world.authority.count("/token");
    world.call();
    assert_eq!(world.authority.count("/token"), tokens, "a fresh token costs nothing");

    world.authority.end_access_tokens();
    world.call();
    assert_eq!((world.authority.refreshes(), world.authority.reuses()), (1, 0));

    let vault = world.env.read("home/.local/state/helve/credentials.vault");
    assert!(!vault.contains("-token-"), "{vault}");
    let told = world.env.run(&["logout", "far"]);
    assert!(told.contains("signed out of `far`"), "{told}");
    assert_eq!(world.authority.count("/revoke"), 1);
    assert!(world.call().starts_with("exit status 6"));
}

#[test]
fn a_browser_on_this_machine_comes_back_by_itself() {
    let world = World::new(Switches::default());
    let mut helve = world.env.command(&["login", "far", "--no-browser"]);
    let mut helve = helve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut lines = BufReader::new(helve.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let page = lines.find_map(|line| line.strip_prefix("  http").map(|rest| format!("http{rest}"))).expect("a page");
    let visit = world.runtime.block_on(visit(&page)).expect("a page");
    assert_eq!(visit.status, 200);
    assert!(visit.body.contains("helve has received the answer"));
    let rest: Vec<String> = lines.collect();
    assert!(helve.wait().expect("ended").success(), "{rest:?}");
    let told = world.filtered(&rest.join("\n"));
    assert!(told.contains("signed in to `far` at [BASE], renewed by itself"), "{told}");
    assert!(told.contains("logins are sealed with the key in ~/.config/helve/vault.key"), "{told}");
    assert!(world.call().starts_with("exit status 0"));
}

#[test]
fn a_code_is_typed_on_another_device() {
    let world = World::new(Switches { device: DeviceKind::Offered, ..Switches::default() });
    let mut helve = world.env.command(&["login", "far", "--device"]);
    let mut helve = helve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut lines = BufReader::new(helve.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let shown: Vec<String> = lines.by_ref().take(5).collect();
    assert_snapshot!(world.filtered(&shown.join("\n")), @"
    sign in to `far`: on any device, open
      [BASE]/device
    and type the code WDJB-0002
    or open [BASE]/device?user_code=WDJB-0002
    waiting for up to 10 min; Ctrl-C gives up
    ");
    let page = shown[3].strip_prefix("or open ").expect("a page");
    assert_eq!(world.runtime.block_on(visit(page)).expect("a page").status, 200);
    let rest: Vec<String> = lines.collect();
    assert!(helve.wait().expect("ended").success(), "{rest:?}");
    assert!(world.call().starts_with("exit status 0"));
    assert_eq!(world.authority.count("/authorize"), 0);

    world.authority.set(|switches| switches.device = DeviceKind::Denied);
    let told = world.env.run(&["login", "far", "--device"]);
    assert!(told.starts_with("exit status 6") && told.contains("the person said no on the page"), "{told}");
    assert!(world.call().starts_with("exit status 0"), "the login from before is still there");
    world.authority.set(|switches| switches.device = DeviceKind::Absent);
    let told = world.env.run(&["login", "far", "--device"]);
    assert!(told.contains("does not offer to sign in by a code"), "{told}");
    assert!(told.contains("hint: leave `--device` away: then the login goes by a browser"), "{told}");
}

#[test]
fn at_a_terminal_a_call_offers_to_sign_in_and_goes_on() {
    let world = World::new(Switches::default());
    let mut person = Person::at(&world.env, &["call", "far/echo", "text=hello"]);
    person.sees("`far` wants a login. Sign in now? [y/N]");
    person.types("y\n");
    person.sees("  http");
    let page = person.sees_up_to("\r\n");
    world.runtime.block_on(visit(&format!("http{page}"))).expect("a page");
    person.sees("signed in to `far`");
    let end = person.sees_the_end();
    assert!(end.starts_with("exit status 0") && end.contains("hello"), "{end}");

    world.env.run(&["logout", "far"]);
    let mut person = Person::at(&world.env, &["call", "far/echo", "text=hello"]);
    person.sees("Sign in now? [y/N]");
    person.types("\n");
    assert!(person.sees_the_end().starts_with("exit status 6"));
}

#[test]
fn an_agent_of_the_person_puts_the_page_to_them_once() {
    let world = World::new(Switches::default());
    world.login();
    assert!(world.env.run(&["tools", "far"]).contains("echo"));
    world.authority.end_access_tokens();
    world.authority.end_refresh_tokens();
    let call = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"hi"}}}}}}"#
        )
    };
    let is_question = |line: &Value| line["method"] == "elicitation/create";
    let reply = |question: &Value, action: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"{action}"}}}}"#, question["id"])
    };

    // One that cannot show pages gets the error.
    let (answers, _) = served(&world.env, &[], r#"{"elicitation":{"form":{}}}"#, &[&call(1)]);
    assert!(answers[0].to_string().contains("AUTH_REQUIRED"), "{answers:?}");

    // A no is kept for the run.
    let mut agent = Served::by(&world.env, &[], r#"{"elicitation":{"form":{},"url":{}}}"#);
    agent.says(&call(1));
    let question = agent.hears(is_question);
    assert_eq!(question["params"]["mode"], "url");
    agent.says(&reply(&question, "decline"));
    assert!(agent.hears(|line| line["id"] == 1).to_string().contains("AUTH_REQUIRED"));
    agent.says(&call(2));
    let answer = agent.hears(|line| line["id"] == 2 || is_question(line));
    assert!(answer.to_string().contains("AUTH_REQUIRED"), "not asked again: {answer}");
    agent.goes();

    // A yes, and the same call goes on.
    let mut agent = Served::by(&world.env, &[], r#"{"elicitation":{"form":{},"url":{}}}"#);
    agent.says(&call(1));
    let question = agent.hears(is_question);
    let told = world.filtered(question["params"]["message"].as_str().expect("a text"));
    assert_snapshot!(told, @"helve asks: Sign in to the server `far` at 127.0.0.1? The login is kept for all your agents.");
    agent.says(&reply(&question, "accept"));
    let page = question["params"]["url"].as_str().expect("a page");
    world.runtime.block_on(visit(page)).expect("a page");
    let answer = agent.hears(|line| line["id"] == 1);
    assert!(answer["result"]["content"].to_string().contains("hi"), "{answer}");
    agent.goes();
}

#[test]
fn secrets_and_logins_move_to_another_machine() {
    let world = World::new(Switches::default());
    world.login();
    let (here, there) = (&world.env, TestEnv::new());
    here.run_with_input(&["secret", "set", "github", "-"], "hunter2hunter2\n");
    assert!(here.run(&["secret", "export", "--sealed", "moved"]).starts_with("exit status 7"));
    let key = here.stdout(&["secret", "export", "--sealed", "moved", "--reveal"]);
    let sealed = here.read("project/moved");
    assert!(!sealed.contains("hunter2") && !sealed.contains(key.trim()));
    there.write("project/moved", &sealed);
    let url = world.authority.url();
    there.write("home/.config/helve/helve.toml", &format!("[servers.other]\nurl = \"{url}\"\n{ALLOW}"));
    let told = there.run_with_input(&["secret", "import", "moved"], "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n");
    assert!(told.contains("this was sealed with another key"), "{told}");
    let told = there.run_with_input(&["secret", "import", "moved"], &key);
    assert!(told.contains("took over "), "{told}");
    assert_eq!(there.stdout(&["secret", "get", "github", "--reveal"]), "hunter2hunter2\n");
    let told = there.run(&["call", "other/echo", "text=hello"]);
    assert!(told.starts_with("exit status 0") && told.contains("hello"), "{told}");
}

#[test]
fn a_program_prints_the_key_of_the_vault_and_no_list_runs_it() {
    let env = TestEnv::new();
    let count = env.home().join("count");
    env.write("home/key.sh", "echo >> \"$1\"; echo 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n");
    let command = format!("/bin/sh {}/key.sh {}", env.home().display(), count.display());
    env.write("home/.config/helve/helve.toml", &format!("[settings]\nvault_key = \"${{cmd:{command}}}\"\n"));
    let told = env.run_with_input(&["secret", "set", "a", "-"], "hunter2hunter2");
    assert!(told.starts_with("exit status 0") && !told.contains("vault.key"), "{told}");
    assert_eq!(env.stdout(&["secret", "get", "a", "--reveal"]), "hunter2hunter2\n");
    assert_eq!(env.read("home/count").lines().count(), 2);
    env.run(&["secret", "list"]);
    env.run(&[]);
    assert_eq!(env.read("home/count").lines().count(), 2, "a list needs no key");
    env.write("home/.config/helve/helve.toml", "[settings]\nvault_key = \"${cmd:/bin/false}\"\n");
    let told = env.run(&["secret", "get", "a", "--reveal"]);
    assert!(told.contains("the key of the vault cannot be had"), "{told}");
    env.write("home/.config/helve/helve.toml", "");
    let told = env.run(&["secret", "get", "a", "--reveal"]);
    assert!(told.contains("the setting `vault_key` has to give"), "{told}");
    env.write("project/helve.toml", &format!("[settings]\nvault_key = \"${{cmd:{command}}}\"\n"));
    env.run(&["secret", "get", "a", "--reveal"]);
    assert_eq!(env.read("home/count").lines().count(), 2, "a project has no say in it");
}

#[test]
fn a_server_is_added_with_its_secret_sealed() {
    let env = TestEnv::new();
    let arguments = [
        "add",
        "github",
        "--secret",
        "GITHUB_TOKEN",
        "--sandbox",
        "off",
        "--scope",
        "user",
        "--",
        "/bin/cat",
        "--api-key=x",
    ];
    let told = env.run_with_input(&arguments, "hunter2hunter2\n");
    assert!(told.starts_with("exit status 0"), "{told}");
    assert!(told.contains("the argument --api-key holds a secret"), "{told}");
    let file = env.read("home/.config/helve/helve.toml");
    assert!(file.contains("GITHUB_TOKEN = \"${secret:github.GITHUB_TOKEN}\""), "{file}");
    assert!(!told.contains("hunter2") && !file.contains("hunter2"));
    assert_eq!(env.stdout(&["secret", "get", "github.GITHUB_TOKEN", "--reveal"]), "hunter2hunter2\n");
    let told = env.run(&["doctor"]);
    assert!(told.contains("its argument --api-key holds a secret"), "{told}");
}

#[test]
fn many_processes_renew_a_login_once() {
    let world = World::new(Switches::default());
    world.login();
    for round in 1..=3 {
        world.authority.end_access_tokens();
        let children: Vec<_> = (0..10)
            .map(|_| {
                let mut helve = world.env.command(&["call", "far/echo", "text=hello"]);
                helve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().expect("ended");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!((world.authority.refreshes(), world.authority.reuses()), (round, 0));
    }
}

#[test]
fn a_killed_renewal_leaves_the_vault_whole() {
    let world = World::new(Switches { rotation: false, ..Switches::default() });
    world.login();
    for round in 0..12_u64 {
        world.authority.end_access_tokens();
        let mut helve = world.env.command(&["call", "far/echo", "text=hello"]);
        let mut helve =
            helve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        std::thread::sleep(std::time::Duration::from_millis(round * 9));
        drop(helve.kill());
        drop(helve.wait());
        let listed = world.env.json(&["secret", "list", "--json"]);
        assert_eq!(listed, serde_json::json!([]), "the vault can be read");
    }
    assert!(world.call().starts_with("exit status 0"), "and the login is still there");
}

#[test]
fn the_key_of_the_vault_reaches_no_server() {
    let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let env = TestEnv::new()
        .with_variable("HELVE_VAULT_KEY", key)
        .with_variable("HELVE_SERVE_TOKEN", "serve-token-serve-token");
    let shell = "env >&2; exit 1";
    env.write(
        "home/.config/helve/helve.toml",
        &format!("[servers.near]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"{shell}\"]\ninherit_env = true\n"),
    );
    let told = env.run(&["servers", "near"]);
    assert!(told.contains("HOME="), "{told}");
    assert!(!told.contains("HELVE_VAULT_KEY") && !told.contains(key), "{told}");
    assert!(!told.contains("HELVE_SERVE_TOKEN"), "{told}");
}

#[test]
fn secrets_come_in_by_a_pipe_and_out_by_a_word() {
    let env = TestEnv::new();
    let told = env.run_with_input(&["secret", "set", "github", "-"], "hunter2hunter2\n");
    assert!(told.contains("kept `github`; entries refer to it as ${secret:github}"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    let told = env.run(&["secret", "get", "github"]);
    assert!(told.starts_with("exit status 7") && !told.contains("hunter2"), "{told}");
    assert_eq!(env.stdout(&["secret", "get", "github", "--reveal"]), "hunter2hunter2\n");
    let told = env.run(&["secret", "get", "githup", "--reveal"]);
    assert!(told.contains("did you mean `github`?"), "{told}");
    let told = env.run(&["secret", "list"]);
    assert!(told.contains("github") && !told.contains("hunter2"), "{told}");
    let told = env.run_with_input(&["secret", "set", "a b", "-"], "x");
    assert!(told.starts_with("exit status 2"), "{told}");
    assert!(env.run(&["secret", "remove", "github"]).contains("forgot `github`"));
    assert!(!env.read("home/.local/state/helve/credentials.vault").contains("hunter2"));
}
