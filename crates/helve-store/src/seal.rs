//! What is stored and must not be read from the file: sealed with a key that is handed in and never stored beside it.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};

/// Seals and opens (AES-256-GCM). What one key sealed, no other opens.
pub struct SealKey(LessSafeKey);

impl SealKey {
    /// How many bytes a key has.
    pub const BYTES: usize = 32;

    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        UnboundKey::new(&AES_256_GCM, bytes).ok().map(|key| Self(LessSafeKey::new(key)))
    }

    /// Seals a text for one purpose: only who names the same purpose opens it. `None` when the machine gives no random numbers.
    #[must_use]
    pub fn seal(&self, text: &[u8], purpose: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut sealed = text.to_vec();
        let (unique, bound) = (Nonce::assume_unique_for_key(nonce), Aad::from(purpose));
        self.0.seal_in_place_append_tag(unique, bound, &mut sealed).ok()?;
        Some([nonce.as_slice(), &sealed].concat())
    }

    /// What was sealed for this purpose; `None` when it was not, by another key, or was changed since.
    #[must_use]
    pub fn open(&self, sealed: &[u8], purpose: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut text = rest.to_vec();
        let length =
            self.0.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(purpose), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealKey")
    }
}
