//! The word in front of a hub's servers: which words can be one.

use std::fmt;
use std::sync::Arc;

use super::spelling::CODE_KEYWORDS;

/// The longest word.
const LONGEST: usize = 32;

/// Words that mean something else where a place is written: `devices.local` is this machine.
const TAKEN: [&str; 4] = ["local", "device", "devices", "mcp"];

/// What a person calls a hub: the place of its servers, `hub` in `hub/github/create_issue`.
///
/// A word of lower-case letters, digits and single `_` that begins with a letter and ends with none of them: so it stands in
/// every spelling as it is, and the `__` behind it is the first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceName(Arc<str>);

/// A text cannot be the name of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAPlaceName;

impl PlaceName {
    /// The place of this name.
    ///
    /// # Errors
    /// [`NotAPlaceName`] when the text cannot be such a name.
    pub fn new(text: &str) -> Result<Self, NotAPlaceName> {
        let is_word = text.starts_with(|character: char| character.is_ascii_lowercase())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
            && !text.contains("__")
            && !text.ends_with('_')
            && text.len() <= LONGEST;
        let is_free = !TAKEN.contains(&text) && !CODE_KEYWORDS.contains(&text);
        if is_word && is_free { Ok(Self(Arc::from(text))) } else { Err(NotAPlaceName) }
    }

    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How many bytes it has.
    pub(super) fn bytes(&self) -> u8 {
        // At most `LONGEST`.
        u8::try_from(self.0.len()).unwrap_or_default()
    }
}

impl fmt::Display for PlaceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for NotAPlaceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "the name of a hub is a word of lower-case letters, digits and single `_`, {LONGEST} characters at most, \
             and not `local`"
        )
    }
}

impl std::error::Error for NotAPlaceName {}
