//! `helve disable`: a server stays configured and is not started. In another application's file it stays as it is:
//! helve switches it off for itself alone, in a file of its own.

use helve_config::edit::Change;
use helve_config::{Dialect, FilePlace};
use helve_model::{ErrorCode, Layer};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::Line;

/// Switch servers off
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which ones
    #[arg(value_name = "SERVER", required = true)]
    servers: Vec<String>,

    /// In whose file; without it where the server is configured, if that file is helve's
    #[arg(short, long, value_enum)]
    scope: Option<Scope>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let mut disabled = Vec::new();
    for name in &args.servers {
        disabled.push(json!({ "server": name, "file": disable(context, name, args.scope)?.path.to_string_lossy() }));
    }
    if context.printer.is_json() { context.printer.json(&json!({ "disabled": disabled })) } else { Ok(()) }
}

fn disable(context: &Context, name: &str, scope: Option<Scope>) -> Result<FilePlace, Failure> {
    let configuration = context.load()?;
    let server = context.server(&configuration, name)?;
    let own = place::file_of_server(&configuration, server);
    if let (Some(by), Some(place)) = (&server.disabled_by, &own) {
        context.printer.say(&Line::plain(format!("server `{name}` is off already, at {}", context.shown(by))));
        return Ok(place.clone());
    }
    let (place, in_file, change) = match own {
        Some(place) if scope.is_none() && !place::belongs_to_another(context, &place) => {
            (place, place::name_in_file(server), Change::Disable)
        }
        // Switches meet servers under the names helve gives them.
        _ => {
            let scope = scope.unwrap_or(if server.layer == Layer::Project { Scope::Local } else { Scope::User });
            (place::own_file(context, scope)?, server.name.as_str(), Change::SwitchOff)
        }
    };
    place::edit(context, &place, in_file, &change)?;

    let after = context.load()?;
    let file = context.env.shown(&place.path);
    match after.select(name).map(|server| &server.disabled_by) {
        Some(Some(by)) => {
            context.printer.say(&Line::plain(format!("server `{name}` is off, at {}", context.shown(by))));
            if place.dialect == Dialect::Helve && server.dialect != Dialect::Helve {
                let origin = context.shown(&server.origin);
                context.printer.say(&Line::plain(format!("only helve does without it; {origin} is as it was")));
            }
            Ok(place)
        }
        _ => Err(Failure::new(ErrorCode::Config, format!("{file} cannot switch `{name}` off"))
            .at_server(name)
            .hint(format!("it is configured at {}, in a layer above", context.shown(&server.origin)))
            .hint("switch it off there, or in another scope: `--scope local`")),
    }
}
