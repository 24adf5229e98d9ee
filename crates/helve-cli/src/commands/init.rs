//! `helve init`: a first configuration file, with everything one may want to say as comments. Never over another one.

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use clap::ValueEnum;
use helve_config::{Configuration, ConfiguredServer, Dialect, discover};
use helve_model::ErrorCode;
use serde_json::{Value, json};

use crate::context::Context;
use crate::describe;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::{Line, Style, Table};

/// Write a first configuration file, and show what other applications' files hold
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The form of the file
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    /// Whose file
    #[arg(short, long, value_enum, default_value = "project")]
    scope: Scope,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// helve.toml, with comments
    #[default]
    Toml,
    /// .mcp.json, which other applications read too
    McpJson,
    /// .claude-loop/mcp-config.json, with claude-loop's own example
    ClaudeLoop,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let (path, text) = match args.format {
        Form::Toml => (place::own_file(context, args.scope)?.path, STARTER_TOML),
        Form::McpJson => (mcp_json(context, args.scope)?, STARTER_MCP_JSON),
        Form::ClaudeLoop => (claude_loop(context, args.scope)?, STARTER_CLAUDE_LOOP),
    };
    let shown = context.env.shown(&path);
    create(&path, text).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(ErrorCode::Config, format!("{shown} exists already; it is as it was"))
            .hint("add servers to it with `helve add`, or see what it does with `helve`"),
        _ => Failure::file(&error),
    })?;
    context.printer.say(&Line::plain(format!("wrote {shown}")));

    let configuration = context.load()?;
    let found: Vec<&ConfiguredServer> = others(&configuration).collect();
    if context.printer.is_json() {
        let found: Vec<Value> = found.iter().map(|server| describe::as_json(context, server)).collect();
        return context.printer.json(&json!({ "file": path.to_string_lossy(), "found": found }));
    }
    if found.is_empty() {
        context.printer.hint("add a server: `helve add NAME -- COMMAND`, or `helve add NAME URL`");
        return Ok(());
    }
    context.printer.say(&Line::plain("Other applications' files have these servers, and helve uses them as they are:"));
    let mut table = Table::new(["SERVER", "APP", "FROM"]);
    for server in found {
        table.row([
            Line::styled(Style::Name, server.name.as_str()),
            Line::plain(server.application),
            Line::plain(context.shown(&server.origin)),
        ]);
    }
    context.printer.table(&table)?;
    context.printer.hint("copy some into your own file: `helve import NAME…`");
    Ok(())
}

fn others(configuration: &Configuration) -> impl Iterator<Item = &ConfiguredServer> {
    configuration.servers.iter().filter(|server| server.dialect != Dialect::Helve && !server.is_switch())
}

fn mcp_json(context: &Context, scope: Scope) -> Result<PathBuf, Failure> {
    const NAME: &str = ".mcp.json";
    match scope {
        Scope::Project => {
            // The same directory that the project's helve.toml would be in.
            place::own_file(context, Scope::Project)?;
            Ok(discover::own_project_file(context.environment(), NAME).path)
        }
        Scope::User => {
            let home = context.env.home().ok_or_else(|| Failure::other("there is no home directory"))?;
            Ok(home.join(NAME))
        }
        Scope::Local => Err(Failure::usage("there is no .mcp.json for you alone in a project")
            .hint("use `--scope user`, or a helve.local.toml: leave out --format")),
    }
}

fn claude_loop(context: &Context, scope: Scope) -> Result<PathBuf, Failure> {
    if scope != Scope::Project {
        return Err(Failure::usage("claude-loop's file is a project's: leave out --scope"));
    }
    place::own_file(context, Scope::Project)?;
    Ok(discover::own_project_file(context.environment(), ".claude-loop/mcp-config.json").path)
}

fn create(path: &PathBuf, text: &str) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        fs_err::create_dir_all(directory)?;
    }
    let mut file = fs_err::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

const STARTER_MCP_JSON: &str = "{\n  \"mcpServers\": {}\n}\n";

