//! Adding a server: what was typed is understood and shown whole before anything of it runs, is filled with a secret, or is
//! written. Each of these names what was shown, so that nobody says yes to something else.

use std::collections::HashMap;
use std::time::Duration;

use helve::StartStep;
use helve_config::edit::{NewServer, NewTransport, Snippet, Typed, read_typed};
use helve_config::trust::ServerTrust;
use helve_config::{ConfiguredServer, Dialect, FilePlace, read_text};
use helve_model::sandbox::Choice;
use helve_model::{Layer, Origin, ServerName, TransportSpec, text};
use helve_setup::{OwnFile, Trial, name_in_file};
use secrecy::SecretString;
use serde::Deserialize;

use super::draft::{Slot, draft, host_of};
use super::files::{self, Edit, FileText, may_change_programs, version_of};
use super::sealing::{self, Sealed};
use super::servers::configured;
use super::settings::choice;
use crate::actor::Actor;
use crate::error::{HubError, TextProblem};
use crate::hub::Hub;

/// How long a server may take to come when it is tested.
const TEST_TIME: Duration = Duration::from_secs(30);

/// What a page writes into the field for an entry of another application's file.
pub(crate) const IMPORT: &str = "helve import ";

/// What somebody wants to add.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AddRequest {
    /// A command line, an address, or a piece of a configuration.
    pub(crate) typed: String,
    /// Which server of a piece that has several.
    pub(crate) entry: String,
    /// What it is to be called; empty: as it suggests itself.
    pub(crate) name: String,
    /// `user`, `project`, `local`, or a file that the hub was started with; empty: the usual one.
    pub(crate) scope: String,
    /// The sandbox; empty: as the settings propose.
    pub(crate) sandbox: String,
    /// Values by the names of the slots.
    pub(crate) secrets: HashMap<String, String>,
    /// The version of the file it goes to.
    pub(crate) version: String,
    /// Names what was shown.
    pub(crate) shown: String,
}

/// A file that a server can go to.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// As it is sent.
    pub(crate) scope: String,
    pub(crate) place: FilePlace,
}

/// What was typed, understood.
#[derive(Debug)]
pub(crate) struct Understanding {
    /// What was typed, with marks for secrets.
    pub(crate) typed: String,
    pub(crate) came_as: String,
    pub(crate) entries: Vec<String>,
    pub(crate) entry: String,
    pub(crate) name: String,
    /// As it would be written: no secret is in it.
    pub(crate) server: NewServer,
    pub(crate) sandbox: Option<Choice>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) targets: Vec<Target>,
    pub(crate) target: Target,
    pub(crate) file: FileText,
    /// The lines that would be added.
    pub(crate) text: String,
    pub(crate) warnings: Vec<String>,
    /// Why it can be neither tested nor saved here.
    pub(crate) refused: Option<String>,
    /// Names all of this.
    pub(crate) shown: String,
    after: String,
    sealed: Vec<Sealed>,
}

