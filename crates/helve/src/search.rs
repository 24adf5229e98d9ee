//! Which tools fit some words, and what a system prompt says of all of them: what agents may call, and nothing else.
//!
//! The index of a snapshot is made at its first search, and from then on, or where a host was told that there will be searches,
//! in a thread of its own as soon as there is a new snapshot. Each server's part is kept by what the server lists, so that a
//! new snapshot reads again only what changed, and hosts that show the same tools share one part.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use helve_model::name::Spelling;
use helve_model::sync::lock;
use helve_model::text::folded;
use helve_model::{Definition as _, QualifiedName, ServerName};
use helve_render::{SearchIndex, SearchQuery, ServerIndex, ServerText, code_signature, first_line, system_prompt};

use crate::catalog::{ServerEntry, Snapshot, ToolEntry};
use crate::host_core::HostCore;

/// Parts kept of one server: hosts may see different tools of it.
const PARTS_OF_A_SERVER: usize = 4;

/// How many tools a search gives unless it says otherwise.
const FOUND: usize = 10;
/// Tokens of a signature in what is found, and characters of the line about it.
const SIGNATURE_TOKENS: usize = 120;
const LINE_CHARACTERS: usize = 200;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolQuery<'a> {
    /// Words of what the tool should do; several texts give one list in which each tool stands once. Without any word every
    /// tool is given.
    pub texts: Vec<&'a str>,
    /// Only tools of this server.
    pub server: Option<&'a str>,
    /// How many to give at most.
    pub limit: usize,
}

/// Tools that were found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FoundTools {
    /// How many tools have any of the words.
    pub found: usize,
    /// The best of them, the best first.
    pub tools: Vec<FoundTool>,
    /// Words that no tool has.
    pub unmatched: Vec<String>,
}

/// One of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundTool {
    /// What programs and every door call it by: `device.GithubMCP.create_issue`.
    pub name: String,
    /// The same with its parameters, as Python has them.
    pub signature: String,
    /// The first line of its description.
    pub description: String,
    /// The tool itself.
    pub tool: Arc<ToolEntry>,
}

/// The tools of some servers, ready to be searched.
#[derive(Debug)]
pub struct ToolSearch {
    index: SearchIndex,
    /// In the order of the index.
    servers: Vec<Vec<Arc<ToolEntry>>>,
}

/// Parts of one server, each by the fingerprint of what it lists.
type KeptParts = Vec<(u64, Arc<ServerIndex>)>;

/// The tools that a search gives, before they are put into words.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Matches {
    /// How many tools have any of the words.
    pub found: usize,
    /// The best of them, the best first.
    pub tools: Vec<Arc<ToolEntry>>,
    /// Words that no tool has.
    pub unmatched: Vec<String>,
}

/// Servers' parts of indexes, by what the servers list.
#[derive(Debug, Default)]
pub(crate) struct IndexParts {
    /// The newest first.
    parts: Mutex<HashMap<ServerName, KeptParts>>,
    /// Somebody searches.
    are_wanted: AtomicBool,
}

impl<'a> ToolQuery<'a> {
    /// Words, and nothing else said.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { texts: vec![text], server: None, limit: FOUND }
    }

    /// The same with something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl ToolSearch {
    /// An index of what agents may call of these servers.
    pub(crate) fn new<'a>(servers: impl IntoIterator<Item = &'a Arc<ServerEntry>>, parts: &IndexParts) -> Self {
        let servers: Vec<(&ServerEntry, Vec<Arc<ToolEntry>>)> =
            servers.into_iter().map(|server| (&**server, offered(server))).collect();
        let index = SearchIndex::new(servers.iter().map(|(server, tools)| parts.part(server.name(), tools)));
        Self { index, servers: servers.into_iter().map(|(_, tools)| tools).collect() }
    }

    /// The tools that fit, of those that whoever searches sees.
    #[must_use]
    pub fn search(&self, query: &ToolQuery<'_>, sees: &dyn Fn(&QualifiedName) -> bool) -> Matches {
        let tool = |server: usize, tool: usize| self.servers.get(server).and_then(|tools| tools.get(tool));
        let is_seen =
            |place: helve_render::ToolPlace| tool(place.server, place.tool).is_some_and(|tool| sees(tool.name()));
        let asked = SearchQuery {
            server: query.server,
            is_seen: Some(&is_seen),
            ..SearchQuery::new(&query.texts, query.limit)
        };
        let result = self.index.search(&asked);
        let tools = result.tools.iter().filter_map(|place| tool(place.server, place.tool)).map(Arc::clone);
        Matches { found: result.found, tools: tools.collect(), unmatched: result.unmatched }
    }

    /// The servers' parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Arc<ServerIndex>] {
        self.index.servers()
    }
}

