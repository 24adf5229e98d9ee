//! What can be called at one moment: an immutable snapshot, and each tool with all that a call needs.
//!
//! Nothing is computed before somebody asks: ten thousand tools cost their definitions and no more. A tool's view,
//! policy and validator are made at its first use, the table of names at the first name that needs it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::name::{
    CODE_PREFIX, PLACED_CODE_PREFIX, Resolution, Spelling, begins_with_server, parse_placed, parse_slash,
};
use helve_model::text::nearest;
use helve_model::{
    Definition as _, ErrorCode, Hint, NameTable, QualifiedName, RecordedBodies, ServerName, ServerSpec, ServerStatus,
    ToolDefinition, ToolView,
};
use helve_policy::pin::DefinitionHash;
use helve_policy::{RuleSet, ToolPolicy};
use helve_render::ToolText;
use helve_schema::LazyValidator;
use helve_wire::{Greeting, Listing};

use crate::call::PreparedCall;
use crate::common_parts::CommonParts;
use crate::error::CallError;
use crate::host_core::HostCore;
use crate::search::{IndexParts, ToolSearch};
use crate::server_handle::{ServerHandle, unavailable};
use crate::tool::Tool;
use crate::tool_facts::{ANY_OBJECT, ToolFacts};

/// Everything that can be called, at one moment. Never changes; the host publishes a new one instead.
pub struct Snapshot {
    generation: u64,
    servers: BTreeMap<ServerName, Arc<ServerEntry>>,
    names: OnceLock<NameTable>,
    search: OnceLock<ToolSearch>,
    host: std::sync::Weak<HostCore>,
}

/// A server's part of a snapshot.
pub struct ServerEntry {
    pub(crate) spec: Arc<ServerSpec>,
    pub(crate) catalog: Arc<ServerCatalog>,
    /// Sorted by name, without duplicates.
    pub(crate) tools: Vec<Arc<ToolEntry>>,
    /// The way to the server; `None` for native tools.
    pub(crate) handle: Option<Arc<ServerHandle>>,
    /// How native tools are doing; for a server its handle knows.
    pub(crate) native_status: ServerStatus,
}

/// What a server said it has.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerCatalog {
    pub(crate) tools: Vec<Listed>,
    pub(crate) instructions: Option<String>,
    /// What else the server said with the list.
    pub(crate) more: Option<RawJson>,
    /// From an earlier run: shown, and checked with the server before a call.
    pub(crate) from_cache: bool,
}

impl ServerCatalog {
    /// True when a list has nothing that is not here, and lacks nothing.
    pub(crate) fn is_listed_by(&self, listing: &Listing<ToolDefinition>) -> bool {
        let same = |(known, listed): (&Listed, &ToolDefinition)| known.definition().raw() == listed.raw();
        !self.from_cache
            && listing.incomplete.is_none()
            && self.more == listing.more
            && self.tools.len() == listing.items.len()
            && self.tools.iter().zip(&listing.items).all(same)
    }

    /// True for the same list of a server, every definition the same to the letter.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same = |(ours, theirs): (&Listed, &Listed)| match (ours, theirs) {
            (Listed::Remote(ours), Listed::Remote(theirs)) => ours.raw() == theirs.raw(),
            _ => false,
        };
        self.from_cache == other.from_cache
            && self.instructions == other.instructions
            && self.more == other.more
            && self.tools.len() == other.tools.len()
            && self.tools.iter().zip(&other.tools).all(same)
    }
}

/// One tool, by whoever runs it.
#[derive(Clone)]
pub(crate) enum Listed {
    Remote(ToolDefinition),
    Native(ToolDefinition, Arc<dyn Tool>),
}

/// One tool that can be called.
pub struct ToolEntry {
    name: QualifiedName,
    listed: Listed,
    pub(crate) handle: Option<Arc<ServerHandle>>,
    pub(crate) from_cache: bool,
    pub(crate) record: RecordedBodies,
    rules: RuleSet,
    pinned: Option<DefinitionHash>,
    /// Where other hosts of the same plan find what they have in common with this one.
    common: Arc<CommonParts>,
    /// Most of many tools are never used, and each agent's own host has all of them.
    facts: OnceLock<Arc<ToolFacts>>,
}

