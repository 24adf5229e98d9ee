//! `helve allow`, `ask`, `deny` and `rules`; and the sentence in every refusal that leads out of it, followed.

use helve_testkit::Scenario;
use serde_json::Value;

use crate::support::{Person, TestEnv, with_servers};

const OWN: &str = "home/.config/helve/helve.toml";

fn env(rules: &str) -> TestEnv {
    with_servers(&[("peer", Scenario::dual())], rules)
}

/// The rules of the person's file, without its servers.
fn rules_of(env: &TestEnv) -> String {
    let text = env.read(OWN);
    text.find("[[rules]]").map(|at| text[at..].to_owned()).unwrap_or_default()
}

/// C2: what a refusal says to run is run as it stands, and then the call gets through.
#[track_caller]
fn follow(env: &TestEnv, call: &[&str]) -> String {
    let refused = env.run(call);
    assert!(refused.starts_with("exit status 7"), "{refused}");
    let words = refused
        .lines()
        .filter(|line| line.starts_with("hint: "))
        .find_map(|line| line.split_once("`helve ").and_then(|(_, rest)| rest.split_once('`')))
        .filter(|(words, _)| !words.starts_with("call"))
        .or_else(|| {
            let mut hints = refused.lines().filter(|line| line.starts_with("hint: ") && line.contains("for good"));
            hints.next().and_then(|line| line.split_once("`helve ")?.1.split_once('`'))
        })
        .unwrap_or_else(|| panic!("no way out: {refused}"))
        .0
        .to_owned();
    let mut words = shell_words::split(&words).expect("words of a shell");
    words.push("--yes".to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = env.run(&words);
    assert!(done.starts_with("exit status 0"), "{words:?}: {done}");
    let through = env.run(call);
    assert!(through.starts_with("exit status 0"), "{words:?}: {through}");
    refused
}

#[test]
fn c2_what_no_rule_mentions_is_allowed_by_the_command_that_the_refusal_names() {
    insta::assert_snapshot!(follow(&env(""), &["call", "peer/echo", "a=1"]), @"");
}

#[test]
fn c2_a_rule_of_ones_own_is_overruled_by_the_command_that_the_refusal_names() {
    let deny = "[[rules]]\ntool = \"peer/*\"\naction = \"deny\"\n";
    insta::assert_snapshot!(follow(&env(deny), &["call", "peer/echo", "a=1"]), @"");
    let ask = "[[rules]]\ntool = \"mcp__peer__echo\"\naction = \"ask\"\n";
    follow(&env(ask), &["call", "peer/echo", "a=1"]);
    let about_arguments = "[[rules]]\ntool = \"peer/echo\"\npattern = \"a=secret*\"\naction = \"deny\"\n\n\
                           [[rules]]\ntool = \"*/*\"\naction = \"allow\"\n";
    insta::assert_snapshot!(follow(&env(about_arguments), &["call", "peer/echo", "a=secrets"]), @"");
}

#[test]
fn c2_resources_too() {
    let deny = "[[rules]]\ntool = \"peer/*\"\nkind = \"resource\"\naction = \"deny\"\n";
    let env = env(deny);
    let listed = env.json(&["resources", "peer", "--json"]);
    let uri = listed[0]["uri"].as_str().or(listed["resources"][0]["uri"].as_str()).unwrap_or("test://static/text");
    insta::assert_snapshot!(follow(&env, &["read", "peer", uri]), @"");
}

#[test]
fn c2_other_ways_out_are_followed_too() {
    let off = with_servers(&[("peer", Scenario::dual())], "[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n");
    let text = off.read(OWN).replace("[servers.peer]\n", "[servers.peer]\nenabled = false\n");
    off.write(OWN, &text);
    let refused = off.run(&["call", "peer/echo", "a=1"]);
    assert!(refused.contains("`helve enable peer`"), "{refused}");
    assert!(off.run(&["enable", "peer"]).starts_with("exit status 0"));
    assert!(off.run(&["call", "peer/echo", "a=1"]).starts_with("exit status 0"));
}

/// C2: in claude-loop's file the list has another name, and following the hint works.
#[test]
fn c2_a_list_is_called_as_its_file_calls_it() {
    let env = TestEnv::new();
    let endpoint = format!("{} '{}'", helve_testkit::peer_program().display(), Scenario::dual().to_json());
    let config = |tools: &str| {
        let entry = serde_json::json!({
            "name": "peer", "transport": "stdio", "endpoint": endpoint, "enabled": true,
            "tools_whitelist": serde_json::from_str::<Value>(tools).expect("JSON"), "readonly": false,
        });
        serde_json::json!({ "servers": [entry] }).to_string()
    };
    env.write("project/.claude-loop/mcp-config.json", &config(r#"["fail"]"#));
    assert!(env.run(&["trust", "--yes"]).starts_with("exit status 0"));
    insta::assert_snapshot!(env.run(&["explain", "peer/echo", "a=1"]), @"");
    insta::assert_snapshot!(env.run(&["allow", "peer/echo", "--yes"]), @"");
    env.write("project/.claude-loop/mcp-config.json", &config(r#"["fail", "echo"]"#));
    assert!(env.run(&["trust", "--yes"]).starts_with("exit status 0"));
    assert!(env.run(&["call", "peer/echo", "a=1"]).starts_with("exit status 0"));
}

#[test]
fn a_rule_goes_before_the_first_that_would_win_and_says_where() {
    let env = env(
        "[[rules]]\ntool = \"peer/fail\"\naction = \"deny\"\n\n# mine\n[[rules]]\ntool = \"peer/*\"\naction = \"ask\"\n",
    );
    env.run(&["tools"]);
    insta::assert_snapshot!(env.run(&["allow", "peer/echo", "--yes"]), @"");
    insta::assert_snapshot!(rules_of(&env), @"");
    insta::assert_snapshot!(env.run(&["allow", "peer:echo", "--yes"]), @"");
    insta::assert_snapshot!(env.run(&["allow", "peer/*", "--yes"]), @"");
    insta::assert_snapshot!(env.run(&["rules"]), @"");
    insta::assert_snapshot!(env.run(&["deny", "mcp__peer__echo", "a=secret*"]), @"");
    insta::assert_snapshot!(env.run(&["ask", "peer/echo", "--json"]), @"");
}

#[test]
fn the_last_rule_is_taken_back() {
    let before = "[[rules]]\ntool = \"peer/*\"\naction = \"ask\"\n";
    let env = env(before);
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"");
    env.run(&["allow", "peer/echo", "--yes"]);
    env.run(&["deny", "peer/fail"]);
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"");
    insta::assert_snapshot!(env.run(&["rules", "--undo", "--yes"]), @"");
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"");
    assert_eq!(rules_of(&env).trim_end(), before.trim_end());
    env.run(&["allow", "peer/echo", "--yes"]);
    let text = env.read(OWN).replace("peer/echo", "peer/other");
    env.write(OWN, &text);
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"");
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"");
}

