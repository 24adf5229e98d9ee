//! Owns what it means to look for a tool: which words of it count and how much, how queries are read, what comes first.
//!
//! BM25F: each tool is a document of several fields, in which a word counts by the field it stands in, once more by how rare
//! it is, and less with each repetition. [`ServerIndex`] is one server's part and depends on nothing else, so that a change
//! of one server costs the reading of one server and whoever sees the same server shares its part; [`SearchIndex`] puts the parts together.
//!
//! | file | the decision it owns |
//! |---|---|
//! | `words.rs` | what a word is: cut at underscores, humps and digits, without its ending |
//! | `synonyms.txt`, `synonyms.rs` | which words mean about the same in this field |
//! | `fields.rs` | what of a tool is read, and how much each part counts |
//! | `server_index.rs` | how the words of one server's tools are kept |
//! | `ranking.rs` | how a query is read, and which tools come first |

mod fields;
mod ranking;
mod server_index;
mod synonyms;
mod words;

use std::sync::Arc;

pub use server_index::ServerIndex;

/// The tools of several servers, ready to be searched.
#[derive(Debug, Clone, Default)]
pub struct SearchIndex {
    servers: Vec<Arc<ServerIndex>>,
    /// The number of tools before each server's first.
    starts: Vec<usize>,
    tools: usize,
    /// Where each term stands in each part, sorted: with a thousand servers, looking into each of them takes too long.
    terms: Vec<TermPlace>,
}

/// A term of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TermPlace {
    hash: u64,
    server: u32,
    position: u32,
}

/// What is looked for.
#[derive(Clone, Copy)]
pub struct SearchQuery<'a> {
    /// Words, as a person or a model writes them. Several give one list in which each tool stands once; none, or only empty
    /// ones, give every tool.
    pub texts: &'a [&'a str],
    /// Only the tools of this server.
    pub server: Option<&'a str>,
    /// Only tools for which this is true: whoever searches does not see the others, not even in a count.
    pub is_seen: Option<&'a dyn Fn(ToolPlace) -> bool>,
    /// How many tools are given at most.
    pub limit: usize,
}

/// Where a tool stands: the position of its server among those of the index, and its own among the server's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolPlace {
    /// The position of its server.
    pub server: usize,
    /// Its own position.
    pub tool: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchResult {
    /// How many tools have any of the words.
    pub found: usize,
    /// The best of them, the best first. Equals keep the order of the index, so one index answers one query always alike.
    pub tools: Vec<ToolPlace>,
    /// Words of the query, in lower case, that no tool has.
    pub unmatched: Vec<String>,
}

impl SearchIndex {
    /// The index over these servers' parts.
    pub fn new(servers: impl IntoIterator<Item = Arc<ServerIndex>>) -> Self {
        let servers: Vec<Arc<ServerIndex>> = servers.into_iter().collect();
        let mut tools = 0;
        let mut starts = Vec::with_capacity(servers.len());
        for server in &servers {
            starts.push(tools);
            tools += server.len();
        }
        let mut terms = Vec::with_capacity(servers.iter().map(|server| server.terms().len()).sum());
        for (number, server) in (0..).zip(&servers) {
            let places = (0..).zip(server.terms());
            terms.extend(places.map(|(position, term)| TermPlace { hash: hash(term), server: number, position }));
        }
        terms.sort_unstable();
        Self { servers, starts, tools, terms }
    }

    /// The tools that fit, the best first.
    #[must_use]
    pub fn search(&self, query: &SearchQuery<'_>) -> SearchResult {
        ranking::search(self, query)
    }

    /// How many tools there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.tools
    }

    /// True when there is no tool.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.tools == 0
    }

    /// Bytes that it holds, its parts included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let parts: usize = self.servers.iter().map(|server| server.bytes()).sum();
        parts + self.terms.capacity() * size_of::<TermPlace>() + self.starts.capacity() * size_of::<usize>()
    }

    /// The parts, in order.
    #[must_use]
    pub fn servers(&self) -> &[Arc<ServerIndex>] {
        &self.servers
    }
}

/// FNV-1a. It need not resist attack: terms are compared before they count.
fn hash(term: &str) -> u64 {
    term.bytes().fold(0xcbf2_9ce4_8422_2325, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl<'a> SearchQuery<'a> {
    /// Words, and nothing else said.
    #[must_use]
    pub const fn new(texts: &'a [&'a str], limit: usize) -> Self {
        Self { texts, server: None, is_seen: None, limit }
    }
}

impl std::fmt::Debug for SearchQuery<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { texts, server, is_seen: _, limit } = self;
        formatter
            .debug_struct("SearchQuery")
            .field("texts", texts)
            .field("server", server)
            .field("limit", limit)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
