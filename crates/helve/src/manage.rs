//! Six tools by which a model looks at resources and watches things itself. Managing needs no permission; what a poll
//! calls does, and is asked for when it is made.

use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{ErrorCode, Hint, Outcome, ResourceBody, ResourceContents, ServerName, ToolDefinition};
use helve_policy::{CalledBy, Permit};
use helve_wire::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::catalog::ToolEntry;
use crate::error::CallError;
use crate::host::{Host, WeakHost};
use crate::registry::Registry;
use crate::tool::{Tool, ToolContext, ToolFailure, Toolbox, definition};
use crate::watch::{DEFAULT_INTERVAL, MINIMUM_INTERVAL, WatchFilter, WatchId, WatchKind, Watcher, WeakWatcher};

/// The six management tools as a toolbox, for watches that `watcher` owns and hears of.
///
/// `ListMcpResources`, `ReadMcpResource`, `SubscribeMcpResource`, `UnsubscribeMcpResource`, `SubscribePolling` and
/// `UnsubscribePolling`. [`Registry::offer_management`] puts them under their bare names beside a program's own tools.
#[must_use]
pub fn management_tools(name: ServerName, host: &Host, watcher: &Watcher) -> Toolbox {
    tools(host, watcher).into_iter().fold(Toolbox::new(name), Toolbox::with)
}

impl Registry {
    /// Offers the six management tools to models, under their bare names. They end with the watcher.
    ///
    /// # Errors
    /// As [`Registry::register`].
    pub fn offer_management(&self, watcher: &Watcher) -> Result<(), CallError> {
        tools(self.scope().host(), watcher).into_iter().try_for_each(|tool| self.register(tool))
    }
}

fn tools(host: &Host, watcher: &Watcher) -> Vec<Management> {
    let tool = |verb| Management { verb, host: host.downgrade(), watcher: watcher.downgrade() };
    ALL.map(tool).into()
}

const ALL: [Verb; 6] = [
    Verb::ListResources,
    Verb::ReadResource,
    Verb::Subscribe,
    Verb::Unsubscribe,
    Verb::SubscribePolling,
    Verb::UnsubscribePolling,
];

#[derive(Debug, Clone, Copy)]
enum Verb {
    ListResources,
    ReadResource,
    Subscribe,
    Unsubscribe,
    SubscribePolling,
    UnsubscribePolling,
}

/// One of the six.
struct Management {
    verb: Verb,
    host: WeakHost,
    watcher: WeakWatcher,
}

#[derive(Deserialize)]
struct ListInput {
    server: Option<String>,
}

#[derive(Deserialize)]
struct ReadInput {
    server: String,
    uri: String,
}

#[derive(Deserialize)]
struct SubscribeInput {
    server: String,
    uri: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UnsubscribeInput {
    server: Option<String>,
    uri: Option<String>,
    target: Option<String>,
    subscription_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PollInput {
    r#type: PolledKind,
    server: String,
    tool_name: Option<String>,
    arguments: Option<Map<String, Value>>,
    uri: Option<String>,
    interval_ms: Option<f64>,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PolledKind {
    Tool,
    Resource,
}

impl Tool for Management {
    fn definition(&self) -> ToolDefinition {
        let (name, description, properties, required) = self.verb.described();
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        let annotations = json!({"readOnlyHint": true, "openWorldHint": false});
        definition(name, description, &schema, &annotations)
    }

    fn call<'a>(&'a self, permit: &'a Permit, context: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        Box::pin(async move {
            let done = self.run(permit.arguments(), context).await;
            // Models call these tools: they are not told which rule in which file refused them.
            done.map_err(|error| {
                let told = error.to_agent();
                ToolFailure {
                    code: told.code(),
                    message: told.message().to_owned(),
                    hints: told.hints().iter().map(Hint::to_string).collect(),
                }
            })
        })
    }
}

impl Management {
    async fn run(&self, arguments: &RawJson, context: &ToolContext) -> Result<Outcome, CallError> {
        match self.verb {
            Verb::ListResources => list(&self.host.upgrade()?, read(arguments)?, context).await,
            Verb::ReadResource => read_resource(&self.host.upgrade()?, &read(arguments)?, context).await,
            Verb::Subscribe => {
                let input: SubscribeInput = read(arguments)?;
                let id = self.watcher()?.subscribe(&input.server, &input.uri, &input.reason).await?;
                Ok(subscribed(id))
            }
            Verb::Unsubscribe => self.unsubscribe(read(arguments)?, WatchKind::Subscription),
            Verb::SubscribePolling => poll(&self.host.upgrade()?, &self.watcher()?, read(arguments)?, context).await,
            Verb::UnsubscribePolling => self.unsubscribe(read(arguments)?, WatchKind::Poll),
        }
    }

