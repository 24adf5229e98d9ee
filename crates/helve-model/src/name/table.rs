//! The names of one catalog: every spelling made unique, and turned back into the identity.
//!
//! `Slash` and `Colon` are injective by construction. For `Provider` and `Code` two identities can come out alike, or
//! too long; then a hash of the identity is put at the end. Which names get one depends only on the set of
//! identities, never on the order in which servers connected. Local tools come first: whatever a hub has changes none of
//! their names.

use std::collections::{HashMap, HashSet};

use super::spelling::{PROVIDER_PREFIX, function_name, is_code_spelling};
use super::{QualifiedName, Spelling, parse_placed, parse_slash, spelling};

/// The longest name every model provider accepts.
pub const MAX_PROVIDER_NAME: usize = 64;

/// Characters of hash put behind a cut or clashing name: 50 bits in base 32.
const HASH_CHARACTERS: usize = 10;

/// How many near matches an unknown name is answered with.
const NEAR_MATCHES: usize = 3;

/// All spellings of all tools of a catalog, in both directions.
#[derive(Debug, Default)]
pub struct NameTable {
    /// Sorted, without duplicates.
    identities: Vec<QualifiedName>,
    provider: Vec<String>,
    code: Vec<String>,
    /// `Provider` and `Code` spellings together: they cannot be mistaken for each other.
    by_spelling: HashMap<String, usize>,
    by_tool: HashMap<String, Vec<usize>>,
}

/// What a text names within a catalog.
#[derive(Debug, PartialEq, Eq)]
pub enum Resolution<'table> {
    /// Exactly this tool.
    Found(&'table QualifiedName),
    /// A bare tool name that several servers have, or a spelling that several tools would have.
    Ambiguous(Vec<&'table QualifiedName>),
    /// Nothing; these come nearest.
    Unknown(Vec<&'table QualifiedName>),
}

impl NameTable {
    /// The table of these identities. The order in which they come does not matter.
    #[must_use]
    pub fn new(identities: impl IntoIterator<Item = QualifiedName>) -> Self {
        let mut identities: Vec<_> = identities.into_iter().collect();
        identities.sort_unstable();
        identities.dedup();

        let provider = unique_names(&identities, |name| Spelling::Provider.render(name), is_plain, MAX_PROVIDER_NAME);
        let code = unique_names(&identities, |name| Spelling::Code.render(name), |_| true, usize::MAX);
        let by_spelling = provider.iter().chain(&code).cloned().zip((0..identities.len()).cycle()).collect();
        let mut by_tool: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, identity) in identities.iter().enumerate() {
            by_tool.entry(identity.tool.as_str().to_owned()).or_default().push(index);
        }
        Self { identities, provider, code, by_spelling, by_tool }
    }

    /// The identities, sorted.
    #[must_use]
    pub fn identities(&self) -> &[QualifiedName] {
        &self.identities
    }

    /// How this catalog spells a tool; `None` when the tool is not in it.
    #[must_use]
    pub fn spell(&self, name: &QualifiedName, spelling: Spelling) -> Option<String> {
        let index = self.identities.binary_search(name).ok()?;
        match spelling {
            Spelling::Slash | Spelling::Colon => Some(spelling.render(name)),
            Spelling::Provider => self.provider.get(index).cloned(),
            Spelling::Code => self.code.get(index).cloned(),
        }
    }

    /// The tool a text names, in any spelling, or by its bare name where only one server has it. A bare name means a hub's
    /// tool only where no local server has one.
    #[must_use]
    pub fn resolve(&self, text: &str) -> Resolution<'_> {
        if let Some(found) = self.resolve_spelled(text) {
            return Resolution::Found(found);
        }
        match self.named_barely(text).as_slice() {
            [only] => Resolution::Found(only),
            [_, _, ..] => Resolution::Ambiguous(self.named_barely(text)),
            [] => {
                let spelled = self.plainly_spelled(text);
                match spelled.as_slice() {
                    [] => Resolution::Unknown(self.nearest(text)),
                    [only] => Resolution::Found(only),
                    _ => Resolution::Ambiguous(spelled),
                }
            }
        }
    }

    /// The tools of this name: local ones, or those of hubs where there is none.
    fn named_barely(&self, tool: &str) -> Vec<&QualifiedName> {
        let all = self.by_tool.get(tool).map_or(&[][..], Vec::as_slice);
        let all = || all.iter().filter_map(|index| self.identities.get(*index));
        let local: Vec<&QualifiedName> = all().filter(|name| name.server.place().is_none()).collect();
        if local.is_empty() { all().collect() } else { local }
    }

    fn resolve_spelled(&self, text: &str) -> Option<&QualifiedName> {
        if let Some(index) = self.by_spelling.get(text) {
            return self.identities.get(*index);
        }
        let found = |name: QualifiedName| self.identities.binary_search(&name).ok();
        let local = parse_slash(text).or_else(|| parse_colon(text)).and_then(found);
        self.identities.get(local.or_else(|| parse_placed(text).and_then(found))?)
    }

    /// The tools that would be spelled like this, were there no others, and those whose function has this name.
    fn plainly_spelled(&self, text: &str) -> Vec<&QualifiedName> {
        let is_spelled = |name: &&QualifiedName| {
            if is_code_spelling(text) {
                Spelling::Code.render(name) == text
            } else {
                function_name(name) == text || Spelling::Provider.render(name) == text
            }
        };
        let is_possible = is_code_spelling(text) || text.starts_with(PROVIDER_PREFIX);
        self.identities.iter().filter(|_| is_possible).filter(is_spelled).collect()
    }

    fn nearest(&self, text: &str) -> Vec<&QualifiedName> {
        let wanted = text.to_lowercase();
        let mut scored: Vec<(usize, &QualifiedName)> = self
            .identities
            .iter()
            .filter_map(|name| {
                let spelling = if is_code_spelling(text) { Spelling::Code } else { Spelling::Slash };
                let whole = spelling.render(name).to_lowercase();
                let tool = name.tool.as_str().to_lowercase();
                let distance = strsim::levenshtein(&wanted, &whole).min(strsim::levenshtein(&wanted, &tool));
                (distance <= wanted.chars().count() / 3 + 1).then_some((distance, name))
            })
            .collect();
        scored.sort();
        scored.into_iter().take(NEAR_MATCHES).map(|(_, name)| name).collect()
    }
}

