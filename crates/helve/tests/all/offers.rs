//! Resources, prompts, subscriptions and questions: over every transport, in both eras, one and the same.

use std::sync::{Arc, Mutex};

use helve::{
    ApprovalAnswer, ApprovalRequest, Approver, CallContext, ElicitationAnswer, ElicitationRequest, Elicitor, Host,
    HostBuilder, HostEvent, Root, RootsProvider, Sampler, SamplingCall, SamplingLimits, WatchChange,
};
use helve_model::json::RawJson;
use helve_model::{Action, CallKind, ErrorCode, ResourceBody, ServerName, ServerSpec};
use helve_policy::Caller;
use helve_testkit::{HttpServer, Offers, Scenario};
use helve_wire::{BoxFuture, CompletionSubject};
use tokio::time::timeout;

use crate::support::{PATIENCE, builder, call, host, http, json, program, rule, shown, stdio};

fn agent() -> CallContext {
    CallContext::new(Caller::Agent)
}

/// Fills in what the fake peer asks for, and counts how often.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<String>>>);

impl Elicitor for Person {
    fn elicit(&self, request: ElicitationRequest) -> BoxFuture<'_, ElicitationAnswer> {
        self.0.lock().unwrap().push(request.params.member_str("message").unwrap_or_default());
        let content = match &request.question {
            helve_schema::Elicitation::Form(form) => {
                let mut answers = serde_json::Map::new();
                form.form().fill_defaults(&mut answers);
                for field in form.form().fields().iter().filter(|field| field.required) {
                    answers.entry(field.name.clone()).or_insert_with(|| "Ada".into());
                }
                Some(json(&serde_json::Value::Object(answers).to_string()))
            }
            _ => None,
        };
        Box::pin(std::future::ready(ElicitationAnswer::Accept(content)))
    }
}

struct Model;

impl Sampler for Model {
    fn sample(&self, request: SamplingCall) -> BoxFuture<'_, Result<RawJson, String>> {
        let said = request.request.messages.len();
        let answer = format!(
            r#"{{"role":"assistant","content":{{"type":"text","text":"heard {said}"}},"model":"scripted","stopReason":"endTurn"}}"#
        );
        Box::pin(std::future::ready(Ok(json(&answer))))
    }
}

struct Here;

impl RootsProvider for Here {
    fn roots(&self, _server: &ServerName) -> Vec<Root> {
        vec![Root { uri: "file:///srv/project".to_owned(), name: Some("project".to_owned()) }]
    }
}

fn answering(servers: impl IntoIterator<Item = ServerSpec>) -> HostBuilder {
    builder(servers).elicitor(Person::default()).sampler(Model, SamplingLimits::default()).roots(Here)
}

