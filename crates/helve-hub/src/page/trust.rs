//! A file that asks to be trusted.

use helve_page::view::{FileVersion, Trust, TrustEntry};

use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;
use crate::verbs::trust::{self, Waiting, WaitingFile};

pub(super) fn view(hub: &Hub, file: &str) -> Result<Trust, HubError> {
    let found = trust::get(hub, &Actor::Session, file)?;
    Ok(Trust {
        question: "Everything below runs, or decides what runs, as soon as you trust it. Whatever of it changes is asked again."
            .to_owned(),
        entries: found.waiting.iter().map(|one| entry(&found, one)).collect(),
        with: Vec::new(),
        refused: found.refused.clone(),
        back: "/servers".to_owned(),
        file: FileVersion { path: found.file, version: found.version, locked: None },
    })
}

/// What waits, for the list of servers.
pub(super) fn waiting(hub: &Hub) -> Vec<TrustEntry> {
    let files = trust::list(hub, &Actor::Session);
    files.iter().flat_map(|file| file.waiting.iter().map(|one| entry(file, one))).collect()
}

fn entry(file: &WaitingFile, one: &Waiting) -> TrustEntry {
    let part = |(what, line): &(String, String)| format!("{what}: {line}");
    let does = match one.words.first() {
        Some(program) => format!("runs {program}"),
        None => one.parts.first().map(part).unwrap_or_default(),
    };
    let sandbox = one.sandbox.iter().map(|sandbox| format!("sandbox: {sandbox}"));
    TrustEntry {
        name: one.what.clone(),
        file: file.file.clone(),
        does,
        details: one.parts.iter().map(part).chain(sandbox).collect(),
        words: one.words.clone(),
    }
}
