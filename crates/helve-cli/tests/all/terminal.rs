//! At a terminal: questions are asked and answered, colours are on, tables fit.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::TestEnv;

/// Runs helve at a terminal of 60 columns, types `input`, and gives everything the person sees, their own typing
/// included, and the exit status.
fn at_terminal(env: &TestEnv, arguments: &[&str], input: &str) -> String {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&controller).expect("granted");
    unlockpt(&controller).expect("unlocked");
    let name = ptsname(&controller, Vec::new()).expect("a name").into_string().expect("UTF-8");
    let size = Winsize { ws_row: 24, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0 };
    let end = || -> Stdio {
        let file: OwnedFd =
            fs_err::OpenOptions::new().read(true).write(true).open(&name).expect("opened").into_parts().0.into();
        tcsetwinsize(&file, size).expect("sized");
        Stdio::from(file)
    };
    let mut command = env.command(arguments);
    command.stdin(end()).stdout(end()).stderr(end());
    let mut child = command.spawn().expect("started");
    // The child's ends close here, so that reading ends when the child does.
    drop(command);
    let mut controller = std::fs::File::from(controller);
    controller.write_all(input.as_bytes()).expect("typed");
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    // A terminal whose other end is gone is an error, not an end.
    while let Ok(count @ 1..) = controller.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
    }
    let status = child.wait().expect("ended");
    let text = String::from_utf8_lossy(&seen).replace("\r\n", "\n");
    format!("exit status {}\n{}", status.code().unwrap_or(-1), env.filter(&text))
}

fn plain(env: &TestEnv, arguments: &[&str], input: &str) -> String {
    at_terminal(env, &[arguments, &["--color", "never"]].concat(), input)
}

fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write("project/.mcp.json", r#"{"mcpServers": {"a": {"command": "run-a"}, "b": {"command": "run-b"}}}"#);
    env
}

#[test]
fn trust_is_asked_for() {
    let env = project();
    let refused = plain(&env, &["trust"], "\n");
    assert!(refused.starts_with("exit status 0") && refused.contains("Trust all of it? [y/N/each]"), "{refused}");
    assert_eq!(env.json(&["--json"])["untrusted"], 2);
    let one = plain(&env, &["trust"], "each\nn\ny\n");
    assert!(one.contains("Trust server `a` of .mcp.json? [y/N]"), "{one}");
    assert!(one.contains("trusted server `b` of .mcp.json") && !one.contains("trusted server `a`"), "{one}");
    let rest = plain(&env, &["trust"], "yes\n");
    assert!(rest.contains("Trust this? [y/N]") && rest.contains("trusted server `a`"), "{rest}");
    assert_eq!(env.json(&["--json"])["untrusted"], 0);
}

#[test]
fn import_asks_what_to_take() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "run-a"}, "b": {"command": "run-b"}}}"#);
    let nothing = plain(&env, &["import"], "\n");
    assert!(nothing.contains("Which ones? (names, `all`, or nothing)"), "{nothing}");
    assert!(!env.exists("home/.config/helve/helve.toml"));
    let one = plain(&env, &["import"], "b\n");
    assert!(one.contains("imported server `b`"), "{one}");
    let rest = plain(&env, &["import"], "all\n");
    assert!(rest.contains("imported server `a`"), "{rest}");
}

#[test]
fn tables_fit_and_colours_are_on() {
    let env = TestEnv::new();
    let long = "a-server-with-a-name-that-goes-on-and-on-and-on-beyond-the-edge";
    env.write("home/.config/helve/helve.toml", &format!("[servers.{long}]\ncommand = \"x\"\n"));
    insta::assert_snapshot!(plain(&env, &[], ""), @"
    exit status 0
    SERVER            STATE  VIA    FROM
    a-server-with-a…  on     stdio  ~/.config/helve/helve.toml:1
    1 server in 1 file
    ");
    let colored = at_terminal(&env, &[], "");
    assert!(colored.contains("\u{1b}[32mon\u{1b}[0m"), "{colored:?}");
    let help = at_terminal(&env, &["--help"], "");
    assert!(help.contains('\u{1b}'), "{help:?}");
}