/// What every peer has to look like, whatever it speaks and however it is reached.
async fn looks_alike(host: &Host) {
    let resources = host.resources(None).await.unwrap();
    let uris: Vec<&str> = resources.items.iter().map(|offered| offered.definition.uri()).collect();
    assert!(uris.contains(&"test://text") && uris.contains(&"test://binary"), "{uris:?}");
    assert!(resources.errors.is_empty(), "{:?}", resources.errors);
    let templates = host.resource_templates(Some("peer")).await.unwrap();
    assert_eq!(templates.items[0].definition.uri_template(), "test://item/{id}");

    let read = async |uri: &str| host.read_resource("peer", uri, &agent()).await;
    let text = read("test://text").await.unwrap().outcome;
    assert!(matches!(&text.contents()[0].body, ResourceBody::Text(_)));
    let binary = read("test://binary").await.unwrap().outcome;
    assert!(matches!(&binary.contents()[0].body, ResourceBody::Blob(_)));
    let asking = read("test://asking").await.unwrap().outcome;
    assert_eq!(asking.contents().len(), 1, "{asking:?}");
    let unknown = read("test://nowhere").await.unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::ResourceNotFound, "{unknown:?}");

    let prompts = host.prompts(None).await.unwrap();
    assert!(prompts.items.iter().any(|offered| offered.definition.name() == "greet"));
    let got = host.get_prompt("peer", "greet", json(r#"{"who":"Ada"}"#), &agent()).await.unwrap();
    assert!(!got.messages().is_empty());
    let missing = host.get_prompt("peer", "greet", json("{}"), &agent()).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::InvalidParams);
    let unknown = host.get_prompt("peer", "great", json("{}"), &agent()).await.unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::PromptNotFound);
    let words = host.complete("peer", CompletionSubject::Prompt("greet"), "who", "par", None).await.unwrap();
    assert_eq!(words, ["paris", "park", "party"]);

    for kind in ["form", "url", "sampling", "roots"] {
        let asked = call(host, "peer/ask", &format!(r#"{{"kind":"{kind}"}}"#)).await;
        let outcome = asked.unwrap_or_else(|error| panic!("{kind}: {error:?}"));
        assert!(!outcome.outcome.is_error(), "{kind}: {}", outcome.to_text());
    }

    let watcher = host.watcher();
    let id = watcher.subscribe("peer", "test://watched", "it may change").await.unwrap();
    drop(call(host, "peer/touch", r#"{"uri":"test://watched"}"#).await.unwrap());
    let event = timeout(PATIENCE, watcher.next()).await.unwrap();
    assert_eq!(
        (event.id, event.target.as_str(), event.reason.as_deref()),
        (id, "test://watched", Some("it may change"))
    );
    assert!(
        matches!(&event.change, WatchChange::Updated(params) if params.member_str("uri").as_deref() == Some("test://watched"))
    );
    assert_eq!(watcher.reports()[0].events, 1);
    assert_eq!(watcher.end(&helve::WatchFilter { id: Some(id), ..Default::default() }), 1);
    assert!(watcher.reports().is_empty());

    let mut events = host.events();
    for (kind, is_it) in [("resources", 0), ("prompts", 1)] {
        drop(call(host, "peer/list_changed", &format!(r#"{{"kind":"{kind}"}}"#)).await.unwrap());
        loop {
            match timeout(PATIENCE, events.next()).await.unwrap().unwrap() {
                HostEvent::ResourcesChanged { .. } if is_it == 0 => break,
                HostEvent::PromptsChanged { .. } if is_it == 1 => break,
                _ => {}
            }
        }
    }
}

async fn check(server: ServerSpec) {
    let host = answering([server]).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    looks_alike(&host).await;
    host.shutdown().await;
}

async fn served(scenario: &Scenario) -> (HttpServer, ServerSpec) {
    let server = scenario.serve_http().await.unwrap();
    let spec = http("peer", server.url());
    (server, spec)
}

#[tokio::test]
async fn over_stdio_in_the_legacy_era() {
    check(stdio("peer", &Scenario::legacy())).await;
}

#[tokio::test]
async fn over_stdio_in_the_modern_era() {
    check(stdio("peer", &Scenario::modern())).await;
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn over_http_in_the_legacy_era() {
    let (_server, spec) = served(&Scenario::legacy()).await;
    check(spec).await;
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn over_http_in_the_modern_era() {
    let (_server, spec) = served(&Scenario::modern()).await;
    check(spec).await;
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn over_sse() {
    let server = Scenario::legacy_version("2024-11-05").serve_sse().await.unwrap();
    let host = host([http("peer", server.url())]).await;
    // That old a server asks nothing; all the rest is the same.
    assert!(!host.resources(None).await.unwrap().items.is_empty());
    let watcher = host.watcher();
    watcher.subscribe("peer", "test://watched", "").await.unwrap();
    drop(call(&host, "peer/touch", r#"{"uri":"test://watched"}"#).await.unwrap());
    assert!(matches!(timeout(PATIENCE, watcher.next()).await.unwrap().change, WatchChange::Updated(_)));
    host.shutdown().await;
}

#[tokio::test]
async fn one_that_does_not_start_costs_the_others_nothing() {
    let broken = program("broken", "/nonexistent/server", &[]);
    let host = host([stdio("peer", &Scenario::legacy()), broken]).await;
    let resources = host.resources(None).await.unwrap();
    assert!(resources.items.iter().all(|offered| offered.server.as_str() == "peer"));
    assert!(!resources.items.is_empty());
    assert_eq!(resources.errors.len(), 1);
    assert_eq!(resources.errors[0].server().map(ServerName::as_str), Some("broken"));
    assert_eq!(host.resources(Some("nobody")).await.unwrap_err().code(), ErrorCode::ServerNotFound);
    host.shutdown().await;
}

#[tokio::test]
async fn rules_speak_of_resources_and_prompts() {
    let mut resources = rule("peer/test://text", Action::Deny);
    resources.rule.kind = Some(CallKind::Resource);
    let mut prompts = rule("peer/simple", Action::Ask);
    prompts.rule.kind = Some(CallKind::Prompt);
    let host = builder([stdio("peer", &Scenario::modern())])
        .rules(vec![resources, prompts])
        .approver(Nobody)
        .start()
        .await
        .unwrap();
    let read = host.read_resource("peer", "test://text", &agent()).await.unwrap_err();
    assert_eq!(read.code(), ErrorCode::Denied);
    insta::assert_snapshot!(shown(&read), @"
    DENIED: `peer/test://text` may not be read: rule `peer/test://text` for each resource (deny, command line layer) at the embedding program
      hint: change the rule at the embedding program: it was named for this run, and is asked before all others
    ");
    let heard = host.watcher().subscribe("peer", "test://text", "").await.unwrap_err();
    assert_eq!(heard.code(), ErrorCode::Denied);
    drop(host.read_resource("peer", "test://binary", &agent()).await.unwrap());
    let prompt = host.get_prompt("peer", "simple", json("{}"), &agent()).await.unwrap_err();
    assert_eq!(prompt.code(), ErrorCode::Denied, "{prompt:?}");
    host.shutdown().await;
}

struct Nobody;

impl Approver for Nobody {
    fn approve(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(std::future::ready(ApprovalAnswer::Decline))
    }
}

#[tokio::test]
async fn a_server_without_subscriptions_says_what_to_do_instead() {
    let offers = Offers { subscriptions: false, ..Offers::default() };
    let host = host([stdio("peer", &Scenario::legacy().offers(offers))]).await;
    let error = host.watcher().subscribe("peer", "test://watched", "").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @"
    PROTOCOL_ERROR: the server `peer` does not tell when its resources change
      hint: poll the resource instead
    ");
    host.shutdown().await;
}

#[tokio::test]
async fn a_resource_that_is_too_large_is_kept_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let surroundings = helve::Surroundings::default().with(|surroundings| {
        surroundings.spill_directory = Some(directory.path().to_path_buf());
        surroundings.environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
    });
    let settings = helve::HostSettings::default().with(|settings| settings.result_bytes = 8);
    let host = builder([stdio("peer", &Scenario::modern())])
        .settings(settings)
        .surroundings(surroundings)
        .start()
        .await
        .unwrap();
    let read = host.read_resource("peer", "test://text", &agent()).await.unwrap();
    let kept = fs_err::read_to_string(&read.kept_in[0]).unwrap();
    let mut whole = agent();
    whole.uncut = true;
    let whole = host.read_resource("peer", "test://text", &whole).await.unwrap();
    assert!(whole.kept_in.is_empty());
    let ResourceBody::Text(text) = &whole.outcome.contents()[0].body else { panic!("{whole:?}") };
    assert_eq!(&kept, text);
    let ResourceBody::Text(cut) = &read.outcome.contents()[0].body else { panic!("{read:?}") };
    assert!(cut.contains("the whole is in"), "{cut}");
    let binary = host.read_resource("peer", "test://binary", &agent()).await.unwrap();
    assert_eq!(binary.kept_in.len(), 1);
    host.shutdown().await;
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn what_is_not_offered_is_not_asked_for() {
    let offers = Offers { resources: false, prompts: false, subscriptions: false, ..Offers::default() };
    let server = Scenario::legacy().offers(offers).serve_http().await.unwrap();
    let host = host([http("peer", server.url())]).await;
    let read = host.read_resource("peer", "test://text", &agent()).await.unwrap_err();
    let prompt = host.get_prompt("peer", "greet", json("{}"), &agent()).await.unwrap_err();
    insta::assert_snapshot!([shown(&read), shown(&prompt)].join("\n"), @"
    RESOURCE_NOT_FOUND: the server `peer` has no resources
      hint: look at which resources there are
    PROMPT_NOT_FOUND: the server `peer` has no prompts
      hint: look at which prompts there are
    ");
    for method in ["resources/read", "prompts/list", "prompts/get"] {
        assert_eq!(server.recorder().count(method), 0, "{method}");
    }
    host.shutdown().await;
}

#[tokio::test]
async fn an_answer_without_contents_is_no_empty_resource() {
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}\n";
    let host = host([stdio("peer", &Scenario::legacy().scripted("resources/read", frame))]).await;
    let read = host.read_resource("peer", "test://text", &agent()).await.unwrap_err();
    insta::assert_snapshot!(shown(&read), @"PROTOCOL_ERROR: the server's answer has no `contents`");
    host.shutdown().await;
}

#[tokio::test]
async fn what_is_too_large_is_cut_without_a_directory_too() {
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"messages\":[{\"role\":\"user\",\"content\":\
        {\"type\":\"text\",\"text\":\"short\"}},{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\
        \"much longer than there is room for, all in all\"}}]}}\n";
    let settings = helve::HostSettings::default().with(|settings| settings.result_bytes = 48);
    let host = builder([stdio("peer", &Scenario::legacy().scripted("prompts/get", frame))])
        .settings(settings)
        .start()
        .await
        .unwrap();
    let got = host.get_prompt("peer", "simple", json("{}"), &agent()).await.unwrap();
    insta::assert_snapshot!(got.raw(), @r#"{"messages":[{"role":"user","content":{"type":"text","text":"short"}},{"role":"assistant","content":{"type":"text","text":"much longer than t"}},{"role":"user","content":{"type":"text","text":"[cut: 28 more bytes of text left out]"}}]}"#);
    let uncut = agent().with(|context| context.uncut = true);
    let whole = host.get_prompt("peer", "simple", json("{}"), &uncut).await.unwrap();
    assert!(whole.raw().as_str().contains("all in all"));
    let read = host.read_resource("peer", "test://binary", &agent()).await.unwrap();
    insta::assert_snapshot!(read.outcome.raw(), @r#"{"contents":[{"mimeType":"application/octet-stream","text":"[256 bytes, left out]","uri":"test://binary"}]}"#);
    assert!(read.kept_in.is_empty());
    host.shutdown().await;
}
