//! Owns the visit with a host: what servers offer besides tools, and what they ask back. Resources that change, forms,
//! sampling, roots, progress and logs of `server-everything`, the graph of `server-memory`, the roots of
//! `server-filesystem`.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use helve::{
    CallContext, ElicitationAnswer, ElicitationRequest, Elicitor, Host, HostEvent, Planned, Root, RootsProvider,
    Sampler, SamplingCall, SamplingLimits, Surroundings, WatchChange,
};
use helve_model::json::RawJson;
use helve_model::{
    Action, ConfigText, HttpFlavour, HttpSpec, Layer, Origin, Rule, ServerName, ServerSpec, StdioSpec, TransportSpec,
};
use helve_policy::{Caller, SourcedRule, Trust};
use helve_schema::Elicitation;
use helve_wire::{BoxFuture, CompletionSubject, LogLevel};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::process::{self, Listening, MARK};
use super::servers::{Server, Transport};

/// Time for an interpreter on a busy machine, and for a server that tells of changes every five seconds.
const PATIENCE: Duration = Duration::from_secs(60);
const RESOURCE: &str = "demo://resource/dynamic/text/1";

/// True for servers that offer more than tools, or ask.
pub(crate) fn has_more(server: &Server) -> bool {
    ["everything", "memory", "filesystem"].contains(&server.name)
}

/// Visits a server with a host; says in a few words what was seen.
pub(crate) fn visit(server: &Server, scratch: &Path, mark: &str) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let seen = runtime.block_on(async {
        let listening = match server.transport {
            Transport::Stdio => None,
            Transport::Http(_) | Transport::Sse(_) => Some(Listening::start(server, mark)?),
        };
        let host = host(spec(server, listening.as_ref(), mark)?, scratch).start().await?;
        let seen = match server.name {
            "everything" => everything(&host).await,
            "memory" => memory(&host).await,
            "filesystem" => filesystem(&host, scratch).await,
            other => bail!("nobody wrote down what {other} offers besides tools"),
        };
        host.shutdown().await;
        seen
    })?;
    let leftovers = process::leftovers(mark)?;
    ensure!(leftovers.is_empty(), "left behind: {}", leftovers.join(", "));
    Ok(seen)
}

