//! `helve remove`: a server less, in helve's own files. Those of other applications are theirs.

use helve_config::edit::Change;
use helve_config::{Configuration, ConfiguredServer, FilePlace};
use helve_model::ErrorCode;
use helve_setup::file_of;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::Line;

/// Remove servers from helve's own files
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which ones
    #[arg(value_name = "SERVER", required = true)]
    servers: Vec<String>,

    /// From whose file; without it from the one that counts
    #[arg(short, long, value_enum)]
    scope: Option<Scope>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let mut removed = Vec::new();
    for name in &args.servers {
        let place = remove(context, name, args.scope)?;
        let file = context.env.shown(&place.path);
        context.printer.say(&Line::plain(format!("removed server `{name}` from {file}")));
        removed.push(json!({ "server": name, "file": place.path.to_string_lossy() }));
        if let Some(other) = context.load()?.server(name) {
            let origin = context.shown(&other.origin);
            context.printer.warning(format!("`{name}` is still configured at {origin}, which counts now"));
        }
    }
    if context.printer.is_json() { context.printer.json(&json!({ "removed": removed })) } else { Ok(()) }
}

fn remove(context: &Context, name: &str, scope: Option<Scope>) -> Result<FilePlace, Failure> {
    if scope.is_some() || !context.options.files.is_empty() {
        let place = place::target(context, scope)?;
        place::edit(context, &place, name, &Change::Remove)?;
        return Ok(place);
    }
    let configuration = context.load()?;
    let server = context.server(&configuration, name)?;
    let place = own_file(context, &configuration, server)?;
    place::edit(context, &place, place::name_in_file(server), &Change::Remove)?;
    Ok(place)
}

/// The file of a server, if it is helve's to change.
fn own_file(context: &Context, configuration: &Configuration, server: &ConfiguredServer) -> Result<FilePlace, Failure> {
    let name = &server.name;
    let place = place::file_of_server(configuration, server).ok_or_else(|| {
        Failure::new(ErrorCode::Config, format!("`{name}` is not configured in a file")).at_server(name.as_str())
    })?;
    if !place::belongs_to_another(context, &place) {
        return Ok(place);
    }
    let (origin, path) = (context.shown(&server.origin), file_of(&server.origin));
    let path = path.map(|path| context.env.shown(path)).unwrap_or_default();
    let title = place.dialect.title();
    let message = format!("`{name}` is configured at {origin}, which belongs to {title}");
    Err(Failure::new(ErrorCode::Config, message)
        .at_server(name.as_str())
        .hint(format!("to switch it off for helve alone: `helve disable {name}`"))
        .hint(format!("to remove it there: `helve remove {} --config {path}`", place::name_in_file(server))))
}
