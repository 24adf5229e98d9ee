//! Tokens bound to a key (RFC 9449): with each request goes a proof that whoever sends it holds the key.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::{HeaderName, HeaderValue};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use url::Url;

use crate::error::{AuthError, Result};
use crate::jwt::SigningKey;
use crate::random::{hashed, unguessable};

/// The header that carries a proof.
pub(crate) const PROOF: HeaderName = HeaderName::from_static("dpop");
/// The header that carries what the next proof has to repeat.
pub(crate) const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
/// The algorithm of our keys.
pub(crate) const ALGORITHM: &str = "ES256";
/// Longest nonce that is repeated.
const NONCE_BYTES: usize = 512;

/// A key that tokens are bound to.
pub(crate) struct DpopKey {
    signing: SigningKey,
    public: Value,
    /// As it is kept.
    document: Vec<u8>,
}

impl DpopKey {
    pub(crate) fn generate() -> Result<Self> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .map_err(|_| AuthError::settings("no key can be made"))?;
        Self::from_document(document.as_ref().to_vec()).ok_or_else(|| AuthError::settings("no key can be made"))
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        Self::from_document(BASE64_URL_SAFE_NO_PAD.decode(text).ok()?)
    }

    pub(crate) fn to_text(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(&self.document)
    }

    fn from_document(document: Vec<u8>) -> Option<Self> {
        let signing = SigningKey::from_pkcs8(&document)?;
        let SigningKey::Es256(pair) = &signing else { return None };
        // An uncompressed point: 4, x, y.
        let point = pair.public_key().as_ref();
        let (x, y) = (point.get(1..33)?, point.get(33..65)?);
        let encoded = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let public = json!({"kty": "EC", "crv": "P-256", "x": encoded(x), "y": encoded(y)});
        Some(Self { signing, public, document })
    }

    /// A proof for one request. `token` is the access token it accompanies.
    pub(crate) fn proof(
        &self,
        method: &str,
        address: &Url,
        nonce: Option<&str>,
        token: Option<&str>,
        now: u64,
    ) -> Result<HeaderValue> {
        let mut target = address.clone();
        target.set_query(None);
        target.set_fragment(None);
        let mut claims = json!({"jti": unguessable()?, "htm": method, "htu": target.as_str(), "iat": now});
        if let Some(claims) = claims.as_object_mut() {
            if let Some(nonce) = nonce {
                claims.insert("nonce".to_owned(), Value::from(nonce));
            }
            if let Some(token) = token {
                claims.insert("ath".to_owned(), Value::from(hashed(token)));
            }
        }
        let header = json!({"typ": "dpop+jwt", "jwk": self.public});
        let proof = self.signing.sign(header, &claims)?;
        let mut value =
            HeaderValue::from_str(&proof).map_err(|_| AuthError::settings("a proof cannot be sent as a header"))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// A nonce that can be repeated.
pub(crate) fn nonce_of(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    (!text.is_empty() && text.len() <= NONCE_BYTES).then(|| text.to_owned())
}

impl std::fmt::Debug for DpopKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("DpopKey")
    }
}