/// Understands what was typed. Nothing is run, filled or written.
pub(crate) fn understand(hub: &Hub, actor: &Actor, request: &AddRequest) -> Result<Understanding, HubError> {
    let typed_text = hub.masks.unmasked(&request.typed, &HashMap::new()).map_err(|line| {
        let message = "this mark stands for a secret that is not known any more: type it anew".to_owned();
        HubError::mistakes(vec![TextProblem { at: Some((line, 1)), message, hints: Vec::new(), is_warning: false }])
    })?;
    let secrets = typed_secrets(hub, &request.secrets)?;
    let (typed, came_as) = read(hub, &typed_text)?;
    let (entries, entry) = match &typed {
        Typed::Server { .. } => (Vec::new(), String::new()),
        Typed::Snippet(snippet) => {
            let chosen = snippet.names.iter().find(|name| **name == request.entry).or(snippet.names.first());
            (snippet.names.clone(), chosen.cloned().unwrap_or_default())
        }
    };
    let is_same_entry = request.entry.is_empty() || request.entry == entry;
    let name = match &typed {
        _ if !request.name.trim().is_empty() && is_same_entry => request.name.trim().to_owned(),
        Typed::Server { name, .. } => name.clone(),
        Typed::Snippet(_) => entry.clone(),
    };
    let name = if request.name.trim().is_empty() { free_name(hub, name) } else { name };
    check_name(&name)?;
    let targets = targets(hub);
    let target = targets.iter().find(|target| target.scope == request.scope).or(targets.first()).cloned();
    let target = target.ok_or_else(|| HubError::conflict("there is no file that a server could be written to"))?;
    let file = files::open(hub, &target.place)?;
    let sandbox = sandbox(hub, request)?;
    let draft = draft(hub, &target.place, file.plain(), &typed, &entry, &name, sandbox, &secrets)?;
    let is_program = matches!(draft.server.transport, NewTransport::Program { .. });
    let refused = match files::check(hub, actor, &target.place, file.plain(), &draft.after) {
        Err(error) => Some(error.message().to_owned()),
        Ok(()) => file.locked.clone(),
    };
    let mut warnings = draft.warnings;
    warnings
        .extend(server_of(hub, &target.place, &draft.after, &name).map(|found| held(hub, &found)).unwrap_or_default());
    let mut understanding = Understanding {
        typed: masked_typed(hub, &typed_text, &draft.sealed),
        came_as,
        entries,
        entry,
        name,
        sandbox: sandbox.filter(|_| is_program),
        text: added(file.plain(), &draft.after),
        server: draft.server,
        slots: draft.slots,
        sealed: draft.sealed,
        after: draft.after,
        targets,
        target,
        file,
        warnings,
        refused,
        shown: String::new(),
    };
    understanding.shown = understanding.digest();
    Ok(understanding)
}

/// Writes the server that was shown, its secrets sealed.
pub(crate) fn save(hub: &Hub, actor: &Actor, request: &AddRequest) -> Result<String, HubError> {
    let understanding = seen(hub, actor, request)?;
    let Understanding { name, sealed, target, after, file, sandbox, .. } = &understanding;
    let version = if request.version.is_empty() { file.version.as_str() } else { request.version.as_str() };
    let (typed, _) = read(hub, &hub.masks.unmasked(&request.typed, &HashMap::new()).unwrap_or_default())?;
    let edit = Edit {
        place: &target.place,
        version: Some(version),
        make: &|text| {
            if text == file.plain() {
                return Ok(after.clone());
            }
            let (entry, secrets) = (&understanding.entry, typed_secrets(hub, &request.secrets)?);
            draft(hub, &target.place, text, &typed, entry, name, *sandbox, &secrets).map(|draft| draft.after)
        },
        verb: "added",
        object: format!("server {name}"),
        undoes: None,
        sandbox: *sandbox,
        sent: None,
    };
    if version == file.version {
        sealing::keep(hub, sealed)?;
    }
    files::write(hub, actor, &edit)?;
    Ok(name.clone())
}

/// Starts the server that was shown aside, and ends it again. `heard` is told how far it is.
pub(crate) async fn test(
    hub: &std::sync::Arc<Hub>,
    actor: &Actor,
    request: &AddRequest,
    heard: impl Fn(StartStep) + Send,
) -> Result<Trial, HubError> {
    let (asked, by) = (request.clone(), actor.clone());
    let (configuration, server, given) = hub
        .read(move |hub| {
            let understanding = seen(hub, &by, &asked)?;
            let server = server_of(hub, &understanding.target.place, &understanding.after, &understanding.name)
                .ok_or_else(|| HubError::invalid("the entry cannot be understood"))?;
            let given: HashMap<String, SecretString> =
                understanding.sealed.iter().map(|one| (one.kept_as.clone(), one.value.clone())).collect();
            Ok((hub.setup.read_configuration(), server, given))
        })
        .await?;
    if let Some(reason) = hub.setup.held(&server) {
        return Err(HubError::conflict(format!("it cannot be started as it is: {reason}")));
    }
    let trial = hub.setup.try_server(configuration, server, given, TEST_TIME, heard).await?;
    trial.ok_or_else(|| HubError::failed("the server was not started"))
}

