//! `helve expand`: what stands in the text in the end, when it is printed, and what a script is told.

use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

use helve_testkit::Scenario;

use crate::support::{ALLOW, TestEnv, with_servers};

fn env() -> TestEnv {
    with_servers(&[("peer", Scenario::dual())], ALLOW)
}

/// helve with pipes, for a test to speak with.
fn begun(env: &TestEnv, arguments: &[&str]) -> Child {
    let mut command = env.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

#[test]
fn a_tool_that_says_it_failed_failed() {
    let env = env();
    let prompt = "So: [use-mcp:peer/fail:{\"message\": \"disk\\nfull\"}] x\n";
    insta::assert_snapshot!(env.run_with_input(&["expand"], prompt), @r"
    exit status 0
    --- stdout
    So: [mcp-error peer/fail: TOOL_ERROR: disk full] x
    --- stderr
    warning: `peer/fail` says that it failed: disk
      full
    ");
    insta::assert_snapshot!(env.run_with_input(&["expand", "--strict"], prompt), @r"
    exit status 5
    --- stderr
    error: disk
      full
    ");
    let output = env.output(&["expand", "--json"], prompt);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["errors"][0]["code"], "TOOL_ERROR", "{told}");
    assert_eq!(told["errors"][0]["tool"], "fail", "{told}");
}

#[test]
fn scripts_hear_of_tags_that_are_none() {
    let env = env();
    let prompt = "a [use-mcp:peer/echo:{1}] b [use-mcp:gone/x] c\n";
    let output = env.output(&["expand", "--json"], prompt);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let codes: Vec<&str> =
        told["errors"].as_array().expect("a list").iter().filter_map(|one| one["code"].as_str()).collect();
    assert_eq!(codes, ["USAGE", "SERVER_NOT_FOUND"], "{told}");
    assert!(told["errors"][0]["error"].as_str().expect("a text").starts_with("line 1, column 3: "), "{told}");
}

#[test]
fn pictures_are_saved_and_named() {
    let env = env();
    let text = env.run_with_input(&["expand"], "[use-mcp:peer/contents]");
    let path = text.split_once("[image image/png, 8 bytes: ").and_then(|(_, rest)| rest.split_once(']'));
    let (path, _) = path.unwrap_or_else(|| panic!("{text}"));
    assert_eq!(fs_err::read(path).expect("saved").len(), 8);
}

/// What is certain does not wait for the end of the text, and nothing overtakes a call.
#[test]
fn text_is_printed_as_it_comes() {
    let env = env();
    let mut child = begun(&env, &["expand"]);
    let (mut input, mut output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut hear = |expected: &str| {
        let mut heard = vec![0; expected.len()];
        output.read_exact(&mut heard).expect("printed");
        assert_eq!(String::from_utf8_lossy(&heard), expected);
    };
    input.write_all(b"first\n").expect("read");
    hear("first\n");
    input.write_all(b"[use-mcp:peer/echo] and\n").expect("read");
    hear("{} and\n");
    input.write_all(b"[use-mcp:peer/sleep:{\"ms\": 100}][use-mcp:peer/echo:{\"a\": 1}]").expect("read");
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("printed");
    assert!(rest.ends_with("{\"a\": 1}") && rest.len() > 8, "{rest}");
    assert!(child.wait().expect("ended").success());
}

#[test]
fn what_is_no_tag_passes_byte_for_byte() {
    let env = env();
    let prompt = b"a\xff [use-mcp:peer/echo] \xc3\x28 \xe2\x82".as_slice();
    for prompt in [prompt, b"\xff\x00\xfe", b""] {
        let mut child = begun(&env, &["expand"]);
        child.stdin.take().expect("a pipe").write_all(prompt).expect("read");
        let printed = child.wait_with_output().expect("ended").stdout;
        let expected: Vec<u8> = match prompt.split_at_checked(3) {
            Some((before, after)) if after.starts_with(b"[use") => [before, b"{}", &after[19..]].concat(),
            _ => prompt.to_vec(),
        };
        assert_eq!(printed, expected, "{}", String::from_utf8_lossy(&printed));
    }
}

/// Whoever waits for an input that does not end can stop waiting.
#[test]
fn an_input_that_does_not_end_can_be_given_up() {
    let env = env();
    for arguments in [&["expand"][..], &["call", "peer/echo", "--args", "-"]] {
        let mut child = begun(&env, &[arguments, &["--timeout", "2s"]].concat());
        let input = child.stdin.take();
        assert_eq!(child.wait().expect("ended").code(), Some(4), "{arguments:?}");
        drop(input);
    }
}

#[test]
fn interrupted_it_does_not_wait_for_the_rest() {
    let env = env();
    let mut child = begun(&env, &["expand"]);
    let (mut input, mut output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    // The answer of a tool: helve waits for the rest, and for signals.
    input.write_all(b"[use-mcp:peer/echo]").expect("read");
    output.read_exact(&mut [0; 2]).expect("printed");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("there");
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    drop(input);
}
