//! Calls that are held: at every door, for how long, what is heard meanwhile, and what becomes of one whose caller goes or whom
//! two people answer at once.

use std::sync::Arc;

use helve_hub::{Actor, ApprovalTimes, allow_call, deny_call, list_approvals};
use helve_model::Answerers;
use helve_store::{Approval, ApprovalState};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::agent::{Agent, DEADLINE, ERAS, Era, said};
use crate::approvals::{Shop, TOOL, short};
use crate::world::{Brings, World, value_of};

/// A call of the hub's own interface.
const CALL: &str = "/api/v1/tools/shop/order/call";

fn order() -> Value {
    json!({"what": "tea"})
}

/// How the one question that was settled stands.
fn settled(shop: &Shop) -> Approval {
    let mut list = list_approvals(&shop.world.hub, &Actor::Session).expect("a list");
    assert_eq!(list.settled.len(), 1, "{:?}", list.settled);
    list.settled.remove(0)
}

#[tokio::test(start_paused = true)]
async fn an_agent_hears_that_its_call_waits_and_after_45_seconds_what_to_do() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
        let agent = shop.agent(era, json!({})).await;
        let begun = Instant::now();
        let mut messages = agent.send(TOOL, &order(), json!({"_meta": {"progressToken": "p-7"}})).await;
        let mut reports = Vec::new();
        let answer = loop {
            let message = messages.next().await.expect("an answer");
            if message["method"] != "notifications/progress" {
                break message;
            }
            assert_eq!(message["params"]["progressToken"], "p-7", "{era:?}");
            assert_eq!(message["params"]["message"], "waiting for approval of shop/order", "{era:?}");
            reports.push((begun.elapsed().as_secs(), message["params"]["progress"].as_f64().expect("a number")));
        };
        assert_eq!(reports.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 10, 20, 30, 40], "{era:?}");
        // It grows, and stays below whatever the server says later.
        assert!(reports.is_sorted_by(|(_, one), (_, next)| one < next), "{reports:?}");
        assert!(reports.iter().all(|(_, progress)| *progress < 0.0), "{reports:?}");
        let (text, is_error) = said(&answer);
        assert!(is_error && text.contains("call again with the same arguments"), "{era:?}: {text}");
        assert_eq!((begun.elapsed().as_secs(), shop.ran()), (45, 0), "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_asked_for_no_progress_gets_one_answer_and_nothing_before_it() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Page, short()).await;
        let agent = shop.agent(era, json!({})).await;
        let first = agent.send(TOOL, &order(), json!({})).await.next().await.expect("an answer");
        assert!(first.get("method").is_none() && said(&first).1, "{era:?}: {first}");
    }
}

