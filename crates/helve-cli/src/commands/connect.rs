//! `helve connect`: puts `helve serve` into another application's configuration, so that its agent has every server behind one entry.
//!
//! The application's own command does it where it is installed: a running one may write its file at any time. Else the file is edited,
//! with everything else in it as it was. `helve disconnect` takes back exactly what was put in.

mod moving;
pub(super) mod taking_back;

use clap::ValueEnum;
use helve_config::edit::{Change, EditError, NewServer, edit_file, edit_text};
use helve_config::trust::TrustHash;
use helve_config::{FilePlace, read_text};
use helve_model::{ErrorCode, Layer, ServerSpec, TransportSpec};
use helve_setup::store::connections::{ApplicationConnection, Connections};
use helve_setup::{Bounds, Program};
use serde_json::json;

use super::hub::control_socket::{self as hub_place, Answer, Question};
use super::sealing::Sealing;
use crate::applications::{ALL, Application, Entry};
use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style};
use crate::running::block_on;
use crate::{place, prompt};

/// An application's own command may say so many bytes.
const MAX_OUTPUT: usize = 1 << 20;

/// And take so long.
const COMMAND_TIME: std::time::Duration = std::time::Duration::from_secs(60);

/// Put helve into another application's configuration
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows what would change, and asks. What no rule of yours mentions is asked for by helve (`--unlisted ask`), left to the
application's own questions (`allow`), or refused (`deny`).

Examples:
  helve connect claude-code
  helve connect cursor --scope project
  helve connect codex --unlisted allow --yes
  helve connect zed --hub          Zed reaches the hub that runs
  helve connect cursor --move      Cursor's servers become helve's, one by one")]
pub(crate) struct Args {
    /// Which application
    #[arg(value_name = "APPLICATION", value_parser = names())]
    application: String,

    /// Whose configuration
    #[arg(short, long, value_enum, default_value = "user")]
    scope: Scope,

    /// Reach the hub that runs, or the one at this address, instead of starting helve
    #[arg(long, value_name = "URL")]
    hub: Option<Option<String>>,

    /// What happens to calls that no rule mentions
    #[arg(long, value_enum, conflicts_with = "hub")]
    unlisted: Option<Unlisted>,

    /// Move the application's other servers into your helve.toml, one by one
    #[arg(long = "move")]
    moves: bool,

    /// Of servers that move, keep secrets that are written out in the vault, and refer to them
    #[arg(long, requires = "moves")]
    seal: bool,

    /// The name of the entry
    #[arg(long, default_value = NAME)]
    name: String,

    /// Do not ask whether that is meant
    #[arg(short, long)]
    yes: bool,
}

/// What the entry is called, unless the person says otherwise.
pub(super) const NAME: &str = "helve";

/// Whose configuration of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Scope {
    /// Yours, everywhere
    User,
    /// Everybody's in this project
    Project,
}

