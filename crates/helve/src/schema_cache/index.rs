//! The compact index: what a listing of thousands of tools shows, without opening a definition.

use std::time::SystemTime;

use helve_model::ToolDefinition;
use helve_policy::Claims;
use helve_wire::CacheHint;

use super::format::{self, Texts};

/// A description is folded to one line and cut to so many characters; so is a title.
const LINE_CHARACTERS: usize = 160;
/// Texts for each tool: name, title, line, claims.
const TEXTS: usize = 4;

/// The tools of one server, in its order: names and a line about each.
#[derive(Debug, Clone)]
pub struct CachedIndex {
    texts: Texts,
    /// How long the server said that its list may be kept, and for whom.
    pub hint: Option<CacheHint>,
    /// When it was kept.
    pub stored_at: SystemTime,
    /// Neither the setting's nor the server's own time is over.
    pub is_fresh: bool,
}

/// One tool of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedTool<'index> {
    /// The server's name for it, whole.
    pub name: &'index str,
    /// A name for people.
    pub title: Option<&'index str>,
    /// What it does, in one line. It may hold any character but line breaks: the server wrote it.
    pub summary: Option<&'index str>,
    /// What the server claims about it.
    pub claims: Claims,
}

impl CachedIndex {
    /// `None` when the texts are not index.
    pub(super) fn new(texts: Texts, hint: Option<CacheHint>, stored_at: SystemTime, is_fresh: bool) -> Option<Self> {
        let index = Self { texts, hint, stored_at, is_fresh };
        let is_whole = index.texts.len().is_multiple_of(TEXTS) && index.tools().count() == index.len();
        is_whole.then_some(index)
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len() / TEXTS
    }

    /// The server has no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tools. Nothing is copied.
    pub fn tools(&self) -> impl Iterator<Item = IndexedTool<'_>> {
        let mut texts = self.texts.iter();
        std::iter::from_fn(move || {
            Some(IndexedTool {
                name: texts.next()??,
                title: texts.next()?,
                summary: texts.next()?,
                claims: read_claims(texts.next()??)?,
            })
        })
    }
}

/// The section of the index.
pub(super) fn encode(tools: &[ToolDefinition]) -> Vec<u8> {
    let entries: Vec<_> = tools
        .iter()
        .map(|tool| {
            let view = tool.view();
            let title = view.title.as_deref().or(view.annotations.title.as_deref());
            let claims = write_claims(Claims::from(&view.annotations));
            (tool.name().as_str(), title.map(one_line), view.description.as_deref().map(one_line), claims)
        })
        .collect();
    format::encode_texts(entries.iter().flat_map(|(name, title, summary, claims)| {
        [Some(*name), title.as_deref(), summary.as_deref(), Some(claims.as_str())]
    }))
}

/// One letter for each claim, in the order of the fields.
fn write_claims(claims: Claims) -> String {
    let Claims { read_only, destructive, idempotent, open_world } = claims;
    let letter = |claim| match claim {
        Some(true) => 'y',
        Some(false) => 'n',
        None => '-',
    };
    [read_only, destructive, idempotent, open_world].into_iter().map(letter).collect()
}

fn read_claims(letters: &str) -> Option<Claims> {
    let claim = |letter| match letter {
        b'y' => Some(Some(true)),
        b'n' => Some(Some(false)),
        b'-' => Some(None),
        _ => None,
    };
    let [read_only, destructive, idempotent, open_world] = *letters.as_bytes().as_array()?;
    Some(Claims {
        read_only: claim(read_only)?,
        destructive: claim(destructive)?,
        idempotent: claim(idempotent)?,
        open_world: claim(open_world)?,
    })
}

fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        for character in word.chars() {
            if length >= LINE_CHARACTERS {
                line.push('…');
                return line;
            }
            line.push(character);
            length += 1;
        }
    }
    line
}
