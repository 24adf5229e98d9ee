//! Owns how a query is read and which tools come first: exact names, then BM25F over its words and what they stand for.

use std::cell::Cell;
use std::cmp::Ordering;

use super::server_index::{Posting, ServerIndex};
use super::synonyms::{LONGEST_KEY, SYNONYMS};
use super::words::{self, Stems, Writing};
use super::{SearchIndex, SearchQuery, SearchResult, ToolPlace};

/// Texts of one query, characters of each, and words of each that are looked for.
const MAX_TEXTS: usize = 16;
const MAX_CHARACTERS: usize = 2_000;
const MAX_WORDS: usize = 32;

/// What repetition adds: the larger, the longer a word goes on counting more.
const SATURATION: f32 = 5.0;
/// What a synonym counts of the word itself.
const SYNONYM: f32 = 0.5;
/// What a word counts that people put around what they want.
const WEAK: f32 = 0.5;
/// What the beginning of a word counts, where no tool has the word; and how long it has to be.
const BEGINNING: f32 = 0.5;
const SHORTEST_BEGINNING: usize = 3;
/// How many words before its particle a verb may stand: `put all of my work aside`.
const FARTHEST_VERB: usize = 6;
/// What two words count together where they are written as one.
const JOINED: f32 = 0.7;

pub(super) fn search(index: &SearchIndex, query: &SearchQuery<'_>) -> SearchResult {
    let texts = query.texts.iter().take(MAX_TEXTS).map(|text| start_of(text)).filter(|text| !text.trim().is_empty());
    let view = View::new(index, query);
    let mut result = SearchResult::default();
    let mut lists: Vec<Vec<usize>> = Vec::new();
    let mut is_found = vec![false; index.tools];
    let stems = Stems::new();
    for text in texts {
        let concepts = concepts(&stems, text);
        // A query of signs alone looks for nothing.
        if concepts.is_empty() && words::squeezed(text).is_empty() {
            continue;
        }
        let ranked = view.rank(text, &concepts, &mut is_found, &mut result.unmatched);
        lists.push(ranked);
    }
    if lists.is_empty() {
        let seen = (0..index.tools).filter(|tool| view.sees(*tool));
        let seen: Vec<usize> = seen.collect();
        result.found = seen.len();
        result.tools = seen.into_iter().take(query.limit).map(|tool| view.place(tool)).collect();
        return result;
    }
    result.found = is_found.iter().filter(|is_found| **is_found).count();
    result.tools = merged(lists).into_iter().take(query.limit).map(|tool| view.place(tool)).collect();
    result
}

/// The best of each list first, then the second of each, each tool once.
fn merged(mut lists: Vec<Vec<usize>>) -> Vec<usize> {
    if let [_] = lists.as_slice() {
        return lists.pop().unwrap_or_default();
    }
    let mut merged = Vec::new();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    for rank in 0..longest {
        for tool in lists.iter().filter_map(|list| list.get(rank)) {
            if !merged.contains(tool) {
                merged.push(*tool);
            }
        }
    }
    merged
}

/// What one word of a query stands for.
struct Concept {
    /// As it was written; `None` for what a phrase stands for.
    written: Option<String>,
    /// Terms, and how much each counts.
    terms: Vec<(String, f32)>,
    weight: f32,
}

