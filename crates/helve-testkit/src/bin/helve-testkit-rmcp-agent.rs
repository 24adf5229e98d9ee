//! An agent on `rmcp`, for interop runs: `helve-testkit-rmcp-agent PLAN`. What it sees of a server is one line of JSON on
//! stdout.
//!
//! The plan is a JSON object: `name` is what it answers with when it is asked; `era` is `legacy` or `modern`; `url` is where the server listens, or `command`, `args` and
//! `env` are how it is started; `tools` is how tools are called (`{server}__{tool}`); `scratch` is a directory that
//! the file server may write to. Every step is answered with what was seen or with `{"error": ...}`: who judges them is the
//! one who asked.

#![expect(deprecated, reason = "sampling, roots and legacy subscriptions are on their way out, and still in use")]
#![expect(clippy::disallowed_methods, reason = "rmcp takes a command and starts the server itself")]

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, GetPromptRequestParams, JsonObject, ListRootsResult,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ResourceUpdatedNotificationParam,
    ServerNotification, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);
const LONG: &str = "trigger-long-running-operation";

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Deserialize)]
struct Plan {
    name: String,
    era: String,
    url: Option<String>,
    #[serde(default)]
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    tools: String,
    scratch: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let plan: Plan = serde_json::from_str(&std::env::args().nth(1).ok_or("usage: helve-testkit-rmcp-agent PLAN")?)?;
    let mut seen = Map::new();
    match timeout(PATIENCE, Agent::connect(plan)).await.map_err(Failure::from).flatten() {
        Ok(mut agent) => agent.take_all(&mut seen).await,
        Err(error) => drop(seen.insert("connect".to_owned(), complaint(&error))),
    }
    writeln!(std::io::stdout(), "{}", Value::Object(seen))?;
    Ok(())
}

/// A connected client, and what comes in beside the answers.
struct Agent {
    plan: Plan,
    client: RunningService<RoleClient, Person>,
    asked: Arc<Mutex<Asked>>,
    reports: UnboundedReceiver<ProgressNotificationParam>,
    updates: UnboundedReceiver<String>,
}

/// What servers asked.
#[derive(Debug, Default)]
struct Asked {
    sampling: Option<String>,
    elicitation: Option<String>,
}

/// Answers servers.
struct Person {
    name: String,
    scratch: String,
    asked: Arc<Mutex<Asked>>,
    reports: UnboundedSender<ProgressNotificationParam>,
    updates: UnboundedSender<String>,
}

impl Agent {
    async fn connect(plan: Plan) -> Result<Self, Failure> {
        let asked: Arc<Mutex<Asked>> = Arc::default();
        let ((reports, heard_reports), (updates, heard_updates)) = (unbounded_channel(), unbounded_channel());
        let (name, scratch) = (plan.name.clone(), plan.scratch.clone());
        let person = Person { name, scratch, asked: Arc::clone(&asked), reports, updates };
        let lifecycle = match plan.era.as_str() {
            "modern" => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
            _ => ClientLifecycleMode::Initialize,
        };
        let client = match &plan.url {
            Some(url) => {
                let transport = StreamableHttpClientTransport::from_uri(url.as_str());
                person.serve_with_lifecycle(transport, lifecycle).await?
            }
            None => {
                let mut command = tokio::process::Command::new(&plan.command);
                command.args(&plan.args).env_clear().envs(&plan.env).stderr(Stdio::inherit());
                person.serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
            }
        };
        Ok(Self { plan, client, asked, reports: heard_reports, updates: heard_updates })
    }

    async fn take_all(&mut self, seen: &mut Map<String, Value>) {
        let version = self.client.peer().peer_info().map(|info| info.protocol_version.to_string());
        seen.insert("connect".to_owned(), json!(version));
        macro_rules! step {
            ($name:literal, $taken:expr) => {
                let taken = timeout(PATIENCE, $taken).await.map_err(Failure::from).flatten();
                seen.insert($name.to_owned(), taken.unwrap_or_else(|error| complaint(&error)));
            };
        }
        step!("list", self.list());
        step!("call", self.call_each());
        step!("read", self.read());
        step!("progress", self.progress());
        step!("cancel", self.cancel());
        step!("subscribe", self.subscribe());
        step!("appear", self.appear());
        step!("sample", self.sample());
        step!("elicit", self.elicit());
        step!("roots", self.roots());
        step!("close", self.close());
    }