impl Snapshot {
    pub(crate) fn new(
        generation: u64,
        servers: BTreeMap<ServerName, Arc<ServerEntry>>,
        host: std::sync::Weak<HostCore>,
    ) -> Self {
        Self { generation, servers, names: OnceLock::new(), search: OnceLock::new(), host }
    }

    /// Its number; newer snapshots have larger ones.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The servers, sorted by name.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<ServerEntry>> {
        self.servers.values()
    }

    /// One server.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<&Arc<ServerEntry>> {
        self.servers.get(name)
    }

    /// Every tool that exists for an agent, sorted by server and name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.servers.values().flat_map(|server| server.tools())
    }

    /// The names of all these tools, in every spelling.
    pub fn names(&self) -> &NameTable {
        // One that changed since it was pinned has its name all the same: whoever calls it is told why it is refused.
        let named = || self.servers.values().flat_map(|server| &server.tools).filter(|tool| !tool.is_hidden());
        self.names.get_or_init(|| NameTable::new(named().map(|tool| tool.name.clone())))
    }

    /// What agents may call, ready to be searched. Made at the first search; of servers that are as they were nothing is read again.
    pub fn search(&self) -> &ToolSearch {
        self.search.get_or_init(|| {
            let host = self.host.upgrade();
            if let Some(host) = &host {
                host.index_parts.want();
                host.index_parts.keep_only(|server| self.servers.contains_key(server));
            }
            ToolSearch::new(self.servers(), host.as_ref().map_or(&IndexParts::default(), |host| &host.index_parts))
        })
    }

    /// True when nothing has to be read for a search.
    #[must_use]
    pub fn is_search_ready(&self) -> bool {
        self.search.get().is_some()
    }

    /// The same of other hosts' servers; what they have in common with this one is shared.
    #[must_use]
    pub fn search_of<'a>(&self, servers: impl IntoIterator<Item = &'a Arc<ServerEntry>>) -> ToolSearch {
        let host = self.host.upgrade();
        ToolSearch::new(servers, host.as_ref().map_or(&IndexParts::default(), |host| &host.index_parts))
    }

    /// The tool of this identity, hidden or not.
    #[must_use]
    pub fn find(&self, name: &QualifiedName) -> Option<&Arc<ToolEntry>> {
        self.servers.get(&name.server)?.find(name.tool.as_str())
    }

    /// The tool of this `server/tool`. Most names have nothing to unescape, and are looked up as they stand.
    fn find_written(&self, text: &str) -> Option<&Arc<ToolEntry>> {
        let border = text.bytes().position(|byte| matches!(byte, b'/' | b'%' | b':'));
        let local = match border.and_then(|border| text.split_at_checked(border)) {
            Some((server, rest)) if let Some(tool) = rest.strip_prefix('/') => {
                self.servers.get(server).and_then(|server| server.find(tool))
            }
            _ => parse_slash(text).and_then(|name| self.find(&name)),
        };
        // A local server comes first, should a place ever have its name.
        local.or_else(|| self.find(&parse_placed(text)?))
    }

    /// What a text in the spelling of `server/tool` names: a hub's where it says so and no local server has that name.
    fn named(&self, text: &str) -> Option<QualifiedName> {
        let local = parse_slash(text).or_else(|| parse_slash(&text.replacen(':', "/", 1)));
        let is_local = local.as_ref().is_some_and(|name| self.servers.contains_key(&name.server));
        let is_place = |name: &QualifiedName| self.servers.keys().any(|server| server.place() == name.server.place());
        if is_local { local } else { parse_placed(text).filter(is_place).or(local) }
    }

    /// The tool a text names, in any spelling.
    ///
    /// # Errors
    /// `TOOL_NOT_FOUND` or `SERVER_NOT_FOUND`, with what comes nearest.
    pub fn tool(&self, text: &str) -> Result<&Arc<ToolEntry>, CallError> {
        self.tool_among(text, &|_| true)
    }

    /// The same for somebody who sees only some of the tools: no other is suggested, or stands in the way of his.
    pub(crate) fn tool_among(
        &self,
        text: &str,
        sees: &dyn Fn(&QualifiedName) -> bool,
    ) -> Result<&Arc<ToolEntry>, CallError> {
        if let Some(found) = self.find_written(text) {
            return Ok(found);
        }
        match self.names().resolve(text) {
            Resolution::Found(name) => self.find(name).ok_or_else(|| self.unknown(text, &[])),
            Resolution::Ambiguous(several) => {
                let several: Vec<&QualifiedName> = several.into_iter().filter(|name| sees(name)).collect();
                match several.as_slice() {
                    [] => Err(self.unknown(text, &[])),
                    [only] => self.find(only).ok_or_else(|| self.unknown(text, &[])),
                    several => {
                        let several: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
                        Err(CallError::new(ErrorCode::ToolNotFound, format!("several servers have a tool `{text}`"))
                            .with_hint(format!("say which one: {}", several.join(", "))))
                    }
                }
            }
            Resolution::Unknown(near) => {
                let near: Vec<&QualifiedName> = near.into_iter().filter(|name| sees(name)).collect();
                Err(self.unknown(text, &near))
            }
        }
    }

    /// A call of the tool a text names, bound to this snapshot.
    ///
    /// # Errors
    /// As [`Snapshot::tool`]; `SERVER_UNAVAILABLE` when the host is gone.
    pub fn prepare(&self, text: &str) -> Result<PreparedCall, CallError> {
        self.tool(text).and_then(|tool| self.prepare_tool(Arc::clone(tool)))
    }

    pub(crate) fn host(&self) -> std::sync::Weak<HostCore> {
        self.host.clone()
    }

    pub(crate) fn prepare_tool(&self, tool: Arc<ToolEntry>) -> Result<PreparedCall, CallError> {
        let host =
            self.host.upgrade().ok_or_else(|| CallError::new(ErrorCode::ServerUnavailable, "the host has ended"))?;
        Ok(PreparedCall::new(host, tool))
    }

    fn unknown(&self, text: &str, near: &[&QualifiedName]) -> CallError {
        let named = self.named(text);
        let error = match &named {
            Some(name) if let Some(server) = self.servers.get(&name.server) => {
                if let Some(unavailable) = server.unavailable() {
                    return unavailable.at(name);
                }
                CallError::new(
                    ErrorCode::ToolNotFound,
                    format!("the server `{}` has no tool `{}`", name.server, name.tool),
                )
                .at(name)
            }
            Some(name) => {
                let error =
                    CallError::new(ErrorCode::ServerNotFound, format!("there is no server `{}`", name.server)).at(name);
                match self.nearest_server(name.server.as_str()) {
                    Some(server) if near.is_empty() => {
                        return error.with_hint(format!("did you mean the server `{server}`?"));
                    }
                    _ => error,
                }
            }
            None => {
                // In the spellings of models and code the server's name is only a beginning.
                let meant = self.servers().filter(|server| server.may_be_named_by(text));
                if let Some(unavailable) = meant.filter_map(|server| server.unavailable()).next() {
                    return unavailable;
                }
                match self.device(text) {
                    Some((device, _, None)) => {
                        CallError::new(ErrorCode::ServerNotFound, format!("there is no server `{device}`"))
                    }
                    Some((_, tool, Some(server))) => {
                        let message = format!("the server `{server}` has no tool `{tool}`");
                        CallError::new(ErrorCode::ToolNotFound, message).at_server(server)
                    }
                    None => CallError::new(ErrorCode::ToolNotFound, format!("there is no tool `{text}`")),
                }
            }
        };
        if near.is_empty() {
            return error.with_hint(Hint::ListTools);
        }
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        error.with_hint(format!("did you mean {}?", near.join(" or ")))
    }

    /// The parts of a text in the spelling that code has, and the server it can only be.
    fn device<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str, Option<&ServerName>)> {
        let (device, tool) = match text.strip_prefix(CODE_PREFIX) {
            Some(rest) => rest.split_once('.')?,
            None => {
                let rest = text.strip_prefix(PLACED_CODE_PREFIX)?;
                let behind_place = rest.find('.')? + 1;
                let border = behind_place + rest.get(behind_place..)?.find('.')?;
                (rest.get(..border)?, rest.get(border + 1..)?)
            }
        };
        let mut servers = self.servers().map(|server| server.name());
        Some((device, tool, servers.find(|server| Spelling::Code.render_server(server) == device)))
    }

    /// The server whose name is most like this one.
    fn nearest_server(&self, name: &str) -> Option<&ServerName> {
        let near = nearest(name, self.servers.keys().map(ServerName::as_str))?;
        self.servers.keys().find(|server| server.as_str() == near)
    }
}

