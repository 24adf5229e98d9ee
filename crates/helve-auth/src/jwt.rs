//! Signed tokens of our own making, and a look into those of others: `ring` signs.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::error::{AuthError, Result};

/// Longest token of a stranger that is looked into.
const LOOKED_INTO: usize = 16 << 10;

/// A key that signs.
pub(crate) enum SigningKey {
    Es256(Box<EcdsaKeyPair>),
    Rs256(Box<RsaKeyPair>),
    EdDsa(Box<Ed25519KeyPair>),
}

impl SigningKey {
    /// A private key, PKCS #8 in PEM.
    pub(crate) fn from_pem(pem: &SecretString) -> Result<Self> {
        let text = pem.expose_secret();
        let inner = text.split_once("-----BEGIN PRIVATE KEY-----").and_then(|(_, rest)| rest.split_once("-----END"));
        let Some((body, _)) = inner else {
            return Err(AuthError::settings("the client's key is not a private key in PEM (`BEGIN PRIVATE KEY`)"));
        };
        let body: String = body.split_whitespace().collect();
        let der = BASE64_STANDARD
            .decode(body)
            .map_err(|_| AuthError::settings("the client's key is damaged: what it holds is not base64"))?;
        Self::from_pkcs8(&der).ok_or_else(|| {
            AuthError::settings("the client's key is of a kind that cannot be used: P-256, Ed25519 and RSA keys can")
        })
    }

    pub(crate) fn from_pkcs8(der: &[u8]) -> Option<Self> {
        if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new()) {
            return Some(Self::Es256(Box::new(pair)));
        }
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
            return Some(Self::EdDsa(Box::new(pair)));
        }
        RsaKeyPair::from_pkcs8(der).ok().map(|pair| Self::Rs256(Box::new(pair)))
    }

    pub(crate) const fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Rs256(_) => "RS256",
            Self::EdDsa(_) => "EdDSA",
        }
    }

    /// A token with this header (to which the algorithm is added) and these claims.
    pub(crate) fn sign(&self, mut header: Value, claims: &Value) -> Result<String> {
        if let Some(header) = header.as_object_mut() {
            drop(header.insert("alg".to_owned(), Value::from(self.algorithm())));
        }
        let encoded = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encoded(&header), encoded(claims));
        let failed = || AuthError::settings("the client's key does not sign");
        let random = SystemRandom::new();
        let signature = match self {
            Self::Es256(pair) => pair.sign(&random, message.as_bytes()).map_err(|_| failed())?.as_ref().to_vec(),
            Self::EdDsa(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature).map_err(|_| failed())?;
                signature
            }
        };
        Ok(format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// The assertion by which a client shows who it is (RFC 7523).
pub(crate) fn client_assertion(key: &SigningKey, client: &str, audience: &str, now: u64) -> Result<String> {
    /// How long the authorization server may take to read it.
    const LIFE: u64 = 60;
    let claims = json!({
        "iss": client, "sub": client, "aud": audience,
        "iat": now, "exp": now.saturating_add(LIFE), "jti": crate::random::unguessable()?,
    });
    key.sign(json!({"typ": "JWT"}), &claims)
}

/// The claims of a token, unchecked: for timing and for showing a name, never for a decision.
pub(crate) fn claims(token: &str) -> Option<Value> {
    if token.len() > LOOKED_INTO {
        return None;
    }
    let mut parts = token.split('.');
    let (_, claims, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else { return None };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    serde_json::from_slice::<Value>(&bytes).ok().filter(Value::is_object)
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.algorithm())
    }
}

#[cfg(test)]
#[path = "jwt_tests.rs"]
mod tests;
