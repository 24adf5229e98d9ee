//! What stands for a secret on a page: a mark that says nothing about it, and by which it is known again when the page comes
//! back. The key of the marks lives as long as the hub.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use helve_model::sync::lock;
use helve_store::hex;
use sha2::{Digest as _, Sha256};

/// What a mark begins with.
const START: &str = "•••";

/// Digits of a mark.
const DIGITS: usize = 12;

/// So many secrets that were typed and not yet saved are known again.
const KEPT: usize = 256;

/// Makes marks.
#[derive(Debug)]
pub(crate) struct Masks {
    key: [u8; 32],
    typed: Mutex<Typed>,
}

/// Values that somebody typed into a page that is not saved yet.
#[derive(Default)]
struct Typed {
    known: HashMap<String, String>,
    order: VecDeque<String>,
}

impl Masks {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self { key, typed: Mutex::default() }
    }

    /// The mark of a secret.
    pub(crate) fn mark(&self, secret: &str) -> String {
        let digest = hex(&Sha256::new().chain_update(self.key).chain_update(secret).finalize());
        format!("{START}{}", digest.get(..DIGITS).unwrap_or_default())
    }

    /// The mark of a secret that is known nowhere else yet.
    pub(crate) fn remember(&self, secret: &str) -> String {
        let mark = self.mark(secret);
        let mut typed = lock(&self.typed);
        if typed.known.insert(mark.clone(), secret.to_owned()).is_none() {
            typed.order.push_back(mark.clone());
            if typed.order.len() > KEPT
                && let Some(oldest) = typed.order.pop_front()
            {
                typed.known.remove(&oldest);
            }
        }
        mark
    }

    /// The text with secrets in the place of their marks; `known` are those of the file.
    ///
    /// # Errors
    /// A mark that is nobody's, with its line.
    pub(crate) fn unmasked(&self, text: &str, known: &HashMap<String, String>) -> Result<String, u32> {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(START) {
            let (before, behind) = (rest.get(..at).unwrap_or_default(), rest.get(at..).unwrap_or_default());
            result.push_str(before);
            let mark: String = behind.chars().take(START.chars().count() + DIGITS).collect();
            let value = known.get(&mark).cloned().or_else(|| lock(&self.typed).known.get(&mark).cloned());
            let Some(value) = value else {
                return Err(u32::try_from(result.lines().count().max(1)).unwrap_or(u32::MAX));
            };
            result.push_str(&value);
            rest = behind.get(mark.len()..).unwrap_or_default();
        }
        result.push_str(rest);
        Ok(result)
    }
}

impl std::fmt::Debug for Typed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Typed({} values)", self.order.len())
    }
}

#[cfg(test)]
#[path = "masks_tests.rs"]
mod tests;
