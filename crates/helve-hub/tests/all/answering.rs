//! Nobody but a person answers: every credential by every way.

use helve_hub::DeskTimes;
use helve_model::Answerers;
use helve_store::ApprovalState;
use serde_json::json;

use crate::agent::{ERAS, Era};
use crate::approvals::{Shop, TOOL};
use crate::world::{Brings, World};

/// Every way to answer over HTTP.
const WAYS: &[&str] = &["/approvals/{id}/allow", "/api/v1/approvals/{id}/allow"];

/// Every way to have a rule made of a question, which answers it, too.
const ALWAYS: &[&str] = &["/approvals/{id}/always", "/api/v1/approvals/{id}/always"];

#[tokio::test(flavor = "multi_thread")]
async fn no_token_and_no_stranger_answers() {
    for by in [Answerers::Anyone, Answerers::Page] {
        let shop = Shop::new(by, DeskTimes::default()).await;
        let call = shop.calls(Era::Legacy).await;
        let id = shop.waiting(1).await;
        for way in WAYS {
            let path = way.replace("{id}", &id);
            let others = [Brings::Nothing, Brings::Agent, Brings::Admin, Brings::Wrong];
            for brings in others {
                let (status, text) = shop.world.ask("POST", &path, brings, None, "").await;
                assert!(matches!(status.as_u16(), 401 | 403), "{path} with {brings:?}: {status} {text}");
            }
            // A cookie without the session's own token is a forged request.
            let (status, _) = shop.world.ask("POST", &path, Brings::Cookie, None, "").await;
            assert_eq!(status.as_u16(), 403, "{path}");
            // A link decides nothing: only what is posted does.
            let (status, _) = shop.world.ask("GET", &path, Brings::Cookie, None, "").await;
            assert_eq!(status.as_u16(), 404, "{path}");
        }
        for way in ALWAYS {
            let path = way.replace("{id}", &id);
            for brings in [Brings::Nothing, Brings::Agent, Brings::Admin, Brings::Wrong, Brings::Cookie] {
                let (status, text) = shop.world.ask("POST", &path, brings, None, r#"{"version": ""}"#).await;
                assert!(matches!(status.as_u16(), 401 | 403), "{path} with {brings:?}: {status} {text}");
            }
        }
        let found = shop.world.store.approval(&id).expect("read").expect("found");
        assert_eq!(found.state, ApprovalState::Pending);
        assert_eq!(shop.ran.load(std::sync::atomic::Ordering::SeqCst), 0);

        // A token that a person made an approver may, where the rule lets anyone.
        let path = format!("/api/v1/approvals/{id}/allow");
        let bearer = format!("Bearer {}", shop.world.approver);
        let request = World::request("POST", &path).header("authorization", bearer);
        let (status, text) = shop.world.send(request, None, "").await;
        let expected = if by == Answerers::Anyone { 200 } else { 403 };
        assert_eq!(status.as_u16(), expected, "{text}");
        if by == Answerers::Anyone {
            assert!(text.contains("token:approver"), "{text}");
            call.await.expect("an end");
        } else {
            call.abort();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_says_more_than_it_was_asked_is_a_yes_to_this_call_at_most() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Anyone, DeskTimes::default()).await;
        let agent = shop.agent(era, json!({"elicitation": {"form": {}}})).await;
        for decision in ["always", "until the agent ends", "A-0000", ""] {
            let form = json!({"action": "accept", "content": {"decision": decision}});
            agent.call(TOOL, &json!({"what": decision}), Some(form)).await;
        }
        let before = shop.ran.load(std::sync::atomic::Ordering::SeqCst);
        // Whatever it said, the next call is asked about again.
        agent.call(TOOL, &json!({"what": "always"}), Some(json!({"action": "decline"}))).await;
        assert_eq!(shop.ran.load(std::sync::atomic::Ordering::SeqCst), before, "{era:?}");
    }
}
