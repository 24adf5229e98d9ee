//! One golden test per dialect, over the example files that people copy from.

use helve_config::Dialect;
use helve_config::Source;
use helve_config::document::{Format, parse};

use crate::support::{describe, problems, read};

/// Every example: dialect, the path it would have, its text.
pub(crate) const EXAMPLES: &[(Dialect, &str, &str)] = &[
    (Dialect::Helve, "helve.toml", include_str!("../../../../examples/config/helve.toml")),
    (Dialect::McpJson, ".mcp.json", include_str!("../../../../examples/config/mcp-json.json")),
    (Dialect::ClaudeLoop, ".claude-loop/mcp-config.json", include_str!("../../../../examples/config/claude-loop.json")),
    (Dialect::Loom, "mcp-config.toml", include_str!("../../../../examples/config/loom.toml")),
    (Dialect::Strawberry, "settings.yaml", include_str!("../../../../examples/config/strawberry.yaml")),
    (Dialect::ClaudeCode, ".claude.json", include_str!("../../../../examples/config/claude-code.json")),
    (
        Dialect::ClaudeSettings,
        ".claude/settings.json",
        include_str!("../../../../examples/config/claude-settings.json"),
    ),
    (
        Dialect::ClaudeDesktop,
        "claude_desktop_config.json",
        include_str!("../../../../examples/config/claude-desktop.json"),
    ),
    (Dialect::VsCode, ".vscode/mcp.json", include_str!("../../../../examples/config/vscode.json")),
    (Dialect::Cursor, ".cursor/mcp.json", include_str!("../../../../examples/config/cursor.json")),
    (Dialect::Codex, ".codex/config.toml", include_str!("../../../../examples/config/codex.toml")),
    (Dialect::Gemini, ".gemini/settings.json", include_str!("../../../../examples/config/gemini.json")),
    (Dialect::Opencode, "opencode.jsonc", include_str!("../../../../examples/config/opencode.jsonc")),
    (Dialect::Zed, "zed/settings.json", include_str!("../../../../examples/config/zed.json")),
    (Dialect::Goose, "goose/config.yaml", include_str!("../../../../examples/config/goose.yaml")),
    (Dialect::Windsurf, "windsurf/mcp_config.json", include_str!("../../../../examples/config/windsurf.json")),
    (Dialect::Cline, "cline_mcp_settings.json", include_str!("../../../../examples/config/cline.json")),
    (Dialect::Copilot, ".copilot/mcp-config.json", include_str!("../../../../examples/config/copilot.json")),
    (Dialect::Kiro, ".kiro/settings/mcp.json", include_str!("../../../../examples/config/kiro.json")),
    (Dialect::Mcporter, "config/mcporter.json", include_str!("../../../../examples/config/mcporter.json")),
];

fn golden(dialect: Dialect) -> String {
    let (_, path, text) = EXAMPLES.iter().find(|(known, _, _)| *known == dialect).expect("an example per dialect");
    describe(&read(dialect, path, text))
}

#[test]
fn every_dialect_has_an_example_that_is_recognised() {
    for dialect in Dialect::ALL {
        let (_, path, text) = EXAMPLES.iter().find(|(known, _, _)| known == dialect).expect("an example per dialect");
        let path = std::path::Path::new(path);
        let root = parse(&Source::new(path, text), Format::of(path)).expect("examples parse");
        assert_eq!(Dialect::recognise(path, &root), Some(*dialect), "{}", path.display());
        assert_eq!(Dialect::named(dialect.name()), Some(*dialect));
    }
}