    fn watcher(&self) -> Result<Watcher, CallError> {
        self.watcher.upgrade().ok_or_else(|| CallError::new(ErrorCode::ServerUnavailable, "nobody watches any more"))
    }

    fn unsubscribe(&self, input: UnsubscribeInput, kind: WatchKind) -> Result<Outcome, CallError> {
        // What is not an id of a watch is not a watch's id.
        let Ok(id) = input.subscription_id.as_deref().map(WatchId::parse).transpose() else {
            return Ok(shown(&json!({"unsubscribed": false})));
        };
        let filter = WatchFilter { id, server: input.server, target: input.uri.or(input.target), kind: Some(kind) };
        if filter.id.is_none() && filter.server.is_none() {
            let message = "say which: `subscriptionId`, or `server`, or `server` with what is watched there";
            return Err(CallError::new(ErrorCode::InvalidParams, message));
        }
        let ended = self.watcher()?.end(&filter);
        Ok(shown(&json!({"unsubscribed": ended > 0})))
    }
}

/// What a rule forbids to be read is not listed either.
async fn list(host: &Host, input: ListInput, context: &ToolContext) -> Result<Outcome, CallError> {
    let offers = host.resources(input.server.as_deref()).await?;
    let resources: Vec<Value> = offers
        .items
        .iter()
        .filter(|offered| host.may_read(&offered.server, offered.definition.uri(), context.called_by()))
        .map(|offered| {
            let view = offered.definition.view();
            let mut resource = Map::new();
            resource.insert("uri".to_owned(), offered.definition.uri().into());
            let name = view.name.as_deref().unwrap_or_else(|| offered.definition.uri());
            resource.insert("name".to_owned(), name.into());
            let optional = [("mimeType", &view.mime_type), ("description", &view.description)];
            for (key, value) in optional {
                if let Some(value) = value {
                    resource.insert(key.to_owned(), value.clone().into());
                }
            }
            resource.insert("server".to_owned(), offered.server.as_str().into());
            Value::Object(resource)
        })
        .collect();
    let listed = Value::from(resources).to_string();
    let blocks = if offers.errors.is_empty() {
        vec![json!({"type": "text", "text": listed})]
    } else {
        let told = |error: &CallError| match error.server() {
            Some(server) => format!("`{server}`: {}", error.to_agent().chain()),
            None => error.to_agent().chain(),
        };
        let errors: Vec<String> = offers.errors.iter().map(told).collect();
        let told = format!("some servers did not answer: {}", errors.join("; "));
        // Said beside the list: whoever takes the result as one text still gets JSON.
        vec![meant_for("assistant", &listed), meant_for("user", &told)]
    };
    Ok(Outcome::new(RawJson::assembled(json!({"content": blocks}).to_string())))
}

fn meant_for(audience: &str, text: &str) -> Value {
    json!({"type": "text", "text": text, "annotations": {"audience": [audience]}})
}

async fn read_resource(host: &Host, input: &ReadInput, context: &ToolContext) -> Result<Outcome, CallError> {
    let read = host.read_resource(&input.server, &input.uri, &context.call()).await?;
    let contents: Vec<Value> = read.outcome.contents().iter().map(contents).collect();
    Ok(shown(&json!({"contents": contents})))
}

/// One of the contents, bytes as the protocol writes them.
fn contents(piece: &ResourceContents) -> Value {
    let mut contents = Map::new();
    contents.insert("uri".to_owned(), piece.uri.clone().into());
    if let Some(mime_type) = &piece.mime_type {
        contents.insert("mimeType".to_owned(), mime_type.clone().into());
    }
    let (key, body) = match &piece.body {
        ResourceBody::Text(text) => ("text", text),
        ResourceBody::Blob(bytes) => ("blob", bytes),
    };
    contents.insert(key.to_owned(), body.clone().into());
    Value::Object(contents)
}

