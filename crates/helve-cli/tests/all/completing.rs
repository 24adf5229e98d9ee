//! Completion: what helve answers to the shells, and that bash understands the script.

use crate::support::TestEnv;

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", "[servers.github]\ncommand = \"x\"\n[servers.\"two words\"]\ncommand = \"x\"\n[servers.\"a:b\"]\ncommand = \"x\"\n");
    env
}

#[test]
fn verbs_options_and_servers_are_completed() {
    let env = env();
    let complete = |words: &[&str]| env.stdout(&[&["__complete", "fish", "--"], words].concat());
    insta::assert_snapshot!(complete(&["helve", "re"]), @"
    resources	List resources and resource templates
    read	Read a resource
    remove	Remove servers from helve's own files
    ");
    insta::assert_snapshot!(complete(&["helve", "--col"]), @"--color	Colours; auto is on a terminal");
    insta::assert_snapshot!(complete(&["helve", "--color", ""]), @"
    auto
    always
    never
    ");
    insta::assert_snapshot!(complete(&["helve", "get", ""]), @"
    github
    two words
    a:b
    ");
    insta::assert_snapshot!(complete(&["helve", "remove", "github", "gi"]), @"github");
    insta::assert_snapshot!(complete(&["helve", "completions", ""]), @"
    bash
    zsh
    fish
    ");
    insta::assert_snapshot!(complete(&["helve", "import", "--from", "cl"]), @"
    claude-code
    claude-desktop
    claude-loop
    claude-managed
    cline
    ");
    assert!(!complete(&["helve", ""]).contains("__complete"));
}

#[test]
fn bash_gets_words_it_can_put_on_the_line() {
    let env = env();
    let complete =
        |line: &str, current: &str| env.stdout(&["__complete", "bash", "--line", line, "--current", current]);
    insta::assert_snapshot!(complete("helve get ", ""), @"
    github
    'two words'
    a:b
    ");
    insta::assert_snapshot!(complete("helve get a:", ""), @"b");
    insta::assert_snapshot!(complete("helve get 'tw", "tw"), @"'two words'");
    insta::assert_snapshot!(complete("helve --color=n", "n"), @"never");
    insta::assert_snapshot!(complete("", ""), @"");
}

#[test]
fn zsh_gets_values_with_descriptions() {
    let env = env();
    insta::assert_snapshot!(env.stdout(&["__complete", "zsh", "--", "helve", "sch"]), @"schema:Print the JSON Schema of helve.toml, for editors that check as you type");
    insta::assert_snapshot!(env.stdout(&["__complete", "zsh", "--", "helve", "get", "a"]), @r#"a\:b:"#);
}

#[test]
fn the_scripts() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(env.stdout(&["completions", shell]).contains("helve __complete"), "{shell}");
    }
    insta::assert_snapshot!(env.run(&["completions", "tcsh"]), @"
    exit status 2
    --- stderr
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, zsh, fish]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
}

#[expect(clippy::disallowed_methods, reason = "bash itself is what is tested here")]
#[test]
fn bash_completes_with_the_script() {
    let env = env();
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_helve")).parent().expect("a directory").to_owned();
    let ask = "eval \"$(helve completions bash)\"
        COMP_LINE='helve get gi'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(helve get gi); COMP_CWORD=2
        _helve helve gi get
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let path = format!("{}:/usr/bin:/bin", directory.display());
    let output = std::process::Command::new("bash")
        .args(["--norc", "-c", ask])
        .env_clear()
        .env("PATH", path)
        .env("HOME", env.home())
        .current_dir(env.project())
        .output()
        .expect("bash is there");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "github\n", "{}", String::from_utf8_lossy(&output.stderr));
}
