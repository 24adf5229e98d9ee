//! Rounds under a flood.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[tokio::test(start_paused = true)]
async fn s8_a_flood_of_one_lets_another_in_within_a_round() {
    let pace = Pace::default();
    let (flood, quiet) = (Some(Principal::token(0)), Some(Principal::token(1)));
    let begun = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for _ in 0..1_000 {
        let (pace, flood, begun) = (pace.clone(), flood.clone(), Arc::clone(&begun));
        tasks.push(tokio::spawn(async move {
            pace.enter(&flood).await;
            begun.fetch_add(1, Ordering::Relaxed);
        }));
    }
    let (quiet_pace, counted) = (pace.clone(), Arc::clone(&begun));
    tasks.push(tokio::spawn(async move {
        let mut before = counted.load(Ordering::Relaxed);
        for _ in 0..20 {
            behind_the_others().await;
            quiet_pace.enter(&quiet).await;
            let now = counted.load(Ordering::Relaxed);
            assert!(now - before <= ROUND * 4, "{} began before the quiet one", now - before);
            before = now;
        }
    }));
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(begun.load(Ordering::Relaxed), 1_000);
    let rounds = lock(&pace.0);
    assert!(rounds.waiting.is_empty() && !rounds.is_going);
}

#[tokio::test(start_paused = true)]
async fn those_who_left_take_no_place() {
    let pace = Pace::default();
    let who = Some(Principal::token(0));
    for _ in 0..AT_ONCE {
        pace.enter(&who).await;
    }
    for _ in 0..1_000 {
        let mut waits = Box::pin(pace.enter(&who));
        assert!(futures_util::FutureExt::now_or_never(&mut waits).is_none());
    }
    pace.enter(&who).await;
    assert!(lock(&pace.0).waiting.is_empty());
}