async fn poll(host: &Host, watcher: &Watcher, input: PollInput, context: &ToolContext) -> Result<Outcome, CallError> {
    let missing = |key: &str, kind: &str| {
        CallError::new(ErrorCode::InvalidParams, format!("`{key}` is missing: it says which {kind} is to be polled"))
    };
    let every = input.interval_ms.map_or(Ok(DEFAULT_INTERVAL), |interval| {
        Duration::try_from_secs_f64(interval / 1000.0)
            .map_err(|error| CallError::new(ErrorCode::InvalidParams, format!("`intervalMs` is not a time: {error}")))
    })?;
    let (id, _) = match input.r#type {
        PolledKind::Tool => {
            let tool = input.tool_name.ok_or_else(|| missing("toolName", "tool"))?;
            let server = ServerName::new(&input.server)
                .map_err(|problem| CallError::new(ErrorCode::InvalidParams, problem.to_string()))?;
            let name = helve_model::QualifiedName::new(server, helve_model::ToolName::new(tool));
            if is_management(host, &name) {
                let message = format!("`{}` manages watches and is not to be watched itself", name.tool);
                return Err(CallError::new(ErrorCode::InvalidParams, message).with_hint("poll a tool of a server"));
            }
            // A tool that agents do not see does not exist for them, and nothing tells the two apart.
            if !is_seen(&*host.find_tool(&name.to_string(), None).await?, context.called_by()) {
                let message = format!("the server `{}` has no tool `{}`", name.server, name.tool);
                return Err(CallError::new(ErrorCode::ToolNotFound, message).at(&name));
            }
            let arguments = RawJson::assembled(Value::Object(input.arguments.unwrap_or_default()).to_string());
            watcher.poll_tool_for(context, &name.to_string(), arguments, every, &input.reason).await?
        }
        PolledKind::Resource => {
            let uri = input.uri.ok_or_else(|| missing("uri", "resource"))?;
            watcher.poll_resource_for(context, &input.server, &uri, every, &input.reason).await?
        }
    };
    Ok(subscribed(id))
}

/// True for a tool that exists for this caller: no list leaves it out, no rule denies it whatever its arguments, and it
/// is what was pinned.
fn is_seen(tool: &ToolEntry, party: CalledBy<'_>) -> bool {
    !tool.is_hidden() && !tool.policy().denies(party) && !tool.is_unpinned()
}

/// True for the tools of this file: a poll of one that polls would breed.
fn is_management(host: &Host, name: &helve_model::QualifiedName) -> bool {
    let is_ours = ALL.iter().any(|verb| verb.described().0 == name.tool.as_str());
    is_ours && host.snapshot().find(name).is_some_and(|tool| tool.is_native())
}

fn subscribed(id: WatchId) -> Outcome {
    shown(&json!({"subscribed": true, "subscriptionId": id.to_string()}))
}

fn shown(value: &Value) -> Outcome {
    let text = value.to_string();
    Outcome::structured(&RawJson::assembled(text.clone()), &text)
}

fn read<T: DeserializeOwned>(arguments: &RawJson) -> Result<T, CallError> {
    // They fit the schema already; what is left are numbers too large for their type.
    arguments.parse().map_err(|error| CallError::new(ErrorCode::InvalidParams, error.to_string()))
}

impl Verb {
    /// Name, description, properties, and which of them are required.
    fn described(self) -> (&'static str, &'static str, Value, &'static [&'static str]) {
        let text = |description: &str| json!({"type": "string", "description": description});
        let server = text("name of the MCP server");
        let uri = text("URI of the resource");
        let id = text("what subscribing returned");
        let reason = text("why it is watched; repeated with each event");
        match self {
            Self::ListResources => (
                "ListMcpResources",
                "Lists the resources that MCP servers offer, of one server or of all",
                json!({"server": text("only of this MCP server")}),
                &[],
            ),
            Self::ReadResource => (
                "ReadMcpResource",
                "Reads a resource of an MCP server",
                json!({"server": server, "uri": uri}),
                &["server", "uri"],
            ),
            Self::Subscribe => (
                "SubscribeMcpResource",
                "Asks an MCP server to tell when a resource changes",
                json!({"server": server, "uri": uri, "reason": reason}),
                &["server", "uri"],
            ),
            Self::Unsubscribe => (
                "UnsubscribeMcpResource",
                "Ends subscriptions: one by its id, or those of a server, or of one resource of it",
                json!({"server": server, "uri": uri, "subscriptionId": id}),
                &[],
            ),
            Self::SubscribePolling => (
                "SubscribePolling",
                "Calls a tool or reads a resource again and again, and tells when the content changes",
                json!({
                    "type": {"type": "string", "enum": ["tool", "resource"]},
                    "server": server,
                    "toolName": text("the tool to call, for type `tool`"),
                    "arguments": {"type": "object", "description": "its arguments"},
                    "uri": text("the resource to read, for type `resource`"),
                    "intervalMs": {
                        "type": "number",
                        "minimum": milliseconds(MINIMUM_INTERVAL),
                        "default": milliseconds(DEFAULT_INTERVAL),
                        "description": "how often, in milliseconds",
                    },
                    "reason": reason,
                }),
                &["type", "server"],
            ),
            Self::UnsubscribePolling => (
                "UnsubscribePolling",
                "Ends polls: one by its id, or those of a server, or of one tool or resource of it",
                json!({"subscriptionId": id, "server": server, "target": text("the tool's name or the resource's URI")}),
                &[],
            ),
        }
    }
}

fn milliseconds(interval: Duration) -> u64 {
    u64::try_from(interval.as_millis()).unwrap_or(u64::MAX)
}
