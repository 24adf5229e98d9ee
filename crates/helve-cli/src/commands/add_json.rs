//! `helve add-json`: one more server, from the JSON that its documentation shows.

use std::io::Read as _;
use std::path::PathBuf;

use helve_config::edit::{Change, carry};
use helve_config::{Dialect, FilePlace};
use helve_model::{ErrorCode, Layer};
use serde_json::{Value, json};

use super::add::{ADDED, only_in_own_file, settle};
use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};

/// Add a server from an entry of `.mcp.json`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  helve add-json files '{\"command\": \"npx\", \"args\": [\"-y\", \"@modelcontextprotocol/server-filesystem\", \".\"]}'
  helve add-json docs '{\"type\": \"http\", \"url\": \"https://docs.example.com/mcp\"}'
  pbpaste | helve add-json docs -")]
pub(crate) struct Args {
    /// What to call it
    name: String,

    /// The entry as JSON; @FILE reads it from a file, - from stdin
    #[arg(value_name = "JSON")]
    entry: String,

    /// Whose file it goes to; without it the project's helve.toml if there is one, else your own
    #[arg(short, long, value_enum)]
    scope: Option<Scope>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let name = place::new_name(&args.name)?;
    let target = place::target(context, args.scope)?;
    if target.dialect != Dialect::Helve {
        return Err(only_in_own_file(context, &target));
    }
    let entry = entry(context, args)?;
    let document = json!({ "mcpServers": { name.as_str(): entry } }).to_string();
    let from = FilePlace {
        path: PathBuf::from("JSON"),
        application: "mcp-json",
        dialect: Dialect::McpJson,
        layer: Layer::User,
        project: target.project.clone(),
    };
    let carried = carry(&from, &document, name.as_str(), context.environment()).map_err(|error| {
        Failure::new(ErrorCode::Config, format!("this is not a server: {error}")).at_server(name.as_str())
    })?;
    if carried.holds_secrets {
        let file = context.env.shown(&target.path);
        context
            .printer
            .warning(format!("a secret is written into {file}, where everybody who can read the file sees it"));
        context.printer.hint("refer to a variable instead: ${NAME}");
    }
    for what in &carried.left_behind {
        context.printer.warning(format!("not taken over: {what}"));
    }
    place::edit(context, &target, name.as_str(), &Change::Carry(Box::new(carried)))?;
    let settled = settle(context, &target, name.as_str(), ADDED, None)?;
    if context.printer.is_json() { context.printer.json(&settled) } else { Ok(()) }
}

/// The entry itself, also where the person pasted a whole file with this server in it.
fn entry(context: &Context, args: &Args) -> Result<Value, Failure> {
    let text = match args.entry.strip_prefix('@') {
        Some(file) => {
            fs_err::read_to_string(context.env.working_directory().join(file)).map_err(|error| Failure::file(&error))?
        }
        None if args.entry == "-" => {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text).map_err(|error| Failure::file(&error))?;
            text
        }
        None => args.entry.clone(),
    };
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("this is not JSON: {error}")).hint("quote it for the shell: '{…}'"))?;
    let servers = value.get("mcpServers").and_then(Value::as_object);
    match servers {
        Some(servers) => servers.get(&args.name).cloned().ok_or_else(|| {
            let names: Vec<&str> = servers.keys().map(String::as_str).collect();
            Failure::usage(format!("this JSON has no server `{}`", args.name))
                .hint(format!("it has: {}", names.join(", ")))
        }),
        None => Ok(value),
    }
}