fn concepts(stems: &Stems, text: &str) -> Vec<Concept> {
    let mut written: Vec<String> = Vec::new();
    words::each(text, Writing::Prose, &mut |word| {
        if written.len() < MAX_WORDS {
            written.push(word.to_owned());
        }
    });
    let stemmed: Vec<String> = written.iter().map(|word| stems.of(word).into_owned()).collect();
    let synonyms = &*SYNONYMS;
    let mut concepts: Vec<Concept> = Vec::new();
    let expanded = |key: &str| synonyms.of(key).iter().map(|(term, share)| (term.clone(), share * SYNONYM));
    let says_something = |word: &&String| !words::is_empty(word);
    let only_empty = !written.iter().any(|word| says_something(&word));
    for (word, stem) in written.iter().zip(&stemmed) {
        if (words::is_empty(word) && !only_empty) || concepts.iter().any(|known| known.is_about(stem)) {
            continue;
        }
        let mut terms = vec![(stem.clone(), 1.0)];
        terms.extend(expanded(stem));
        let weight = if synonyms.is_weak(stem) { WEAK } else { 1.0 };
        concepts.push(Concept { written: Some(word.clone()), terms, weight });
    }
    for length in 2..=LONGEST_KEY {
        for phrase in stemmed.windows(length) {
            let terms: Vec<(String, f32)> = expanded(&phrase.join(" ")).collect();
            if !terms.is_empty() {
                concepts.push(Concept { written: None, terms, weight: 1.0 });
            }
        }
    }
    // `turn the lights off` is `turn off`; where they stand together, that was found above.
    for (place, (word, particle)) in written.iter().zip(&stemmed).enumerate() {
        if !words::is_particle(word) {
            continue;
        }
        let verbs = stemmed.get(place.saturating_sub(FARTHEST_VERB)..place.saturating_sub(1)).unwrap_or_default();
        let mut phrases = verbs.iter().rev().map(|verb| expanded(&format!("{verb} {particle}")).collect::<Vec<_>>());
        if let Some(terms) = phrases.find(|terms| !terms.is_empty()) {
            concepts.push(Concept { written: None, terms, weight: 1.0 });
        }
    }
    // `web page` finds `webpage`.
    for pair in written.windows(2).filter(|pair| pair.iter().all(|word| !words::is_empty(word))) {
        let both = stems.of(&pair.concat()).into_owned();
        concepts.push(Concept { written: None, terms: vec![(both, 1.0)], weight: JOINED });
    }
    concepts
}

impl Concept {
    fn is_about(&self, stem: &str) -> bool {
        self.written.is_some() && self.terms.first().is_some_and(|(term, _)| term == stem)
    }
}

/// An index as one query sees it.
struct View<'a> {
    index: &'a SearchIndex,
    query: &'a SearchQuery<'a>,
    /// Which servers are searched.
    is_searched: Vec<bool>,
    /// Whether each tool is seen, once that was asked: a tool has many words.
    seen: Vec<Cell<Option<bool>>>,
}

impl<'a> View<'a> {
    fn new(index: &'a SearchIndex, query: &'a SearchQuery<'a>) -> Self {
        let is_searched = |server: &str| query.server.is_none_or(|only| only == server);
        Self {
            index,
            query,
            is_searched: index.servers.iter().map(|server| is_searched(server.name())).collect(),
            seen: if query.is_seen.is_some() { vec![Cell::new(None); index.tools] } else { Vec::new() },
        }
    }

    /// The tools that fit one text, the best first, as many as are wanted. Notes each that fits, and words that none has.
    fn rank(&self, text: &str, concepts: &[Concept], is_found: &mut [bool], unmatched: &mut Vec<String>) -> Vec<usize> {
        let mut scores = vec![0.0_f32; self.index.tools];
        let mut best = vec![0.0_f32; self.index.tools];
        let mut touched: Vec<usize> = Vec::new();
        let mut found: Vec<usize> = Vec::new();
        for concept in concepts {
            for (term, share) in &concept.terms {
                let lists = self.postings(term);
                self.count(&lists, share * rarity(&lists, self.index.tools), &mut best, &mut touched);
            }
            if let (true, Some(word), Some((term, _))) = (touched.is_empty(), &concept.written, concept.terms.first()) {
                if term.chars().count() >= SHORTEST_BEGINNING {
                    let lists = self.beginning_with(term);
                    self.count(&lists, BEGINNING * rarity(&lists, self.index.tools), &mut best, &mut touched);
                }
                if touched.is_empty() && !unmatched.contains(word) {
                    unmatched.push(word.clone());
                }
            }
            // Of what a word stands for, the best counts, not the sum.
            for tool in touched.drain(..) {
                if let (Some(score), Some(best)) = (scores.get_mut(tool), best.get_mut(tool)) {
                    if *score == 0.0 {
                        found.push(tool);
                    }
                    *score += concept.weight * std::mem::take(best);
                }
            }
        }
        // The name itself is always first.
        for tool in self.named(text) {
            if let Some(score) = scores.get_mut(tool) {
                if *score == 0.0 {
                    found.push(tool);
                }
                *score += EXACT;
            }
        }
        for tool in &found {
            if let Some(is_found) = is_found.get_mut(*tool) {
                *is_found = true;
            }
        }
        let order = |left: &usize, right: &usize| {
            let score = |tool: &usize| scores.get(*tool).copied().unwrap_or(0.0);
            score(right).partial_cmp(&score(left)).unwrap_or(Ordering::Equal).then(left.cmp(right))
        };
        if found.len() > self.query.limit && self.query.limit > 0 {
            found.select_nth_unstable_by(self.query.limit - 1, order);
            found.truncate(self.query.limit);
        }
        found.sort_unstable_by(order);
        found
    }

