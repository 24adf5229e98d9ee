//! Signing in to a server from the page: the answer comes to the hub's own address, and belongs to a login begun here.

use helve_testkit::Scenario;
use helve_testkit::authority::{Authority, Switches, visit};
use http::StatusCode;

use crate::world::{Brings, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_and_out_by_the_page() {
    let authority = Authority::start(&Scenario::modern(), Switches::default()).await.expect("an authority");
    let world = World::of(&format!("[servers.shop]\nurl = \"{}\"\n", authority.url())).await;
    let page = world.page("/servers/shop").await;
    assert!(page.contains("Sign-in needed") && page.contains("wants a login"), "{page}");
    // A token cannot have one begun.
    assert_eq!(world.api("POST", "/api/v1/servers/shop/sign-in", "").await.0, StatusCode::FORBIDDEN);

    let (status, page) = world.post("/servers/shop/sign-in", &[]).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    let address = page.split("href=\"").find(|rest| rest.starts_with(&authority.base())).expect("a link to it");
    let address = address.split('"').next().expect("an address").replace("&amp;", "&").replace("&#38;", "&");
    assert!(address.contains("redirect_uri=http%3A%2F%2F127.0.0.1%3A7333%2Fcallback"), "{address}");
    let visit = visit(&address).await.expect("a page");
    let back = visit.addresses.iter().find(|url| url.contains("/callback?")).expect("sent back");
    let path = back.strip_prefix("http://127.0.0.1:7333").expect("the hub's address").to_owned();
    // Without the session nobody finishes it, and a guess finishes nothing.
    assert_eq!(world.ask("GET", &path, Brings::Nothing, None, "").await.0, StatusCode::UNAUTHORIZED);
    let (status, text) = world.ask("GET", "/callback?state=guess&code=x", Brings::Cookie, None, "").await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
    let (status, text) = world.ask("GET", &path, Brings::Cookie, None, "").await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    // Once.
    assert_eq!(world.ask("GET", &path, Brings::Cookie, None, "").await.0, StatusCode::BAD_REQUEST);
    world.settled().await;
    let page = world.page("/servers/shop").await;
    assert!(page.contains("Signed in") && page.contains("ready"), "{page}");
    for issued in authority.issued() {
        assert!(!page.contains(&issued), "a token is never shown");
    }
    assert_eq!(world.post("/servers/shop/sign-out", &[]).await.0, StatusCode::SEE_OTHER);
    let changes = world.page("/changes").await;
    assert!(changes.contains("signed in to server shop") && changes.contains("signed out of server shop"), "{changes}");
}
