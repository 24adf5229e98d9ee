//! What is told when something is not as it should be: files that cannot be used, servers that do not come.

use helve_testkit::Scenario;

use crate::support::{ALLOW, Person, TestEnv, started_by, with_servers};

/// Somebody else's server, and a file of helve's own that denies one of its tools.
fn denying() -> TestEnv {
    let env = TestEnv::new();
    let program = helve_testkit::peer_program();
    let server = serde_json::json!({"command": program.to_string_lossy(), "args": [Scenario::dual().to_json()]});
    env.write("home/.cursor/mcp.json", &serde_json::json!({"mcpServers": {"peer": server}}).to_string());
    env.write("home/.config/helve/helve.toml", "[[rules]]\ntool = \"peer/echo\"\naction = \"deny\"\n");
    env
}

#[test]
fn nothing_runs_by_rules_that_cannot_be_read() {
    let env = denying();
    assert!(env.run(&["call", "peer/echo", "text=x", "--yes"]).starts_with("exit status 7"));
    env.write("home/.config/helve/helve.toml", "[[rules]]\ntool = \"peer/echo\"\naction = \"deny\"\noops = [\n");
    insta::assert_snapshot!(env.run(&["call", "peer/echo", "text=x", "--yes"]), @"
    exit status 2
    --- stderr
    error: this is not TOML: unclosed array, expected `]`
     --> [ROOT]/home/.config/helve/helve.toml:4:9
      |
    4 | oops = [
      |         ^
    error: nothing is started, because ~/.config/helve/helve.toml:4 cannot be used: this is not TOML: unclosed array, expected `]`
    hint: a rule that denies may stand in it: repair it, or move it away
    ");
    for verb in [&["tools"][..], &["servers"], &["serve"], &["keep", "start"], &["read", "peer", "a:b"]] {
        let told = env.run(verb);
        assert!(told.starts_with("exit status 2") && told.contains("helve.toml:4"), "{verb:?}: {told}");
    }
    let doctor = env.run(&["doctor"]);
    assert!(doctor.contains("helve.toml:4") && doctor.contains("nothing is started"), "{doctor}");
    insta::assert_snapshot!(env.run(&["-q"]), @"
    exit status 0
    --- stdout
    SERVER  STATE  VIA    FROM
    peer    on     stdio  ~/.cursor/mcp.json:1
    --- stderr
    error: this is not TOML: unclosed array, expected `]`
     --> [ROOT]/home/.config/helve/helve.toml:4:9
      |
    4 | oops = [
      |         ^
    ");
}

#[test]
fn a_rule_that_makes_no_sense_stops_everything_as_well() {
    let env = denying();
    env.write("home/.config/helve/helve.toml", "[[rules]]\ntool = \"peer/echo\"\naction = \"dney\"\n");
    let told = env.run(&["call", "peer/echo", "text=x", "--yes"]);
    assert!(told.starts_with("exit status 2") && told.contains("helve.toml:3"), "{told}");
}

#[test]
fn a_file_that_cannot_be_read_does_not_count_as_none() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", "");
    fs_err::write(env.home().join(".config/helve/helve.toml"), b"\xff").expect("written");
    insta::assert_snapshot!(env.run(&[]), @"
    exit status 0
    --- stderr
    error: `[ROOT]/home/.config/helve/helve.toml` cannot be read: it is not UTF-8
     --> [ROOT]/home/.config/helve/helve.toml:1:1
    Nothing is started until ~/.config/helve/helve.toml:1 is repaired: rules may stand in it.
    hint: `helve doctor` says what is wrong
    ");
    assert!(env.run(&["call", "time/now"]).starts_with("exit status 2"));
}

#[test]
fn another_applications_broken_file_only_costs_its_servers() {
    let env = with_servers(&[("peer", Scenario::dual())], ALLOW);
    env.write("home/.cursor/mcp.json", "{");
    // C8: not a word of it where it has nothing to do with what is asked.
    insta::assert_snapshot!(env.run(&["call", "peer/echo", "text=x"]), @r#"
    exit status 0
    --- stdout
    {"text":"x"}
    "#);
    for about_peer in [
        &["tools", "peer"][..],
        &["tool", "peer/echo"],
        &["explain", "peer/echo"],
        &["servers", "peer"],
        &["read", "peer", "test://text"],
        &["resources", "peer"],
        &["pin", "peer/echo", "--yes"],
    ] {
        let told = env.output(about_peer, "");
        assert!(!String::from_utf8_lossy(&told.stderr).contains("cursor"), "{about_peer:?}: {told:?}");
    }
    // Where its servers would be, in one line; what is asked for may be in it, in full.
    for about_all in [&["tools"][..], &["servers"], &["resources"]] {
        let told = String::from_utf8(env.output(about_all, "").stderr).unwrap();
        let about_it: Vec<&str> = told.lines().filter(|line| line.contains("cursor") || line.contains('|')).collect();
        assert_eq!(
            about_it,
            ["warning: ~/.cursor/mcp.json:1: this is not JSON: unterminated object (`helve doctor` says more)"],
            "{about_all:?}"
        );
    }
    assert!(env.run(&["call", "other/echo"]).contains("--> [ROOT]/home/.cursor/mcp.json"));
    assert!(env.run(&["-v", "call", "peer/echo", "text=x"]).contains("--> [ROOT]/home/.cursor/mcp.json"));
    assert!(env.run(&[]).contains("--> [ROOT]/home/.cursor/mcp.json"));
}

/// C8: `explain` is about one tool.
#[test]
fn c8_explain_tells_the_problems_of_what_it_explains() {
    let env = with_servers(&[("peer", Scenario::dual())], ALLOW);
    env.write("home/.gemini/settings.json", r#"{"mcpServers": {"gem": {"commnd": "x"}}}"#);
    let told = env.run(&["explain", "peer/echo"]);
    assert!(told.starts_with("exit status 0") && !told.contains("gem"), "{told}");
    assert!(env.run(&["explain", "gem/echo"]).contains("unknown key `commnd`"));
}

/// C8: a name is what people copy.
#[test]
fn c8_names_of_tools_are_never_cut() {
    let long = r#"{"name":"a_tool_whose_name_is_longer_than_half_of_a_narrow_terminal","description":"Does what it says","inputSchema":{"type":"object"}}"#;
    let env = with_servers(&[("peer", Scenario::dual().literal_tool(long))], ALLOW);
    let mut person = Person::at(&env, &["tools", "peer"]);
    person.sees("peer/a_tool_whose_name_is_longer_than_half_of_a_narrow_terminal");
    person.sees_the_end();
}

#[test]
fn only_references_are_shown_of_variables_and_headers() {
    let env = TestEnv::new().with_variable("TOKEN", "hunter2").with_variable("HOST", "db");
    env.write(
        "home/.config/helve/helve.toml",
        r#"[servers.sec]
command = "true"
env = { DATABASE_URL = "postgres://u:hunter2@${HOST}/db", PW = "hunter2", GIVEN = "${TOKEN}", OR = "${TOKEN:-hunter2}" }

[servers.web]
url = "https://example.com/mcp"
headers = { Authorization = "Bearer ${TOKEN}", X-Team = "hunter2" }
"#,
    );
    insta::assert_snapshot!(env.run(&["get", "sec"]), @"
    exit status 0
    --- stdout
    server     sec
    state      on
    from       ~/.config/helve/helve.toml:1 (helve, user layer)
    via        stdio
    command    true
    variables  DATABASE_URL=…${HOST}…
               PW=…
               GIVEN=${TOKEN}
               OR=${TOKEN:-…}
    ");
    insta::assert_snapshot!(env.run(&["get", "web"]), @"
    exit status 0
    --- stdout
    server   web
    state    on
    from     ~/.config/helve/helve.toml:5 (helve, user layer)
    via      http
    address  https://example.com/mcp
    headers  Authorization: Bearer ${TOKEN}
             X-Team: (hidden)
    ");
    for arguments in [&["--json"][..], &["get", "sec", "--json"], &["get", "web", "--json"]] {
        assert!(!env.run(arguments).contains("hunter2"), "{arguments:?}");
    }
}

/// A server that answers nothing, and one that is as it should be.
fn one_that_hangs() -> TestEnv {
    with_servers(&[("good", Scenario::dual()), ("hung", Scenario::dual().never_answers())], ALLOW)
}

#[test]
fn when_the_time_is_over_what_is_there_is_shown() {
    let env = one_that_hangs();
    let servers = env.run(&["servers", "--timeout", "4s"]);
    assert!(servers.starts_with("exit status 4"), "{servers}");
    assert!(servers.contains("good    connected") && servers.contains("hung    failed"), "{servers}");
    assert!(servers.contains("error: not ready within 4 s: `hung`"), "{servers}");

    let tools = env.run(&["tools", "--timeout", "4s"]);
    assert!(tools.starts_with("exit status 4"), "{tools}");
    assert!(tools.contains("good/echo") && tools.contains("`hung`"), "{tools}");

    let doctor = env.run(&["doctor", "--timeout", "4s"]);
    assert!(doctor.starts_with("exit status 4"), "{doctor}");
    assert!(doctor.contains("ok   connected in") && doctor.contains("bad  the server `hung`"), "{doctor}");

    assert!(env.run(&["servers", "hung", "--timeout", "1s"]).starts_with("exit status 4"));
    assert!(env.run(&["call", "hung/echo", "--timeout", "1s"]).starts_with("exit status 4"));
}

#[test]
fn the_time_of_the_command_line_counts_for_servers_that_have_one_of_their_own() {
    let env = TestEnv::new();
    let server = started_by(&Scenario::dual().never_answers());
    env.write("home/.config/helve/helve.toml", &format!("[servers.hung]\n{server}startup_timeout_seconds = 600\n"));
    insta::assert_snapshot!(env.run(&["call", "hung/echo", "--timeout", "1s"]), @"
    exit status 4
    --- stderr
    error: the server `hung` is not available: the server `hung` was not ready within 0.9 s
    hint: a first start may have to download something: try again, or give it more time
    hint: it had 0.9 s to start: `startup_timeout_seconds` of the server `hung` at ~/.config/helve/helve.toml:1 sets that, `--timeout` for one command
    ");
}

#[test]
fn a_required_server_that_fails_is_told_about_and_not_served_without() {
    let env = TestEnv::new();
    let (good, bad) = (started_by(&Scenario::dual()), started_by(&Scenario::dual().exits_at_once(3)));
    env.write(
        "home/.config/helve/helve.toml",
        &format!("[servers.good]\n{good}\n[servers.bad]\n{bad}required = true\n{ALLOW}"),
    );
    let servers = env.run(&["servers"]);
    assert!(servers.starts_with("exit status 0"), "{servers}");
    assert!(servers.contains("good    connected") && servers.contains("bad     failed"), "{servers}");
    let tools = env.run(&["tools"]);
    assert!(tools.starts_with("exit status 0") && tools.contains("good/echo"), "{tools}");
    assert!(env.run(&["doctor"]).contains("exited with status 3"));

    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let served = env.run_with_input(&["serve"], &format!("{hello}\n"));
    assert!(served.starts_with("exit status 3") && served.contains("`required`"), "{served}");
    let served = env.with_variable("HELVE_SERVE_TOKEN", "0123456789").run(&["serve", "--http", "127.0.0.1:0"]);
    assert!(served.starts_with("exit status 3") && served.contains("`required`"), "{served}");
}

#[test]
fn a_server_that_lists_no_tools_is_not_well() {
    let env = TestEnv::new();
    let server = started_by(&Scenario::legacy().scripted("tools/list", ""));
    env.write("home/.config/helve/helve.toml", &format!("[servers.mute]\n{server}startup_timeout_seconds = 3\n"));
    let doctor = env.run(&["doctor"]);
    assert!(doctor.starts_with("exit status 1"), "{doctor}");
    assert!(doctor.contains("but its tools could not be listed"), "{doctor}");
    let server = env.run(&["servers", "mute"]);
    assert!(server.contains("why        its tools could not be listed"), "{server}");
    assert!(env.run(&["tools"]).starts_with("exit status 3"));
}

#[test]
fn the_doctor_knows_rules_that_cannot_be_used() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", "[[rules]]\ntool = \"a/[\"\naction = \"deny\"\n");
    let doctor = env.run(&["doctor"]);
    assert!(doctor.starts_with("exit status 1") && doctor.contains("a/["), "{doctor}");
}

#[test]
fn the_problems_of_other_servers_are_not_told() {
    let env = with_servers(&[("peer", Scenario::dual())], ALLOW);
    let config = env.read("home/.config/helve/helve.toml");
    let other = "[servers.other]\ncommand = \"true\"\nenv = { KEY = \"${NOT_SET}\" }\n";
    env.write("home/.config/helve/helve.toml", &format!("{other}{config}"));
    insta::assert_snapshot!(env.run(&["call", "peer/echo", "text=x"]), @r#"
    exit status 0
    --- stdout
    {"text":"x"}
    "#);
    insta::assert_snapshot!(env.run(&["call", "other/x"]), @r#"
    exit status 2
    --- stderr
    error: server `other` is off: `env.KEY` needs the variable NOT_SET, which is not set
     --> [ROOT]/home/.config/helve/helve.toml:3:15
      |
    3 | env = { KEY = "${NOT_SET}" }
      |               ^^^^^^^^^^^^
      = help: set NOT_SET, or give it a default: `${NOT_SET:-…}`
    "#);
}

#[test]
fn tools_say_by_their_exit_status_whose_are_missing() {
    let bad = Scenario::dual().exits_at_once(3);
    let env = with_servers(&[("good", Scenario::dual()), ("bad", bad.clone())], ALLOW);
    assert!(env.run(&["tools"]).starts_with("exit status 0"));
    assert!(env.run(&["tools", "bad"]).starts_with("exit status 3"));
    assert!(env.run(&["tools", "bad", "bad"]).starts_with("exit status 3"));
    assert!(env.run(&["tools", "good", "bad"]).starts_with("exit status 3"));
    let env = with_servers(&[("bad", bad.clone()), ("worse", bad)], ALLOW);
    assert!(env.run(&["tools"]).starts_with("exit status 3"));
}

#[test]
fn servers_say_how_fast_they_answer() {
    let env = with_servers(&[("good", Scenario::dual())], ALLOW);
    assert!(env.json(&["servers", "--json"])[0]["latencyMs"].is_f64());
    let servers = env.run(&["servers"]);
    assert!(servers.contains("READY IN") && servers.contains("PING"), "{servers}");
    assert!(!servers.contains("RESTARTS") && !servers.contains("LAST ERROR") && !servers.contains("WHY"), "{servers}");
    assert!(env.run(&["servers", "good"]).contains("\nping "));
}

#[test]
fn a_variable_that_a_server_misses_is_named() {
    let env = TestEnv::new();
    env.write(
        "home/.config/helve/helve.toml",
        "[servers.picky]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"echo \\\"KeyError: 'MY_API_KEY'\\\" >&2; exit 1\"]\n",
    );
    let told = env.run(&["call", "picky/x"]);
    let hint = "hint: `MY_API_KEY` is not set: set it, and pass it on with `pass = [\"MY_API_KEY\"]` under `[environment.picky]`";
    assert!(told.contains(hint), "{told}");
}

/// C6: whichever application's file it is in, and whenever it ends; and the hint leads out.
#[test]
fn c6_a_variable_that_is_withheld_is_passed_on_by_the_persons_own_file() {
    let env = TestEnv::new().with_variable("TOKEN", "hunter2");
    let script = "read line; [ -n \"$TOKEN\" ] || { echo \"KeyError: 'TOKEN'\" >&2; exit 3; }; \
                  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"it has it\"}}'; read line";
    let server = serde_json::json!({"command": "/bin/sh", "args": ["-c", script]});
    env.write("home/.cursor/mcp.json", &serde_json::json!({"mcpServers": {"picky": server}}).to_string());
    let told = env.run(&["call", "picky/x"]);
    assert!(told.contains("hint: `TOKEN` is set here and was withheld from the server: pass it on with `pass = [\"TOKEN\"]` under `[environment.picky]`"), "{told}");
    env.write("home/.config/helve/helve.toml", "[environment.picky]\npass = [\"TOKEN\"]\n");
    let told = env.run(&["call", "picky/x"]);
    assert!(!told.contains("withheld") && told.contains("it has it"), "{told}");
    assert!(env.stdout(&["get", "picky"]).contains("TOKEN=${TOKEN}"));
}

#[test]
fn a_misspelled_name_does_not_wait_for_servers_that_hang() {
    let env = one_that_hangs();
    let told = env.run(&["call", "echoo", "text=x"]);
    assert!(told.starts_with("exit status 5"), "{told}");
    assert!(told.contains("did you mean `good/echo`?"), "{told}");
    assert!(
        told.contains("hint: not heard of yet: `hung`; to wait for one of them, name it: `SERVER/echoo`"),
        "{told}"
    );
    assert!(env.run(&["call", "echo", "text=x"]).starts_with("exit status 0"));
}

#[test]
fn addresses_that_lead_nowhere_are_not_written_down() {
    let env = TestEnv::new();
    for address in ["ftp://example.com", "https://", "http:///path"] {
        let told = env.run(&["add", "x", address]);
        assert!(told.starts_with("exit status 2"), "{told}");
    }
    assert!(!env.exists("home/.config/helve/helve.toml"));
}

#[test]
fn help_is_a_verb_too() {
    let env = TestEnv::new();
    assert_eq!(env.stdout(&["help", "call"]), env.stdout(&["call", "--help"]));
    assert_eq!(env.stdout(&["help"]), env.stdout(&["--help"]));
}

#[test]
fn limits_of_calls_and_results_can_be_set() {
    let env = with_servers(&[("peer", Scenario::dual())], ALLOW);
    let config = env.read("home/.config/helve/helve.toml");
    let settings = "[settings]\ncalls_per_server = 1\nresult_bytes = 100\nresult_cache_seconds = 60\ncacheable_tools = [\"peer/echo\"]\n";
    env.write("home/.config/helve/helve.toml", &format!("{settings}{config}"));
    assert!(env.run(&["call", "peer/echo", "text=x"]).starts_with("exit status 0"));
    env.write("home/.config/helve/helve.toml", &format!("[settings]\ncalls_per_server = 0\n{config}"));
    assert!(env.run(&["call", "peer/echo", "text=x"]).starts_with("exit status 2"));
}

#[test]
fn c5_the_doctor_knows_what_is_off_and_what_is_there_twice() {
    let env = TestEnv::new();
    env.write(
        "home/.config/helve/helve.toml",
        "[servers.off]\ncommand = \"true\"\nenabled = false\nenv = { X = \"${NOPE}\" }\n",
    );
    assert!(env.run(&["doctor", "off"]).starts_with("exit status 0"));
    let env = TestEnv::new();
    env.write("home/.mcp.json", r#"{"mcpServers": {"twice": {"command": "true"}, "twice": {"command": "false"}}}"#);
    let told = env.run(&["doctor", "twice"]);
    assert!(told.starts_with("exit status 1") && told.contains("is configured twice in this file"), "{told}");
}

/// G7: a server that declares nothing is not asked for anything, and that is not a healthy state.
#[test]
fn g7_the_doctor_says_when_a_server_declares_nothing() {
    let scripted = r#"{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"}}}"#;
    let env = with_servers(&[("bare", Scenario::legacy().scripted("initialize", &format!("{scripted}\n")))], "");
    let told = env.run(&["doctor", "bare"]);
    assert!(told.starts_with("exit status 1"), "{told}");
    assert!(told.contains("0 tools: it does not say that it offers anything"), "{told}");
    assert!(told.contains(r#"its answer to `initialize` has to say `"capabilities": {"tools": {}}`"#), "{told}");
}