    /// The postings of a term in all servers that are searched, each with the number of its first tool.
    fn postings(&self, term: &str) -> Vec<(usize, &[Posting])> {
        let hash = super::hash(term);
        let terms = &self.index.terms;
        let from = terms.partition_point(|place| place.hash < hash);
        let places = terms.get(from..).unwrap_or_default().iter().take_while(|place| place.hash == hash);
        let all = places.filter_map(|place| {
            let server = place.server as usize;
            let is_searched = self.is_searched.get(server).copied().unwrap_or(false);
            let part = self.index.servers.get(server).filter(|_| is_searched)?;
            Some((*self.index.starts.get(server)?, part.postings(place.position as usize, term)))
        });
        all.filter(|(_, postings)| !postings.is_empty()).collect()
    }

    fn beginning_with(&self, start: &str) -> Vec<(usize, &[Posting])> {
        let mut all = Vec::new();
        for (first, server) in self.servers() {
            all.extend(server.beginning_with(start).map(|postings| (first, postings)));
        }
        all
    }

    /// Notes what a term counts in each tool that is seen, where that is more than what is noted.
    fn count(&self, lists: &[(usize, &[Posting])], factor: f32, best: &mut [f32], touched: &mut Vec<usize>) {
        for (start, postings) in lists {
            for Posting { tool, weight } in *postings {
                let tool = start + *tool as usize;
                if self.query.is_seen.is_some() && !self.sees(tool) {
                    continue;
                }
                if let Some(best) = best.get_mut(tool) {
                    if *best == 0.0 {
                        touched.push(tool);
                    }
                    *best = best.max(factor * weight / (weight + SATURATION));
                }
            }
        }
    }

    fn named(&self, text: &str) -> Vec<usize> {
        let squeezed = words::squeezed(text);
        // What models and code put in front of a name.
        let shorter = ["mcp", "device"].into_iter().filter_map(|prefix| squeezed.strip_prefix(prefix));
        let texts: Vec<&str> = std::iter::once(squeezed.as_str()).chain(shorter).collect();
        let mut named: Vec<usize> = Vec::new();
        for (start, server) in self.servers() {
            for text in &texts {
                named.extend(server.named(text).map(|tool| start + tool).filter(|tool| self.sees(*tool)));
            }
        }
        named.sort_unstable();
        named.dedup();
        named
    }

    fn servers(&self) -> impl Iterator<Item = (usize, &ServerIndex)> {
        let servers = self.index.starts.iter().copied().zip(self.index.servers.iter().map(|server| &**server));
        servers.zip(&self.is_searched).filter(|(_, is_searched)| **is_searched).map(|(server, _)| server)
    }

    fn sees(&self, tool: usize) -> bool {
        let look = || {
            let place = self.place(tool);
            self.is_searched.get(place.server).copied().unwrap_or(false)
                && self.query.is_seen.is_none_or(|is_seen| is_seen(place))
        };
        let Some(seen) = self.seen.get(tool) else { return look() };
        let is_seen = seen.get().unwrap_or_else(look);
        seen.set(Some(is_seen));
        is_seen
    }

    fn place(&self, tool: usize) -> ToolPlace {
        let server = self.index.starts.partition_point(|start| *start <= tool).saturating_sub(1);
        ToolPlace { server, tool: tool - self.index.starts.get(server).copied().unwrap_or(0) }
    }
}

/// More than words can bring together.
const EXACT: f32 = 1_000.0;

/// How much a term says: more, the fewer tools have it.
fn rarity(lists: &[(usize, &[Posting])], tools: usize) -> f32 {
    let having = lists.iter().map(|(_, postings)| postings.len()).sum::<usize>().min(tools) as f32;
    (1.0 + (tools as f32 - having + 0.5) / (having + 0.5)).ln()
}

fn start_of(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_CHARACTERS)).unwrap_or(text)
}
