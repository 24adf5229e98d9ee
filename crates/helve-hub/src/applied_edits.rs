//! When an edit counts: whoever follows the files is woken after each, and a page waits until it has looked at them, so that
//! it shows what is and not what was.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};

/// How long a page waits for an edit to count.
const PATIENCE: Duration = Duration::from_secs(3);

/// Edits, and whether they count yet.
#[derive(Debug)]
pub(crate) struct AppliedEdits {
    edited: Notify,
    /// Looks at the files that were begun.
    begun: AtomicU64,
    /// The newest look that has ended; 0: nobody has looked yet.
    ended: watch::Sender<u64>,
}

impl Default for AppliedEdits {
    fn default() -> Self {
        Self { edited: Notify::new(), begun: AtomicU64::new(0), ended: watch::Sender::new(0) }
    }
}

impl AppliedEdits {
    /// A file was edited: somebody should look.
    pub(crate) fn edited(&self) {
        self.edited.notify_one();
    }

    /// Waits until a file was edited since this was asked last.
    pub(crate) async fn next(&self) {
        self.edited.notified().await;
    }

    /// Somebody begins to look at the files; the number is handed back when what they say counts.
    pub(crate) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn end(&self, look: u64) {
        self.ended.send_replace(look);
    }

    /// Waits until every edit that was made so far counts; false where nobody looks soon.
    pub(crate) async fn count(&self) -> bool {
        let before = self.begun.load(Ordering::SeqCst);
        if before == 0 {
            return false;
        }
        let mut ended = self.ended.subscribe();
        // A look that had begun before may have missed the edit.
        tokio::time::timeout(PATIENCE, ended.wait_for(|look| *look > before)).await.is_ok_and(|seen| seen.is_ok())
    }
}

#[cfg(test)]
#[path = "applied_edits_tests.rs"]
mod tests;
