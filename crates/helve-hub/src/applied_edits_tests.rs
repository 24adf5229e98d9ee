//! When an edit counts, and that nobody waits for ever.

use std::sync::Arc;
use std::time::Duration;

use super::AppliedEdits;

#[tokio::test(start_paused = true)]
async fn an_edit_counts_after_a_look_that_began_after_it() {
    let edits = Arc::new(AppliedEdits::default());
    assert!(!edits.count().await, "where nobody looks nobody waits");
    let early = edits.begin();
    edits.edited();
    let waiting = tokio::spawn({
        let edits = Arc::clone(&edits);
        async move { edits.count().await }
    });
    tokio::task::yield_now().await;
    edits.end(early);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_finished(), "that look may have missed it");
    edits.next().await;
    let look = edits.begin();
    edits.end(look);
    assert!(waiting.await.expect("an end"));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever() {
    let edits = AppliedEdits::default();
    edits.begin();
    assert!(!edits.count().await);
}
