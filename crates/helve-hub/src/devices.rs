//! Devices that joined: seen when their stream says so, put down from time to time.

use std::collections::HashMap;
use std::sync::Mutex;

use helve_model::sync::lock;
use helve_store::{Device, Moment, Store, StoreError};

/// Devices that are noted between two looks of the store; further ones are noted next time.
const MOST_NOTED: usize = 1_000;

/// The longest name of a device.
const LONGEST_NAME: usize = 64;

/// The devices seen since the store was last told.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    /// By token and name.
    seen: Mutex<HashMap<(String, String), Device>>,
}

impl Devices {
    /// A device was seen. What it calls itself is a stranger's word: plain characters, or nothing.
    pub(crate) fn saw(&self, token: &str, name: &str, now: Moment) {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_plain) {
            return;
        }
        let mut seen = lock(&self.seen);
        let key = (token.to_owned(), name.to_owned());
        if seen.len() >= MOST_NOTED && !seen.contains_key(&key) {
            return;
        }
        let device = Device { token: token.to_owned(), name: name.to_owned(), first: now, last: now };
        seen.entry(key).or_insert(device).last = now;
    }

    /// Puts down which were seen.
    pub(crate) fn note(&self, store: &Store) {
        let seen: Vec<Device> = std::mem::take(&mut *lock(&self.seen)).into_values().collect();
        if !seen.is_empty()
            && let Err(error) = store.see_devices(seen)
        {
            tracing::warn!(%error, "when devices were seen could not be noted");
        }
    }

    /// All that are remembered, those seen since the last note included.
    pub(crate) fn all(&self, store: &Store) -> Result<Vec<Device>, StoreError> {
        self.note(store);
        store.devices()
    }
}
