//! A host whose server wants a login.

use std::sync::Arc;
use std::time::SystemTime;

use helve::auth::ports::{BoxFuture, Person};
use helve::auth::{LoginWish, MemoryStore, Page};
use helve::{Host, SignIns, Surroundings};
use helve_model::{ErrorCode, ServerSpec};
use helve_testkit::Scenario;
use helve_testkit::authority::{Authority, Switches, visit};

use crate::support::{builder, call, http, shown, status};

/// A person who goes to the page and says yes.
struct SaysYes;

impl Person for SaysYes {
    fn show<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, helve::auth::Result<()>> {
        let url = page.url.to_string();
        drop(tokio::spawn(async move { visit(&url).await }));
        Box::pin(std::future::ready(Ok(())))
    }
}

struct World {
    authority: Authority,
    sign_ins: Arc<SignIns>,
    spec: ServerSpec,
}

impl World {
    async fn new(switches: Switches) -> Self {
        let authority = Authority::start(&Scenario::modern(), switches).await.unwrap();
        let sign_ins = Arc::new(SignIns::new(Arc::new(MemoryStore::new()), SystemTime::now));
        let spec = http("far", authority.url());
        Self { authority, sign_ins, spec }
    }

    async fn host(&self) -> Host {
        let surroundings =
            Surroundings::default().with(|surroundings| surroundings.sign_ins = Some(Arc::clone(&self.sign_ins)));
        builder([self.spec.clone()]).surroundings(surroundings).start().await.unwrap()
    }

    async fn login(&self) {
        let sign_in = self.sign_ins.of(&self.spec).unwrap().unwrap();
        sign_in.login(&LoginWish::default(), &SaysYes).await.unwrap();
    }
}

#[tokio::test]
async fn a_login_elsewhere_is_taken_at_the_next_call() {
    let world = World::new(Switches::default()).await;
    let host = world.host().await;
    let error = call(&host, "far/echo", "{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::AuthRequired);
    assert!(error.needs_login());
    assert!(status(&host, "far").starts_with("needs-auth"));
    assert!(shown(&error).contains("hint: sign in to server `far`"), "{}", shown(&error));
    world.login().await;
    call(&host, "far/echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn a_token_that_ends_is_renewed_once_for_all_calls() {
    let world = World::new(Switches::default()).await;
    world.login().await;
    let host = Arc::new(world.host().await);
    call(&host, "far/echo", "{}").await.unwrap();
    for round in 1..=5 {
        world.authority.end_access_tokens();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let host = Arc::clone(&host);
            calls.spawn(async move { call(&host, "far/echo", "{}").await.unwrap() });
        }
        drop(calls.join_all().await);
        assert_eq!((world.authority.refreshes(), world.authority.reuses()), (round, 0));
    }
}

#[tokio::test]
async fn q26_a_server_that_says_400_to_what_it_does_not_know_before_it_says_401() {
    let world = World::new(Switches { bad_request_first: true, ..Switches::default() }).await;
    let host = world.host().await;
    assert_eq!(call(&host, "far/echo", "{}").await.unwrap_err().code(), ErrorCode::AuthRequired);
    host.shutdown().await;
}

#[tokio::test]
async fn rights_that_are_missing_are_named() {
    let world = World::new(Switches { call_scope: Some("write".to_owned()), ..Switches::default() }).await;
    world.login().await;
    let host = world.host().await;
    let error = call(&host, "far/echo", "{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::AuthRequired);
    assert!(shown(&error).contains("the server wants more rights: write"), "{}", shown(&error));
    host.shutdown().await;
}