/// What was understood, if it is what was shown and may be done.
fn seen(hub: &Hub, actor: &Actor, request: &AddRequest) -> Result<Understanding, HubError> {
    let understanding = understand(hub, actor, request)?;
    if matches!(understanding.server.transport, NewTransport::Program { .. }) {
        may_change_programs(hub, actor)?;
    }
    if let Some(refused) = &understanding.refused {
        return Err(HubError::conflict(refused.clone()));
    }
    if understanding.shown != request.shown {
        return Err(HubError::conflict("this is not what was shown: look at what it would do first"));
    }
    Ok(understanding)
}

/// The values that were typed for slots; one that was shown as a mark since is known by it.
fn typed_secrets(hub: &Hub, sent: &HashMap<String, String>) -> Result<HashMap<String, String>, HubError> {
    let known = HashMap::new();
    let plain = |(name, value): (&String, &String)| match hub.masks.unmasked(value, &known) {
        Ok(value) => Ok((name.clone(), value)),
        Err(_) => Err(HubError::invalid(format!("the mark of {name} is not known any more: type its value anew"))),
    };
    sent.iter().map(plain).collect()
}

/// What was typed, and what it came as.
fn read(hub: &Hub, typed: &str) -> Result<(Typed, String), HubError> {
    if let Some(name) = typed.trim().strip_prefix(IMPORT) {
        let configuration = hub.setup.read_configuration();
        let (server, place) = configured(&configuration, name)?;
        if place.dialect == Dialect::Helve {
            return Err(HubError::conflict(format!("{name} is in a file of helve's own already")));
        }
        if server.trust == ServerTrust::Untrusted {
            return Err(HubError::conflict(format!("{name} comes from a project that is not trusted yet")));
        }
        let text = files::open(hub, &place)?.plain().to_owned();
        let came_as = format!("an entry of {}", hub.setup.environment().shown(&place.path));
        let names = vec![name_in_file(server).to_owned()];
        return Ok((Typed::Snippet(Snippet { place, text, names }), came_as));
    }
    let project = hub.setup.environment().working_directory();
    let typed = read_typed(typed, project).map_err(|(at, message)| {
        HubError::mistakes(vec![TextProblem { at, message, hints: Vec::new(), is_warning: false }])
    })?;
    let came_as = typed.came_as();
    Ok((typed, came_as))
}

/// The name that suggests itself, or one like it that no server has.
fn free_name(hub: &Hub, name: String) -> String {
    let configuration = hub.setup.read_configuration();
    let is_free = |name: &String| configuration.server(name).is_none();
    let others = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(others).find(is_free).unwrap_or(name)
}

fn check_name(name: &str) -> Result<(), HubError> {
    let wrong = |message: String| Err(HubError::invalid(message).hint("use letters, digits, `-` and `_`"));
    if name.chars().any(text::is_invisible) {
        return wrong(format!("`{}` cannot be a server's name", text::one_line(name)));
    }
    ServerName::new(name).map(drop).or_else(|error| wrong(error.to_string()))
}

/// The files that a server can go to, the usual one first.
pub(super) fn targets(hub: &Hub) -> Vec<Target> {
    let configuration = hub.setup.read_configuration();
    let named = hub.setup.editable_files(&configuration).into_iter().filter(|place| place.layer == Layer::Explicit);
    let named: Vec<Target> = named
        .filter(|place| place.dialect == Dialect::Helve)
        .map(|place| Target { scope: hub.setup.environment().shown(&place.path), place })
        .collect();
    if hub.setup.choices().only_files {
        return named;
    }
    let own = [("user", OwnFile::User), ("project", OwnFile::Project), ("local", OwnFile::Local)];
    let own = own
        .into_iter()
        .filter_map(|(scope, which)| Some(Target { scope: scope.to_owned(), place: hub.setup.own_file(which).ok()? }));
    own.chain(named).collect()
}

