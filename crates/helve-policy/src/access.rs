//! What a server's own entry says: switched on, trusted, and which tools its lists name.

use std::sync::Arc;

use helve_model::{AccessSpec, Action, Layer, Listed, Origin, ServerName, ServerSpec};

use crate::Problem;
use crate::glob::{Bits, Globs, GlobsBuilder};
use crate::identity::ServerIdentity;
use crate::place::Directories;

/// Whether the person stands behind an entry. What comes from a project is untrusted until they said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// It counts.
    Trusted,
    /// It may narrow what others say, never widen or replace it.
    Untrusted,
}

/// One server entry of one layer, as far as permission goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAccess {
    /// The server's name.
    pub name: ServerName,
    /// Switched on?
    pub enabled: bool,
    /// Its lists and flags.
    pub access: AccessSpec,
    /// Where it was written.
    pub origin: Origin,
    /// In which layer it was written.
    pub layer: Layer,
    /// Whether the person stands behind it.
    pub trust: Trust,
    /// Which server it is, for approvals; `None` for an entry that only narrows, and where nobody can tell.
    pub identity: Option<ServerIdentity>,
    /// Where it runs, as far as that is known: relative paths start there.
    pub directories: Directories,
}

impl ServerAccess {
    /// The part of a server's configuration that permission depends on.
    #[must_use]
    pub fn new(spec: &ServerSpec, trust: Trust) -> Self {
        Self {
            name: spec.name.clone(),
            enabled: spec.enabled,
            access: spec.access.clone(),
            origin: spec.origin.clone(),
            layer: spec.layer,
            trust,
            identity: Some(ServerIdentity::of(spec)),
            directories: Directories::of(spec),
        }
    }
}

/// All entries of one server name, brought together.
///
/// The highest trusted layer counts as a whole. Besides it, any entry of a project may switch the server or some of
/// its tools off, and tools that the person's own entry switches off stay off when a project replaces that entry.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) entry: ServerAccess,
    pub(crate) tools: Option<List>,
    pub(crate) write_tools: List,
    pub(crate) disabled_tools: List,
    /// The entry that switches the whole server off, if one does.
    pub(crate) switched_off: Option<Origin>,
    /// Which server it is that runs; approvals are bound to it.
    pub(crate) identity: Option<ServerIdentity>,
}

/// A list of tool globs.
#[derive(Debug)]
pub(crate) struct List {
    globs: Globs,
    /// By glob id.
    entries: Vec<Arc<Listed>>,
}

impl Server {
    /// `entries` all have the same name and are not empty.
    pub(crate) fn new(entries: &[ServerAccess], problems: &mut Vec<Problem>) -> Option<Self> {
        let trusted = entries.iter().filter(|entry| entry.trust == Trust::Trusted).max_by_key(|entry| entry.layer);
        let entry = trusted.or_else(|| entries.iter().max_by_key(|entry| entry.layer))?.clone();
        let others = || entries.iter().filter(|other| **other != entry);

        let narrows = |other: &&ServerAccess| {
            other.trust == Trust::Untrusted || (other.layer == Layer::User && entry.layer == Layer::Project)
        };
        let disabled_tools: Vec<Listed> = entry
            .access
            .disabled_tools
            .iter()
            .chain(others().filter(narrows).flat_map(|other| &other.access.disabled_tools))
            .cloned()
            .collect();
        let switched_off = std::iter::once(&entry)
            .chain(others().filter(|other| other.trust == Trust::Untrusted))
            .find(|candidate| !candidate.enabled)
            .map(|candidate| candidate.origin.clone());
        let tools = entry.access.tools.as_ref().map(|list| List::new(list, problems));
        let write_tools = List::new(entry.access.write_tools.as_deref().unwrap_or_default(), problems);
        let disabled_tools = List::new(&disabled_tools, problems);
        // The entry that runs has one; those it hides have none.
        let identity = entry.identity.or_else(|| entries.iter().find_map(|entry| entry.identity));
        Some(Self { entry, tools, write_tools, disabled_tools, switched_off, identity })
    }

    /// Read-only is the default: only an explicit `readonly = false` ends it.
    pub(crate) fn is_readonly(&self) -> bool {
        self.entry.access.readonly != Some(false)
    }
}

impl List {
    fn new(entries: &[Listed], problems: &mut Vec<Problem>) -> Self {
        let mut builder = GlobsBuilder::default();
        let mut kept: Vec<Arc<Listed>> = Vec::new();
        for entry in entries {
            if builder.add(&entry.glob) == kept.len() {
                kept.push(Arc::new(entry.clone()));
            }
        }
        let (globs, unreadable) = builder.build();
        for glob in unreadable {
            problems.push(Problem::unreadable_list_entry(&kept[glob.id], &glob.reason));
        }
        Self { globs, entries: kept }
    }

    /// The first entry that names the tool. An entry that cannot be read names every tool when `action` is to
    /// restrict, and none when it is to allow.
    pub(crate) fn find(&self, tool: &str, action: Action) -> Option<&Arc<Listed>> {
        if self.globs.is_empty() {
            return None;
        }
        let mut matched = Bits::default();
        self.globs.matches(tool, &mut matched);
        (0..self.entries.len()).find(|id| self.globs.holds(*id, &matched, action)).map(|id| &self.entries[id])
    }
}
