//! Nobody but a person answers: every credential by every way, and whatever an agent can say.

use helve_hub::{Actor, ApprovalTimes, allow_call, revoke_token};
use helve_model::Answerers;
use helve_store::ApprovalState;
use http::StatusCode;
use http::request::Builder;
use serde_json::{Value, json};

use crate::agent::{ERAS, Era, said};
use crate::approvals::{Shop, TOOL, yes};
use crate::world::{Brings, OWNER, World, value_of};

/// Every way to answer over HTTP.
const WAYS: &[&str] =
    &["/approvals/{id}/allow", "/approvals/{id}/deny", "/api/v1/approvals/{id}/allow", "/api/v1/approvals/{id}/deny"];

/// Whatever a request can bring that is not a person at the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stranger {
    Nothing,
    /// The user whose hub it is, who brings nothing: any of their programs can.
    OwnUser,
    WrongToken,
    AgentToken,
    AdminToken,
    /// It answers where a person lets anyone answer, and nowhere else.
    ApproverToken,
    RevokedApprover,
    /// A session without the token that its own forms carry.
    ForgedForm,
    /// The same with the token of another session.
    AnothersForm,
    /// A form of the session's own that another site sends.
    AnotherSite,
    /// A session with an agent's token beside it.
    AgentWithCookie,
}

const STRANGERS: &[Stranger] = &[
    Stranger::Nothing,
    Stranger::OwnUser,
    Stranger::WrongToken,
    Stranger::AgentToken,
    Stranger::AdminToken,
    Stranger::ApproverToken,
    Stranger::RevokedApprover,
    Stranger::ForgedForm,
    Stranger::AnothersForm,
    Stranger::AnotherSite,
    Stranger::AgentWithCookie,
];

/// What sessions of the page hold.
struct Forms {
    own: String,
    anothers: String,
    revoked: String,
}

impl Stranger {
    /// What it brings, and the token that its form carries.
    fn brings(self, world: &World, forms: &Forms, request: Builder) -> (Builder, Option<u32>, String) {
        let bearer = |request: Builder, token: &str| request.header("authorization", format!("Bearer {token}"));
        let cookie = |request: Builder| request.header("cookie", &world.cookie);
        let (request, user, csrf) = match self {
            Self::Nothing => (request, None, ""),
            Self::OwnUser => (request, Some(OWNER), ""),
            Self::WrongToken => (bearer(request, "hv_0000000000000000_00"), None, ""),
            Self::AgentToken => (bearer(request, &world.agent), None, ""),
            Self::AdminToken => (bearer(request, &world.admin), None, ""),
            Self::ApproverToken => (bearer(request, &world.approver), None, ""),
            Self::RevokedApprover => (bearer(request, &forms.revoked), None, ""),
            Self::ForgedForm => (cookie(request), None, ""),
            Self::AnothersForm => (cookie(request), None, &*forms.anothers),
            Self::AnotherSite => (cookie(request).header("origin", "http://evil.example"), None, &*forms.own),
            Self::AgentWithCookie => (bearer(cookie(request), &world.agent), None, &*forms.own),
        };
        (request.header("x-csrf-token", csrf), user, format!("csrf={csrf}"))
    }
}

async fn csrf_of(world: &World, cookie: &str) -> String {
    let page = World::request("GET", "/approvals").header("cookie", cookie);
    value_of(&world.send(page, None, "").await.1, "csrf")
}

/// Every way to have a rule made of a question, which answers it, too.
const ALWAYS: &[&str] = &["/approvals/{id}/always", "/api/v1/approvals/{id}/always"];

