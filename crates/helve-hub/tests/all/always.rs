//! *Always*: a rule made of a call that waits, shown before it is saved, saved like any edit.

use std::time::Duration;

use helve_hub::{Actor, list_approvals};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agent::{Agent, DEADLINE, Era, said};
use crate::world::{Brings, Manner, World, value_of};

const OWN: &str = r#"# mine
[servers.clock]
builtin = "time"

[[rules]]
tool = "clock/*"
action = "ask"
"#;

/// An agent's call that waits, and the name of its question.
async fn held(world: &World, arguments: Value) -> (JoinHandle<Value>, String) {
    let agent = Agent::new(&world.face, &world.agent, Era::Legacy, json!({})).await;
    let call = tokio::spawn(async move { agent.call("clock__now", &arguments, None).await });
    let mut changed = world.live.subscribe();
    let wait = async {
        loop {
            let list = list_approvals(&world.hub, &Actor::Session).expect("a list");
            if let Some(first) = list.waiting.first() {
                return first.approval.id.clone();
            }
            // Told by the hub, looked at once in a while besides.
            drop(timeout(Duration::from_millis(200), changed.changed()).await);
        }
    };
    (call, timeout(DEADLINE, wait).await.expect("a question"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rule_is_shown_saved_noted_and_the_call_goes_on() {
    let world = World::of(OWN).await;
    let (call, id) = held(&world, json!({"timezone": "Europe/Berlin"})).await;
    assert!(world.page("/approvals").await.contains(&format!("/approvals/{id}/always")));

    let path = format!("/approvals/{id}/always");
    let page = world.page(&path).await;
    assert!(page.contains("token:agent alone") && page.contains("What it would have decided"), "{page}");
    assert!(page.contains("who = &#34;token:agent&#34;") || page.contains("who = &quot;token:agent&quot;"), "{page}");
    assert!(page.contains("only where timezone is Europe/Berlin"), "{page}");
    assert_eq!(world.own(), OWN, "a look writes nothing");
    assert!(!call.is_finished(), "and decides nothing");

    let wide = world.page(&format!("{path}?who=everybody&argument=*")).await;
    assert!(!wide.contains("who = "), "{wide}");
    let version = value_of(&page, "version");
    let fields = |version| [("who", "caller"), ("argument", "timezone"), ("version", version)];
    // Made on another version: nothing is written, nothing is decided, both texts are shown.
    let (status, text) = world.post(&path, &fields("other")).await;
    assert_eq!(status, StatusCode::CONFLICT, "{text}");
    assert!(text.contains("The file has changed meanwhile") && !call.is_finished(), "{text}");

    let (status, text) = world.post(&path, &fields(&version)).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let (text, is_error) = said(&call.await.expect("an end"));
    assert!(!is_error && text.contains("Europe/Berlin"), "{text}");
    let rule = "[[rules]]\ntool = \"clock/now\"\npattern = \"timezone=Europe/Berlin\"\nwho = \"token:agent\"\naction = \"allow\"\n\n";
    assert_eq!(
        world.own(),
        OWN.replace("[[rules]]", &format!("{rule}[[rules]]")),
        "it stands before the one that asks"
    );
    let changes = world.page("/changes").await;
    assert!(changes.contains("added rule allow clock/now with timezone=Europe/Berlin for token:agent"), "{changes}");
    assert!(changes.contains("allowed call") && changes.contains("The rule was saved, and now goes on"), "{changes}");

    // From now on it runs, and another is still asked about.
    world.reload().await;
    let agent = Agent::new(&world.face, &world.agent, Era::Legacy, json!({})).await;
    let again = timeout(DEADLINE, agent.call("clock__now", &json!({"timezone": "Europe/Berlin"}), None)).await;
    assert!(!said(&again.expect("an answer")).1);
    let (other, _) = held(&world, json!({"timezone": "Asia/Tokyo"})).await;
    other.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_interface_does_the_same_for_those_who_may_answer() {
    let world = World::of(OWN).await;
    let (call, id) = held(&world, json!({})).await;
    let path = format!("/api/v1/approvals/{id}/always");
    // A token that may not answer does not make a rule of a question either.
    assert_eq!(world.api("GET", &path, "").await.0, StatusCode::FORBIDDEN);
    assert_eq!(world.api("POST", &path, r#"{"version": "x"}"#).await.0, StatusCode::FORBIDDEN);
    let bearer = format!("Bearer {}", world.approver);
    let ask = async |method: &str, body: &str| {
        let request = World::request(method, &path).header("authorization", &bearer);
        let (status, text) = world.send(request, None, body).await;
        (status, serde_json::from_str::<Value>(&text).unwrap_or_default())
    };
    let (status, draft) = ask("GET", "").await;
    assert_eq!(status, StatusCode::OK, "{draft}");
    assert_eq!(draft["who"], "caller", "{draft}");
    assert!(draft["rule"].as_str().expect("a rule").contains("clock/now"), "{draft}");
    let (status, _) = ask("POST", &json!({"who": "nobody", "version": draft["version"]}).to_string()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let (status, done) = ask("POST", &json!({"who": "everybody", "version": draft["version"]}).to_string()).await;
    assert_eq!(status, StatusCode::OK, "{done}");
    assert!(done["change"].is_i64() && done["call"]["id"] == id.as_str(), "{done}");
    assert!(!said(&call.await.expect("an end")).1);
    // It is answered: there is nothing to make a rule of any more.
    assert_eq!(ask("GET", "").await.0, StatusCode::CONFLICT);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_rule_wants_the_page_no_token_makes_one_and_it_is_proposed_narrowly() {
    let own = OWN.replace("action = \"ask\"", "action = \"ask\"\nby = \"page\"");
    let world = World::of(&own).await;
    let (call, id) = held(&world, json!({"timezone": "Europe/Berlin"})).await;
    let path = format!("/api/v1/approvals/{id}/always");
    for method in ["GET", "POST"] {
        let bearer = format!("Bearer {}", world.approver);
        let request = World::request(method, &path).header("authorization", bearer);
        let (status, text) = world.send(request, None, r#"{"version": ""}"#).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{text}");
    }
    let page = world.page(&format!("/approvals/{id}/always")).await;
    assert!(page.contains("nobody is asked any more") && page.contains("timezone=Europe/Berlin"), "{page}");
    assert_eq!(world.own(), own);
    call.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_another_would_win_over_is_not_saved() {
    let project = "[[rules]]\ntool = \"clock/*\"\naction = \"ask\"\n";
    let own = "[servers.clock]\nbuiltin = \"time\"\n";
    let world = World::with(Manner { own, project, ..Manner::default() }).await;
    let (call, id) = held(&world, json!({})).await;
    let path = format!("/approvals/{id}/always");
    let page = world.page(&path).await;
    assert!(page.contains("The rule would not let this call through."), "{page}");
    assert!(!page.contains("Save the rule"), "{page}");
    let (status, _) = world.post(&path, &[("version", "")]).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(world.own(), own);
    assert!(!call.is_finished());
    let (status, _) = world.ask("POST", &path, Brings::Cookie, None, "").await;
    assert_eq!(status, StatusCode::FORBIDDEN, "a form without the session's own token is forged");
    call.abort();
}
