//! Calls that wait for a person, in both eras: a tool that counts proves that each ran once or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use helve::{FunctionTool, Host, Toolbox};
use helve_hub::{Actor, ApprovalTimes, allow_call, deny_call, list_approvals, revoke_token};
use helve_model::{Action, Answerers, Layer, Origin, Rule, ServerName};
use helve_policy::{SourcedRule, Trust};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agent::{Agent, DEADLINE, ERAS, Era, said};
use crate::world::{KNOWN_SECRET, World};

pub(crate) const TOOL: &str = "shop__order";

pub(crate) fn yes() -> Value {
    json!({"action": "accept", "content": {"decision": "once"}})
}

fn no() -> Value {
    json!({"action": "accept", "content": {"decision": "no"}})
}

/// A hub with one tool that asks and counts.
pub(crate) struct Shop {
    pub(crate) world: World,
    pub(crate) ran: Arc<AtomicUsize>,
}

/// The tests' clock runs on when it is told to; each test has one second of a day for itself.
static LATER: AtomicI64 = AtomicI64::new(0);

fn clock() -> SystemTime {
    let seconds = 1_800_000_000 + u64::try_from(LATER.load(Ordering::SeqCst)).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn still() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

pub(crate) fn rule(tool: &str, action: Action, by: Option<Answerers>) -> SourcedRule {
    let rule = Rule { by, ..Rule::new(tool, action, Origin::Program, Layer::User) };
    SourcedRule { rule, trust: Trust::Trusted }
}

fn toolbox(ran: &Arc<AtomicUsize>, description: &str) -> Toolbox {
    let ran = Arc::clone(ran);
    let schema = json!({"type": "object", "properties": {"what": {"type": "string"}}});
    let order = FunctionTool::with_schema("order", description, schema, move |_: Value, _| {
        let number = ran.fetch_add(1, Ordering::SeqCst) + 1;
        async move { format!("ordered {number}") }
    });
    Toolbox::new(ServerName::new("shop").expect("a name")).with(order)
}

impl Shop {
    pub(crate) async fn new(by: Answerers, times: ApprovalTimes) -> Self {
        Self::at(Arc::new(tempfile::tempdir().expect("a directory")), by, times, still).await
    }

    async fn at(
        directory: Arc<tempfile::TempDir>,
        by: Answerers,
        times: ApprovalTimes,
        clock: fn() -> SystemTime,
    ) -> Self {
        let ran: Arc<AtomicUsize> = Arc::default();
        let host = Host::builder()
            .toolbox(toolbox(&ran, "Orders something"))
            .rules(vec![rule("shop/*", Action::Ask, Some(by))])
            .start()
            .await
            .expect("a host");
        Self { world: World::around(None, directory, host, times, clock).await, ran }
    }

    pub(crate) fn ran(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }

    pub(crate) async fn agent(&self, era: Era, capabilities: Value) -> Agent {
        Agent::new(&self.world.face, &self.world.agent, era, capabilities).await
    }

    /// A call that is made meanwhile.
    pub(crate) async fn calls(&self, era: Era) -> JoinHandle<Value> {
        let agent = self.agent(era, json!({})).await;
        tokio::spawn(async move { agent.call(TOOL, &json!({"what": "tea"}), None).await })
    }

    /// The id of the one question that waits, when so many callers wait for it.
    pub(crate) async fn waiting(&self, callers: usize) -> String {
        let mut changed = self.world.live.subscribe();
        let wait = async {
            loop {
                let list = list_approvals(&self.world.hub, &Actor::Session).expect("a list");
                if let [only] = list.waiting.as_slice()
                    && only.callers == callers
                {
                    return only.approval.id.clone();
                }
                changed.changed().await.expect("the hub is there");
            }
        };
        timeout(DEADLINE, wait).await.expect("a question that waits")
    }

    /// What a session of the page gets for a click, and what the next page says.
    pub(crate) async fn clicks(&self, cookie: &str, id: &str, verb: &str, reason: &str) -> (u16, String) {
        let page = World::request("GET", "/approvals").header("cookie", cookie);
        let (_, page) = self.world.send(page, None, "").await;
        let csrf =
            page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a token");
        let post = World::request("POST", &format!("/approvals/{id}/{verb}")).header("cookie", cookie);
        let body = format!("csrf={csrf}&reason%3A{id}={reason}");
        let (status, text) = self.world.send(post, None, &body).await;
        if status.as_u16() != 303 {
            return (status.as_u16(), text);
        }
        let next = World::request("GET", "/approvals").header("cookie", cookie);
        (303, self.world.send(next, None, "").await.1)
    }
}

pub(crate) fn short() -> ApprovalTimes {
    ApprovalTimes { hold: Duration::ZERO, ..ApprovalTimes::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_lets_the_callers_own_call_go_on_once() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
        let call = shop.calls(era).await;
        let id = shop.waiting(1).await;
        assert_eq!(shop.ran(), 0, "{era:?}: nothing runs before the yes");
        let (status, page) = shop.clicks(&shop.world.cookie, &id, "allow", "").await;
        assert_eq!(status, 303, "{page}");
        assert!(page.contains("order may run, once."), "{page}");
        assert_eq!(said(&call.await.expect("an end")), ("ordered 1".to_owned(), false));
        assert_eq!(shop.ran(), 1);
        // The same call again is another question: the yes is used up.
        let call = shop.calls(era).await;
        let next = shop.waiting(1).await;
        assert_ne!(next, id);
        call.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_reaches_the_agent_with_its_reason_and_the_second_click_reads_who_was_first() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
        let call = shop.calls(era).await;
        let id = shop.waiting(1).await;
        let another = shop.world.sign_in().await;
        assert_eq!(shop.clicks(&shop.world.cookie, &id, "deny", "not%20today").await.0, 303);
        let (_, page) = shop.clicks(&another, &id, "allow", "").await;
        assert!(page.contains(&format!("too late: {id} was denied already, on the page")), "{page}");
        let (text, is_error) = said(&call.await.expect("an end"));
        assert!(is_error && text.contains(&format!("a person said no on the page ({id}): not today")), "{text}");
        assert_eq!(shop.ran(), 0, "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_form_counts_where_anyone_may_answer_and_only_there() {
    for era in ERAS {
        let form = json!({"elicitation": {"form": {}}});
        let shop = Shop::new(Answerers::Anyone, ApprovalTimes::default()).await;
        let agent = shop.agent(era, form.clone()).await;
        let arguments = json!({"what": "tea"});
        assert_eq!(said(&agent.call(TOOL, &arguments, Some(yes())).await), ("ordered 1".to_owned(), false));
        let (text, is_error) = said(&agent.call(TOOL, &arguments, Some(no())).await);
        assert!(is_error && text.contains("a person said no in the form of robot"), "{era:?}: {text}");
        assert_eq!(shop.ran(), 1);

        let shop = Shop::new(Answerers::Page, short()).await;
        let agent = shop.agent(era, form).await;
        let (text, is_error) = said(&agent.call(TOOL, &arguments, Some(yes())).await);
        assert!(is_error && text.contains("not run; approval A-"), "{era:?}: {text}");
        assert_eq!(shop.ran(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn form_and_page_at_once_run_it_as_often_as_the_first_of_them_says() {
    for era in ERAS {
        for round in 0..8 {
            let shop = Shop::new(Answerers::Anyone, ApprovalTimes::default()).await;
            let agent = shop.agent(era, json!({"elicitation": {"form": {}}})).await;
            let call = tokio::spawn(async move { agent.call(TOOL, &json!({}), Some(yes())).await });
            let mut changed = shop.world.live.subscribe();
            // As soon as there is a question, whoever waits for it.
            let id = loop {
                let list = list_approvals(&shop.world.hub, &Actor::Session).expect("a list");
                let known = list.waiting.first().map(|info| info.approval.id.clone());
                let known = known.or_else(|| list.settled.first().map(|approval| approval.id.clone()));
                if let Some(id) = known {
                    break id;
                }
                timeout(DEADLINE, changed.changed()).await.expect("in time").expect("a hub");
            };
            let denied = deny_call(&shop.world.hub, &Actor::Session, &id, Some("stop"));
            let (text, is_error) = said(&call.await.expect("an end"));
            match denied {
                Ok(_) => assert!(is_error && shop.ran() == 0, "{era:?} {round}: {text}"),
                Err(error) => {
                    assert!(error.message().contains("was allowed already, in the form of robot"), "{error}");
                    assert!(!is_error && shop.ran() == 1, "{era:?} {round}: {text}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_was_sent_away_comes_back_and_its_call_runs_once() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Page, short()).await;
        let agent = shop.agent(era, json!({})).await;
        let (order, another) = (json!({"what": "tea", "size": 2}), json!({"what": "coffee"}));
        let (text, is_error) = said(&agent.call(TOOL, &order, None).await);
        let id = shop.waiting(0).await;
        let expected = format!("not run; approval {id} is open until 08:15 UTC; call again with the same arguments");
        assert!(is_error && text.contains(&expected), "{text}");
        // A looping agent makes one question.
        for _ in 0..5 {
            agent.call(TOOL, &order, None).await;
        }
        assert_eq!(shop.waiting(0).await, id);
        allow_call(&shop.world.hub, &Actor::Operator, &id).expect("allowed");
        assert_eq!(shop.ran(), 0, "a yes runs nothing");
        let (text, _) = said(&agent.call(TOOL, &another, None).await);
        assert!(text.contains("not run"), "other arguments are another question: {text}");
        // The same arguments in another order are the same.
        let same = json!({"size": 2, "what": "tea"});
        assert_eq!(said(&agent.call(TOOL, &same, None).await), ("ordered 1".to_owned(), false));
        let (text, _) = said(&agent.call(TOOL, &order, None).await);
        assert!(text.contains("not run"), "{text}");
        assert_eq!(shop.ran(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_shown_by_agents_that_can() {
    let shop = Shop::new(Answerers::Page, short()).await;
    let agent = shop.agent(Era::Legacy, json!({"elicitation": {"url": {}}})).await;
    let answer = agent.call(TOOL, &json!({}), None).await;
    let id = shop.waiting(0).await;
    assert_eq!(answer["error"]["code"], -32042, "{answer}");
    let page = &answer["error"]["data"]["elicitations"][0];
    assert_eq!(page["url"], format!("http://127.0.0.1:7333/approvals/{id}"));

    let shop = Shop::new(Answerers::Page, short()).await;
    let agent = shop.agent(Era::Modern, json!({"elicitation": {"url": {}}})).await;
    let mut messages = agent.send(TOOL, &json!({}), json!({})).await;
    let asked = messages.next().await.expect("an answer");
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let (key, question) = result["inputRequests"].as_object().expect("questions").iter().next().expect("one");
    let id = list_approvals(&shop.world.hub, &Actor::Session).expect("a list").waiting.remove(0).approval.id;
    assert_eq!(question["params"]["url"], format!("http://127.0.0.1:7333/approvals/{id}"));
    allow_call(&shop.world.hub, &Actor::Session, &id).expect("allowed");
    let round = json!({"inputResponses": {key: {"action": "accept"}}, "requestState": result["requestState"]});
    let answer = agent.send(TOOL, &json!({}), round).await.next().await.expect("an answer");
    assert_eq!(said(&answer), ("ordered 1".to_owned(), false));
    assert_eq!(shop.ran(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_definition_or_rule_takes_the_yes_back() {
    for era in ERAS {
        // While the call is held.
        let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
        let call = shop.calls(era).await;
        let id = shop.waiting(1).await;
        shop.world.host.put_toolbox(toolbox(&shop.ran, "Orders everything")).expect("put");
        allow_call(&shop.world.hub, &Actor::Session, &id).expect("allowed");
        let (text, is_error) = said(&call.await.expect("an end"));
        assert!(is_error && text.contains("changed while the call waited"), "{era:?}: {text}");

        // Before the caller comes back.
        let shop = Shop::new(Answerers::Page, short()).await;
        let agent = shop.agent(era, json!({})).await;
        agent.call(TOOL, &json!({}), None).await;
        let id = shop.waiting(0).await;
        allow_call(&shop.world.hub, &Actor::Session, &id).expect("allowed");
        shop.world.host.put_toolbox(toolbox(&shop.ran, "Orders everything")).expect("put");
        let (text, _) = said(&agent.call(TOOL, &json!({}), None).await);
        assert!(text.contains("not run") && !text.contains(&id), "{era:?}: {text}");
        assert_eq!(shop.ran(), 0);

        // Another rule asks, or none allows it any more.
        let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
        let call = shop.calls(era).await;
        let id = shop.waiting(1).await;
        let plan = helve::Plan::default().with(|plan| plan.rules = Some(vec![rule("shop/order", Action::Deny, None)]));
        shop.world.host.set_servers(plan).await;
        allow_call(&shop.world.hub, &Actor::Session, &id).expect("allowed");
        let (text, is_error) = said(&call.await.expect("an end"));
        assert!(is_error && text.contains("not allowed by the person's rules"), "{era:?}: {text}");
        assert_eq!(shop.ran(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_alike_share_a_question_and_each_needs_a_yes() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
        let calls = [shop.calls(era).await, shop.calls(era).await, shop.calls(era).await];
        for expected in 1..=3 {
            let id = shop.waiting(4 - expected).await;
            allow_call(&shop.world.hub, &Actor::Session, &id).expect("allowed");
            let ran = async {
                while shop.ran() < expected {
                    tokio::task::yield_now().await;
                }
            };
            timeout(DEADLINE, ran).await.expect("in time");
        }
        for call in calls {
            assert!(!said(&call.await.expect("an end")).1);
        }
        assert_eq!(shop.ran(), 3, "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_for_a_token_that_was_revoked_while_its_call_was_held() {
    for era in ERAS {
        let shop = Shop::new(Answerers::Page, ApprovalTimes::default()).await;
        let call = shop.calls(era).await;
        let id = shop.waiting(1).await;
        revoke_token(&shop.world.hub, &Actor::Operator, "agent").expect("revoked");
        let error = allow_call(&shop.world.hub, &Actor::Session, &id).expect_err("withdrawn");
        assert!(error.message().contains("was withdrawn, and nothing ran"), "{error}");
        // Its stream may have been cut off, or it was told.
        drop(timeout(DEADLINE, call).await.expect("an end"));
        assert_eq!(shop.ran(), 0, "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_starts_again_still_has_the_question_and_the_yes_counts() {
    for era in ERAS {
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let shop = Shop::at(Arc::clone(&directory), Answerers::Page, short(), still).await;
        let token = shop.world.agent.clone();
        let agent = shop.agent(era, json!({})).await;
        agent.call(TOOL, &json!({"what": "tea"}), None).await;
        let id = shop.waiting(0).await;
        // The files as a hub leaves them that is killed: nothing is told to end.
        let after = Arc::new(tempfile::tempdir().expect("a directory"));
        fs_err::create_dir(after.path().join("hub")).expect("a directory");
        for file in ["hub/hub.db", "hub/hub.db-wal"] {
            fs_err::copy(directory.path().join(file), after.path().join(file)).expect("a copy");
        }
        let shop = Shop::at(after, Answerers::Page, short(), still).await;
        assert_eq!(shop.waiting(0).await, id);
        let (_, page) = shop.clicks(&shop.world.cookie, &id, "allow", "").await;
        assert!(page.contains("order may run, once."), "{page}");
        let agent = Agent::new(&shop.world.face, &token, era, json!({})).await;
        let answer = agent.call(TOOL, &json!({"what": "tea"}), None).await;
        assert_eq!(said(&answer), ("ordered 1".to_owned(), false), "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn time_ends_questions_and_answers() {
    let shop = Shop::at(Arc::new(tempfile::tempdir().expect("a directory")), Answerers::Page, short(), clock).await;
    let agent = shop.agent(Era::Modern, json!({})).await;
    agent.call(TOOL, &json!({"what": "tea"}), None).await;
    let id = shop.waiting(0).await;
    LATER.fetch_add(15 * 60, Ordering::SeqCst);
    let error = allow_call(&shop.world.hub, &Actor::Session, &id).expect_err("too late");
    assert!(error.message().contains("has expired, and nothing ran"), "{error}");
    agent.call(TOOL, &json!({"what": "tea"}), None).await;
    let id = shop.waiting(0).await;
    allow_call(&shop.world.hub, &Actor::Session, &id).expect("allowed");
    LATER.fetch_add(10 * 60, Ordering::SeqCst);
    let (text, _) = said(&agent.call(TOOL, &json!({"what": "tea"}), None).await);
    assert!(text.contains("not run") && !text.contains(&id), "a yes lapses: {text}");
    assert_eq!(shop.ran(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_what_is_asked_and_no_secret() {
    let shop = Shop::new(Answerers::Page, short()).await;
    let agent = shop.agent(Era::Modern, json!({})).await;
    agent.call(TOOL, &json!({"what": format!("key {KNOWN_SECRET}\u{202e} <b>bold</b>")}), None).await;
    let id = shop.waiting(0).await;
    for path in ["/approvals".to_owned(), format!("/approvals/{id}")] {
        let page = World::request("GET", &path).header("cookie", &shop.world.cookie);
        let (_, page) = shop.world.send(page, None, "").await;
        assert!(!page.contains(KNOWN_SECRET) && page.contains("(hidden)"), "{page}");
        assert!(!page.contains("<b>bold") && !page.contains('\u{202e}'), "{page}");
        for shown in ["robot", "a rule says ask for", "never approved here before", "the caller has gone", &id] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
    }
    let (_, overview) =
        shop.world.send(World::request("GET", "/").header("cookie", &shop.world.cookie), None, "").await;
    assert!(overview.contains("a call waits for an answer"), "{overview}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_knows_tasks_gets_one_and_its_call_goes_on_in_it() {
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for verb in ["allow", "deny"] {
        let shop = Shop::new(Answerers::Page, short()).await;
        let agent = shop.agent(Era::Modern, tasks.clone()).await;
        let made = agent.send(TOOL, &json!({}), json!({})).await.next().await.expect("an answer");
        assert_eq!(
            (&made["result"]["resultType"], &made["result"]["status"]),
            (&json!("task"), &json!("working")),
            "{made}"
        );
        let name = made["result"]["taskId"].as_str().expect("a name").to_owned();
        let ask =
            || async { agent.ask("tasks/get", json!({"taskId": name}), &name).await.next().await.expect("an answer") };
        assert_eq!(ask().await["result"]["status"], "working");
        let id = shop.waiting(1).await;
        assert_eq!(shop.clicks(&shop.world.cookie, &id, verb, "no").await.0, 303);
        let end = async {
            loop {
                let told = ask().await;
                if told["result"]["status"] != "working" {
                    return told;
                }
                tokio::task::yield_now().await;
            }
        };
        let told = timeout(DEADLINE, end).await.expect("an end");
        assert_eq!(told["result"]["status"], "completed", "{told}");
        let text = told["result"]["result"]["content"][0]["text"].as_str().expect("a text");
        if verb == "allow" {
            assert_eq!((text, shop.ran()), ("ordered 1", 1));
        } else {
            assert!(text.contains("a person said no on the page") && shop.ran() == 0, "{text}");
        }
        // Nobody else's.
        let other = Agent::new(&shop.world.face, &shop.world.agent, Era::Modern, tasks.clone()).await;
        let unknown = other.ask("tasks/get", json!({"taskId": "h1-guess"}), "h1-guess").await.next().await;
        assert!(unknown.expect("an answer").get("error").is_some());
    }
}