/// The older era says that a broken connection takes nothing back: an agent that goes there says so.
async fn goes(era: Era, agent: &Agent, call: JoinHandle<Value>) {
    if era == Era::Legacy {
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        assert_eq!(agent.post(&cancelled, &[]).await.status(), 202);
    }
    call.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_runs_nothing_for_a_caller_that_has_gone_until_it_makes_the_same_call_again() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
        let agent = shop.agent(era, json!({})).await;
        let own = agent.clone();
        let call = tokio::spawn(async move { own.call(TOOL, &order(), None).await });
        let id = shop.waiting(1).await;
        goes(era, &agent, call).await;
        assert_eq!(shop.waiting(0).await, id, "{era:?}");
        assert_eq!(shop.clicks(&shop.world.cookie, &id, "allow", "").await.0, 303);
        assert_eq!(shop.ran(), 0, "{era:?}: a yes runs nothing");
        assert_eq!(said(&agent.call(TOOL, &order(), None).await), ("ordered 1".to_owned(), false), "{era:?}");
        // Another one like it is another question.
        let own = agent.clone();
        let again = tokio::spawn(async move { own.call(TOOL, &order(), None).await });
        assert_ne!(shop.waiting(1).await, id);
        goes(era, &agent, again).await;
        assert_eq!(shop.ran(), 1, "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_people_who_click_at_once_one_decides_and_the_other_reads_who() {
    for era in ERAS {
        for _ in 0..8 {
            let shop = Arc::new(Shop::new(Answerers::Page, ApprovalTimes::default()).await);
            let (one, other) = (shop.world.cookie.clone(), shop.world.sign_in().await);
            let call = shop.calls(era).await;
            let id = shop.waiting(1).await;
            let click = |cookie: String, verb: &'static str| {
                let (shop, id) = (Arc::clone(&shop), id.clone());
                tokio::spawn(async move { shop.clicks(&cookie, &id, verb, "no").await.1 })
            };
            let (allowing, denying) = (click(one, "allow"), click(other, "deny"));
            let (allowed, denied) = (allowing.await.expect("a page"), denying.await.expect("a page"));
            let (text, is_error) = said(&call.await.expect("an end"));
            let too_late = format!("too late: {id} was ");
            if is_error {
                assert!(allowed.contains(&format!("{too_late}denied already, on the page")), "{allowed}");
                assert!(text.contains("a person said no on the page"), "{text}");
            } else {
                assert!(denied.contains(&format!("{too_late}allowed already, on the page")), "{denied}");
            }
            assert_eq!(shop.ran(), usize::from(!is_error), "{era:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_terminal_and_the_page_at_once_one_decides_and_the_other_reads_who() {
    for era in ERAS {
        for _ in 0..8 {
            let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
            let call = shop.calls(era).await;
            let id = shop.waiting(1).await;
            let (hub, name) = (Arc::clone(&shop.world.hub), id.clone());
            let terminal = tokio::task::spawn_blocking(move || allow_call(&hub, &Actor::Operator, &name));
            let (hub, name) = (Arc::clone(&shop.world.hub), id.clone());
            let page = tokio::task::spawn_blocking(move || deny_call(&hub, &Actor::Session, &name, None));
            let (terminal, page) = (terminal.await.expect("an end"), page.await.expect("an end"));
            let is_error = said(&call.await.expect("an end")).1;
            match (terminal, page) {
                (Ok(_), Err(late)) => {
                    assert!(late.message().contains("was allowed already, at a terminal"), "{late}");
                    assert!(!is_error && shop.ran() == 1, "{era:?}");
                }
                (Err(late), Ok(_)) => {
                    assert!(late.message().contains("was denied already, on the page"), "{late}");
                    assert!(is_error && shop.ran() == 0, "{era:?}");
                }
                both => panic!("one of them decides: {both:?}"),
            }
        }
    }
}

/// A call of the interface, as the holder of a token makes it.
fn by_token(shop: &Arc<Shop>) -> JoinHandle<(StatusCode, Value)> {
    let shop = Arc::clone(shop);
    tokio::spawn(async move { shop.world.api("POST", CALL, &order().to_string()).await })
}

/// The same as the person who is signed in makes it.
fn by_session(shop: &Arc<Shop>) -> JoinHandle<(StatusCode, Value)> {
    let shop = Arc::clone(shop);
    tokio::spawn(async move {
        let csrf = shop.world.csrf().await;
        let request = World::request("POST", CALL).header("cookie", &shop.world.cookie).header("x-csrf-token", csrf);
        let (status, text) = shop.world.send(request, None, &order().to_string()).await;
        (status, serde_json::from_str(&text).unwrap_or_default())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_the_interface_is_held_as_an_agents_is() {
    for begin in [by_token, by_session] {
        let shop = Arc::new(Shop::new(Answerers::Page, ApprovalTimes::default()).await);
        let call = begin(&shop);
        let id = shop.waiting(1).await;
        assert_eq!(shop.ran(), 0);
        assert_eq!(shop.clicks(&shop.world.cookie, &id, "allow", "").await.0, 303);
        let (status, answer) = call.await.expect("an end");
        assert_eq!((status, &answer["content"][0]["text"]), (StatusCode::OK, &json!("ordered 1")), "{answer}");

        let call = begin(&shop);
        let id = shop.waiting(1).await;
        assert_eq!(shop.clicks(&shop.world.cookie, &id, "deny", "not%20today").await.0, 303);
        let (status, answer) = call.await.expect("an end");
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
        assert!(message.contains(&format!("a person said no on the page ({id}): not today")), "{answer}");
        assert_eq!(shop.ran(), 1);

        // Whoever made it has gone: a yes runs nothing.
        let call = begin(&shop);
        let id = shop.waiting(1).await;
        call.abort();
        assert_eq!(shop.waiting(0).await, id);
        allow_call(&shop.world.hub, &Actor::Session, &id).expect("allowed");
        assert_eq!(shop.ran(), 1);
        let (status, answer) = begin(&shop).await.expect("an end");
        assert_eq!((status, shop.ran()), (StatusCode::OK, 2), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_the_interface_that_nobody_answers_says_where_to_answer_it() {
    let shop = Arc::new(Shop::new(Answerers::Page, short()).await);
    let (status, answer) = by_token(&shop).await.expect("an end");
    let id = shop.waiting(0).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
    assert_eq!(answer["error"]["code"], "APPROVAL_REQUIRED", "{answer}");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains(&format!("not run; approval {id} is open until")), "{answer}");
    assert!(answer["error"]["hints"].to_string().contains(&format!("/approvals/{id}")), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_may_answer_does_not_answer_its_own_calls() {
    let shop = Arc::new(Shop::new(Answerers::Anyone, ApprovalTimes::default()).await);
    let bearer = format!("Bearer {}", shop.world.approver);
    let (own, of) = (Arc::clone(&shop), bearer.clone());
    let call = tokio::spawn(async move {
        let request = World::request("POST", CALL).header("authorization", of);
        own.world.send(request, None, &order().to_string()).await
    });
    let id = shop.waiting(1).await;
    for verb in ["allow", "deny"] {
        let request =
            World::request("POST", &format!("/api/v1/approvals/{id}/{verb}")).header("authorization", &bearer);
        let (status, text) = shop.world.send(request, None, "").await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{verb}: {text}");
        assert!(text.contains("a token does not answer its own calls"), "{text}");
    }
    allow_call(&shop.world.hub, &Actor::Session, &id).expect("allowed");
    assert_eq!(call.await.expect("an end").0, StatusCode::OK);
    assert_eq!(shop.ran(), 1);
}

/// A person who tries a tool answers its question on the same page, and that is kept as any other answer is.
#[tokio::test(flavor = "multi_thread")]
async fn a_yes_where_a_tool_is_tried_is_kept_as_any_other_answer() {
    let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
    let path = "/servers/shop/tools/order";
    let (_, asked) = shop.world.post(path, &[("a/what", "tea"), ("do", "call")]).await;
    let question = value_of(&asked, "question");
    assert!(asked.contains("A rule asks first.") && shop.ran() == 0, "{asked}");
    let (_, page) = shop.world.post(path, &[("a/what", "tea"), ("question", &question), ("do", "yes")]).await;
    assert!(page.contains("ordered 1"), "{page}");
    let kept = settled(&shop);
    assert_eq!((kept.state, kept.decider.as_deref()), (ApprovalState::Used, Some("page")));
    assert_eq!((kept.asked.principal.as_str(), shop.ran()), ("local", 1));
    let (_, changes) = shop.world.api("GET", "/api/v1/changes", "").await;
    assert!(changes.to_string().contains(&format!("call {} of shop/order", kept.id)), "{changes}");
    // It is used up.
    let (_, asked) = shop.world.post(path, &[("a/what", "tea"), ("do", "call")]).await;
    assert!(asked.contains("A rule asks first."), "{asked}");
}

/// Whichever door: the same question, and what is decided counts there.
#[tokio::test(flavor = "multi_thread")]
async fn every_door_asks_the_same_question_and_heeds_the_same_no() {
    let shop = Arc::new(Shop::new(Answerers::Page, ApprovalTimes::default()).await);
    let agents: Vec<JoinHandle<Value>> = vec![shop.calls(Era::Legacy).await, shop.calls(Era::Modern).await];
    let others = [by_token(&shop), by_session(&shop)];
    let mut changed = shop.world.live.subscribe();
    let waiting = async {
        loop {
            let list = list_approvals(&shop.world.hub, &Actor::Session).expect("a list");
            if list.waiting.iter().map(|info| info.callers).sum::<usize>() == 4 {
                return list.waiting;
            }
            changed.changed().await.expect("the hub is there");
        }
    };
    let waiting = timeout(DEADLINE, waiting).await.expect("four calls that wait");
    // Two agents with one token share a question; a token and a person have their own.
    let mut whose: Vec<(&str, usize)> =
        waiting.iter().map(|info| (info.approval.asked.principal.as_str(), info.callers)).collect();
    whose.sort_unstable();
    assert_eq!(whose, [("local", 1), ("token:admin", 1), ("token:agent", 2)]);
    let first = &waiting[0].approval.asked;
    for info in &waiting {
        let asked = &info.approval.asked;
        assert_eq!((&asked.rule, &asked.definition, &asked.risk), (&first.rule, &first.definition, &first.risk));
        deny_call(&shop.world.hub, &Actor::Session, &info.approval.id, Some("no")).expect("denied");
    }
    for call in agents {
        let (text, is_error) = said(&timeout(DEADLINE, call).await.expect("in time").expect("an end"));
        assert!(is_error && text.contains("a person said no on the page"), "{text}");
    }
    for call in others {
        let (status, answer) = timeout(DEADLINE, call).await.expect("in time").expect("an end");
        assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
    }
    assert_eq!(shop.ran(), 0);
}

/// Whoever brings nothing is held up at the door, whatever waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_makes_no_question() {
    let shop = Shop::new(Answerers::Page, short()).await;
    for brings in [Brings::Nothing, Brings::Wrong, Brings::Agent, Brings::Cookie] {
        let (status, text) = shop.world.ask("POST", CALL, brings, None, &order().to_string()).await;
        assert!(matches!(status.as_u16(), 401 | 403), "{brings:?}: {status} {text}");
    }
    let list = list_approvals(&shop.world.hub, &Actor::Session).expect("a list");
    assert!(list.waiting.is_empty() && list.settled.is_empty());
}