/// What happens to calls that no rule mentions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Unlisted {
    /// helve asks you, where the application can put a form to you
    Ask,
    /// They run: the application asks you itself
    Allow,
    /// They are refused
    Deny,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<(), Failure> {
    let name = place::new_name(&args.name)?;
    if args.moves {
        moving::check(args.scope)?;
    }
    let (application, place) = target(context, &args.application, args.scope)?;
    let shown = context.env.shown(&place.path);
    let before = read(&place)?;
    let entry = entry(context, &args)?;
    if let Some(known) = entry_of(context, &place, &before, name.as_str()) {
        if known.words() == entry.words() {
            context.printer.say(&Line::plain(format!("{} is connected already: {shown}", application.title)));
            return told(context, application, &place, name.as_str(), false);
        }
        let message = format!("{shown} has another entry called `{name}`");
        return Err(Failure::new(ErrorCode::Config, message)
            .hint("look at it, and choose another name with `--name`, or remove it first"));
    }
    let change = Change::Add(server(&entry));
    let after = edit_text(&place, &before, name.as_str(), &change)
        .map_err(|error| place::refused(context, &place, name.as_str(), &error))?;
    let own = application.add(context, place.layer, name.as_str(), &entry);
    let is_new_file = !place.path.exists();
    let has_servers = !read_text(&place, &before, context.environment()).servers.is_empty();
    context.printer.say(&Line::plain(format!("{} keeps its servers in {shown}:", application.title)));
    show_difference(context, &before, &after);
    if let Some(words) = &own {
        let line = shell_words::join(words);
        context.printer.say(&Line::plain(format!("It is changed by the application's own command: {line}")));
    }
    if !args.yes && !prompt::confirm(context, &format!("Connect {} to helve?", application.title))? {
        return Err(Failure::new(ErrorCode::Denied, "nothing was changed"));
    }
    match own {
        Some(words) => run_own(context, &words)?,
        None => write(context, &place, &before, name.as_str(), &change)?,
    }
    let mut connection = ApplicationConnection {
        application: application.name.to_owned(),
        file: place.path.clone(),
        server: name.to_string(),
        words: entry.words(),
        moved: Vec::new(),
        before: None,
        sealed: Vec::new(),
        is_new_file: false,
        after: hash(&place)?,
    };
    let stores = context.stores()?;
    taking_back::remember(&mut connection, before.clone(), has_servers, is_new_file, &[]);
    stores.update(|known: &mut Connections| known.add(connection.clone()))?;
    if entry_of(context, &place, &read(&place)?, name.as_str()).is_none_or(|known| known.words() != entry.words()) {
        let message = format!("{} took the entry, and it is not in {shown}", application.title);
        return Err(Failure::new(ErrorCode::Config, message).hint("its own command says where it keeps it"));
    }
    context.printer.say(&Line::plain(format!("{} is connected: entry `{name}` in {shown}", application.title)));
    if args.moves {
        let sealing = match (args.seal, args.yes) {
            (true, _) => Sealing::Wanted,
            (false, true) => Sealing::Left,
            (false, false) => Sealing::Asked,
        };
        let mut sealed = Vec::new();
        let moved = moving::run(context, application, &place, &mut connection, args.yes, sealing, &mut sealed);
        connection.after = hash(&place)?;
        taking_back::remember(&mut connection, before, has_servers, is_new_file, &sealed);
        stores.update(|known: &mut Connections| known.add(connection))?;
        moved?;
    }
    context.printer.hint(application.next);
    told(context, application, &place, name.as_str(), true)
}

fn told(
    context: &Context,
    application: Application,
    place: &FilePlace,
    name: &str,
    is_changed: bool,
) -> Result<(), Failure> {
    if !context.printer.is_json() {
        return Ok(());
    }
    context.printer.json(&json!({
        "application": application.name,
        "file": place.path.to_string_lossy(),
        "server": name,
        "changed": is_changed,
        "next": application.next,
    }))
}

/// The application and its file.
pub(super) fn target(context: &Context, name: &str, scope: Scope) -> Result<(Application, FilePlace), Failure> {
    let application = Application::named(name).ok_or_else(|| Failure::usage(format!("`{name}` is not known")))?;
    let layer = match scope {
        Scope::User => Layer::User,
        Scope::Project => Layer::Project,
    };
    let place = application.file(context, layer).ok_or_else(|| match scope {
        Scope::Project => Failure::usage(format!("{} has no file for a project", application.title))
            .hint("leave out `--scope`: its file for you counts everywhere"),
        Scope::User => Failure::other("there is no home directory").hint("set HOME"),
    })?;
    Ok((application, place))
}

pub(super) fn read(place: &FilePlace) -> Result<String, Failure> {
    match fs_err::read_to_string(&place.path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::file(&error)),
    }
}

/// What an entry of a file starts or reaches; `None` when there is none of that name.
pub(super) fn entry_of(context: &Context, place: &FilePlace, text: &str, name: &str) -> Option<Entry> {
    let content = read_text(place, text, context.environment());
    let server = content.servers.into_iter().find(|server| server.name.as_str() == name)?;
    server.spec.as_ref().map(entry_in)
}

fn entry_in(spec: &ServerSpec) -> Entry {
    match &spec.transport {
        TransportSpec::Stdio(stdio) => Entry::Program(
            std::iter::once(&stdio.command).chain(&stdio.arguments).map(|word| word.expose().to_owned()).collect(),
        ),
        TransportSpec::Http(http) => Entry::Address(http.url.expose().to_owned()),
        TransportSpec::Builtin(builtin) => Entry::Program(vec![builtin.kind.clone()]),
    }
}

/// The hash of the file as it is, to know later whether somebody changed it.
fn hash(place: &FilePlace) -> Result<String, Failure> {
    Ok(TrustHash::of_content(read(place)?.as_bytes()).to_string())
}

