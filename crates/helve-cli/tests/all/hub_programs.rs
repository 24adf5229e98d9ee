//! Programs at the hub: offered, decided, recorded and held as any call is; and no program ever answers for a person.

use std::path::{Path, PathBuf};
use std::time::Instant;

use helve_testkit::Scenario;
use serde_json::{Value, json};

use crate::running_hub::{Agent, Hub};
use crate::support::{PATIENCE, Person, TestEnv, started_by};

/// Where the system's Python is.
const PATH: &str = "/usr/bin:/bin";

/// How the record names the door of programs.
const DOOR_CODE: u64 = 6;

/// A machine with Python, and a server that writes down what it gets.
struct Machine {
    env: TestEnv,
    record: PathBuf,
}

#[expect(clippy::print_stdout, reason = "what is not run is told")]
fn machine(rules: &str) -> Option<Machine> {
    if !Path::new("/usr/bin/python3").exists() {
        println!("not run: there is no /usr/bin/python3");
        return None;
    }
    let env = TestEnv::new().with_variable("PATH", PATH);
    let record = env.home().join("record.jsonl");
    let scenario = Scenario { record_to: Some(record.clone()), ..Scenario::dual() };
    env.write("home/.config/helve/helve.toml", &format!("[servers.box]\n{}\n{rules}", started_by(&scenario)));
    Some(Machine { env, record })
}

impl Machine {
    /// How often the server was called.
    fn calls(&self) -> usize {
        fs_err::read_to_string(&self.record)
            .unwrap_or_default()
            .lines()
            .filter(|line| line.contains("tools/call"))
            .count()
    }
}

fn rule(tool: &str, action: &str, more: &str) -> String {
    format!("[[rules]]\ntool = \"{tool}\"\naction = \"{action}\"\n{more}\n")
}