#[test]
fn nothing_is_allowed_without_a_yes() {
    let env = env("");
    let before = env.read(OWN);
    insta::assert_snapshot!(env.run(&["allow", "peer/echo"]), @"");
    assert_eq!(env.read(OWN), before);
    let mut person = Person::at(&env, &["allow", "peer/echo"]);
    person.sees("[y/N]");
    person.types("n\n");
    assert!(person.sees_the_end().starts_with("exit status 7"));
    assert_eq!(env.read(OWN), before);
    let mut person = Person::at(&env, &["allow", "peer/echo"]);
    person.sees("[y/N]");
    person.types("y\n");
    assert!(person.sees_the_end().starts_with("exit status 0"));
    assert_ne!(env.read(OWN), before);
}

/// C2: a deny of the person's own that still wins is named, and nothing is written.
#[test]
fn c2_what_would_not_help_is_not_written() {
    let env = env("");
    let text = env.read(OWN).replace("[servers.peer]\n", "[servers.peer]\ndisabled_tools = [\"ech*\"]\n");
    env.write(OWN, &text);
    insta::assert_snapshot!(env.run(&["allow", "peer/echo", "--yes"]), @"");
    assert_eq!(env.read(OWN), text);
    insta::assert_snapshot!(env.run(&["allow", "pear/echo", "--yes"]), @"");
    insta::assert_snapshot!(env.run(&["allow", "peer/{a", "--yes"]), @"");
    insta::assert_snapshot!(env.run(&["allow", "*ech*", "--yes"]), @"");
}

