//! Token files and variables that are refused.

use std::os::unix::fs::PermissionsExt as _;

use secrecy::ExposeSecret as _;

use super::*;

fn told(text: &[u8], mode: u32) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    fs_err::write(&path, text).unwrap();
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    shown(from_file(&path)).replace(&path.display().to_string(), "FILE")
}

fn shown(token: Result<SecretString, Failure>) -> String {
    match token {
        Ok(token) => format!("token {}", token.expose_secret()),
        Err(failure) => failure.message().to_owned(),
    }
}

#[test]
fn s16_a_token_file_holds_one_word_for_its_owner_alone() {
    let long = "x".repeat(5_000);
    let told: Vec<String> = [
        (&b"hunter2\n"[..], 0o600),
        (b"hunter2", 0o400),
        (b"", 0o600),
        (b" \n\n", 0o600),
        (b"one two\n", 0o600),
        (b"one\ntwo\n", 0o600),
        ("t\u{f6}ken".as_bytes(), 0o600),
        (b"\xff\xfe", 0o600),
        (long.as_bytes(), 0o600),
        (b"hunter2\n", 0o644),
        (b"hunter2\n", 0o640),
        (b"hunter2\n", 0o604),
        (b"hunter2\n", 0o620),
    ]
    .into_iter()
    .map(|(text, mode)| told(text, mode))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    token hunter2
    token hunter2
    the token file FILE is empty
    the token file FILE is empty
    the token file FILE holds a blank, or something else that no token has
    the token file FILE holds a blank, or something else that no token has
    the token file FILE holds a blank, or something else that no token has
    the token file FILE is not text
    the token file FILE has more than 4096 bytes
    the token file FILE is open to other users (mode 0644)
    the token file FILE is open to other users (mode 0640)
    the token file FILE is open to other users (mode 0604)
    the token file FILE is open to other users (mode 0620)
    ");
}

#[test]
fn s16_a_token_file_is_a_regular_file() {
    let directory = tempfile::tempdir().unwrap();
    assert!(shown(from_file(directory.path())).ends_with("is not a regular file"));
    let pipe = directory.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    assert!(shown(from_file(&pipe)).ends_with("is not a regular file"));
    assert!(shown(from_file(Path::new("/dev/null"))).ends_with("is not a regular file"));
    // Secrets are often handed over as links.
    fs_err::write(directory.path().join("real"), "hunter2").unwrap();
    fs_err::set_permissions(directory.path().join("real"), std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("real", directory.path().join("link")).unwrap();
    assert_eq!(shown(from_file(&directory.path().join("link"))), "token hunter2");
}

#[test]
fn s16_a_variable_that_is_set_holds_a_token() {
    let of = |value: &str| shown(from_variable("HELVE_SERVE_TOKEN", OsStr::new(value)));
    insta::assert_snapshot!([of("hunter2"), of(""), of("a b"), of("a\n")].join("\n"), @"
    token hunter2
    the variable HELVE_SERVE_TOKEN is empty
    the variable HELVE_SERVE_TOKEN holds a blank, or something else that no token has
    the variable HELVE_SERVE_TOKEN holds a blank, or something else that no token has
    ");
}
