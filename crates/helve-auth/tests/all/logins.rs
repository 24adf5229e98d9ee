//! Whole logins: how many requests they take, what is kept, how they are finished elsewhere and given up.

use std::sync::Arc;
use std::sync::Mutex;

use helve_auth::ports::{BoxFuture, Person};
use helve_auth::{
    ConfiguredClient, ErrorKind, Grant, LoginWish, Next, Page, RecordName, RefusedRequest, Result, canonical_resource,
};
use helve_testkit::authority::{RegistrationKind, Switches, visit};
use secrecy::SecretString;

use crate::support::{SaysYes, World};

#[tokio::test]
async fn a_login_takes_four_requests_beside_the_page() {
    let world = World::new(Switches::default()).await;
    let sign_in = world.sign_in();
    let facts = world.login(&sign_in).await.unwrap();
    let paths: Vec<String> = world.authority.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(
        paths,
        [
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
            "/register",
            "/authorize",
            "/token",
        ]
    );
    assert_eq!(facts.issuer, Some(world.authority.base()));
    assert!(facts.renewable && facts.expires.is_some());
    let header = world.authorization(&sign_in).await.unwrap().unwrap();
    assert!(header.to_str().unwrap().starts_with("Bearer access-token-"));
    assert!(header.is_sensitive());
}

#[tokio::test]
async fn a_second_login_uses_the_registration_that_is_kept() {
    let world = World::new(Switches::default()).await;
    world.login(&world.sign_in()).await.unwrap();
    world.login(&world.sign_in()).await.unwrap();
    assert_eq!(world.authority.count("/register"), 1);
    let mut wish = world.wish();
    wish.fresh = true;
    world.sign_in().login(&wish, &SaysYes).await.unwrap();
    assert_eq!(world.authority.count("/register"), 2);
}

#[tokio::test]
async fn a_fresh_token_costs_nothing() {
    let world = World::new(Switches::default()).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let before = world.authority.seen().len();
    for _ in 0..100 {
        world.authorization(&sign_in).await.unwrap().unwrap();
    }
    assert_eq!(world.authority.seen().len(), before);
}

#[tokio::test]
async fn a_login_is_kept_for_the_next_process_and_under_its_resource() {
    let world = World::new(Switches::default()).await;
    world.login(&world.sign_in()).await.unwrap();
    let other = world.sign_in();
    assert!(world.authorization(&other).await.unwrap().is_some());
    let name = RecordName::login(&canonical_resource(&world.settings().server), None);
    assert_eq!(other.record(), &name);
    let facts = world.store.facts(&name).unwrap();
    assert_eq!(facts, other.facts().await.unwrap().unwrap());
    let mut settings = world.settings();
    settings.account = Some("work".to_owned());
    assert!(
        world.authorization(&world.sign_in_with(settings)).await.unwrap().is_none(),
        "another account, another login"
    );
}

/// Keeps the page for somebody else.
#[derive(Default)]
struct Shelf(Mutex<Option<Page>>);

impl Person for Shelf {
    fn show<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, Result<()>> {
        *self.0.lock().unwrap() = Some(page.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            loop {
                let page = self.0.lock().unwrap().take();
                match page {
                    // Where the browser would go last is what a person copies from its address line.
                    Some(page) => return redirect_of(&page).await,
                    None => tokio::task::yield_now().await,
                }
            }
        })
    }
}

/// The address a browser ends at, whether or not something listens there.
async fn redirect_of(page: &Page) -> String {
    visit(page.url.as_str()).await.unwrap().url
}

#[tokio::test]
async fn a_login_begins_in_one_process_and_ends_in_another() {
    let world = World::new(Switches::default()).await;
    let page = world.sign_in().begin(&world.wish()).await.unwrap();
    assert!(!page.is_awaited);
    let redirect = redirect_of(&page).await;
    let other = world.sign_in();
    assert_eq!(*other.finish("http://127.0.0.1/callback?code=x&state=y").await.unwrap_err().kind(), ErrorKind::Unsafe);
    other.finish(&redirect).await.unwrap();
    assert!(world.authorization(&other).await.unwrap().is_some());
    assert_eq!(*other.finish(&redirect).await.unwrap_err().kind(), ErrorKind::TimedOut, "once");
}

#[tokio::test]
async fn a_pasted_address_races_the_listener() {
    let world = World::new(Switches::default()).await;
    let sign_in = world.sign_in();
    sign_in.login(&world.wish(), &Shelf::default()).await.unwrap();
    assert!(world.authorization(&sign_in).await.unwrap().is_some());
}

