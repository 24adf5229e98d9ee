//! States that travel through an agent and come back: sealed, so that only the one who got it can bring it, unchanged, to
//! the server it is from, and in time.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helve_model::ServerName;
use helve_model::json::{RawJson, scan};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::principal::Principal;

const MAC_BYTES: usize = 32;
const DIGEST_BYTES: usize = 32;

/// So deep arguments are put in order.
const MAX_DEPTH: usize = 32;

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
        hasher.update(in_order(arguments.map_or("{}", RawJson::as_str), 0));
        Self(hasher.finalize().into())
    }
}

/// JSON without the space between its tokens, and with the members of each object in one order. What nests deeper than
/// anybody needs is taken as it is written.
fn in_order(json: &str, depth: usize) -> String {
    let json = json.trim();
    let deeper = |value: &str| if depth < MAX_DEPTH { in_order(value, depth + 1) } else { value.to_owned() };
    if let Ok(members) = scan::members(json) {
        let members = members.map_while(Result::ok).map(|member| (member.key(), deeper(member.value)));
        let mut members: Vec<(Option<Cow<'_, str>>, String)> = members.collect();
        members.sort();
        return format!("{members:?}");
    }
    match scan::elements(json) {
        Ok(elements) => format!("{:?}", elements.map_while(Result::ok).map(deeper).collect::<Vec<_>>()),
        Err(_) => json.to_owned(),
    }
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
        let owner = match principal {
            Principal::Local => (b'l', 0),
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
            call in any::<[u8; 32]>(), state in ".{0,200}", user in any::<u32>(), at in any::<prop::sample::Index>(), bit in 0..6_u8,
        ) {
            let seal = Seal::new();
            let owner = Principal::User(user);
            let sealed = Sealed::State { call: CallDigest(call), state };
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

    #[test]
    fn a_call_is_known_by_what_it_does() {
        let server = ServerName::new("one").unwrap();
        let digest = |method: &str, tool: &str, arguments: Option<&'static str>| {
            CallDigest::new(&server, method, tool, arguments.map(RawJson::from_static).as_ref())
        };
        let call = digest("tools/call", "a", Some(r#"{"x":1,"y":[{"b":"\"","a":2}]}"#));
        assert_eq!(call, digest("tools/call", "a", Some(r#" { "y" : [ {"a": 2,"b":"\""} ], "x":1}"#)));
        for arguments in [r#"{"x":1,"y":[{"b":"\"","a":3}]}"#, r#"{"x":1}"#, r#"{"x":1,"y":{"b":"\"","a":2}}"#, "[1]"] {
            assert_ne!(call, digest("tools/call", "a", Some(arguments)), "{arguments}");
        }
        assert_ne!(digest("tools/call", "a", None), digest("tools/call", "b", None));
        assert_ne!(digest("tools/call", "a", None), digest("prompts/get", "a", None));
        assert_eq!(digest("tools/call", "a", None), digest("tools/call", "a", Some("{}")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_seal_grows_old() {
        let seal = Seal::new();
        let sealed = Sealed::Parked { call: CallDigest([1; 32]), handle: 7 };
        let text = seal.seal(&Principal::Token(1), &sealed, HOUR);
        tokio::time::advance(HOUR - Duration::from_secs(1)).await;
        assert_eq!(seal.open(&Principal::Token(1), &text), Some(sealed));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(seal.open(&Principal::Token(1), &text), None);
    }
}
