//! Owns how the words of one server's tools are kept: sorted terms in one text, and for each the tools that have it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::fields::{self, Field};
use super::words::{self, Stems, Writing};
use crate::tool_text::ToolText;

/// Words of one tool that are read; what comes after is not found.
const MAX_WORDS: usize = 8_000;

/// One server's part of an index.
#[derive(Debug, Default)]
pub struct ServerIndex {
    name: String,
    /// The server's name and each tool's, letters and digits alone.
    squeezed_server: String,
    squeezed_tools: Vec<Box<str>>,
    /// The first eight bytes of each term, as a number that sorts as they do: most comparisons look at nothing else.
    keys: Vec<u64>,
    /// All terms one after the other, sorted.
    terms: String,
    /// Where each term ends in `terms`, and its postings in `postings`.
    ends: Vec<(u32, u32)>,
    postings: Vec<Posting>,
    text_bytes: usize,
}

/// A tool that has a term, and how much the term counts in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) tool: u32,
    pub(super) weight: f32,
}

impl ServerIndex {
    /// Reads a server's tools. Their names are those that people and models are shown, or the server's own.
    pub fn new<'a>(server: &str, tools: impl IntoIterator<Item = ToolText<'a>>) -> Self {
        let mut builder = Builder { stems: Stems::new(), known: HashMap::new(), terms: BTreeMap::new(), text_bytes: 0 };
        let mut squeezed_tools = Vec::new();
        for (position, tool) in (0_u32..).zip(tools) {
            squeezed_tools.push(words::squeezed(tool.name).into_boxed_str());
            builder.add(server, position, &tool);
        }
        let mut index = Self {
            name: server.to_owned(),
            squeezed_server: words::squeezed(server),
            squeezed_tools,
            text_bytes: builder.text_bytes,
            ..Self::default()
        };
        for (term, postings) in builder.terms {
            index.keys.push(key(&term));
            index.terms.push_str(&term);
            index.postings.extend(postings);
            index.ends.push((index.terms.len() as u32, index.postings.len() as u32));
        }
        index.keys.shrink_to_fit();
        index.terms.shrink_to_fit();
        index.ends.shrink_to_fit();
        index.postings.shrink_to_fit();
        index
    }

    /// The server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many tools it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.squeezed_tools.len()
    }

    /// True when the server has no tools.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.squeezed_tools.is_empty()
    }

    /// Bytes of text that were read for it.
    #[must_use]
    pub const fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.name.len()
            + self.squeezed_server.len()
            + self.squeezed_tools.iter().map(|name| name.len() + size_of::<Box<str>>()).sum::<usize>()
            + self.keys.capacity() * size_of::<u64>()
            + self.terms.capacity()
            + self.ends.capacity() * size_of::<(u32, u32)>()
            + self.postings.capacity() * size_of::<Posting>()
    }

    /// Its terms, sorted.
    pub(super) fn terms(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|position| self.term(position))
    }

    /// The tools that have a term, if it stands at this position.
    pub(super) fn postings(&self, position: usize, term: &str) -> &[Posting] {
        if self.term(position) == term { self.postings_at(position) } else { &[] }
    }

    /// The postings of all terms that begin like this, term by term.
    pub(super) fn beginning_with(&self, start: &str) -> impl Iterator<Item = &[Posting]> {
        let first = key(start);
        let mut positions = self.keys.partition_point(|other| *other < first)..self.keys.len();
        let next = move |positions: &mut Range<usize>| positions.next().map(|position| (position, self.term(position)));
        std::iter::from_fn(move || next(&mut positions))
            // Of terms that begin with the same eight letters some may sort before it.
            .skip_while(move |(_, term)| *term < start)
            .take_while(move |(_, term)| term.starts_with(start))
            .map(|(position, _)| self.postings_at(position))
    }

    /// The tools whose name is this one, in whatever way it is written; `text` is squeezed.
    pub(super) fn named(&self, text: &str) -> impl Iterator<Item = usize> {
        // `github/create_issue`, and as code has it `GithubMCP.create_issue`.
        let qualified = text.strip_prefix(self.squeezed_server.as_str());
        let in_code = qualified.and_then(|rest| rest.strip_prefix("mcp"));
        let tools = self.squeezed_tools.iter().enumerate();
        tools
            .filter(move |(_, name)| {
                !name.is_empty() && (***name == *text || Some(&***name) == qualified || Some(&***name) == in_code)
            })
            .map(|(position, _)| position)
    }

    fn term(&self, position: usize) -> &str {
        let end = |position: usize| self.ends.get(position).map_or(0, |(end, _)| *end as usize);
        let start = if position == 0 { 0 } else { end(position - 1) };
        self.terms.get(start..end(position)).unwrap_or_default()
    }

    fn postings_at(&self, position: usize) -> &[Posting] {
        let end = |position: usize| self.ends.get(position).map_or(0, |(_, end)| *end as usize);
        let start = if position == 0 { 0 } else { end(position - 1) };
        self.postings.get(start..end(position)).unwrap_or_default()
    }
}

fn key(term: &str) -> u64 {
    let mut bytes = [0; 8];
    for (byte, letter) in bytes.iter_mut().zip(term.bytes()) {
        *byte = letter;
    }
    u64::from_be_bytes(bytes)
}

struct Builder {
    stems: Stems,
    /// Words that were met, and their terms; `None` for those that say nothing.
    known: HashMap<String, Option<String>>,
    terms: BTreeMap<String, Vec<Posting>>,
    text_bytes: usize,
}

impl Builder {
    fn add(&mut self, server: &str, tool: u32, text: &ToolText<'_>) {
        let mut counts: HashMap<(usize, String), f32> = HashMap::new();
        let mut lengths = [0_f32; Field::ALL.len()];
        let mut left = MAX_WORDS;
        let (stems, known, text_bytes) = (&self.stems, &mut self.known, &mut self.text_bytes);
        fields::each(server, text, &mut |field, text| {
            *text_bytes += text.len();
            let mut before: Option<String> = None;
            words::each(text, field.writing(), &mut |word| {
                if left == 0 {
                    return;
                }
                left -= 1;
                let term = match known.get(word) {
                    Some(term) => term.clone(),
                    None => {
                        let term = (!words::is_empty(word)).then(|| stems.of(word).into_owned());
                        known.insert(word.to_owned(), term.clone());
                        term
                    }
                };
                let Some(term) = term else { return };
                if let Some(length) = lengths.get_mut(field as usize) {
                    *length += 1.0;
                }
                // `file_system` is found by `filesystem`.
                if field.writing() == Writing::Name
                    && let Some(before) = before.replace(word.to_owned())
                {
                    let both = before + word;
                    *counts.entry((field as usize, stems.of(&both).into_owned())).or_default() += 1.0;
                }
                *counts.entry((field as usize, term)).or_default() += 1.0;
            });
        });
        let mut weights: HashMap<String, f32> = HashMap::new();
        // Sums of fractions depend on their order.
        let mut counts: Vec<((usize, String), f32)> = counts.into_iter().collect();
        counts.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        for ((field, term), count) in counts {
            let (Some(field), Some(length)) = (Field::ALL.get(field), lengths.get(field)) else { continue };
            let weight = field.weight();
            let length = 1.0 - weight.by_length + weight.by_length * length / weight.usual_words;
            *weights.entry(term).or_default() += weight.factor * count / length;
        }
        let mut weights: Vec<(String, f32)> = weights.into_iter().collect();
        weights.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        for (term, weight) in weights {
            self.terms.entry(term).or_default().push(Posting { tool, weight });
        }
    }
}
