//! `helve secret`: values that entries refer to as `${secret:NAME}`, sealed in the vault. They come in by the keyboard or by
//! a pipe, never by the command line, where every program on the machine could read them.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use clap::Subcommand;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use helve_model::ErrorCode;
use helve_setup::secret_record;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::login::{credentials, tell_key_file};
use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style, Table};
use crate::prompt;
use crate::redact;

/// Longest value that is kept.
const VALUE_BYTES: u64 = 64 << 10;
/// Largest export that is read.
const BUNDLE_BYTES: u64 = 64 << 20;
/// Longest name.
const NAME_BYTES: usize = 128;

/// Keep secrets that servers need, sealed; entries refer to them as `${secret:NAME}`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Keep a value; it is asked for, or read from stdin
    Set {
        /// The name entries refer to it by
        #[arg(value_name = "NAME")]
        name: String,
        /// `-` reads the value from stdin
        #[arg(value_name = "-", value_parser = ["-"])]
        stdin: Option<String>,
    },
    /// Show a value, at a terminal
    Get {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// Also where stdout is not a terminal
        #[arg(long)]
        reveal: bool,
    },
    /// Show the names, never the values
    List,
    /// Seal everything that is kept, logins too, for another machine; shows the key that opens it there
    Export {
        /// Where to write it
        #[arg(long, value_name = "FILE")]
        sealed: PathBuf,
        /// Show the key also where stdout is not a terminal
        #[arg(long)]
        reveal: bool,
    },
    /// Take over what another machine sealed; its key is asked for, or read from stdin
    Import {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Also what is kept here already
        #[arg(long)]
        replace: bool,
    },
    /// Forget values
    #[command(visible_alias = "rm")]
    Remove {
        /// Their names
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    match &args.verb {
        Verb::Set { name, stdin } => set(context, name, stdin.is_some()),
        Verb::Get { name, reveal } => get(context, name, *reveal),
        Verb::List => list(context),
        Verb::Export { sealed, reveal } => export(context, sealed, *reveal),
        Verb::Import { file, replace } => import(context, file, *replace),
        Verb::Remove { names } => remove(context, names),
    }
}

fn set(context: &Context, name: &str, from_stdin: bool) -> Result<(), Failure> {
    check(name)?;
    let value = value_of(context, &format!("value of `{name}`:"), from_stdin)?;
    keep(context, name, value)?;
    context.printer.say(&Line::plain(format!("kept `{name}`; entries refer to it as ${{secret:{name}}}")));
    if context.printer.is_json() { context.printer.json(&json!({ "kept": name })) } else { Ok(()) }
}

/// Seals a value under a name.
pub(super) fn keep(context: &Context, name: &str, value: String) -> Result<(), Failure> {
    check(name)?;
    let credentials = credentials(context)?;
    redact::remember(&value);
    let record = secret_record(name);
    let made_key = credentials.vault.write(&record, &SecretString::from(value), json!({"kind": "secret"}))?;
    tell_key(context, made_key)
}

/// Asks for a value without showing it, or reads it from stdin.
pub(super) fn value_of(context: &Context, question: &str, from_stdin: bool) -> Result<String, Failure> {
    let value = if from_stdin || !context.console.can_ask() {
        let mut text = String::new();
        let read = std::io::stdin().take(VALUE_BYTES + 1).read_to_string(&mut text);
        read.map_err(|_| Failure::usage("what stdin holds is not text"))?;
        // A line is what people pipe; its end is not part of the secret.
        let text = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text)).unwrap_or(&text);
        text.to_owned()
    } else {
        prompt::ask_hidden(context, question)?
    };
    if value.is_empty() {
        return Err(Failure::usage("the value is empty: nothing was kept"));
    }
    if value.len() as u64 > VALUE_BYTES {
        return Err(Failure::usage("the value is longer than 64 KiB: nothing was kept"));
    }
    Ok(value)
}

pub(super) fn tell_key(context: &Context, made_key: bool) -> Result<(), Failure> {
    if made_key {
        tell_key_file(context, credentials(context)?, "it is", "open it");
    }
    Ok(())
}