/// What the application is to start or to reach.
fn entry(context: &Context, args: &Args) -> Result<Entry, Failure> {
    if let Some(address) = &args.hub {
        let Some(address) = address else { return Ok(Entry::Address(running_hub(context)?)) };
        if !address.starts_with("http://") && !address.starts_with("https://") {
            return Err(Failure::usage(format!("`{address}` is not an address"))
                .hint("it begins with http:// or https://, and most often ends with /mcp"));
        }
        return Ok(Entry::Address(address.clone()));
    }
    let program = match args.scope {
        // Everybody who works on the project has it in another place.
        Scope::Project => "helve".to_owned(),
        // Applications with a window often have another PATH than a shell.
        Scope::User => {
            let program = context.env.executable().ok_or_else(|| Failure::other("where is this program?"))?;
            program.to_string_lossy().into_owned()
        }
    };
    let unlisted = match args.unlisted {
        Some(unlisted) => unlisted,
        None if args.yes || !context.console.can_ask() => Unlisted::Ask,
        None => ask_unlisted(context)?,
    };
    let words = match unlisted {
        Unlisted::Ask => vec![program, "serve".to_owned()],
        Unlisted::Allow => vec![program, "serve".to_owned(), "--unlisted".to_owned(), "allow".to_owned()],
        Unlisted::Deny => vec![program, "serve".to_owned(), "--unlisted".to_owned(), "deny".to_owned()],
    };
    Ok(Entry::Program(words))
}

/// Where agents reach the hub that runs.
fn running_hub(context: &Context) -> Result<String, Failure> {
    let hub = hub_place::Place::of(context)?;
    let answer = block_on(hub_place::put(&hub, &Question::Status))
        .map_err(|failure| failure.hint("or say where it is: `--hub http://ADDRESS/mcp`"))?;
    match answer {
        Answer::Done(status) => match status.get("address").and_then(|address| address.as_str()) {
            Some(address) => Ok(format!("{}/mcp", address.trim_end_matches('/'))),
            None => Err(Failure::other("the hub does not say where it is reached")),
        },
        Answer::Failed { message, .. } => Err(Failure::other(message)),
    }
}

fn ask_unlisted(context: &Context) -> Result<Unlisted, Failure> {
    loop {
        let question =
            "Calls that no rule of yours mentions: [a]sk me, [l]eave them to the application, or [d]eny them?";
        match prompt::ask(context, question)?.to_ascii_lowercase().as_str() {
            "" | "a" | "ask" => return Ok(Unlisted::Ask),
            "l" | "leave" | "allow" => return Ok(Unlisted::Allow),
            "d" | "deny" => return Ok(Unlisted::Deny),
            _ => {}
        }
    }
}

fn server(entry: &Entry) -> NewServer {
    match entry {
        Entry::Program(words) => {
            let (command, arguments) = words.split_first().map_or(("", &[][..]), |(command, rest)| (command, rest));
            NewServer::program(command, arguments.iter().cloned())
        }
        Entry::Address(address) => NewServer::address(address),
    }
}

/// Writes the entry, unless somebody changed the file since it was shown.
pub(super) fn write(
    context: &Context,
    place: &FilePlace,
    before: &str,
    name: &str,
    change: &Change,
) -> Result<(), Failure> {
    let expected = TrustHash::of_content(before.as_bytes());
    edit_file(place, Some(expected), name, change).map(drop).map_err(|error| {
        let failure = place::refused(context, place, name, &error);
        match error {
            EditError::ChangedMeanwhile(_) => failure.hint("look at it again: run the same command once more"),
            _ => failure,
        }
    })
}

/// Runs an application's own command.
pub(super) fn run_own(context: &Context, words: &[String]) -> Result<(), Failure> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let program = Program::new(&context.setup, program, arguments);
    let bounds = Bounds { time: Some(COMMAND_TIME), output: MAX_OUTPUT };
    let ran = block_on(async { Ok(program.run(b"", bounds).await) })?;
    ran.map(drop).map_err(|broken| {
        let said = if broken.stderr.trim().is_empty() {
            String::from_utf8_lossy(&broken.stdout).trim().to_owned()
        } else {
            broken.stderr.trim().to_owned()
        };
        Failure::other(broken.problem).hint(format!("it said: {said}"))
    })
}

/// The lines that a change takes away and adds; what stands before and behind them is the same.
pub(super) fn show_difference(context: &Context, before: &str, after: &str) {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = before.iter().zip(&after).take_while(|(left, right)| left == right).count();
    let rest = before.len().min(after.len()) - same;
    let same_end =
        before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(left, right)| left == right).count();
    let changed = |lines: &[&str]| -> Vec<String> {
        lines.iter().take(lines.len() - same_end).skip(same).map(|line| (*line).to_owned()).collect()
    };
    for line in changed(&before) {
        context.printer.say(&Line::styled(Style::Bad, format!("  - {line}")));
    }
    for line in changed(&after) {
        context.printer.say(&Line::styled(Style::Good, format!("  + {line}")));
    }
}

/// The applications that can be connected.
pub(super) fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(ALL.iter().map(|application| application.name))
}
