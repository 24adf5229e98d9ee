//! `helve resources`, `read`, `prompts` and `prompt`, against servers that have them, servers that have none, and
//! servers that are not there.

use helve_testkit::{Offers, Scenario};

use crate::support::{ALLOW, Person, TestEnv, with_servers};

fn one_server() -> TestEnv {
    with_servers(&[("notes", Scenario::dual())], "")
}

#[test]
fn resources_and_templates_are_listed_across_servers() {
    let nothing = Offers { resources: false, ..Offers::default() };
    let env = with_servers(
        &[
            ("notes", Scenario::dual()),
            ("old", Scenario::legacy()),
            ("bare", Scenario::dual().offers(nothing)),
            ("bad", Scenario::dual().exits_at_once(3)),
        ],
        "",
    );
    let listed = env.run(&["resources"]);
    let (stdout, stderr) = listed.split_once("--- stderr\n").expect("somebody did not answer");
    insta::assert_snapshot!(stdout, @"
    exit status 0
    --- stdout
    SERVER  URI               TYPE                      NAME
    notes   test://text       text/plain                Some text
    notes   test://binary     application/octet-stream  binary
    notes   test://watched    -                         watched
    notes   test://asking     -                         asking
    notes   test://item/{id}  application/json          item
    old     test://text       text/plain                Some text
    old     test://binary     application/octet-stream  binary
    old     test://watched    -                         watched
    old     test://asking     -                         asking
    old     test://item/{id}  application/json          item
    ");
    assert!(stderr.starts_with("warning: the server `bad` is not available"), "{stderr}");
    insta::assert_snapshot!(env.run(&["resources", "bare"]), @"
    exit status 0
    --- stderr
    The server `bare` has no resources.
    ");
    assert!(env.run(&["resources", "bad"]).starts_with("exit status 3"));
    insta::assert_snapshot!(env.run(&["resources", "nots"]), @"
    exit status 5
    --- stderr
    error: there is no server `nots`
    hint: did you mean `notes`?
    ");
    insta::assert_snapshot!(env.json(&["resources", "notes", "--json"])[4], @r#"{"definition":{"mimeType":"application/json","name":"item","uriTemplate":"test://item/{id}"},"server":"notes","template":true,"uri":"test://item/{id}"}"#);
}

#[test]
fn a_project_that_nobody_trusts_is_not_started() {
    let env = TestEnv::new();
    env.write("project/.mcp.json", r#"{"mcpServers": {"a": {"command": "run-a"}}}"#);
    insta::assert_snapshot!(env.run(&["resources"]), @"
    exit status 0
    --- stderr
    warning: not started, because nobody has trusted this project yet: `a`
    hint: `helve trust` shows what would run, and asks
    There are no resources.
    ");
    insta::assert_snapshot!(env.run(&["prompts", "a"]), @"
    exit status 7
    --- stderr
    error: the server `a` is not started: untrusted project
    hint: `helve trust` shows what it would run, and asks
    ");
}

#[test]
fn text_is_printed_and_the_rest_is_saved() {
    let env = one_server();
    insta::assert_snapshot!(env.run(&["read", "notes", "test://text"]), @"
    exit status 0
    --- stdout
    Hello, wörld
    ");
    insta::assert_snapshot!(env.run(&["read", "notes", "test://binary", "-o", "out.bin"]), @"
    exit status 0
    --- stderr
    256 bytes written to out.bin
    ");
    let bytes = fs_err::read(env.project().join("out.bin")).expect("written");
    assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
    let piped = env.output(&["read", "notes", "test://binary", "-o", "-"], "");
    assert_eq!(piped.stdout, bytes);
    // The directory has a name of its own every time.
    let saved = env.run(&["read", "notes", "test://binary"]);
    assert!(saved.starts_with("exit status 0\n--- stdout\n[resource application/octet-stream, 256 bytes: "), "{saved}");
    let path = saved.trim_end().rsplit(' ').next().and_then(|path| path.strip_suffix(']')).expect("a path");
    assert_eq!(fs_err::read(path).expect("saved"), bytes);
    insta::assert_snapshot!(env.run(&["read", "notes", "test://text", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "contents": [
        {
          "mimeType": "text/plain",
          "text": "Hello, wörld",
          "uri": "test://text"
        }
      ],
      "resultType": "complete",
      "ttlMs": 60000,
      "cacheScope": "private",
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
fn templates_are_filled() {
    let env = one_server();
    insta::assert_snapshot!(env.run(&["read", "notes", "test://item/{id}", "id=a b"]), @r#"
    exit status 0
    --- stdout
    {"id":"a%20b"}
    "#);
    insta::assert_snapshot!(env.run(&["read", "notes", "test://item/{id}"]), @"
    exit status 2
    --- stderr
    error: the URI template needs a value for the variable `id`
    hint: add id=…
    ");
    insta::assert_snapshot!(env.run(&["read", "notes", "test://item/{id}", "idd=3"]), @"
    exit status 2
    --- stderr
    error: the URI template has no variable `idd` (did you mean `id`?)
    hint: it has id
    ");
}

#[test]
fn what_is_not_there_is_said_to_be_not_there() {
    let env = one_server();
    insta::assert_snapshot!(env.run(&["read", "notes", "test://gone"]), @"
    exit status 5
    --- stderr
    error: the server refused `resources/read`: Resource not found (-32602)
    hint: list again what the server has: it may have changed
    hint: `helve resources notes` lists what it has
    ");
    insta::assert_snapshot!(env.run(&["read", "nots", "test://text"]), @"
    exit status 5
    --- stderr
    error: there is no server `nots`
    hint: did you mean `notes`?
    ");
    insta::assert_snapshot!(env.json(&["read", "notes", "test://gone", "--json"])["code"], @r#""RESOURCE_NOT_FOUND""#);
    let bare = with_servers(&[("bare", Scenario::dual().offers(Offers { resources: false, ..Offers::default() }))], "");
    insta::assert_snapshot!(bare.run(&["read", "bare", "test://text"]), @"
    exit status 5
    --- stderr
    error: the server `bare` has no resources
    hint: `helve resources` lists those of all servers
    hint: `helve resources bare` lists what it has
    ");
}

/// A server whose every resource has these contents.
fn holding(contents: &str) -> TestEnv {
    let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{{\"contents\":[{contents}]}}}}\n");
    with_servers(&[("notes", Scenario::legacy().scripted("resources/read", &frame))], "")
}

#[test]
fn a_terminal_does_not_obey_a_resource() {
    let env = holding(r#"{"uri":"test://x","text":"a\u001b[2Jb"}"#);
    let mut person = Person::at(&env, &["read", "notes", "test://x"]);
    let seen = person.sees_the_end();
    assert!(seen.starts_with("exit status 0") && seen.contains(r"a\u{1b}[2Jb"), "{seen:?}");
    let mut person = Person::at(&env, &["read", "notes", "test://x", "-o", "-"]);
    assert!(person.sees_the_end().contains("a\u{1b}[2Jb"));
    // A pipe gets every byte.
    assert_eq!(env.stdout(&["read", "notes", "test://x"]), "a\u{1b}[2Jb\n");
}

#[test]
fn several_contents_none_and_broken_ones() {
    let two = holding(r#"{"uri":"test://a","text":"one"},{"uri":"test://b","text":"two\n"}"#);
    insta::assert_snapshot!(two.run(&["read", "notes", "test://x"]), @"
    exit status 0
    --- stdout
    one
    two
    ");
    insta::assert_snapshot!(two.run(&["read", "notes", "test://x", "-o", "out"]), @"
    exit status 2
    --- stderr
    error: the resource has 2 contents, not one for one file
    hint: --json gives all of them, and so does reading without -o
    ");
    assert_eq!(two.stdout(&["read", "notes", "test://x", "-o", "-"]), "onetwo\n");
    insta::assert_snapshot!(holding("").run(&["read", "notes", "test://x"]), @"
    exit status 0
    --- stderr
    The resource is empty.
    ");
    insta::assert_snapshot!(holding(r#"{"uri":"test://a","blob":"%%%"}"#).run(&["read", "notes", "test://x"]), @"
    exit status 3
    --- stderr
    error: the server's blob of test://a is not base 64
      cause: Invalid symbol 37, offset 0.
    hint: --json shows it as it came
    ");
}

#[test]
fn a_rule_can_forbid_a_resource() {
    let deny = "[[rules]]\ntool = \"notes/test://text\"\nkind = \"resource\"\naction = \"deny\"\n";
    let env = with_servers(&[("notes", Scenario::dual())], deny);
    let refused = env.run(&["read", "notes", "test://text", "--yes"]);
    assert!(refused.starts_with("exit status 7"), "{refused}");
    assert!(env.run(&["read", "notes", "test://watched"]).starts_with("exit status 0"));
}

#[test]
fn prompts_are_listed_and_got() {
    let env = with_servers(&[("notes", Scenario::dual()), ("bad", Scenario::dual().exits_at_once(3))], ALLOW);
    let listed = env.run(&["prompts"]);
    insta::assert_snapshot!(listed.split_once("--- stderr\n").expect("somebody did not answer").0, @"
    exit status 0
    --- stdout
    PROMPT          TAKES      WHAT IT IS FOR
    notes/simple               No arguments
    notes/greet     who tone?  Greets somebody
    notes/embedded             Carries a resource
    notes/asking               Asks the client before it answers
    ");
    insta::assert_snapshot!(env.json(&["prompts", "notes", "--json"])[0], @r#"{"definition":{"description":"No arguments","name":"simple","title":"A simple prompt"},"name":"notes/simple","prompt":"simple","server":"notes"}"#);
    insta::assert_snapshot!(env.run(&["prompt", "notes/greet", "who=Ada", "tone=twice"]), @"
    exit status 0
    --- stdout
    user:
    Greet Ada twice
    ");
    insta::assert_snapshot!(env.run(&["prompt", "notes", "embedded"]), @"
    exit status 0
    --- stdout
    user:
    Hello, wörld
    ");
    insta::assert_snapshot!(env.run(&["prompt", "notes/greet", "who=7", "--format", "anthropic"]), @r#"
    exit status 0
    --- stdout
    [{"role":"user","content":[{"type":"text","text":"Greet 7 kindly"}]}]
    "#);
    insta::assert_snapshot!(env.run(&["prompt", "notes/simple", "--format", "openai"]), @r#"
    exit status 0
    --- stdout
    [{"role":"user","content":"Say hello"}]
    "#);
    insta::assert_snapshot!(env.run(&["prompt", "notes/simple", "--format", "gemini"]), @r#"
    exit status 0
    --- stdout
    [{"role":"user","parts":[{"text":"Say hello"}]}]
    "#);
    insta::assert_snapshot!(env.run(&["prompt", "notes/simple", "--json"]), @r#"
    exit status 0
    --- stdout
    {
      "description": "From the fake peer",
      "messages": [
        {
          "content": {
            "text": "Say hello",
            "type": "text"
          },
          "role": "user"
        }
      ],
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
fn wrong_prompts_and_wrong_arguments() {
    let env = one_server();
    insta::assert_snapshot!(env.run(&["prompt", "notes/gret", "who=Ada"]), @"
    exit status 5
    --- stderr
    error: the server `notes` has no prompt `gret`
    hint: it has `simple`, `greet`, `embedded`, `asking`
    ");
    insta::assert_snapshot!(env.run(&["prompt", "nots/greet", "who=Ada"]), @"
    exit status 5
    --- stderr
    error: there is no server `nots`
    hint: did you mean `notes`?
    ");
    insta::assert_snapshot!(env.run(&["prompt", "notes/greet", "whom=Ada"]), @"
    exit status 2
    --- stderr
    error: invalid arguments for prompt greet: 2 problems
        missing argument `who`: Whom to greet
        no argument `whom`; did you mean `who`?
      usage: greet who=… [tone=…]
    ");
    insta::assert_snapshot!(env.run(&["prompt", "notes/greet", "Ada"]), @"
    exit status 2
    --- stderr
    error: `Ada` is not an argument: write key=value
    ");
}

#[test]
fn a_name_alone_is_enough_where_only_one_server_has_it() {
    let env = one_server();
    insta::assert_snapshot!(env.run(&["prompt", "greet", "who=Ada"]), @"
    exit status 0
    --- stdout
    user:
    Greet Ada kindly
    ");
    insta::assert_snapshot!(env.run(&["prompt", "gret", "who=Ada"]), @"
    exit status 5
    --- stderr
    error: no server has a prompt `gret`
    hint: did you mean `greet`?
    ");
    let two = with_servers(&[("a", Scenario::dual()), ("b", Scenario::dual())], "");
    insta::assert_snapshot!(two.run(&["prompt", "greet", "who=Ada"]), @"
    exit status 5
    --- stderr
    error: several servers have a prompt `greet`
    hint: say which one: `a/greet`, `b/greet`
    ");
}

/// G7: templates that do not come cost nobody the resources that did.
#[test]
fn g7_resources_are_shown_although_the_templates_do_not_come() {
    let env = with_servers(&[("half", Scenario::legacy().scripted("resources/templates/list", ""))], "");
    let config = env.read("home/.config/helve/helve.toml");
    env.write("home/.config/helve/helve.toml", &format!("[settings]\ntimeout_seconds = 3\n{config}"));
    let told = env.run(&["resources", "half"]);
    assert!(told.starts_with("exit status 0"), "{told}");
    assert!(told.contains("half    test://text") && told.contains("did not answer within 3.0 s"), "{told}");
}
