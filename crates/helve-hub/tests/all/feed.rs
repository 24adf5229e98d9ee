//! What a spoke hears, and what is seen of it.

use http::StatusCode;

use crate::world::{Brings, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_on_the_page_with_its_token_and_goes_with_it() {
    let world = World::new(None).await;
    let feed = |device: &str| {
        World::request("GET", "/feed")
            .header("authorization", format!("Bearer {}", world.agent))
            .header("helve-device", device)
    };
    assert_eq!(world.send(feed("laptop-7"), None, "").await.0, StatusCode::OK);
    // A stranger's word: what is not a plain name is not kept.
    for name in ["<script>alert(1)</script>", "a b", &"x".repeat(65)] {
        assert_eq!(world.send(feed(name), None, "").await.0, StatusCode::OK);
    }
    let (_, page) = world.ask("GET", "/tokens", Brings::Cookie, None, "").await;
    assert!(page.contains("laptop-7") && page.contains("Devices"), "{page}");
    assert!(!page.contains("alert(1)") && !page.contains("xxxxxxxxxx"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_says_which_servers_there_are_and_ends_with_its_token() {
    let world = World::new(None).await;
    let mut stream = world.stream("/feed", Brings::Agent, &[]).await;
    let event = stream.next().await.expect("an event");
    let data = event.strip_prefix("event: servers\ndata: ").expect("a list of servers");
    let said: serde_json::Value = serde_json::from_str(data.trim()).expect("JSON");
    let names: Vec<_> = said["servers"].as_array().into_iter().flatten().map(|server| &server["name"]).collect();
    assert_eq!(names, ["filesystem", "time"]);
    world.revoke("agent");
    assert_eq!(stream.next().await, None, "it ends, although nothing changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_through_too_many_hosts_is_refused_and_streams_are_counted() {
    let world = World::new(None).await;
    let deep = World::request("GET", "/feed")
        .header("authorization", format!("Bearer {}", world.agent))
        .header("helve-hops", "9");
    assert_eq!(world.send(deep, None, "").await.0, StatusCode::LOOP_DETECTED);
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(world.stream("/feed", Brings::Agent, &[]).await);
    }
    let (status, _) = world.ask("GET", "/feed", Brings::Agent, None, "").await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    drop(open);
    let admitted = async {
        while world.ask("GET", "/feed", Brings::Agent, None, "").await.0 != StatusCode::OK {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), admitted).await.expect("there is room again");
}
