//! The handshakes and the rules of the two eras.

use helve_testkit::{DualRule, LEGACY_VERSIONS, MixtureFault, Offers, ProbeFault, Scenario};
use serde_json::json;

use crate::client::{Client, DEADLINE, with_meta};

#[tokio::test]
async fn initialize_agrees_on_each_legacy_version() {
    for version in LEGACY_VERSIONS {
        let (mut client, recorder) = Client::in_process(&Scenario::legacy());
        let answer = client.initialize(version).await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "helve-testkit");
        assert!(answer["result"].get("resultType").is_none(), "{answer}");
        recorder.wait_for_method("notifications/initialized", 1, DEADLINE).await.unwrap();
        assert_eq!(recorder.violations(), [] as [String; 0]);
    }
}

#[tokio::test]
async fn an_unknown_version_is_answered_with_the_newest_known() {
    let (mut client, _recorder) = Client::in_process(&Scenario::legacy());
    assert_eq!(client.initialize("1999-01-01").await["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn a_forced_version_is_answered_whatever_was_asked() {
    let (mut client, _recorder) = Client::in_process(&Scenario::legacy().forced_version("2030-01-01"));
    assert_eq!(client.initialize("2025-06-18").await["result"]["protocolVersion"], "2030-01-01");
}

#[tokio::test]
async fn capabilities_follow_the_offers_and_the_version() {
    let offers = Offers { tools: false, logging: false, ..Offers::default() };
    let (mut client, _recorder) = Client::in_process(&Scenario::legacy().offers(offers));
    let capabilities = client.initialize("2025-11-25").await["result"]["capabilities"].clone();
    assert!(capabilities.get("tools").is_none() && capabilities.get("logging").is_none(), "{capabilities}");
    assert!(capabilities.get("tasks").is_some() && capabilities.get("completions").is_some(), "{capabilities}");
    assert_eq!(client.request("tools/list", json!({})).await["error"]["code"], -32601);

    let (mut client, _recorder) = Client::in_process(&Scenario::legacy());
    let capabilities = client.initialize("2024-11-05").await["result"]["capabilities"].clone();
    assert!(capabilities.get("tasks").is_none() && capabilities.get("completions").is_none(), "{capabilities}");
}

#[tokio::test]
async fn discover_tells_versions_and_capabilities() {
    let (mut client, _recorder) = Client::in_process(&Scenario::modern());
    let result = client.modern("server/discover", json!({})).await["result"].clone();
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["cacheScope"], "private");
    assert!(result["ttlMs"].is_u64(), "{result}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "helve-testkit");
    assert!(result["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "{result}");

    let (mut client, _recorder) = Client::in_process(&Scenario::dual());
    let result = client.modern("server/discover", json!({})).await["result"].clone();
    assert_eq!(result["supportedVersions"][1], "2025-11-25");
}

#[tokio::test]
async fn a_modern_request_without_its_metadata_is_refused() {
    let (mut client, _recorder) = Client::in_process(&Scenario::modern());
    assert_eq!(client.request("tools/list", json!({})).await["error"]["code"], -32602);
    let only_version = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    assert_eq!(client.request("tools/list", only_version).await["error"]["code"], -32602);
    let other = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "1900-01-01" } });
    let error = client.request("tools/list", other).await["error"].clone();
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"], json!({ "supported": ["2026-07-28"], "requested": "1900-01-01" }));
}

#[tokio::test]
async fn methods_of_the_other_era_do_not_exist() {
    let (mut client, _recorder) = Client::in_process(&Scenario::modern());
    for method in ["ping", "logging/setLevel", "resources/subscribe", "initialize"] {
        assert_eq!(client.modern(method, json!({})).await["error"]["code"], -32601, "{method}");
    }
    let (mut client, _recorder) = Client::legacy(&Scenario::legacy(), "2025-11-25").await;
    for method in ["server/discover", "subscriptions/listen"] {
        assert_eq!(client.modern(method, json!({})).await["error"]["code"], -32601, "{method}");
    }
    let error = {
        let (mut client, _recorder) = Client::in_process(&Scenario::modern());
        client.initialize("2025-11-25").await["error"].clone()
    };
    assert_eq!(error["data"]["supported"], json!(["2026-07-28"]));
}

#[tokio::test]
async fn a_legacy_request_before_initialize_is_refused() {
    let (mut client, _recorder) = Client::in_process(&Scenario::dual());
    assert_eq!(client.request("tools/list", json!({})).await["error"]["code"], -32602);
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_dual_peer_serves_both_eras_on_one_connection() {
    let (mut client, _recorder) = Client::legacy(&Scenario::dual(), "2025-11-25").await;
    assert!(client.request("tools/list", json!({})).await["result"].get("ttlMs").is_none());
    assert!(client.modern("tools/list", json!({})).await["result"]["ttlMs"].is_u64());
}

#[tokio::test]
async fn the_last_handshake_can_rule() {
    let scenario = Scenario::dual().dual_rule(DualRule::LastHandshake);
    let (mut client, _recorder) = Client::in_process(&scenario);
    client.modern("server/discover", json!({})).await;
    client.initialize("2025-11-25").await;
    assert_eq!(client.modern("tools/list", json!({})).await["error"]["code"], -32600);
    assert!(client.request("tools/list", json!({})).await["result"]["tools"].is_array());
    client.modern("server/discover", json!({})).await;
    assert_eq!(client.request("tools/list", json!({})).await["error"]["code"], -32602);
    assert!(client.modern("tools/list", json!({})).await["result"]["tools"].is_array());
}

#[tokio::test]
async fn the_probe_can_be_answered_with_any_error() {
    let fault = ProbeFault::Error { code: -32000, message: "what?".to_string() };
    let (mut client, _recorder) = Client::in_process(&Scenario::legacy().probe(fault));
    assert_eq!(client.modern("server/discover", json!({})).await["error"]["code"], -32000);
    assert!(client.initialize("2025-11-25").await["result"].is_object());
}

#[tokio::test]
async fn a_silent_peer_answers_initialize_all_the_same() {
    let (mut client, _recorder) = Client::in_process(&Scenario::legacy().probe(ProbeFault::Silent));
    client.start("server/discover", with_meta(json!({}))).await;
    assert!(client.initialize("2025-11-25").await["result"].is_object());
    assert_eq!(client.others, [] as [serde_json::Value; 0]);
}

#[tokio::test]
async fn both_handshakes_can_be_late() {
    let late = |milliseconds| ProbeFault::Late { milliseconds };
    let scenario = Scenario::dual().probe(late(40)).initialize(late(5));
    let (mut client, _recorder) = Client::in_process(&scenario);
    let probe = client.start("server/discover", with_meta(json!({}))).await;
    assert!(client.initialize("2025-11-25").await["result"].is_object());
    assert!(client.answer(probe).await["result"]["supportedVersions"].is_array());
}

#[tokio::test]
async fn the_mixture_can_be_taken_badly() {
    let (mut client, _recorder) = Client::in_process(&Scenario::legacy().mixture(MixtureFault::Error));
    client.modern("server/discover", json!({})).await;
    assert_eq!(client.initialize("2025-11-25").await["error"]["code"], -32600);

    let (mut client, recorder) = Client::in_process(&Scenario::legacy().mixture(MixtureFault::Exit));
    client.modern("server/discover", json!({})).await;
    client.start("initialize", json!({})).await;
    assert_eq!(client.line().await, None);
    let status = recorder.recording().entries.pop();
    assert_eq!(status, Some(helve_testkit::RecordedEvent::Exited { status: 4 }));
}

#[tokio::test]
async fn the_peer_can_exit_on_the_probe() {
    let (mut client, _recorder) = Client::in_process(&Scenario::legacy().probe(ProbeFault::Exit { status: 1 }));
    client.start("server/discover", with_meta(json!({}))).await;
    assert_eq!(client.line().await, None);
}
