//! `helve import`: servers of other applications in a file of one's own.

use crate::support::{Person, TestEnv};

const CURSOR: &str = r#"{"mcpServers": {"github": {"command": "npx", "args": ["${env:TOKEN}"]}, "secret": {"url": "https://x.example.com", "headers": {"Authorization": "hunter2"}}}}"#;
const CODEX: &str = "[mcp_servers.github]\ncommand = \"other\"\n\n[mcp_servers.bearer]\nurl = \"https://y.example.com\"\nbearer_token_env_var = \"TOKEN\"\n";

fn env() -> TestEnv {
    let env = TestEnv::new().with_variable("TOKEN", "hunter3");
    env.write("home/.cursor/mcp.json", CURSOR).write("home/.codex/config.toml", CODEX);
    env.write("project/.mcp.json", r#"{"mcpServers": {"theirs": {"command": "theirs"}}}"#);
    env
}

#[test]
fn without_names_they_are_listed() {
    let env = env();
    insta::assert_snapshot!(env.run(&["import"]), @"
    exit status 0
    --- stdout
    SERVER        APP       STATE        FROM
    github        cursor    on           ~/.cursor/mcp.json:1
    secret        cursor    on           ~/.cursor/mcp.json:1
    github@codex  codex     on           ~/.codex/config.toml:1
    bearer        codex     on           ~/.codex/config.toml:4
    theirs        mcp-json  not trusted  .mcp.json:1
    --- stderr
    hint: copy some: `helve import NAME…`, or all: `helve import --all`
    ");
    insta::assert_snapshot!(env.run(&["import", "--from", "codex"]), @"
    exit status 0
    --- stdout
    SERVER        APP    STATE  FROM
    github@codex  codex  on     ~/.codex/config.toml:1
    bearer        codex  on     ~/.codex/config.toml:4
    --- stderr
    hint: copy some: `helve import NAME…`, or all: `helve import --all`
    ");
    assert_eq!(env.json(&["import", "--json"])["servers"].as_array().map(Vec::len), Some(5));
    insta::assert_snapshot!(TestEnv::new().run(&["import"]), @"
    exit status 0
    --- stderr
    No other application's file has servers here.
    ");
    assert!(!env.exists("home/.config/helve/helve.toml"));
}

#[test]
fn servers_are_copied_by_name() {
    let env = env();
    insta::assert_snapshot!(env.run(&["import", "github", "bearer"]), @"
    exit status 0
    --- stderr
    imported server `github` at ~/.config/helve/helve.toml:1
    imported server `bearer` at ~/.config/helve/helve.toml:6
    ");
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    [servers.github]
    command = "npx"
    args = ["${env:TOKEN}"]
    cwd = "${workspaceFolder}"

    [servers.bearer]
    type = "streamable-http"
    url = "https://y.example.com"
    headers = { Authorization = "Bearer ${TOKEN}" }
    "#);
    assert_eq!(env.read("home/.cursor/mcp.json"), CURSOR);
    insta::assert_snapshot!(env.run(&["import", "github"]), @"
    exit status 2
    --- stderr
    error: ~/.config/helve/helve.toml: there is a server `github` in this file already
    hint: to copy it anew, remove that one first: `helve remove github`
    ");
    insta::assert_snapshot!(env.run(&["import", "codex:github", "--json"]), @r#"
    exit status 2
    --- stdout
    {
      "error": "~/.config/helve/helve.toml: there is a server `github` in this file already",
      "code": "CONFIG",
      "server": "github",
      "hints": [
        "to copy it anew, remove that one first: `helve remove github`"
      ]
    }
    "#);
    insta::assert_snapshot!(env.run(&["import", "nobody"]), @"
    exit status 5
    --- stderr
    error: there is no server `nobody`
    hint: there are: github, bearer, secret, theirs
    ");
}

#[test]
fn all_are_copied_but_what_nobody_trusts() {
    let env = env();
    insta::assert_snapshot!(env.run(&["import", "--all"]), @"
    exit status 0
    --- stderr
    warning: `theirs` at .mcp.json:1 is left out: nobody has trusted it yet
    imported server `github` at ~/.config/helve/helve.toml:1
    warning: `secret`: its secret is now written out in ~/.config/helve/helve.toml too
    hint: `--seal` keeps it in the vault instead
    imported server `secret` at ~/.config/helve/helve.toml:6
    imported server `github@codex` at ~/.config/helve/helve.toml:10
    imported server `bearer` at ~/.config/helve/helve.toml:13
    ");
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    [servers.github]
    command = "npx"
    args = ["${env:TOKEN}"]
    cwd = "${workspaceFolder}"

    [servers.secret]
    url = "https://x.example.com"
    headers = { Authorization = "hunter2" }

    [servers."github@codex"]
    command = "other"

    [servers.bearer]
    type = "streamable-http"
    url = "https://y.example.com"
    headers = { Authorization = "Bearer ${TOKEN}" }
    "#);
    insta::assert_snapshot!(env.run(&["import", "--all", "--from", "cursor"]), @"
    exit status 0
    --- stderr
    `github` at ~/.cursor/mcp.json:1 is left out: there is one at ~/.config/helve/helve.toml:1
    `secret` at ~/.cursor/mcp.json:1 is left out: there is one at ~/.config/helve/helve.toml:6
    ");
}

#[test]
fn a_projects_server_is_copied_once_it_is_trusted() {
    let env = env();
    insta::assert_snapshot!(env.run(&["import", "theirs"]), @"
    exit status 7
    --- stderr
    error: `theirs` comes from this project, at .mcp.json:1, and nobody has trusted it yet
    hint: look at what it would run, then trust it: `helve trust theirs`
    ");
    env.run(&["trust", "--yes"]);
    insta::assert_snapshot!(env.run(&["import", "theirs", "-s", "user"]), @"
    exit status 0
    --- stderr
    imported server `theirs` in ~/.config/helve/helve.toml
    warning: .mcp.json:1 has a server `theirs` too, and wins
    ");
}

#[test]
fn secrets_stay_out_of_files_for_everybody() {
    let env = env();
    insta::assert_snapshot!(env.run(&["import", "secret", "--scope", "project"]), @"
    exit status 2
    --- stderr
    error: `secret` at ~/.cursor/mcp.json:1 has a secret written out, and helve.toml is for everybody
    hint: keep it in the vault, and refer to it: `--seal`
    hint: put the secret into a variable and refer to it: ${NAME}
    hint: or copy it to a file of your own: `--scope user` or `--scope local`
    ");
    insta::assert_snapshot!(env.run(&["import", "secret", "--scope", "local"]), @"
    exit status 0
    --- stderr
    warning: `secret`: its secret is now written out in helve.local.toml too
    hint: `--seal` keeps it in the vault instead
    imported server `secret` at helve.local.toml:1
    ");
}

#[test]
fn a_file_that_is_named_is_copied_from() {
    let env = TestEnv::new();
    env.write(
        "project/goose.yaml",
        "extensions:\n  g:\n    type: stdio\n    cmd: run\n    args: [x]\n    enabled: true\n",
    );
    insta::assert_snapshot!(env.run(&["import", "--all", "--config", "goose.yaml", "--only-config"]), @"
    exit status 0
    --- stderr
    imported server `g` in ~/.config/helve/helve.toml
    ");
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    [servers.g]
    command = "run"
    args = ["x"]
    "#);
}

#[test]
fn a_server_that_cannot_be_copied_says_why() {
    let env = TestEnv::new();
    env.write("home/.config/Code/User/mcp.json", r#"{"inputs": [{"id": "key", "type": "promptString"}], "servers": {"a": {"command": "x", "env": {"KEY": "${input:key}"}}, "b": {"command": "b"}}}"#);
    insta::assert_snapshot!(env.run(&["import", "a"]), @"
    exit status 2
    --- stderr
    error: `a` at ~/.config/Code/User/mcp.json:1 cannot be copied: it asks for the value `key`; carry that question over by hand
    ");
    insta::assert_snapshot!(env.run(&["import", "a", "b"]), @"
    exit status 2
    --- stderr
    imported server `b` at ~/.config/helve/helve.toml:1
    error: `a` at ~/.config/Code/User/mcp.json:1 cannot be copied: it asks for the value `key`; carry that question over by hand
    ");
    insta::assert_snapshot!(env.run(&["import", "--from", "word"]), @"
    exit status 2
    --- stderr
    error: invalid value 'word' for '--from <APP>'
      [possible values: antigravity, claude-code, claude-desktop, claude-loop, claude-managed, cline, codex, copilot, cursor, fastmcp, fx, gemini, goose, grok, ibm-mcp-cli, inspector, kilo, kimi, kiro, loom, mastra, mcp-cli, mcp-json, mcporter, opencode, pi, strawberry, vscode, vscode-insiders, vscodium, windsurf, windsurf-next, zed]

    For more information, try '--help'.
    ");
}

#[test]
fn c5_what_is_off_or_empty_in_gemini_stays_so() {
    let env = TestEnv::new();
    env.write(
        "home/.gemini/settings.json",
        r#"{"mcpServers": {"key": {"command": "true", "env": {"KEY": "$GEMKEY"}}, "not": {"command": "true"}},
            "mcp": {"excluded": ["not"]}}"#,
    );
    assert!(env.run(&["import", "--all"]).starts_with("exit status 0"));
    insta::assert_snapshot!(env.read("home/.config/helve/helve.toml"), @r#"
    [servers.key]
    command = "true"
    env = { KEY = "${GEMKEY:-}" }

    [servers.not]
    command = "true"
    enabled = false
    "#);
}

const LITERAL: &str = r#"{"mcpServers": {
  "github": {"command": "npx", "env": {"GITHUB_TOKEN": "ghp_hunter2hunter2", "MODE": "fast"}},
  "docs": {"url": "https://x.example.com", "headers": {"Authorization": "Bearer hunter3hunter3", "X-Version": "7"}}
}}"#;

#[test]
fn secrets_that_are_written_out_are_sealed_on_the_way() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", LITERAL);
    env.run_with_input(&["secret", "set", "docs.Authorization", "-"], "another-one");
    let told = env.run(&["import", "github", "docs", "--seal"]);
    assert!(told.starts_with("exit status 0"), "{told}");
    assert!(told.contains("kept GITHUB_TOKEN of `github` sealed in the vault"), "{told}");
    let file = env.read("home/.config/helve/helve.toml");
    insta::assert_snapshot!(file, @r#"
    [servers.github]
    command = "npx"
    env = { GITHUB_TOKEN = "${secret:github.GITHUB_TOKEN}", MODE = "fast" }
    cwd = "${workspaceFolder}"

    [servers.docs]
    url = "https://x.example.com"
    headers = { Authorization = "Bearer ${secret:docs.Authorization-2}", X-Version = "7" }
    "#);
    let value = |name: &str| env.stdout(&["secret", "get", name, "--reveal"]);
    assert_eq!(value("github.GITHUB_TOKEN"), "ghp_hunter2hunter2\n");
    assert_eq!(value("docs.Authorization-2"), "hunter3hunter3\n");
    assert_eq!(value("docs.Authorization"), "another-one\n", "what was kept is not overwritten");
    assert!(!told.contains("hunter2") && !told.contains("hunter3"), "{told}");
    assert_eq!(env.read("home/.cursor/mcp.json"), LITERAL, "the other file stays as it is");
}

#[test]
fn at_a_terminal_the_vault_is_offered_and_a_no_is_a_no() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", LITERAL);
    let mut person = Person::at(&env, &["import", "github"]);
    person.sees("`github` has GITHUB_TOKEN written out. Keep it sealed in the vault, instead of in ~/.config/helve/helve.toml? [y/N]");
    person.types("\n");
    assert!(person.sees_the_end().starts_with("exit status 0"));
    assert!(env.read("home/.config/helve/helve.toml").contains("ghp_hunter2hunter2"));
    env.run(&["remove", "github"]);
    let mut person = Person::at(&env, &["import", "github"]);
    person.sees("[y/N]");
    person.types("y\n");
    assert!(person.sees_the_end().starts_with("exit status 0"));
    assert!(env.read("home/.config/helve/helve.toml").contains("${secret:github.GITHUB_TOKEN}"));
}

#[test]
fn a_project_s_file_takes_a_sealed_secret_and_no_other() {
    let env = TestEnv::new();
    env.write("home/.cursor/mcp.json", LITERAL);
    let told = env.run(&["import", "github", "--scope", "project"]);
    assert!(told.contains("has a secret written out, and helve.toml is for everybody"), "{told}");
    assert!(told.contains("`--seal`"), "{told}");
    let told = env.run(&["import", "github", "--scope", "project", "--seal"]);
    assert!(told.starts_with("exit status 0"), "{told}");
    assert!(!env.read("project/helve.toml").contains("hunter2"));
}
