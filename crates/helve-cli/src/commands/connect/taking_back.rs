//! What `helve disconnect` undoes: the entry that `helve connect` wrote, the servers that it moved, the file that it made.
//!
//! A file that nobody has changed since becomes what it was, byte for byte. In one that somebody has changed, by hand or because the
//! application writes it, the entry is taken out and every server that moved is put back. What a person has changed stays theirs.

use helve_config::FilePlace;
use helve_config::edit::{Change, EditError, FormerEntry, edit_file, edit_text, former_entry, restore_file};
use helve_config::trust::TrustHash;
use helve_setup::secret_record;
use helve_setup::store::connections::{ApplicationConnection, Moved};
use secrecy::ExposeSecret as _;

use super::super::login::credentials;
use super::super::sealing::SealedSecret;
use super::moving::entry_hash;
use super::{entry_of, read, run_own};
use crate::applications::Application;
use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::Line;

/// The longest text of a file without servers that is kept to be put back.
const LONGEST_KEPT: usize = 256 << 10;

/// What is going to happen.
pub(in crate::commands) struct TakingBack<'a> {
    connection: &'a ApplicationConnection,
    place: &'a FilePlace,
    /// The application's file as it is.
    now: &'a str,
    /// And as it is to be.
    pub(in crate::commands) after: String,
    /// Nobody has changed the file since: it becomes what it was.
    is_as_it_was: bool,
    returning: Vec<(&'a Moved, FormerEntry)>,
    /// Servers that stay in helve's file, and why.
    staying: Vec<(&'a Moved, String)>,
}

/// What has to be remembered of a file so that it can become what it was.
pub(super) fn remember(
    connection: &mut ApplicationConnection,
    before: String,
    has_servers: bool,
    is_new_file: bool,
    sealed: &[SealedSecret],
) {
    connection.is_new_file = is_new_file;
    let is_small = !has_servers && before.len() <= LONGEST_KEPT;
    if connection.moved.is_empty() && !is_small {
        return;
    }
    // What was sealed must not lie about in the clear elsewhere.
    let mut text = before;
    for secret in sealed {
        text = text.replace(secret.value.expose_secret(), &reference(&secret.name));
        connection.sealed.push(secret.name.clone());
    }
    connection.before = Some(text);
}

fn reference(name: &str) -> String {
    format!("${{secret:{name}}}")
}

/// The text that the file had, with the secrets that are in the vault; `None` where it was not kept, or one of them is gone.
fn former_text(context: &Context, connection: &ApplicationConnection) -> Result<Option<String>, Failure> {
    let Some(mut text) = connection.before.clone() else { return Ok(None) };
    for name in &connection.sealed {
        let Some(value) = credentials(context)?.vault.read(&secret_record(name))? else { return Ok(None) };
        text = text.replace(&reference(name), value.expose_secret());
    }
    Ok(Some(text))
}

/// Looks what can be taken back. `is_own` where the application's own command changes the file.
pub(in crate::commands) fn plan<'a>(
    context: &Context,
    place: &'a FilePlace,
    connection: &'a ApplicationConnection,
    now: &'a str,
    is_own: bool,
) -> Result<TakingBack<'a>, Failure> {
    let refused = |error: EditError| place::refused(context, place, &connection.server, &error);
    let former = former_text(context, connection)?;
    let is_unchanged = TrustHash::of_content(now.as_bytes()).to_string() == connection.after;
    let is_as_it_was = is_unchanged && !is_own && former.is_some();
    let mut after = edit_text(place, now, &connection.server, &Change::Remove).map_err(refused)?;
    let (mut returning, mut staying) = (Vec::new(), Vec::new());
    let own = place::own_file(context, Scope::User)?;
    let own_text = read(&own)?;
    for moved in &connection.moved {
        let name = moved.server.as_str();
        let shown = context.env.shown(&moved.file);
        if moved.file != own.path || entry_hash(&own, &own_text, name) != moved.entry {
            staying.push((moved, format!("it was changed in {shown} since")));
            continue;
        }
        let Some(entry) = former.as_deref().map(|text| former_entry(place, text, name)) else {
            staying.push((moved, "its secrets are not in the vault any more".to_owned()));
            continue;
        };
        let put = entry.and_then(|entry| {
            let text = edit_text(place, &after, name, &Change::PutBack(Box::new(entry.clone())))?;
            Ok((entry, text))
        });
        match put {
            Ok((entry, text)) => {
                after = text;
                returning.push((moved, entry));
            }
            Err(error) => staying.push((moved, error.to_string())),
        }
    }
    if let Some(former) = former.filter(|_| is_as_it_was) {
        after = former;
    }
    Ok(TakingBack { connection, place, now, after, is_as_it_was, returning, staying })
}

