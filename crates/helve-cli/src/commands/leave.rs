//! `helve leave`: a hub is joined no more, and its token is forgotten.

use helve_config::edit::{HubChange, edit_hub};
use helve_model::text::nearest;
use helve_setup::hub_record;
use serde_json::json;

use super::login::credentials;
use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::Line;

/// Leave a hub: forget its servers and its token
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the hub is called here
    #[arg(value_name = "HUB")]
    name: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let configuration = context.load()?;
    let hub = configuration.hubs.iter().find(|hub| hub.place.as_str() == args.name).ok_or_else(|| {
        let names: Vec<&str> = configuration.hubs.iter().map(|hub| hub.place.as_str()).collect();
        let failure = Failure::usage(format!("you have joined no hub `{}`", args.name));
        match nearest(&args.name, names.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("`helve hubs` lists those that you joined"),
        }
    })?;
    let file = place::own_file(context, Scope::User)?;
    edit_hub(&file, &args.name, &HubChange::Leave)
        .map_err(|error| Failure::other(format!("{} was not changed: {error}", context.env.shown(&file.path))))?;
    let had_token = credentials(context)?.vault.remove(&hub_record(&hub.place, &hub.url))?;
    context.setup.forget_hub(&hub.place);
    let still = context.load()?;
    if let Some(hub) = still.hubs.iter().find(|hub| hub.place.as_str() == args.name) {
        context.printer.warning(format!("another file joins it too: {}", context.shown(&hub.origin)));
    }
    context.printer.say(&Line::plain(format!("left {}", hub.url)));
    if had_token {
        context.printer.hint("the token still counts at the hub: revoke it there");
    }
    if context.printer.is_json() { context.printer.json(&json!({ "left": args.name })) } else { Ok(()) }
}