fn export(context: &Context, sealed: &Path, reveal: bool) -> Result<(), Failure> {
    if !context.console.stdout_is_terminal && !reveal {
        return Err(Failure::new(ErrorCode::ApprovalRequired, "the key of an export is shown at a terminal only")
            .hint("`--reveal` prints it all the same"));
    }
    let (bundle, key) = credentials(context)?.vault.export()?;
    let path = context.env.working_directory().join(sealed);
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(&path).map_err(|error| Failure::file(&error))?;
    file.write_all(bundle.as_bytes()).and_then(|()| file.file().sync_all()).map_err(|error| Failure::file(&error))?;
    let file = context.env.shown(&path);
    context.printer.say(&Line::plain(format!("sealed everything into {file}; the key that opens it:")));
    if context.printer.is_json() {
        let text = json!({ "file": path.to_string_lossy(), "key": key.expose_secret() });
        return context.printer.data(&format!("{text}\n"));
    }
    context.printer.data(&format!("{}\n", key.expose_secret()))?;
    context.printer.hint(format!("there: `helve secret import {}`; take the key along another way", sealed.display()));
    Ok(())
}

fn import(context: &Context, file: &Path, replaces: bool) -> Result<(), Failure> {
    let path = context.env.working_directory().join(file);
    let mut bundle = String::new();
    let opened = fs_err::File::open(&path).map_err(|error| Failure::file(&error))?;
    opened.take(BUNDLE_BYTES).read_to_string(&mut bundle).map_err(|error| Failure::file(&error))?;
    let key = SecretString::from(value_of(context, "key of the export:", false)?);
    let imported = credentials(context)?.vault.import(&bundle, &key, replaces)?;
    tell_key(context, imported.made_key)?;
    for name in &imported.left {
        context.printer.warning(format!("`{name}` is kept here already, and stays as it is"));
    }
    if !imported.left.is_empty() {
        context.printer.hint("`--replace` takes those over too");
    }
    let taken = &imported.taken;
    context.printer.say(&Line::plain(format!("took over {}", taken.len())));
    if !context.printer.is_json() {
        return Ok(());
    }
    context.printer.json(&json!({ "imported": taken, "left": imported.left }))
}

fn get(context: &Context, name: &str, reveal: bool) -> Result<(), Failure> {
    if !context.console.stdout_is_terminal && !reveal {
        return Err(Failure::new(ErrorCode::ApprovalRequired, "a secret is shown at a terminal only")
            .hint("`--reveal` prints it all the same"));
    }
    let value = credentials(context)?.vault.read(&secret_record(name))?.ok_or_else(|| absent(context, name))?;
    if context.printer.is_json() {
        return context.printer.data(&format!("{}\n", json!({ "name": name, "value": value.expose_secret() })));
    }
    context.printer.data(&format!("{}\n", value.expose_secret()))
}

fn list(context: &Context) -> Result<(), Failure> {
    let now = context.env.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let listed = credentials(context)?.vault.list()?;
    let secrets: Vec<(String, u64)> = listed
        .into_iter()
        .filter_map(|listed| Some((listed.name.strip_prefix("secret ")?.to_owned(), listed.written)))
        .collect();
    if context.printer.is_json() {
        let all: Vec<Value> = secrets.iter().map(|(name, written)| json!({"name": name, "written": written})).collect();
        return context.printer.json(&all);
    }
    let mut table = Table::new(vec!["SECRET", "KEPT FOR"]);
    for (name, written) in &secrets {
        let days = now.saturating_sub(*written) / 86_400;
        let age = if days == 0 { "less than a day".to_owned() } else { format!("{days} days") };
        table.row(vec![Line::styled(Style::Name, name.as_str()), Line::plain(age)]);
    }
    context.printer.table(&table)?;
    if secrets.is_empty() {
        context.printer.hint("no secret is kept: `helve secret set NAME`");
    }
    Ok(())
}

fn remove(context: &Context, names: &[String]) -> Result<(), Failure> {
    let vault = &credentials(context)?.vault;
    for name in names {
        if !vault.remove(&secret_record(name))? {
            return Err(absent(context, name));
        }
        context.printer.say(&Line::plain(format!("forgot `{name}`")));
    }
    if context.printer.is_json() { context.printer.json(&json!({ "removed": names })) } else { Ok(()) }
}

pub(super) fn check(name: &str) -> Result<(), Failure> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !name.is_empty() && name.len() <= NAME_BYTES && name.bytes().all(is_part) {
        return Ok(());
    }
    Err(Failure::usage(format!("{name:?} is not a name for a secret"))
        .hint("letters, digits, `_`, `-` and `.`; the value is asked for, never written on the command line"))
}

fn absent(context: &Context, name: &str) -> Failure {
    let failure = Failure::new(ErrorCode::Config, format!("there is no secret `{name}`"));
    let listed = context.credentials().and_then(|credentials| credentials.vault.list().ok()).unwrap_or_default();
    let names: Vec<&str> = listed.iter().filter_map(|listed| listed.name.strip_prefix("secret ")).collect();
    match helve_model::text::nearest(name, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`helve secret list` shows which there are"),
    }
}
