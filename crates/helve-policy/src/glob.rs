//! Many globs matched at once against one text.
//!
//! `*` and `?` also match `/`; `[…]`, `{a,b}` and `\` work as in a shell. A glob besides matches itself letter by
//! letter, so that a tool called `get[x]` can be named. A glob that cannot be read restricts everything and allows
//! nothing: [`Globs::holds`].

use std::collections::HashMap;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use helve_model::name::Spelling;
use helve_model::{Action, QualifiedName};

/// The longest glob that is more than a beginning or an end, in bytes.
const MAX_GLOB: usize = 1_024;

/// Put behind every glob and every text: globset takes a text for a path and looks at its last component and
/// extension, with exceptions for `..`. No text that ends like this is an exception.
const END: char = '\u{1}';

/// Which glob of a [`Globs`], or which of several that count as one; the same texts have the same id.
pub(crate) type GlobId = usize;

/// Which text of a [`Globs`].
type TextId = usize;

/// Collects globs.
#[derive(Debug, Default)]
pub(crate) struct GlobsBuilder {
    texts: Vec<String>,
    text_ids: HashMap<String, TextId>,
    /// By text: the globs it is one of.
    owners: Vec<Vec<GlobId>>,
    ids: HashMap<Vec<TextId>, GlobId>,
}

/// Globs, ready to match.
#[derive(Debug, Default)]
pub(crate) struct Globs {
    count: usize,
    /// By text: the globs it is one of.
    owners: Vec<Vec<GlobId>>,
    literals: Texts,
    everything: Vec<TextId>,
    /// `text*`
    prefixes: Prefixes,
    /// `*text`
    suffixes: Texts,
    /// All others.
    sets: Vec<(GlobSet, Vec<TextId>)>,
    unreadable: Bits,
}

/// Texts that others are or end with: by length, so that one lookup per length finds them all.
#[derive(Debug, Default)]
struct Texts {
    lengths: Vec<usize>,
    ids: HashMap<String, TextId>,
}

/// Texts that others begin with, sorted: all that a text begins with lead back from the last that is not behind it.
#[derive(Debug, Default)]
struct Prefixes {
    /// How each of them begins, side by side: see [`head`].
    heads: Vec<u64>,
    all: Vec<Prefix>,
}

#[derive(Debug)]
struct Prefix {
    text: String,
    /// The bits of a head that are its own.
    mask: u64,
    id: TextId,
    /// The longest of the others that this one begins with.
    shorter: Option<usize>,
}

/// A glob that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadableGlob {
    pub(crate) id: GlobId,
    pub(crate) reason: String,
}

/// A set of small numbers. An empty one holds no memory: most texts match nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u64>);

/// True when the text means more than itself.
pub(crate) fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// The text of a rule that speaks of exactly this.
#[must_use]
pub fn rule_text(name: &QualifiedName) -> String {
    format!("{}/{}", escape(&Spelling::Slash.render_server(&name.server)), escape(name.tool.as_str()))
}

/// How a rule says that an argument has exactly this value, in [`helve_model::Rule::pattern`].
#[must_use]
pub fn argument_text(key: &str, value: &str) -> String {
    format!("{key}={}", escape(value))
}

/// A glob that matches exactly `text`.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

impl GlobsBuilder {
    pub(crate) fn add(&mut self, text: &str) -> GlobId {
        self.add_any(&[text])
    }

    /// A glob that matches what any of these matches.
    pub(crate) fn add_any(&mut self, texts: &[impl AsRef<str>]) -> GlobId {
        let texts: Vec<TextId> = texts.iter().map(|text| self.text(text.as_ref())).collect();
        if let Some(id) = self.ids.get(&texts) {
            return *id;
        }
        let id = self.ids.len();
        texts.iter().for_each(|text| self.owners[*text].push(id));
        self.ids.insert(texts, id);
        id
    }

    fn text(&mut self, text: &str) -> TextId {
        if let Some(id) = self.text_ids.get(text) {
            return *id;
        }
        let id = self.texts.len();
        self.texts.push(text.to_owned());
        self.owners.push(Vec::new());
        self.text_ids.insert(text.to_owned(), id);
        id
    }

    pub(crate) fn build(self) -> (Globs, Vec<UnreadableGlob>) {
        let mut globs = Globs { count: self.ids.len(), owners: self.owners, ..Globs::default() };
        let mut unreadable = Vec::new();
        let mut compiled = Vec::new();
        let mut prefixes = Vec::new();
        for (id, text) in self.texts.iter().enumerate() {
            // `**` is no more than `*` here, which matches `/` too.
            let beginning = text.trim_end_matches('*');
            if beginning.is_empty() && !text.is_empty() {
                globs.everything.push(id);
                continue;
            }
            // A text that only ends or begins with a star matches itself by that already.
            if beginning.len() < text.len() && !has_wildcard(beginning) {
                prefixes.push((beginning, id));
                continue;
            }
            if let Some(suffix) = text.strip_prefix('*').filter(|suffix| !has_wildcard(suffix)) {
                globs.suffixes.add(suffix, id);
                continue;
            }
            globs.literals.add(text, id);
            if has_wildcard(text) {
                match compile(text) {
                    Ok(glob) => compiled.push((id, glob)),
                    Err(reason) => unreadable.push((id, reason)),
                }
            }
        }
        globs.prefixes = Prefixes::new(prefixes);
        build_sets(&compiled, &mut globs.sets, &mut unreadable);
        let mut problems: Vec<UnreadableGlob> = Vec::new();
        for (text, reason) in unreadable {
            for id in &globs.owners[text] {
                if !globs.unreadable.contains(*id) {
                    globs.unreadable.insert(*id);
                    problems.push(UnreadableGlob { id: *id, reason: reason.clone() });
                }
            }
        }
        (globs, problems)
    }
}

