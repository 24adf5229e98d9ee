//! The key of a vault: where it comes from, and what it seals with (AES-256-GCM).

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::{ExposeSecret as _, SecretString};

use super::error::VaultError;
use super::file::{read_private, write_private};
use super::{GivenKey, Vault};
use crate::keyring::Attributes;

/// The text by which a key is known.
const CHECK: &str = "helve vault";
const KEY_BYTES: usize = 32;

/// Where the key of a vault is. It is written into the vault and never guessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SealedBy {
    /// The person hands it over each time.
    Given,
    /// A file of the person's own, in another directory.
    KeyFile,
    /// The system's keyring, in the item of this name.
    Keyring(String),
}

impl SealedBy {
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Given => "key",
            Self::KeyFile => "key-file",
            Self::Keyring(_) => "keyring",
        }
    }

    /// The item of the keyring, where there is one.
    pub(super) fn item(&self) -> Option<&str> {
        match self {
            Self::Keyring(item) => Some(item),
            Self::Given | Self::KeyFile => None,
        }
    }

    pub(super) fn from_name(name: &str, item: Option<String>) -> Option<Self> {
        match (name, item) {
            ("key", None) => Some(Self::Given),
            ("key-file", None) => Some(Self::KeyFile),
            ("keyring", Some(item)) => Some(Self::Keyring(item)),
            _ => None,
        }
    }
}

/// What the key of a vault is known by in the keyring: several vaults can be there.
fn attributes(item: &str) -> Attributes {
    vec![("application", "helve".to_owned()), ("vault", item.to_owned())]
}

/// A key that seals.
pub(super) struct Key(LessSafeKey);

impl Key {
    /// The key for a vault that does not exist yet.
    pub(super) fn for_new_vault(vault: &Vault) -> Result<(Self, SealedBy), VaultError> {
        if let Some(given) = &vault.given {
            return Ok((Self::given(given)?, SealedBy::Given));
        }
        if let Some(kept) = Self::kept_in_keyring(vault)? {
            return Ok(kept);
        }
        let Some(key_file) = &vault.key_file else {
            return Err(VaultError::new("there is no place for the key of the vault")
                .with_hint("HELVE_VAULT_KEY or the setting `vault_key` gives one"));
        };
        let text = match read_private(key_file)? {
            Some(text) => SecretString::from(text),
            None => {
                let (_, text) = Self::fresh()?;
                write_private(key_file, &format!("{}\n", text.expose_secret()))?;
                text
            }
        };
        Ok((Self::parse(&text, &key_file.display().to_string())?, SealedBy::KeyFile))
    }

    /// A new key in the system's keyring; `None` where that does not take one, and why is noted.
    fn kept_in_keyring(vault: &Vault) -> Result<Option<(Self, SealedBy)>, VaultError> {
        let Some(keyring) = &vault.keyring else { return Ok(None) };
        let mut item = [0; 16];
        fill(&mut item)?;
        let item: String = item.iter().map(|byte| format!("{byte:02x}")).collect();
        let (key, text) = Self::fresh()?;
        match keyring.keep("Key of helve's vault", attributes(&item), text) {
            Ok(()) => Ok(Some((key, SealedBy::Keyring(item)))),
            Err(problem) => {
                // Set once; the first reason is the one that led to the file.
                drop(vault.no_keyring.set(problem.to_string()));
                Ok(None)
            }
        }
    }