#[tokio::test]
async fn nobody_comes_back_from_the_page() {
    struct Absent;
    impl Person for Absent {
        fn show<'a>(&'a self, _: &'a Page) -> BoxFuture<'a, Result<()>> {
            Box::pin(std::future::ready(Ok(())))
        }
    }
    let world = World::new(Switches::default()).await;
    let mut wish = world.wish();
    wish.time = Some(std::time::Duration::from_millis(50));
    let error = world.sign_in().login(&wish, &Absent).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TimedOut);
    // Q9: perhaps the page knew nothing of the client.
    world.login(&world.sign_in()).await.unwrap();
    assert_eq!(world.authority.count("/register"), 2);
}

#[tokio::test]
async fn logging_out_revokes_and_forgets() {
    let world = World::new(Switches::default()).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let out = sign_in.logout(false).await.unwrap();
    assert!(out.was_signed_in && out.revoked);
    assert_eq!(world.authority.count("/revoke"), 1);
    assert!(world.authorization(&sign_in).await.unwrap().is_none());
    assert!(world.authorization(&world.sign_in()).await.unwrap().is_none());
    assert!(!sign_in.logout(false).await.unwrap().was_signed_in);
}

#[tokio::test]
async fn a_client_signs_in_by_itself() {
    let world = World::new(Switches { registration: RegistrationKind::Absent, ..Switches::default() }).await;
    let mut settings = world.settings();
    settings.grant = Grant::ClientCredentials;
    settings.client = Some(ConfiguredClient {
        id: "configured".to_owned(),
        secret: Some(SecretString::from("hunter2-hunter2")),
        key: None,
    });
    let sign_in = world.sign_in_with(settings);
    assert!(world.authorization(&sign_in).await.unwrap().is_none());
    assert!(matches!(world.refused(&sign_in, None).await, helve_auth::Next::Repeat));
    let first = world.authorization(&sign_in).await.unwrap().unwrap();
    // Refused once more: another one is got, without a person.
    assert!(matches!(world.refused(&sign_in, Some(&first)).await, helve_auth::Next::Repeat));
    assert_ne!(world.authorization(&sign_in).await.unwrap().unwrap(), first);
    assert_eq!(world.authority.count("/authorize"), 0);
}

#[tokio::test]
async fn a_step_up_asks_for_what_was_asked_before_and_more() {
    let world = World::new(Switches { resource_scopes: Some(vec!["read".to_owned()]), ..Switches::default() }).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let sent = world.authorization(&sign_in).await.unwrap().unwrap();
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    let refusal = |earlier| helve_auth::RefusedRequest {
        status: 403,
        challenge: Some(challenge),
        sent: Some(&sent),
        nonce: None,
        earlier,
    };
    let helve_auth::Next::NeedsPerson(error) = sign_in.refused(&refusal(0)).await else {
        panic!("a person has to say yes")
    };
    assert_eq!(error.message(), "the server wants more rights: write");
    let mut wish = LoginWish::default();
    wish.challenge = Some(challenge.to_owned());
    let facts = sign_in.login(&wish, &SaysYes).await.unwrap();
    assert_eq!(facts.scopes, ["read", "write"]);
    let helve_auth::Next::Fail(error) = sign_in.refused(&refusal(1)).await else { panic!("asking again is in vain") };
    assert_eq!(error.message(), "the server wants the scopes write although they were asked for");
}

#[tokio::test]
async fn nothing_of_a_login_is_shown_by_debug() {
    let world = World::new(Switches::default()).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let shown = format!("{sign_in:?} {:?}", world.store);
    assert!(!shown.contains("-token-") && !shown.contains("verifier"), "{shown}");
    drop(Arc::clone(&sign_in));
}

#[tokio::test]
async fn the_login_after_a_refusal_asks_for_what_was_missing() {
    let world = World::new(Switches { resource_scopes: Some(vec!["read".to_owned()]), ..Switches::default() }).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let sent = world.authorization(&sign_in).await.unwrap();
    let challenge = Some("Bearer error=\"insufficient_scope\", scope=\"write\"");
    let refusal = RefusedRequest { status: 403, challenge, sent: sent.as_ref(), nonce: None, earlier: 0 };
    assert!(matches!(sign_in.refused(&refusal).await, Next::NeedsPerson(_)));
    // In another process, which knows nothing of that request.
    world.login(&world.sign_in()).await.unwrap();
    let seen = world.authority.seen();
    let asked = seen.iter().filter(|seen| seen.path == "/authorize").map(|seen| seen.parameters["scope"].as_str());
    assert_eq!(asked.collect::<Vec<_>>(), ["read", "read write"]);
    world.login(&world.sign_in()).await.unwrap();
}
