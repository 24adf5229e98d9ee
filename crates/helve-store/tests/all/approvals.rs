//! Questions about calls: every change of state happens once, whoever comes first, and survives the process.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use helve_store::{
    Approval, ApprovalState, AskOutcome, DecideOutcome, Moment, NewApproval, SealKey, Store, StoreError, Verdict,
};

const MOST: u64 = 20;
const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);
const SECRET: &[u8] = br#"{"branch":"canary-7d1f"}"#;

fn store(directory: &tempfile::TempDir) -> Store {
    Store::open(&directory.path().join("hub"), |_| {}).expect("a store")
}

fn key() -> SealKey {
    SealKey::new(&[7; SealKey::BYTES]).expect("a key")
}

fn new(number: u8, principal: &str, at: Moment) -> NewApproval {
    let digest = [number; 32];
    NewApproval {
        digest,
        principal: principal.to_owned(),
        agent: Some("claude-code 2.3".to_owned()),
        server: "github".to_owned(),
        tool: "delete_branch".to_owned(),
        kind: "tool".to_owned(),
        risk: "high".to_owned(),
        rule: "a rule says ask".to_owned(),
        place: Some("helve.toml:3:1".to_owned()),
        needs_page: true,
        definition: Some("abc".to_owned()),
        arguments: key().seal(SECRET, &digest).expect("sealed"),
        asked: at,
        ends: at.after(Duration::from_secs(900)),
        random: [number.wrapping_mul(37); 16].map({
            let mut step = 0_u8;
            move |byte: u8| {
                step += 1;
                byte.wrapping_add(step.wrapping_mul(11))
            }
        }),
    }
}

fn asked(outcome: AskOutcome) -> Approval {
    match outcome {
        AskOutcome::New(approval) => approval,
        other => unreachable!("not a new question: {other:?}"),
    }
}

fn allow() -> Verdict {
    Verdict::Allow { until: NOW.after(Duration::from_secs(600)) }
}

fn deny(reason: &str) -> Verdict {
    Verdict::Deny { reason: Some(reason.to_owned()) }
}

#[test]
fn the_same_question_is_joined_and_a_yes_is_used_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = store(&directory);
    let first = asked(store.ask_approval(new(1, "token:ci", NOW), MOST).expect("asked"));
    let again = store.ask_approval(new(1, "token:ci", NOW.after(Duration::from_secs(1))), MOST).expect("asked");
    assert!(matches!(&again, AskOutcome::Joined(joined) if joined.id == first.id), "{again:?}");
    assert_eq!(store.open_approvals(NOW).expect("read").count, 1);

    let decided = store.decide_approval(&first.id, allow(), "page", NOW).expect("decided");
    assert!(matches!(decided, DecideOutcome::Decided(_)));
    let used = store.ask_approval(new(1, "token:ci", NOW), MOST).expect("asked");
    assert!(matches!(&used, AskOutcome::Allowed(used) if used.id == first.id), "{used:?}");
    // Used up: neither it nor the same call counts again.
    assert!(!store.spend_approval(&first.id, NOW).expect("spent"));
    assert_ne!(asked(store.ask_approval(new(1, "token:ci", NOW), MOST).expect("asked")).id, first.id);
}

#[test]
fn of_all_who_answer_at_once_one_wins_and_the_others_read_who() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Arc::new(store(&directory));
    for round in 0..20_u8 {
        let id = asked(store.ask_approval(new(round, &format!("p{round}"), NOW), MOST).expect("asked")).id;
        let start = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (store, start, id) = (Arc::clone(&store), Arc::clone(&start), id.clone());
                std::thread::spawn(move || {
                    let verdict = if number % 2 == 0 { allow() } else { deny("no") };
                    start.wait();
                    store.decide_approval(&id, verdict, &format!("person {number}"), NOW).expect("decided")
                })
            })
            .collect();
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("an end")).collect();
        let winners: Vec<_> = outcomes.iter().filter(|outcome| matches!(outcome, DecideOutcome::Decided(_))).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let (DecideOutcome::Decided(winner) | DecideOutcome::TooLate(winner)) = winners[0];
        for outcome in &outcomes {
            let (DecideOutcome::Decided(seen) | DecideOutcome::TooLate(seen)) = outcome;
            assert_eq!((&seen.decider, seen.state), (&winner.decider, winner.state));
        }
        let spenders: Vec<_> = (0..8)
            .map(|_| {
                let (store, id) = (Arc::clone(&store), id.clone());
                std::thread::spawn(move || store.spend_approval(&id, NOW).expect("spent"))
            })
            .collect();
        let spent = spenders.into_iter().filter(|_| true).map(|thread| thread.join().expect("an end"));
        let expected = usize::from(winner.state == ApprovalState::Allowed);
        assert_eq!(spent.filter(|spent| *spent).count(), expected);
    }
}

