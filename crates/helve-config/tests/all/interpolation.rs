//! References: which spelling means what in which dialect, and what may be seen of the values.

use helve_config::{Dialect, Environment, FilePlace, read_text};
use helve_model::{Layer, TransportSpec};

use crate::support::{PROJECT, place};

/// The arguments of the only server after filling in, and the variables that were missing.
fn arguments(dialect: Dialect, path: &str, text: &str, environment: &Environment) -> Vec<String> {
    let content = read_text(&place(dialect, path, Layer::User), text, environment);
    let spec = content.servers.first().and_then(|server| server.spec.as_ref()).expect("a server");
    let TransportSpec::Stdio(stdio) = &spec.transport else { panic!("a program") };
    stdio.arguments.iter().map(|text| text.expose().to_owned()).collect()
}

fn environment() -> Environment {
    Environment::new(PROJECT).with_home("/home/me").with_variables([("FOO", "foov"), ("EMPTY", ""), ("SPACED", "a b")])
}

/// One argument for every family's spelling.
const WORDS: &str = r#"["${FOO}", "${NOPE:-dflt}", "$FOO", "${env:FOO}", "{env:FOO}", "$env:FOO", "${workspaceFolder}", "${EMPTY:-e}"]"#;

#[test]
fn every_family_has_its_own_spellings() {
    let json = |root: &str| format!(r#"{{"{root}": {{"a": {{"command": "a", "args": {WORDS}}}}}}}"#);
    let check = |dialect, path: &str, text: &str| arguments(dialect, path, text, &environment()).join(" | ");
    let toml = format!("[servers.a]\ncommand = \"a\"\nargs = {WORDS}\n");
    insta::assert_snapshot!(check(Dialect::Helve, "helve.toml", &toml), @"foov | dflt | $FOO | foov | {env:FOO} | $env:FOO | /home/me/project | e");
    insta::assert_snapshot!(check(Dialect::McpJson, ".mcp.json", &json("mcpServers")), @"foov | dflt | $FOO | foov | {env:FOO} | $env:FOO | /home/me/project | e");
    insta::assert_snapshot!(check(Dialect::ClaudeCode, ".claude.json", &json("mcpServers")), @"foov | dflt | $FOO | ${env:FOO} | {env:FOO} | $env:FOO | ${workspaceFolder} | e");
    insta::assert_snapshot!(check(Dialect::VsCode, "mcp.json", &json("servers")), @"${FOO} | ${NOPE:-dflt} | $FOO | foov | {env:FOO} | $env:FOO | /home/me/project | ${EMPTY:-e}");
    insta::assert_snapshot!(check(Dialect::Gemini, "settings.json", &json("mcpServers")), @"foov | dflt | foov | ${env:FOO} | {env:FOO} | $env:FOO | ${workspaceFolder} | e");
    insta::assert_snapshot!(check(Dialect::Opencode, "opencode.json", &json("mcp")), @"${FOO} | ${NOPE:-dflt} | $FOO | $foov | foov | $env:FOO | ${workspaceFolder} | ${EMPTY:-e}");
    insta::assert_snapshot!(check(Dialect::Mcporter, "mcporter.json", &json("mcpServers")), @"foov | dflt | $FOO | ${env:FOO} | {env:FOO} | foov | ${workspaceFolder} | e");
    insta::assert_snapshot!(check(Dialect::Zed, "settings.json", &json("context_servers")), @"${FOO} | ${NOPE:-dflt} | $FOO | ${env:FOO} | {env:FOO} | $env:FOO | ${workspaceFolder} | ${EMPTY:-e}");
    insta::assert_snapshot!(check(Dialect::Cline, "cline_mcp_settings.json", &json("mcpServers")), @"${FOO} | ${NOPE:-dflt} | $FOO | foov | {env:FOO} | $env:FOO | ${workspaceFolder} | ${EMPTY:-e}");
}

#[test]
fn helves_own_file_nests_escapes_asks_and_reads_files() {
    let directory = tempfile::tempdir().expect("a directory");
    fs_err::write(directory.path().join("token.txt"), "from-file\n").expect("written");
    let text = r#"
inputs = [{ id = "who" }]
[servers.a]
command = "a"
args = ["${A:-${B:-${FOO}}}", "$${FOO}", "${input:who}", "${file:token.txt}", "x${FOO}y${FOO}z", "${userHome}", "$", "{}", "${SPACED}"]
"#;
    let path = directory.path().join("helve.toml");
    let found =
        arguments(Dialect::Helve, path.to_str().expect("a path"), text, &environment().with_answer(&path, "who", "me"));
    assert_eq!(found, ["foov", "${FOO}", "me", "from-file", "xfoovyfoovz", "/home/me", "$", "{}", "a b"]);
}

#[test]
fn a_rules_pattern_may_name_directories() {
    let text = "[[rules]]\ntool = \"fs/*\"\npattern = \"path=${workspaceFolder}/**/${FOO}\"\naction = \"allow\"\n";
    let content = read_text(&place(Dialect::Helve, "helve.toml", Layer::User), text, &environment());
    assert_eq!(content.rules[0].pattern.as_deref(), Some("path=/home/me/project/**/${FOO}"));
}

#[test]
fn an_endpoint_is_split_before_it_is_filled_in() {
    let text = r#"{"servers": [{"name": "a", "endpoint": "run '${SPACED} c' ${SPACED} \"q\\\"q\" ''"}]}"#;
    let found = arguments(Dialect::ClaudeLoop, "mcp-config.json", text, &environment());
    assert_eq!(found, ["a b c", "a b", "q\"q", ""]);
}

#[test]
fn an_unset_variable_stops_its_server_alone() {
    let text = r#"{"mcpServers": {"a": {"command": "a", "env": {"T": "${NOPE}"}}, "b": {"command": "b"}}}"#;
    let content = read_text(&place(Dialect::McpJson, ".mcp.json", Layer::User), text, &environment());
    let usable: Vec<(&str, bool)> =
        content.servers.iter().map(|server| (server.name.as_str(), server.is_usable())).collect();
    assert_eq!(usable, [("a", false), ("b", true)]);
}

#[test]
fn a_dotenv_file_beside_strawberrys_settings_counts_and_the_environment_wins() {
    let directory = tempfile::tempdir().expect("a directory");
    let lines = "# secrets\nexport KEY='from file' # x\nFOO=other\nQUOTED=\"a\\nb\" \nBARE=a#b # c\nnot a line\n";
    fs_err::write(directory.path().join(".env"), lines).expect("written");
    let text = "mcp:\n  servers:\n    - name: a\n      command: a\n      args: [\"${KEY}\", \"${FOO}\", \"${QUOTED}\", \"${BARE}\"]\n";
    for path in ["settings.yaml", "config/settings.yaml"] {
        let path = directory.path().join(path);
        let found = arguments(Dialect::Strawberry, path.to_str().expect("a path"), text, &environment());
        assert_eq!(found, ["from file", "foov", "a\nb", "a#b"]);
    }
}

#[test]
fn an_env_file_fills_the_environment() {
    let directory = tempfile::tempdir().expect("a directory");
    fs_err::write(directory.path().join("dev.env"), "TOKEN=hunter2\nMODE=dev\n").expect("written");
    let text =
        r#"{"servers": {"a": {"command": "a", "envFile": "${workspaceFolder}/dev.env", "env": {"MODE": "prod"}}}}"#;
    let place = FilePlace {
        path: directory.path().join(".vscode/mcp.json"),
        application: "vscode",
        dialect: Dialect::VsCode,
        layer: Layer::User,
        project: directory.path().to_path_buf(),
    };
    let content = read_text(&place, text, &environment());
    let Some(TransportSpec::Stdio(stdio)) = content.servers[0].spec.as_ref().map(|spec| &spec.transport) else {
        panic!("a program")
    };
    assert_eq!(stdio.environment["TOKEN"].expose(), "hunter2");
    assert_eq!(stdio.environment["MODE"].expose(), "prod");
    assert!(!format!("{content:?}").contains("hunter2"));
}

#[test]
fn gemini_empties_what_is_unset_in_an_environment_only() {
    let text = r#"{"mcpServers": {"a": {"command": "a", "args": ["$NOPE"], "env": {"T": "$NOPE"}}}}"#;
    let content = read_text(&place(Dialect::Gemini, "settings.json", Layer::User), text, &environment());
    let Some(TransportSpec::Stdio(stdio)) = content.servers[0].spec.as_ref().map(|spec| &spec.transport) else {
        panic!("a program")
    };
    assert_eq!((stdio.arguments[0].expose(), stdio.environment["T"].expose()), ("$NOPE", ""));
    assert!(content.servers[0].is_usable());
}

#[test]
fn secrets_that_are_written_out_are_not_shown() {
    let text = r#"{"mcpServers": {
      "a": {"command": "a", "env": {"API_KEY": "hunter1", "GITHUB_PAT": "hunter2", "PATH": "/open", "MODE": 1, "X": null}},
      "b": {"url": "https://b.example.com", "headers": {"Authorization": "Bearer hunter3", "X": null}},
      "c": {"url": "https://c.example.com", "oauth": {"client_secret": "hunter4"}, "zzz": 1}
    }}"#;
    let content = read_text(&place(Dialect::McpJson, ".mcp.json", Layer::User), text, &environment());
    let shown = format!("{content:?} {}", crate::support::problems(&content));
    assert!(!shown.contains("hunter"), "{shown}");
    assert!(shown.contains("/open"));
    insta::assert_snapshot!(crate::support::problems(&content), @r#"
    error: `env.X` must be a string, not nothing
     --> .mcp.json:2:117
      |
    2 | …, "GITHUB_PAT": "•••••••", "PATH": "/open", "MODE": 1, "X": null}},
      |                                                              ^^^^

    error: `headers.X` must be a string, not nothing
     --> .mcp.json:3:97
      |
    3 |       "b": {"url": "https://b.example.com", "headers": {"Authorization": "••••••••••••••", "X": null}},
      |                                                                                                 ^^^^

    warning: unknown key `zzz`
     --> .mcp.json:4:84
      |
    4 |       "c": {"url": "https://c.example.com", "oauth": {"client_secret": "•••••••"}, "zzz": 1}
      |                                                                                    ^^^^^
    "#);
}
