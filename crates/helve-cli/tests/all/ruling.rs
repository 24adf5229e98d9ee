//! `helve allow`, `ask`, `deny` and `rules`; and the sentence in every refusal that leads out of it, followed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

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
    text.find("[[rules]]").and_then(|at| text.get(at..)).unwrap_or_default().to_owned()
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
    insta::assert_snapshot!(follow(&env(""), &["call", "peer/echo", "a=1"]), @"
    exit status 7
    --- stderr
    error: `peer/echo` needs an approval and nobody is there to ask: no rule or list mentions it
    hint: to allow it once, run `helve call peer/echo` at a terminal and answer, or add `--yes`
    hint: to allow it for good: `helve allow peer/echo`
    ");
}

#[test]
fn c2_a_rule_of_ones_own_is_overruled_by_the_command_that_the_refusal_names() {
    let deny = "[[rules]]\ntool = \"peer/*\"\naction = \"deny\"\n";
    insta::assert_snapshot!(follow(&env(deny), &["call", "peer/echo", "a=1"]), @"
    exit status 7
    --- stderr
    error: `peer/echo` may not be called: rule `peer/*` (deny, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8
    hint: to allow it for good: `helve allow peer/echo`
    ");
    let ask = "[[rules]]\ntool = \"mcp__peer__echo\"\naction = \"ask\"\n";
    follow(&env(ask), &["call", "peer/echo", "a=1"]);
    let about_arguments = "[[rules]]\ntool = \"peer/echo\"\npattern = \"a=secret*\"\naction = \"deny\"\n\n\
                           [[rules]]\ntool = \"*/*\"\naction = \"allow\"\n";
    insta::assert_snapshot!(follow(&env(about_arguments), &["call", "peer/echo", "a=secrets"]), @"
    exit status 7
    --- stderr
    error: `peer/echo` may not be called: rule `peer/echo` with `a=secret*` (deny, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8
    hint: to allow it for good: `helve allow peer/echo 'a=secret*'`
    ");
}

#[test]
fn c2_resources_too() {
    let deny = "[[rules]]\ntool = \"peer/*\"\nkind = \"resource\"\naction = \"deny\"\n";
    let env = env(deny);
    let listed = env.json(&["resources", "peer", "--json"]);
    let uri = listed[0]["uri"].as_str().or(listed["resources"][0]["uri"].as_str()).unwrap_or("test://static/text");
    insta::assert_snapshot!(follow(&env, &["read", "peer", uri]), @"
    exit status 7
    --- stderr
    error: `peer/test://text` may not be read: rule `peer/*` for each resource (deny, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8
    hint: to allow it for good: `helve allow peer/test://text --kind resource`
    ");
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

/// The file is one line, and how far in something stands depends on where the peer lies.
fn without_columns(text: &str) -> String {
    let mut parts = text.split("mcp-config.json:1:");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked.push_str("mcp-config.json:1:[COLUMN]");
        masked.push_str(part.trim_start_matches(|character: char| character.is_ascii_digit()));
    }
    masked
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
    insta::assert_snapshot!(without_columns(&env.run(&["explain", "peer/echo", "a=1"])), @"
    exit status 0
    --- stdout
    tool peer/echo, called by an agent, high risk: deny
    because it is not in the list of allowed tools of the server at [ROOT]/project/.claude-loop/mcp-config.json:1:[COLUMN]
      => it is not in the list of allowed tools of the server at [ROOT]/project/.claude-loop/mcp-config.json:1:[COLUMN]
           decides: deny
    hint: to allow it, add `echo` to `tools_whitelist` of server `peer` at .claude-loop/mcp-config.json:1
    ");
    insta::assert_snapshot!(without_columns(&env.run(&["allow", "peer/echo", "--yes"])), @"
    exit status 7
    --- stderr
    error: nothing was written, since allow `peer/echo` would not help: it would still be deny, because it is not in the list of allowed tools of the server at [ROOT]/project/.claude-loop/mcp-config.json:1:[COLUMN]
    hint: to allow it, add `echo` to `tools_whitelist` of server `peer` at .claude-loop/mcp-config.json:1
    ");
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
    insta::assert_snapshot!(env.run(&["allow", "peer/echo", "--yes"]), @"
    exit status 0
    --- stderr
    warning: this overrules rule `peer/*` (ask, user layer) at [ROOT]/home/.config/helve/helve.toml:11:8
    ~/.config/helve/helve.toml:10: allow `peer/echo`
    agents calling `peer/echo`: allow
    ");
    insta::assert_snapshot!(rules_of(&env), @r#"
    [[rules]]
    tool = "peer/fail"
    action = "deny"

    [[rules]]
    tool = "peer/echo"
    action = "allow"

    # mine
    [[rules]]
    tool = "peer/*"
    action = "ask"
    "#);
    insta::assert_snapshot!(env.run(&["allow", "peer:echo", "--yes"]), @"
    exit status 0
    --- stderr
    nothing to do: allow, by the rule at ~/.config/helve/helve.toml:10
    ");
    insta::assert_snapshot!(env.run(&["allow", "peer/*", "--yes"]), @"
    exit status 0
    --- stderr
    warning: this overrules rule `peer/*` (ask, user layer) at [ROOT]/home/.config/helve/helve.toml:15:8
    ~/.config/helve/helve.toml:14: allow `peer/*`
    agents calling 20 of 21 tools that it means now: allow
    warning: `peer/fail`: deny, by the rule at ~/.config/helve/helve.toml:6
    ");
    insta::assert_snapshot!(env.run(&["rules"]), @"
    exit status 0
    --- stdout
           WHAT       WHERE
    deny   peer/fail  ~/.config/helve/helve.toml:6
    allow  peer/echo  ~/.config/helve/helve.toml:10
    allow  peer/*     ~/.config/helve/helve.toml:14
    ask    peer/*     ~/.config/helve/helve.toml:19
    --- stderr
    otherwise: a tool is asked for, what only reads may be read
    ");
    insta::assert_snapshot!(env.run(&["deny", "mcp__peer__echo", "a=secret*"]), @"
    exit status 0
    --- stderr
    ~/.config/helve/helve.toml:10: deny `peer/echo` with `a=secret*`
    agents calling `peer/echo`: depends on the arguments; `helve explain` tells
    ");
    insta::assert_snapshot!(env.run(&["ask", "peer/echo", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "decisions": [
        {
          "because": null,
          "decision": "depends on the arguments",
          "name": "peer/echo"
        }
      ],
      "file": "[ROOT]/home/.config/helve/helve.toml",
      "line": 15,
      "rule": {
        "action": "ask",
        "kind": "tool",
        "pattern": null,
        "tool": "peer/echo"
      },
      "written": true
    }
    --- stderr
    ~/.config/helve/helve.toml:15: ask `peer/echo`
    agents calling `peer/echo`: depends on the arguments; `helve explain` tells
    "#);
}

#[test]
fn the_last_rule_is_taken_back() {
    let before = "[[rules]]\ntool = \"peer/*\"\naction = \"ask\"\n";
    let env = env(before);
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"
    exit status 1
    --- stderr
    error: there is no rule to take back
    hint: `helve rules` lists all of them, with the line to edit
    ");
    env.run(&["allow", "peer/echo", "--yes"]);
    env.run(&["deny", "peer/fail"]);
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"
    exit status 7
    --- stderr
    error: what may run from now on is for you to say
    hint: run this at a terminal, or add `--yes`
    ");
    insta::assert_snapshot!(env.run(&["rules", "--undo", "--yes"]), @"
    exit status 0
    --- stderr
    taken back from ~/.config/helve/helve.toml: deny `peer/fail`
    ");
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"
    exit status 0
    --- stderr
    taken back from ~/.config/helve/helve.toml: allow `peer/echo`
    ");
    assert_eq!(rules_of(&env).trim_end(), before.trim_end());
    env.run(&["allow", "peer/echo", "--yes"]);
    let text = env.read(OWN).replace("peer/echo", "peer/other");
    env.write(OWN, &text);
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"
    exit status 1
    --- stderr
    error: allow `peer/echo` is not in ~/.config/helve/helve.toml any more
    hint: once more takes back the one before it; `helve rules` lists all of them
    ");
    insta::assert_snapshot!(env.run(&["rules", "--undo"]), @"
    exit status 1
    --- stderr
    error: there is no rule to take back
    hint: `helve rules` lists all of them, with the line to edit
    ");
}

#[test]
fn nothing_is_allowed_without_a_yes() {
    let env = env("");
    let before = env.read(OWN);
    insta::assert_snapshot!(env.run(&["allow", "peer/echo"]), @"
    exit status 7
    --- stderr
    error: what may run from now on is for you to say
    hint: run this at a terminal, or add `--yes`
    ");
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
    insta::assert_snapshot!(env.run(&["allow", "peer/echo", "--yes"]), @"
    exit status 7
    --- stderr
    error: nothing was written, since allow `peer/echo` would not help: it would still be deny, because `ech*` in the list of disabled tools at [ROOT]/home/.config/helve/helve.toml:2:19
    hint: to allow it, take `ech*` out of `disabled_tools` of server `peer` at ~/.config/helve/helve.toml:2
    ");
    assert_eq!(env.read(OWN), text);
    insta::assert_snapshot!(env.run(&["allow", "pear/echo", "--yes"]), @"
    exit status 5
    --- stderr
    error: there is no server `pear`
    hint: did you mean `peer`?
    ");
    insta::assert_snapshot!(env.run(&["allow", "peer/{a", "--yes"]), @r"
    exit status 2
    --- stderr
    error: the tool glob `peer/{a` cannot be read (unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)); it allows nothing
    hint: write a glob such as `github/create_*`; a `[`, `{`, `*` or `?` that means itself has a `\` before it
    ");
    insta::assert_snapshot!(env.run(&["allow", "*ech*", "--yes"]), @"
    exit status 2
    --- stderr
    error: `*ech*` names no server; it allows nothing, since any server could have such a tool
    hint: write `SERVER/*ech*`, or `*/*ech*` if you mean every server
    ");
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
    insta::assert_snapshot!(env.run(&["deny", "github/echo"]), @"
    exit status 0
    --- stderr
    ~/.config/helve/helve.toml:10: deny `github/echo`
    agents calling `github/echo`: deny
    ");
    assert_eq!(decided("github/echo"), "deny");
    insta::assert_snapshot!(env.run(&["allow", "other/echo", "--yes"]), @"
    exit status 0
    --- stderr
    warning: this overrules rule `mcp__*__*` (ask, user layer) at [ROOT]/home/.claude/settings.json:1:74
    ~/.config/helve/helve.toml:14: allow `other/echo`
    agents calling `other/echo`: allow
    ");
    assert_eq!(decided("other/echo"), "allow");
}

/// A project that is not trusted still narrows, and that is said.
#[test]
fn a_projects_rule_is_named_where_it_still_holds() {
    let env = env("");
    env.write("project/helve.toml", "[[rules]]\ntool = \"peer/echo\"\naction = \"deny\"\n");
    insta::assert_snapshot!(env.run(&["allow", "peer/echo", "--yes"]), @"
    exit status 0
    --- stderr
    ~/.config/helve/helve.toml:6: allow `peer/echo`
    warning: agents calling `peer/echo`: still deny, by the rule at helve.toml:2
    ");
    insta::assert_snapshot!(env.run(&["rules"]), @"
    exit status 0
    --- stdout
           WHAT       WHERE
    deny   peer/echo  helve.toml:2 (project, not trusted)
    allow  peer/echo  ~/.config/helve/helve.toml:6
    --- stderr
    otherwise: a tool is asked for, what only reads may be read
    ");
}

/// What an agent that speaks the older era sends, one request after the other; its answers and what the person reads.
pub(crate) fn served(env: &TestEnv, options: &[&str], capabilities: &str, messages: &[&str]) -> (Vec<Value>, String) {
    let mut agent = Served::by(env, options, capabilities);
    let answers = messages
        .iter()
        .map(|message| {
            let id = serde_json::from_str::<Value>(message).expect("JSON")["id"].clone();
            agent.says(message);
            agent.hears(|line| line["id"] == id && line.get("method").is_none())
        })
        .collect();
    (answers, agent.goes())
}

/// An agent that is served on standard streams.
pub(crate) struct Served<'env> {
    env: &'env TestEnv,
    child: std::process::Child,
    input: Option<std::process::ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl<'env> Served<'env> {
    /// Comes, and waits until it was greeted.
    pub(crate) fn by(env: &'env TestEnv, options: &[&str], capabilities: &str) -> Self {
        let always = ["serve", "--wait", "30s", "--prefix", "none"];
        let arguments: Vec<&str> = always.iter().chain(options).copied().collect();
        let mut command = env.command(&arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut agent = Self { env, child, input, lines };
        agent.says(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"tester","version":"1"}}}}}}"#
        ));
        agent.hears(|line| line["id"] == 0);
        agent.says(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        agent
    }

    /// The gateway's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn says(&mut self, message: &str) {
        writeln!(self.input.as_mut().expect("a pipe"), "{message}").expect("written");
    }

    pub(crate) fn hears(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.next().expect("more").expect("a line");
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if is_wanted(&line) {
                return line;
            }
        }
    }

    /// Leaves; gives what the person read.
    pub(crate) fn goes(mut self) -> String {
        drop(self.input.take());
        let mut told = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("text");
        self.child.wait().expect("ended");
        self.env.filter(&told)
    }
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
    insta::assert_snapshot!(words(answer_to(&answers, 1)), @"`fail` is refused (APPROVAL_REQUIRED): it needs the person's yes, and they cannot be asked here; the person was told");
    insta::assert_snapshot!(words(answer_to(&answers, 3)), @"`echo` is refused (DENIED): it is not allowed by the person's rules; the person was told");
    for answer in &answers {
        let answer = answer.to_string();
        assert!(
            !answer.contains("helve.toml") && !answer.contains("`helve ") && !answer.contains("secret*"),
            "{answer}"
        );
    }
    insta::assert_snapshot!(told, @"
    refused: tester 1: `peer/fail` needs an approval and nobody is there to ask: no rule or list mentions it
    hint: to allow it for good: `helve allow peer/fail`
    hint: an agent that asks you itself before each call needs no second question: `helve serve --unlisted allow`
    refused: tester 1: `peer/echo` may not be called: rule `peer/echo` with `a=secret*` (deny, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8
    hint: to allow it for good: `helve allow peer/echo 'a=secret*'`
    ");
    let (_, told) = served(&env, &["-v"], "{}", &calls);
    assert_eq!(told.matches("refused:").count(), 3, "{told}");
    assert!(told.contains("came: tester 1") && told.contains("left: tester 1"), "{told}");
    let (_, told) = served(&env, &["-q"], "{}", &calls);
    assert_eq!(told, "");
}

/// C8: what a management tool asks for on an agent's behalf, and does not get, is told as well.
#[test]
fn c8_the_person_hears_what_a_management_tool_was_refused() {
    let env = env("[[rules]]\ntool = \"peer/*\"\nkind = \"resource\"\naction = \"deny\"\n");
    let read = call(1, "ReadMcpResource", r#"{"server":"peer","uri":"test://text"}"#);
    let (answers, told) = served(&env, &["--manage"], "{}", &[&read]);
    insta::assert_snapshot!(words(answer_to(&answers, 1)), @"`peer/test://text` is refused (DENIED): it is not allowed by the person's rules; the person was told");
    insta::assert_snapshot!(told, @"
    refused: tester 1: `peer/test://text` may not be read: rule `peer/*` for each resource (deny, user layer) at [ROOT]/home/.config/helve/helve.toml:6:8
    hint: to allow it for good: `helve allow peer/test://text --kind resource`
    ");
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
    insta::assert_snapshot!(env.run(&["trust", "--yes"]), @"
    exit status 0
    --- stderr
    Nothing here waits for your trust.
    ");
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
    let mut agent = Served::by(&env, &[], capabilities);
    agent.says(&first);
    let asked = agent.hears(|line| line["method"] == "elicitation/create");
    agent.says(&accept.replace("ID", &asked["id"].to_string()));
    agent.hears(|line| line["id"] == 1 && line.get("result").is_some());
    let told = agent.goes();
    let choices = &asked["params"]["requestedSchema"]["properties"]["decision"]["enum"];
    assert_eq!(choices.to_string(), r#"["once","until the agent ends","always","no"]"#);
    assert!(told.contains("approved for good: tool `peer/echo`"), "{told}");
    // Another agent, which cannot ask: it is not refused any more.
    let (answers, _) = served(&env, &[], "{}", &[&first]);
    assert!(!words(answer_to(&answers, 1)).contains("is refused"), "{answers:?}");
    insta::assert_snapshot!(env.run(&["rules"]), @"
    exit status 0
    --- stdout
              WHAT       WHERE
    approved  peer/echo  for good (helve trust --list)
    --- stderr
    otherwise: a tool is asked for, what only reads may be read
    hint: `helve allow SERVER/TOOL` writes the first rule
    ");
}
