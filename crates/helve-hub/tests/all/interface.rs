//! The document of the interface, kept beside the code for whoever writes a client.

use crate::world::{Brings, World};

#[tokio::test(flavor = "multi_thread")]
async fn the_document_that_is_kept_is_the_one_that_is_served() {
    let world = World::new(None).await;
    let (_, served) = world.ask("GET", "/api/v1/openapi.json", Brings::Admin, None, "").await;
    let served: serde_json::Value = serde_json::from_str(&served).expect("JSON");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/hub-openapi.json");
    let kept = fs_err::read_to_string(file).unwrap_or_default();
    let made = format!("{served:#}\n");
    assert_eq!(kept, made, "`cargo run -p helve-hub --example openapi > schemas/hub-openapi.json` writes it anew");
}
