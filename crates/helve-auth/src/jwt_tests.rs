//! Keys of every kind, and tokens that are looked into.

use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, KeyPair as _, UnparsedPublicKey};

use super::*;

fn pem(der: &[u8]) -> SecretString {
    SecretString::from(format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        BASE64_STANDARD.encode(der)
    ))
}

fn parts(token: &str) -> (Value, Value, String, Vec<u8>) {
    let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    let mut pieces = token.rsplitn(2, '.');
    let (signature, message) = (pieces.next().unwrap(), pieces.next().unwrap());
    let (header, claims) = message.split_once('.').unwrap();
    let json = |part: &str| serde_json::from_slice(&decoded(part)).unwrap();
    (json(header), json(claims), message.to_owned(), decoded(signature))
}

#[test]
fn a_client_asserts_itself_with_a_p256_key() {
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
    let key = SigningKey::from_pem(&pem(document.as_ref())).unwrap();
    let SigningKey::Es256(pair) = &key else { panic!("{key:?}") };
    let public = pair.public_key().as_ref().to_vec();
    let token = client_assertion(&key, "me", "https://as.example", 1_000).unwrap();
    let (header, claims, message, signature) = parts(&token);
    assert_eq!((header["alg"].as_str(), header["typ"].as_str()), (Some("ES256"), Some("JWT")));
    assert_eq!(claims["iss"], "me");
    assert_eq!(claims["sub"], "me");
    assert_eq!(claims["aud"], "https://as.example");
    assert_eq!((claims["iat"].as_u64(), claims["exp"].as_u64()), (Some(1_000), Some(1_060)));
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public).verify(message.as_bytes(), &signature).unwrap();
    let again = client_assertion(&key, "me", "https://as.example", 1_000).unwrap();
    assert_ne!(parts(&again).1["jti"], claims["jti"], "each one is used once");
}

#[test]
fn an_ed25519_key_signs_as_well() {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let key = SigningKey::from_pem(&pem(document.as_ref())).unwrap();
    let SigningKey::EdDsa(pair) = &key else { panic!("{key:?}") };
    let public = pair.public_key().as_ref().to_vec();
    let (header, _, message, signature) = parts(&key.sign(json!({}), &json!({"a": 1})).unwrap());
    assert_eq!(header["alg"], "EdDSA");
    UnparsedPublicKey::new(&ED25519, public).verify(message.as_bytes(), &signature).unwrap();
}

#[test]
fn what_is_not_a_key_is_said_to_be_none() {
    let message = |text: &str| SigningKey::from_pem(&SecretString::from(text.to_owned())).unwrap_err().to_string();
    assert_eq!(message("hunter2"), "the client's key is not a private key in PEM (`BEGIN PRIVATE KEY`)");
    let damaged = "-----BEGIN PRIVATE KEY-----\nhunter2!\n-----END PRIVATE KEY-----";
    assert_eq!(message(damaged), "the client's key is damaged: what it holds is not base64");
    let other = "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----";
    assert_eq!(message(other), "the client's key is of a kind that cannot be used: P-256, Ed25519 and RSA keys can");
}

#[test]
fn tokens_of_others_are_looked_into_without_trust() {
    let token = |claims: &str| format!("e30.{}.c2ln", BASE64_URL_SAFE_NO_PAD.encode(claims));
    assert_eq!(claims(&token(r#"{"exp":7}"#)).unwrap()["exp"], 7);
    for odd in ["", "a", "a.b", "a.b.c", "a.b.c.d", &token("[]"), &token("{"), &token(&"x".repeat(20_000))] {
        assert_eq!(claims(odd), None);
    }
}
