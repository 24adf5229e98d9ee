//! Subscriptions that the peer ends or refuses: they are made again, or the caller is told, and none is left behind.

use std::sync::Arc;
use std::time::Duration;

use helve_testkit::{Offers, Scenario, wait_until_dead};
use helve_wire::launch::PlainLauncher;
use helve_wire::{Changes, Session, connect_stdio, connect_stream};

use crate::hand::Hand;
use crate::support::*;

const TOOLS: Changes = Changes { tools: true, prompts: false, resources: false };
const PROMPTS: Changes = Changes { tools: false, prompts: true, resources: false };

async fn hears_of_a_change(session: &Session, listener: &Listener) {
    listener.heard.lock().unwrap().clear();
    call(session, "list_changed", r#"{"kind":"tools"}"#).await.unwrap();
    eventually("the change", || listener.methods() == ["notifications/tools/list_changed"]).await;
}

/// With a result or by cancelling it, as the pages of the specification have it.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_the_server_ends_is_made_again() {
    for how in ["result", "cancelled"] {
        let listener = Arc::new(Listener::default());
        let peer = Scenario::modern().in_process();
        let session = connect_stream(peer.stream, listening(&listener)).await.unwrap();
        session.follow(TOOLS, times()).await.unwrap();
        for ended in 1..=3 {
            hears_of_a_change(&session, &listener).await;
            call(&session, "end_subscriptions", &format!(r#"{{"how":"{how}"}}"#)).await.unwrap();
            peer.recorder.wait_for_method("subscriptions/listen", ended + 1, PATIENCE).await.unwrap();
        }
        hears_of_a_change(&session, &listener).await;
    }
}

/// A server that ends each subscription at once is not asked without a pause.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_never_lasts_is_asked_for_less_and_less() {
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}\n";
    let peer = Scenario::modern().scripted("subscriptions/listen", frame).in_process();
    let session = connect_stream(peer.stream, options()).await.unwrap();
    let error = session.follow(TOOLS, helve_wire::Times::exactly(Duration::from_secs(60))).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TIMEOUT: the server did not acknowledge the subscription in time
      hint: raise the time-out of this server, or list again from time to time instead
    ");
    let asked = peer.recorder.count("subscriptions/listen");
    assert!((5..=15).contains(&asked), "asked {asked} times in a minute");
}

/// Told each time: a wish that was refused once is not a wish that was granted.
#[tokio::test]
async fn a_refused_subscription_is_an_error_each_time() {
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n";
    let peer = Scenario::modern().scripted("subscriptions/listen", frame).in_process();
    let session = connect_stream(peer.stream, options()).await.unwrap();
    let mut errors = Vec::new();
    for count in 1..=2 {
        errors.push(shown(&session.follow(TOOLS, times()).await.unwrap_err()));
        assert_eq!(peer.recorder.count("subscriptions/listen"), count);
    }
    insta::assert_snapshot!(the_same(errors), @r"
    PROTOCOL_ERROR: the server cannot be listened to: Method not found (-32601)
      hint: list again from time to time instead
    ");
    let scenario = Scenario::modern().offers(Offers { resources: false, ..Offers::default() });
    let session = in_process(&scenario, options()).await.unwrap();
    let mut errors = Vec::new();
    for _ in 0..2 {
        errors.push(shown(&session.subscribe("test://watched", times()).await.unwrap_err()));
    }
    insta::assert_snapshot!(the_same(errors), @r"
    RESOURCE_NOT_FOUND: the server does not let test://watched be subscribed to
      hint: read the resource again from time to time instead
    ");
}

/// What was granted before stays granted when more is refused.
#[tokio::test]
async fn a_refused_wish_leaves_the_others_alone() {
    let (session, mut hand) = Hand::modern(options()).await;
    let follow = |changes: Changes| {
        let session = session.clone();
        tokio::spawn(async move { session.follow(changes, times()).await })
    };
    let first = follow(TOOLS);
    let kept = hand.request("subscriptions/listen").await;
    acknowledge(&mut hand, kept, r#"{"toolsListChanged":true}"#).await;
    first.await.unwrap().unwrap();
    let second = follow(Changes { prompts: true, ..TOOLS });
    let refused = hand.request("subscriptions/listen").await;
    hand.line(&format!(r#"{{"jsonrpc":"2.0","id":{refused},"error":{{"code":-32000,"message":"enough"}}}}"#)).await;
    second.await.unwrap().unwrap_err();
    // The first one is open still: a wish for the same needs no request, another one replaces it.
    follow(TOOLS).await.unwrap().unwrap();
    let third = follow(PROMPTS);
    let id = hand.request("subscriptions/listen").await;
    acknowledge(&mut hand, id, r#"{"promptsListChanged":true}"#).await;
    third.await.unwrap().unwrap();
    let cancelled = hand.read().await;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&"notifications/cancelled".into(), &kept.into())
    );
}

/// Whoever gives up changing a wish leaves one listener, not two, and none when the session goes.
#[tokio::test]
async fn a_change_that_is_given_up_leaves_nothing_behind() {
    let (session, mut hand) = Hand::modern(options()).await;
    let first = tokio::spawn({
        let session = session.clone();
        async move { session.follow(TOOLS, times()).await }
    });
    let old = hand.request("subscriptions/listen").await;
    acknowledge(&mut hand, old, "{}").await;
    first.await.unwrap().unwrap();
    let second = tokio::spawn({
        let session = session.clone();
        async move { session.follow(PROMPTS, times()).await }
    });
    let new = hand.request("subscriptions/listen").await;
    second.abort();
    drop(second.await);
    drop(session);
    // The stream ends; before that, at most both requests are cancelled.
    let (mut reader, _writer) = hand.into_parts();
    let mut rest = String::new();
    let read = tokio::io::AsyncReadExt::read_to_string(&mut reader, &mut rest);
    tokio::time::timeout(Duration::from_secs(5), read).await.expect("the connection is kept").unwrap();
    assert!(old < new);
}

#[tokio::test]
async fn listening_does_not_keep_a_process() {
    let launcher = Noting::new(&PlainLauncher);
    let session = connect_stdio(&launcher, &command(&Scenario::modern()), options()).await.unwrap();
    session.follow(TOOLS, times()).await.unwrap();
    session.subscribe("test://watched", times()).await.unwrap();
    session.unsubscribe("test://watched", times()).await.unwrap();
    drop(session);
    assert_eq!(wait_until_dead(&launcher.started(), PATIENCE).await, Vec::<u32>::new());
}

async fn acknowledge(hand: &mut Hand, id: u64, accepted: &str) {
    hand.line(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{accepted}}}}}"#
    ))
    .await;
}
