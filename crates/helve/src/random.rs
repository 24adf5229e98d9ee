//! A little randomness, for jitter and names: nothing here guards a secret.

use std::hash::{BuildHasher as _, RandomState};

/// A number between 0 and 1, another one every time.
pub(crate) fn random_fraction() -> f64 {
    let bits = random_number() >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

/// A number, another one every time.
pub(crate) fn random_number() -> u64 {
    // Each `RandomState` has keys of its own.
    RandomState::new().hash_one(0_u8)
}