impl TakingBack<'_> {
    /// Does it. `own` is the command by which the application takes the entry out itself.
    pub(in crate::commands) fn run(
        &self,
        context: &Context,
        application: Application,
        own: Option<Vec<String>>,
    ) -> Result<(), Failure> {
        match own {
            Some(words) => {
                run_own(context, &words)?;
                for (moved, entry) in &self.returning {
                    self.put_back(context, application, moved, entry)?;
                }
            }
            None => self.write(context)?,
        }
        self.leave_own_file(context)?;
        self.tell(context);
        Ok(())
    }

    /// The whole file at once.
    fn write(&self, context: &Context) -> Result<(), Failure> {
        if self.is_as_it_was && self.connection.is_new_file && self.after.is_empty() {
            return fs_err::remove_file(&self.place.path).map_err(|error| Failure::file(&error));
        }
        restore_file(self.place, TrustHash::of_content(self.now.as_bytes()), &self.after).map(drop).map_err(|error| {
            let failure = place::refused(context, self.place, &self.connection.server, &error);
            match error {
                EditError::ChangedMeanwhile(_) => failure.hint("look at it again: run the same command once more"),
                _ => failure,
            }
        })
    }

    /// One server, by the application's own command where it has one; a secret never stands on a command line.
    fn put_back(
        &self,
        context: &Context,
        application: Application,
        moved: &Moved,
        entry: &FormerEntry,
    ) -> Result<(), Failure> {
        let name = moved.server.as_str();
        let words = application.put_back(context, self.place.layer, name, &entry.to_json());
        match words.filter(|_| !entry.holds_secrets()) {
            Some(words) => run_own(context, &words)?,
            None => {
                let change = Change::PutBack(Box::new(entry.clone()));
                edit_file(self.place, None, name, &change)
                    .map_err(|error| place::refused(context, self.place, name, &error))?;
            }
        }
        if entry_of(context, self.place, &read(self.place)?, name).is_some() {
            return Ok(());
        }
        let shown = context.env.shown(&self.place.path);
        Err(Failure::other(format!("{} took `{name}` back, and it is not in {shown}", application.title))
            .hint(format!("it is still in {}", context.env.shown(&moved.file))))
    }

    /// What is in the application's file again leaves helve's.
    fn leave_own_file(&self, context: &Context) -> Result<(), Failure> {
        let own = place::own_file(context, Scope::User)?;
        let shown = context.env.shown(&self.place.path);
        for (moved, _) in &self.returning {
            let (name, text) = (moved.server.as_str(), read(&own)?);
            edit_file(&own, Some(TrustHash::of_content(text.as_bytes())), name, &Change::Remove)
                .map_err(|error| place::refused(context, &own, name, &error))?;
            context.printer.say(&Line::plain(format!("moved server `{name}` back to {shown}")));
        }
        Ok(())
    }

    /// What is left to do by hand.
    fn tell(&self, context: &Context) {
        let shown = context.env.shown(&self.place.path);
        for (moved, why) in &self.staying {
            let own = context.env.shown(&moved.file);
            let name = &moved.server;
            context.printer.warning(format!("`{name}` stays in {own}: {why}"));
            let hint = if self.is_as_it_was {
                format!("{shown} has it too, as it was: remove the one that you do not want")
            } else {
                format!("to have it back, write it into {shown} by hand, then `helve remove {name}`")
            };
            context.printer.hint(hint);
        }
        let is_written_out = self.is_as_it_was || !self.returning.is_empty();
        if is_written_out && !self.connection.sealed.is_empty() && self.staying.is_empty() {
            let names = self.connection.sealed.join(" ");
            context
                .printer
                .hint(format!("the vault still has what was sealed: `helve secret remove {names}` forgets it"));
        }
    }
}