#[test]
fn helve() {
    insta::assert_snapshot!(golden(Dialect::Helve), @r#"
    notes at 22:10
      builtin filesystem
      option roots: docs | /home/me/notes
      option writable: true
      option max_file_bytes: 1048576
      trusts annotations
    tasks at 28:10
      builtin sqlite
      option database: tasks.db
      option max_rows: 200
      trusts annotations
    filesystem at 34:10
      runs npx | -y | @modelcontextprotocol/server-filesystem | ${workspaceFolder} (16 bytes)
      in .
      tools ["read_*", "list_directory", "search_files", "write_file"]
      write_tools ["write_file"]
      readonly=true
    github at 42:10
      runs docker | run | -i | --rm | -e | GITHUB_TOKEN | ghcr.io/github/github-mcp-server
      env GITHUB_TOKEN=${GITHUB_TOKEN} (19 bytes)
      env LOG_LEVEL=${LOG_LEVEL:-warn} (4 bytes)
      startup Some(60s) call None retries None
      disabled_tools ["delete_*"]
    docs at 50:10
      Auto https://docs.example.com/mcp
      header X-Team: ${TEAM:-none} (4 bytes)
      header Authorization: Bearer ${DOCS_TOKEN} (24 bytes)
      lazy
      startup None call Some(120s) retries None
    tickets at 57:10
      Sse https://tickets.example.com/sse
      header Authorization: Bearer ${input:tickets_token}
      oauth enabled=true client=Some("helve") secret=None scopes=["read", "write"]
      off by 61:1
      blocked: headers.Authorization at 60:29 needs the answer tickets_token
      helve.toml:60:29: error: server `tickets` is off: `headers.Authorization` needs an answer to the input `tickets_token`
    rule deny github/delete_* at 71:8
    rule deny filesystem/write_file pattern=path=/etc/** at 75:8
    rule allow mcp__github__* risk=low at 80:8
    rule allow docs/* kind=resource at 86:8
    input tickets_token "Token for the ticket system" secret=true options=[] default=None
    setting call_timeout = 30s at 7:1
    setting startup_timeout = 30s at 8:1
    setting max_retries = 2 at 9:1
    setting cache_tool_schemas = true at 10:1
    setting schema_cache_ttl = 3600s at 11:1
    setting readonly = false at 12:1
    setting import = Only(["mcp-json", "claude-code", "cursor", "vscode"]) at 13:1
    "#);
}

#[test]
fn mcp_json() {
    insta::assert_snapshot!(golden(Dialect::McpJson), @r"
    filesystem at 3:5
      runs npx | -y | @modelcontextprotocol/server-filesystem | .
      env LOG_LEVEL=info
      env API_TOKEN=${API_TOKEN} (16 bytes)
    search at 8:5
      Auto https://search.example.com/mcp
      header Authorization: Bearer ${SEARCH_TOKEN:-anonymous} (16 bytes)
    events at 12:5
      Sse https://events.example.com/sse
      off by 12:73
    docs at 13:5
      Streamable https://docs.example.com/mcp
      startup None call Some(60s) retries None
    ");
}

#[test]
fn claude_loop() {
    insta::assert_snapshot!(golden(Dialect::ClaudeLoop), @r#"
    filesystem at 4:15
      runs npx | -y | @modelcontextprotocol/server-filesystem | /srv/shared files
      tools ["read_file", "list_directory"]
      write_tools ["write_file"]
      readonly=true
    web-search at 14:15
      Auto http://localhost:3100/mcp
      header Authorization: Bearer ${WEB_SEARCH_API_KEY} (28 bytes)
      tools ["search"]
      readonly=true
      off by 19:7
      blocked: auth_token at 18:21 needs WEB_SEARCH_API_KEY
      .claude-loop/mcp-config.json:18:21: error: server `web-search` is off: `auth_token` needs the variable WEB_SEARCH_API_KEY, which is not set
    wiki at 23:15
      Auto http://localhost:3200/mcp
      header Authorization: Basic reader:${WIKI_PASSWORD} (42 bytes)
      readonly=false
    setting call_timeout = 45s at 32:5
    setting max_retries = 1 at 33:5
    setting cache_tool_schemas = false at 34:5
    setting schema_cache_ttl = 600s at 35:5
    "#);
}

#[test]
fn loom() {
    insta::assert_snapshot!(golden(Dialect::Loom), @r"
    filesystem at 2:8
      runs npx | -y | @modelcontextprotocol/server-filesystem | /home/user/docs
    search at 7:8
      runs search-server
      env SEARCH_KEY=${SEARCH_KEY} (17 bytes)
      in /opt/search
      speaks 2024-11-05
    ");
}

#[test]
fn strawberry() {
    insta::assert_snapshot!(golden(Dialect::Strawberry), @r"
    brave-search at 12:13
      runs npx | -y | @example/mcp-brave-search
      env BRAVE_API_KEY=${BRAVE_API_KEY} (20 bytes)
      startup None call Some(30s) retries None
    filesystem at 17:13
      runs npx | -y | @example/mcp-filesystem | /home/user/documents
      startup None call Some(30s) retries None
    context at 23:13
      runs npx | -y | @example/mcp-context
      startup None call Some(30s) retries None
      off by 26:7
    weather at 27:13
      Sse http://localhost:8090/sse
    ");
}

#[test]
fn claude_code() {
    insta::assert_snapshot!(golden(Dialect::ClaudeCode), @r"
    search at 11:9
      Streamable https://search.internal.example.com/mcp
    database at 12:9
      runs db-server | --dsn | ${DATABASE_URL:-sqlite::memory:} (15 bytes)
    notes at 4:5
      runs notes-server
    ");
}

#[test]
fn claude_settings() {
    insta::assert_snapshot!(golden(Dialect::ClaudeSettings), @r"
    rule deny mcp__github__delete_* at 5:14
    rule ask mcp__github__create_issue at 4:13
    rule allow mcp__github__get_* at 3:29
    rule allow mcp__docs__* at 3:51
    ");
}

#[test]
fn claude_desktop() {
    insta::assert_snapshot!(golden(Dialect::ClaudeDesktop), @r"
    filesystem at 4:5
      runs npx | -y | @modelcontextprotocol/server-filesystem | /Users/me/Desktop
      env API_KEY=(hidden) (15 bytes)
    ");
}

#[test]
fn vs_code() {
    insta::assert_snapshot!(golden(Dialect::VsCode), @r#"
    api at 8:5
      Auto https://api.example.com/mcp
      header Authorization: Bearer ${input:token}
      header X-Home: ${userHome} (8 bytes)
      blocked: headers.Authorization at 11:37 needs the answer token
      .vscode/mcp.json:11:37: error: server `api` is off: `headers.Authorization` needs an answer to the input `token`
    local at 13:5
      runs node | ${workspaceFolder}/server.js (26 bytes) | --name | ${workspaceFolderBasename} (7 bytes)
      env TOKEN=${env:LOCAL_TOKEN} (18 bytes)
      in /home/me/project
    input token "API token" secret=true options=[] default=None
    input region "Region" secret=false options=["eu", "us"] default=Some("eu")
    "#);
}

#[test]
fn cursor() {
    insta::assert_snapshot!(golden(Dialect::Cursor), @r#"
    database at 3:5
      runs uvx | db-server | --root | ${workspaceFolder} (16 bytes)
      env PASSWORD=${env:DB_PASSWORD} (18 bytes)
      in /home/me/project
    design at 8:5
      Auto https://design.example.com/mcp
      oauth enabled=true client=Some("abc") secret=Some("${env:DESIGN_SECRET} (20 bytes)") scopes=["read"]
    "#);
}

#[test]
fn codex() {
    insta::assert_snapshot!(golden(Dialect::Codex), @r#"
    docs at 3:14
      runs docs-server | --stdio
      env DOCS_TOKEN=${DOCS_TOKEN} (17 bytes)
      startup Some(12.5s) call Some(90s) retries None
      tools ["search", "open"]
      disabled_tools ["delete"]
      rule allow docs/search at 14:17
      rule ask docs/* at 11:31
    remote at 16:14
      Streamable https://remote.example.com/mcp
      header X-Team: (hidden) (4 bytes)
      header Authorization: Bearer ${REMOTE_TOKEN} (26 bytes)
      off by 21:1
      .codex/config.toml:20:33: warning: the header `X-Region` is left out: REMOTE_REGION is not set
    "#);
}

#[test]
fn gemini() {
    insta::assert_snapshot!(golden(Dialect::Gemini), @r#"
    files at 5:5
      runs files-server | --token | $FILES_TOKEN (18 bytes)
      in .gemini/./tools
      startup None call Some(15s) retries None
      tools ["read", "list"]
      disabled_tools ["list"]
      rule allow files/* at 10:7
    stream at 14:5
      Streamable https://stream.example.com/mcp
      header X-Key: ${STREAM_KEY} (17 bytes)
    events at 15:5
      Auto https://events.example.com/sse
    forgotten at 16:5
      runs forgotten-server
    "#);
}

#[test]
fn opencode() {
    insta::assert_snapshot!(golden(Dialect::Opencode), @r"
    local at 5:5
      runs bun | x | local-server
      env TOKEN={env:LOCAL_TOKEN} (18 bytes)
    remote at 11:5
      Auto https://remote.example.com/mcp
      header Authorization: Bearer {env:REMOTE_TOKEN} (26 bytes)
      startup Some(5s) call None retries None
      oauth enabled=false client=None secret=None scopes=[]
      off by 16:7
    ");
}

#[test]
fn zed() {
    insta::assert_snapshot!(golden(Dialect::Zed), @r"
    database at 5:5
      runs db-server | --readonly
      env PGHOST=localhost
      in /home/me/project
      startup None call Some(20s) retries None
    older at 6:5
      runs old-server | -v
      env MODE=fast
      in /home/me/project
    remote at 7:5
      Auto https://remote.example.com/mcp
      off by 7:58
    zed/settings.json:8:5: note: `from-extension` is left out: it is started by a Zed extension
    ");
}

#[test]
fn goose() {
    insta::assert_snapshot!(golden(Dialect::Goose), @r"
    github at 7:3
      runs npx | -y | @modelcontextprotocol/server-github
      env LOG_LEVEL=info
      env GITHUB_TOKEN=${GITHUB_TOKEN} (19 bytes)
      startup None call Some(300s) retries None
    docs at 18:3
      Streamable https://docs.example.com/mcp
      header Authorization: Bearer ${DOCS_TOKEN} (24 bytes)
      off by 23:5
    goose/config.yaml:4:5: note: `developer` is left out: it is built into goose
    ");
}

#[test]
fn windsurf() {
    insta::assert_snapshot!(golden(Dialect::Windsurf), @r#"
    remote at 3:5
      Auto https://remote.example.com/mcp
      header Authorization: Bearer ${env:REMOTE_TOKEN} (26 bytes)
      disabled_tools ["delete"]
    local at 8:5
      runs local-server | ${file:note.txt}
      off by 8:73
      blocked: Invalid
      windsurf/mcp_config.json:8:52: error: `args[0]` refers to the file `windsurf/note.txt`: it does not exist
    "#);
}

#[test]
fn cline() {
    insta::assert_snapshot!(golden(Dialect::Cline), @r"
    browser at 3:5
      Streamable http://127.0.0.1:9000/mcp
      startup None call Some(120s) retries None
      rule allow browser/open_page at 6:23
      rule allow browser/read_page at 6:36
    shell at 9:5
      runs shell-server | ${env:SHELL_MODE}
      off by 9:74
      cline_mcp_settings.json:9:52: warning: `args[0]` names the variable SHELL_MODE, which is not set
    ");
}

#[test]
fn copilot() {
    insta::assert_snapshot!(golden(Dialect::Copilot), @r#"
    playwright at 3:5
      runs npx | @playwright/mcp
    docs at 4:5
      Streamable https://docs.example.com/mcp
      header X-Key: ${DOCS_KEY} (15 bytes)
      startup None call Some(30s) retries None
      tools ["search", "open"]
    "#);
}

#[test]
fn kiro() {
    insta::assert_snapshot!(golden(Dialect::Kiro), @r#"
    aws at 3:5
      runs uvx | aws-server@1.2.3
      env AWS_PROFILE=${AWS_PROFILE} (3 bytes)
      startup None call Some(60s) retries None
      disabled_tools ["delete_stack"]
      rule allow aws/describe at 8:23
    remote at 11:5
      Auto https://remote.example.com/mcp
      off by 11:58
    "#);
}

#[test]
fn mcporter() {
    insta::assert_snapshot!(golden(Dialect::Mcporter), @r#"
    browser at 4:5
      runs npx | -y | chrome-server
      in config
      tools ["open"]
    linear at 5:5
      Auto https://linear.example.com/mcp
      header X-Key: $env:LINEAR_KEY (17 bytes)
      oauth enabled=true client=None secret=None scopes=[]
      disabled_tools ["delete_issue"]
    "#);
}

/// G9: who judges the arguments of calls can be said for all servers and for one; claude-loop promises a check.
#[test]
fn g9_who_judges_the_arguments() {
    use helve_model::Validation;
    let judged = |dialect: Dialect, path: &str, text: &str| {
        let content = read(dialect, path, text);
        let settings = content.settings.validation.as_ref().and_then(|setting| setting.value);
        let of_server = content.servers.first().and_then(|server| server.spec.as_ref()?.validation);
        (settings, of_server, problems(&content))
    };
    let toml = "[settings]\nvalidate = \"strict\"\n[servers.a]\ncommand = \"a\"\nvalidate = \"server\"\n";
    let expected = (Some(Validation::Strict), Some(Validation::Server), String::new());
    assert_eq!(judged(Dialect::Helve, "helve.toml", toml), expected);
    let list = r#"{"servers": [{"name": "a", "endpoint": "run a", "transport": "stdio"}]}"#;
    let (_, of_server, _) = judged(Dialect::ClaudeLoop, ".claude-loop/mcp-config.json", list);
    assert_eq!(of_server, Some(Validation::Strict));
    let wrong = "[settings]\nvalidate = \"sever\"\n[servers.a]\ncommand = \"a\"\nvalidate = \"lax\"\n";
    insta::assert_snapshot!(judged(Dialect::Helve, "helve.toml", wrong).2, @r#"
    error: `validate` cannot be `sever`
     --> helve.toml:2:12
      |
    2 | validate = "sever"
      |            ^^^^^^^
      = help: did you mean `server`?

    error: `validate` cannot be `lax`
     --> helve.toml:5:12
      |
    5 | validate = "lax"
      |            ^^^^^
      = help: it is one of `strict`, `server`
    "#);
}
