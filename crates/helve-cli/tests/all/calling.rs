//! `helve call`, `expand` and the verbs that look at tools, against servers that behave and servers that do not.

use std::time::{Duration, Instant};

use helve_testkit::{Scenario, descendants_of, wait_until_dead};
use serde_json::json;

use crate::itself::Agent;
use crate::support::{ALLOW, Person, TestEnv, started_by, with_servers};

/// Long enough for a loaded machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn the_first_command_of_the_readme() {
    let env = TestEnv::new();
    env.write("project/README.md", "# A project\n");
    insta::assert_snapshot!(env.run(&["call", "filesystem/read_file", "path=README.md"]), @r"
    exit status 0
    --- stdout
    # A project
    ");
}

#[test]
fn words_are_read_as_the_schema_wants_them() {
    let schema = r#"{"name":"echo","inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"array","items":{"type":"number"}}}}}"#;
    let env = with_servers(&[("math", Scenario::dual().hide_builtin_tools().literal_tool(schema))], ALLOW);
    env.write("project/text.txt", "12");
    let call = |words: &[&str]| {
        let arguments: Vec<&str> = ["call", "--raw"].into_iter().chain(words.iter().copied()).collect();
        env.run(&arguments)
    };
    insta::assert_snapshot!(call(&["math/echo", "a=1", "b=2", "c:=[1,2.5]"]), @r#"
    exit status 0
    --- stdout
    {"content":[{"type":"text","text":"{\"a\":1,\"b\":\"2\",\"c\":[1,2.5]}"}],"structuredContent":{"a":1,"b":"2","c":[1,2.5]},"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"helve-testkit","title":"Fake peer","version":"0.1.0"}}}
    "#);
    insta::assert_snapshot!(call(&["math.echo", "a=1", "b=@text.txt"]), @r#"
    exit status 0
    --- stdout
    {"content":[{"type":"text","text":"{\"a\":1,\"b\":\"12\"}"}],"structuredContent":{"a":1,"b":"12"},"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"helve-testkit","title":"Fake peer","version":"0.1.0"}}}
    "#);
    insta::assert_snapshot!(call(&["math", "echo", "a=one"]), @r#"
    exit status 2
    --- stderr
    error: invalid arguments for echo: 1 problem
        `a=one`: expected an integer, got "one"
      usage: echo(a: integer, b?: string, c?: number[])
    hint: `helve tool math/echo` shows the whole schema
    "#);
    let told = env.json(&["call", "math/echo", "a=one", "--json"]);
    let expected = env.json(&["call", "math/echo", "--args", r#"{"a": "one"}"#, "--json"]);
    for member in ["code", "server", "tool", "hints"] {
        assert_eq!(told[member], expected[member], "{told}");
    }
    insta::assert_snapshot!(call(&["math/echo", "b=x"]), @r"
    exit status 2
    --- stderr
    error: invalid arguments for echo: 1 problem
        missing property `a` (integer)
      usage: echo(a: integer, b?: string, c?: number[])
    hint: `helve tool math/echo` shows the whole schema
    ");
    insta::assert_snapshot!(call(&["math/echo", "--args", "{\"a\": 9007199254740993}"]), @r#"
    exit status 0
    --- stdout
    {"content":[{"type":"text","text":"{\"a\": 9007199254740993}"}],"structuredContent":{"a": 9007199254740993},"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"helve-testkit","title":"Fake peer","version":"0.1.0"}}}
    "#);
    insta::assert_snapshot!(call(&["math/echo", "--args", "nonsense"]), @r#"
    exit status 2
    --- stderr
    error: the arguments are not valid JSON
      cause: expected ident at line 1 column 2
    hint: --args '{"key": "value"}', --args @FILE or --args -
    "#);
    insta::assert_snapshot!(env.run_with_input(&["call", "math/echo", "--args", "-"], "{\"a\": 3}"), @r#"
    exit status 0
    --- stdout
    {"a": 3}
    "#);
}

#[test]
fn unknown_names_come_with_what_is_near() {
    let env = with_servers(&[("files", Scenario::dual())], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "files/ecco"]), @r"
    exit status 5
    --- stderr
    error: the server `files` has no tool `ecco`
    hint: did you mean `files/echo` or `files/exit` or `files/ask`?
    ");
    insta::assert_snapshot!(env.run(&["call", "filez/echo"]), @r"
    exit status 5
    --- stderr
    error: there is no server `filez`
    hint: did you mean `files/echo` or `files/exit`?
    ");
    insta::assert_snapshot!(env.json(&["call", "files/ecco", "--json"])["code"], @r#""TOOL_NOT_FOUND""#);
}

#[test]
fn a_tool_that_fails_has_an_exit_status_of_its_own() {
    let env = with_servers(&[("files", Scenario::dual())], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "files/fail", "message=disk full"]), @r"
    exit status 5
    --- stdout
    disk full
    --- stderr
    error: `files/fail` says that it failed
    ");
    insta::assert_snapshot!(env.run(&["call", "files/fail", "message=disk full", "--json"]), @r#"
    exit status 5
    --- stdout
    {
      "content": [
        {
          "text": "disk full",
          "type": "text"
        }
      ],
      "isError": true,
      "resultType": "complete",
      "_meta": {
        "io.modelcontextprotocol/serverInfo": {
          "name": "helve-testkit",
          "title": "Fake peer",
          "version": "0.1.0"
        }
      }
    }
    "#);
}

#[test]
fn what_nobody_allowed_is_refused_in_a_script_and_a_yes_is_a_yes() {
    let denied = "[[rules]]\ntool = \"files/fail\"\naction = \"deny\"\n";
    let env = with_servers(&[("files", Scenario::dual())], denied);
    insta::assert_snapshot!(env.run(&["call", "files/echo", "a=1"]), @"
    exit status 7
    --- stderr
    error: `files/echo` needs an approval and nobody is there to ask: no rule or list mentions it
    hint: to allow it once, run `helve call files/echo` at a terminal and answer, or add `--yes`
    hint: to allow it for good: `helve allow files/echo`
    ");
    insta::assert_snapshot!(env.run(&["call", "files/echo", "a=1", "--yes"]), @r#"
    exit status 0
    --- stdout
    {"a":"1"}
    "#);
    insta::assert_snapshot!(env.run(&["call", "files/fail", "--yes"]), @"
    exit status 7
    --- stderr
    error: `files/fail` may not be called: rule `files/fail` (deny, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8
    hint: to allow it for good: `helve allow files/fail`
    ");
}

#[test]
fn images_and_sounds_are_saved_and_named() {
    let env = with_servers(&[("media", Scenario::dual())], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "media/contents", "--save", "out"]), @r#"
    exit status 0
    --- stdout
    some text
    [image image/png, 8 bytes: [ROOT]/project/out/contents-2.png]
    [audio audio/wav, 4 bytes: [ROOT]/project/out/contents-3.wav]
    [resource test://text "text"]
    embedded
    [content of unknown kind "hologram"]
    "#);
}

#[test]
fn everything_is_bounded_by_the_time_out() {
    let hung = Scenario::dual().never_answers();
    let env = with_servers(&[("slow", Scenario::dual()), ("hung", hung)], ALLOW);
    // C5: whose it was, and that it may have run.
    let call = ["call", "slow/sleep", "ms=600000", "--timeout", "2s", "--json"];
    let told = env.json(&call);
    assert_eq!((&told["code"], &told["server"], &told["tool"]), (&json!("TIMEOUT"), &json!("slow"), &json!("sleep")));
    assert_eq!(told["may_have_run"], true, "{told}");
    assert!(env.run(&call).starts_with("exit status 4"));
    let started = Instant::now();
    insta::assert_snapshot!(env.run(&["call", "hung/echo", "--timeout", "500ms"]), @"
    exit status 4
    --- stderr
    error: the server `hung` is not available: the server `hung` was not ready within 0.45 s
    hint: a first start may have to download something: try again, or give it more time
    hint: it had 0.45 s to start: `startup_timeout_seconds` of the server `hung` at ~/.config/helve/helve.toml:5 sets that, `--timeout` for one command
    ");
    assert!(started.elapsed() < PATIENCE);
}

/// G7: what the server wrote instead of an answer is named, on one line, when the time of the whole is over.
#[test]
fn g7_the_time_out_names_the_line_that_could_not_be_read() {
    let env = with_servers(&[("garbled", Scenario::legacy())], ALLOW);
    let line = r#"{"text": "this is \u001b[2J no JSON\n"}"#;
    insta::assert_snapshot!(env.run(&["call", "garbled/raw", "--args", line, "--timeout", "2s"]), @r"
    exit status 4
    --- stderr
    error: timed out after 2 s
      cause: it wrote a line that is not a message of the protocol: this is \u{1b}[2J no JSON
    hint: `--timeout` sets how long everything may take
    ");
}

#[test]
fn a_server_that_does_not_start_says_why_and_the_others_go_on() {
    let env = with_servers(&[("good", Scenario::dual()), ("bad", Scenario::dual().exits_at_once(3))], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "good/echo", "a=1"]), @r#"
    exit status 0
    --- stdout
    {"a":"1"}
    "#);
    let bad = env.run(&["call", "bad/echo"]);
    assert!(bad.starts_with("exit status 3"), "{bad}");
    assert!(bad.contains("exited with status 3"), "{bad}");
    let tools = env.output(&["tools"], "");
    assert!(tools.status.success());
    assert!(String::from_utf8_lossy(&tools.stdout).contains("good/echo"));
    assert!(String::from_utf8_lossy(&tools.stderr).contains("`bad` is not available"));
}

#[test]
fn kept_lists_start_nothing() {
    let env = with_servers(&[], ALLOW);
    let scenario = Scenario::dual().hide_builtin_tools().generated_tools(2, 64).to_json();
    let program = helve_testkit::peer_program();
    env.write("project/server.sh", &format!("#!/bin/sh\nexec '{}' '{scenario}'\n", program.display()));
    let script = env.project().join("server.sh");
    env.write(
        "home/.config/helve/helve.toml",
        &format!("[servers.kept]\ncommand = \"/bin/sh\"\nargs = [\"{}\"]\n{ALLOW}", script.display()),
    );
    let asked = env.run(&["tools"]);
    // Whoever starts it now gets nothing.
    env.write("project/server.sh", "exit 1\n");
    assert_eq!(env.run(&["tools"]), asked);
    insta::assert_snapshot!(asked, @r"
    exit status 0
    --- stdout
    TOOL        WHAT IT DOES
    kept/gen_0  Tool number 0.
    kept/gen_1  Tool number 1.
    ");
    let tool = env.run(&["tool", "kept/gen_0"]);
    assert!(tool.starts_with("exit status 0"), "{tool}");
    assert!(env.run(&["tools", "--refresh"]).contains("`kept` is not available"));
    assert!(env.run(&["call", "kept/gen_0"]).starts_with("exit status 3"));
}

/// G6: a server that wants its list asked for again at once (every server of one SDK does) costs people nothing; programs
/// and models get what it says now.
#[test]
fn g6_lists_that_are_never_fresh_are_shown_to_people_with_their_age() {
    let frame = |tool: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"resultType":"complete","tools":[{{"name":"{tool}","description":"First","inputSchema":{{"type":"object"}}}}],"ttlMs":0,"cacheScope":"private"}}}}"#
        )
    };
    let env = with_servers(&[], ALLOW);
    let program = helve_testkit::peer_program();
    let script = env.project().join("server.sh");
    let serve = |tool: &str| {
        let scenario = Scenario::modern().scripted("tools/list", &format!("{}\n", frame(tool))).to_json();
        env.write("project/server.sh", &format!("#!/bin/sh\nexec '{}' '{scenario}'\n", program.display()));
    };
    serve("one");
    env.write(
        "home/.config/helve/helve.toml",
        &format!("[servers.kept]\ncommand = \"/bin/sh\"\nargs = [\"{}\"]\n{ALLOW}", script.display()),
    );
    let shown = "TOOL      WHAT IT DOES\nkept/one  First\n";
    let asked = env.output(&["tools"], "");
    assert_eq!((String::from_utf8_lossy(&asked.stdout).as_ref(), asked.stderr.is_empty()), (shown, true), "{asked:?}");

    // Whoever starts it now gets nothing.
    env.write("project/server.sh", "exit 1\n");
    let kept = env.output(&["tools", "kept"], "");
    assert_eq!(String::from_utf8_lossy(&kept.stdout), shown, "{kept:?}");
    let told = String::from_utf8_lossy(&kept.stderr);
    assert!(told.starts_with("as listed ") && told.ends_with(" ago: `kept` (`--fresh` asks again)\n"), "{told}");
    assert!(env.run(&["tool", "kept/one"]).starts_with("exit status 0"));
    assert!(env.stdout(&["__complete", "fish", "--", "helve", "call", "kept/"]).contains("kept/one"));
    for asks in [&["tools", "--fresh"][..], &["tools", "--json", "kept"], &["tools", "--format", "anthropic"]] {
        assert!(env.run(asks).starts_with("exit status 3"), "{asks:?}");
    }
    // What connects anyway refreshes it; what is not in an older list is asked for.
    serve("two");
    assert!(env.run(&["tool", "kept/two"]).starts_with("exit status 0"));
    env.run(&["servers"]);
    env.write("project/server.sh", "exit 1\n");
    assert!(env.stdout(&["tools", "kept"]).contains("kept/two"));
}

#[test]
fn tools_for_models_and_languages() {
    let schema = r#"{"name":"add","description":"Adds.","inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}}"#;
    let env = with_servers(&[("math", Scenario::dual().hide_builtin_tools().literal_tool(schema))], ALLOW);
    insta::assert_snapshot!(env.run(&["tools", "--format", "python"]), @r#"
    exit status 0
    --- stdout
    def mcp__math__add(a: int):
        """Adds."""
    "#);
    insta::assert_snapshot!(env.run(&["tools", "--format", "typescript"]), @r"
    exit status 0
    --- stdout
    /** Adds. */
    declare function mcp__math__add(args: { a: number }): Promise<unknown>;
    ");
    insta::assert_snapshot!(env.run(&["tools", "--format", "anthropic"]), @r#"
    exit status 0
    --- stdout
    [{"name":"mcp__math__add","description":"Adds.","input_schema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}]
    "#);
    insta::assert_snapshot!(env.run(&["tool", "math/add"]), @r#"
    exit status 0
    --- stdout
    math/add
      add(a: integer)

    Adds.

    spelled   math/add  math:add  mcp__math__add  device.MathMCP.add
    risk      high
    called by an agent: allowed (rule `*/*` (allow, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8)
    called by you: allowed (rule `*/*` (allow, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8)

    takes
    {
      "type": "object",
      "required": [
        "a"
      ],
      "properties": {
        "a": {
          "type": "integer"
        }
      }
    }
    "#);
    insta::assert_snapshot!(env.run(&["explain", "math/add", "a=1"]), @r"
    exit status 0
    --- stdout
    tool math/add, called by an agent, high risk: allow
    because rule `*/*` (allow, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8
      => rule `*/*` (allow, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8
           decides: allow
       - otherwise: no rule or list mentions it
           not reached
    ");
    insta::assert_snapshot!(env.run(&["tools", "--json"]), @r#"
    exit status 0
    --- stdout
    [
      {
        "description": "Adds.",
        "inputSchema": {
          "properties": {
            "a": {
              "type": "integer"
            }
          },
          "required": [
            "a"
          ],
          "type": "object"
        },
        "name": "math/add",
        "server": "math",
        "tool": "add"
      }
    ]
    "#);
}

#[test]
fn tags_become_results_and_a_failure_stays_where_it_happened() {
    let env = with_servers(&[("files", Scenario::dual())], ALLOW);
    let prompt = "Look: [use-mcp:files/echo:{\"a\": [1, \"]\"]}] and [use-mcp:gone/x:{}].\n";
    insta::assert_snapshot!(env.run_with_input(&["expand"], prompt), @r#"
    exit status 0
    --- stdout
    Look: {"a": [1, "]"]} and [mcp-error gone/x: SERVER_NOT_FOUND: there is no server `gone`].
    --- stderr
    warning: there is no server `gone`
    hint: `helve tools` lists what there is
    "#);
    insta::assert_snapshot!(env.run_with_input(&["expand", "--strict"], prompt), @r"
    exit status 5
    --- stderr
    error: there is no server `gone`
    hint: `helve tools` lists what there is
    ");
    env.write("project/prompt.md", "\\[use-mcp:files/echo] stays, [use-mcp:files/echo] does not\n");
    insta::assert_snapshot!(env.run(&["expand", "prompt.md"]), @r"
    exit status 0
    --- stdout
    [use-mcp:files/echo] stays, {} does not
    ");
}

#[test]
fn a_changed_definition_is_refused_until_it_is_accepted() {
    let tool = |text: &str| {
        let definition = format!(r#"{{"name":"echo","description":"{text}","inputSchema":{{"type":"object"}}}}"#);
        Scenario::dual().hide_builtin_tools().literal_tool(&definition)
    };
    let env = with_servers(&[("files", tool("Reads."))], ALLOW);
    insta::assert_snapshot!(env.run(&["pin", "files", "--yes"]), @r"
    exit status 0
    --- stdout
    files/echo  new
    --- stderr
    1 tool pinned.
    ");
    let config = format!("[servers.files]\n{}\n{ALLOW}", started_by(&tool("Reads, and tells nobody.")));
    env.write("home/.config/helve/helve.toml", &config);
    insta::assert_snapshot!(env.run(&["call", "files/echo"]), @r"
    exit status 7
    --- stderr
    error: `files/echo` may not be called: its definition is not the one that was pinned
    hint: `helve pin files/echo` shows what changed, and asks whether to accept it
    ");
    // What is shown is what a call meets.
    insta::assert_snapshot!(env.run(&["explain", "files/echo"]), @r"
    exit status 0
    --- stdout
    tool files/echo, called by an agent, high risk: deny
    because its definition is not the one that was pinned
      => the definition that was pinned
           decides: deny
       - rule `*/*` (allow, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8
           not reached
       - otherwise: no rule or list mentions it
           not reached
    hint: `helve pin files/echo` shows what changed, and asks whether to accept it
    ");
    let shown = env.json(&["tool", "files/echo", "--json"]);
    assert_eq!(shown["decision"]["agent"]["action"], "deny", "{shown}");
    // S11: people see that it changed, and a model is not given what it says now.
    insta::assert_snapshot!(env.run(&["tools"]), @r"
    exit status 0
    --- stdout
    TOOL        WHAT IT DOES
    files/echo  changed since it was pinned; agents do not see it (`helve pin files/echo`)
    ");
    assert_eq!(env.json(&["tools", "--json"])[0]["changed_since_pinned"], true);
    insta::assert_snapshot!(env.run(&["tools", "--format", "anthropic"]), @r"
    exit status 0
    --- stdout
    []
    --- stderr
    warning: files/echo is left out: it changed since it was pinned
    ");
    assert!(env.run(&["doctor"]).contains("files/echo: its definition is not the one that was pinned"));
    insta::assert_snapshot!(env.run(&["pin", "files"]), @r#"
    exit status 7
    --- stdout
    files/echo  changed
      the description changed from "Reads." to "Reads, and tells nobody."
    --- stderr
    error: there is no terminal to ask at
    hint: say yes beforehand with `--yes`
    "#);
    insta::assert_snapshot!(env.run(&["pin", "files", "--yes"]), @r#"
    exit status 0
    --- stdout
    files/echo  changed
      the description changed from "Reads." to "Reads, and tells nobody."
    --- stderr
    1 tool pinned.
    "#);
    assert!(env.run(&["call", "files/echo"]).starts_with("exit status 0"));
    assert!(env.run(&["tools"]).contains("Reads, and tells nobody."));
    assert_eq!(env.json(&["explain", "files/echo", "--json"])["action"], "allow");
    insta::assert_snapshot!(env.run(&["pin", "files/ecco"]), @r"
    exit status 5
    --- stderr
    error: the server `files` has no tool `ecco`
    hint: `helve tools files` lists what there is
    ");
}

/// A running gateway does not list it, hears that it was accepted, and announces it.
#[test]
fn s11_accepting_a_changed_definition_reaches_agents() {
    let tool = |text: &str| {
        let definition = format!(r#"{{"name":"echo","description":"{text}","inputSchema":{{"type":"object"}}}}"#);
        Scenario::dual().hide_builtin_tools().literal_tool(&definition)
    };
    let env = with_servers(&[("files", tool("Reads."))], ALLOW);
    assert!(env.run(&["pin", "files", "--yes"]).starts_with("exit status 0"));
    let changed = format!("[servers.files]\n{}\n{ALLOW}", started_by(&tool("Reads, and tells nobody.")));
    env.write("home/.config/helve/helve.toml", &changed);
    let mut agent = Agent::new(&env, &["serve", "--wait", "30s", "--prefix", "none"]);
    assert!(!agent.tools().contains(&"echo".to_owned()));
    assert!(env.run(&["pin", "files", "--yes"]).starts_with("exit status 0"));
    agent.hear("notifications/tools/list_changed");
    assert!(agent.tools().contains(&"echo".to_owned()));
}

/// A yes for good is shown where it decides, and where it no longer does.
#[test]
fn approvals_are_part_of_the_explanation() {
    let env = with_servers(&[("files", Scenario::dual())], "");
    let explain = || env.json(&["explain", "files/fail", "--caller", "tag", "--json"]);
    assert_eq!(explain()["action"], "ask");
    env.write("project/prompt.md", "[use-mcp:files/fail]");
    let mut person = Person::at(&env, &["expand", "prompt.md"]);
    person.sees("[n]o?");
    person.types("always\n");
    drop(person.sees_the_end());
    let allowed = explain();
    assert_eq!(allowed["action"], "allow", "{allowed}");
    assert_eq!(allowed["because"], "a person approved it for good", "{allowed}");
    let steps = allowed["steps"].as_array().expect("a list");
    assert_eq!(steps.last().expect("a step")["what"], "what was approved before", "{allowed}");
    let shown = env.json(&["tool", "files/fail", "--json"]);
    assert_eq!(shown["decision"]["agent"]["action"], "allow", "{shown}");
}

/// Whoever may be about to do it twice is told.
#[test]
fn a_server_that_dies_in_a_call_may_have_run_it() {
    let env = with_servers(&[("files", Scenario::dual())], ALLOW);
    insta::assert_snapshot!(env.run(&["call", "files/exit", "status=9"]), @r"
    exit status 3
    --- stderr
    error: the server `files` is gone: exited with status 9
    hint: it wrote nothing to stderr; run the command by hand to see what it does
    hint: the call may have run: look before you repeat it
    ");
    let told = env.json(&["call", "files/exit", "status=9", "--json"]);
    assert_eq!(told["may_have_run"], true, "{told}");
    let told = env.json(&["call", "files/nothing", "--json"]);
    assert_eq!(told.get("may_have_run"), None, "{told}");
}

#[test]
fn log_lines_show_what_is_said() {
    let env = with_servers(&[("files", Scenario::dual())], ALLOW).with_variable("HELVE_LOG", "helve_wire=debug");
    let lines = env.run(&["call", "files/echo", "a=secret"]);
    assert!(lines.contains("sent request server=\"files\"") && lines.contains("method=tools/call"), "{lines}");
    assert!(lines.contains("heard answer server=\"files\""), "{lines}");
    assert_eq!(lines.matches("secret").count(), 1, "only in the result: {lines}");
    let env = with_servers(&[("files", Scenario::dual())], ALLOW).with_variable("HELVE_LOG", "helve_wire=trace");
    let lines = env.run(&["call", "files/echo", "a=text"]);
    assert!(lines.contains("\"arguments\":{\"a\":\"text\"}"), "{lines}");
}

#[test]
fn servers_and_doctor_say_how_things_are() {
    let env = with_servers(&[("good", Scenario::modern()), ("bad", Scenario::dual().exits_at_once(3))], ALLOW);
    let servers = env.json(&["servers", "--json"]);
    assert_eq!(servers[0]["name"], "bad");
    assert_eq!(servers[0]["state"], "failed");
    assert_eq!(servers[1]["state"], "connected");
    assert_eq!(servers[1]["era"], "modern");
    let doctor = env.run(&["doctor"]);
    assert!(doctor.starts_with("exit status 1"), "{doctor}");
    assert!(doctor.contains("exited with status 3"), "{doctor}");
    // What to do first stands last, in one line.
    assert!(doctor.lines().last().is_some_and(|line| line.starts_with("To do first: bad: ")), "{doctor}");
    assert!(env.run(&["servers", "bad"]).starts_with("exit status 3"));
}

#[cfg(warden)]
#[tokio::test]
async fn interrupted_the_call_is_cancelled_and_the_server_ends() {
    let env = with_servers(&[("slow", Scenario::dual())], ALLOW);
    let mut child = env.command(&["call", "slow/sleep", "ms=600000"]).spawn().expect("started");
    let servers = wait_for_descendants(child.id(), 2);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("there");
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    let left = wait_until_dead(&servers, PATIENCE).await;
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(warden)]
#[tokio::test]
async fn killed_it_leaves_no_server_behind() {
    let env = with_servers(&[("slow", Scenario::dual())], ALLOW);
    let mut child = env.command(&["call", "slow/sleep", "ms=600000"]).spawn().expect("started");
    let servers = wait_for_descendants(child.id(), 2);
    child.kill().expect("there");
    drop(child.wait());
    let left = wait_until_dead(&servers, PATIENCE).await;
    assert!(left.is_empty(), "{left:?}");
}

/// The warden and the server behind it, once there are so many.
#[cfg(warden)]
fn wait_for_descendants(pid: u32, at_least: usize) -> Vec<u32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = descendants_of(pid);
        if found.len() >= at_least {
            return found;
        }
        assert!(Instant::now() < deadline, "no server was started");
        std::thread::yield_now();
    }
}

#[test]
fn c5_a_server_whose_entry_has_a_mistake_is_a_matter_of_configuration() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", "[servers.bad]\ncommnd = \"x\"\n");
    assert!(env.run(&["call", "bad/x"]).starts_with("exit status 2"));
    assert_eq!(env.json(&["call", "bad/x", "--json"])["code"], "CONFIG");
}

#[test]
fn c5_names_of_signatures_and_devices_can_be_called() {
    let env = with_servers(&[("brave-search", Scenario::dual()), ("brave_search", Scenario::dual())], ALLOW);
    let listed = env.stdout(&["tools", "brave-search", "--format", "python"]);
    assert!(listed.contains("def mcp__brave_u2d_search__echo("), "{listed}");
    assert!(env.run(&["call", "mcp__brave_u2d_search__echo", "a=1"]).starts_with("exit status 0"));
    insta::assert_snapshot!(env.run(&["call", "device.BraveSearchMCP.echo"]), @"
    exit status 5
    --- stderr
    error: several servers have a tool `device.BraveSearchMCP.echo`
    hint: say which one: `brave-search/echo`, `brave_search/echo`
    ");
    insta::assert_snapshot!(env.run(&["call", "device.NobodyMCP.echo"]), @"
    exit status 5
    --- stderr
    error: there is no server `NobodyMCP`
    hint: `helve tools` lists what there is
    ");
}

#[test]
fn c5_a_list_of_everything_allows_everything() {
    let env = with_servers(&[("files", Scenario::dual())], "");
    let own =
        env.read("home/.config/helve/helve.toml").replace("[servers.files]\n", "[servers.files]\ntools = [\"*\"]\n");
    env.write("home/.config/helve/helve.toml", &own);
    assert!(env.run(&["call", "files/echo", "a=1"]).starts_with("exit status 0"));
}

#[test]
fn a_server_that_nothing_configures_is_called_by_its_command() {
    let env = TestEnv::new();
    env.write("project/a note.txt", "a note");
    let command = format!("{} builtin filesystem .", env!("CARGO_BIN_EXE_helve"));
    let call = ["call", "--stdio", &command, "read_file", "path=a note.txt"];
    insta::assert_snapshot!(env.run(&[&call[..], &["--yes"]].concat()), @r"
    exit status 0
    --- stdout
    a note
    ");
    // A script needs a yes, as for any call.
    let refused = env.run(&call);
    insta::assert_snapshot!(refused, @r#"
    exit status 7
    --- stderr
    error: `adhoc/read_file` needs an approval and nobody is there to ask: no rule or list mentions it
    hint: `--yes` lets a script call it, this once
    hint: to allow it for good, configure the server with `helve add`, then `helve allow` its tool
    "#);
    // No shell reads the words.
    let told = env.run(&["call", "--stdio", "no-such-program; touch project/ran", "x", "--yes"]);
    assert!(!env.exists("project/ran") && !env.exists("project/project"), "{told}");
    insta::assert_snapshot!(env.run(&["call", "--stdio", "", "x"]), @r#"
    exit status 2
    --- stderr
    error: `--stdio` names no command
    hint: --stdio "npx -y @scope/server"
    "#);
    insta::assert_snapshot!(env.run(&["call", "--http", "example.com", "x"]), @r"
    exit status 2
    --- stderr
    error: `--http example.com` is not an address
    hint: it begins with http:// or https://
    ");
}
