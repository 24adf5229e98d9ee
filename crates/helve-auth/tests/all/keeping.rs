//! Keeping a login: one renewal for all who want it, nothing lost, nothing deleted (Q12).

use std::sync::Arc;

use helve_auth::{ErrorKind, Next};
use helve_testkit::authority::{Switches, TokenShape};

use crate::support::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_refused_calls_renew_once() {
    let world = Arc::new(World::new(Switches::default()).await);
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    for round in 1..=100 {
        let sent = world.authorization(&sign_in).await.unwrap().unwrap();
        world.authority.end_access_tokens();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let (world, sign_in, sent) = (Arc::clone(&world), Arc::clone(&sign_in), sent.clone());
            calls.spawn(async move {
                let next = world.refused(&sign_in, Some(&sent)).await;
                assert!(matches!(next, Next::Repeat), "{next:?}");
                world.authorization(&sign_in).await.unwrap().unwrap()
            });
        }
        let tokens = calls.join_all().await;
        assert!(tokens.iter().all(|token| *token != sent));
        assert_eq!((world.authority.refreshes(), world.authority.reuses()), (round, 0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_processes_renew_once() {
    let world = Arc::new(World::new(Switches::default()).await);
    world.login(&world.sign_in()).await.unwrap();
    for round in 1..=20 {
        world.authority.end_access_tokens();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..50 {
            // A sign-in of its own shares nothing with the others but the store and its lock.
            let (world, sign_in) = (Arc::clone(&world), world.sign_in());
            calls.spawn(async move {
                let sent = world.authorization(&sign_in).await.unwrap();
                let next = world.refused(&sign_in, sent.as_ref()).await;
                assert!(matches!(next, Next::Repeat), "{next:?}");
            });
        }
        drop(calls.join_all().await);
        // Whoever read the store after the renewal was given the new token, and refused it in vain: at most one more each.
        assert_eq!(world.authority.reuses(), 0, "round {round}");
    }
    assert!(world.authorization(&world.sign_in()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_caller_who_goes_away_takes_nothing_with_it() {
    let world =
        World::new(Switches { token_delay: std::time::Duration::from_millis(200), ..Switches::default() }).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let sent = world.authorization(&sign_in).await.unwrap().unwrap();
    let refused = world.refused(&sign_in, Some(&sent));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(50), refused).await.is_err());
    // The renewal goes on by itself: the next who asks finds it done.
    assert!(matches!(world.refused(&sign_in, Some(&sent)).await, Next::Repeat));
    assert_eq!((world.authority.refreshes(), world.authority.reuses()), (1, 0));
}

#[tokio::test]
async fn a_refusal_deletes_nothing_and_is_not_repeated() {
    let world = World::new(Switches::default()).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let sent = world.authorization(&sign_in).await.unwrap().unwrap();
    world.authority.end_access_tokens();
    world.authority.end_refresh_tokens();
    let before = world.authority.count("/token");
    for _ in 0..5 {
        let Next::NeedsPerson(error) = world.refused(&sign_in, Some(&sent)).await else { panic!("it is over") };
        assert_eq!(*error.kind(), ErrorKind::LoginRequired);
        assert!(error.message().starts_with("the login can no longer be renewed: "), "{error}");
    }
    assert_eq!(world.authority.count("/token"), before + 1, "asked once");
    assert!(sign_in.facts().await.unwrap().is_some(), "the login is still there");
    assert!(world.store.facts(sign_in.record()).is_some());
}

#[tokio::test]
async fn an_authorization_server_that_is_down_costs_nothing() {
    let world = World::new(Switches::default()).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let sent = world.authorization(&sign_in).await.unwrap().unwrap();
    world.authority.set(|switches| switches.token_shape = TokenShape::Broken);
    let Next::Fail(error) = world.refused(&sign_in, Some(&sent)).await else { panic!("try later") };
    assert!(error.is_passing(), "{error:?}");
    world.authority.set(|switches| switches.token_shape = TokenShape::Standard);
    assert!(matches!(world.refused(&sign_in, Some(&sent)).await, Next::Repeat));
}

#[tokio::test]
async fn somebody_else_s_renewal_is_found() {
    let world = World::new(Switches::default()).await;
    let (one, other) = (world.sign_in(), world.sign_in());
    world.login(&one).await.unwrap();
    let old = world.authorization(&other).await.unwrap().unwrap();
    assert!(matches!(world.refused(&one, Some(&old)).await, Next::Repeat));
    assert!(matches!(world.refused(&other, Some(&old)).await, Next::Repeat));
    assert_eq!(world.authority.refreshes(), 1);
    assert_eq!(world.authorization(&one).await.unwrap(), world.authorization(&other).await.unwrap());
}

#[tokio::test]
async fn a_token_that_was_just_renewed_and_is_refused_again_is_the_end() {
    let world = World::new(Switches::default()).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let sent = world.authorization(&sign_in).await.unwrap().unwrap();
    let refusal =
        helve_auth::RefusedRequest { status: 401, challenge: None, sent: Some(&sent), nonce: None, earlier: 1 };
    assert!(matches!(sign_in.refused(&refusal).await, Next::NeedsPerson(_)));
    assert_eq!(world.authority.refreshes(), 0);
}

#[tokio::test]
async fn a_login_elsewhere_reaches_those_who_wait() {
    let world = World::new(Switches::default()).await;
    let waiting = world.sign_in();
    assert!(world.authorization(&waiting).await.unwrap().is_none());
    assert!(matches!(world.refused(&waiting, None).await, Next::NeedsPerson(_)));
    world.login(&world.sign_in()).await.unwrap();
    assert!(matches!(world.refused(&waiting, None).await, Next::Repeat));
    assert!(world.authorization(&waiting).await.unwrap().is_some());
}
