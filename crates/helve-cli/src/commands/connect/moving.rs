//! `helve connect --move`: the application's servers become helve's, one by one, each named. What became of them is remembered, so that
//! `taking_back.rs` can undo it.
//!
//! A server moves only as a whole: one whose entry says something that helve's file has no place for stays where it is.

use helve_config::edit::{Change, EditError, carry, edit_file, edit_text, restore_file};
use helve_config::trust::{ServerTrust, TrustHash};
use helve_config::{ConfiguredServer, FilePlace, read_text};
use helve_model::ErrorCode;
use helve_setup::store::connections::{ApplicationConnection, Moved};

use super::super::sealing::{self, SealedSecret, Sealing};
use super::{read, run_own, write};
use crate::applications::Application;
use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::Line;
use crate::prompt;

/// Moves what the person agrees to, and notes it in the connection. Secrets that are written out are offered to the vault; those that
/// went there are noted too, also where it breaks off.
pub(super) fn run(
    context: &Context,
    application: Application,
    place: &FilePlace,
    connection: &mut ApplicationConnection,
    yes: bool,
    sealing: Sealing,
    all_sealed: &mut Vec<SealedSecret>,
) -> Result<(), Failure> {
    let own = place::own_file(context, Scope::User)?;
    let shown = context.env.shown(&own.path);
    let servers = read_text(place, &read(place)?, context.environment()).servers;
    let others = servers.iter().filter(|server| server.name.as_str() != connection.server && !server.is_switch());
    let mut is_empty = true;
    for server in others.filter(|server| !context.setup.is_itself(server)) {
        is_empty = false;
        let name = place::name_in_file(server);
        match movable(context, place, server, &own) {
            Err(reason) => context.printer.warning(format!("`{name}` stays where it is: {reason}")),
            Ok(()) => {
                if !yes && !prompt::confirm(context, &format!("Move `{name}` to {shown}?"))? {
                    continue;
                }
                let (moved, sealed, holds_secrets) = move_one(context, application, place, server, &own, sealing)?;
                connection.moved.push(moved);
                all_sealed.extend(sealed);
                context.printer.say(&Line::plain(format!("moved server `{name}` to {shown}")));
                if holds_secrets {
                    sealing::warn(context, name, &shown, false);
                }
            }
        }
    }
    if is_empty {
        context.printer.say(&Line::plain(format!("{} has no other servers to move", application.title)));
    }
    Ok(())
}

/// Whether a server can move; else why it cannot.
fn movable(context: &Context, place: &FilePlace, server: &ConfiguredServer, own: &FilePlace) -> Result<(), String> {
    if server.trust == ServerTrust::Untrusted {
        return Err("nobody has trusted it yet".to_owned());
    }
    let text = read(place).map_err(|failure| failure.message().to_owned())?;
    let name = place::name_in_file(server);
    let carried = carry(place, &text, name, context.environment()).map_err(|error| error.to_string())?;
    if let Some(what) = carried.left_behind.first() {
        return Err(format!("helve's file has no place for {what}"));
    }
    let own_text = read(own).map_err(|failure| failure.message().to_owned())?;
    match edit_text(own, &own_text, name, &Change::Carry(Box::new(carried))) {
        Ok(_) => Ok(()),
        Err(EditError::Exists(_)) => Err(format!("{} has a server of that name already", context.env.shown(&own.path))),
        Err(error) => Err(error.to_string()),
    }
}

fn move_one(
    context: &Context,
    application: Application,
    place: &FilePlace,
    server: &ConfiguredServer,
    own: &FilePlace,
    sealing: Sealing,
) -> Result<(Moved, Vec<SealedSecret>, bool), Failure> {
    let (name, text) = (place::name_in_file(server), read(place)?);
    let refused = |place: &FilePlace, error: &EditError| place::refused(context, place, name, error);
    let mut carried = carry(place, &text, name, context.environment()).map_err(|error| refused(place, &error))?;
    if server.disabled_by.is_some() {
        carried.switch_off();
    }
    let sealed = sealing::offer(context, name, &mut carried, sealing, &context.env.shown(&own.path))?;
    let holds_secrets = carried.holds_secrets;
    let edited = edit_file(own, None, name, &Change::Carry(Box::new(carried))).map_err(|error| refused(own, &error))?;
    let gone = match application.remove(context, place.layer, name) {
        Some(words) => run_own(context, &words),
        None => write(context, place, &text, name, &Change::Remove),
    };
    if let Err(failure) = gone {
        // It is in one place or in the other, never in both.
        let expected = TrustHash::of_content(edited.after.as_bytes());
        restore_file(own, expected, &edited.before).map_err(|error| refused(own, &error))?;
        return Err(failure);
    }
    let entry = entry_hash(own, &edited.after, name);
    Ok((Moved { server: name.to_owned(), file: own.path.clone(), entry }, sealed, holds_secrets))
}

/// The lines of an entry, to know later whether somebody changed them; nothing when it is not there. Blank lines set entries apart,
/// and belong to none of them.
pub(super) fn entry_hash(place: &FilePlace, text: &str, name: &str) -> String {
    let Ok(without) = edit_text(place, text, name, &Change::Remove) else { return String::new() };
    let mut rest = without.lines();
    let mut next = rest.next();
    let mut entry = String::new();
    for line in text.lines() {
        if next == Some(line) {
            next = rest.next();
        } else if !line.trim().is_empty() {
            entry.push_str(line);
            entry.push('\n');
        }
    }
    TrustHash::of_content(entry.as_bytes()).to_string()
}

/// A file that cannot be moved from: only a person's own has servers that are theirs alone.
pub(super) fn check(scope: super::Scope) -> Result<(), Failure> {
    match scope {
        super::Scope::User => Ok(()),
        super::Scope::Project => {
            Err(Failure::new(ErrorCode::Config, "a project's servers are everybody's, and stay in its file")
                .hint("leave out `--move` or `--scope`"))
        }
    }
}
