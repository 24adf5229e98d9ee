//! Signing in by a code that is typed elsewhere (RFC 8628), against the fake and its faults.

use std::sync::Mutex;
use std::time::Duration;

use helve_auth::ports::{BoxFuture, Person};
use helve_auth::{DeviceCode, ErrorKind, LoginWish, Page, Result};
use helve_testkit::authority::{DeviceKind, Switches, visit};

use crate::support::World;

/// Types the code on the page, if they type at all.
#[derive(Default)]
struct Typist {
    types: bool,
    seen: Mutex<Option<DeviceCode>>,
}

impl Typist {
    fn who_types() -> Self {
        Self { types: true, ..Self::default() }
    }
}

impl Person for Typist {
    fn show<'a>(&'a self, _: &'a Page) -> BoxFuture<'a, Result<()>> {
        unreachable!("a login by a code shows no page of its own")
    }

    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> BoxFuture<'a, Result<()>> {
        *self.seen.lock().unwrap() = Some(code.clone());
        Box::pin(async move {
            if self.types {
                let page = format!("{}?user_code={}", code.page, code.code);
                assert_eq!(visit(&page).await.unwrap().status, 200);
            }
            Ok(())
        })
    }
}

async fn world(device: DeviceKind) -> (World, LoginWish) {
    let world = World::new(Switches { device, ..Switches::default() }).await;
    let mut wish = world.wish();
    wish.device = true;
    (world, wish)
}

#[tokio::test]
async fn a_code_is_typed_elsewhere_and_the_login_is_like_any_other() {
    let (world, wish) = world(DeviceKind::Offered).await;
    let (sign_in, person) = (world.sign_in(), Typist::who_types());
    let facts = sign_in.login(&wish, &person).await.unwrap();
    let code = person.seen.lock().unwrap().clone().unwrap();
    assert_eq!(code.page.as_str(), format!("{}/device", world.authority.base()));
    assert!(facts.renewable && facts.issuer == Some(world.authority.base()));
    assert!(world.authorization(&sign_in).await.unwrap().is_some());
    assert_eq!((world.authority.count("/authorize"), world.authority.hasty_questions()), (0, 0));
    // It is renewed as any other.
    let sent = world.authorization(&sign_in).await.unwrap();
    world.authority.end_access_tokens();
    assert!(matches!(world.refused(&sign_in, sent.as_ref()).await, helve_auth::Next::Repeat));
    // The registration is good for browsers too.
    world.login(&world.sign_in()).await.unwrap();
    assert_eq!(world.authority.count("/register"), 1);
}

#[tokio::test]
async fn a_registration_for_browsers_alone_is_made_anew_once() {
    let (world, wish) = world(DeviceKind::Offered).await;
    world.login(&world.sign_in()).await.unwrap();
    world.sign_in().login(&wish, &Typist::who_types()).await.unwrap();
    assert_eq!(world.authority.count("/register"), 2);
    assert_eq!(world.authority.count("/device_authorization"), 2, "refused once, then given");
}

#[tokio::test]
async fn who_is_told_to_slow_down_does() {
    let (world, mut wish) = world(DeviceKind::SlowDown).await;
    wish.time = Some(Duration::from_secs(3));
    let error = world.sign_in().login(&wish, &Typist::default()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TimedOut, "{error}");
    assert_eq!(world.authority.count("/token"), 1, "the next question would have come too late");
    assert_eq!(world.authority.hasty_questions(), 0);
}

#[tokio::test]
async fn a_code_that_is_refused_or_over_says_which() {
    for (device, kind, words) in [
        (DeviceKind::Denied, ErrorKind::LoginRequired, "the person said no on the page"),
        (DeviceKind::Expired, ErrorKind::TimedOut, "nobody typed the code before it ended"),
    ] {
        let (world, wish) = world(device).await;
        let sign_in = world.sign_in();
        let error = sign_in.login(&wish, &Typist::default()).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (&kind, words));
        assert!(world.authorization(&sign_in).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn an_authorization_server_without_codes_says_so_before_anything_is_registered() {
    let (world, wish) = world(DeviceKind::Absent).await;
    let error = world.sign_in().login(&wish, &Typist::default()).await.unwrap_err();
    assert!(error.message().ends_with("does not offer to sign in by a code"), "{error}");
    assert_eq!(world.authority.count("/register"), 0);
}