impl ServerEntry {
    pub(crate) fn new(
        spec: Arc<ServerSpec>,
        catalog: Arc<ServerCatalog>,
        handle: Option<Arc<ServerHandle>>,
        rules: &RuleSet,
        pins: &HashMap<QualifiedName, DefinitionHash>,
        common: &Arc<CommonParts>,
    ) -> Self {
        let entry = |listed: &Listed| {
            let name = QualifiedName::new(spec.name.clone(), listed.definition().name().clone());
            let pinned = if pins.is_empty() { None } else { pins.get(&name).copied() };
            Arc::new(ToolEntry {
                name,
                listed: listed.clone(),
                handle: handle.clone(),
                from_cache: catalog.from_cache,
                record: spec.record,
                rules: rules.clone(),
                pinned,
                common: Arc::clone(common),
                facts: OnceLock::new(),
            })
        };
        let mut tools: Vec<Arc<ToolEntry>> = catalog.tools.iter().map(entry).collect();
        // Stable, so that of two tools with one name the first stays.
        tools.sort_by(|left, right| left.name.tool.cmp(&right.name.tool));
        tools.dedup_by(|second, first| second.name == first.name);
        Self { spec, catalog, tools, handle, native_status: ServerStatus::Connected }
    }

    /// Why it has no tools to speak of; `None` when it has.
    #[must_use]
    pub fn unavailable(&self) -> Option<CallError> {
        let status = self.handle.as_ref().map_or_else(|| self.native_status.clone(), |handle| handle.status());
        match (&self.handle, status) {
            (Some(handle), ServerStatus::Connected) => handle.unlisted(),
            (None, ServerStatus::Connected) => None,
            (Some(handle), status) => Some(handle.unavailable(&status)),
            (None, status) => Some(unavailable(self.name(), &status)),
        }
    }

