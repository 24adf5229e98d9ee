//! References that are filled when a server starts, and not before: a list of servers opens no vault and runs no program.

use std::fmt;

use crate::name::PlaceName;

/// A reference in a text, to be filled when a server starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateReference {
    /// Where in the text its value belongs, in bytes.
    pub(crate) at: usize,
    /// Where its value comes from.
    pub source: LateSource,
}

/// Where the value of a late reference comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LateSource {
    /// The person's own vault: `${secret:NAME}`.
    Secret(String),
    /// An item of the system's keyring: `${keyring:service/account}`.
    Keyring {
        /// Of which service.
        service: String,
        /// Of which account.
        account: String,
    },
    /// The first line that a program prints: `${cmd:…}`.
    Command(String),
    /// The token of a hub that was joined. No file can ask for it: it goes to that hub, and nowhere else.
    Hub {
        /// The place of its servers.
        place: PlaceName,
        /// Its address, as it was joined.
        url: String,
    },
}

impl LateReference {
    /// A reference whose value belongs at this place of a text.
    #[must_use]
    pub const fn new(at: usize, source: LateSource) -> Self {
        Self { at, source }
    }
}

impl LateSource {
    /// Reads what stands between `${` and `}`; `None` when it is something else.
    #[must_use]
    pub fn parse(body: &str) -> Option<Self> {
        if let Some(name) = body.strip_prefix("secret:") {
            return (!name.is_empty()).then(|| Self::Secret(name.to_owned()));
        }
        if let Some(command) = body.strip_prefix("cmd:") {
            return (!command.trim().is_empty()).then(|| Self::Command(command.trim().to_owned()));
        }
        let (service, account) = body.strip_prefix("keyring:")?.split_once('/')?;
        let is_whole = !service.is_empty() && !account.is_empty();
        is_whole.then(|| Self::Keyring { service: service.to_owned(), account: account.to_owned() })
    }

    /// True for what only a file of the person's own may ask for: it runs a program, or opens what others keep.
    #[must_use]
    pub const fn is_for_own_files(&self) -> bool {
        !matches!(self, Self::Secret(_))
    }
}

impl fmt::Display for LateSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret(name) => write!(formatter, "${{secret:{name}}}"),
            Self::Keyring { service, account } => write!(formatter, "${{keyring:{service}/{account}}}"),
            Self::Command(command) => write!(formatter, "${{cmd:{command}}}"),
            Self::Hub { place, .. } => write!(formatter, "${{hub:{place}}}"),
        }
    }
}
