//! Hints as the command line says them: the command, the option, or the key that the very file has for it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use helve_config::edit::spelled_key;
use helve_config::reading::{self, Budget};
use helve_config::{Configuration, FilePlace, KeySpelling, MAX_FILE_BYTES};
use helve_model::text::one_line;
use helve_model::{CallKind, Hint, Origin, QualifiedName, RuleHolds, ServerKey, ServerName};
use helve_policy::rule_text;

use helve_setup::Environment;
use helve_setup::environment::shown_from;

/// How long the look at a file may take that tells how it spells a key.
const READING: Duration = Duration::from_millis(200);

/// What has to be known to say a hint.
#[derive(Debug)]
pub(crate) struct HintWords {
    working_directory: PathBuf,
    home: Option<PathBuf>,
    /// The files that were loaded last.
    files: Mutex<Vec<FilePlace>>,
}

impl HintWords {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            working_directory: environment.working_directory().to_owned(),
            home: environment.home().map(Into::into),
            files: Mutex::default(),
        }
    }

    /// From now on places are in these files.
    pub(crate) fn learn(&self, configuration: &Configuration) {
        let places = configuration.files.iter().map(|file| file.place.clone()).collect();
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = places;
    }

    /// A hint in words.
    pub(crate) fn say(&self, hint: &Hint) -> String {
        match hint {
            Hint::Text(sentence) => sentence.clone(),
            Hint::AllowOnce { name, kind } => {
                format!("to allow it once, run `{}` at a terminal and answer, or add `--yes`", asking_for(name, *kind))
            }
            Hint::AddRule { name, kind, pattern } => {
                format!("to allow it for good: `{}`", allow_command(name, *kind, pattern.as_deref()))
            }
            Hint::ChangeRule { origin, because } => {
                let place = self.place(origin);
                match because {
                    RuleHolds::ProjectNarrows => format!(
                        "to allow it, change the rule at {place}: {because}; a file named with `--config` overrules it"
                    ),
                    _ => format!("to allow it, change the rule at {place}: {because}"),
                }
            }
            Hint::AddToList { server, list, entry, origin } => format!(
                "to allow it, add `{}` to {} of server `{server}` at {}",
                one_line(entry),
                self.list(server, *list, origin),
                self.place(origin)
            ),
            Hint::TakeFromList { server, list, entry, origin } => format!(
                "to allow it, take `{}` out of {} of server `{server}` at {}",
                one_line(entry),
                self.list(server, *list, origin),
                self.place(origin)
            ),
            Hint::RaiseTimeout { server, key, had, origin } => self.raise_timeout(server, *key, *had, origin),
            Hint::AddServer { server } => {
                format!(
                    "add it: `helve add {} -- COMMAND`; `helve servers` lists those there are",
                    word(server.as_str())
                )
            }
            Hint::EnableServer { server } => format!("`helve enable {}` switches it on", word(server.as_str())),
            Hint::SignIn { server } => format!("`helve login {}` signs in", word(server.as_str())),
            Hint::Trust { origin: Some(origin) } => {
                format!("`helve trust` shows what {} would run, and asks", self.place(origin))
            }
            Hint::Trust { origin: None } => "`helve trust` shows what it would run, and asks".to_owned(),
            Hint::AcceptDefinition { name } => {
                format!("`helve pin {}` shows what changed, and asks whether to accept it", word(&name.to_string()))
            }
            Hint::ListServers => "`helve servers` lists them".to_owned(),
            Hint::ListTools => "`helve tools` lists what there is".to_owned(),
            Hint::ListOffers(kind) => format!("`helve {kind}s` lists those of all servers"),
            Hint::ShowServer { server } => {
                format!("`helve servers {}` shows how it is doing and what it writes", word(server.as_str()))
            }
            Hint::ShowTool { name } => format!("`helve tool {}` shows the whole schema", word(&name.to_string())),
            Hint::CheckConfiguration => "`helve doctor` says which".to_owned(),
            Hint::PollInstead => "poll the resource instead: `helve poll`, or the tool SubscribePolling".to_owned(),
            Hint::NameDialect => "`--dialect` says it: `--dialect mcp-json`".to_owned(),
            Hint::ShowHubs => "`helve hubs` shows how your hubs are doing".to_owned(),
            Hint::JoinAgain { place } => {
                format!("make a token on the hub's page, then `helve join URL --as {place}`")
            }
            Hint::KeepSecret { name } => format!("`helve secret set {}` keeps one", word(name)),
            other => other.to_string(),
        }
    }

    /// All of them.
    pub(crate) fn say_all(&self, hints: &[Hint]) -> Vec<String> {
        hints.iter().map(|hint| self.say(hint)).collect()
    }

    fn raise_timeout(&self, server: &ServerName, key: ServerKey, had: Duration, origin: &Origin) -> String {
        let seconds = had.as_secs_f64();
        let had = match key {
            ServerKey::StartupTimeout => format!("it had {seconds} s to start"),
            _ => format!("the tool had {seconds} s"),
        };
        let place = self.place(origin);
        match self.spelling(server, key, origin) {
            Some(KeySpelling { key, unit: Some("milliseconds") }) => format!(
                "{had}: `{key}` (in milliseconds) of the server `{server}` at {place} sets that, `--timeout` for one command"
            ),
            Some(KeySpelling { key, .. }) => {
                format!("{had}: `{key}` of the server `{server}` at {place} sets that, `--timeout` for one command")
            }
            None => format!(
                "{had}: `{}` under `[settings]` of your helve.toml sets that, `--timeout` for one command",
                key.own_spelling()
            ),
        }
    }

    /// A list of a server's entry, as its file calls it.
    fn list(&self, server: &ServerName, list: ServerKey, origin: &Origin) -> String {
        self.spelling(server, list, origin).map_or_else(|| list.to_string(), |spelling| format!("`{}`", spelling.key))
    }

    fn spelling(&self, server: &ServerName, key: ServerKey, origin: &Origin) -> Option<KeySpelling> {
        let Origin::File { path, .. } = origin else { return None };
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let place = files.iter().find(|place| place.path.as_path() == path.as_ref())?;
        let in_file = server.as_str().strip_suffix(place.application).and_then(|name| name.strip_suffix('@'));
        // It was read a moment ago; what it says now decides how it is spelled there.
        let text = reading::text(path, MAX_FILE_BYTES, &Budget::new(MAX_FILE_BYTES, READING)).unwrap_or_default();
        spelled_key(place, &text, in_file.unwrap_or(server.as_str()), key)
    }

    fn place(&self, origin: &Origin) -> String {
        match origin {
            Origin::File { path, line, .. } => {
                let shown = shown_from(&self.working_directory, self.home.as_deref(), path);
                format!("{}:{line}", one_line(&shown))
            }
            Origin::BuiltIn | Origin::CommandLine | Origin::Program => origin.to_string(),
        }
    }
}

/// The command that allows something for good.
pub(crate) fn allow_command(name: &QualifiedName, kind: CallKind, pattern: Option<&str>) -> String {
    let mut command = format!("helve allow {}", word(&rule_text(name)));
    if let Some(pattern) = pattern {
        command.push_str(&format!(" {}", word(pattern)));
    }
    if kind != CallKind::Tool {
        command.push_str(&format!(" --kind {kind}"));
    }
    command
}

/// The command that asks for something, as far as it is known.
fn asking_for(name: &QualifiedName, kind: CallKind) -> String {
    match kind {
        CallKind::Tool | CallKind::Method => format!("helve call {}", word(&name.to_string())),
        CallKind::Prompt => format!("helve prompt {}", word(&name.to_string())),
        CallKind::Resource => format!("helve read {} {}", word(name.server.as_str()), word(name.tool.as_str())),
    }
}

/// A word of a command line, as a shell wants it, on one line.
fn word(text: &str) -> String {
    one_line(&shell_words::quote(text)).into_owned()
}

#[cfg(test)]
#[path = "hint_words_tests.rs"]
mod tests;
