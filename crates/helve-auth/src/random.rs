//! Numbers nobody can guess, as text.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::error::{AuthError, ErrorKind, Result};

/// 256 bits as 43 characters that need no escaping anywhere.
pub(crate) fn unguessable() -> Result<String> {
    let mut bytes = [0_u8; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| AuthError::new(ErrorKind::Store, "the system gives no random numbers"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// SHA-256 in the alphabet of URLs.
pub(crate) fn hashed(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()))
}