#[test]
fn what_is_too_old_is_answered_by_nobody() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = store(&directory);
    let id = asked(store.ask_approval(new(1, "a", NOW), MOST).expect("asked")).id;
    let late = NOW.after(Duration::from_secs(900));
    let outcome = store.decide_approval(&id, allow(), "page", late).expect("decided");
    assert!(matches!(&outcome, DecideOutcome::TooLate(found) if found.state == ApprovalState::Expired), "{outcome:?}");

    let id = asked(store.ask_approval(new(2, "a", NOW), MOST).expect("asked")).id;
    store.decide_approval(&id, allow(), "page", NOW).expect("decided");
    let lapsed = NOW.after(Duration::from_secs(600));
    assert!(!store.spend_approval(&id, lapsed).expect("spent"));
    assert_eq!(store.sweep_approvals(lapsed, NOW).expect("swept"), std::slice::from_ref(&id));
    assert_eq!(store.approval(&id).expect("read").expect("found").state, ApprovalState::Lapsed);
    let missing = store.decide_approval("A-NONE", allow(), "page", NOW);
    assert!(matches!(missing, Err(StoreError::NotFound(_))), "{missing:?}");
}

#[test]
fn a_loop_is_twenty_questions_at_most_and_costs_nobody_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = store(&directory);
    for number in 0..20 {
        asked(store.ask_approval(new(number, "loop", NOW), MOST).expect("asked"));
    }
    let more = store.ask_approval(new(20, "loop", NOW), MOST).expect("asked");
    assert_eq!(more, AskOutcome::TooMany(20));
    asked(store.ask_approval(new(21, "another", NOW), MOST).expect("asked"));
}

#[test]
fn what_a_principal_asked_is_withdrawn_with_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = store(&directory);
    let waiting = asked(store.ask_approval(new(1, "token:ci", NOW), MOST).expect("asked")).id;
    let allowed = asked(store.ask_approval(new(2, "token:ci", NOW), MOST).expect("asked")).id;
    let others = asked(store.ask_approval(new(3, "token:other", NOW), MOST).expect("asked")).id;
    store.decide_approval(&allowed, allow(), "page", NOW).expect("decided");
    let mut withdrawn = store.withdraw_approvals("token:ci", "the token was revoked", NOW).expect("withdrawn");
    let mut expected = [waiting, allowed.clone()];
    withdrawn.sort();
    expected.sort();
    assert_eq!(withdrawn, expected);
    assert!(!store.spend_approval(&allowed, NOW).expect("spent"));
    assert_eq!(store.pending_approvals(NOW, 10).expect("read").len(), 1);
    assert_eq!(store.approval(&others).expect("read").expect("found").state, ApprovalState::Pending);
}

#[test]
fn a_restart_loses_no_question_and_the_files_hold_no_arguments() {
    let directory = tempfile::tempdir().expect("a directory");
    let id = {
        let store = store(&directory);
        let id = asked(store.ask_approval(new(1, "a", NOW), MOST).expect("asked")).id;
        for file in ["hub/hub.db", "hub/hub.db-wal"] {
            let Ok(bytes) = fs_err::read(directory.path().join(file)) else { continue };
            assert!(!bytes.windows(6).any(|window| window == b"canary"), "{file}");
        }
        let backup = directory.path().join("backup.db");
        store.back_up(&backup).expect("a backup");
        let bytes = fs_err::read(backup).expect("a backup");
        assert!(!bytes.windows(6).any(|window| window == b"canary"));
        id
    };
    let store = store(&directory);
    let found = store.pending_approvals(NOW, 10).expect("read").remove(0);
    assert_eq!(found.id, id);
    assert_eq!(key().open(&found.asked.arguments, &found.asked.digest).as_deref(), Some(SECRET));
    let another = SealKey::new(&[8; SealKey::BYTES]).expect("a key");
    assert_eq!(another.open(&found.asked.arguments, &found.asked.digest), None);
    assert_eq!(key().open(&found.asked.arguments, &[9; 32]), None, "arguments of another call");
    // With the answer the arguments go.
    store.decide_approval(&id, deny("wrong branch"), "page", NOW).expect("decided");
    let found = store.approval(&id).expect("read").expect("found");
    assert!(found.asked.arguments.is_empty());
    assert_eq!(found.reason.as_deref(), Some("wrong branch"));
}

#[test]
fn ids_are_short_and_never_twice() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = store(&directory);
    let mut known = std::collections::HashSet::new();
    for number in 0..200_u8 {
        let mut one = new(number, &format!("p{number}"), NOW);
        // Every short id is taken by the first: what is taken is not given once more.
        one.random = [3; 16];
        one.random[14] = number;
        one.random[15] = number >> 5;
        if let AskOutcome::New(approval) = store.ask_approval(one, MOST).expect("asked") {
            assert!(approval.id.starts_with("A-") && approval.id.len() <= 18, "{}", approval.id);
            assert!(known.insert(approval.id), "twice");
        }
    }
}
