//! Files that are edited here: read without their secrets, and written in one way only. Every edit names the version of the
//! file it was made on, is refused where it would have code run that whoever asks may not run, and is noted.

use std::collections::HashMap;

use helve_config::edit::{EditError, mask_secrets, restore_file};
use helve_config::trust::hash_content;
use helve_config::{
    Code, Configuration, Diagnostic, FileContent, FilePlace, MAX_PROJECT_FILE_BYTES, Severity, read_text,
};
use helve_model::sandbox::Choice;
use helve_model::{Layer, Origin, TransportSpec};
use helve_store::{NewChange, hex};
use sha2::{Digest as _, Sha256};

use super::redaction::redacted;
use crate::actor::Actor;
use crate::error::{ConflictingTexts, HubError, TextProblem};
use crate::hub::{Hub, Programs};

/// A file as it is now.
#[derive(Clone)]
pub(crate) struct FileText {
    pub(crate) place: FilePlace,
    /// The file, as people write it.
    pub(crate) name: String,
    /// Names what it says now.
    pub(crate) version: String,
    /// Why it cannot be edited here.
    pub(crate) locked: Option<String>,
    /// What it says, secrets included: for nobody's eyes.
    text: String,
}

/// What is to become of a file.
pub(crate) struct Edit<'a> {
    pub(crate) place: &'a FilePlace,
    /// The version that it was made on; `None` takes the file as it is.
    pub(crate) version: Option<&'a str>,
    /// The new text, from the one that is there.
    pub(crate) make: &'a dyn Fn(&str) -> Result<String, HubError>,
    /// What is done, to what: `changed`, `server github`.
    pub(crate) verb: &'a str,
    pub(crate) object: String,
    /// The change that it takes back.
    pub(crate) undoes: Option<i64>,
    /// The sandbox of a project's server that has none in its entry.
    pub(crate) sandbox: Option<Choice>,
    /// The text as it was sent, with marks for secrets, where a whole text was.
    pub(crate) sent: Option<&'a str>,
}

/// The files that can be looked at here, as people write them.
pub(crate) fn list(hub: &Hub, configuration: &Configuration) -> Vec<FileText> {
    hub.setup.editable_files(configuration).iter().filter_map(|place| open(hub, place).ok()).collect()
}

/// A file by the name it has on pages. No other file of the machine can be named.
pub(crate) fn find(hub: &Hub, configuration: &Configuration, name: &str) -> Result<FileText, HubError> {
    let is_it = |place: &&FilePlace| hub.setup.environment().shown(&place.path) == name;
    let places = hub.setup.editable_files(configuration);
    let place = places.iter().find(is_it);
    open(hub, place.ok_or_else(|| HubError::not_found(format!("{name:?} is not a file that is edited here")))?)
}