/// go-cli's list of permissions, as its own text has it, in the person's settings.
#[test]
fn go_clis_permission_list_decides() {
    let env = with_servers(&[("github", Scenario::dual()), ("other", Scenario::dual())], "");
    let list = r#"[{"tool": "mcp__github__*", "action": "allow"}, {"tool": "mcp__*", "action": "ask"}]"#;
    env.write("home/.claude/settings.json", &format!(r#"{{"permissions": {list}}}"#));
    let decided = |tool: &str| env.json(&["explain", tool, "a=1", "--json"])["action"].clone();
    assert_eq!(decided("github/echo"), "allow");
    assert_eq!(decided("other/echo"), "ask");
    // A rule of helve's own file comes first, and says what it overrules.
    insta::assert_snapshot!(env.run(&["deny", "github/echo"]), @"");
    assert_eq!(decided("github/echo"), "deny");
    insta::assert_snapshot!(env.run(&["allow", "other/echo", "--yes"]), @"");
    assert_eq!(decided("other/echo"), "allow");
}

/// A project that is not trusted still narrows, and that is said.
#[test]
fn a_projects_rule_is_named_where_it_still_holds() {
    let env = env("");
    env.write("project/helve.toml", "[[rules]]\ntool = \"peer/echo\"\naction = \"deny\"\n");
    insta::assert_snapshot!(env.run(&["allow", "peer/echo", "--yes"]), @"");
    insta::assert_snapshot!(env.run(&["rules"]), @"");
}

/// What an agent that speaks the older era sends, one message a line; its answers and what the person reads.
fn served(env: &TestEnv, options: &[&str], capabilities: &str, messages: &[&str]) -> (Vec<Value>, String) {
    let hello = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"tester","version":"1"}}}}}}"#
    );
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let input: String =
        [hello.as_str(), ready].into_iter().chain(messages.iter().copied()).map(|line| format!("{line}\n")).collect();
    let arguments: Vec<&str> = ["serve", "--wait", "30s", "--prefix", "none"].iter().chain(options).copied().collect();
    let output = env.output(&arguments, &input);
    let answers = String::from_utf8(output.stdout).expect("UTF-8");
    let answers = answers.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (answers, env.filter(&String::from_utf8_lossy(&output.stderr)))
}

