//! `helve disconnect`: takes back what `helve connect` put into another application's configuration, and nothing else.

use helve_model::ErrorCode;
use helve_setup::store::connections::Connections;
use serde_json::json;

use super::connect::{NAME, Scope, entry_of, names, read, show_difference, taking_back, target};
use crate::context::Context;
use crate::failure::Failure;
use crate::printer::Line;
use crate::prompt;

/// Take helve out of another application's configuration
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which application
    #[arg(value_name = "APPLICATION", value_parser = names())]
    application: String,

    /// Whose configuration
    #[arg(short, long, value_enum, default_value = "user")]
    scope: Scope,

    /// The name of the entry
    #[arg(long, default_value = NAME)]
    name: String,

    /// Do not ask whether that is meant
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<(), Failure> {
    let (application, place) = target(context, &args.application, args.scope)?;
    let shown = context.env.shown(&place.path);
    let before = read(&place)?;
    let stores = context.stores()?;
    let known = stores.read::<Connections>()?;
    let Some(entry) = entry_of(context, &place, &before, &args.name) else {
        let message = format!("{} is not connected: there is no entry `{}` in {shown}", application.title, args.name);
        stores.update(|known: &mut Connections| known.forget(&place.path, &args.name))?;
        return Err(Failure::new(ErrorCode::ServerNotFound, message));
    };
    let by_hand = |message: String| {
        let hint = format!("it is yours: take `{}` out of {shown} by hand, if it is to go", args.name);
        Failure::new(ErrorCode::Config, message).hint(hint)
    };
    let connection = match known.find(&place.path, &args.name) {
        None => return Err(by_hand(format!("helve did not write the entry `{}` of {shown}", args.name))),
        Some(written) if written.words != entry.words() => {
            return Err(by_hand(format!("somebody has changed the entry `{}` of {shown} since", args.name)));
        }
        Some(written) => written,
    };
    let own = application.remove(context, place.layer, &args.name);
    let taking_back = taking_back::plan(context, &place, connection, &before, own.is_some())?;
    context.printer.say(&Line::plain(format!("{} keeps its servers in {shown}:", application.title)));
    show_difference(context, &before, &taking_back.after);
    if let Some(words) = &own {
        let line = shell_words::join(words);
        context.printer.say(&Line::plain(format!("It is changed by the application's own command: {line}")));
    }
    if !args.yes && !prompt::confirm(context, &format!("Take helve out of {}?", application.title))? {
        return Err(Failure::new(ErrorCode::Denied, "nothing was changed"));
    }
    taking_back.run(context, application, own)?;
    stores.update(|known: &mut Connections| known.forget(&place.path, &args.name))?;
    context.printer.say(&Line::plain(format!("{} is not connected any more", application.title)));
    context.printer.hint(format!("a running {} keeps it until it is started again", application.title));
    if context.printer.is_json() {
        let told = json!({"application": application.name, "file": place.path.to_string_lossy(), "server": args.name});
        return context.printer.json(&told);
    }
    Ok(())
}