    async fn list(&self) -> Result<Value, Failure> {
        let peer = self.client.peer();
        let tools = self.tools().await?;
        let prompts: Vec<String> = peer.list_all_prompts().await?.into_iter().map(|prompt| prompt.name).collect();
        let resources: Vec<String> = peer.list_all_resources().await?.into_iter().map(|found| found.uri).collect();
        Ok(json!({"tools": tools, "prompts": prompts, "resources": resources}))
    }

    async fn call_each(&self) -> Result<Value, Failure> {
        let path = format!("{}/agent.txt", self.plan.scratch);
        Ok(json!({
            "echo": self.call("everything", "echo", json!({"message": "größer"})).await?,
            "write": self.call("filesystem", "write_file", json!({"path": path, "content": "written"})).await?,
            "read": self.call("filesystem", "read_text_file", json!({"path": path})).await?,
            "time": self.call("time", "get_current_time", json!({"timezone": "UTC"})).await?,
        }))
    }

    async fn read(&self) -> Result<Value, Failure> {
        let uri = self.dynamic().await?;
        let resource = serde_json::to_value(self.client.read_resource(ReadResourceRequestParams::new(uri)).await?)?;
        let prompts = self.client.peer().list_all_prompts().await?;
        let prompt = prompts.into_iter().find(|prompt| prompt.name.ends_with("args-prompt")).ok_or("no args-prompt")?;
        let params = GetPromptRequestParams::new(prompt.name).with_arguments(object(json!({"city": "Oslo"})));
        let prompt = serde_json::to_value(self.client.get_prompt(params).await?)?;
        Ok(json!({"resource": resource["contents"][0]["text"], "prompt": prompt["messages"][0]["content"]["text"]}))
    }

    async fn progress(&mut self) -> Result<Value, Failure> {
        while self.reports.try_recv().is_ok() {}
        self.call("everything", LONG, json!({"duration": 1, "steps": 4})).await?;
        let mut reports = Vec::new();
        while let Ok(report) = self.reports.try_recv() {
            reports.push(json!([report.progress, report.total]));
        }
        Ok(Value::Array(reports))
    }

    async fn cancel(&mut self) -> Result<Value, Failure> {
        let params = self.params("everything", LONG, json!({"duration": 20, "steps": 100}));
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let calling = self.client.peer().send_cancellable_request(request, options).await?;
        // The first report proves that the server is at it.
        while self.reports.recv().await.ok_or("the client is gone")?.progress_token != calling.progress_token {}
        calling.cancel(Some("enough".to_owned())).await?;
        let then = self.call("everything", "echo", json!({"message": "still here"})).await?;
        Ok(json!({"refused": "cancelled", "then": then}))
    }

    async fn subscribe(&mut self) -> Result<Value, Failure> {
        let uri = self.dynamic().await?;
        let update = if self.plan.era == "modern" {
            let filter = SubscriptionFilter::builder().resource_subscriptions(vec![uri.clone()]).build();
            let mut subscription = self.client.peer().listen(filter).await?;
            self.toggle_updates().await?;
            let update = match subscription.next().await? {
                Some(ServerNotification::ResourceUpdatedNotification(updated)) => updated.params.uri,
                other => return Err(format!("instead of an update came {other:?}").into()),
            };
            self.toggle_updates().await?;
            subscription.cancel().await?;
            update
        } else {
            self.client.peer().subscribe(SubscribeRequestParams::new(uri.clone())).await?;
            self.toggle_updates().await?;
            let update = self.updates.recv().await.ok_or("the client is gone")?;
            self.toggle_updates().await?;
            self.client.peer().unsubscribe(UnsubscribeRequestParams::new(uri.clone())).await?;
            update
        };
        Ok(json!({"uri": uri, "update": update}))
    }

