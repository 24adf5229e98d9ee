//! Owns which words make a field look as if it asks for a secret. The protocol sends secrets through URLs, never
//! through forms; a person who is asked for one nevertheless should be told.

use super::{Field, FieldKind, TextFormat};

/// Words that name a secret wherever they stand, and what they name.
const SECRETS: &[(&[&str], &str)] = &[
    (&["password"], "password"),
    (&["passwords"], "password"),
    (&["passwd"], "password"),
    (&["pwd"], "password"),
    (&["passphrase"], "passphrase"),
    (&["passcode"], "passcode"),
    (&["secret"], "secret"),
    (&["secrets"], "secret"),
    (&["credential"], "credential"),
    (&["credentials"], "credential"),
    (&["apikey"], "API key"),
    (&["api", "key"], "API key"),
    (&["api", "token"], "token"),
    (&["access", "key"], "access key"),
    (&["access", "token"], "token"),
    (&["auth", "token"], "token"),
    (&["bearer", "token"], "token"),
    (&["refresh", "token"], "token"),
    (&["personal", "access", "token"], "token"),
    (&["private", "key"], "private key"),
    (&["signing", "key"], "private key"),
    (&["encryption", "key"], "private key"),
    (&["ssh", "key"], "private key"),
    (&["seed", "phrase"], "recovery phrase"),
    (&["recovery", "phrase"], "recovery phrase"),
    (&["recovery", "code"], "recovery code"),
    (&["mnemonic"], "recovery phrase"),
    (&["one", "time", "code"], "one-time code"),
    (&["verification", "code"], "one-time code"),
    (&["otp"], "one-time code"),
    (&["totp"], "one-time code"),
    (&["card", "number"], "card number"),
    (&["credit", "card"], "card number"),
    (&["cvv"], "card number"),
    (&["cvc"], "card number"),
    (&["iban"], "account number"),
    (&["ssn"], "social security number"),
    (&["social", "security", "number"], "social security number"),
];

/// Words that name a secret in a name or a title, and are too common to say so in a description.
const SECRETS_IN_NAMES: &[(&[&str], &str)] = &[
    (&["token"], "token"),
    (&["pat"], "token"),
    (&["jwt"], "token"),
    (&["bearer"], "token"),
    (&["pin"], "PIN"),
    (&["key"], "key"),
    (&["pw"], "password"),
    (&["pass"], "password"),
];

/// A name that ends like this is about the secret and is not the secret: `api_key_name`, `token_limit`.
const ABOUT: &[&str] = &[
    "age",
    "count",
    "date",
    "description",
    "expiration",
    "expiry",
    "file",
    "id",
    "label",
    "length",
    "limit",
    "lifetime",
    "location",
    "name",
    "path",
    "policy",
    "reason",
    "type",
    "ttl",
    "url",
    "uri",
    "version",
];

/// A name whose last word is `key` is a secret only with one of these before it, or alone: `primary_key` is none.
const KEYS: &[&str] = &["api", "access", "account", "auth", "client", "license", "master", "secret", "service"];

pub(super) fn looks_like_secret(field: &Field) -> Option<&'static str> {
    match &field.kind {
        FieldKind::Text(rules) => {
            if let Some(TextFormat::Other(format)) = &rules.format
                && format == "password"
            {
                return Some("password");
            }
            // A day or an address is not a secret, whatever it is called.
            if !matches!(rules.format, None | Some(TextFormat::Other(_))) {
                return None;
            }
        }
        FieldKind::Number(_) | FieldKind::Integer(_) => {}
        FieldKind::Boolean | FieldKind::Choice(_) | FieldKind::Choices { .. } => return None,
    }
    let names = [Some(field.name.as_str()), field.title.as_deref()].into_iter().flatten().map(words);
    let found = names.filter(|words| !is_about(words)).find_map(|words| {
        find(SECRETS, &words).or_else(|| find(SECRETS_IN_NAMES, &words).filter(|what| *what != "key" || is_key(&words)))
    });
    let is_text = matches!(field.kind, FieldKind::Text(_));
    found.or_else(|| find(SECRETS, &words(field.description.as_deref().filter(|_| is_text)?)))
}

fn find(secrets: &[(&[&str], &'static str)], words: &[String]) -> Option<&'static str> {
    let stands_in = |phrase: &[&str]| words.windows(phrase.len()).any(|part| part.iter().eq(phrase.iter()));
    secrets.iter().find(|(phrase, _)| stands_in(phrase)).map(|(_, what)| *what)
}

fn is_about(words: &[String]) -> bool {
    words.last().is_some_and(|last| ABOUT.contains(&last.as_str()))
}

fn is_key(words: &[String]) -> bool {
    match words {
        [only] => only == "key",
        [.., before, last] => last == "key" && KEYS.contains(&before.as_str()),
        [] => false,
    }
}

/// The words of a name in any spelling (`apiKey`, `api_key`, `API key`), in lower case.
fn words(text: &str) -> Vec<String> {
    /// More words than any name or title has; a description is looked at this far.
    const MAX_WORDS: usize = 200;
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut after_lower = false;
    for character in text.chars() {
        let starts = character.is_uppercase() && after_lower;
        if (starts || !character.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
            if words.len() >= MAX_WORDS {
                return words;
            }
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        after_lower = character.is_lowercase() || character.is_ascii_digit();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}