#[tokio::test(flavor = "multi_thread")]
async fn no_token_and_no_stranger_answers() {
    for by in [Answerers::Anyone, Answerers::Page] {
        let shop = Shop::new(by, ApprovalTimes::default()).await;
        let call = shop.calls(Era::Legacy).await;
        let id = shop.waiting(1).await;
        let another = shop.world.sign_in().await;
        let own = csrf_of(&shop.world, &shop.world.cookie).await;
        let forms = Forms { own, anothers: csrf_of(&shop.world, &another).await, revoked: shop.world.revoked() };
        let mut answered = 0;
        for way in WAYS {
            let path = way.replace("{id}", &id);
            for method in ["POST", "GET", "HEAD", "PUT", "PATCH", "DELETE"] {
                for stranger in STRANGERS {
                    if (by, *stranger, method) == (Answerers::Anyone, Stranger::ApproverToken, "POST") {
                        continue;
                    }
                    let request = World::request(method, &path);
                    let (request, user, body) = stranger.brings(&shop.world, &forms, request);
                    let body = if path.starts_with("/api/") { "" } else { &*body };
                    let (status, text) = shop.world.send(request, user, body).await;
                    let is_refused = matches!(status.as_u16(), 401 | 403 | 404 | 405);
                    assert!(is_refused, "{method} {path} by {stranger:?}: {status} {text}");
                    let found = shop.world.store.approval(&id).expect("read").expect("found");
                    answered += usize::from(found.state != ApprovalState::Pending);
                }
            }
            // A link decides nothing, whoever follows it: only what is posted does.
            for query in ["", "?csrf=", "?reason=x"] {
                let request = World::request("GET", &format!("{path}{query}")).header("cookie", &shop.world.cookie);
                assert_eq!(shop.world.send(request, None, "").await.0, StatusCode::NOT_FOUND, "{path}");
            }
        }
        for way in ALWAYS {
            let path = way.replace("{id}", &id);
            for brings in [Brings::Nothing, Brings::Agent, Brings::Admin, Brings::Wrong, Brings::Cookie] {
                let (status, text) = shop.world.ask("POST", &path, brings, None, r#"{"version": ""}"#).await;
                assert!(matches!(status.as_u16(), 401 | 403), "{path} with {brings:?}: {status} {text}");
            }
        }
        assert_eq!((answered, shop.ran()), (0, 0), "{by:?}");

        // A token that a person made an approver may, where the rule lets anyone.
        let path = format!("/api/v1/approvals/{id}/allow");
        let bearer = format!("Bearer {}", shop.world.approver);
        let request = World::request("POST", &path).header("authorization", bearer);
        let (status, text) = shop.world.send(request, None, "").await;
        let expected = if by == Answerers::Anyone { 200 } else { 403 };
        assert_eq!(status.as_u16(), expected, "{text}");
        if by == Answerers::Anyone {
            assert!(text.contains("token:approver"), "{text}");
        } else {
            // And a person may.
            assert_eq!(shop.clicks(&shop.world.cookie, &id, "allow", "").await.0, 303);
        }
        call.await.expect("an end");
        assert_eq!(shop.ran(), 1, "{by:?}");
    }
}

/// Names that a tool which answers could have.
const GUESSES: &[&str] = &[
    "approvals__allow",
    "approvals__deny",
    "helve__approve",
    "helve__approvals",
    "hub__allow_call",
    "allow_call",
    "approve",
    "run_code",
    "shop__approve",
];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_an_agent_can_say_answers() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
        let call = shop.calls(era).await;
        let id = shop.waiting(1).await;
        let agent = shop.agent(era, json!({"elicitation": {"form": {}, "url": {}}})).await;
        let listed = agent.request("tools/list", json!({}), "").await;
        let tools = listed["result"]["tools"].as_array().expect("a list");
        assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), [TOOL], "{era:?}");
        for name in GUESSES {
            let answer = agent.call(name, &json!({"id": id, "decision": "allow"}), None).await;
            assert!(said(&answer).1, "{name}: {answer}");
        }
        for method in ["approvals/allow", "approvals/decide", "elicitation/create", "tasks/update", "tasks/result"] {
            let answer = agent.request(method, json!({"id": id, "taskId": id, "action": "accept"}), &id).await;
            assert!(answer.get("error").is_some(), "{method}: {answer}");
        }
        // Answers to questions that nobody asked, under every number that could be one.
        for number in 0..64 {
            for name in [json!(number), json!(number.to_string()), json!(format!("helve-{number}"))] {
                agent.post(&json!({"jsonrpc": "2.0", "id": name, "result": yes()}), &[]).await;
            }
        }
        // A round of a call that was never parked.
        for state in [json!("A"), json!(id), Value::Null] {
            let round = json!({"inputResponses": {"1": yes()}, "requestState": state});
            let mut messages = agent.send(TOOL, &json!({"what": "cake"}), round).await;
            // In the older era this is an ordinary call, which waits.
            if era == Era::Modern && state != Value::Null {
                assert!(said(&messages.next().await.expect("an answer")).1, "{state}");
            }
        }
        let found = shop.world.store.approval(&id).expect("read").expect("found");
        assert_eq!((found.state, shop.ran()), (ApprovalState::Pending, 0), "{era:?}");
        call.abort();
    }
}

/// The same token answers nothing any more once it is revoked, even where anyone may.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_approver_answers_nothing() {
    let shop = Shop::new(Answerers::Anyone, ApprovalTimes::default()).await;
    let call = shop.calls(Era::Modern).await;
    let id = shop.waiting(1).await;
    revoke_token(&shop.world.hub, &Actor::Operator, "approver").expect("revoked");
    let request = World::request("POST", &format!("/api/v1/approvals/{id}/allow"))
        .header("authorization", format!("Bearer {}", shop.world.approver));
    assert_eq!(shop.world.send(request, None, "").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(shop.ran(), 0);
    allow_call(&shop.world.hub, &Actor::Session, &id).expect("a person still may");
    call.await.expect("an end");
    assert_eq!(shop.ran(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_says_more_than_it_was_asked_is_a_yes_to_this_call_at_most() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Anyone, ApprovalTimes::default()).await;
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
