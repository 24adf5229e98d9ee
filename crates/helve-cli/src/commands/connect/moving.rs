//! `helve connect --move`: the application's servers become helve's, one by one, each named. What became of them is remembered, so that
//! `helve disconnect` can take it back.
//!
//! A server moves only as a whole: one whose entry says something that helve's file has no place for stays where it is.

use helve_config::edit::{Change, EditError, carry, edit_file, edit_text, restore_file};
use helve_config::trust::{ServerTrust, TrustHash};
use helve_config::{ConfiguredServer, FilePlace, read_text};
use helve_model::ErrorCode;
use helve_setup::store::connections::{ApplicationConnection, Moved};

use super::super::sealing;
use super::{read, run_own, write};
use crate::applications::Application;
use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::Line;
use crate::prompt;

/// Moves what the person agrees to, and notes it in the connection. Secrets that are written out are offered to the vault.
pub(super) fn run(
    context: &Context,
    application: Application,
    place: &FilePlace,
    connection: &mut ApplicationConnection,
    yes: bool,
    seals: bool,
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
                let (moved, holds_secrets) = move_one(context, application, place, server, &own, seals)?;
                connection.moved.push(moved);
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
    connection.after = TrustHash::of_content(read(place)?.as_bytes()).to_string();
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
    seals: bool,
) -> Result<(Moved, bool), Failure> {
    let (name, text) = (place::name_in_file(server), read(place)?);
    let refused = |place: &FilePlace, error: &EditError| place::refused(context, place, name, error);
    let mut carried = carry(place, &text, name, context.environment()).map_err(|error| refused(place, &error))?;
    if server.disabled_by.is_some() {
        carried.switch_off();
    }
    sealing::offer(context, name, &mut carried, seals, &context.env.shown(&own.path))?;
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
    Ok((Moved { server: name.to_owned(), file: own.path.clone(), entry }, holds_secrets))
}

/// What the application's file was before servers moved out of it, if nobody has changed it since.
pub(in crate::commands) fn former_text<'a>(connection: &'a ApplicationConnection, now: &str) -> Option<&'a str> {
    let is_unchanged = TrustHash::of_content(now.as_bytes()).to_string() == connection.after;
    connection.before.as_deref().filter(|_| is_unchanged && !connection.moved.is_empty())
}

/// Takes back what was moved: the application's file is what it was, and the entries that the person has not changed leave helve's.
pub(in crate::commands) fn restore(
    context: &Context,
    place: &FilePlace,
    connection: &ApplicationConnection,
    now: &str,
) -> Result<(), Failure> {
    let Some(before) = former_text(connection, now) else { return Ok(()) };
    restore_file(place, TrustHash::of_content(now.as_bytes()), before)
        .map_err(|error| place::refused(context, place, &connection.server, &error))?;
    let own = place::own_file(context, Scope::User)?;
    for moved in &connection.moved {
        let (name, shown) = (moved.server.as_str(), context.env.shown(&moved.file));
        let text = read(&own)?;
        if moved.file != own.path || entry_hash(&own, &text, name) != moved.entry {
            context.printer.warning(format!("`{name}` was changed in {shown} since: it stays there too"));
            continue;
        }
        edit_file(&own, Some(TrustHash::of_content(text.as_bytes())), name, &Change::Remove)
            .map_err(|error| place::refused(context, &own, name, &error))?;
        context.printer.say(&Line::plain(format!("moved server `{name}` back to {}", context.env.shown(&place.path))));
    }
    Ok(())
}

/// What is left to do by hand after a connection whose file somebody has changed since.
pub(in crate::commands) fn by_hand(context: &Context, place: &FilePlace, connection: &ApplicationConnection) {
    let shown = context.env.shown(&place.path);
    for moved in &connection.moved {
        let own = context.env.shown(&moved.file);
        let name = &moved.server;
        context.printer.warning(format!("`{name}` stays in {own}: {shown} was changed since it was moved"));
    }
    if !connection.moved.is_empty() {
        context.printer.hint(format!("to have them back, write them into {shown} by hand, then `helve remove` each"));
    }
}

/// The lines of an entry, to know later whether somebody changed them; nothing when it is not there.
fn entry_hash(place: &FilePlace, text: &str, name: &str) -> String {
    let Ok(without) = edit_text(place, text, name, &Change::Remove) else { return String::new() };
    let mut rest = without.lines();
    let mut next = rest.next();
    let mut entry = String::new();
    for line in text.lines() {
        if next == Some(line) {
            next = rest.next();
        } else {
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
