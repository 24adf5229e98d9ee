//! The two eras of the protocol, and which one a peer speaks.
//!
//! *Legacy* (up to 2025-11-25) begins with `initialize`, keeps a session, and lets the server send requests. *Modern*
//! (2026-07-28) is stateless: every request carries its own metadata, and questions come back as results. Everything
//! that differs lives in this directory; outside it nobody compares versions.

pub(crate) mod legacy;
pub(crate) mod legacy_first;
pub(crate) mod modern;
pub(crate) mod negotiate;
pub(crate) mod param_headers;
pub(crate) mod speech;

use std::fmt;

use helve_model::ErrorCode;
use helve_model::json::RawJson;

use crate::error::Error;

/// The two ways of speaking the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// `initialize`, sessions, server-initiated requests.
    Legacy,
    /// Stateless, `server/discover`, multi-round requests.
    Modern,
}

/// What was found out about a peer: worth keeping, so that the next connection need not ask again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NegotiatedVersion {
    /// The era.
    pub era: Era,
    /// The protocol version both sides speak.
    pub version: String,
    /// What is known about the other era.
    pub other: OtherEra,
}

/// Does a peer speak the other era as well? Most servers that do say nothing of it: they speak the one they are greeted in
/// first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OtherEra {
    /// Nobody has tried.
    #[default]
    Unknown,
    /// It does.
    Spoken,
    /// It does not.
    NotSpoken,
}

/// Which era is spoken with a peer that has both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum EraPreference {
    /// The newest.
    #[default]
    Newest,
    /// The legacy one: for somebody who is asked in its way. There are servers that ask in no other.
    Legacy,
}

/// Which protocol to speak.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Find out.
    #[default]
    Auto,
    /// This was found out before: try it first, find out again when it no longer holds.
    Known(NegotiatedVersion),
    /// The legacy era where the peer speaks it, else find out.
    LegacyFirst,
    /// This version and no other.
    Pinned(String),
}

/// What a peer said about itself when the connection was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The era and version agreed upon.
    pub negotiated: NegotiatedVersion,
    /// What the server can do, as it says it.
    pub capabilities: RawJson,
    /// The name it gives itself. Never to be used for identity.
    pub server_info: Option<RawJson>,
    /// What it wants the model to know.
    pub instructions: Option<String>,
}

impl Greeting {
    /// What the server says it is: its description, else its title.
    #[must_use]
    pub fn about(&self) -> Option<String> {
        let info = self.server_info.as_ref()?;
        let said = |key| info.member_str(key).filter(|text| !text.trim().is_empty());
        said("description").or_else(|| said("title"))
    }
}

impl ProtocolChoice {
    /// What to try, by what is known of a peer and what is preferred.
    #[must_use]
    pub fn new(known: Option<NegotiatedVersion>, preference: EraPreference) -> Self {
        let Some(known) = known else {
            return match preference {
                EraPreference::Newest => Self::Auto,
                EraPreference::Legacy => Self::LegacyFirst,
            };
        };
        match (preference, known.era, known.other) {
            (EraPreference::Newest, Era::Legacy, OtherEra::Spoken) => Self::Known(NegotiatedVersion::newest()),
            (EraPreference::Newest, Era::Legacy, OtherEra::Unknown) => Self::Auto,
            (EraPreference::Legacy, Era::Modern, OtherEra::Spoken | OtherEra::Unknown) => Self::LegacyFirst,
            _ => Self::Known(known),
        }
    }
}

impl NegotiatedVersion {
    /// The same, with what an earlier connection found out about the other era.
    #[must_use]
    pub fn knowing(mut self, earlier: Option<&Self>) -> Self {
        if let (OtherEra::Unknown, Some(earlier)) = (self.other, earlier) {
            self.other = if earlier.era == self.era { earlier.other } else { OtherEra::Spoken };
        }
        self
    }

    /// The newest there is: for peers that are known to speak everything.
    #[must_use]
    pub fn newest() -> Self {
        let [newest] = modern::VERSIONS;
        Self { era: Era::Modern, version: newest.to_owned(), other: OtherEra::Unknown }
    }

    /// The negotiated a version stands for; `None` when helve does not speak it.
    #[must_use]
    pub fn of_version(version: &str) -> Option<Self> {
        let era = if legacy::VERSIONS.contains(&version) {
            Era::Legacy
        } else if modern::VERSIONS.contains(&version) {
            Era::Modern
        } else {
            return None;
        };
        Some(Self { era, version: version.to_owned(), other: OtherEra::Unknown })
    }
}

impl Greeting {
    /// Does the server offer this (`tools`, `resources`, `prompts`, `completions`, `logging`)?
    #[must_use]
    pub fn offers(&self, capability: &str) -> bool {
        self.capabilities.member(capability).is_some_and(|value| !matches!(value.as_str(), "null" | "false"))
    }

    /// Does a capability have this part (`resources`, `subscribe`)?
    #[must_use]
    pub fn offers_part(&self, capability: &str, part: &str) -> bool {
        let part = self.capabilities.member(capability).and_then(|value| value.member(part));
        part.is_some_and(|value| !matches!(value.as_str(), "null" | "false"))
    }
}

impl fmt::Display for Era {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}

/// Every version helve speaks, newest first.
pub(crate) fn all_versions() -> String {
    let versions: Vec<&str> = modern::VERSIONS.iter().chain(&legacy::VERSIONS).copied().collect();
    versions.join(", ")
}

/// The error of two sides without a common version.
pub(crate) fn version_mismatch(theirs: &str) -> Error {
    Error::new(
        ErrorCode::ProtocolError,
        format!("no common protocol version: the server speaks {theirs}, helve speaks {}", all_versions()),
    )
    .with_hint("update the server, or pin a protocol version that both sides speak")
}