    /// What the server said with the list of its tools besides them, as an object: `_meta`, and whatever is not known here.
    #[must_use]
    pub fn said_with_tools(&self) -> Option<&RawJson> {
        self.catalog.more.as_ref()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &ServerName {
        &self.spec.name
    }

    /// How it is configured.
    #[must_use]
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// What the server wants a model to know.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.catalog.instructions.as_deref()
    }

    /// True when the list is from an earlier run and the server has not been asked yet.
    #[must_use]
    pub fn is_from_cache(&self) -> bool {
        self.catalog.from_cache
    }

    /// Its tools that exist for an agent, sorted by name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.tools.iter().filter(|tool| tool.is_shown())
    }

    /// The same in the order in which the server lists them.
    pub fn tools_as_listed(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        let mut seen = vec![false; self.tools.len()];
        self.catalog.tools.iter().filter_map(move |listed| {
            let name = listed.definition().name();
            let position = self.tools.binary_search_by(|tool| tool.name.tool.cmp(name)).ok()?;
            // A name that is listed twice is one tool.
            let is_first = !std::mem::replace(seen.get_mut(position)?, true);
            self.tools.get(position).filter(|tool| is_first && tool.is_shown())
        })
    }

    /// How long its list of tools counts from now on; `None` where it does not say so.
    #[must_use]
    pub fn list_counts_for(&self) -> Option<Duration> {
        self.handle.as_ref().and_then(|handle| handle.listings().count_for())
    }

    /// What the server said about itself when it was connected last.
    #[must_use]
    pub fn greeting(&self) -> Option<Greeting> {
        self.handle.as_ref().and_then(|handle| handle.facts().greeting)
    }

    /// The same, or what it said in an earlier run as long as it has not been connected in this one.
    #[must_use]
    pub fn last_greeting(&self) -> Option<Greeting> {
        let facts = self.handle.as_ref()?.facts();
        facts.greeting.or(facts.remembered)
    }

    /// All its tools, hidden and changed ones too: for the person who asks why a tool is missing.
    pub fn all_tools(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.tools.iter()
    }

    /// True when a text in some spelling begins with this server's name.
    pub(crate) fn may_be_named_by(&self, text: &str) -> bool {
        begins_with_server(text, self.name())
    }

    fn find(&self, tool: &str) -> Option<&Arc<ToolEntry>> {
        let index = self.tools.binary_search_by(|entry| entry.name.tool.as_str().cmp(tool)).ok()?;
        self.tools.get(index)
    }
}

