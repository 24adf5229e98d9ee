//! A hub's servers as one's own: a real hub, a real spoke, two homes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use helve_testkit::Scenario;
use serde_json::{Value, json};

use crate::itself::Agent;
use crate::running_hub::Visitor;
use crate::support::{ALLOW, PATIENCE, TestEnv, started_by, with_servers};

/// A hub that runs.
struct RunningHub {
    child: Child,
    url: String,
}

impl RunningHub {
    fn start(env: &TestEnv) -> Self {
        Self::at(env, "127.0.0.1:0")
    }

    fn at(env: &TestEnv, address: &str) -> Self {
        let arguments = ["hub", "--http", address, "--no-link", "--no-browser"];
        let mut child = env.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("read");
        let url = line.trim().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url:?}");
        Self { child, url }
    }

    fn token(env: &TestEnv, name: &str) -> String {
        env.stdout(&["hub", "token", "make", name]).trim().to_owned()
    }

    fn address(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    fn kill(mut self) -> String {
        self.child.kill().expect("there");
        self.child.wait().expect("ended");
        self.address()
    }
}

impl Drop for RunningHub {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A hub with a server `notes`, and a spoke that has a server of its own and has joined.
fn joined(hub_rules: &str, spoke_rules: &str) -> (TestEnv, RunningHub, TestEnv) {
    let at_hub = with_servers(&[("notes", Scenario::dual()), ("\"Brave Search\"", Scenario::dual())], hub_rules);
    let hub = RunningHub::start(&at_hub);
    let spoke = with_servers(&[("own", Scenario::dual())], spoke_rules);
    let token = RunningHub::token(&at_hub, "laptop");
    let said = spoke.run_with_input(&["join", &hub.url], &format!("{token}\n"));
    assert!(said.starts_with("exit status 0"), "{said}");
    assert!(!said.contains(&token), "a token is never shown");
    (at_hub, hub, spoke)
}

fn echoes(env: &TestEnv, tool: &str) -> bool {
    env.run(&["call", tool, "text=hello"]).contains("hello")
}

#[test]
fn a_hub_is_joined_used_like_ones_own_and_left() {
    let servers = [("notes", Scenario::dual()), ("\"Brave Search\"", Scenario::dual())];
    let at_hub = with_servers(&servers, ALLOW);
    let hub = RunningHub::start(&at_hub);
    let spoke = with_servers(&[("own", Scenario::dual())], ALLOW);
    let token = RunningHub::token(&at_hub, "laptop");
    let port = hub.url.rsplit(':').next().expect("a port").to_owned();
    let said = spoke.run_with_input(&["join", &hub.url], &format!("{token}\n")).replace(&port, "[PORT]");
    insta::assert_snapshot!(said, @"
    exit status 0
    --- stdout
    hub/Brave Search
    hub/notes
    --- stderr
    warning: it is sealed with the key in ~/.config/helve/vault.key (the system's keyring cannot be reached: this is not a desktop session): whoever can read your files can open it
    hint: HELVE_VAULT_KEY keeps the key elsewhere: set it before anything is kept
    joined http://127.0.0.1:[PORT] as `hub`, in ~/.config/helve/helve.toml: 2 servers
    hint: `helve tools` lists what they have; `helve leave hub` leaves the hub
    ");
    let own = spoke.read("home/.config/helve/helve.toml");
    assert!(own.contains("[hubs.hub]") && !own.contains("hv_"), "{own}");
    assert!(!spoke.files_below("home").iter().any(|(_, text)| text.contains(&token)), "the token lies sealed");

    let tools = spoke.stdout(&["tools"]);
    for name in ["own/echo", "hub/notes/echo", "hub/Brave Search/echo"] {
        assert!(tools.contains(name), "{name}: {tools}");
    }
    for spelling in [
        "hub/notes/echo",
        "hub/notes:echo",
        "mcp__hub__notes__echo",
        "devices.hub.NotesMCP.echo",
        "hub/Brave Search/echo",
        "devices.hub.BraveSearchMCP.echo",
        "own/echo",
        // Both have one: the local one is meant.
        "echo",
    ] {
        assert!(echoes(&spoke, spelling), "{spelling}: {}", spoke.run(&["call", spelling, "text=hello"]));
    }
    assert!(!echoes(&spoke, "device.NotesMCP.echo"), "`device` is never a hub's");
    let record = at_hub.files_below("home/.local/state");
    assert!(!record.is_empty());
    let found = spoke.stdout(&["search", "echo", "--limit", "20"]);
    assert!(found.contains("hub/notes/echo"), "{found}");
    let explained = spoke.stdout(&["explain", "hub/notes/echo"]);
    assert!(explained.contains("hub/notes/echo"), "{explained}");

    // Rules of one's own count here, whatever the hub allows.
    assert!(spoke.run(&["deny", "hub/notes/echo"]).starts_with("exit status 0"));
    let refused = spoke.run(&["call", "hub/notes/echo", "text=hello"]);
    assert!(refused.contains("hub/notes/echo") && !refused.starts_with("exit status 0"), "{refused}");
    assert!(echoes(&spoke, "hub/Brave Search/echo"));

    let hubs = spoke.run(&["hubs"]);
    assert!(hubs.contains(&hub.url) && hubs.contains("there"), "{hubs}");
    let left = spoke.run(&["leave", "hub"]).replace(&port, "[PORT]");
    insta::assert_snapshot!(left, @"
    exit status 0
    --- stderr
    left http://127.0.0.1:[PORT]
    hint: the token still counts at the hub: revoke it there
    ");
    let tools = spoke.stdout(&["tools"]);
    assert!(tools.contains("own/echo") && !tools.contains("hub/"), "{tools}");
    assert!(!spoke.read("home/.config/helve/helve.toml").contains("hubs"));
}

#[test]
fn both_ends_decide() {
    let deny = "[[rules]]\ntool = \"notes/echo\"\naction = \"deny\"\n";
    let (_at_hub, _hub, spoke) = joined(&format!("{deny}{ALLOW}"), ALLOW);
    let refused = spoke.run(&["call", "hub/notes/echo", "text=hello"]);
    assert!(!refused.starts_with("exit status 0"), "the hub denies it: {refused}");
    assert!(spoke.run(&["call", "hub/notes/sleep", "ms=1"]).starts_with("exit status 0"));
}

#[test]
fn a_name_that_is_taken_or_none_is_refused_and_a_project_joins_nothing() {
    let at_hub = with_servers(&[("notes", Scenario::dual())], ALLOW);
    let hub = RunningHub::start(&at_hub);
    let spoke = with_servers(&[("hub", Scenario::dual())], ALLOW);
    let token = format!("{}\n", RunningHub::token(&at_hub, "laptop"));
    insta::assert_snapshot!(spoke.run_with_input(&["join", &hub.url], &token), @"
    exit status 2
    --- stderr
    error: there is a server `hub` already, at ~/.config/helve/helve.toml:1
    hint: `--as NAME` calls the hub something else
    ");
    for name in ["local", "Hub", "a-b", "a__b", ""] {
        let said = spoke.run_with_input(&["join", &hub.url, "--as", name], &token);
        assert!(said.starts_with("exit status 2"), "{name}: {said}");
    }
    let open = spoke.run_with_input(&["join", "http://hub.example.com"], &token);
    assert!(open.contains("a token would travel in the open"), "{open}");
    let wrong = spoke.run_with_input(&["join", &hub.url, "--as", "team"], "hv_0000000000000000_00\n");
    assert!(wrong.contains("does not accept the token") && !wrong.starts_with("exit status 0"), "{wrong}");
    assert!(!spoke.read("home/.config/helve/helve.toml").contains("hubs"), "nothing was written");

    assert!(spoke.run_with_input(&["join", &hub.url, "--as", "team"], &token).starts_with("exit status 0"));
    assert!(echoes(&spoke, "team/notes/echo") && echoes(&spoke, "hub/echo"));
    // A server that comes later keeps its name, and the hub gives way.
    let own = spoke.read("home/.config/helve/helve.toml");
    let server = started_by(&Scenario::dual());
    spoke.write("home/.config/helve/helve.toml", &format!("{own}\n[servers.team]\n{server}"));
    assert!(echoes(&spoke, "team/echo") && !echoes(&spoke, "team/notes/echo"));
    let doctor = spoke.run(&["doctor"]);
    assert!(doctor.contains("the hub `team` is left out"), "{doctor}");

    let project = TestEnv::new();
    project.write("project/helve.toml", &format!("[hubs.hub]\nurl = \"{}\"\n", hub.url));
    let doctor = project.run(&["doctor"]);
    assert!(doctor.contains("a project cannot join a hub for you"), "{doctor}");
    assert!(project.json(&["hubs", "--json"]).as_array().is_some_and(Vec::is_empty));
}

/// An agent that calls a tool and says how long that took.
fn timed(agent: &mut Agent, tool: &str) -> (Value, Duration) {
    let started = Instant::now();
    let call = json!({ "name": tool, "arguments": { "text": "hello" } });
    let answer = agent.ask(&json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": call }));
    (answer, started.elapsed())
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_hub_that_is_away_is_said_at_once_and_served_again_when_it_is_back() {
    let (at_hub, hub, spoke) = joined(ALLOW, ALLOW);
    assert!(spoke.stdout(&["tools"]).contains("hub/notes/echo"));
    let mut agent = Agent::new(&spoke, &["serve", "--prefix", "mcp"]);
    let is_error = |answer: &Value| answer.get("result").is_none_or(|result| result["isError"] == true);
    until("the hub is served", || !is_error(&timed(&mut agent, "mcp__hub__notes__echo").0));

    let address = hub.kill();
    until("the hub is known to be away", || is_error(&timed(&mut agent, "mcp__hub__notes__echo").0));
    let (answer, took) = timed(&mut agent, "mcp__hub__notes__echo");
    // The call finds out by itself, or is told what the hub's stream found out.
    let answer = answer.to_string();
    assert!(answer.contains("not available") || answer.contains("cannot connect"), "{answer}");
    // 50 ms are measured elsewhere; here other tests run beside this one.
    assert!(took < Duration::from_secs(1), "refused after {took:?}");
    assert!(!is_error(&timed(&mut agent, "mcp__own__echo").0), "a local server does not notice");
    assert!(agent.tools().iter().any(|name| name == "mcp__hub__notes__echo"), "its tools stay visible");
    let is_marked = |listed: &str| listed.contains("hub/notes/echo") && listed.contains("the hub `hub` is away");
    until("the kept list says that the hub is away", || is_marked(&spoke.run(&["tools"])));
    let called = spoke.run(&["call", "hub/notes/echo", "text=hello"]);
    assert!(!called.starts_with("exit status 0") && called.contains("`helve hubs`"), "{called}");

    let _hub = RunningHub::at(&at_hub, &address);
    until("the hub is served again", || !is_error(&timed(&mut agent, "mcp__hub__notes__echo").0));
}

#[test]
fn what_changes_at_the_hub_is_heard_on_one_stream() {
    let (at_hub, _hub, spoke) = joined(ALLOW, ALLOW);
    let mut agent = Agent::new(&spoke, &["serve", "--prefix", "mcp"]);
    until("the hub is served", || agent.tools().iter().any(|name| name == "mcp__hub__notes__echo"));
    // A tool that its server adds.
    let call = json!({ "name": "mcp__hub__notes__list_changed", "arguments": { "kind": "tools" } });
    agent.ask(&json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call }));
    until("a new tool", || agent.tools().iter().any(|name| name == "mcp__hub__notes__added"));
    // A server that comes, and one that goes.
    let own = at_hub.read("home/.config/helve/helve.toml");
    let more = format!("[servers.late]\n{}\n{own}", started_by(&Scenario::dual()));
    at_hub.write("home/.config/helve/helve.toml", &more);
    until("a new server", || agent.tools().iter().any(|name| name == "mcp__hub__late__echo"));
    at_hub.write("home/.config/helve/helve.toml", &own);
    until("it is gone", || !agent.tools().iter().any(|name| name == "mcp__hub__late__echo"));
}

#[test]
fn a_token_that_is_revoked_opens_nothing_and_one_that_is_narrow_shows_little() {
    let (at_hub, hub, spoke) = joined(ALLOW, ALLOW);
    assert!(echoes(&spoke, "hub/notes/echo"));
    assert!(at_hub.run(&["hub", "token", "revoke", "laptop"]).starts_with("exit status 0"));
    let refused = spoke.run(&["call", "hub/notes/echo", "text=hello"]);
    assert!(!refused.starts_with("exit status 0"), "{refused}");
    let hubs = spoke.run(&["hubs"]);
    assert!(hubs.contains("does not accept the token") && hubs.contains("helve join"), "{hubs}");

    let narrow = at_hub.stdout(&["hub", "token", "make", "narrow", "--server", "notes"]);
    let said = spoke.run_with_input(&["join", &hub.url], &narrow);
    assert!(said.contains("hub/notes") && !said.contains("Brave"), "{said}");
}

#[test]
fn hubs_that_lead_to_each_other_come_to_an_end() {
    let [one, two] = [(); 2].map(|()| with_servers(&[("notes", Scenario::dual())], ALLOW));
    let (first, second) = (RunningHub::start(&one), RunningHub::start(&two));
    let token = |env: &TestEnv| format!("{}\n", RunningHub::token(env, "peer"));
    let said = one.run_with_input(&["join", &second.url, "--as", "two"], &token(&two));
    assert!(said.starts_with("exit status 0"), "{said}");
    let said = two.run_with_input(&["join", &first.url, "--as", "one"], &token(&one));
    assert!(said.starts_with("exit status 0"), "{said}");
    // Each takes the other in, within two seconds, and neither grows: a circle is refused, not followed.
    std::thread::sleep(Duration::from_secs(6));
    for env in [&one, &two] {
        let status = env.json(&["hub", "status"]);
        let servers = status["servers"]["all"].as_u64().expect("a number");
        assert!(servers <= 4, "{status}");
    }
    assert!(echoes(&one, "notes/echo") && echoes(&two, "notes/echo"));
}

/// Somebody who plays a hub: says this of its servers, on every connection, and counts who comes.
struct FalseHub {
    url: String,
    came: Arc<AtomicUsize>,
}

impl FalseHub {
    fn new(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (came, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
        let counted = Arc::clone(&came);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (counted, answer) = (Arc::clone(&counted), Arc::clone(&answer));
                std::thread::spawn(move || Self::serve(stream, &counted, &*answer));
            }
        });
        Self { url, came }
    }

    fn serve(mut stream: TcpStream, came: &AtomicUsize, answer: &dyn Fn(&str) -> Vec<u8>) {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        came.fetch_add(1, Ordering::Relaxed);
        let head = String::from_utf8_lossy(&head).into_owned();
        // Whoever had enough has gone.
        drop(stream.write_all(&answer(&head)));
        drop(stream.read(&mut [0; 64]));
    }
}

fn event_stream(list: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: servers\ndata: {list}\n\n").into_bytes()
}

#[test]
fn what_a_hostile_hub_says_is_bounded_and_plain() {
    let name = |name: &str| json!({ "name": name, "lists": "1" });
    let long = "x".repeat(10_000);
    let mut servers: Vec<Value> = [
        "good",
        "good",
        "GOOD",
        "",
        " ",
        "../../etc",
        "<script>alert(1)</script>",
        "a\u{202e}b",
        "a\nb",
        "\u{1b}[31m",
        "own",
        "hub",
        "..",
        "gооd",
        &long,
    ]
    .map(name)
    .into();
    servers.extend([
        json!(1),
        json!({ "name": 2 }),
        json!({ "lists": "1" }),
        json!({ "name": "marked", "lists": "\u{1b}" }),
    ]);
    servers.extend((0..2_000).map(|number| name(&format!("many{number:04}"))));
    let list = json!({ "servers": servers, "rules": [{ "tool": "*", "action": "allow" }] }).to_string();
    let hub = FalseHub::new(move |head| {
        if head.starts_with("GET /feed ") {
            event_stream(&list)
        } else {
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec()
        }
    });
    let spoke = with_servers(&[("own", Scenario::dual())], ALLOW);
    let said = spoke.run_with_input(&["join", &hub.url], "hv_0000000000000000_00\n");
    assert!(said.starts_with("exit status 0"), "{said}");
    let kept = spoke.json(&["hubs", "--json"]);
    let names: Vec<&str> = kept[0]["servers"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(names.len() <= 256, "{}", names.len());
    assert!(names.contains(&"good") && !names.contains(&"GOOD"));
    let plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@/:+ ".contains(&byte));
    assert!(names.iter().all(|name| plain(name) && name.len() <= 64), "{names:?}");
    assert!(!said.contains('\u{1b}') && !said.contains("<script>"));
    assert!(echoes(&spoke, "own/echo"), "a local server does not notice");
    let rules = spoke.stdout(&["rules"]);
    assert!(!rules.contains("hub"), "a hub's rules are its own: {rules}");
}

#[test]
fn a_hostile_hub_gets_no_further() {
    let elsewhere = FalseHub::new(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec());
    let target = elsewhere.url.clone();
    let redirecting = move |_: &str| {
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {target}/feed\r\ncontent-length: 0\r\n\r\n").into_bytes()
    };
    let huge = |_: &str| event_stream(&format!("{{\"servers\":[],\"x\":\"{}\"}}", "x".repeat(1 << 20)));
    let endless = |_: &str| {
        let mut answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ".to_vec();
        answer.resize(4 << 20, b'x');
        answer
    };
    let silent = |_: &str| b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec();
    let nonsense = |_: &str| event_stream("[\"servers\"]");
    let page = |_: &str| b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\n<p/>".to_vec();
    let hubs = [
        FalseHub::new(redirecting),
        FalseHub::new(huge),
        FalseHub::new(endless),
        FalseHub::new(silent),
        FalseHub::new(nonsense),
        FalseHub::new(page),
    ];
    let spoke = with_servers(&[("own", Scenario::dual())], ALLOW);
    for hub in &hubs {
        let started = Instant::now();
        let said = spoke.run_with_input(&["join", &hub.url], "hv_0000000000000000_00\n");
        assert!(!said.starts_with("exit status 0") && !said.contains("hv_"), "{said}");
        assert!(started.elapsed() < PATIENCE / 2, "{said}");
        assert!(hub.came.load(Ordering::Relaxed) > 0);
    }
    assert_eq!(elsewhere.came.load(Ordering::Relaxed), 0, "a token goes nowhere else");
    assert!(
        !spoke.exists("home/.config/helve/helve.toml") || !spoke.read("home/.config/helve/helve.toml").contains("hubs")
    );
}

#[test]
fn a_flood_of_lists_costs_an_innocent_spoke_little() {
    let hub = FalseHub::new(|head| {
        if !head.starts_with("GET /feed ") {
            return b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec();
        }
        let mut answer = event_stream(r#"{"servers":[{"name":"a","lists":"0"}]}"#);
        for number in 0..50_000 {
            let event =
                format!("event: servers\ndata: {{\"servers\":[{{\"name\":\"a\",\"lists\":\"{number}\"}}]}}\n\n");
            answer.extend_from_slice(event.as_bytes());
        }
        answer
    });
    let spoke = with_servers(&[("own", Scenario::dual())], ALLOW);
    assert!(spoke.run_with_input(&["join", &hub.url], "hv_0000000000000000_00\n").starts_with("exit status 0"));
    let mut agent = Agent::new(&spoke, &["serve", "--prefix", "mcp"]);
    let mut slowest = Duration::ZERO;
    for _ in 0..100 {
        let (answer, took) = timed(&mut agent, "mcp__own__echo");
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        slowest = slowest.max(took);
    }
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    assert!(hub.came.load(Ordering::Relaxed) < 100, "it is not asked again and again");
}

/// A hub that was joined in good faith, and turns: whatever its servers answer leads nowhere, ends, and harms nothing local.
#[test]
fn a_hub_that_turns_hostile_harms_nothing_local() {
    const SERVERS: [&str; 6] = ["redirecting", "huge", "babbling", "silent", "lying", "own"];
    let elsewhere = FalseHub::new(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec());
    let target = elsewhere.url.clone();
    let hub = FalseHub::new(move |head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let stream = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        match path.trim_start_matches("/s/").trim_end_matches("/mcp") {
            "/feed" => {
                let servers: Vec<Value> = SERVERS.iter().map(|name| json!({ "name": name, "lists": "1" })).collect();
                event_stream(&json!({ "servers": servers }).to_string())
            }
            "redirecting" => format!(
                "HTTP/1.1 307 Temporary Redirect\r\nlocation: {target}/s/redirecting/mcp\r\ncontent-length: 0\r\n\r\n"
            )
            .into_bytes(),
            "huge" => {
                let mut answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{{\"x\":\"",
                    1_u64 << 34
                )
                .into_bytes();
                answer.resize(64 << 20, b'x');
                answer
            }
            "babbling" => {
                let mut answer = stream.to_vec();
                for number in 0..20_000 {
                    let note = json!({ "jsonrpc": "2.0", "method": "notifications/message",
                        "params": { "level": "error", "data": format!("\u{1b}[31m{number}") } });
                    answer.extend_from_slice(format!("data: {note}\n\n").as_bytes());
                }
                answer
            }
            // An answer to something that was never asked.
            "lying" => {
                let mut answer = stream.to_vec();
                answer.extend_from_slice(b"data: {\"jsonrpc\":\"2.0\",\"id\":\"own\",\"result\":{\"tools\":[]}}\n\n");
                answer
            }
            "silent" => Vec::new(),
            _ => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
        }
    });
    let spoke = with_servers(&[("own", Scenario::dual())], ALLOW);
    assert!(spoke.run_with_input(&["join", &hub.url], "hv_0000000000000000_00\n").starts_with("exit status 0"));
    for server in SERVERS {
        let started = Instant::now();
        let said = spoke.run(&["call", &format!("hub/{server}/echo"), "text=hello", "--timeout", "5s"]);
        assert!(!said.starts_with("exit status 0") && !said.contains("hv_"), "{server}: {said}");
        assert!(!said.contains('\u{1b}'), "{server}: {said:?}");
        assert!(started.elapsed() < PATIENCE / 2, "{server}: {:?} {said}", started.elapsed());
        assert!(echoes(&spoke, "own/echo"), "{server}: a local server does not notice");
    }
    assert_eq!(elsewhere.came.load(Ordering::Relaxed), 0, "a token goes nowhere else");
    // An agent of the spoke has its own servers, whatever the hub's do.
    let mut agent = Agent::new(&spoke, &["serve", "--prefix", "mcp"]);
    let (answer, took) = timed(&mut agent, "mcp__own__echo");
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(took < PATIENCE / 2, "{took:?}");
}

#[test]
fn what_the_hub_asks_reaches_the_person_through_the_agent() {
    // The fake peer's tools are of high risk, which is for the page unless the rule says otherwise.
    let ask = "[[rules]]\ntool = \"notes/echo\"\naction = \"ask\"\nby = \"anyone\"\n";
    let (_at_hub, _hub, spoke) = joined(&format!("{ask}{ALLOW}"), ALLOW);
    let capabilities = json!({ "elicitation": { "form": {} } });
    let mut agent = Agent::with_capabilities(&spoke, &["serve", "--prefix", "mcp"], &capabilities);
    until("the hub is served", || agent.tools().iter().any(|name| name == "mcp__hub__notes__echo"));
    let mut asked = Vec::new();
    let call = json!({ "name": "mcp__hub__notes__echo", "arguments": { "text": "hello" } });
    let answer = agent.ask_answering(
        &json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call }),
        |question| {
            asked.push(question["params"]["message"].as_str().unwrap_or_default().to_owned());
            let properties =
                question["params"]["requestedSchema"]["properties"].as_object().cloned().unwrap_or_default();
            let chosen = properties.iter().map(|(key, schema)| {
                let word = schema["enum"][0].as_str().or(schema["oneOf"][0]["const"].as_str());
                (key.clone(), word.map_or(Value::Bool(true), Value::from))
            });
            json!({ "action": "accept", "content": chosen.collect::<serde_json::Map<_, _>>() })
        },
    );
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("echo"), "{asked:?}");
    assert_ne!(answer["result"]["isError"], true, "{answer}");
}

/// A spoke gives up on a server that says nothing; a hub that holds a call says so again and again.
#[test]
fn a_call_that_the_hub_holds_outlasts_the_spokes_patience() {
    let ask = "[[rules]]\ntool = \"notes/echo\"\naction = \"ask\"\nby = \"page\"\n";
    let impatient = format!("[settings]\ntimeout_seconds = 15\n\n{ALLOW}");
    let (at_hub, _hub, spoke) = joined(&format!("{ask}{ALLOW}"), &impatient);
    let page = Visitor::by(at_hub.stdout(&["hub", "link"]).trim());
    std::thread::scope(|scope| {
        let begun = Instant::now();
        let call = scope.spawn(|| spoke.run(&["call", "hub/notes/echo", "text=hello"]));
        let id = page.waits(1);
        // Longer than the spoke waits for a server that says nothing.
        std::thread::sleep(Duration::from_secs(20).saturating_sub(begun.elapsed()));
        page.clicks(&id, "allow");
        let said = call.join().expect("no panic");
        assert!(said.starts_with("exit status 0") && said.contains("hello"), "{said}");
    });
}
