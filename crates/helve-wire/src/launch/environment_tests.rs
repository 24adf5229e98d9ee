//! Which variables reach a server.

use std::ffi::OsString;

use super::{ChildEnvironment, child_environment};

fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

fn shown(environment: &ChildEnvironment) -> String {
    environment.iter().map(|(name, value)| format!("{}={}\n", name.display(), value.display())).collect()
}

#[test]
fn only_the_allowlist_is_passed_on() {
    let parent = variables(&[
        ("HOME", "/home/ann"),
        ("PATH", "/usr/bin:/bin"),
        ("LANG", "de_DE.UTF-8"),
        ("LC_TIME", "C"),
        ("TZ", "Europe/Berlin"),
        ("XDG_CACHE_HOME", "/home/ann/.cache"),
        ("XDG_RUNTIME_DIR", "/run/user/1000"),
        ("SSH_AUTH_SOCK", "/run/user/1000/agent"),
        ("GITHUB_TOKEN", "ghp_secret"),
        ("LD_PRELOAD", "/evil.so"),
        ("NODE_OPTIONS", "--require /evil.js"),
        ("SSL_CERT_FILE", "/etc/ssl/company.pem"),
    ]);
    insta::assert_snapshot!(shown(&child_environment(parent, [])), @r"
    HOME=/home/ann
    LANG=de_DE.UTF-8
    LC_TIME=C
    PATH=/usr/bin:/bin
    SSL_CERT_FILE=/etc/ssl/company.pem
    TZ=Europe/Berlin
    XDG_CACHE_HOME=/home/ann/.cache
    ");
}

#[test]
fn a_named_variable_wins_over_an_inherited_one() {
    let parent = variables(&[("PATH", "/usr/bin"), ("TERM", "xterm")]);
    let named = variables(&[("PATH", "/opt/bin"), ("API_KEY", "k"), ("EMPTY", "")]);
    insta::assert_snapshot!(shown(&child_environment(parent, named)), @r"
    API_KEY=k
    EMPTY=
    PATH=/opt/bin
    TERM=xterm
    ");
}

#[test]
fn a_proxy_with_a_password_stays_here() {
    let parent = variables(&[
        ("HTTPS_PROXY", "http://ann:secret@proxy:3128"),
        ("http_proxy", "http://proxy:3128"),
        ("NO_PROXY", "localhost"),
    ]);
    insta::assert_snapshot!(shown(&child_environment(parent, [])), @r"
    NO_PROXY=localhost
    http_proxy=http://proxy:3128
    ");
}

#[test]
fn an_exported_shell_function_stays_here() {
    let parent = variables(&[("TERM", "() { :; }; echo gone")]);
    assert_eq!(child_environment(parent, []), ChildEnvironment::default());
}

#[test]
fn debug_shows_no_value() {
    let environment: ChildEnvironment = [("API_KEY", "k-12345"), ("HOME", "/home/ann")].into_iter().collect();
    insta::assert_snapshot!(format!("{environment:?}"), @r#"{"API_KEY", "HOME"}"#);
}