impl ToolEntry {
    /// Its identity.
    #[must_use]
    pub const fn name(&self) -> &QualifiedName {
        &self.name
    }

    /// True when it is known from an earlier run, and its server has not been asked yet.
    #[must_use]
    pub const fn is_from_cache(&self) -> bool {
        self.from_cache
    }

    /// The definition that the person accepted, where there is one.
    #[must_use]
    pub const fn pinned(&self) -> Option<DefinitionHash> {
        self.pinned
    }

    /// Its definition, as the server gave it.
    #[must_use]
    pub const fn definition(&self) -> &ToolDefinition {
        self.listed.definition()
    }

    /// What the definition says.
    #[must_use]
    pub fn view(&self) -> &ToolView {
        &self.facts().view
    }

    /// What may be done with it.
    #[must_use]
    pub fn policy(&self) -> &ToolPolicy {
        &self.facts().policy
    }

    /// True when a list leaves it out: it does not exist for an agent.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.rules.hides(&self.name)
    }

    /// True when it runs in this process.
    #[must_use]
    pub const fn is_native(&self) -> bool {
        matches!(self.listed, Listed::Native(..))
    }

    /// True when the definition is not the one the person accepted.
    #[must_use]
    pub fn is_unpinned(&self) -> bool {
        // Most are not pinned, and nothing has to be found out about them.
        self.pinned.is_some() && self.facts().unpinned
    }

    /// True when it exists for an agent: no list leaves it out, and it is as it was pinned. What changed since then may say
    /// anything in its description, which is what an agent would read first.
    fn is_shown(&self) -> bool {
        !self.is_hidden() && !self.is_unpinned()
    }

    /// True when the schema of its arguments has been read; its first call does that, nothing before it.
    #[must_use]
    pub fn is_schema_read(&self) -> bool {
        self.facts.get().is_some_and(|facts| facts.validator.is_read())
    }

    /// What a person should know about its schema. Compiles it if that has not happened.
    #[must_use]
    pub fn schema_notices(&self) -> Vec<String> {
        let validator = self.validator();
        let unchecked = validator.unvalidated().map(|reason| format!("its arguments are not checked: {reason}"));
        unchecked.into_iter().chain(validator.notices().iter().map(ToString::to_string)).collect()
    }

    /// The schema of its arguments.
    #[must_use]
    pub fn input_schema(&self) -> &str {
        self.view().input_schema.as_ref().map_or(ANY_OBJECT, RawJson::as_str)
    }

    /// As the schema crate wants it, under a name of the caller's choice.
    #[must_use]
    pub fn schema_entry<'a>(&'a self, name: &'a str) -> ToolText<'a> {
        let view = self.view();
        ToolText {
            name,
            title: view.title.as_deref().or(view.annotations.title.as_deref()),
            description: view.description.as_deref(),
            input_schema: self.input_schema(),
            output_schema: view.output_schema.as_ref().map(RawJson::as_str),
        }
    }

    pub(crate) fn validator(&self) -> &LazyValidator<RawJson> {
        &self.facts().validator
    }

    /// True when it can only be called as a task.
    pub(crate) fn requires_task(&self) -> bool {
        self.facts().requires_task
    }

    pub(crate) fn output_validator(&self) -> Option<&LazyValidator<RawJson>> {
        self.facts().output_validator.as_ref()
    }

    pub(crate) const fn native(&self) -> Option<&Arc<dyn Tool>> {
        match &self.listed {
            Listed::Native(_, tool) => Some(tool),
            Listed::Remote(_) => None,
        }
    }

    fn facts(&self) -> &ToolFacts {
        self.facts.get_or_init(|| self.common.facts(&self.name, self.definition(), &self.rules, self.pinned))
    }
}

impl Listed {
    pub(crate) const fn definition(&self) -> &ToolDefinition {
        match self {
            Self::Remote(definition) | Self::Native(definition, _) => definition,
        }
    }
}

impl fmt::Debug for Listed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.definition(), formatter)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Snapshot")
            .field("generation", &self.generation)
            .field("servers", &self.servers.keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerEntry")
            .field("name", self.name())
            .field("tools", &self.tools.len())
            .field("from_cache", &self.catalog.from_cache)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ToolEntry").field("name", &self.name).finish_non_exhaustive()
    }
}
