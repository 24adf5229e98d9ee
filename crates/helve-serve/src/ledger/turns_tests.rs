//! Shares, queues and their bounds.

use super::*;

fn taker(principal: usize, session: u64) -> Taker {
    Taker { principal: Principal::token(principal), session }
}

/// As many turns as this session gets without waiting.
async fn fill(turns: &Turns, taker: &Taker) -> Vec<Taken> {
    let mut taken = Vec::new();
    while lock(&turns.0.state).may_take(turns.0.capacity, taker) {
        taken.push(turns.take(taker).await.unwrap());
    }
    taken
}

#[tokio::test(start_paused = true)]
async fn s8_nobody_holds_more_than_half_and_somebody_new_finds_room() {
    let turns = Turns::new(Limit::ServerCalls, 64);
    let mut held = Vec::new();
    let mut counts = Vec::new();
    for principal in 0..6 {
        let of_principal: usize = {
            let mut sum = 0;
            for session in 0..10 {
                let taken = fill(&turns, &taker(principal, session)).await;
                sum += taken.len();
                held.push(taken);
            }
            sum
        };
        counts.push(of_principal);
    }
    assert_eq!(counts, [32, 16, 8, 4, 2, 1]);
    assert!(turns.take(&taker(0, 99)).await.is_err());
    assert!(turns.take(&taker(7, 1)).await.is_ok());
    drop(held);
    assert!(lock(&turns.0.state).principals.is_empty(), "something is remembered of those who are gone");
}

/// S8: nobody who is alone at a server goes without any of it, and whoever comes next finds room all the same.
#[tokio::test(start_paused = true)]
async fn s8_whoever_is_alone_has_all_of_a_server() {
    for (calls_per_server, alone, next) in [(64, 64, 32), (2, 2, 1), (1, 1, 0)] {
        let ledger = crate::ledger::Ledger::new(&crate::limits::Limits::default(), calls_per_server);
        let turns = ledger.server(&helve_model::ServerName::new("one").unwrap());
        let mut held = Vec::new();
        for (principal, expected) in [(0, alone), (1, next)] {
            let mut count = 0;
            for session in 0..10 {
                let taken = fill(&turns, &taker(principal, session)).await;
                count += taken.len();
                held.push(taken);
            }
            assert_eq!(count, expected, "{calls_per_server}, {principal}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn s8_a_session_leaves_room_for_others_of_its_principal() {
    let turns = Turns::new(Limit::ServerCalls, 64);
    let first = fill(&turns, &taker(0, 1)).await;
    let second = fill(&turns, &taker(0, 2)).await;
    assert_eq!((first.len(), second.len()), (24, 6));
    assert!(turns.take(&taker(0, 3)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_single_turn_is_anybodys() {
    let turns = Turns::new(Limit::ServerCalls, 1);
    let taken = turns.take(&taker(0, 1)).await.unwrap();
    let waits = turns.clone();
    let waiting = tokio::spawn(async move { waits.take(&taker(1, 1)).await.is_ok() });
    tokio::task::yield_now().await;
    drop(taken);
    assert!(waiting.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn s8_turns_go_to_whoever_has_the_fewest_and_by_turns_to_sessions() {
    let turns = Turns::new(Limit::ServerCalls, 4);
    // One principal holds its half; of its sessions one waits thrice, then another one once, then another principal.
    let mut held = vec![turns.take(&taker(0, 1)).await.unwrap(), turns.take(&taker(0, 2)).await.unwrap()];
    held.push(turns.take(&taker(1, 1)).await.unwrap());
    held.push(turns.take(&taker(2, 1)).await.unwrap());
    let order: Arc<Mutex<Vec<(usize, u64)>>> = Arc::default();
    let mut waiting = Vec::new();
    for (principal, session) in [(0, 1), (0, 1), (0, 1), (0, 2), (1, 1)] {
        let (turns, order) = (turns.clone(), Arc::clone(&order));
        waiting.push(tokio::spawn(async move {
            let taken = turns.take(&taker(principal, session)).await;
            lock(&order).push((principal, session));
            // Others go on while it is held for a moment.
            tokio::task::yield_now().await;
            drop(taken);
        }));
        tokio::task::yield_now().await;
    }
    drop(held);
    for task in waiting {
        task.await.unwrap();
    }
    // When both turns of the first principal are back, it has the fewest; its sessions take turns.
    assert_eq!(*lock(&order), [(0, 1), (1, 1), (0, 2), (0, 1), (0, 1)]);
    assert!(lock(&turns.0.state).principals.is_empty());
}

#[tokio::test(start_paused = true)]
async fn s8_waiting_ends_after_a_second_and_the_queue_is_bounded() {
    let turns = Turns::new(Limit::ServerCalls, 2);
    let taken = turns.take(&taker(0, 1)).await.unwrap();
    let started = tokio::time::Instant::now();
    let mut waiting = Vec::new();
    for _ in 0..MOST_WAITING + 10 {
        let turns = turns.clone();
        waiting.push(tokio::spawn(async move {
            let refused = turns.take(&taker(0, 1)).await.unwrap_err();
            assert_eq!(refused, Exceeded(Limit::ServerCalls));
            tokio::time::Instant::now()
        }));
    }
    let mut at_once = 0;
    for task in waiting {
        let ended = task.await.unwrap() - started;
        assert!(ended.is_zero() || ended == WAIT, "{ended:?}");
        at_once += usize::from(ended.is_zero());
    }
    assert_eq!(at_once, 10);
    drop(taken);
    assert!(lock(&turns.0.state).principals.is_empty());
}

/// Whoever stops waiting, before or after its turn came, takes nothing along.
#[tokio::test(start_paused = true)]
async fn turns_of_those_who_left_are_not_lost() {
    let turns = Turns::new(Limit::ServerCalls, 2);
    for granted_first in [false, true] {
        let taken = turns.take(&taker(0, 1)).await.unwrap();
        let left = taker(0, 1);
        let mut waiting = Box::pin(turns.take(&left));
        assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
        if granted_first {
            drop(taken);
            drop(waiting);
        } else {
            drop(waiting);
            drop(taken);
        }
        assert!(lock(&turns.0.state).principals.is_empty(), "granted first: {granted_first}");
    }
}
