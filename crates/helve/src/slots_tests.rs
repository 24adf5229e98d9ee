//! Slots that questions lend.

use std::time::Duration;

use super::*;

async fn take(slots: &Slots) -> Option<Slot<'_>> {
    slots.take(Instant::now() + Duration::from_secs(1)).await
}

#[tokio::test(start_paused = true)]
async fn s22_a_question_lends_a_slot_until_it_is_answered() {
    let slots = Slots::new(2);
    let (first, second) = (take(&slots).await.unwrap(), take(&slots).await.unwrap());
    assert!(take(&slots).await.is_none());
    let question = slots.question();
    let lent = take(&slots).await.unwrap();
    assert!(take(&slots).await.is_none(), "one question lends more than one slot");
    // Answered while the lent slot is in use: whoever ends next gives it back.
    drop(question);
    drop(first);
    assert!(take(&slots).await.is_none(), "the lent slot stayed");
    drop(second);
    let third = take(&slots).await.unwrap();
    drop(lent);
    let fourth = take(&slots).await.unwrap();
    assert!(take(&slots).await.is_none());
    drop((third, fourth));
    // Answered while it is free: it is gone at once.
    drop(slots.question());
    let _both = (take(&slots).await.unwrap(), take(&slots).await.unwrap());
    assert!(take(&slots).await.is_none());
}