fn run_code(agent: &mut Agent<'_>, code: &str) -> Value {
    let params = json!({ "name": "run_code", "arguments": { "code": code }, "_meta": { "progressToken": "p" } });
    agent.request("tools/call", &params)["result"].clone()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// What waits for a person, as the holder of an admin token sees it.
fn waiting(hub: &Hub<'_>, admin: &str) -> Vec<Value> {
    let answer = hub.ask("GET", "/api/v1/approvals", &[("authorization", admin)], "");
    let found: Value = serde_json::from_str(&answer.body).expect("JSON");
    found["waiting"].as_array().cloned().unwrap_or_default()
}

/// The one call that waits, once it does.
fn the_one_that_waits(hub: &Hub<'_>, admin: &str) -> Value {
    let started = Instant::now();
    loop {
        if let [one] = waiting(hub, admin).as_slice() {
            return one.clone();
        }
        assert!(started.elapsed() < PATIENCE, "nothing waits");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A person lets it run, at a terminal.
fn allow(env: &TestEnv, waiting: &Value) {
    let id = waiting["id"].as_str().expect("an id");
    let mut person = Person::in_session(env, &[env!("CARGO_BIN_EXE_helve"), "approvals", "allow", id]);
    person.sees("to let it run once:");
    person.types(&format!("{id}\r"));
    person.sees("may run, once");
}

/// A person refuses it, at a terminal.
fn deny(env: &TestEnv, id: &str, more: &[&str]) {
    let mut words = vec![env!("CARGO_BIN_EXE_helve"), "approvals", "deny", id];
    words.extend(more);
    Person::in_session(env, &words).sees("is refused");
}

fn admin(hub: &Hub<'_>) -> String {
    format!("Bearer {}", hub.token("admin", &["--admin", "--approver"]))
}

#[test]
fn programs_are_offered_as_serve_offers_them_and_recorded_with_their_calls() {
    let Some(machine) = machine(&rule("box/*", "allow", "")) else { return };
    let names = |options: &[&str]| Hub::start(&machine.env, options).tools(None);
    assert_eq!(names(&["--discover", "code"]), ["search_tools", "run_code"]);
    assert!(!names(&[]).contains(&"run_code".to_owned()));
    let hub = Hub::start(&machine.env, &["--code"]);
    let listed = hub.tools(None);
    assert!(listed.contains(&"run_code".to_owned()) && listed.contains(&"box__echo".to_owned()), "{listed:?}");
    let admin = admin(&hub);
    let mut agent = Agent::new(&hub, None);
    let result = run_code(&mut agent, "[device.BoxMCP.echo(n=n)['n'] for n in range(2)]");
    assert_eq!(text(&result), "[0,1]", "{result}");
    let started = Instant::now();
    let calls = loop {
        let answer = hub.ask("GET", "/api/v1/calls", &[("authorization", &admin)], "");
        let found: Value = serde_json::from_str(&answer.body).expect("JSON");
        let calls = found["calls"].as_array().cloned().unwrap_or_default();
        if calls.len() >= 3 {
            break calls;
        }
        assert!(started.elapsed() < PATIENCE, "not all were recorded: {found}");
    };
    let of = |tool: &str| calls.iter().filter(|call| call["tool"] == tool).collect::<Vec<_>>();
    let (programs, made) = (of("helve/run_code"), of("box/echo"));
    assert_eq!((programs.len(), made.len()), (1, 2), "{calls:#?}");
    let id = programs[0]["id"].as_str().expect("an id");
    for call in made {
        assert_eq!(call["parent"].as_str(), Some(id), "{call:#?}");
        let (door, decision) = (&call["door"], &call["decision"]);
        assert_eq!((door, decision, &call["end"]), (&json!(DOOR_CODE), &json!("allow"), &programs[0]["end"]));
    }
}

/// A call that is for the page is not part of the question up front: it waits by itself, and its program with it.
#[test]
fn a_held_call_pauses_its_program_and_the_page_is_respected() {
    let rules = rule("box/echo", "allow", "") + &rule("box/sleep", "ask", "by = \"page\"");
    let Some(machine) = machine(&rules) else { return };
    let hub = Hub::start(&machine.env, &["--code"]);
    let admin = admin(&hub);
    let code = "before = device.BoxMCP.echo(n=1)['n']\ndevice.BoxMCP.sleep(ms=1)\n[before, 'after']";
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run_code(&mut Agent::new(&hub, None), code));
        let one = the_one_that_waits(&hub, &admin);
        assert_eq!((&one["server"], &one["tool"], &one["by"]), (&json!("box"), &json!("sleep"), &json!("page")));
        assert_eq!(machine.calls(), 1, "what stands before it was called, and it was not");
        allow(&machine.env, &one);
        let result = running.join().expect("an answer");
        assert_eq!(text(&result), "[1,\"after\"]", "{result}");
    });
    assert_eq!(machine.calls(), 2);
    // A no is the program's to read.
    let code = "try:\n    device.BoxMCP.sleep(ms=1)\nexcept ToolError as error:\n    result = [error.code, str(error)]";
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run_code(&mut Agent::new(&hub, None), code));
        let one = the_one_that_waits(&hub, &admin);
        let id = one["id"].as_str().expect("an id");
        deny(&machine.env, id, &["--reason", "not today"]);
        let result = running.join().expect("an answer");
        assert!(text(&result).starts_with("[\"DENIED\",") && text(&result).contains("not today"), "{result}");
    });
    assert_eq!(machine.calls(), 2);
}

/// One question for all that a program will ask, with the tools it is about.
#[test]
fn the_question_up_front_waits_at_the_hub() {
    let rules = format!("trust_annotations = true\n{}", rule("box/echo", "ask", ""));
    let Some(machine) = machine(&rules) else { return };
    let hub = Hub::start(&machine.env, &["--code"]);
    let admin = admin(&hub);
    let code = "for n in range(3): device.BoxMCP.echo(n=n)\n'done'";
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run_code(&mut Agent::new(&hub, None), code));
        let one = the_one_that_waits(&hub, &admin);
        assert_eq!((&one["server"], &one["tool"]), (&json!("helve"), &json!("run_code")));
        assert_eq!(one["arguments"]["tools"], json!(["box/echo"]));
        assert_eq!(one["arguments"]["program"].as_str().map(str::len), Some(64));
        assert_eq!(machine.calls(), 0);
        allow(&machine.env, &one);
        let result = running.join().expect("an answer");
        assert_eq!(text(&result), "done", "{result}");
    });
    assert_eq!(machine.calls(), 3);
}