fn parse_colon(text: &str) -> Option<QualifiedName> {
    let (server, tool) = text.split_once(':')?;
    let mut slash = String::with_capacity(text.len());
    slash.push_str(server);
    slash.push('/');
    slash.push_str(tool);
    if server.contains('/') { None } else { parse_slash(&slash) }
}

/// One unique name per identity.
///
/// A name that fits and that nobody else wants stays as it is rendered; of several that want the same one, the single
/// identity that is `exact` keeps it. All others carry a hash. Local tools are named first, as if there were no others:
/// those of a hub take what is left.
pub fn unique_names(
    identities: &[QualifiedName],
    render: impl Fn(&QualifiedName) -> String,
    is_exact: impl Fn(&QualifiedName) -> bool,
    max_length: usize,
) -> Vec<String> {
    let plain: Vec<String> = identities.iter().map(render).collect();
    let mut assigned: Vec<String> = vec![String::new(); identities.len()];
    let mut taken: HashSet<String> = HashSet::new();
    let is_placed = |index: &usize| identities[*index].server.place().is_some();
    let (placed, local): (Vec<usize>, Vec<usize>) = (0..identities.len()).partition(is_placed);
    for group in [local, placed] {
        let mut wanted: HashMap<&str, Vec<usize>> = HashMap::new();
        for index in &group {
            wanted.entry(plain[*index].as_str()).or_default().push(*index);
        }
        let mut hashed = Vec::new();
        for index in group {
            let name = &plain[index];
            let rivals = wanted.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            let mut exact = rivals.iter().copied().filter(|rival| is_exact(&identities[*rival]));
            let is_its_own = rivals.len() == 1 || (exact.next() == Some(index) && exact.next().is_none());
            if name.len() <= max_length && is_its_own && taken.insert(name.clone()) {
                assigned[index].clone_from(name);
            } else {
                hashed.push(index);
            }
        }
        for index in hashed {
            // A server may choose names so that a hashed name meets another: count on until it is free.
            let free = (0_u32..)
                .map(|attempt| with_hash(&plain[index], &hash(&identities[index], attempt), max_length))
                .find(|candidate| !taken.contains(candidate))
                .unwrap_or_default();
            taken.insert(free.clone());
            assigned[index] = free;
        }
    }
    assigned
}

impl Spelling {
    /// The spelling a name gets when its plain one is too long or taken: cut, with a hash of the identity behind it.
    ///
    /// The other two spellings never need one and stay as they are. Should that very form be taken as well, a
    /// catalog counts on; then only its [`NameTable`] knows the name.
    #[must_use]
    pub fn render_hashed(self, name: &QualifiedName) -> String {
        match self {
            Self::Slash | Self::Colon => self.render(name),
            Self::Provider => with_hash(&self.render(name), &hash(name, 0), MAX_PROVIDER_NAME),
            Self::Code => with_hash(&self.render(name), &hash(name, 0), usize::MAX),
        }
    }
}

/// True when the name's own characters need no change for a model provider.
#[must_use]
pub fn is_plain(name: &QualifiedName) -> bool {
    [name.server.without_place(), name.tool.as_str()].iter().all(|part| spelling::provider_part(part) == **part)
}

fn with_hash(plain: &str, hash: &str, max_length: usize) -> String {
    let room = max_length.saturating_sub(hash.len() + 1);
    let head: String = plain.chars().take(room).collect();
    format!("{head}_{hash}")
}

/// FNV-1a over server, a separator that is not a character, tool and attempt; in base 32.
///
/// It need not resist attack: a clash that a server provokes is resolved above, and the table is what reads names back.
fn hash(name: &QualifiedName, attempt: u32) -> String {
    const ALPHABET: [u8; 32] = *b"abcdefghijklmnopqrstuvwxyz234567";
    let bytes = name.server.as_str().bytes().chain([0xff]).chain(name.tool.as_str().bytes());
    let mut state = bytes
        .chain(attempt.to_le_bytes().into_iter().filter(|_| attempt > 0))
        .fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (0..HASH_CHARACTERS)
        .map(|_| {
            let character = ALPHABET[(state & 31) as usize];
            state >>= 5;
            char::from(character)
        })
        .collect()
}
