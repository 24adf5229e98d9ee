//! Owns names that every provider takes. Names usually come here legal (`mcp__server__tool`); this is the last check,
//! since one illegal name fails the whole request.

use super::Provider;

/// Anthropic: `^[a-zA-Z0-9_-]{1,64}$` (documented; the interface itself has come to accept 128). OpenAI: "Must be a-z,
/// A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64". Gemini: "Must start with a letter or an
/// underscore. Must be a-z, A-Z, 0-9, or contain underscores, dots and dashes, with a maximum length of 64".
const MAX_NAME: usize = 64;
/// Characters of a hash that keeps a changed name from meeting another one.
const HASH: usize = 8;

/// The name itself if it is legal for the provider; otherwise a legal one that depends on nothing but this name.
pub(super) fn legal(name: &str, provider: Provider) -> String {
    if is_legal(name, provider) {
        return name.to_owned();
    }
    let mut legal = kept(name, |character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'));
    if matches!(provider, Provider::Gemini | Provider::GeminiJsonSchema) && !begins_well(&legal) {
        legal.insert(0, '_');
    }
    shortened(&legal, name)
}

/// A legal name for a property: letters, digits and `_` are taken by all.
pub(super) fn legal_property(name: &str, taken: &[String]) -> String {
    let mut legal = kept(name, |character| character.is_ascii_alphanumeric() || character == '_');
    if !begins_well(&legal) {
        legal.insert(0, '_');
    }
    // The plain form reads best; it may be the name of another property.
    let clashes = legal.len() > MAX_NAME
        || taken.iter().any(|other| {
            *other == legal || (other != name && kept(other, |c| c.is_ascii_alphanumeric() || c == '_') == legal)
        });
    if clashes { shortened(&legal, name) } else { legal }
}

fn is_legal(name: &str, provider: Provider) -> bool {
    let characters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let begins = match provider {
        Provider::Gemini | Provider::GeminiJsonSchema => begins_well(name),
        Provider::Anthropic | Provider::OpenAiChat | Provider::OpenAiResponses => !name.is_empty(),
    };
    characters && begins && name.len() <= MAX_NAME
}

fn begins_well(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

fn kept(name: &str, keep: impl Fn(char) -> bool) -> String {
    name.chars().map(|character| if keep(character) { character } else { '_' }).collect()
}

/// As much of the legal form as fits before the hash of the original. The legal form is ASCII.
fn shortened(legal: &str, original: &str) -> String {
    let start: String = legal.chars().take(MAX_NAME - HASH - 1).collect();
    format!("{start}_{:08x}", fnv1a(original))
}

/// A hash that is the same in every build: names must not change from one run to the next.
fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
