//! What people read when a configuration is wrong, word by word.

use helve_config::{Dialect, Environment, ExplicitFile, LoadRequest, load, read_text};
use helve_model::{Action, Layer};

use crate::support::{environment, place, problems, read};

fn json(text: &str) -> String {
    problems(&read(Dialect::McpJson, ".mcp.json", text))
}

fn toml(text: &str) -> String {
    problems(&read(Dialect::Helve, "helve.toml", text))
}

#[test]
fn bad_json() {
    insta::assert_snapshot!(json("{\n  \"mcpServers\": {\n    \"a\" {}\n  }\n}"), @r#"
    error: this is not JSON: expected colon after the string or word in object property
     --> .mcp.json:3:9
      |
    3 |     "a" {}
      |         ^
    "#);
    insta::assert_snapshot!(json("{\"mcpServers\": {\"a\": {\"command\": 'x'}}}"), @r#"
    error: this is not JSON: single-quoted strings are not allowed
     --> .mcp.json:1:34
      |
    1 | {"mcpServers": {"a": {"command": 'x'}}}
      |                                  ^
    "#);
    insta::assert_snapshot!(json("[1]"), @r"
    error: the file must be a table, not a list
     --> .mcp.json:1:1
      |
    1 | [1]
      | ^^^
    ");
    insta::assert_snapshot!(json(&"[".repeat(2_000)), @r"
    error: this is not JSON: maximum nesting depth exceeded
     --> .mcp.json:1:513
      |
    1 | …[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…
      |                                                              ^^
    ");
}

#[test]
fn bad_toml() {
    insta::assert_snapshot!(toml("[servers.a]\ncommand = npx\n"), @r"
    error: this is not TOML: a text needs quotation marks
     --> helve.toml:2:11
      |
    2 | command = npx
      |           ^^^
    ");
    insta::assert_snapshot!(toml("[servers.a]\ncommand = \"a\"\n[servers.a]\n"), @r"
    error: this is not TOML: duplicate key
     --> helve.toml:3:10
      |
    3 | [servers.a]
      |          ^
    ");
}

#[test]
fn bad_yaml() {
    let yaml = |text: &str| problems(&read(Dialect::Strawberry, "settings.yaml", text));
    insta::assert_snapshot!(yaml("mcp:\n  servers: [a, b\nother: 1\n"), @r"
    error: this is not YAML: illegal placement of ':' indicator
     --> settings.yaml:3:6
      |
    3 | other: 1
      |      ^
    ");
    insta::assert_snapshot!(yaml("mcp:\n  servers:\n    - *nothing\n"), @r"
    error: this is not YAML: while parsing node, found unknown anchor
     --> settings.yaml:3:7
      |
    3 |     - *nothing
      |       ^
    ");
    let bomb: String = (1..12).fold("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned(), |text, level| {
        let alias = format!("*a{}", level - 1);
        format!("{text}a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(","))
    });
    insta::assert_snapshot!(yaml(&bomb), @r"
    error: this is not YAML: its aliases make too many values
     --> settings.yaml:5:34
      |
    5 | a4: &a4 [*a3,*a3,*a3,*a3,*a3,*a3,*a3,*a3,*a3,*a3]
      |                                  ^^^
    ");
}

#[test]
fn wrong_types() {
    insta::assert_snapshot!(json(r#"{"mcpServers": {
  "a": {"command": 7},
  "b": {"command": "b", "args": "x"},
  "c": {"command": "c", "args": ["x", {}]},
  "d": {"command": "d", "env": ["A=1"]},
  "e": "npx",
  "f": {"url": "https://f.example.com", "headers": {"X": null}, "timeout": "soon", "disabled": "yes"}
}}"#), @r#"
    error: `command` must be a string, not a number
     --> .mcp.json:2:20
      |
    2 |   "a": {"command": 7},
      |                    ^

    error: `args` must be a list of strings, not a string
     --> .mcp.json:3:33
      |
    3 |   "b": {"command": "b", "args": "x"},
      |                                 ^^^

    error: `args[1]` must be a string, not a table
     --> .mcp.json:4:39
      |
    4 |   "c": {"command": "c", "args": ["x", {}]},
      |                                       ^^

    error: `env` must be a table of strings, not a list
     --> .mcp.json:5:32
      |
    5 |   "d": {"command": "d", "env": ["A=1"]},
      |                                ^^^^^^^

    error: server `e` must be a table, not a string
     --> .mcp.json:6:8
      |
    6 |   "e": "npx",
      |        ^^^^^

    error: `headers.X` must be a string, not nothing
     --> .mcp.json:7:58
      |
    7 |   "f": {"url": "https://f.example.com", "headers": {"X": null}, "timeout": "soon", "disabled": "yes"}
      |                                                          ^^^^

    error: `disabled` must be true or false, not a string
     --> .mcp.json:7:96
      |
    7 |   "f": {"url": "https://f.example.com", "headers": {"X": null}, "timeout": "soon", "disabled": "yes"}
      |                                                                                                ^^^^^

    error: `timeout` must be a number above 0, not a string
     --> .mcp.json:7:76
      |
    7 |   "f": {"url": "https://f.example.com", "headers": {"X": null}, "timeout": "soon", "disabled": "yes"}
      |                                                                            ^^^^^^
    "#);
    insta::assert_snapshot!(json(r#"{"mcpServers": 3}"#), @r#"
    error: the list of servers must be a table, not a number
     --> .mcp.json:1:16
      |
    1 | {"mcpServers": 3}
      |                ^
    "#);
}

#[test]
fn unknown_keys_name_the_nearest() {
    insta::assert_snapshot!(json(r#"{"mcpServers": {"a": {
  "comand": "npx",
  "argz": [],
  "zzz": 1,
  "command": "npx"
}}}"#), @r#"
    warning: unknown key `comand`
     --> .mcp.json:2:3
      |
    2 |   "comand": "npx",
      |   ^^^^^^^^
      = help: did you mean `command`?

    warning: unknown key `argz`
     --> .mcp.json:3:3
      |
    3 |   "argz": [],
      |   ^^^^^^
      = help: did you mean `args`?

    warning: unknown key `zzz`
     --> .mcp.json:4:3
      |
    4 |   "zzz": 1,
      |   ^^^^^
    "#);
    insta::assert_snapshot!(toml("[setings]\nmax_retries = 1\n[settings]\ntimeout = 3\n[servers.a]\ncommand = \"a\"\nread_only = true\n"), @r"
    warning: unknown key `timeout`
     --> helve.toml:4:1
      |
    4 | timeout = 3
      | ^^^^^^^
      = help: did you mean `timeout_seconds`?

    error: unknown key `setings`
     --> helve.toml:1:2
      |
    1 | [setings]
      |  ^^^^^^^
      = help: did you mean `settings`?

    error: unknown key `read_only`
     --> helve.toml:7:1
      |
    7 | read_only = true
      | ^^^^^^^^^
      = help: did you mean `readonly`?
    ");
}

#[test]
fn an_unknown_key_of_another_application_is_a_note() {
    let content = read(Dialect::Cursor, ".cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "a", "qqq": 1}}}"#);
    insta::assert_snapshot!(problems(&content), @r#"
    note: unknown key `qqq`
     --> .cursor/mcp.json:1:39
      |
    1 | {"mcpServers": {"a": {"command": "a", "qqq": 1}}}
      |                                       ^^^^^
    "#);
}

#[test]
fn what_a_server_is() {
    insta::assert_snapshot!(json(r#"{"mcpServers": {
  "both": {"command": "a", "url": "https://b.example.com"},
  "empty": {"command": ""},
  "blank": {"command": "  "},
  "nothing": {"args": ["x"]},
  "": {"command": "nameless"},
  "odd": {"type": "htp", "url": "https://o.example.com"},
  "old": {"type": "ws", "url": "wss://o.example.com"},
  "file": {"url": "file:///etc/passwd"}
}}"#), @r#"
    error: a server's name must not be empty
     --> .mcp.json:6:3
      |
    6 |   "": {"command": "nameless"},
      |   ^^

    error: server `both` has both `command` and `url`; it can be started or reached, not both
     --> .mcp.json:2:28
      |
    2 |   "both": {"command": "a", "url": "https://b.example.com"},
      |                            ^^^^^
      = help: remove one of them

    error: the command of server `empty` is empty
     --> .mcp.json:3:24
      |
    3 |   "empty": {"command": ""},
      |                        ^^

    error: the command of server `blank` is empty
     --> .mcp.json:4:24
      |
    4 |   "blank": {"command": "  "},
      |                        ^^^^

    error: server `nothing` does not say how it is reached
     --> .mcp.json:5:3
      |
    5 |   "nothing": {"args": ["x"]},
      |   ^^^^^^^^^
      = help: give it a `command` to start, or a `url`

    error: there is no transport `htp`
     --> .mcp.json:7:19
      |
    7 |   "odd": {"type": "htp", "url": "https://o.example.com"},
      |                   ^^^^^
      = help: did you mean `http`?

    warning: server `old` is off: helve does not speak MCP over WebSocket
     --> .mcp.json:8:19
      |
    8 |   "old": {"type": "ws", "url": "wss://o.example.com"},
      |                   ^^^^

    error: `url` must be an http or https address
     --> .mcp.json:9:19
      |
    9 |   "file": {"url": "file:///etc/passwd"}
      |                   ^^^^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn a_whole_line_as_a_command() {
    insta::assert_snapshot!(json(r#"{"mcpServers": {"a": {"command": "npx -y server"}, "b": {"command": "/opt/My App/run"}}}"#), @r#"
    warning: `command` is one program, not a line of a shell
     --> .mcp.json:1:34
      |
    1 | {"mcpServers": {"a": {"command": "npx -y server"}, "b": {"command": "/opt/My App/run"}}}
      |                                  ^^^^^^^^^^^^^^^
      = help: write `npx` there, and `-y server` into `args`
    "#);
}

#[test]
fn two_servers_of_one_name() {
    insta::assert_snapshot!(json("{\"mcpServers\": {\n  \"a\": {\"command\": \"one\"},\n  \"a\": {\"command\": \"two\"}\n}}"), @r#"
    error: server `a` is configured twice in this file
     --> .mcp.json:3:3
      |
    3 |   "a": {"command": "two"}
      |   ^^^
      = help: the one in line 2 is not used; remove one of them
    "#);
    let list = "{\"servers\": [{\"name\": \"a\", \"endpoint\": \"x\"},\n {\"name\": \"a\", \"endpoint\": \"y\"}, {\"endpoint\": \"z\"}]}";
    insta::assert_snapshot!(problems(&read(Dialect::ClaudeLoop, "mcp-config.json", list)), @r#"
    error: server `a` is configured twice in this file
     --> mcp-config.json:2:11
      |
    2 |  {"name": "a", "endpoint": "y"}, {"endpoint": "z"}]}
      |           ^^^
      = help: the one in line 1 is not used; remove one of them

    error: a server needs `name`
     --> mcp-config.json:2:34
      |
    2 |  {"name": "a", "endpoint": "y"}, {"endpoint": "z"}]}
      |                                  ^
    "#);
}

#[test]
fn the_wrong_root_is_read_with_a_warning() {
    let content = read(Dialect::VsCode, ".vscode/mcp.json", "{\n  \"mcpServers\": {\"a\": {\"command\": \"a\"}}\n}");
    assert_eq!(content.servers.len(), 1);
    insta::assert_snapshot!(problems(&content), @r#"
    warning: the servers of this file belong under `servers`, not `mcpServers`
     --> .vscode/mcp.json:2:3
      |
    2 |   "mcpServers": {"a": {"command": "a"}}
      |   ^^^^^^^^^^^^
      = help: helve reads them all the same, VS Code does not
    "#);
    let content = read(Dialect::McpJson, ".mcp.json", "{\n  \"servers\": {\"a\": {\"command\": \"a\"}}\n}");
    assert_eq!(content.servers.len(), 1);
    insta::assert_snapshot!(problems(&content), @r#"
    warning: the servers of this file belong under `mcpServers`, not `servers`
     --> .mcp.json:2:3
      |
    2 |   "servers": {"a": {"command": "a"}}
      |   ^^^^^^^^^
      = help: helve reads them all the same, Claude Code does not
    "#);
}

#[test]
fn references_that_cannot_be_filled_in() {
    insta::assert_snapshot!(toml(r#"
[servers.a]
command = "a"
args = ["${NOWHERE}", "${file:missing.txt}", "${input:who}", "${secret:x}", "${open"]
"#), @r#"
    error: server `a` is off: `args[0]` needs the variable NOWHERE, which is not set
     --> helve.toml:4:9
      |
    4 | args = ["${NOWHERE}", "${file:missing.txt}", "${input:who}", "${secret:x}", "${open"]
      |         ^^^^^^^^^^^^
      = help: set NOWHERE, or give it a default: `${NOWHERE:-…}`

    error: `args[1]` refers to the file `missing.txt`: it does not exist
     --> helve.toml:4:23
      |
    4 | args = ["${NOWHERE}", "${file:missing.txt}", "${input:who}", "${secret:x}", "${open"]
      |                       ^^^^^^^^^^^^^^^^^^^^^

    error: `args[2]` refers to the input `who`, which is not declared
     --> helve.toml:4:46
      |
    4 | args = ["${NOWHERE}", "${file:missing.txt}", "${input:who}", "${secret:x}", "${open"]
      |                                              ^^^^^^^^^^^^^^
      = help: declare it under `inputs`

    error: `args[4]` has a `${` without a `}`
     --> helve.toml:4:77
      |
    4 | args = ["${NOWHERE}", "${file:missing.txt}", "${input:who}", "${secret:x}", "${open"]
      |                                                                             ^^^^^^^^
    "#);
    let claude = r#"{"mcpServers": {"a": {"command": "a", "args": ["${NOWHERE}"]}}}"#;
    insta::assert_snapshot!(problems(&read(Dialect::ClaudeCode, ".claude.json", claude)), @r#"
    warning: `args[0]` names the variable NOWHERE, which is not set
     --> .claude.json:1:48
      |
    1 | {"mcpServers": {"a": {"command": "a", "args": ["${NOWHERE}"]}}}
      |                                                ^^^^^^^^^^^^
      = help: Claude Code passes the text on as it is written, and so does helve; set NOWHERE
    "#);
    let opencode = r#"{"mcp": {"a": {"type": "local", "command": ["a", "{env:NOWHERE}"]}}}"#;
    insta::assert_snapshot!(problems(&read(Dialect::Opencode, "opencode.json", opencode)), @r#"
    warning: `command[1]` names the variable NOWHERE, which is not set
     --> opencode.json:1:50
      |
    1 | {"mcp": {"a": {"type": "local", "command": ["a", "{env:NOWHERE}"]}}}
      |                                                  ^^^^^^^^^^^^^^^
      = help: opencode uses an empty text instead, and so does helve; set NOWHERE
    "#);
}

#[test]
fn authentication() {
    let text = r#"{"servers": [
  {"name": "a", "endpoint": "http://a.example.com", "transport": "http", "auth_type": "bearer"},
  {"name": "b", "endpoint": "http://b.example.com", "transport": "http", "auth_type": "digest"},
  {"name": "c", "endpoint": "run 'it"}
]}"#;
    insta::assert_snapshot!(problems(&read(Dialect::ClaudeLoop, "mcp-config.json", text)), @r#"
    error: bearer authentication needs a token
     --> mcp-config.json:2:87
      |
    2 |   {"name": "a", "endpoint": "http://a.example.com", "transport": "http", "auth_type": "bearer"},
      |                                                                                       ^^^^^^^^
      = help: write `"auth_token": "${NAME_OF_A_VARIABLE}"`

    error: there is no authentication `digest`
     --> mcp-config.json:3:87
      |
    3 |   {"name": "b", "endpoint": "http://b.example.com", "transport": "http", "auth_type": "digest"},
      |                                                                                       ^^^^^^^^
      = help: it is `none`, `bearer` or `basic`

    error: `endpoint` has a quotation mark without its partner
     --> mcp-config.json:4:29
      |
    4 |   {"name": "c", "endpoint": "run 'it"}
      |                             ^^^^^^^^^
    "#);
}

#[test]
fn rules_and_settings() {
    insta::assert_snapshot!(toml(r#"
[[rules]]
tool = "a/*"

[[rules]]
tool = "a/*"
action = "alow"
risky = "high"

[[rules]]
tool = "a/*"
action = "deny"
risk = "extreme"

[settings]
timeout_seconds = -1
max_retries = 1.5
readonly = "no"
import = "all"
"#), @r#"
    error: a rule needs `tool` and `action`
     --> helve.toml:2:1
      |
    2 | [[rules]]
      | ^^^^^^^^^
      = help: write `tool = "github/*"` and `action = "allow"`, `"deny"` or `"ask"`
      = help: until it is repaired, this rule denies `a/*`

    error: unknown key `risky`
     --> helve.toml:8:1
      |
    8 | risky = "high"
      | ^^^^^
      = help: did you mean `risk`?

    error: `action` cannot be `alow`
     --> helve.toml:7:10
      |
    7 | action = "alow"
      |          ^^^^^^
      = help: did you mean `allow`?
      = help: until it is repaired, this rule denies `a/*`

    error: `risk` cannot be `extreme`
      --> helve.toml:13:8
       |
    13 | risk = "extreme"
       |        ^^^^^^^^^
       = help: it is one of `low`, `medium`, `high`
       = help: until it is repaired, this rule denies `a/*`

    error: `timeout_seconds` must be a number of seconds above 0
      --> helve.toml:16:19
       |
    16 | timeout_seconds = -1
       |                   ^^

    error: `max_retries` must be a whole number from 0
      --> helve.toml:17:15
       |
    17 | max_retries = 1.5
       |               ^^^

    error: `readonly` must be true or false, not a string
      --> helve.toml:18:12
       |
    18 | readonly = "no"
       |            ^^^^

    error: `import` must be a list of strings, not a string
      --> helve.toml:19:10
       |
    19 | import = "all"
       |          ^^^^^
    "#);
}

#[test]
fn whom_a_rule_is_for() {
    insta::assert_snapshot!(toml(r#"
[[rules]]
tool = "a/*"
who = ["token:ci-*", "local"]
action = "allow"

[[rules]]
tool = "a/*"
who = "agent:cursor"
action = "ask"

[[rules]]
tool = "a/*"
who = "everybody"
action = "allow"

[[rules]]
tool = "a/*"
who = []
action = "deny"

[[rules]]
tool = "a/*"
who = ["token:ci", "agent:cursor"]
action = "allow"
"#), @r#"
    error: `who` cannot be `everybody`
      --> helve.toml:14:7
       |
    14 | who = "everybody"
       |       ^^^^^^^^^^^
       = help: write `token:` and a glob over names of tokens, `local`, or a list of them
       = help: until it is repaired, this rule denies `a/*`

    error: `who` names nobody
      --> helve.toml:19:7
       |
    19 | who = []
       |       ^^
       = help: leave it out where a rule is for everybody
       = help: until it is repaired, this rule denies `a/*`

    error: `agent:cursor` is what a client calls itself, and allows nothing
      --> helve.toml:24:20
       |
    24 | who = ["token:ci", "agent:cursor"]
       |                    ^^^^^^^^^^^^^^
       = help: give the agent a token and write `token:NAME`; rules that deny or ask may name an agent
       = help: until it is repaired, this rule denies `a/*`
    "#);
    let text = "[[rules]]\ntool = \"a/*\"\nwho = \"token:ci\"\naction = \"allow\"\n\n[[rules]]\ntool = \"a/*\"\nwho = \"token:ci\"\naction = \"deny\"\n";
    let project = read_text(&place(Dialect::Helve, "helve.toml", Layer::Project), text, &environment());
    assert_eq!(project.rules.iter().map(|rule| rule.action).collect::<Vec<_>>(), [Action::Deny]);
    insta::assert_snapshot!(problems(&project), @r#"
    warning: a project cannot allow something to somebody; the rule allows nothing
     --> helve.toml:3:1
      |
    3 | who = "token:ci"
      | ^^^
      = help: leave out `who`, or put the rule into your own helve.toml
    "#);
}

#[test]
fn time_outs_in_the_wrong_unit() {
    insta::assert_snapshot!(json(r#"{"mcpServers": {"a": {"command": "a", "timeout": 30}}}"#), @r#"
    warning: `timeout` counts milliseconds; less than 1000 is ignored
     --> .mcp.json:1:50
      |
    1 | {"mcpServers": {"a": {"command": "a", "timeout": 30}}}
      |                                                  ^^
    "#);
    insta::assert_snapshot!(toml("[servers.a]\ncommand = \"a\"\ntimeout_seconds = 3000000\n"), @r"
    warning: `timeout_seconds` counts seconds; this is more than a week
     --> helve.toml:3:19
      |
    3 | timeout_seconds = 3000000
      |                   ^^^^^^^
    ");
}

#[test]
fn a_file_cannot_steer_the_terminal_and_long_lines_are_cut() {
    let text = format!(
        "{{\"mcpServers\": {{\"a\": {{\"\u{1b}[31mred\u{202e}\": 1, \"command\": \"{}\"}}}}}}",
        "x".repeat(300)
    );
    let rendered = json(&text);
    assert!(!rendered.contains('\u{1b}') && !rendered.contains('\u{202e}'));
    insta::assert_snapshot!(rendered, @r#"
    warning: unknown key `�[31mred�`
     --> .mcp.json:1:23
      |
    1 | {"mcpServers": {"a": {"�[31mred�": 1, "command": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
      |                       ^^^^^^^^^^^
    "#);
    let late = format!("{{\"mcpServers\": {{\"a\": {{\"command\": \"{}\", \"argz\": []}}}}}}", "x".repeat(300));
    insta::assert_snapshot!(json(&late), @r#"
    warning: unknown key `argz`
     --> .mcp.json:1:338
      |
    1 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "argz": []}}}
      |                                                              ^^^^^^
      = help: did you mean `args`?
    "#);
}

#[test]
fn files_that_were_named_must_be_there_and_be_understood() {
    let directory = tempfile::tempdir().expect("a directory");
    fs_err::write(directory.path().join("odd.json"), "{\"a\": 1}").expect("written");
    fs_err::write(directory.path().join("bytes.json"), b"{\"a\": \"\xff\"}").expect("written");
    fs_err::write(directory.path().join("broken.json"), "{").expect("written");
    fs_err::write(directory.path().join("good.json"), "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}")
        .expect("written");
    let environment = Environment::new(directory.path());
    let files = ["missing.json", "odd.json", "bytes.json", "broken.json", "good.json"];
    let files = files.map(|name| ExplicitFile { path: name.into(), dialect: None }).to_vec();
    let configuration = load(LoadRequest { files, ..LoadRequest::new(&environment) });
    let rendered: String = configuration.diagnostics.iter().map(|diagnostic| diagnostic.render()).collect();
    insta::assert_snapshot!(rendered.replace(&directory.path().display().to_string(), "DIRECTORY"), @"
    error: there is no file `missing.json`
     --> missing.json:1:1
    error: `odd.json` has no servers in any known form
     --> odd.json:1:1
      = help: say which form it has: helve, mcp-json, claude-loop, loom, strawberry, claude-code, claude-settings, claude-desktop, vscode, cursor, codex, gemini, opencode, zed, goose, windsurf, cline, copilot, kiro, mcporter
    error: `bytes.json` cannot be read: it is not UTF-8
     --> bytes.json:1:1
    error: this is not JSON: unterminated object
     --> DIRECTORY/broken.json:1:1
      |
    1 | {
      | ^
    ");
    assert_eq!(configuration.servers.len(), 1, "the good one works");
}