    /// Servers may show more tools once they know us; the end of patience is the end of the step.
    async fn appear(&self) -> Result<Value, Failure> {
        let wanted = self.named("everything", "trigger-elicitation-request");
        loop {
            let tools = self.tools().await?;
            if tools.contains(&wanted) {
                return Ok(json!(tools));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn sample(&self) -> Result<Value, Failure> {
        let prompt = format!("hello from {}", self.plan.name);
        let text = self.call("everything", "trigger-sampling-request", json!({"prompt": prompt})).await?;
        Ok(json!({"text": text, "asked": lock(&self.asked).sampling}))
    }

    async fn elicit(&self) -> Result<Value, Failure> {
        let text = self.call("everything", "trigger-elicitation-request", json!({})).await?;
        Ok(json!({"text": text, "asked": lock(&self.asked).elicitation}))
    }

    async fn roots(&self) -> Result<Value, Failure> {
        Ok(json!(self.call("everything", "get-roots-list", json!({})).await?))
    }

    async fn close(&mut self) -> Result<Value, Failure> {
        self.client.close().await?;
        Ok(Value::Bool(true))
    }

    /// The address of a resource that can be subscribed to.
    async fn dynamic(&self) -> Result<String, Failure> {
        let templates = self.client.peer().list_all_resource_templates().await?;
        let mut templates = templates.into_iter().map(|template| template.uri_template);
        let template = templates.find(|template| template.contains("dynamic/text/")).ok_or("no such template")?;
        Ok(template.replace("{resourceId}", "1"))
    }

    async fn toggle_updates(&self) -> Result<String, Failure> {
        self.call("everything", "toggle-subscriber-updates", json!({})).await
    }

    async fn tools(&self) -> Result<Vec<String>, Failure> {
        self.client.peer().clear_response_cache().await;
        Ok(self.client.peer().list_all_tools().await?.into_iter().map(|tool| tool.name.into_owned()).collect())
    }

    async fn call(&self, server: &str, tool: &str, arguments: Value) -> Result<String, Failure> {
        let result = self.client.call_tool(self.params(server, tool, arguments)).await?;
        let result = serde_json::to_value(result)?;
        let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        if result["isError"] == true {
            return Err(format!("{tool} failed: {}", texts.join("\n")).into());
        }
        Ok(texts.join("\n"))
    }

    fn params(&self, server: &str, tool: &str, arguments: Value) -> CallToolRequestParams {
        CallToolRequestParams::new(self.named(server, tool)).with_arguments(object(arguments))
    }

    fn named(&self, server: &str, tool: &str) -> String {
        self.plan.tools.replace("{server}", server).replace("{tool}", tool)
    }
}

impl ClientHandler for Person {
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let params = serde_json::to_value(params).unwrap_or_default();
        let text = params.pointer("/messages/0/content/text").and_then(Value::as_str);
        lock(&self.asked).sampling = text.map(ToOwned::to_owned);
        let content = json!({"type": "text", "text": format!("as scripted by {}", self.name)});
        scripted(json!({"role": "assistant", "model": "scripted", "content": content}))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(request).unwrap_or_default();
        lock(&self.asked).elicitation = request["message"].as_str().map(ToOwned::to_owned);
        scripted(json!({"action": "accept", "content": {"name": self.name, "integer": 42}}))
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        scripted(json!({"roots": [{"uri": format!("file://{}", self.scratch), "name": "scratch"}]}))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        drop(self.reports.send(params));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        drop(self.updates.send(params.uri));
    }

    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        let capabilities = json!({"sampling": {}, "elicitation": {"form": {}}, "roots": {"listChanged": true}});
        config.capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        config
    }
}

/// An answer from what it looks like on the wire.
fn scripted<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, ErrorData> {
    serde_json::from_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn complaint(error: &Failure) -> Value {
    json!({"error": error.to_string()})
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
