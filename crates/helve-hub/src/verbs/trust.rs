//! Trust: what a project's file would run, shown whole, and a yes to exactly that. It is guarded like adding a program.

use helve_config::Configuration;
use helve_config::trust::{NOT_COVERED, TrustRequest, TrustSubject};
use helve_model::TransportSpec;
use helve_model::sandbox::Choice;
use helve_setup::store::trust::TrustFile;
use helve_setup::{is_sandbox_choosable, server_of_request};
use helve_store::NewChange;

use super::files::{may_change_programs, version_of};
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// Something of a file that waits for trust.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    /// `server github`, or `rules and settings`.
    pub(crate) what: String,
    /// Everything that a yes covers, one by one: what it is, what it says.
    pub(crate) parts: Vec<(String, String)>,
    /// The words of a program, one by one.
    pub(crate) words: Vec<String>,
    /// What a yes means for what a program may touch.
    pub(crate) sandbox: Option<String>,
    choice: Option<Choice>,
    request: TrustRequest,
}

/// A file of which something waits.
#[derive(Debug, Clone)]
pub(crate) struct WaitingFile {
    pub(crate) file: String,
    /// Names all that is shown: a yes is to this and nothing else.
    pub(crate) version: String,
    pub(crate) waiting: Vec<Waiting>,
    /// Why nobody can say yes here.
    pub(crate) refused: Option<String>,
}

/// Every file of which something waits for trust.
pub(crate) fn list(hub: &Hub, actor: &Actor) -> Vec<WaitingFile> {
    let configuration = hub.setup.read_configuration();
    let mut files: Vec<WaitingFile> = Vec::new();
    let refused = may_change_programs(hub, actor).err().map(|error| error.message().to_owned());
    for request in &configuration.untrusted {
        let name = hub.setup.environment().shown(&request.file);
        let one = waiting(hub, &configuration, request);
        match files.iter_mut().find(|file| file.file == name) {
            Some(file) => file.waiting.push(one),
            None => files.push(WaitingFile {
                file: name,
                version: String::new(),
                waiting: vec![one],
                refused: refused.clone(),
            }),
        }
    }
    for file in &mut files {
        let hashes: Vec<String> =
            file.waiting.iter().map(|one| format!("{} {:?}", one.request.hash, one.choice)).collect();
        file.version = version_of(&hashes.join("\n"));
    }
    files
}

/// What waits in one file.
pub(crate) fn get(hub: &Hub, actor: &Actor, file: &str) -> Result<WaitingFile, HubError> {
    let found = list(hub, actor).into_iter().find(|waiting| waiting.file == file);
    found.ok_or_else(|| HubError::not_found(format!("nothing in {file:?} waits for trust")))
}

/// Says yes to all that was shown of a file.
pub(crate) fn trust(hub: &Hub, actor: &Actor, file: &str, version: &str) -> Result<(), HubError> {
    may_change_programs(hub, actor)?;
    let found = get(hub, actor, file)?;
    if found.version != version {
        return Err(HubError::conflict(format!("{file} is not what was shown any more: nothing was trusted"))
            .hint("look at it again"));
    }
    hub.setup.stores()?.update(|trusted: &mut TrustFile| {
        found.waiting.iter().for_each(|one| trusted.trust(&one.request, one.choice));
    })?;
    let what: Vec<&str> = found.waiting.iter().map(|one| one.what.as_str()).collect();
    hub.store.add_change(NewChange {
        at: hub.now(),
        actor: actor.name(),
        verb: "trusted".to_owned(),
        object: format!("{} of {file}", what.join(", ")),
        ..NewChange::default()
    })?;
    hub.edits.edited();
    Ok(())
}

fn waiting(hub: &Hub, configuration: &Configuration, request: &TrustRequest) -> Waiting {
    let server = server_of_request(configuration, request);
    let what = match &request.subject {
        TrustSubject::Server(name) => format!("server {name}"),
        TrustSubject::Rules => "rules and settings".to_owned(),
    };
    let mut parts: Vec<(String, String)> = request
        .parts
        .iter()
        .filter(|part| part.label != "server")
        .map(|part| (part.label.to_owned(), part.to_line()))
        .collect();
    if request.parts.iter().any(|part| part.label == "command") {
        parts.push(("not covered".to_owned(), NOT_COVERED.to_owned()));
    }
    let words = server.and_then(|server| server.spec.as_ref()).map(|spec| match &spec.transport {
        TransportSpec::Stdio(stdio) => stdio.written().map(ToOwned::to_owned).collect(),
        _ => Vec::new(),
    });
    // A yes is for a sandbox too, where the entry says nothing about one.
    let is_choosable = server.is_some_and(is_sandbox_choosable);
    let proposed = configuration.settings.sandbox.value;
    let missing = (is_choosable && proposed != Choice::Off).then(|| hub.setup.why_not_confined()).flatten();
    let (choice, sandbox) = match (is_choosable, proposed, missing) {
        (false, ..) => (None, None),
        (true, _, Some(why)) => (Some(Choice::Off), Some(format!("none, it may do whatever you may: {why}"))),
        (true, Choice::Off, None) => (Some(Choice::Off), Some("none: it may do whatever you may".to_owned())),
        (true, choice, None) => (Some(choice), Some(choice.to_string())),
    };
    Waiting { what, parts, words: words.unwrap_or_default(), sandbox, choice, request: request.clone() }
}
