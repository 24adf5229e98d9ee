//! The names of one catalog: every spelling made unique, and turned back into the identity.
//!
//! `Slash` and `Colon` are injective by construction. For `Provider` and `Code` two identities can come out alike, or
//! too long; then a hash of the identity is put at the end. Which names get one depends only on the set of
//! identities, never on the order in which servers connected.

use std::collections::HashMap;

use super::spelling::{CODE_PREFIX, PROVIDER_PREFIX, function_name};
use super::{QualifiedName, Spelling, parse_slash, spelling};

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

    /// The tool a text names, in any spelling, or by its bare name where only one server has it.
    #[must_use]
    pub fn resolve(&self, text: &str) -> Resolution<'_> {
        if let Some(found) = self.resolve_spelled(text) {
            return Resolution::Found(found);
        }
        match self.by_tool.get(text).map(Vec::as_slice) {
            Some([only]) => Resolution::Found(&self.identities[*only]),
            Some(several) => Resolution::Ambiguous(several.iter().map(|index| &self.identities[*index]).collect()),
            None => {
                let spelled = self.plainly_spelled(text);
                match spelled.as_slice() {
                    [] => Resolution::Unknown(self.nearest(text)),
                    [only] => Resolution::Found(only),
                    _ => Resolution::Ambiguous(spelled),
                }
            }
        }
    }

    fn resolve_spelled(&self, text: &str) -> Option<&QualifiedName> {
        let index = match self.by_spelling.get(text) {
            Some(index) => *index,
            None => {
                let name = parse_slash(text).or_else(|| parse_colon(text))?;
                self.identities.binary_search(&name).ok()?
            }
        };
        self.identities.get(index)
    }

    /// The tools that would be spelled like this, were there no others, and those whose function has this name.
    fn plainly_spelled(&self, text: &str) -> Vec<&QualifiedName> {
        let is_spelled = |name: &&QualifiedName| {
            if text.starts_with(CODE_PREFIX) {
                Spelling::Code.render(name) == text
            } else {
                function_name(name) == text || Spelling::Provider.render(name) == text
            }
        };
        let is_possible = text.starts_with(CODE_PREFIX) || text.starts_with(PROVIDER_PREFIX);
        self.identities.iter().filter(|_| is_possible).filter(is_spelled).collect()
    }

    fn nearest(&self, text: &str) -> Vec<&QualifiedName> {
        let wanted = text.to_lowercase();
        let mut scored: Vec<(usize, &QualifiedName)> = self
            .identities
            .iter()
            .filter_map(|name| {
                let spelling = if text.starts_with(CODE_PREFIX) { Spelling::Code } else { Spelling::Slash };
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
/// identity that is `exact` keeps it. All others carry a hash.
pub fn unique_names(
    identities: &[QualifiedName],
    render: impl Fn(&QualifiedName) -> String,
    is_exact: impl Fn(&QualifiedName) -> bool,
    max_length: usize,
) -> Vec<String> {
    let plain: Vec<String> = identities.iter().map(render).collect();
    let mut wanted: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, name) in plain.iter().enumerate() {
        wanted.entry(name).or_default().push(index);
    }
    let mut assigned: Vec<Option<String>> = vec![None; identities.len()];
    let mut taken: HashMap<String, usize> = HashMap::new();
    for (index, name) in plain.iter().enumerate() {
        let rivals = wanted.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        let mut exact = rivals.iter().copied().filter(|rival| is_exact(&identities[*rival]));
        let keeps =
            name.len() <= max_length && (rivals.len() == 1 || (exact.next() == Some(index) && exact.next().is_none()));
        if keeps {
            taken.insert(name.clone(), index);
            assigned[index] = Some(name.clone());
        }
    }
    identities
        .iter()
        .zip(plain.iter().zip(assigned))
        .map(|(identity, (plain, assigned))| {
            assigned.unwrap_or_else(|| {
                // A server may choose names so that a hashed name meets another: count on until it is free.
                let hashed = (0_u32..)
                    .map(|attempt| with_hash(plain, &hash(identity, attempt), max_length))
                    .find(|candidate| !taken.contains_key(candidate))
                    .unwrap_or_default();
                taken.insert(hashed.clone(), usize::MAX);
                hashed
            })
        })
        .collect()
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
    [name.server.as_str(), name.tool.as_str()].iter().all(|part| spelling::provider_part(part) == **part)
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