impl Globs {
    /// Adds every glob that matches to `matched`.
    pub(crate) fn matches(&self, text: &str, matched: &mut Bits) {
        let mut add = |text: TextId| self.owners[text].iter().for_each(|id| matched.insert(*id));
        self.literals.find(&mut add, |length| (length == text.len()).then_some(text));
        for id in &self.everything {
            add(*id);
        }
        self.prefixes.find(&mut add, text);
        self.suffixes.find(&mut add, |length| text.get(text.len().checked_sub(length)?..));
        if self.sets.is_empty() {
            return;
        }
        let mut ended = String::with_capacity(text.len() + END.len_utf8());
        ended.push_str(text);
        ended.push(END);
        for (set, ids) in &self.sets {
            for index in set.matches(&ended) {
                add(ids[index]);
            }
        }
    }

    /// Whether a rule with this action applies, going by its glob alone.
    pub(crate) fn holds(&self, id: GlobId, matched: &Bits, action: Action) -> bool {
        if self.unreadable.contains(id) { action != Action::Allow } else { matched.contains(id) }
    }

    /// The globs that could not be read.
    pub(crate) const fn unreadable(&self) -> &Bits {
        &self.unreadable
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Texts {
    fn add(&mut self, text: &str, id: TextId) {
        if !self.lengths.contains(&text.len()) {
            self.lengths.push(text.len());
        }
        self.ids.insert(text.to_owned(), id);
    }

    /// Adds those that stand where `part` looks for a text of their length.
    fn find<'text>(&self, add: &mut impl FnMut(TextId), part: impl Fn(usize) -> Option<&'text str>) {
        for length in &self.lengths {
            if let Some(id) = part(*length).and_then(|part| self.ids.get(part)) {
                add(*id);
            }
        }
    }
}

impl Prefixes {
    fn new(mut texts: Vec<(&str, TextId)>) -> Self {
        texts.sort_unstable();
        let mut prefixes: Vec<Prefix> = Vec::with_capacity(texts.len());
        for (text, id) in texts {
            let mut shorter = prefixes.len().checked_sub(1);
            while let Some(index) = shorter
                && !text.starts_with(&prefixes[index].text)
            {
                shorter = prefixes[index].shorter;
            }
            let other_bits = 64_usize.saturating_sub(text.len() * 8) as u32;
            let mask = u64::MAX.checked_shl(other_bits).unwrap_or_default();
            prefixes.push(Prefix { text: text.to_owned(), mask, id, shorter });
        }
        Self { heads: prefixes.iter().map(|prefix| head(&prefix.text)).collect(), all: prefixes }
    }

    /// Adds all that `text` begins with. Whatever stands between one of them and `text` begins with it, too.
    fn find(&self, add: &mut impl FnMut(TextId), text: &str) {
        let wanted = head(text);
        let mut behind = self.heads.partition_point(|head| *head <= wanted);
        // Numbers alone decide unless some begin with the same eight bytes.
        if behind.checked_sub(1).and_then(|last| self.heads.get(last)) == Some(&wanted) {
            let first = self.heads.partition_point(|head| *head < wanted);
            behind = first + self.all[first..behind].partition_point(|prefix| prefix.text.as_str() <= text);
        }
        let mut next = behind.checked_sub(1);
        while let Some((head, prefix)) = next.and_then(|index| self.heads.get(index).zip(self.all.get(index))) {
            if wanted & prefix.mask == *head && text.starts_with(&prefix.text) {
                add(prefix.id);
            }
            next = prefix.shorter;
        }
    }
}

/// How a text begins, as a number that is in the same order: most texts differ here, and numbers are compared at once.
fn head(text: &str) -> u64 {
    let bytes = text.as_bytes();
    if let Some(head) = bytes.first_chunk() {
        return u64::from_be_bytes(*head);
    }
    let mut head = [0; size_of::<u64>()];
    head[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(head)
}

impl Bits {
    pub(crate) fn insert(&mut self, number: usize) {
        let word = number / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(crate) fn union(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (word, added) in self.0.iter_mut().zip(&other.0) {
            *word |= added;
        }
    }

    pub(crate) fn intersect(&mut self, other: &Self) {
        for (index, word) in self.0.iter_mut().enumerate() {
            *word &= other.0.get(index).copied().unwrap_or_default();
        }
    }
}

fn compile(text: &str) -> Result<Glob, String> {
    if text.len() > MAX_GLOB {
        return Err(format!("it is longer than {MAX_GLOB} bytes"));
    }
    let build = |text: &str| {
        GlobBuilder::new(text)
            .literal_separator(false)
            .backslash_escape(true)
            .build()
            .map_err(|error| error.kind().to_string())
    };
    // Without the end first: it would complete a backslash that stands last.
    build(text)?;
    build(&format!("{text}{END}"))
}

/// One set if it fits into globset's limit, else as many as needed.
fn build_sets(
    globs: &[(TextId, Glob)],
    sets: &mut Vec<(GlobSet, Vec<TextId>)>,
    unreadable: &mut Vec<(TextId, String)>,
) {
    if globs.is_empty() {
        return;
    }
    let mut builder = GlobSetBuilder::new();
    for (_, glob) in globs {
        builder.add(glob.clone());
    }
    match (builder.build(), globs) {
        (Ok(set), _) => sets.push((set, globs.iter().map(|(id, _)| *id).collect())),
        (Err(error), [(id, _)]) => unreadable.push((*id, error.kind().to_string())),
        (Err(_), _) => {
            let (first, second) = globs.split_at(globs.len() / 2);
            build_sets(first, sets, unreadable);
            build_sets(second, sets, unreadable);
        }
    }
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
