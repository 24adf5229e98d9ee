//! What one principal holds is not counted for another.

use super::*;

#[tokio::test(start_paused = true)]
async fn s22_what_one_holds_counts_for_nobody_else() {
    let tally = Tally::new(Limit::ParkedCalls, 3);
    let (one, two) = (Principal::token(0), Principal::token(1));
    let mut held: Vec<Held> = Vec::new();
    for _ in 0..3 {
        held.push(tally.hold(&one, 1).await.unwrap());
    }
    assert_eq!(tally.try_hold(&one, 1).unwrap_err(), Exceeded(Limit::ParkedCalls));
    drop(tally.try_hold(&two, 3).unwrap());
    // One that is larger than the limit is held alone.
    drop(tally.try_hold(&two, 9).unwrap());
    let started = Instant::now();
    assert!(tally.hold(&one, 1).await.is_err());
    assert_eq!(started.elapsed(), WAIT);
    let waits = tally.clone();
    let waiting = tokio::spawn(async move { waits.hold(&Principal::token(0), 2).await.is_ok() });
    tokio::task::yield_now().await;
    held.clear();
    assert!(waiting.await.unwrap());
    assert!(lock(&tally.0.holders).is_empty(), "something is remembered of those who are gone");
}