    /// The key of a vault that says where its key is.
    pub(super) fn find(vault: &Vault, sealed_by: &SealedBy) -> Result<Self, VaultError> {
        match sealed_by {
            SealedBy::Keyring(item) => {
                let away = |why: &str| VaultError::new(format!("the logins and secrets cannot be opened: {why}"));
                let Some(keyring) = &vault.keyring else {
                    return Err(away("their key is in the system's keyring, which nobody looks into here"));
                };
                match keyring.find(vec![attributes(item)]) {
                    Ok(Some(text)) => Self::parse(&text, "the item of helve in the system's keyring"),
                    Ok(None) => Err(VaultError::no_key("their key is gone from the system's keyring")),
                    Err(problem) => Err(away(&format!("the system's keyring, which holds their key, {problem}"))
                        .with_hint(problem.hint())),
                }
            }
            SealedBy::Given => match &vault.given {
                Some(given) => Self::given(given),
                None => Err(VaultError::no_key(
                    "they are sealed with a key that HELVE_VAULT_KEY or the setting `vault_key` has to give, and neither is set",
                )),
            },
            SealedBy::KeyFile => {
                let Some(key_file) = &vault.key_file else {
                    return Err(VaultError::no_key("their key is in a file, and nobody says in which"));
                };
                match read_private(key_file)? {
                    Some(text) => Self::parse(&SecretString::from(text), &key_file.display().to_string()),
                    None => Err(VaultError::no_key(&format!("their key, {}, is gone", key_file.display()))),
                }
            }
        }
    }

    /// A key that nobody had before, and the same as text.
    pub(super) fn fresh() -> Result<(Self, SecretString), VaultError> {
        let mut bytes = [0; KEY_BYTES];
        fill(&mut bytes)?;
        let text = SecretString::from(BASE64_STANDARD.encode(bytes));
        Ok((Self::parse(&text, "a new key")?, text))
    }

    fn given(given: &GivenKey) -> Result<Self, VaultError> {
        match given {
            GivenKey::Variable(name, key) => Self::parse(key, name),
            GivenKey::Printed(print) => Self::parse(&print()?, "what the command of `vault_key` prints"),
        }
    }

    /// 32 bytes, as base64 or hex.
    pub(super) fn parse(text: &SecretString, place: &str) -> Result<Self, VaultError> {
        let text = text.expose_secret().trim();
        let bytes = match text.len() {
            64 => unhex(text),
            _ => BASE64_STANDARD.decode(text).ok(),
        };
        let key = bytes.filter(|bytes| bytes.len() == KEY_BYTES);
        let key = key.and_then(|bytes| UnboundKey::new(&AES_256_GCM, &bytes).ok());
        let key = key.ok_or_else(|| {
            VaultError::new(format!("{place} does not hold a key: 32 bytes as base64 or hex"))
                .with_hint("`openssl rand -base64 32` makes one")
        })?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// Seals a text, bound to another that stays in clear.
    pub(super) fn seal(&self, text: &SecretString, bound: &str) -> Result<String, VaultError> {
        let mut nonce = [0; NONCE_LEN];
        fill(&mut nonce)?;
        let mut sealed = text.expose_secret().as_bytes().to_vec();
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(bound), &mut sealed)
            .map_err(|_| VaultError::new("a record cannot be sealed"))?;
        let mut whole = nonce.to_vec();
        whole.append(&mut sealed);
        Ok(BASE64_STANDARD.encode(whole))
    }

    /// Opens what was sealed; `None` when it is not what it was, or stands elsewhere.
    pub(super) fn open(&self, sealed: &str, bound: &str) -> Option<SecretString> {
        let whole = BASE64_STANDARD.decode(sealed).ok()?;
        let (nonce, sealed) = whole.split_at_checked(NONCE_LEN)?;
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self.0.open_in_place(nonce, Aad::from(bound), &mut sealed).ok()?;
        std::str::from_utf8(opened).ok().map(|text| SecretString::from(text.to_owned()))
    }

    /// What tells this key from others.
    pub(super) fn check(&self) -> Result<String, VaultError> {
        self.seal(&SecretString::from(CHECK), CHECK)
    }

    pub(super) fn fits(&self, check: &str) -> bool {
        self.open(check, CHECK).is_some_and(|text| text.expose_secret() == CHECK)
    }
}

fn fill(bytes: &mut [u8]) -> Result<(), VaultError> {
    SystemRandom::new().fill(bytes).map_err(|_| VaultError::new("the system gives no random numbers"))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    digits?.chunks(2).map(|pair| u8::try_from(pair.first()? * 16 + pair.get(1)?).ok()).collect()
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key")
    }
}