/// Whatever a program tries: what waits for a person waits on.
#[test]
fn no_program_answers_for_a_person() {
    let rules = rule("box/echo", "allow", "") + &rule("box/sleep", "ask", "by = \"page\"");
    let Some(machine) = machine(&rules) else { return };
    let hub = Hub::start(&machine.env, &["--code"]);
    let admin = admin(&hub);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run_code(&mut Agent::new(&hub, None), "device.BoxMCP.sleep(ms=1)"));
        let one = the_one_that_waits(&hub, &admin);
        let id = one["id"].as_str().expect("an id").to_owned();
        let (address, token) = (hub.address(), hub.token("agent", &[]));
        let attempts = [
            format!("device.HelveMCP.approve(id='{id}')"),
            format!("device['helve']['allow'](id='{id}')"),
            "device['helve']['run_code'](code='1')".to_owned(),
            format!("getattr(device, 'Helve' + 'MCP').approvals(allow='{id}')"),
            format!("import urllib.request\nurllib.request.urlopen('http://{address}/approvals/{id}')"),
            format!("import socket\nsocket.create_connection('{address}'.split(':'))"),
            format!("import subprocess\nsubprocess.run(['helve', 'approvals', 'allow', '{id}'])"),
        ];
        for attempt in attempts {
            let result = run_code(&mut Agent::new(&hub, Some(&token)), &attempt);
            assert_eq!(result["isError"], true, "{attempt}: {result}");
        }
        let still = waiting(&hub, &admin);
        assert_eq!(still.len(), 1, "{still:?}");
        assert_eq!((machine.calls(), &still[0]["state"]), (0, &json!("pending")));
        allow(&machine.env, &one);
        assert_eq!(running.join().expect("an answer")["isError"], Value::Null);
    });
}

/// C10 at the hub's doors: what is left to agents is not left to programs.
#[test]
fn what_no_rule_mentions_waits_in_programs_at_every_door_of_the_hub() {
    let Some(machine) = machine("[settings]\nunlisted = \"allow\"\nunlisted_tokens = true\n") else { return };
    let hub = Hub::start(&machine.env, &["--code", "--unlisted", "allow", "--unlisted-tokens"]);
    let (admin, token) = (admin(&hub), hub.token("agent", &[]));
    let programs = ["device.BoxMCP.sleep(ms=1)", "getattr(device.BoxMCP, 'sle' + 'ep')(ms=1)"];
    for (number, program) in programs.into_iter().enumerate() {
        let by_agent = |token| run_code(&mut Agent::new(&hub, token), program)["isError"] == true;
        let by_api = || {
            let headers = [("authorization", &*admin), ("content-type", "application/json")];
            let arguments = json!({ "code": program }).to_string();
            let answer = hub.ask("POST", "/api/v1/tools/helve/run_code/call", &headers, &arguments);
            answer.status != 200
                || answer.body.contains("\"is_error\":true")
                || answer.body.contains("\"isError\":true")
        };
        let doors: [&(dyn Fn() -> bool + Sync); 3] = [&|| by_agent(None), &|| by_agent(Some(&*token)), &by_api];
        for (door, is_refused) in doors.into_iter().enumerate() {
            std::thread::scope(|scope| {
                let running = scope.spawn(is_refused);
                let one = the_one_that_waits(&hub, &admin);
                deny(&machine.env, one["id"].as_str().expect("an id"), &[]);
                assert!(running.join().expect("an answer"), "program {number} at door {door}");
            });
        }
    }
    assert_eq!(machine.calls(), 0);
    // The same tool called directly is left to the agent.
    let direct = hub.call(Some(&token), "box__sleep", &json!({ "ms": 1 }));
    assert!(direct["result"].is_object() && machine.calls() == 1, "{direct}");
}
