//! States that travel through an agent and come back: sealed, so that only the one who got it can bring it, unchanged, to
//! the server it is from, and in time.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_model::json::canonical::in_order;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::key::GatewayKey;
use crate::principal::Principal;

const MAC_BYTES: usize = 32;
const DIGEST_BYTES: usize = 32;

/// How a sealed text begins: the version of what follows. Texts of another version are not opened.
const VERSION: &str = "h1.";

/// Seals and opens. What one key sealed, no other opens.
pub(crate) struct Seal {
    key: Option<[u8; 32]>,
    clock: fn() -> SystemTime,
}

/// What is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sealed {
    /// The state of a server, as the server wrote it.
    State { call: CallDigest, state: String },
    /// A call that waits here for an answer.
    Parked { call: CallDigest, handle: u64 },
}

/// Which call something is sealed for: the server, what is asked of it, and with which arguments. Two spellings of the same
/// arguments are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallDigest([u8; DIGEST_BYTES]);

impl CallDigest {
    pub(crate) fn new(server: &ServerName, method: &str, subject: &str, arguments: Option<&RawJson>) -> Self {
        let mut hasher = Sha256::new();
        for part in [server.as_str(), method, subject] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        hasher.update(in_order(arguments.map_or("{}", RawJson::as_str)));
        Self(hasher.finalize().into())
    }
}

impl Seal {
    pub(crate) fn new(key: &GatewayKey, clock: fn() -> SystemTime) -> Self {
        Self { key: key.derived("request state"), clock }
    }

    /// Milliseconds since 1970. A clock before that seals nothing that opens later.
    fn now(&self) -> u64 {
        (self.clock)().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
    }

    /// A text that stands for `sealed`, for this principal, for so long.
    pub(crate) fn seal(&self, principal: &Principal, sealed: &Sealed, lasts: Duration) -> String {
        let expires = self.now().saturating_add(lasts.as_millis() as u64);
        let (kind, call, inner) = match sealed {
            Sealed::State { call, state } => (b's', call, state.clone().into_bytes()),
            Sealed::Parked { call, handle } => (b'p', call, handle.to_be_bytes().to_vec()),
        };
        let mut text = vec![kind];
        text.extend(expires.to_be_bytes());
        text.extend(call.0);
        text.extend(inner);
        let mac = self.mac(principal, &text);
        text.extend(mac);
        format!("{VERSION}{}", URL_SAFE_NO_PAD.encode(text))
    }

    /// What a text stands for; `None` when it is not ours, not this principal's, or too old.
    pub(crate) fn open(&self, principal: &Principal, text: &str) -> Option<Sealed> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(VERSION)?).ok()?;
        let (text, mac) = bytes.split_at_checked(bytes.len().checked_sub(MAC_BYTES)?)?;
        self.hasher(principal, text)?.verify_slice(mac).ok()?;
        let (kind, rest) = text.split_first()?;
        let (expires, rest) = rest.split_first_chunk()?;
        if self.now() > u64::from_be_bytes(*expires) {
            return None;
        }
        let (call, inner) = rest.split_first_chunk()?;
        let call = CallDigest(*call);
        match kind {
            b's' => Some(Sealed::State { call, state: String::from_utf8(inner.to_vec()).ok()? }),
            _ => Some(Sealed::Parked { call, handle: u64::from_be_bytes(inner.try_into().ok()?) }),
        }
    }

    fn mac(&self, principal: &Principal, text: &[u8]) -> Vec<u8> {
        self.hasher(principal, text).map(|hasher| hasher.finalize().into_bytes().to_vec()).unwrap_or_default()
    }

    fn hasher(&self, principal: &Principal, text: &[u8]) -> Option<Hmac<Sha256>> {
        let mut hasher = Hmac::<Sha256>::new_from_slice(self.key.as_ref()?).ok()?;
        let owner = principal.id().as_bytes();
        hasher.update(&(owner.len() as u64).to_be_bytes());
        hasher.update(owner);
        hasher.update(text);
        Some(hasher)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Seal")
    }
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
