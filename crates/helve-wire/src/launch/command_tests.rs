//! What is said about a command that cannot run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{ServerCommand, start_error};
use crate::Error;

/// Code, message and hints as a person would see them, with the test's directory cut out.
fn shown(error: &Error, directory: &Path) -> String {
    let hints: String = error.hints().iter().map(|hint| format!("\n  hint: {hint}")).collect();
    format!("{}: {error}{hints}", error.code()).replace(&directory.display().to_string(), "[dir]")
}

fn check(command: impl FnOnce(&Path) -> ServerCommand) -> String {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("bin/run");
    fs_err::create_dir(directory.path().join("bin")).unwrap();
    fs_err::write(&script, "#!/bin/sh\n").unwrap();
    fs_err::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    fs_err::write(directory.path().join("bin/text"), "hello").unwrap();
    match command(directory.path()).resolve() {
        Ok(path) => path.display().to_string().replace(&directory.path().display().to_string(), "[dir]"),
        Err(error) => shown(&error, directory.path()),
    }
}

fn with_path(program: &str, path: String) -> ServerCommand {
    ServerCommand {
        program: program.into(),
        environment: [("PATH", path)].into_iter().collect(),
        ..ServerCommand::default()
    }
}

#[test]
fn a_name_is_searched_in_the_path_of_the_server() {
    let found = check(|directory| with_path("run", format!("/nowhere:{}/bin:/bin", directory.display())));
    assert_eq!(found, "[dir]/bin/run");
}

#[test]
fn a_name_that_is_not_found_names_the_path_searched() {
    insta::assert_snapshot!(check(|directory| with_path("no-such-server", format!("{}/bin:/nowhere", directory.display()))), @r"
    TRANSPORT_ERROR: cannot find the program `no-such-server`
      hint: searched the server's PATH: [dir]/bin:/nowhere
      hint: install `no-such-server`, add its directory to the server's PATH, or give its absolute path
    ");
}

#[test]
fn no_path_at_all() {
    insta::assert_snapshot!(check(|_| ServerCommand { program: "npx".into(), ..ServerCommand::default() }), @r"
    TRANSPORT_ERROR: cannot find the program `npx`
      hint: the server's environment has no PATH: add one, or give the program's absolute path
    ");
}

#[test]
fn relative_entries_of_the_path_are_not_searched() {
    let looked_up = check(|directory| ServerCommand {
        working_directory: Some(directory.into()),
        ..with_path("run", "bin::.".into())
    });
    insta::assert_snapshot!(looked_up, @r"
    TRANSPORT_ERROR: cannot find the program `run`
      hint: searched the server's PATH: bin::.
      hint: install `run`, add its directory to the server's PATH, or give its absolute path
    ");
}

#[test]
fn a_file_in_the_path_that_cannot_run_is_named() {
    insta::assert_snapshot!(check(|directory| with_path("text", format!("{}/bin", directory.display()))), @r"
    TRANSPORT_ERROR: the program `[dir]/bin/text` is not executable
      hint: run `chmod +x [dir]/bin/text`, or name its interpreter as the program
    ");
}

#[test]
fn a_path_is_taken_as_it_is() {
    let at = |program: String| ServerCommand { program: program.into(), ..ServerCommand::default() };
    insta::assert_snapshot!(check(|directory| at(format!("{}/bin/run", directory.display()))), @"[dir]/bin/run");
    insta::assert_snapshot!(check(|directory| at(format!("{}/missing", directory.display()))), @r"
    TRANSPORT_ERROR: the program `[dir]/missing` does not exist
      hint: check the path, or install the program
    ");
    insta::assert_snapshot!(check(|_| at("~/bin/server".into())), @r"
    TRANSPORT_ERROR: the program `~/bin/server` does not exist
      hint: `~` is not expanded here: write the whole path
      hint: check the path, or install the program
    ");
    insta::assert_snapshot!(check(|directory| at(format!("{}/bin", directory.display()))), @r"
    TRANSPORT_ERROR: the program `[dir]/bin` is a directory
      hint: give the path of the program inside it
    ");
}

#[test]
fn a_relative_path_starts_at_the_working_directory() {
    let found = check(|directory| ServerCommand {
        program: "bin/run".into(),
        working_directory: Some(directory.into()),
        ..ServerCommand::default()
    });
    assert_eq!(found, "bin/run");
}

#[test]
fn a_working_directory_that_is_none() {
    let at = |directory: std::path::PathBuf| ServerCommand {
        program: "/bin/sh".into(),
        working_directory: Some(directory),
        ..ServerCommand::default()
    };
    insta::assert_snapshot!(check(|directory| at(directory.join("gone"))), @r"
    TRANSPORT_ERROR: the working directory `[dir]/gone` does not exist
      hint: create it, or change the server's working directory
    ");
    insta::assert_snapshot!(check(|directory| at(directory.join("bin/text"))), @"TRANSPORT_ERROR: the working directory `[dir]/bin/text` is not a directory");
}

#[test]
fn strings_the_system_cannot_carry() {
    let with = |name: &str, value: &str| ServerCommand {
        program: "/bin/sh".into(),
        environment: [(name, value)].into_iter().collect(),
        ..ServerCommand::default()
    };
    insta::assert_snapshot!(check(|_| with("A=B", "x")), @r#"TRANSPORT_ERROR: "A=B" cannot be the name of an environment variable"#);
    insta::assert_snapshot!(check(|_| with("", "x")), @r#"TRANSPORT_ERROR: "" cannot be the name of an environment variable"#);
    insta::assert_snapshot!(check(|_| with("A", "x\0y")), @"TRANSPORT_ERROR: the environment variable A contains a NUL character");
    insta::assert_snapshot!(check(|_| ServerCommand { args: vec!["a\0b".into()], ..with("A", "x") }), @"TRANSPORT_ERROR: the server's command contains a NUL character");
    insta::assert_snapshot!(check(|_| ServerCommand::default()), @"TRANSPORT_ERROR: the server's command is empty");
}

#[test]
fn what_the_system_refuses_is_explained() {
    let refused =
        |errno: rustix::io::Errno| shown(&start_error(Path::new("/opt/server"), errno.into()), Path::new("/nowhere"));
    insta::assert_snapshot!(refused(rustix::io::Errno::NOEXEC), @r"
    TRANSPORT_ERROR: cannot start `/opt/server`
      hint: it is not a program for this machine; a script needs a first line that names its interpreter (`#!`)
    ");
    insta::assert_snapshot!(refused(rustix::io::Errno::NOENT), @r"
    TRANSPORT_ERROR: cannot start `/opt/server`
      hint: the interpreter named in its first line (`#!`) does not exist
    ");
    insta::assert_snapshot!(refused(rustix::io::Errno::AGAIN), @r"
    TRANSPORT_ERROR: cannot start `/opt/server`
      hint: the limit of processes or memory is reached: stop something, or raise it (`ulimit -u`)
    ");
}

#[test]
fn debug_shows_no_secret() {
    let command = ServerCommand {
        program: "npx".into(),
        args: vec!["--token".into(), "secret".into()],
        environment: [("API_KEY", "secret")].into_iter().collect(),
        ..ServerCommand::default()
    };
    insta::assert_snapshot!(format!("{command:?}"), @r#"ServerCommand { program: "npx", args: 2 hidden, working_directory: None, environment: {"API_KEY"} }"#);
}