fn sandbox(hub: &Hub, request: &AddRequest) -> Result<Option<Choice>, HubError> {
    if !request.sandbox.is_empty() {
        return choice(&request.sandbox).map(Some);
    }
    let proposed = hub.setup.read_configuration().settings.sandbox.value;
    let is_possible = hub.setup.why_not_confined().is_none();
    Ok(Some(if is_possible { proposed } else { Choice::Off }))
}

/// A server as it would be read from a text.
fn server_of(hub: &Hub, place: &FilePlace, text: &str, name: &str) -> Option<ConfiguredServer> {
    let content = read_text(place, text, hub.setup.known_to_configuration());
    let mut found = content.servers.into_iter().find(|found| found.name.as_str() == name)?;
    // Whoever adds it has seen it.
    found.trust = ServerTrust::Own;
    Some(found)
}

/// What would keep it from running, and what everybody could read of it.
fn held(hub: &Hub, server: &ConfiguredServer) -> Vec<String> {
    let mut warnings: Vec<String> =
        hub.setup.held(server).map(|reason| format!("it would not run yet: {reason}")).into_iter().collect();
    warnings.extend(server.diagnostics.iter().map(|diagnostic| diagnostic.message.clone()));
    if let Some(spec) = &server.spec {
        warnings.extend(helve_config::secret_arguments(spec).into_iter().map(|name| {
            format!("the argument {name} holds a secret, and every user of this machine can see a program's arguments")
        }));
        if let TransportSpec::Http(http) = &spec.transport
            && http.url.written().starts_with("http://")
            && !["localhost", "127.0.0.1", "[::1]"].contains(&host_of(http.url.written()).as_str())
        {
            warnings.push("the address is not https: whoever is on the way reads and changes everything".to_owned());
        }
    }
    warnings
}

/// What was typed, with marks where it says a secret.
fn masked_typed(hub: &Hub, typed: &str, sealed: &[Sealed]) -> String {
    use secrecy::ExposeSecret as _;
    let mut text = typed.to_owned();
    for one in sealed {
        let secret = one.value.expose_secret();
        // A short word may stand for anything else in the text.
        if secret.len() >= 4 && text.contains(secret) {
            text = text.replace(secret, &hub.masks.remember(secret));
        }
    }
    text
}

/// The lines that a draft has more than the file.
fn added(before: &str, after: &str) -> String {
    let diff = helve_page::line_diff(before, after);
    let lines = diff.lines.iter().filter(|line| line.kind == helve_page::view::DiffKind::Added);
    lines.map(|line| format!("{}\n", line.text)).collect::<String>().trim_start_matches('\n').to_owned()
}

impl Understanding {
    /// Names all that is shown: another word, another place for a secret, another file give another one.
    fn digest(&self) -> String {
        let pairs = sealing::pairs(&self.server);
        let target = match &self.server.transport {
            NewTransport::Program { command, arguments, working_directory, .. } => {
                format!("{command:?} {arguments:?} {working_directory:?}")
            }
            NewTransport::Address { url, .. } => format!("{url:?}"),
        };
        let goes: Vec<(&str, &str)> =
            self.slots.iter().map(|slot| (slot.name.as_str(), slot.goes_to.as_str())).collect();
        let names: Vec<&String> = pairs.iter().map(|(name, _)| name).collect();
        version_of(&format!("{} {target} {names:?} {goes:?} {:?}", self.name, self.target.place.path))
    }
}

/// Where an entry of another application's file is, for a page that offers to import it.
pub(crate) fn imports(hub: &Hub) -> Vec<(String, &'static str, String)> {
    let configuration = hub.setup.read_configuration();
    let others = configuration.servers.iter().filter(|server| server.dialect != Dialect::Helve);
    let others = others.filter(|server| server.trust != ServerTrust::Untrusted);
    others
        .filter_map(|server| match &server.origin {
            Origin::File { path, .. } => {
                Some((server.name.to_string(), server.dialect.title(), hub.setup.environment().shown(path)))
            }
            _ => None,
        })
        .collect()
}
