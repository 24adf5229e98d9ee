//! What was sent and what came back, where a server's entry asks for it: cut to a size, without secrets, sealed with a key
//! of the vault. Whoever has the store's file alone reads nothing of it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use helve::CallBodies;
use helve_setup::Setup;
use helve_store::CallBody;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::error::HubError;

/// So many bytes of the arguments are kept, and so many of the result.
const MOST_OF_ARGUMENTS: usize = 4 << 10;
const MOST_OF_A_RESULT: usize = 8 << 10;

/// The record of the vault that holds the key.
const RECORD: &str = "hub bodies";
const KEY_BYTES: usize = 32;

/// Seals and opens what is recorded of calls. The key is had when the first body comes, and made then if there is none.
pub struct BodySeal {
    setup: Arc<Setup>,
    key: OnceLock<Option<LessSafeKey>>,
}

/// What was kept of one call, opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenedBody {
    pub(crate) arguments: Option<String>,
    pub(crate) result: Option<String>,
    /// Some of it was too long.
    pub(crate) is_cut: bool,
}

impl BodySeal {
    /// With a key of this setup's vault.
    #[must_use]
    pub const fn new(setup: Arc<Setup>) -> Self {
        Self { setup, key: OnceLock::new() }
    }

    /// Seals what a call sent and got, for this call alone; `None` where there is no key to seal it with.
    pub(crate) fn seal(&self, bodies: &CallBodies, call: &str) -> Option<CallBody> {
        let mut is_cut = false;
        let mut cut = |text: Option<String>, most: usize| {
            text.map(|mut text| {
                is_cut |= text.len() > most;
                text.truncate(text.floor_char_boundary(most));
                text
            })
        };
        let arguments = cut(bodies.arguments(), MOST_OF_ARGUMENTS);
        let result = cut(bodies.result(), MOST_OF_A_RESULT);
        let text = serde_json::to_vec(&OpenedBody { arguments, result, is_cut }).ok()?;
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let (mut whole, mut sealed) = (nonce.to_vec(), text);
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.key()?.seal_in_place_append_tag(nonce, Aad::from(call), &mut sealed).ok()?;
        whole.append(&mut sealed);
        Some(CallBody(whole))
    }

    /// Opens what was kept of a call.
    pub(crate) fn open(&self, body: &CallBody, call: &str) -> Result<OpenedBody, HubError> {
        let unreadable =
            || HubError::failed("what was kept of this call cannot be opened: its key is gone, or it was changed");
        let (nonce, sealed) = body.0.split_at_checked(NONCE_LEN).ok_or_else(unreadable)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| unreadable())?;
        let mut sealed = sealed.to_vec();
        let opened = self.key().and_then(|key| key.open_in_place(nonce, Aad::from(call), &mut sealed).ok());
        serde_json::from_slice(opened.ok_or_else(unreadable)?).map_err(|_| unreadable())
    }

    fn key(&self) -> Option<&LessSafeKey> {
        let found = self.key.get_or_init(|| match self.find() {
            Ok(key) => Some(key),
            Err(problem) => {
                tracing::warn!(%problem, "arguments and results are not recorded: there is no key to seal them with");
                None
            }
        });
        found.as_ref()
    }

    fn find(&self) -> Result<LessSafeKey, String> {
        let credentials = self.setup.credentials().ok_or("there is no directory for the vault")?;
        let known = credentials.vault.read(RECORD).map_err(|error| error.to_string())?;
        let text = match known {
            Some(text) => text,
            None => {
                let mut bytes = [0; KEY_BYTES];
                getrandom::fill(&mut bytes).map_err(|_| "the machine gives no random numbers")?;
                let text = SecretString::from(BASE64_STANDARD.encode(bytes));
                let facts = serde_json::json!({ "kind": "key" });
                credentials.vault.write(RECORD, &text, facts).map_err(|error| error.to_string())?;
                text
            }
        };
        let bytes = BASE64_STANDARD.decode(text.expose_secret()).map_err(|_| "the key is none")?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| "the key is none")?;
        Ok(LessSafeKey::new(key))
    }
}

impl fmt::Debug for BodySeal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BodySeal")
    }
}
