//! States that travel through an agent and come back: sealed, so that only the one who got it can bring it, unchanged, to
//! the server it is from, and in time.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::time::Instant;

use crate::principal::Principal;

const MAC_BYTES: usize = 32;

/// Seals and opens. What one of it sealed, no other opens.
pub(crate) struct Seal {
    key: Option<[u8; 32]>,
    /// Times are told from here: they need not mean anything outside this process.
    epoch: Instant,
}

/// What is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sealed {
    /// The state of a server, as the server wrote it.
    State { server: String, state: String },
    /// A call that waits here for an answer.
    Parked { server: String, handle: u64 },
}

impl Seal {
    pub(crate) fn new() -> Self {
        let mut key = [0; 32];
        // Without randomness nothing is sealed, and so nothing opens.
        let has_key = getrandom::fill(&mut key).is_ok();
        Self { key: has_key.then_some(key), epoch: Instant::now() }
    }

    /// A text that stands for `sealed`, for this principal, for so long.
    pub(crate) fn seal(&self, principal: &Principal, sealed: &Sealed, lasts: Duration) -> String {
        let expires = (self.epoch.elapsed() + lasts).as_millis() as u64;
        let (kind, server, inner) = match sealed {
            Sealed::State { server, state } => (b's', server, state.clone().into_bytes()),
            Sealed::Parked { server, handle } => (b'p', server, handle.to_be_bytes().to_vec()),
        };
        let mut text = vec![kind];
        text.extend(expires.to_be_bytes());
        text.extend((server.len() as u32).to_be_bytes());
        text.extend(server.as_bytes());
        text.extend(inner);
        let mac = self.mac(principal, &text);
        text.extend(mac);
        URL_SAFE_NO_PAD.encode(text)
    }

    /// What a text stands for; `None` when it is not ours, not this principal's, or too old.
    pub(crate) fn open(&self, principal: &Principal, text: &str) -> Option<Sealed> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (text, mac) = bytes.split_at_checked(bytes.len().checked_sub(MAC_BYTES)?)?;
        self.hasher(principal, text)?.verify_slice(mac).ok()?;
        let (kind, rest) = text.split_first()?;
        let (expires, rest) = rest.split_first_chunk()?;
        if self.epoch.elapsed().as_millis() as u64 > u64::from_be_bytes(*expires) {
            return None;
        }
        let (length, rest) = rest.split_first_chunk()?;
        let (server, inner) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let server = String::from_utf8(server.to_vec()).ok()?;
        match kind {
            b's' => Some(Sealed::State { server, state: String::from_utf8(inner.to_vec()).ok()? }),
            _ => Some(Sealed::Parked { server, handle: u64::from_be_bytes(inner.try_into().ok()?) }),
        }
    }

    fn mac(&self, principal: &Principal, text: &[u8]) -> Vec<u8> {
        self.hasher(principal, text).map(|hasher| hasher.finalize().into_bytes().to_vec()).unwrap_or_default()
    }

    fn hasher(&self, principal: &Principal, text: &[u8]) -> Option<Hmac<Sha256>> {
        let mut hasher = Hmac::<Sha256>::new_from_slice(self.key.as_ref()?).ok()?;
        let owner = match principal {
            Principal::Token(index) => (b't', *index as u64),
            Principal::User(user) => (b'u', u64::from(*user)),
            Principal::Connection(connection) => (b'c', *connection),
        };
        hasher.update(&[owner.0]);
        hasher.update(&owner.1.to_be_bytes());
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    proptest! {
        #[test]
        fn only_the_owner_opens_what_was_sealed_and_only_unchanged(
            server in ".{0,20}", state in ".{0,200}", user in any::<u32>(), at in any::<prop::sample::Index>(), bit in 0..6_u8,
        ) {
            let seal = Seal::new();
            let owner = Principal::User(user);
            let sealed = Sealed::State { server, state };
            let text = seal.seal(&owner, &sealed, HOUR);
            prop_assert_eq!(seal.open(&owner, &text), Some(sealed));
            prop_assert_eq!(seal.open(&Principal::User(user ^ 1), &text), None);
            prop_assert_eq!(seal.open(&Principal::Connection(u64::from(user)), &text), None);
            prop_assert_eq!(Seal::new().open(&owner, &text), None);
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            let place = at.index(bytes.len());
            bytes[place] ^= 1 << bit;
            prop_assert_eq!(seal.open(&owner, &URL_SAFE_NO_PAD.encode(bytes)), None);
        }

        #[test]
        fn nonsense_is_not_opened(text in ".{0,200}") {
            prop_assert_eq!(Seal::new().open(&Principal::Token(0), &text), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_seal_grows_old() {
        let seal = Seal::new();
        let sealed = Sealed::Parked { server: "one".to_owned(), handle: 7 };
        let text = seal.seal(&Principal::Token(1), &sealed, HOUR);
        tokio::time::advance(HOUR - Duration::from_secs(1)).await;
        assert_eq!(seal.open(&Principal::Token(1), &text), Some(sealed));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(seal.open(&Principal::Token(1), &text), None);
    }
}
