//! A host over a restart of the process: what servers speak, HTTP sessions that may still be valid, and watches.
//!
//! What would run is part of the key, so that a server that was configured anew begins anew. Tool lists have a place of
//! their own on disk.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use helve_model::json::RawJson;
use helve_model::{ErrorCode, ServerSpec};
use helve_wire::{Greeting, NegotiatedVersion, OtherEra, SavedSession};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::error::CallError;
use crate::host::Host;
use crate::schema_cache::Salt;
use crate::watch::{SavedWatch, Watcher};
use helve_model::sync::lock;

/// What [`Host::save`] keeps. It has session ids in it: whoever reads it can speak in the host's name.
#[derive(Clone)]
pub struct SavedHost(Kept);

#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    salt: [u8; 32],
    servers: HashMap<String, KeptServer>,
    watches: Vec<SavedWatch>,
}

#[derive(Clone, Serialize, Deserialize)]
struct KeptServer {
    version: String,
    /// Does it speak the other era too? `None`: nobody tried.
    #[serde(default)]
    speaks_other_era: Option<bool>,
    session: Option<KeptSession>,
}

#[derive(Clone, Serialize, Deserialize)]
struct KeptSession {
    id: String,
    capabilities: Box<serde_json::value::RawValue>,
    server_info: Option<Box<serde_json::value::RawValue>>,
    instructions: Option<String>,
}

/// What a host was given to go on with. Each session is taken once: two connections must not share it.
#[derive(Default)]
pub(crate) struct Resumable(Mutex<Option<Kept>>);

impl Host {
    /// Keeps what is worth keeping, these watchers' watches too. Sessions that are kept are left open at their servers
    /// when this host ends; go on with [`HostBuilder::resume`](crate::HostBuilder::resume) and [`Watcher::resume`].
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn save(&self, watchers: &[&Watcher]) -> Result<SavedHost, CallError> {
        let salt = Salt::new().map_err(|error| {
            CallError::new(ErrorCode::ServerUnavailable, "the host cannot be saved").with_source(error)
        })?;
        let mut servers = HashMap::new();
        let started_in = self.shared().surroundings.working_directory.as_deref();
        for handle in self.shared().handles() {
            let Some(greeting) = handle.facts().greeting else { continue };
            let session = handle.session_now().and_then(|session| session.suspend());
            let kept = KeptServer {
                version: greeting.negotiated.version,
                speaks_other_era: match greeting.negotiated.other {
                    OtherEra::Unknown => None,
                    OtherEra::Spoken => Some(true),
                    OtherEra::NotSpoken => Some(false),
                },
                session: session.as_ref().map(keep_session),
            };
            servers.insert(salt.key(handle.spec(), started_in).to_string(), kept);
        }
        let watches = watchers.iter().flat_map(|watcher| watcher.save()).collect();
        Ok(SavedHost(Kept { salt: *salt.as_bytes(), servers, watches }))
    }
}

impl SavedHost {
    /// Reads what [`SavedHost::to_json`] wrote.
    ///
    /// # Errors
    /// `INVALID_PARAMS` for anything else.
    pub fn read(json: &str) -> Result<Self, CallError> {
        serde_json::from_str(json).map(Self).map_err(|error| {
            CallError::new(ErrorCode::InvalidParams, "this is not what a host was saved as")
                .with_hint("start without it: everything is found out again")
                .with_source(error)
        })
    }

    /// As JSON. Keep it where only its owner can read it.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Texts, numbers and JSON that was read before: there is nothing that could fail.
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// The watches, for [`Watcher::resume`].
    #[must_use]
    pub fn watches(&self) -> &[SavedWatch] {
        &self.0.watches
    }
}

impl Resumable {
    pub(crate) fn new(saved: SavedHost) -> Self {
        Self(Mutex::new(Some(saved.0)))
    }

    /// What is known about a server, for its first connection. `started_in` is where programs run that have no directory
    /// of their own.
    pub(crate) fn take(
        &self,
        spec: &ServerSpec,
        started_in: Option<&Path>,
    ) -> Option<(NegotiatedVersion, Option<SavedSession>)> {
        let mut kept = lock(&self.0);
        let kept = kept.as_mut()?;
        let key = Salt::from_bytes(kept.salt).key(spec, started_in).to_string();
        let server = kept.servers.remove(&key)?;
        let other = match server.speaks_other_era {
            None => OtherEra::Unknown,
            Some(true) => OtherEra::Spoken,
            Some(false) => OtherEra::NotSpoken,
        };
        let negotiated = NegotiatedVersion { other, ..NegotiatedVersion::of_version(&server.version)? };
        let session = server.session.and_then(|session| resume_session(session, negotiated.clone()));
        Some((negotiated, session))
    }
}

fn keep_session(session: &SavedSession) -> KeptSession {
    let raw = |json: &RawJson| serde_json::from_str(json.as_str()).ok();
    KeptSession {
        id: session.id.expose_secret().to_owned(),
        capabilities: raw(&session.greeting.capabilities).unwrap_or_default(),
        server_info: session.greeting.server_info.as_ref().and_then(raw),
        instructions: session.greeting.instructions.clone(),
    }
}

fn resume_session(kept: KeptSession, negotiated: NegotiatedVersion) -> Option<SavedSession> {
    let greeting = Greeting {
        negotiated,
        capabilities: RawJson::checked(kept.capabilities.get()).ok()?,
        server_info: kept.server_info.and_then(|info| RawJson::checked(info.get()).ok()),
        instructions: kept.instructions,
    };
    Some(SavedSession { id: SecretString::from(kept.id), greeting })
}

impl std::fmt::Debug for SavedHost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (servers, watches) = (self.0.servers.len(), self.0.watches.len());
        formatter.debug_struct("SavedHost").field("servers", &servers).field("watches", &watches).finish()
    }
}
