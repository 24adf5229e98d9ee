//! Programs that call tools: as a person runs them, and as an agent does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use helve_testkit::{Scenario, alive, descendants_of, wait_until_dead};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{ALLOW, PATIENCE, Person, TestEnv, with_servers};

/// Where the system's Python is.
const PATH: &str = "/usr/bin:/bin";
/// How long a program may outlive whoever wanted it.
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// A machine with Python and a server that may be called; `None` where there is none.
fn machine(rules: &str) -> Option<TestEnv> {
    machine_with(Scenario::dual(), rules)
}

#[expect(clippy::print_stdout, reason = "what is not run is told")]
fn machine_with(scenario: Scenario, rules: &str) -> Option<TestEnv> {
    if !Path::new("/usr/bin/python3").exists() {
        println!("not run: there is no /usr/bin/python3");
        return None;
    }
    Some(with_servers(&[("box", scenario)], rules).with_variable("PATH", PATH))
}

/// The same text with its times taken out.
fn timeless(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(last) if word.starts_with("ms") && last.chars().all(|digit| digit.is_ascii_digit()) => *last = "[N]",
            _ => {}
        }
        words.push(word);
    }
    words.join(" ")
}

#[test]
fn a_program_is_run_from_a_file_and_from_stdin() {
    let Some(env) = machine(ALLOW) else { return };
    env.write("project/sum.py", "print('adding')\nsum(device.BoxMCP.echo(n=i)['n'] for i in range(4))\n");
    assert_snapshot!(env.run(&["run", "sum.py"]), @"
    exit status 0
    --- stdout
    adding
    6
    ");
    assert_snapshot!(env.run_with_input(&["run", "-"], "return {'text': 'é'}"), @r#"
    exit status 0
    --- stdout
    {"text":"é"}
    "#);
    let told = env.json(&["run", "--json", "sum.py"]);
    assert_eq!((&told["value"], &told["stdout"], &told["error"]), (&json!(6), &json!("adding\n"), &Value::Null));
    let first = &told["calls"][0];
    assert_eq!((&first["tool"], &first["ok"], &first["code"]), (&json!("box/echo"), &json!(true), &Value::Null));
    assert!(first["ms"].is_u64());
}

#[test]
fn a_failure_says_where_and_what_was_called() {
    let Some(env) = machine(ALLOW) else { return };
    let told = env.run_with_input(&["run", "-"], "device.BoxMCP.echo(n=1)\n[][1]\n");
    assert_snapshot!(timeless(&told), @"
    exit status 5
    --- stderr
    error: IndexError: list index out of range (line 2)
      calls made:
        1: box/echo [N] ms
    ");
    let told = env.run_with_input(&["run", "-"], "device.BoxMCP.ech(n=1)\nimport os\n");
    assert_snapshot!(told, @"
    exit status 5
    --- stderr
    error: the program was not run, and no call was made:
      line 1: `device.BoxMCP` has no tool `ech`: did you mean `echo`?
      line 2: `import os` is not possible: programs have no files and no environment: use a tool, and `pathlib` to put paths together
    ");
}

#[test]
fn a_plan_shows_the_decisions_and_runs_nothing() {
    let rules =
        "[[rules]]\ntool = \"box/echo\"\naction = \"allow\"\n[[rules]]\ntool = \"box/fail\"\naction = \"deny\"\n";
    let Some(env) = machine(rules) else { return };
    let program = "for i in range(3): device.BoxMCP.echo(n=i)\ndevice.BoxMCP.sleep(ms=1)\ndevice.BoxMCP.fail()\n";
    assert_snapshot!(env.run_with_input(&["run", "--plan", "-"], program), @"
    exit status 7
    --- stdout
    line 1: box/echo runs, maybe several times
    line 2: box/sleep asks you
    line 3: box/fail is refused
      `box/fail` may not be called: rule `box/fail` (deny, user layer) at [ROOT]/home/.config/helve/helve.toml:9:8
    --- stderr
    error: the program would not run:
      line 3: `box/fail` is refused (DENIED): it is not allowed by the person's rules
    ");
}

#[test]
fn the_python_of_the_settings_is_used_and_no_projects() {
    let Some(env) = machine(ALLOW) else { return };
    let own = env.read("home/.config/helve/helve.toml");
    env.write("home/.config/helve/helve.toml", &format!("{own}\n[settings.code]\npython = \"/nowhere/python3\"\n"));
    let told = env.run_with_input(&["run", "-"], "1");
    assert!(told.starts_with("exit status 2") && told.contains("`/nowhere/python3`"), "{told}");
    assert!(env.run_with_input(&["run", "--python", "python3", "-"], "1").starts_with("exit status 0"));
    assert!(env.run(&["doctor"]).contains("note code mode needs Python 3.10 or newer: `/nowhere/python3`"));
    env.write("home/.config/helve/helve.toml", &own);
    env.write("project/helve.toml", "[settings.code]\npython = \"/nowhere/python3\"\n");
    let told = env.run_with_input(&["run", "-"], "1");
    assert!(told.contains("a project cannot say `code`") && told.contains("\n1\n"), "{told}");
    assert!(env.run(&["doctor"]).contains("ok   programs run in Python 3."));
}

#[test]
fn a_prompt_keeps_variables_and_lines() {
    let Some(env) = machine(ALLOW) else { return };
    let mut person = Person::at(&env, &["run", "-i"]);
    person.sees(">>> ");
    person.types("x = device.BoxMCP.echo(n=20)['n']\r");
    person.sees(">>> ");
    person.types("x + 1\r");
    person.sees("21");
    person.sees(">>> ");
    // The line before, with one character more.
    person.types("\u{1b}[A0\r");
    person.sees("30");
    person.sees(">>> ");
    person.types("y\r");
    person.sees("NameError");
    person.sees(">>> ");
    person.types("\u{4}");
    assert!(person.sees_the_end().starts_with("exit status 0"));
}

/// An agent that talks to `helve serve` by its streams.
struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    next: u64,
    /// Notifications, in order.
    heard: Vec<Value>,
}

/// What agents see the tool as.
const RUN_CODE: &str = "run_code";

impl Agent {
    fn start(env: &TestEnv, arguments: &[&str]) -> Self {
        let mut command = env.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("helve starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let mut agent = Self { child, stdin, lines: BufReader::new(stdout), next: 0, heard: Vec::new() };
        let client = json!({"name": "agent", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        agent.request("initialize", &params);
        agent.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn write(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("it is not closed");
        stdin.write_all(format!("{message}\n").as_bytes()).expect("helve reads");
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).expect("helve writes text") > 0, "helve ended");
            let message: Value = serde_json::from_str(&line).expect("helve writes JSON");
            if message["id"] == id {
                return message;
            }
            self.heard.push(message);
        }
    }

    fn run_code(&mut self, code: &str) -> Value {
        let params = json!({"name": RUN_CODE, "arguments": {"code": code}, "_meta": {"progressToken": "p"}});
        self.request("tools/call", &params)["result"].clone()
    }

    /// Starts a program that says `here` and then never ends; gives the interpreter's process.
    fn hang(&mut self, code: &str) -> (u64, Vec<u32>) {
        let before = descendants_of(self.child.id());
        let params = json!({"name": RUN_CODE, "arguments": {"code": code}, "_meta": {"progressToken": "p"}});
        let id = self.send("tools/call", &params);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let new: Vec<u32> =
                descendants_of(self.child.id()).into_iter().filter(|process| !before.contains(process)).collect();
            let stat = |process: &u32| fs_err::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            let is_python = |process: &u32| stat(process).contains("(python");
            // It computes: not while it is being started.
            let computes = |process: &u32| {
                let stat = stat(process);
                let used = stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(12)?.parse::<u64>().ok());
                used.is_some_and(|ticks| ticks > 30)
            };
            // A server that starts meanwhile is not the program's.
            let programs: Vec<u32> = new.into_iter().filter(is_python).collect();
            if programs.iter().any(computes) {
                return (id, programs);
            }
            assert!(Instant::now() < deadline, "the program does not compute");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_agent_gets_run_code_beside_the_tools_or_with_the_search_alone() {
    let Some(env) = machine(ALLOW) else { return };
    let names = |arguments: &[&str]| {
        let mut agent = Agent::start(&env, arguments);
        let listed = agent.request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().expect("a list");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["serve", "--discover", "code"]), ["search_tools", RUN_CODE]);
    let beside = names(&["serve", "--code"]);
    assert!(beside.contains(&RUN_CODE.to_owned()) && beside.contains(&"box__echo".to_owned()), "{beside:?}");
    assert!(!names(&["serve"]).contains(&RUN_CODE.to_owned()));
    // Denied, it is not offered.
    let own = env.read("home/.config/helve/helve.toml");
    let denied = format!("[[rules]]\ntool = \"helve/run_code\"\naction = \"deny\"\n{own}");
    env.write("home/.config/helve/helve.toml", &denied);
    assert!(!names(&["serve", "--code"]).contains(&RUN_CODE.to_owned()));
}

#[test]
fn an_agent_hears_how_far_a_program_is() {
    let Some(env) = machine(ALLOW) else { return };
    let mut agent = Agent::start(&env, &["serve", "--code"]);
    agent.request("logging/setLevel", &json!({"level": "info"}));
    let result = agent.run_code("print('one')\ndevice.BoxMCP.echo(n=1)\nprint('two')\n[1, 2]");
    assert_eq!(text(&result), "[1,2]\nprinted:\none\ntwo");
    assert_eq!((&result["structuredContent"], &result["isError"]), (&Value::Null, &Value::Null));
    let of = |method: &str| agent.heard.iter().filter(|heard| heard["method"] == method).collect::<Vec<_>>();
    let progress = of("notifications/progress");
    let message = progress[0]["params"]["message"].as_str().expect("a message");
    assert!(message.starts_with("1: box/echo ") && message.ends_with(" ms"), "{message}");
    let logged: Vec<&Value> = of("notifications/message").iter().map(|heard| &heard["params"]["data"]).collect();
    assert!(logged.contains(&&json!("one")), "{logged:?}");
    let failed = agent.run_code("device.BoxMCP.echo(n=1)\n{}['x']");
    assert_eq!(failed["isError"], true);
    assert_snapshot!(timeless(&text(&failed)), @"
    KeyError: no key 'x' (line 2) (TOOL_ERROR)
    calls made:
    1: box/echo [N] ms
    ");
}

/// C10: what is left to agents is not left to programs, whichever way one gets there.
#[test]
fn what_no_rule_mentions_asks_in_a_program_whatever_is_left_to_agents() {
    let record = |env: &TestEnv| env.home().join("record.jsonl");
    let Some(env) = machine("[settings]\nunlisted = \"allow\"\n") else { return };
    let scenario = Scenario { record_to: Some(record(&env)), ..Scenario::dual() };
    let config =
        format!("[servers.box]\n{}\n[settings]\nunlisted = \"allow\"\n", crate::support::started_by(&scenario));
    env.write("home/.config/helve/helve.toml", &config);
    let programs = [
        "device.BoxMCP.sleep(ms=1)",
        "getattr(device.BoxMCP, 'sle' + 'ep')(ms=1)",
        "f = device.BoxMCP.sleep\nf(ms=1)",
        "import asyncio\nawait asyncio.gather(device.BoxMCP.sleep(ms=1))",
        "devices.local.BoxMCP.sleep(ms=1)",
        "device['box']['sleep'](ms=1)",
        "list(map(lambda m: device.BoxMCP.sleep(ms=m), [1]))",
        "import threading\nt = threading.Thread(target=lambda: device.BoxMCP.sleep(ms=1))\nt.start()\nt.join()\ndevice.BoxMCP.sleep(ms=1)",
    ];
    let doors: [&[&str]; 6] = [
        &["serve", "--code"],
        &["serve", "--code", "--unlisted", "allow"],
        &["serve", "--discover", "code", "--unlisted", "allow"],
        &["serve", "--code", "--manage", "--unlisted", "allow"],
        &["serve", "--code", "--discover", "search", "--unlisted", "allow"],
        &["serve", "--code", "--prefix", "none", "--unlisted", "allow"],
    ];
    for arguments in doors {
        let mut agent = Agent::start(&env, arguments);
        for program in programs {
            for name in [RUN_CODE, "helve__run_code"] {
                let direct = json!({"name": name, "arguments": {"code": program}});
                let answer = agent.request("tools/call", &direct);
                assert!(
                    answer["error"].is_object() || answer["result"]["isError"] == true,
                    "{arguments:?} {program}: {answer}"
                );
                let through = json!({"name": "call_tool", "arguments": {"name": name, "arguments": {"code": program}}});
                let answer = agent.request("tools/call", &through);
                assert!(
                    answer["error"].is_object() || answer["result"]["isError"] == true,
                    "{arguments:?} {program}: {answer}"
                );
            }
        }
    }
    for program in programs {
        assert!(!env.run_with_input(&["run", "-"], program).starts_with("exit status 0"), "{program}");
    }
    let recorded = fs_err::read_to_string(record(&env)).unwrap_or_default();
    assert!(!recorded.contains("tools/call"), "{recorded}");
    // The same tool called directly is left to the agent.
    let mut agent = Agent::start(&env, &["serve", "--code"]);
    let direct = agent.request("tools/call", &json!({"name": "box__sleep", "arguments": {"ms": 1}}));
    assert!(direct["result"].is_object(), "{direct}");
}

/// A program that sits in C code and hears nothing.
const HUNG: &str = "9 ** 9 ** 9";

#[tokio::test]
async fn a_program_that_hangs_ends_with_its_call() {
    let Some(env) = machine(ALLOW) else { return };
    let mut agent = Agent::start(&env, &["serve", "--code"]);
    let (id, processes) = agent.hang(HUNG);
    agent.write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let left = wait_until_dead(&processes, GONE_WITHIN).await;
    assert!(left.is_empty(), "{left:?}");
    // And helve goes on.
    assert_eq!(text(&agent.run_code("1 + 1")), "2");
}

#[tokio::test]
async fn a_program_that_hangs_ends_with_its_client() {
    let Some(env) = machine(ALLOW) else { return };
    let mut agent = Agent::start(&env, &["serve", "--code"]);
    let (_, processes) = agent.hang(HUNG);
    agent.stdin = None;
    let left = wait_until_dead(&processes, GONE_WITHIN).await;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_program_that_hangs_ends_with_helve() {
    let Some(env) = machine(ALLOW) else { return };
    let mut agent = Agent::start(&env, &["serve", "--code"]);
    let (_, processes) = agent.hang(HUNG);
    agent.child.kill().expect("killed");
    let left = wait_until_dead(&processes, GONE_WITHIN).await;
    assert!(left.is_empty(), "{left:?}");
    assert!(!alive(agent.child.id()) || agent.child.wait().is_ok());
}

/// What a program has called is taken back upstream when nobody wants its value any more.
#[tokio::test]
async fn the_calls_of_a_program_are_cancelled_with_it() {
    let Some(env) = machine(ALLOW) else { return };
    let record = env.home().join("record.jsonl");
    let scenario = Scenario { record_to: Some(record.clone()), ..Scenario::dual() };
    let config = format!("[servers.box]\n{}\n{ALLOW}", crate::support::started_by(&scenario));
    env.write("home/.config/helve/helve.toml", &config);
    let mut agent = Agent::start(&env, &["serve", "--code"]);
    let code = "import asyncio\nawait asyncio.gather(*[device.BoxMCP.sleep(ms=600000) for _ in range(3)])";
    let id = agent.send("tools/call", &json!({"name": RUN_CODE, "arguments": {"code": code}}));
    let until = |what: &str, wanted: usize| {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let recorded = fs_err::read_to_string(&record).unwrap_or_default();
            if recorded.matches(what).count() >= wanted {
                return;
            }
            assert!(Instant::now() < deadline, "not {wanted} of {what}:\n{recorded}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    until("tools/call", 3);
    agent.write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    until("notifications/cancelled", 3);
}

/// What is wrong with a program, or goes wrong with its tools: one message that says what, in which line, and what was called.
#[test]
fn bad_input_gets_one_clear_message() {
    let Some(env) = machine(ALLOW) else { return };
    let run = |program: &str| timeless(&env.run_with_input(&["run", "-"], program));
    assert_snapshot!(run("rows = [1, 2\nprint(rows)\n"), @"
    exit status 5
    --- stderr
    error: SyntaxError: '[' was never closed (line 1): rows = [1, 2
      calls made: none
    ");
    assert_snapshot!(run(&format!("x = '{}'\n", "x".repeat(1 << 20))), @"
    exit status 1
    --- stderr
    error: the program has 1048583 bytes, and 65536 are taken at most
    ");
    assert_snapshot!(run("device.BoxMCP.echo(n=1)\ndata = device.BoxMCP.big(bytes=100_000_000)\nlen(data)\n"), @"
    exit status 1
    --- stderr
    error: ToolError: the server's answer is larger than 67108864 bytes (line 2)
      calls made:
        1: box/echo [N] ms
        2: box/big failed (LIMIT_EXCEEDED), [N] ms
    ");
    assert_snapshot!(run("device.BoxMCP.echo(n=1)\ndevice.BoxMCP.exit(status=3)\ndevice.BoxMCP.echo(n=2)\n"), @"
    exit status 3
    --- stderr
    error: ToolError: the server `box` is gone: exited with status 3 (line 2)
      calls made:
        1: box/echo [N] ms
        2: box/exit failed (TRANSPORT_ERROR), [N] ms
    ");
    assert_snapshot!(run("device.BoxMCP.fail(message='no such order')\n"), @"
    exit status 5
    --- stderr
    error: ToolError: no such order (line 1)
      calls made:
        1: box/fail failed (TOOL_ERROR), [N] ms
    ");
}

/// A large result is read whole inside, and leaves as little as the program makes of it.
#[test]
fn a_large_result_is_summed_up_inside() {
    let Some(env) = machine(ALLOW) else { return };
    let mut agent = Agent::start(&env, &["serve", "--code"]);
    let program = "import hashlib\ntext = device.BoxMCP.big(bytes=7_000_000)\n[len(text), hashlib.sha256(text.encode()).hexdigest()]";
    let result = agent.run_code(program);
    let digest = "22cfb1f79469d92ad78d2c1547dfeed12a1b72ceb665bd6154dc32883aa8a34a";
    assert_eq!(text(&result), format!("[7000000,\"{digest}\"]"));
    let whole = agent.run_code("device.BoxMCP.big(bytes=7_000_000)");
    let bytes = whole.to_string().len();
    assert!(whole["isError"].is_null() && bytes <= 41 << 10, "{bytes}");
    let rows = agent.run_code("[{'n': n, 'text': device.BoxMCP.big(bytes=70_000)} for n in range(100)]");
    let bytes = rows.to_string().len();
    assert!(bytes <= 41 << 10, "{bytes}");
    let shown: Value =
        serde_json::from_str(text(&rows).lines().next().unwrap_or_default()).expect("what is cut is still JSON");
    assert_eq!(shown[0]["n"], 0);
}

/// An agent that goes takes its programs with it, and what they called is taken back upstream.
#[tokio::test]
async fn the_calls_of_a_program_are_cancelled_with_its_client() {
    let Some(env) = machine(ALLOW) else { return };
    let record = env.home().join("record.jsonl");
    let scenario = Scenario { record_to: Some(record.clone()), ..Scenario::dual() };
    env.write(
        "home/.config/helve/helve.toml",
        &format!("[servers.box]\n{}\n{ALLOW}", crate::support::started_by(&scenario)),
    );
    for kills in [false, true] {
        drop(fs_err::remove_file(&record));
        let mut agent = Agent::start(&env, &["serve", "--code"]);
        let code = "import asyncio\nawait asyncio.gather(*[device.BoxMCP.sleep(ms=600000) for _ in range(3)])";
        agent.send("tools/call", &json!({"name": RUN_CODE, "arguments": {"code": code}}));
        let deadline = Instant::now() + PATIENCE;
        while fs_err::read_to_string(&record).unwrap_or_default().matches("tools/call").count() < 3 {
            assert!(Instant::now() < deadline, "the calls are not made");
            std::thread::sleep(Duration::from_millis(10));
        }
        let processes = descendants_of(agent.child.id());
        if kills {
            agent.child.kill().expect("killed");
        } else {
            agent.stdin = None;
        }
        // The program at once; servers have a moment to end by themselves.
        let is_python = |process: &u32| {
            fs_err::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default().contains("(python")
        };
        let programs: Vec<u32> = processes.iter().copied().filter(is_python).collect();
        assert!(!programs.is_empty(), "there is a program");
        let left = wait_until_dead(&programs, GONE_WITHIN).await;
        assert!(left.is_empty(), "{left:?}");
        let left = wait_until_dead(&processes, PATIENCE).await;
        assert!(left.is_empty(), "{left:?}");
        // Whoever was killed cannot say anything: then the server itself is gone.
        let recorded = fs_err::read_to_string(&record).unwrap_or_default();
        if !kills {
            assert_eq!(recorded.matches("notifications/cancelled").count(), 3, "{recorded}");
        }
    }
}

/// C10 over HTTP.
#[test]
fn what_no_rule_mentions_asks_in_programs_over_http() {
    let Some(env) = machine("[settings]\nunlisted = \"allow\"\n") else { return };
    let record = env.home().join("record.jsonl");
    let scenario = Scenario { record_to: Some(record.clone()), ..Scenario::dual() };
    let config =
        format!("[servers.box]\n{}\n[settings]\nunlisted = \"allow\"\n", crate::support::started_by(&scenario));
    env.write("home/.config/helve/helve.toml", &config);
    let token = "0123456789abcdef0123456789abcdef";
    let open: &[&str] = &["serve", "--code", "--http", "127.0.0.1:0", "--unlisted", "allow"];
    let closed: &[&str] =
        &["serve", "--discover", "code", "--http", "127.0.0.1:0", "--unlisted", "allow", "--unlisted-tokens"];
    for (arguments, brings) in [(open, None), (closed, Some(token))] {
        let mut command = env.command(arguments);
        command.envs(brings.map(|token| ("HELVE_SERVE_TOKEN", token)));
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
        let mut address = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut address).expect("a line");
        let address = address.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        for program in ["device.BoxMCP.sleep(ms=1)", "getattr(device.BoxMCP, 'sle' + 'ep')(ms=1)"] {
            let answer = crate::running_hub::call_at(&address, brings, RUN_CODE, &json!({"code": program}));
            assert_eq!(answer["result"]["isError"], true, "{arguments:?} {program}: {answer}");
            assert!(answer.to_string().contains("APPROVAL_REQUIRED"), "{answer}");
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
    }
    let recorded = fs_err::read_to_string(record).unwrap_or_default();
    assert!(!recorded.contains("tools/call"), "{recorded}");
}