fn call(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

fn answer_to(answers: &[Value], id: u32) -> &Value {
    answers.iter().find(|answer| answer["id"] == id && answer.get("method").is_none()).expect("answered")
}

fn words(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().or(answer["error"]["message"].as_str()).expect("words")
}

/// C10: the agent hears the code, that it needs the person's yes, and that they were told; the person hears what helps.
#[test]
fn c10_the_first_refusal_of_a_tool_tells_the_person_the_command_that_helps() {
    let env = env(
        "[[rules]]\ntool = \"peer/echo\"\npattern = \"a=secret*\"\naction = \"deny\"\n\n[[rules]]\ntool = \"peer/echo\"\naction = \"allow\"\n",
    );
    let calls = [call(1, "fail", "{}"), call(2, "fail", "{}"), call(3, "echo", r#"{"a":"secrets"}"#)];
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let (answers, told) = served(&env, &[], "{}", &calls);
    insta::assert_snapshot!(words(answer_to(&answers, 1)), @"");
    insta::assert_snapshot!(words(answer_to(&answers, 3)), @"");
    for answer in &answers {
        let answer = answer.to_string();
        assert!(
            !answer.contains("helve.toml") && !answer.contains("`helve ") && !answer.contains("secret*"),
            "{answer}"
        );
    }
    insta::assert_snapshot!(told, @"");
    let (_, told) = served(&env, &["-v"], "{}", &calls);
    assert_eq!(told.matches("refused:").count(), 3, "{told}");
    assert!(told.contains("came: tester 1") && told.contains("left: tester 1"), "{told}");
    let (_, told) = served(&env, &["-q"], "{}", &calls);
    assert_eq!(told, "");
}

/// C10: what no rule mentions is left to the agent, as the command line or the person's own settings say.
#[test]
fn c10_what_no_rule_mentions_is_left_to_the_agent_where_the_person_says_so() {
    let env = env("[[rules]]\ntool = \"peer/fail\"\naction = \"ask\"\n");
    let calls = [call(1, "echo", r#"{"a":"x"}"#), call(2, "fail", "{}")];
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let outcome = |options: &[&str]| {
        let (answers, _) = served(&env, options, "{}", &calls);
        let is_refused = |id| words(answer_to(&answers, id)).contains("is refused");
        (is_refused(1), is_refused(2))
    };
    assert_eq!(outcome(&[]), (true, true));
    // A rule that asks is a rule.
    assert_eq!(outcome(&["--unlisted", "allow"]), (false, true));
    let own = env.read(OWN);
    env.write(OWN, &format!("{own}\n[settings]\nunlisted = \"allow\"\n"));
    assert_eq!(outcome(&[]), (false, true));
    assert_eq!(outcome(&["--unlisted", "ask"]), (true, true));
    env.write(OWN, &own).write("project/helve.toml", "[settings]\nunlisted = \"allow\"\n");
    assert_eq!(outcome(&[]), (true, true));
    insta::assert_snapshot!(env.run(&["trust", "--yes"]), @"");
    assert_eq!(outcome(&[]), (true, true));
}

/// C10: denied, and not listed.
#[test]
fn c10_what_no_rule_mentions_is_denied_where_the_person_says_so() {
    let env = env("[[rules]]\ntool = \"peer/fail\"\naction = \"ask\"\n");
    let list = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let (answers, _) = served(&env, &["--unlisted", "deny"], "{}", &[list]);
    let tools = answer_to(&answers, 7)["result"]["tools"].as_array().expect("tools").clone();
    assert_eq!(tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect::<Vec<_>>(), ["fail"]);
}

/// The form offers "always", which is kept for this definition of this server, as at a terminal.
#[test]
fn a_person_who_is_asked_by_their_agent_can_say_always() {
    let env = env("");
    let first = call(1, "echo", r#"{"a":"x"}"#);
    let accept = r#"{"jsonrpc":"2.0","id":ID,"result":{"action":"accept","content":{"decision":"always"}}}"#;
    let capabilities = r#"{"elicitation":{}}"#;
    let (asked, told) = converse(&env, capabilities, &first, accept);
    let choices = &asked["params"]["requestedSchema"]["properties"]["decision"]["enum"];
    assert_eq!(choices.to_string(), r#"["once","until the agent ends","always","no"]"#);
    assert!(told.contains("approved for good: tool `peer/echo`"), "{told}");
    // Another agent, which cannot ask: it is not refused any more.
    let (answers, _) = served(&env, &[], "{}", &[&first]);
    assert!(!words(answer_to(&answers, 1)).contains("is refused"), "{answers:?}");
    insta::assert_snapshot!(env.run(&["rules"]), @"");
}

/// One call, one question, one answer.
fn converse(env: &TestEnv, capabilities: &str, call: &str, answer: &str) -> (Value, String) {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::process::Stdio;
    let mut child = env
        .command(&["serve", "--wait", "30s", "--prefix", "none"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut input = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    writeln!(
        input,
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"tester","version":"1"}}}}}}"#
    )
    .expect("written");
    writeln!(input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).expect("written");
    writeln!(input, "{call}").expect("written");
    let mut next = |wanted: &dyn Fn(&Value) -> bool| loop {
        let line: Value = serde_json::from_str(&lines.next().expect("more").expect("a line")).expect("JSON");
        if wanted(&line) {
            break line;
        }
    };
    let asked = next(&|line| line["method"] == "elicitation/create");
    writeln!(input, "{}", answer.replace("ID", &asked["id"].to_string())).expect("written");
    next(&|line| line["id"] == 1 && line.get("result").is_some());
    drop(input);
    let mut told = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("text");
    child.wait().expect("ended");
    (asked, env.filter(&told))
}
