//! What servers ask in the course of a call: answered beforehand, by nobody, by a person at a terminal, by a command.

use helve_testkit::Scenario;

use crate::support::{ALLOW, Person, TestEnv, with_servers};

fn asking() -> TestEnv {
    with_servers(&[("new", Scenario::dual()), ("old", Scenario::legacy())], ALLOW)
}

#[test]
fn answers_can_be_given_beforehand() {
    let env = asking();
    for server in ["new", "old"] {
        let asked = env.run(&["call", &format!("{server}/ask"), "--answer", "name=Ada"]);
        insta::allow_duplicates! {
            insta::assert_snapshot!(asked, @r#"
            exit status 0
            --- stdout
            {"answers":[{"action":"accept","content":{"age":30,"name":"Ada"}}]}
            "#);
        }
    }
    insta::assert_snapshot!(env.run(&["read", "new", "test://asking", "--answer", "name=Ada", "--answer", "age=36"]), @r#"
    exit status 0
    --- stdout
    [{"action":"accept","content":{"age":36,"name":"Ada"}}]
    "#);
    insta::assert_snapshot!(env.run(&["prompt", "new/asking", "--answer", "name=Ada"]), @r#"
    exit status 0
    --- stdout
    user:
    [{"action":"accept","content":{"age":30,"name":"Ada"}}]
    "#);
    insta::assert_snapshot!(env.run(&["call", "new/echo", "--answer", "name=Ada"]), @"
    exit status 0
    --- stdout
    {}
    --- stderr
    warning: no server asked for `name`, so the answer to it was not used
    ");
    insta::assert_snapshot!(env.run(&["call", "new/ask", "--answer", "Ada"]), @"
    exit status 2
    --- stderr
    error: invalid value 'Ada' for '--answer <KEY=VALUE>': write key=value

    For more information, try '--help'.
    ");
}

/// A server that has both eras and can ask in the older one alone is spoken to in that one where somebody answers, whatever
/// was kept of it by those who asked nothing (G1).
#[test]
fn g1_a_server_of_both_eras_asks_where_somebody_answers() {
    let env = with_servers(&[("both", Scenario::asks_in_legacy_only())], ALLOW);
    let ask = |more: &[&str]| env.run(&[&["call", "both/ask"], more].concat());
    insta::assert_snapshot!(ask(&[]), @"
    exit status 5
    --- stderr
    error: the server refused `tools/call`: asking is unavailable on 2026-07-28 connections (-32603)
    hint: the reason is the server's own; its log may say more
    ");
    for kept in ["modern", "legacy"] {
        assert_eq!(env.json(&["servers", "--json"])[0]["era"], "modern", "{kept}");
        let asked = ask(&["--answer", "name=Ada"]);
        insta::allow_duplicates! {
            insta::assert_snapshot!(asked, @r#"
            exit status 0
            --- stdout
            {"answers":[{"action":"accept","content":{"age":30,"name":"Ada"}}]}
            "#);
        }
    }
}

#[test]
fn g1_a_person_at_a_terminal_is_asked_by_a_server_of_both_eras() {
    let env = with_servers(&[("both", Scenario::asks_in_legacy_only())], ALLOW);
    let mut person = Person::at(&env, &["call", "both/ask", "kind=url"]);
    person.sees("example.com");
    person.interrupts();
    person.sees_the_end();
}

#[test]
fn nobody_there_is_a_decline_and_a_line() {
    let env = asking();
    insta::assert_snapshot!(env.run(&["call", "new/ask"]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"action":"decline"}]}
    --- stderr
    warning: the server `new` asks for `age`, `name` and nobody is there to answer: Who are you? (1 of 1)
    hint: answer beforehand with `--answer name=…`, or run it at a terminal
    "#);
    insta::assert_snapshot!(env.run(&["call", "new/ask", "--answer", "nmae=Ada"]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"action":"decline"}]}
    --- stderr
    warning: the server `new` asks for `age`, `name` and nobody is there to answer: Who are you? (1 of 1)
    warning: `nmae`: the form has no such field; did you mean `name`?
    hint: answer beforehand with `--answer name=…`, or run it at a terminal
    warning: no server asked for `nmae`, so the answer to it was not used
    "#);
    insta::assert_snapshot!(env.run(&["call", "new/ask", "--answer", "name="]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"action":"decline"}]}
    --- stderr
    warning: the server `new` asks for `age`, `name` and nobody is there to answer: Who are you? (1 of 1)
    warning: `name`: expected at least 1 character, got 0
    hint: answer beforehand with `--answer name=…`, or run it at a terminal
    "#);
    insta::assert_snapshot!(env.run(&["call", "new/ask", "kind=url"]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"action":"decline"}]}
    --- stderr
    warning: the server `new` asks to open example.com and nobody is there to say yes: Who are you? (1 of 1)
    hint: run it at a terminal to be asked
    "#);
}

#[test]
fn a_question_that_nobody_can_be_asked_is_a_line_too() {
    let env = asking();
    let ask = |arguments: &str| env.run(&["call", "old/ask", "--args", arguments]);
    insta::assert_snapshot!(ask(r#"{"params":{"mode":"telepathy"}}"#), @r#"
    exit status 0
    --- stdout
    {"answers":[{"action":"decline"}]}
    --- stderr
    warning: the server `old`: asks what cannot be put to a person: a question of the unknown mode "telepathy"; it was declined
    "#);
    insta::assert_snapshot!(ask(r#"{"kind":"url","params":{"url":"https://github.com@evil.example/"}}"#), @r#"
    exit status 0
    --- stdout
    {"answers":[{"action":"decline"}]}
    --- stderr
    warning: the server `old`: asks what cannot be put to a person: the URL has a user name before its host, as if it led elsewhere; it leads to evil.example; it was declined
    "#);
}

#[test]
fn a_page_before_a_call_is_named_where_nobody_can_be_asked() {
    insta::assert_snapshot!(asking().run(&["call", "old/ask", "kind=url_error"]), @"
    exit status 7
    --- stderr
    warning: the server `old` asks to open example.com and nobody is there to say yes: Who are you?
    hint: run it at a terminal to be asked
    error: the server `old` does not go on before a page is visited: example.com was not opened
    hint: run it at a terminal to be asked; the page is https://example.com/connect
    ");
}

#[test]
fn a_call_that_fails_for_want_of_an_answer_says_so_to_scripts() {
    let env = asking();
    for server in ["new", "old"] {
        let asked = env.run(&["call", &format!("{server}/ask"), "must_accept=true"]).replace(server, "[SERVER]");
        insta::allow_duplicates! {
            insta::assert_snapshot!(asked, @"
            exit status 7
            --- stdout
            cannot go on without an answer
            --- stderr
            warning: the server `[SERVER]` asks for `age`, `name` and nobody is there to answer: Who are you? (1 of 1)
            hint: answer beforehand with `--answer name=…`, or run it at a terminal
            error: `[SERVER]/ask` says that it failed
            ");
        }
    }
    let failed = env.output(&["call", "new/ask", "must_accept=true", "--json"], "");
    assert_eq!(failed.status.code(), Some(7));
    assert!(env.run(&["call", "new/ask", "must_accept=true", "--answer", "name=Ada"]).starts_with("exit status 0"));
}

#[test]
fn a_list_does_not_depend_on_the_verb() {
    let directory = tempfile::tempdir().expect("a directory");
    let record = directory.path().join("record");
    let recorded = |verb: &[&str]| {
        drop(fs_err::remove_file(&record));
        let env = with_servers(&[("old", Scenario::legacy().record_to(&record))], ALLOW);
        assert!(env.run(verb).starts_with("exit status 0"));
        let recording = helve_testkit::Recording::load(&record).expect("a recording");
        let frames = recording.messages().into_iter();
        let initialize = frames.into_iter().find(|message| message["method"] == "initialize").expect("a handshake");
        initialize["params"]["capabilities"].clone()
    };
    let listing = recorded(&["tools"]);
    assert!(listing["elicitation"].is_object(), "{listing}");
    assert_eq!(listing, recorded(&["call", "old/echo"]));
}

#[test]
fn a_form_at_a_terminal() {
    let env = asking();
    for server in ["new", "old"] {
        let mut person = Person::at(&env, &["call", &format!("{server}/ask"), "--color", "never"]);
        person.sees("asks: Who are you? (1 of 1)");
        person.sees("age [30]");
        person.types("old\r");
        person.sees("! expected a whole number");
        person.types("\x1536\r");
        person.sees("= age: 36");
        person.sees("Name (required)");
        person.types("Ad\x7fda\r");
        person.sees("= Name: Ada");
        person.sees("> send");
        person.types("\x1b[B\x1b[A\r");
        let end = person.sees_the_end();
        assert!(end.starts_with("exit status 0"), "{end}");
        assert!(end.contains(r#"{"answers":[{"action":"accept","content":{"age":36,"name":"Ada"}}]}"#), "{end}");
    }
}

#[test]
fn at_a_terminal_one_can_decline_and_one_can_go_away() {
    let env = asking();
    for (keys, action) in [("\x04", "decline"), ("\x1b", "cancel")] {
        let mut person = Person::at(&env, &["call", "new/ask", "--color", "never"]);
        person.sees("age [30]");
        person.types(keys);
        let end = person.sees_the_end();
        assert!(end.contains(&format!(r#"{{"answers":[{{"action":"{action}"}}]}}"#)), "{end}");
    }
}

#[test]
fn two_servers_that_ask_at_once_are_answered_one_after_another() {
    let env = asking();
    env.write("project/both.md", "[use-mcp:new/ask:{\"message\":\"One?\"}] [use-mcp:old/ask:{\"message\":\"Two?\"}]\n");
    let mut person = Person::at(&env, &["expand", "both.md", "--color", "never"]);
    for name in ["Ada", "Bob"] {
        // Whichever asks first has the terminal for itself until it is answered.
        person.sees("? (1 of 1)");
        person.sees("age [30]");
        person.types("\r");
        person.sees("= age: 30");
        person.sees("Name (required)");
        person.types(&format!("{name}\r"));
        person.sees("> send");
        person.types("\r");
    }
    let end = person.sees_the_end();
    assert!(end.starts_with("exit status 0"), "{end}");
    assert!(end.contains(r#""name":"Ada""#) && end.contains(r#""name":"Bob""#), "{end}");
}

#[test]
fn a_question_ends_with_its_call() {
    let env = asking();
    let mut person = Person::at(&env, &["call", "new/ask", "--timeout", "3s", "--color", "never"]);
    person.sees("age [30]");
    let end = person.sees_the_end();
    assert!(end.starts_with("exit status 4"), "{end}");
}

#[test]
fn what_was_answered_beforehand_is_not_asked_again() {
    let env = asking();
    let mut person = Person::at(&env, &["call", "new/ask", "--answer", "age=36", "--color", "never"]);
    person.sees("= age: 36");
    person.sees("Name (required)");
    person.types("Ada\r");
    person.sees("> send");
    person.types("\r");
    assert!(person.sees_the_end().contains(r#""content":{"age":36,"name":"Ada"}"#));
}

/// Ctrl-C is for the whole command, whoever asks at the moment.
#[test]
fn interrupted_in_a_form_the_call_is_cancelled() {
    let env = asking();
    for server in ["new", "old"] {
        let mut person = Person::at(&env, &["call", &format!("{server}/ask"), "--color", "never"]);
        person.sees("age [30]");
        person.types("3\u{3}");
        let seen = person.sees_the_end();
        assert!(seen.starts_with("exit status 130") && seen.contains("error: interrupted"), "{seen}");
    }
}

#[test]
fn a_page_is_opened_after_a_yes_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let opener = directory.path().join("xdg-open");
    fs_err::write(
        &opener,
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$HOME/opened.part\"\nmv \"$HOME/opened.part\" \"$HOME/opened\"\n",
    )
    .expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs_err::set_permissions(&opener, executable).expect("executable");
    let path = format!("{}:/usr/bin:/bin", directory.path().display());
    let env = asking().with_variable("PATH", &path);

    let refused = |keys: &str| {
        let mut person = Person::at(&env, &["call", "new/ask", "kind=url", "--color", "never"]);
        person.sees("It wants you to open a page of example.com");
        person.sees("  https://example.com/confirm");
        person.sees("Open example.com?");
        person.types(keys);
        person.sees_the_end()
    };
    assert!(refused("\r").contains(r#""action":"decline""#));
    assert!(refused("\x1b").contains(r#""action":"cancel""#));
    assert!(!env.exists("home/opened"));
    let accepted = refused("\x1b[B\r");
    assert!(accepted.contains("opened example.com") && accepted.contains(r#""action":"accept""#), "{accepted}");
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while !env.exists("home/opened") {
        assert!(std::time::Instant::now() < deadline, "nothing was opened");
        std::thread::yield_now();
    }
    assert_eq!(env.read("home/opened"), "https://example.com/confirm\n");
}

#[test]
fn a_command_lends_its_model() {
    let env = asking().with_variable("PATH", "/usr/bin:/bin");
    let answer = r#"{"role": "assistant", "model": "mine", "content": {"type": "text", "text": "42"}}"#;
    env.write("project/model.sh", &format!("cat > request.json\necho '{answer}'\n"));
    env.write("project/broken.sh", "echo 'no key for the model' >&2\nexit 3\n");
    env.write("project/chatty.sh", "echo 'Forty-two.'\n");
    for server in ["new", "old"] {
        let asked = env.run(&["call", &format!("{server}/ask"), "kind=sampling", "--sampler", "sh model.sh"]);
        insta::allow_duplicates! {
            insta::assert_snapshot!(asked, @r#"
            exit status 0
            --- stdout
            {"answers":[{"content":{"text":"42","type":"text"},"model":"mine","role":"assistant"}]}
            "#);
        }
    }
    let request: serde_json::Value = serde_json::from_str(&env.read("project/request.json")).expect("JSON");
    assert_eq!(request["messages"][0]["content"]["text"], "Who are you? (1 of 1)");
    insta::assert_snapshot!(env.run(&["call", "old/ask", "kind=sampling", "--sampler", "sh broken.sh"]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"error":{"code":-1,"message":"the model gave no answer"}}]}
    --- stderr
    warning: the server `old` gets no answer of the model: `sh` exited with status 3
      no key for the model
    "#);
    insta::assert_snapshot!(env.run(&["call", "old/ask", "kind=sampling", "--sampler", "sh chatty.sh"]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"error":{"code":-1,"message":"the model gave no answer"}}]}
    --- stderr
    warning: the server `old` gets no answer of the model: its answer cannot be used: it is not valid JSON: expected value at line 1 column 1
    "#);
    insta::assert_snapshot!(env.run(&["call", "new/ask", "kind=sampling", "--sampler", "no-such-program"]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"error":{"code":-1,"message":"the model gave no answer"}}]}
    --- stderr
    warning: the server `new` gets no answer of the model: `no-such-program` cannot be started: cannot find the program `no-such-program`
    "#);
    insta::assert_snapshot!(env.run(&["call", "new/ask", "kind=sampling"]), @"
    exit status 5
    --- stderr
    error: the server refused `tools/call`: Missing required client capability (-32021)
    hint: the reason is the server's own; its log may say more
    ");
}

#[test]
fn the_settings_name_a_model_and_its_limits() {
    let settings = "[settings.sampling]\ncommand = [\"sh\", \"model.sh\"]\ncalls = 1\ntimeout_seconds = 60\n";
    let env = with_servers(&[("new", Scenario::legacy())], &format!("{ALLOW}{settings}"));
    let env = env.with_variable("PATH", "/usr/bin:/bin");
    let answer = r#"{"role": "assistant", "model": "mine", "content": {"type": "text", "text": "42"}}"#;
    env.write("project/model.sh", &format!("cat > /dev/null\necho '{answer}'\n"));
    insta::assert_snapshot!(env.run(&["call", "new/ask", "kind=sampling", "rounds=2"]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"content":{"text":"42","type":"text"},"model":"mine","role":"assistant"},{"error":{"code":-1,"message":"it has made all of its 1 sampling requests"}}]}
    --- stderr
    warning: the server `new`: was refused the model: it has made all of its 1 sampling requests
    "#);
}

#[test]
fn a_model_that_takes_too_long_is_given_up() {
    let settings = "[settings.sampling]\ncommand = [\"sleep\", \"600\"]\ntimeout_seconds = 1\n";
    let env = with_servers(&[("new", Scenario::legacy())], &format!("{ALLOW}{settings}"));
    let env = env.with_variable("PATH", "/usr/bin:/bin");
    insta::assert_snapshot!(env.run(&["call", "new/ask", "kind=sampling"]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"error":{"code":-1,"message":"the model gave no answer"}}]}
    --- stderr
    warning: the server `new` gets no answer of the model: `sleep` did not end within 1 s
    "#);
}

#[test]
fn a_project_cannot_choose_the_model() {
    let env = asking();
    env.write("project/helve.toml", "[settings.sampling]\ncommand = \"evil\"\n");
    insta::assert_snapshot!(env.run(&["trust", "--yes"]), @"
    exit status 0
    --- stderr
    Nothing here waits for your trust.
    ");
    insta::assert_snapshot!(env.run(&["call", "new/ask", "kind=sampling"]), @r#"
    exit status 5
    --- stderr
    warning: a project cannot say which program answers for a model
     --> [ROOT]/project/helve.toml:2:1
      |
    2 | command = "evil"
      | ^^^^^^^
      = help: put `[settings.sampling]` into your own helve.toml
    error: the server refused `tools/call`: Missing required client capability (-32021)
    hint: the reason is the server's own; its log may say more
    "#);
}

#[test]
fn servers_are_told_the_directories_of_the_settings_and_no_others() {
    let env = asking();
    let told = env.run(&["call", "new/ask", "kind=roots"]);
    assert!(told.starts_with("exit status 3") || told.starts_with("exit status 5"), "{told}");
    let with_roots =
        with_servers(&[("new", Scenario::dual())], &format!("{ALLOW}[settings]\nroots = [\".\", \"~/notes\"]\n"));
    insta::assert_snapshot!(with_roots.run(&["call", "new/ask", "kind=roots"]), @r#"
    exit status 0
    --- stdout
    {"answers":[{"roots":[{"name":"project","uri":"file://[ROOT]/project"},{"name":"notes","uri":"file://[ROOT]/home/notes"}]}]}
    "#);
}
