//! Which requests are let in, who can read what is left on disk, and what agents are told.

use std::os::unix::fs::PermissionsExt as _;

use helve_testkit::Scenario;

use crate::support::{ALLOW, TestEnv, with_servers};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn mode(path: impl AsRef<std::path::Path>) -> u32 {
    fs_err::metadata(path.as_ref()).expect("there").permissions().mode() & 0o777
}

/// What an agent on standard streams is answered to one call.
fn called(env: &TestEnv, arguments: &[&str], tool: &str, input: &str) -> String {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{input},{META}}}}}"#
    );
    String::from_utf8(env.output(arguments, &format!("{call}\n")).stdout).expect("UTF-8")
}

#[test]
fn s16_a_token_that_protects_nothing_is_refused() {
    let env = TestEnv::new();
    let path = env.project().join("token");
    let mut told = String::new();
    for (text, mode) in [("", 0o600), ("two words\n", 0o600), ("hunter2\n", 0o644), ("hunter2\n", 0o660)] {
        env.write("project/token", text);
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        told.push_str(&env.run(&["serve", "--http", "127.0.0.1:0", "--token-file", "token"]));
    }
    told.push_str(&env.run(&["serve", "--http", "127.0.0.1:0", "--token-file", "."]));
    let env = env.with_variable("HELVE_SERVE_TOKEN", "");
    told.push_str(&env.run(&["serve", "--http", "127.0.0.1:0"]));
    insta::assert_snapshot!(told, @"
    exit status 2
    --- stderr
    error: the token file [ROOT]/project/token is empty
    hint: a token is one long random word, such as `openssl rand -hex 32` prints
    exit status 2
    --- stderr
    error: the token file [ROOT]/project/token holds a blank, or something else that no token has
    hint: a token is one long random word, such as `openssl rand -hex 32` prints
    exit status 2
    --- stderr
    error: the token file [ROOT]/project/token is open to other users (mode 0644)
    hint: `chmod 600 [ROOT]/project/token` keeps it to its owner
    exit status 2
    --- stderr
    error: the token file [ROOT]/project/token is open to other users (mode 0660)
    hint: `chmod 600 [ROOT]/project/token` keeps it to its owner
    exit status 2
    --- stderr
    error: the token file [ROOT]/project/. is not a regular file
    hint: write the token into a file of its own
    exit status 2
    --- stderr
    error: the variable HELVE_SERVE_TOKEN is empty
    hint: a token is one long random word, such as `openssl rand -hex 32` prints
    hint: without a token, unset HELVE_SERVE_TOKEN
    ");
}

#[test]
fn s16_saved_results_are_private_and_limited() {
    let env = with_servers(&[("media", Scenario::modern())], ALLOW);
    env.write("tmp/note", "");
    let temporary = env.project().join("../tmp");
    let env = env.with_variable("TMPDIR", &temporary.to_string_lossy());
    let said = env.stdout(&["call", "media/contents"]);
    let (_, rest) = said.split_once("[image image/png, 8 bytes: ").expect("saved");
    let (file, _) = rest.split_once(']').expect("named");
    assert_eq!(mode(file), 0o600, "{file}");
    assert_eq!(mode(std::path::Path::new(file).parent().expect("a directory")), 0o700, "{file}");
}

/// The setting is for agents: `call` at a command line gets the whole, and so does a command that takes kept servers.
#[test]
fn s16_result_bytes_count_for_agents_of_serve() {
    let rules = format!("[settings]\nresult_bytes = 200\n{ALLOW}");
    let env = with_servers(&[("peer", Scenario::modern())], &rules);
    let long = "x".repeat(5_000);
    let arguments = format!(r#"{{"a":"{long}"}}"#);
    let answer = called(&env, &["serve", "--wait", "30s", "--prefix", "none"], "echo", &arguments);
    assert!(answer.len() < 2_000, "{answer}");
    let (_, rest) = answer.split_once("the whole result is in ").unwrap_or_else(|| panic!("{answer}"));
    let (file, _) = rest.split_once(']').expect("named");
    assert!(fs_err::read_to_string(file).expect("kept").contains(&long));
    assert_eq!(mode(file), 0o600, "{file}");
    assert_eq!(mode(std::path::Path::new(file).parent().expect("a directory")), 0o700, "{file}");
    assert!(env.stdout(&["call", "peer/echo", &format!("a={long}")]).contains(&long));
}

/// Agents hear that they are refused; people hear by which rule at which line.
#[test]
fn s16_an_agent_is_told_no_file_no_rule_and_no_command() {
    let rules = "[settings]\nvalidate = \"strict\"\n\n[[rules]]\ntool = \"peer/echo\"\npattern = \"a=secret*\"\naction = \"deny\"\n\n[[rules]]\ntool = \"peer/echo\"\naction = \"allow\"\n";
    let env = with_servers(&[("peer", Scenario::modern())], rules);
    let serve = ["serve", "--wait", "30s", "--prefix", "none"];
    let mut told = Vec::new();
    for (tool, input) in [
        ("echo", r#"{"a":"secrets"}"#),
        ("fail", "{}"),
        ("ech", "{}"),
        ("describe_tool", r#"{"name":"ech"}"#),
        ("sleep", r#"{"ms":"soon"}"#),
    ] {
        told.push(called(&env, &serve, tool, input));
    }
    for answer in &told {
        assert!(!answer.contains("helve.toml") && !answer.contains("`helve ") && !answer.contains("--"), "{answer}");
        assert!(!answer.contains("rule `") && !answer.contains("secret*"), "{answer}");
    }
    let words = |answer: &String| {
        let answer: serde_json::Value = serde_json::from_str(answer).expect("JSON");
        let text = answer["error"]["message"].as_str().or(answer["result"]["content"][0]["text"].as_str());
        text.expect("words").to_owned()
    };
    insta::assert_snapshot!(told.iter().map(words).collect::<Vec<_>>().join("\n"), @r#"
    `echo` is refused (DENIED): it is not allowed by the person's rules; the person was told
    `fail` is refused (APPROVAL_REQUIRED): it needs the person's yes, and they cannot be asked here; the person was told
    Unknown tool: ech
    Unknown tool: describe_tool
    invalid arguments for sleep: 1 problem
      /ms: expected integer, got "soon"
    usage: sleep(ignore_cancel?: boolean, ms?: integer)
    "#);
}

/// What lies in a runtime directory that others could have made is not spoken with.
#[test]
fn s16_keep_refuses_a_runtime_directory_of_another_user() {
    let env = with_servers(&[("peer", Scenario::modern())], ALLOW);
    env.write("shared/note", "");
    let shared = env.project().join("../shared");
    // Anybody could have put another `helve` here, or rename this one later.
    fs_err::set_permissions(&shared, std::fs::Permissions::from_mode(0o777)).expect("set");
    let env = env.with_variable("XDG_RUNTIME_DIR", &fs_err::canonicalize(shared).expect("there").to_string_lossy());
    insta::assert_snapshot!(env.run(&["keep", "start"]), @"
    exit status 1
    --- stderr
    error: [ROOT]/shared/helve lies in a directory in which every user can rename it
    hint: XDG_RUNTIME_DIR has to be a directory of your own; without it one below HOME is used
    ");
    assert_eq!(env.stdout(&["call", "peer/echo", "a=1"]), "{\"a\":\"1\"}\n");
}