const STARTER_CLAUDE_LOOP: &str = r#"{
  "servers": [
    {
      "name": "filesystem",
      "endpoint": "npx -y @modelcontextprotocol/server-filesystem .",
      "transport": "stdio",
      "auth_type": "none",
      "enabled": false,
      "tools_whitelist": ["read_file", "list_directory"],
      "readonly": true
    }
  ],
  "global_settings": {
    "timeout_seconds": 30,
    "max_retries": 2
  }
}
"#;

const STARTER_TOML: &str = r#"# MCP servers for helve, what may be called on them, and settings.
#
# Take the # away from what you want, or let `helve add` write it. `helve` shows what counts and where it comes from;
# `helve schema` prints a JSON Schema for editors.
#
# Every text may refer to variables: ${VAR}, ${VAR:-default}, ${file:path}, ${workspaceFolder}, ${userHome}.
# A server whose variable is not set stays off, and only that one.

# A program that helve starts:
#
# [servers.files]
# command = "npx"
# args = ["-y", "@modelcontextprotocol/server-filesystem", "${workspaceFolder}"]
# write_tools = ["write_file"]     # these may write without asking

# [servers.github]
# command = "docker"
# args = ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"]
# env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }
# disabled_tools = ["delete_*"]    # these do not exist for an agent

# Tools that come with helve (filesystem, sqlite, time). Where a file configures servers, those it names are there:
#
# [servers.notes]
# builtin = "filesystem"
# roots = ["${userHome}/notes"]

# A server reached over HTTP:
#
# [servers.docs]
# url = "https://docs.example.com/mcp"
# headers = { Authorization = "Bearer ${DOCS_TOKEN}" }
# lazy = true                      # connected at first use

# Who may call what, asked from top to bottom; without a rule that fits, helve asks you:
#
# [[rules]]
# tool = "github/delete_*"
# action = "deny"

# [[rules]]
# tool = "github/get_*"
# action = "allow"

# [settings]
# timeout_seconds = 30             # a call without answer or progress
# import = ["claude-code", "cursor"]   # other applications' files; true for all, false for none
"#;

#[cfg(test)]
mod tests {
    use helve_config::{Environment, FilePlace, read_text};
    use helve_model::Layer;

    use super::{Dialect, STARTER_CLAUDE_LOOP, STARTER_MCP_JSON, STARTER_TOML};

    fn problems(dialect: Dialect, path: &str, text: &str) -> (usize, String) {
        let place = FilePlace {
            path: path.into(),
            application: dialect.name(),
            dialect,
            layer: Layer::User,
            project: "/p".into(),
        };
        let environment =
            Environment::new("/p").with_home("/home/me").with_variables([("GITHUB_TOKEN", "x"), ("DOCS_TOKEN", "x")]);
        let content = read_text(&place, text, &environment);
        let of_servers = content.servers.iter().flat_map(|server| &server.diagnostics);
        let rendered = content.diagnostics.iter().chain(of_servers).map(|problem| problem.render()).collect();
        (content.servers.len(), rendered)
    }

    #[test]
    fn the_starter_files_are_sound() {
        assert_eq!(problems(Dialect::Helve, "helve.toml", STARTER_TOML), (0, String::new()));
        assert_eq!(problems(Dialect::McpJson, ".mcp.json", STARTER_MCP_JSON), (0, String::new()));
        assert_eq!(
            problems(Dialect::ClaudeLoop, ".claude-loop/mcp-config.json", STARTER_CLAUDE_LOOP),
            (1, String::new())
        );
    }

    #[test]
    fn what_the_comments_show_is_sound_too() {
        let is_key = |key: &str| key.chars().all(|character| character.is_ascii_lowercase() || character == '_');
        let is_example = |line: &str| {
            let inside = line.trim_start_matches("# ");
            inside.starts_with('[') || inside.split_once(" = ").is_some_and(|(key, _)| is_key(key))
        };
        let examples: Vec<&str> =
            STARTER_TOML.lines().filter(|line| is_example(line)).map(|line| line.trim_start_matches("# ")).collect();
        assert_eq!(problems(Dialect::Helve, "helve.toml", &examples.join("\n")), (4, String::new()));
    }
}
