//! Joining and leaving a hub: `[hubs.NAME]` of helve's own file, and nothing else in it.

use super::render::Written;
use super::write::{Edited, change_file};
use super::{Action, EditError, Spot, toml, without_places};
use crate::dialect::Dialect;
use crate::document::{self, Format, Node};
use crate::environment::Environment;
use crate::reader::{FileContent, FilePlace, read_text};
use crate::source::Source;

/// The table that hubs stand in.
const HUBS: &str = "hubs";

/// What to do with a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HubChange {
    /// Have it at this address, whatever it was before.
    Join {
        /// As [`crate::hub_address`] gives it.
        url: String,
    },
    /// Have it no more.
    Leave,
}

/// Changes a hub in a file.
///
/// # Errors
/// Why nothing was written.
pub fn edit_hub(place: &FilePlace, name: &str, change: &HubChange) -> Result<Edited, EditError> {
    change_file(place, None, &|text| edit_hub_text(place, text, name, change))
}

/// The text of a file after the change.
///
/// # Errors
/// Why the change was refused; the file is as it was.
pub fn edit_hub_text(place: &FilePlace, text: &str, name: &str, change: &HubChange) -> Result<String, EditError> {
    if place.dialect != Dialect::Helve || place.dialect.format_of(&place.path) != Format::Toml {
        return Err(EditError::NotPossible("hubs stand in helve's own file alone".to_owned()));
    }
    let source = Source::new(&place.path, text);
    let document = document::parse(&source, Format::Toml).map_err(EditError::Broken)?;
    let existing = document.get(HUBS).and_then(|hubs| hubs.get(name));
    let url = |url: &String| ("url".to_owned(), Written::Text(url.clone()));
    let action = match (existing, change) {
        (None, HubChange::Join { url: address }) => Action::Insert(vec![url(address)]),
        (Some(_), HubChange::Join { url: address }) => {
            let (key, value) = url(address);
            Action::Modify(vec![super::Step::Set(key, value)])
        }
        (Some(_), HubChange::Leave) => Action::Remove,
        (None, HubChange::Leave) => return Ok(text.to_owned()),
    };
    let line = existing.map_or(1, |node: &Node| source.position(node.span.start).0);
    let spot = Spot { root: vec![HUBS.to_owned()], name_key: None, name: name.to_owned() };
    match toml::apply(text, &spot, &action) {
        Some(edited) if is_as_asked(place, text, &edited, name, change) => Ok(edited),
        _ => Err(EditError::ByHand { server: name.to_owned(), line }),
    }
}

/// Reads the file before and after: the hub is what it should be, everything else is what it was.
fn is_as_asked(place: &FilePlace, before: &str, after: &str, name: &str, change: &HubChange) -> bool {
    // Only what is written matters.
    let read = |text: &str| read_text(place, text, &Environment::new(&place.project));
    let (old, new) = (read(before), read(after));
    let others = |content: &FileContent| {
        let hubs = content.hubs.iter().filter(|hub| hub.place.as_str() != name);
        let hubs: Vec<(String, String)> = hubs.map(|hub| (hub.place.to_string(), hub.url.clone())).collect();
        let servers = content.servers.iter().map(|server| (server.name.to_string(), server.spec.clone()));
        let servers: Vec<_> = servers.map(|(name, spec)| (name, spec.map(without_places))).collect();
        let rules: Vec<String> =
            content.rules.iter().map(|rule| format!("{} {} {:?}", rule.tool, rule.action, rule.pattern)).collect();
        (hubs, servers, rules)
    };
    let found = new.hubs.iter().find(|hub| hub.place.as_str() == name).map(|hub| &hub.url);
    let is_there = match change {
        HubChange::Join { url } => found == Some(url),
        HubChange::Leave => found.is_none(),
    };
    is_there && others(&old) == others(&new)
}

#[cfg(test)]
#[path = "hubs_tests.rs"]
mod tests;
