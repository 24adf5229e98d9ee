//! Secrets that another application has written out, offered to the vault when its servers are copied or moved: in their place the
//! entry refers to them.

use helve_config::edit::CarriedServer;
use secrecy::{ExposeSecret as _, SecretString};

use super::login::credentials;
use super::secret;
use crate::context::Context;
use crate::failure::Failure;
use crate::printer::Line;
use crate::prompt;
use helve_setup::secret_name;

/// How the hint calls the option that says yes beforehand.
const OPTION: &str = "--seal";

/// Whether secrets go into the vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sealing {
    /// They do.
    Wanted,
    /// The person says so, where they can be asked.
    Asked,
    /// They stay written out: the person wants no questions.
    Left,
}

/// A secret that is in the vault now.
pub(super) struct SealedSecret {
    /// Its name there.
    pub(super) name: String,
    pub(super) value: SecretString,
}

/// Keeps what a server has written out in the vault, if the person wants it so, and says under which names. Where nobody can be
/// asked, nothing is kept.
pub(super) fn offer(
    context: &Context,
    server: &str,
    carried: &mut CarriedServer,
    sealing: Sealing,
    file: &str,
) -> Result<Vec<SealedSecret>, Failure> {
    let names: Vec<&str> = carried.literal_secrets().map(|literal| literal.name.as_str()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let names = names.join(", ");
    let question = format!("`{server}` has {names} written out. Keep it sealed in the vault, instead of in {file}?");
    let is_wanted = match sealing {
        Sealing::Wanted => true,
        Sealing::Asked => context.console.can_ask() && prompt::confirm(context, &question)?,
        Sealing::Left => false,
    };
    if !is_wanted {
        return Ok(Vec::new());
    }
    let vault = &credentials(context)?.vault;
    let mut taken: Vec<String> = vault.list()?.into_iter().map(|listed| listed.name).collect();
    let mut kept = Vec::new();
    for literal in carried.literal_secrets() {
        // A value that is kept already is never overwritten: another server may refer to it.
        let wanted = secret_name(server, &literal.name);
        let numbered = (2_u32..).map(|number| format!("{wanted}-{number}"));
        let is_free = |name: &String| !taken.contains(&helve_setup::secret_record(name));
        let name = std::iter::once(wanted.clone()).chain(numbered).find(is_free).unwrap_or(wanted);
        secret::keep(context, &name, literal.value().expose_secret().to_owned())?;
        taken.push(helve_setup::secret_record(&name));
        kept.push(SealedSecret { name, value: literal.value().clone() });
    }
    context.printer.say(&Line::plain(format!("kept {names} of `{server}` sealed in the vault")));
    let mut names = kept.iter().map(|sealed| sealed.name.clone());
    carried.refer_to_secrets(|_| names.next().unwrap_or_default());
    Ok(kept)
}

/// Says that a secret is written out, and how it need not be.
pub(super) fn warn(context: &Context, server: &str, file: &str, is_copy: bool) {
    let too = if is_copy { " too" } else { "" };
    context.printer.warning(format!("`{server}`: its secret is now written out in {file}{too}"));
    context.printer.hint(format!("`{OPTION}` keeps it in the vault instead"));
}
