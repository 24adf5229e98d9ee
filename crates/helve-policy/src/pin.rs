//! Whether a definition is still the one that was approved, and what changed if not.
//!
//! A pin covers the whole definition as the server gave it: name, title, description, schemas, annotations, icons and
//! whatever else it says, known to helve or not. Only `_meta` stays out: it does not reach a model, and servers put
//! times and counters there. How the JSON is spelled does not count, see `canonical`.

mod diff;

use std::fmt;

use sha2::{Digest as _, Sha256};

use helve_model::json::canonical::CanonicalNode;

pub use diff::{ChangeKind, DefinitionChange, diff};

/// The member of a definition that is not pinned.
const UNPINNED: &str = "_meta";

/// The hash of one definition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionHash([u8; 32]);

impl DefinitionHash {
    /// The hash of a definition's JSON text. Every text has one, also what is not JSON.
    #[must_use]
    pub fn of(definition: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"helve definition 1\n");
        pinned(definition).feed(&mut |part| hash.update(part));
        Self(hash.finalize().into())
    }

    /// The hash that [`fmt::Display`] wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        read_hexadecimal(text).map(Self)
    }
}

/// Reads 64 hexadecimal digits.
pub(crate) fn read_hexadecimal(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    if digits.len() == 64 { bytes.try_into().ok() } else { None }
}

/// Writes them.
pub(crate) fn hexadecimal(bytes: &[u8; 32], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
}

impl fmt::Display for DefinitionHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal(&self.0, formatter)
    }
}

impl fmt::Debug for DefinitionHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// The part of a definition that is pinned.
fn pinned(definition: &str) -> CanonicalNode<'_> {
    let mut node = CanonicalNode::read(definition);
    node.remove(UNPINNED);
    node
}

#[cfg(test)]
#[path = "pin_tests.rs"]
mod tests;
