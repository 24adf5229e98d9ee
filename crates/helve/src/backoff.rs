//! How long to wait before a server is tried again.

use std::time::Duration;

/// The first wait.
const BASE: Duration = Duration::from_millis(500);
/// The longest wait.
const CAP: Duration = Duration::from_secs(60);
/// A connection that lasted so long was a good one: waits begin anew.
const GOOD_AFTER: Duration = Duration::from_secs(30);
/// Each wait is up to this part of it shorter or longer, so that many hosts do not come back at one moment.
const JITTER: f64 = 0.25;

/// Waits that double, up to a limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The next wait; `random` is between 0 and 1.
    pub(crate) fn next(&mut self, random: f64) -> Duration {
        let doubled = BASE.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX)).min(CAP);
        self.failures = self.failures.saturating_add(1);
        doubled.mul_f64(1.0 + JITTER * (2.0 * random - 1.0))
    }

    /// A connection ended after so long. True when it was a good one.
    pub(crate) fn connected_for(&mut self, lasted: Duration) -> bool {
        let was_good = lasted >= GOOD_AFTER;
        if was_good {
            self.failures = 0;
        }
        was_good
    }
}

#[cfg(test)]
#[path = "backoff_tests.rs"]
mod tests;