impl IndexParts {
    /// The part of a server that lists these tools.
    fn part(&self, server: &ServerName, tools: &[Arc<ToolEntry>]) -> Arc<ServerIndex> {
        let mut hasher = DefaultHasher::new();
        tools.iter().for_each(|tool| tool.definition().raw().as_str().hash(&mut hasher));
        let fingerprint = hasher.finish();
        let find = |parts: &mut Vec<(u64, Arc<ServerIndex>)>| {
            let position = parts.iter().position(|(known, _)| *known == fingerprint)?;
            let part = parts.remove(position);
            parts.insert(0, part.clone());
            Some(part.1)
        };
        if let Some(known) = lock(&self.parts).get_mut(server).and_then(find) {
            return known;
        }
        // Reading a large server takes a while; others need not wait for it.
        let texts = tools.iter().map(|tool| tool.schema_entry(tool.name().tool.as_str()));
        let part = Arc::new(ServerIndex::new(server.as_str(), texts));
        let mut parts = lock(&self.parts);
        let kept = parts.entry(server.clone()).or_default();
        if let Some(meanwhile) = find(kept) {
            return meanwhile;
        }
        kept.insert(0, (fingerprint, Arc::clone(&part)));
        kept.truncate(PARTS_OF_A_SERVER);
        part
    }

    /// From now on what changes is read before it is searched. True when nobody had said so.
    pub(crate) fn want(&self) -> bool {
        !self.are_wanted.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn are_wanted(&self) -> bool {
        self.are_wanted.load(Ordering::Relaxed)
    }

    /// Lets go of servers that are no more.
    pub(crate) fn keep_only(&self, is_there: impl Fn(&ServerName) -> bool) {
        lock(&self.parts).retain(|server, _| is_there(server));
    }
}

/// Reads what changed in a thread of its own, unless there is a newer snapshot by then.
pub(crate) fn read_aside(snapshot: Arc<Snapshot>) {
    // Where there is no runtime the next search reads it.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    drop(runtime.spawn_blocking(move || {
        let is_newest = |host: Arc<HostCore>| host.snapshot().generation() == snapshot.generation();
        if snapshot.host().upgrade().is_some_and(is_newest) {
            snapshot.search();
        }
    }));
}

/// What agents may call of a server: no rule forbids it to everybody, whatever the arguments.
pub(crate) fn offered(server: &ServerEntry) -> Vec<Arc<ToolEntry>> {
    server.tools().filter(|tool| !tool.policy().denies_everybody()).map(Arc::clone).collect()
}

/// What was found, in words.
pub(crate) fn described(snapshot: &Snapshot, matches: Matches) -> FoundTools {
    let tools = matches.tools.into_iter().map(|tool| {
        let name = code_name(snapshot, tool.name());
        let text = tool.schema_entry(tool.name().tool.as_str());
        let signature = code_signature(&name, &text, SIGNATURE_TOKENS);
        let description = folded(first_line(text.description.or(text.title).unwrap_or_default()), LINE_CHARACTERS);
        FoundTool { name, signature, description, tool }
    });
    FoundTools { found: matches.found, tools: tools.collect(), unmatched: matches.unmatched }
}

/// What a system prompt says of the tools that somebody sees.
pub(crate) fn prompt(snapshot: &Snapshot, budget: Option<usize>, sees: &dyn Fn(&QualifiedName) -> bool) -> String {
    type Shown<'a> = (&'a Arc<ServerEntry>, Option<String>, Vec<Arc<ToolEntry>>);
    let servers: Vec<Shown<'_>> = snapshot
        .servers()
        .map(|server| {
            let about = server.last_greeting().and_then(|greeting| greeting.about());
            (server, about, offered(server).into_iter().filter(|tool| sees(tool.name())).collect())
        })
        .collect();
    let texts: Vec<ServerText<'_>> = servers
        .iter()
        .map(|(server, about, tools)| ServerText {
            device: Spelling::Code.render_server(server.name()),
            about: about.as_deref(),
            instructions: server.instructions(),
            tools: tools
                .iter()
                .map(|tool| (code_name(snapshot, tool.name()), tool.schema_entry(tool.name().tool.as_str())))
                .collect(),
        })
        .collect();
    system_prompt(&texts, budget)
}

fn code_name(snapshot: &Snapshot, name: &QualifiedName) -> String {
    snapshot.names().spell(name, Spelling::Code).unwrap_or_else(|| Spelling::Code.render(name))
}
