//! Completion: what helve answers to the shells, and that bash understands the script.

use helve_testkit::Scenario;

use crate::support::{TestEnv, with_servers};

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
    insta::assert_snapshot!(complete(&["helve", "read", "gi"]), @"github");
    insta::assert_snapshot!(complete(&["helve", "watch", "gi"]), @"github");
    insta::assert_snapshot!(complete(&["helve", "prompt", "gi"]), @"github/");
    insta::assert_snapshot!(complete(&["helve", "poll", "gi"]), @"github/");
    insta::assert_snapshot!(complete(&["helve", "logs", "github", "--level", "e"]), @"
    error
    emergency
    ");
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
    insta::assert_snapshot!(env.stdout(&["__complete", "zsh", "--", "helve", "get", "a"]), @r#"a\:b"#);
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

#[test]
fn bash_completes_with_the_script() {
    let ask = "eval \"$(helve completions bash)\"
        COMP_LINE='helve get gi'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(helve get gi); COMP_CWORD=2
        _helve helve gi get
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    assert_eq!(in_shell("bash", &["--norc", "-c", ask]).expect("bash is there"), "github\n");
}

/// Where fish is installed.
#[test]
fn fish_completes_with_the_script() {
    let ask = r#"helve completions fish | source
        for line in "helve get gi" "helve get two" "helve get 'tw" "helve --color=n"
            complete -C $line
        end"#;
    if let Some(answer) = in_shell("fish", &["--no-config", "-c", ask]) {
        insta::assert_snapshot!(answer, @"
        github
        two words
        two words
        --color=never
        ");
    }
}

/// Where zsh is installed: it completes at a terminal only, which it makes itself.
#[test]
fn zsh_completes_with_the_script() {
    let lines = ["helve get gi", "helve get two", "helve get 'tw", "helve --color=n"];
    let ask = in_zsh(&lines);
    if let Some(answer) = in_shell("zsh", &["-f", "-c", &ask]) {
        insta::assert_snapshot!(answer, @r"
        <helve get github >
        <helve get two\ words >
        <helve get 'two words' >
        <helve --color=never >
        ");
    }
}

/// A script for zsh that types each line in a zsh of its own, presses Tab, and prints what is on the line then.
fn in_zsh(lines: &[&str]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| shell_words::quote(line)).collect();
    let before = r#"zmodload zsh/zpty
        zpty inner zsh -f -i
        said() { all=; while [[ $all != *${~1} ]] && zpty -r inner out; do all+=$out; done }
        zpty -w inner 'show() { print -r -- "<$BUFFER>" }; zle -N show; bindkey "^X" show'
        zpty -w inner 'autoload -Uz compinit; compinit -u -D; eval "$(helve completions zsh)"; print RE""ADY'
        said "READY*"
        for line in "#;
    let after = r#"; do
            zpty -w -n inner $'\x15'"$line"$'\t\x18'
            said '<helve*>*'
            print -r -- "<${${all##*<}%%>*}>"
        done"#;
    [before, &lines.join(" "), after].concat()
}

/// What a shell prints in which `helve` can be found; `None` where there is no such shell.
fn in_shell(shell: &str, arguments: &[&str]) -> Option<String> {
    in_shell_with(&env(), shell, arguments)
}

#[expect(clippy::disallowed_methods, reason = "the shells themselves are what is tested here")]
fn in_shell_with(env: &TestEnv, shell: &str, arguments: &[&str]) -> Option<String> {
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_helve")).parent().expect("a directory").to_owned();
    let output = std::process::Command::new(shell)
        .args(arguments)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", directory.display()))
        .env("HOME", env.home())
        .current_dir(env.project())
        .output()
        .ok()?;
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn manual_pages_have_the_usual_headings() {
    let env = env();
    let headings = |page: &str| -> Vec<String> {
        let text = env.stdout(&["man", page]);
        text.lines().filter_map(|line| line.strip_prefix(".SH ")).map(ToOwned::to_owned).collect()
    };
    assert!(headings("add").contains(&"EXAMPLES".to_owned()) && !headings("add").contains(&"EXTRA".to_owned()));
    assert!(headings("call").contains(&"NOTES".to_owned()) && !headings("call").contains(&"EXTRA".to_owned()));
}

/// A server whose tools are known from an earlier run.
fn with_arguments() -> TestEnv {
    let schema = serde_json::json!({"type": "object", "required": ["unit"], "properties": {
        "place": {"type": "string", "description": "Where\nand more"},
        "unit": {"enum": ["celsius", "kelvin"], "description": "In which unit"},
        "exact": {"type": "boolean"},
        "maybe": {"anyOf": [{"enum": ["a b", "c"]}, {"type": "null"}]},
    }});
    let tool = serde_json::json!({"name": "measure", "inputSchema": schema});
    let scenario = Scenario::dual().hide_builtin_tools().literal_tool(&tool.to_string());
    let env = with_servers(&[("weather", scenario)], "");
    env.stdout(&["tools"]);
    env
}

#[test]
fn arguments_of_tools_are_completed_from_their_schema() {
    let env = with_arguments();
    let complete = |words: &[&str]| env.stdout(&[&["__complete", "fish", "--"], words].concat());
    insta::assert_snapshot!(complete(&["helve", "call", "weather/measure", ""]), @"
    unit=	In which unit
    exact=
    maybe=
    place=	Where
    ");
    insta::assert_snapshot!(complete(&["helve", "call", "weather:measure", "unit=celsius", ""]), @"
    exact=
    maybe=
    place=	Where
    ");
    insta::assert_snapshot!(complete(&["helve", "call", "mcp__weather__measure", "unit="]), @"
    unit=celsius
    unit=kelvin
    ");
    insta::assert_snapshot!(complete(&["helve", "explain", "weather/measure", "exact=t"]), @"exact=true");
    insta::assert_snapshot!(complete(&["helve", "--config", "x", "call", "weather", "measure", "maybe="]), @"
    maybe=a b
    maybe=c
    ");
    insta::assert_snapshot!(complete(&["helve", "call", "weather/other", "u"]), @"");
}

/// Each shell puts the same words on the line, whatever it does with quotes, `=` and `:`.
#[test]
fn shells_complete_arguments_and_uris() {
    let bash = r#"eval "$(helve completions bash)"
        ask() { COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; COMPREPLY=(); _helve helve "$2" x; printf '%s\n' "${COMPREPLY[@]}"; }
        ask 'helve call weather/measure un' un
        ask 'helve call weather/measure unit=k' k
        ask 'helve call weather/measure maybe=a' a"#;
    insta::assert_snapshot!(in_shell_with(&with_arguments(), "bash", &["--norc", "-c", bash]).expect("bash is there"), @"
    unit=
    kelvin
    'a b'
    ");
    let fish = r#"helve completions fish | source
        for line in "helve call weather/measure un" "helve call weather/measure unit=k" "helve call weather/measure maybe=a"
            complete -C $line
        end"#;
    if let Some(answer) = in_shell_with(&with_arguments(), "fish", &["--no-config", "-c", fish]) {
        insta::assert_snapshot!(answer, @"
        unit=	In which unit
        unit=kelvin
        maybe=a b
        ");
    }
    let lines =
        ["helve call weather/measure un", "helve call weather/measure unit=k", "helve call weather/measure maybe=a"];
    if let Some(answer) = in_shell_with(&with_arguments(), "zsh", &["-f", "-c", &in_zsh(&lines)]) {
        insta::assert_snapshot!(answer, @r"
        <helve call weather/measure unit=>
        <helve call weather/measure unit=kelvin >
        <helve call weather/measure maybe=a\ b >
        ");
    }
    let notes = with_servers(&[("notes", Scenario::dual())], "");
    let lines = ["helve read notes test://te", "helve prompt notes/greet who=ro"];
    if let Some(answer) = in_shell_with(&notes, "zsh", &["-f", "-c", &in_zsh(&lines)]) {
        insta::assert_snapshot!(answer, @"
        <helve read notes test://text >
        <helve prompt notes/greet who=rom>
        ");
    }
    let bash = r#"eval "$(helve completions bash)"
        COMP_LINE='helve read notes test://te'; COMP_POINT=${#COMP_LINE}; _helve helve //te :; printf '%s\n' "${COMPREPLY[@]}""#;
    insta::assert_snapshot!(in_shell_with(&notes, "bash", &["--norc", "-c", bash]).expect("bash is there"), @"//text");
}

#[test]
fn uris_and_arguments_of_prompts_are_asked_of_their_server() {
    let env = with_servers(&[("notes", Scenario::dual())], "");
    let complete = |words: &[&str]| env.stdout(&[&["__complete", "fish", "--"], words].concat());
    insta::assert_snapshot!(complete(&["helve", "read", "notes", "test://t"]), @"test://text	Some text");
    insta::assert_snapshot!(complete(&["helve", "watch", "notes", "test://w"]), @"test://watched	watched");
    insta::assert_snapshot!(complete(&["helve", "read", "notes", "test://item/{id}", ""]), @"id=");
    insta::assert_snapshot!(complete(&["helve", "read", "notes", "test://item/{id}", "id=par"]), @"
    id=paris
    id=park
    id=party
    ");
    insta::assert_snapshot!(complete(&["helve", "prompt", "notes/greet", ""]), @"
    who=	Whom to greet
    tone=	How
    ");
    insta::assert_snapshot!(complete(&["helve", "prompt", "notes/greet", "who=ro"]), @"
    who=rome
    who=romania
    ");
    insta::assert_snapshot!(complete(&["helve", "read", "nowhere", "t"]), @"");
}