/// Reads a file; one that does not exist is empty.
pub(crate) fn open(hub: &Hub, place: &FilePlace) -> Result<FileText, HubError> {
    let name = hub.setup.environment().shown(&place.path);
    let text = match fs_err::metadata(&place.path) {
        Ok(about) if about.len() > MAX_PROJECT_FILE_BYTES => {
            return Err(HubError::locked(format!("{name} is too large to be edited here")));
        }
        Ok(_) => fs_err::read_to_string(&place.path).map_err(|error| HubError::failed(error.to_string()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(HubError::failed(error.to_string())),
    };
    let locked = hub.setup.locked(place);
    Ok(FileText { place: place.clone(), name, version: version_of(&text), locked, text })
}

/// What names a version of a text.
pub(crate) fn version_of(text: &str) -> String {
    hex(&Sha256::digest(text))
}

impl FileText {
    /// What it says, with a mark for each secret.
    ///
    /// # Errors
    /// It cannot be read, so nobody knows where its secrets are.
    pub(crate) fn masked(&self, hub: &Hub) -> Result<String, HubError> {
        masked(hub, &self.place, &self.text).map(|(text, _)| text)
    }

    /// The whole text: for what is made of it, never for a page.
    pub(crate) fn plain(&self) -> &str {
        &self.text
    }

    /// What it says, understood.
    pub(crate) fn content(&self, hub: &Hub) -> FileContent {
        read_text(&self.place, &self.text, hub.setup.known_to_configuration())
    }

    /// A text that came back from a page, with the secrets of this file in the place of their marks.
    pub(crate) fn unmasked(&self, hub: &Hub, text: &str) -> Result<String, HubError> {
        unmasked(hub, &self.place, &self.text, text)
    }
}

/// A text as it is shown, and its marks.
fn masked(hub: &Hub, place: &FilePlace, text: &str) -> Result<(String, HashMap<String, String>), HubError> {
    let mut known = HashMap::new();
    let masked = mask_secrets(place, text, &mut |secret| {
        let mark = hub.masks.mark(secret);
        known.insert(mark.clone(), secret.to_owned());
        mark
    });
    match masked {
        Ok(masked) => Ok((masked, known)),
        Err(EditError::Broken(diagnostic)) => Err(HubError::mistakes(vec![problem(&diagnostic)])
            .hint("repair it at the machine: while it cannot be read, nobody knows where its secrets are")),
        Err(other) => Err(HubError::conflict(other.to_string())),
    }
}

pub(crate) fn unmasked(hub: &Hub, place: &FilePlace, current: &str, text: &str) -> Result<String, HubError> {
    let known = masked(hub, place, current).map(|(_, known)| known).unwrap_or_default();
    hub.masks.unmasked(text, &known).map_err(|line| {
        let message = "this mark stands for a secret that is not known any more".to_owned();
        let hints = vec!["type the value anew".to_owned()];
        HubError::mistakes(vec![TextProblem { at: Some((line, 1)), message, hints, is_warning: false }])
    })
}

/// Writes an edit, and notes who made it. Gives the number of the change; `None` when there was nothing to do.
pub(crate) fn write(hub: &Hub, actor: &Actor, edit: &Edit<'_>) -> Result<Option<i64>, HubError> {
    let file = open(hub, edit.place)?;
    if let Some(reason) = file.locked {
        return Err(HubError::locked(reason));
    }
    if edit.version.is_some_and(|version| version != file.version) {
        return Err(conflict(hub, edit));
    }
    let after = (edit.make)(&file.text)?;
    if after == file.text {
        return Ok(None);
    }
    check(hub, actor, edit.place, &file.text, &after)?;
    // Only a project's file can wait for trust.
    let configuration = (edit.place.layer == Layer::Project).then(|| hub.setup.read_configuration());
    let edited = restore_file(edit.place, hash_content(file.text.as_bytes()), &after).map_err(|error| match error {
        EditError::ChangedMeanwhile(_) => conflict(hub, edit),
        other => HubError::failed(other.to_string()),
    })?;
    if let Some(before) = configuration
        && actor.may_run_programs().is_ok()
    {
        hub.setup.trust_own_edits(&before, edit.place, edit.sandbox)?;
    }
    let seq = hub.store.add_change(NewChange {
        at: hub.now(),
        actor: actor.name(),
        verb: edit.verb.to_owned(),
        object: edit.object.clone(),
        file: Some(file.name),
        before: Some(version_of(&edited.before)),
        after: Some(version_of(&edited.after)),
        diff: diff_text(&redacted(&edited.before), &redacted(&edited.after)),
        undoes: edit.undoes,
    })?;
    hub.edits.edited();
    Ok(Some(seq))
}

/// Refuses a text with mistakes that the one before has not, and one that would have code run that whoever asks may not run.
pub(crate) fn check(hub: &Hub, actor: &Actor, place: &FilePlace, before: &str, after: &str) -> Result<(), HubError> {
    let read = |text: &str| read_text(place, text, hub.setup.known_to_configuration());
    let (old, new) = (read(before), read(after));
    let new_mistakes: Vec<TextProblem> = mistakes(&new)
        .into_iter()
        .filter(|problem| !mistakes(&old).iter().any(|known| known.message == problem.message))
        .collect();
    if !new_mistakes.is_empty() {
        return Err(HubError::mistakes(new_mistakes));
    }
    if runs_other_code(&old, &new) {
        may_change_programs(hub, actor)?;
    }
    Ok(())
}

/// May whoever asks have code run on this machine?
pub(crate) fn may_change_programs(hub: &Hub, actor: &Actor) -> Result<(), HubError> {
    actor.may_run_programs()?;
    match hub.options.programs {
        Programs::Allowed => Ok(()),
        Programs::Refused => Err(HubError::forbidden("programs cannot be added, changed or tested at this hub")
            .hint("it was started with --no-programs, or is reached from other machines without --allow-programs")),
    }
}

/// Everything that is wrong with a text.
pub(crate) fn problems(content: &FileContent) -> Vec<TextProblem> {
    let of_servers = content.servers.iter().flat_map(|server| &server.diagnostics);
    content.diagnostics.iter().chain(of_servers).map(problem).collect()
}

fn mistakes(content: &FileContent) -> Vec<TextProblem> {
    problems(content).into_iter().filter(|problem| !problem.is_warning).collect()
}

fn problem(diagnostic: &Diagnostic) -> TextProblem {
    let at = match diagnostic.origin {
        Origin::File { line, column, .. } => Some((line, column)),
        _ => None,
    };
    // A variable that is not set here is not a mistake in the text.
    let is_warning = diagnostic.severity != Severity::Error || diagnostic.code == Code::UnsetVariable;
    TextProblem { at, message: diagnostic.message.clone(), hints: diagnostic.hints.clone(), is_warning }
}

/// Would another program run by the new text than by the old one?
fn runs_other_code(old: &FileContent, new: &FileContent) -> bool {
    let is_new_program = new.servers.iter().any(|server| {
        let Some(spec) = &server.spec else { return false };
        if !matches!(spec.transport, TransportSpec::Stdio(_)) {
            return false;
        }
        let known = old.servers.iter().find(|known| known.name == server.name);
        let Some((known, before)) = known.and_then(|known| Some((known, known.spec.as_ref()?))) else { return true };
        let is_switched_on = server.disabled_by.is_none() && known.disabled_by.is_some();
        is_switched_on
            || spec.transport != before.transport
            || spec.sandbox != before.sandbox
            || spec.inherit_environment != before.inherit_environment
    });
    let commands = |content: &FileContent| -> Vec<String> {
        content
            .source
            .text()
            .lines()
            .filter(|line| line.contains("${cmd:"))
            .map(|line| line.trim().to_owned())
            .collect()
    };
    let known = commands(old);
    let (before, after) = (&old.settings, &new.settings);
    let value = |setting: &Option<helve_config::Setting<Option<String>>>| setting.as_ref().map(|it| it.value.clone());
    is_new_program
        || commands(new).iter().any(|line| !known.contains(line))
        || value(&before.vault_key) != value(&after.vault_key)
        || before.sampling_command.as_ref().map(|it| &it.value) != after.sampling_command.as_ref().map(|it| &it.value)
        || before.import.as_ref().map(|it| &it.value) != after.import.as_ref().map(|it| &it.value)
        || before.sandbox.as_ref().map(|it| &it.value) != after.sandbox.as_ref().map(|it| &it.value)
}

/// Nothing was written: what the file says now, and what was meant.
fn conflict(hub: &Hub, edit: &Edit<'_>) -> HubError {
    let file = match open(hub, edit.place) {
        Ok(file) => file,
        Err(error) => return error,
    };
    let mine = match edit.sent {
        Some(sent) => Ok(sent.to_owned()),
        None => (edit.make)(&file.text).and_then(|text| masked(hub, edit.place, &text)).map(|(text, _)| text),
    };
    match (file.masked(hub), mine) {
        (Ok(theirs), Ok(mine)) => {
            HubError::changed_meanwhile(ConflictingTexts { file: file.name, version: file.version, theirs, mine })
        }
        _ => HubError::conflict(format!("{} was changed since: nothing was written", file.name)),
    }
}

/// A difference as it is kept: each line behind ` `, `-` or `+`, `~` where lines are left out.
pub(crate) fn diff_text(before: &str, after: &str) -> String {
    let diff = helve_page::line_diff(before, after);
    let line = |line: &helve_page::view::DiffLine| {
        let mark = match line.kind {
            helve_page::view::DiffKind::Same => ' ',
            helve_page::view::DiffKind::Removed => '-',
            helve_page::view::DiffKind::Added => '+',
            helve_page::view::DiffKind::Skipped => '~',
        };
        format!("{mark}{}\n", line.text)
    };
    diff.lines.iter().map(line).collect()
}

impl std::fmt::Debug for FileText {
    /// Without the text: it may hold secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "FileText({}, {} bytes)", self.name, self.text.len())
    }
}
