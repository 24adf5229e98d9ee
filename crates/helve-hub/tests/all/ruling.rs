//! Rules: in words, with what they decided; what a draft would change; answers taken back; definitions held fast.

use http::StatusCode;

use crate::world::{World, value_of};

const OWN: &str = r#"[servers.clock]
builtin = "time"

[[rules]]
tool = "clock/*"
action = "allow"
"#;

async fn called(world: &World) {
    let (status, text) = world.api("POST", "/api/v1/tools/clock/now/call", "{}").await;
    assert_eq!(status, StatusCode::OK, "{text}");
    // The record is written by another thread.
    for _ in 0..500 {
        let (_, calls) = world.api("GET", "/api/v1/calls", "").await;
        if calls["calls"].as_array().is_some_and(|calls| !calls.is_empty()) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_tried_against_recorded_calls_before_it_counts() {
    let world = World::of(OWN).await;
    called(&world).await;
    let page = world.page("/rules").await;
    assert!(page.contains("every tool of clock may run"), "{page}");
    let edit = page.split("/rules?edit=").nth(1).and_then(|rest| rest.split('"').next()).expect("a link").to_owned();
    let path = format!("/rules?edit={edit}");
    let page = world.page(&path).await;
    let version = value_of(&page, "version");
    let draft = OWN.replace("\"allow\"", "\"deny\"");
    let fields = |doing, text| [("text", text), ("version", version.as_str()), ("do", doing)];
    let (status, page) = world.post(&path, &fields("check", &draft)).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    assert!(page.contains("What would change") && page.contains("now"), "{page}");
    assert_eq!(world.own(), OWN, "a check writes nothing");
    let (_, page) = world.post(&path, &fields("check", OWN)).await;
    assert!(page.contains("No decision of the last 30 days would be another one"), "{page}");
    let (status, page) = world.post(&path, &fields("save", "[[rules]]\ntool = \"x/*\"\naction = \"maybe\"\n")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{page}");
    assert!(page.contains("line 3"), "{page}");
    let (status, page) = world.post(&path, &fields("save", &draft)).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    assert_eq!(world.own(), draft);
    world.reload().await;
    let (status, _) = world.api("POST", "/api/v1/tools/clock/now/call", "{}").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let page = world.page("/rules?server=clock&tool=now").await;
    assert!(page.contains("decides: deny"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_is_held_fast_and_let_go() {
    let world = World::of(OWN).await;
    let (status, text) = world.post("/servers/clock/pins", &[("pin", "now")]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let page = world.page("/servers/clock").await;
    assert!(page.contains("name=\"unpin\" value=\"now\""), "{page}");
    let body = r#"{"tool": "now", "action": "accept", "definition": "another"}"#;
    assert_eq!(world.api("POST", "/api/v1/servers/clock/pins", body).await.0, StatusCode::CONFLICT);
    let body = r#"{"tool": "now", "action": "unpin"}"#;
    assert_eq!(world.api("POST", "/api/v1/servers/clock/pins", body).await.0, StatusCode::OK);
    assert!(!world.page("/servers/clock").await.contains("name=\"unpin\""));
    assert!(world.page("/changes").await.contains("unpinned clock/now"));
}