async fn everything(host: &Host) -> Result<String> {
    let resources = host.resources(None).await?;
    let templates = host.resource_templates(None).await?;
    ensure!(resources.errors.is_empty() && !templates.items.is_empty(), "{:?}", resources.errors);
    let template = templates.items[0].definition.uri_template().to_owned();
    let subject = CompletionSubject::ResourceTemplate(&template);
    let completed = host.complete("everything", subject, "resourceId", "1", None).await?;
    ensure!(!completed.is_empty(), "nothing completes {template}");
    let prompt = host.get_prompt("everything", "args-prompt", json(r#"{"city":"Oslo"}"#)?, &context()).await?;
    ensure!(!prompt.messages().is_empty(), "a prompt without messages");

    let watcher = host.watcher();
    watcher.subscribe("everything", RESOURCE, "it changes").await?;
    call(host, "toggle-subscriber-updates", "{}").await?;
    for _ in 0..2 {
        let event = timeout(PATIENCE, watcher.next()).await.context("no update came")?;
        ensure!(matches!(event.change, WatchChange::Updated(_)), "{event:?}");
    }
    call(host, "toggle-subscriber-updates", "{}").await?;
    drop(watcher);

    let form = call(host, "trigger-elicitation-request", "{}").await?;
    ensure!(form.contains("Name: Ada") && form.contains("Favorite Integer: 42"), "the form came back as {form}");
    let sampled = call(host, "trigger-sampling-request", r#"{"prompt":"hello"}"#).await?;
    ensure!(sampled.contains("as scripted"), "sampling came back as {sampled}");
    let roots = call(host, "get-roots-list", "{}").await?;
    ensure!(roots.contains("scratch"), "the roots came back as {roots}");

    let progress: Arc<Mutex<Vec<f64>>> = Arc::default();
    let seen = Arc::clone(&progress);
    let on_progress = Arc::new(move |report: helve_wire::Progress| {
        if let Ok(mut seen) = seen.lock() {
            seen.push(report.progress);
        }
    });
    let arguments = json(r#"{"duration":1,"steps":4}"#)?;
    let long = context().with(|context| context.on_progress = Some(on_progress));
    host.call("everything/trigger-long-running-operation", arguments, long).await?;
    let progress = progress.lock().map(|seen| seen.clone()).unwrap_or_default();
    ensure!(progress == [1.0, 2.0, 3.0, 4.0], "progress was {progress:?}");

    let mut events = host.events();
    host.set_log_level("everything", LogLevel::Debug).await?;
    call(host, "toggle-simulated-logging", "{}").await?;
    let logged = async {
        loop {
            if let Some(HostEvent::Log { .. }) = events.next().await {
                return;
            }
        }
    };
    timeout(PATIENCE, logged).await.context("nothing was logged")?;
    Ok("subscribed, form, sampling, roots, progress, log".to_owned())
}

async fn memory(host: &Host) -> Result<String> {
    let entities = r#"{"entities":[{"name":"Ada","entityType":"person","observations":["counts"]}]}"#;
    call(host, "create_entities", entities).await?;
    let watcher = host.watcher();
    let arguments = json(r#"{"query":"Ada"}"#)?;
    let (_, first) = watcher.poll_tool("memory/search_nodes", arguments, helve::MINIMUM_INTERVAL, "").await?;
    ensure!(first.as_str().contains("counts"), "{first}");
    let observed = r#"{"observations":[{"entityName":"Ada","contents":["writes"]}]}"#;
    call(host, "add_observations", observed).await?;
    let event = timeout(PATIENCE, watcher.next()).await.context("the poll saw no change")?;
    ensure!(matches!(&event.change, WatchChange::Content(content) if content.as_str().contains("writes")), "{event:?}");
    call(host, "delete_entities", r#"{"entityNames":["Ada"]}"#).await?;
    Ok("polled".to_owned())
}

/// It was started without a directory: what it may see are our roots.
async fn filesystem(host: &Host, scratch: &Path) -> Result<String> {
    let wanted = scratch.canonicalize()?.display().to_string();
    let allowed = call(host, "list_allowed_directories", "{}").await?;
    ensure!(allowed.contains(&wanted), "it did not take {wanted} for a root: {allowed}");
    Ok("our roots are its directories".to_owned())
}

/// Calls a tool that may appear only after the server has got to know us.
async fn call(host: &Host, tool: &str, arguments: &str) -> Result<String> {
    let server = host.status().first().context("no server")?.name.clone();
    let name = format!("{server}/{tool}");
    let mut events = host.events();
    let listed = async {
        while host.resolve(&name).is_err() {
            drop(events.next().await);
        }
    };
    timeout(PATIENCE, listed).await.with_context(|| format!("{name} never appeared"))?;
    let called = host.call(&name, json(arguments)?, context()).await?;
    let text = called.to_text();
    ensure!(!called.outcome.is_error(), "{name} failed: {text}");
    Ok(text)
}

fn context() -> CallContext {
    CallContext::new(Caller::Script).with_timeout(PATIENCE)
}

fn json(text: &str) -> Result<RawJson> {
    Ok(RawJson::checked(text)?)
}

fn host(server: ServerSpec, scratch: &Path) -> helve::HostBuilder {
    let allow = Rule::new("*/*", Action::Allow, Origin::Program, Layer::CommandLine);
    Host::builder()
        .surroundings(
            Surroundings::default().with(|surroundings| surroundings.environment = std::env::vars_os().collect()),
        )
        .rules(vec![SourcedRule { rule: allow, trust: Trust::Trusted }])
        .server(Planned::from(server))
        .elicitor(Person)
        .sampler(Model, SamplingLimits::default())
        .roots(Scratch(format!("file://{}", scratch.display())))
}

fn spec(server: &Server, listening: Option<&Listening>, mark: &str) -> Result<ServerSpec> {
    let transport = match (listening, server.transport) {
        (Some(listening), Transport::Http(path) | Transport::Sse(path)) => TransportSpec::Http(HttpSpec {
            url: ConfigText::literal(format!("http://localhost:{}{path}", listening.port)),
            headers: [].into_iter().collect(),
            flavour: HttpFlavour::Auto,
        }),
        _ => TransportSpec::Stdio(StdioSpec {
            command: ConfigText::literal(server.program.display().to_string()),
            arguments: server
                .arguments
                .iter()
                .take(named_arguments(server))
                .map(|argument| ConfigText::literal(argument.clone()))
                .collect(),
            environment: [(MARK.to_owned(), ConfigText::literal(mark.to_owned()))].into_iter().collect(),
            working_directory: None,
        }),
    };
    let name = ServerName::new(server.name)?;
    Ok(ServerSpec::new(name, transport, Origin::Program, Layer::CommandLine))
}

/// The file server is told its directories by our roots, not by its arguments, of which the first is its script.
fn named_arguments(server: &Server) -> usize {
    if server.name == "filesystem" { 1 } else { usize::MAX }
}

/// Answers forms with their defaults and one name.
struct Person;

impl Elicitor for Person {
    fn elicit(&self, request: ElicitationRequest) -> BoxFuture<'_, ElicitationAnswer> {
        let answer = match &request.question {
            Elicitation::Form(form) => {
                let mut answers = Map::new();
                form.form().fill_defaults(&mut answers);
                answers.insert("name".to_owned(), Value::from("Ada"));
                ElicitationAnswer::Accept(Some(RawJson::assembled(Value::Object(answers).to_string())))
            }
            _ => ElicitationAnswer::Decline,
        };
        Box::pin(std::future::ready(answer))
    }
}

struct Model;

impl Sampler for Model {
    fn sample(&self, _request: SamplingCall) -> BoxFuture<'_, Result<RawJson, String>> {
        let answer = r#"{"role":"assistant","content":{"type":"text","text":"as scripted"},"model":"scripted"}"#;
        Box::pin(std::future::ready(RawJson::checked(answer).map_err(|error| error.to_string())))
    }
}

struct Scratch(String);

impl RootsProvider for Scratch {
    fn roots(&self, _server: &ServerName) -> Vec<Root> {
        vec![Root { uri: self.0.clone(), name: Some("scratch".to_owned()) }]
    }
}
