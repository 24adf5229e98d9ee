//! The secret that what agents carry for us is sealed and named with. It is handed in, so that a second process that has the
//! same one can open what the first one sealed.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// How many bytes a key has.
const KEY_BYTES: usize = 32;

/// A secret of a gateway. It cannot be shown.
#[derive(Clone)]
pub struct GatewayKey(Option<[u8; KEY_BYTES]>);

impl GatewayKey {
    /// This one. It should be random, and known to nobody else.
    #[must_use]
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Some(bytes))
    }

    /// One that nobody knows, for a gateway that shares nothing with another. Without randomness nothing is sealed, and so
    /// nothing opens.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; KEY_BYTES];
        Self(getrandom::fill(&mut bytes).is_ok().then_some(bytes))
    }

    /// A key for one purpose: what is made for another one is worth nothing there.
    pub(crate) fn derived(&self, purpose: &str) -> Option<[u8; KEY_BYTES]> {
        let mut hasher = Hmac::<Sha256>::new_from_slice(self.0.as_ref()?).ok()?;
        hasher.update(purpose.as_bytes());
        Some(hasher.finalize().into_bytes().into())
    }
}

impl fmt::Debug for GatewayKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GatewayKey")
    }
}
