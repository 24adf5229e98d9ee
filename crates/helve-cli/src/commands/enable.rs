//! `helve enable`: a server that was switched off is started again. The switch is taken back where it was set.

use helve_config::edit::Change;
use helve_config::{Configuration, ConfiguredServer, FilePlace, read_text};
use helve_model::{ErrorCode, Origin};
use helve_setup::file_of;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::place;
use crate::printer::Line;

/// Switch servers on
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which ones
    #[arg(value_name = "SERVER", required = true)]
    servers: Vec<String>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    for name in &args.servers {
        enable(context, name)?;
    }
    if context.printer.is_json() { context.printer.json(&json!({ "enabled": args.servers })) } else { Ok(()) }
}

fn enable(context: &Context, name: &str) -> Result<(), Failure> {
    let configuration = context.load()?;
    let server = context.server(&configuration, name)?;
    let Some(by) = &server.disabled_by else {
        context.printer.say(&Line::plain(format!("server `{name}` is on already")));
        return Ok(());
    };
    let place = file_of(by).and_then(|path| place::file_at(&configuration, path));
    let place = place.filter(|place| !place::belongs_to_another(context, place));
    let Some(place) = place else { return Err(not_ours(context, &configuration, server, by)) };
    // The name in the file that switches it off: a switch of helve's own knows only helve's names.
    let is_own_entry = file_of(&server.origin) == Some(place.path.as_path());
    let in_file = if is_own_entry { place::name_in_file(server) } else { server.name.as_str() };
    let change = if is_switch(context, &place, in_file)? { Change::Remove } else { Change::Enable };
    place::edit(context, &place, in_file, &change)?;
    // Switched on is a yes to the entry as it stands.
    context.setup.trust_own_edit(&place, in_file, None)?;

    let after = context.load()?;
    match after.select(name) {
        Some(ConfiguredServer { disabled_by: Some(by), .. }) => {
            Err(Failure::new(ErrorCode::ServerDisabled, format!("`{name}` is still off, at {}", context.shown(by)))
                .at_server(name)
                .hint("run `helve enable` once more for that place"))
        }
        Some(server) => {
            context.printer.say(&Line::plain(format!("server `{name}` is on")));
            if let Some(reason) = context.setup.held(server) {
                context.printer.warning(format!("it does not run yet: {reason}"));
            }
            Ok(())
        }
        None => Ok(()),
    }
}

/// True when the entry says nothing but that a server of another file is off.
fn is_switch(context: &Context, place: &FilePlace, name: &str) -> Result<bool, Failure> {
    let text = fs_err::read_to_string(&place.path).map_err(|error| Failure::file(&error))?;
    let content = read_text(place, &text, context.environment());
    Ok(content.servers.iter().any(|server| server.name.as_str() == name && server.is_switch()))
}

fn not_ours(context: &Context, configuration: &Configuration, server: &ConfiguredServer, by: &Origin) -> Failure {
    let name = &server.name;
    let file = file_of(by).and_then(|path| place::file_at(configuration, path));
    let title = file.as_ref().map_or("somebody else", |place| place.dialect.title());
    let message = format!("`{name}` is off at {}, which belongs to {title}", context.shown(by));
    let failure = Failure::new(ErrorCode::Config, message).at_server(name.as_str());
    let is_entry = file_of(by) == file_of(&server.origin);
    match file {
        Some(place) if is_entry => failure
            .hint(format!(
                "to switch it on there: `helve enable {} --config {}`",
                place::name_in_file(server),
                context.env.shown(&place.path)
            ))
            .hint(format!("or keep it in a file of your own: `helve import {name}`, then `helve enable {name}`")),
        _ => failure
            .hint("edit that line")
            .hint(format!("or keep it in a file of your own: `helve import {name}`, then `helve enable {name}`")),
    }
}
