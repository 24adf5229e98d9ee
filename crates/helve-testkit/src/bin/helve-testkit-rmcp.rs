//! A small server on `rmcp`, for proof against something helve did not write: `helve-testkit-rmcp stdio|http [legacy|modern]`.
//!
//! Tools: `echo`, `progress{steps}`, `elicit`, `sleep{ms}`; one resource, one prompt. The HTTP form writes its URL as the
//! first line of stdout and serves until its stdin ends.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequest, InputRequests, InputRequiredResult,
    JsonObject, ListPromptsResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, Prompt, PromptArgument, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let versions = match arguments.get(1).map(String::as_str) {
        None => ProtocolVersion::KNOWN_VERSIONS.to_vec(),
        Some("legacy") => ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25).to_vec(),
        Some("modern") => vec![ProtocolVersion::V_2026_07_28],
        Some(other) => return Err(format!("no such era: {other}").into()),
    };
    let server = Server { versions };
    match arguments.first().map(String::as_str) {
        Some("stdio") => {
            server.serve(rmcp::transport::stdio()).await?.waiting().await?;
            Ok(())
        }
        Some("http") => serve_http(server).await,
        _ => Err("usage: helve-testkit-rmcp stdio|http [legacy|modern]".into()),
    }
}

async fn serve_http(server: Server) -> Result<(), Failure> {
    let listener = tokio::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    let sessions = Arc::new(LocalSessionManager::default());
    let service =
        StreamableHttpService::new(move || Ok(server.clone()), sessions, StreamableHttpServerConfig::default());
    let accepting = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let service = service.clone();
            tokio::spawn(async move {
                let answer = service_fn(move |request| {
                    let service = service.clone();
                    async move { Ok::<_, Infallible>(service.handle(request).await) }
                });
                // A client that hangs up does not affect the others.
                drop(http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await);
            });
        }
        #[expect(unreachable_code, reason = "gives the loop's errors a type")]
        Ok::<(), std::io::Error>(())
    });
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    accepting.abort();
    Ok(())
}

#[derive(Clone, Debug)]
struct Server {
    versions: Vec<ProtocolVersion>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities).with_instructions("A small server on rmcp")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Owned(self.versions.clone())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = [
            ("echo", "Returns its arguments"),
            ("progress", "Reports progress"),
            ("elicit", "Asks for a name"),
            ("sleep", "Answers later"),
        ];
        let tools = tools.map(|(name, description)| Tool::new(name, description, object(json!({ "type": "object" }))));
        Ok(ListToolsResult::with_all_items(tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        match request.name.as_ref() {
            "echo" => Ok(CallToolResult::structured(arguments).into()),
            "progress" => {
                let steps = arguments["steps"].as_u64().unwrap_or(3);
                if let Some(token) = context.meta.get_progress_token() {
                    for step in 1..=u32::try_from(steps).unwrap_or(u32::MAX) {
                        let progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
                        context.peer.notify_progress(progress).await.map_err(internal)?;
                    }
                }
                Ok(text(&format!("{steps} steps")))
            }
            "elicit" => elicit(&request, &context).await,
            "sleep" => {
                tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(1000))).await;
                Ok(text("slept"))
            }
            name => Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("test://text", "text")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != "test://text" {
            return Err(ErrorData::resource_not_found("Resource not found", None));
        }
        Ok(ReadResourceResult::new(vec![ResourceContents::text("Hello, wörld", request.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let who = PromptArgument::new("who").with_required(true);
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new("greet", Some("Greets somebody"), Some(vec![who]))]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let greeting = format!("Greet {}", arguments["who"].as_str().unwrap_or("nobody"));
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, greeting)]).into())
    }
}

/// Asks for a name: by a request of the server in the legacy era, by a second round in the modern one.
async fn elicit(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Who are you?".to_string(),
        requested_schema: serde_json::from_value(json!({
            "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] }))
        .map_err(internal)?,
    };
    if context.protocol_version() != Some(ProtocolVersion::V_2026_07_28) {
        let answer = context.peer.create_elicitation(question).await.map_err(internal)?;
        let content = answer.content.unwrap_or_default();
        return Ok(text(content["name"].as_str().unwrap_or("no answer")));
    }
    match &request.input_responses {
        None => {
            let mut requests = InputRequests::new();
            requests.insert("name".to_string(), InputRequest::Elicitation(ElicitRequest::new(question)));
            Ok(InputRequiredResult::new(Some(requests), Some("st.ate \"é\"\n".to_string())).into())
        }
        Some(_) if request.request_state.as_deref() != Some("st.ate \"é\"\n") => {
            Err(ErrorData::invalid_params("the requestState came back changed", None))
        }
        Some(answers) => {
            let answers = serde_json::to_value(answers).map_err(internal)?;
            Ok(text(answers["name"]["content"]["name"].as_str().unwrap_or("no answer")))
        }
    }
}

fn text(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn object(value: Value) -> JsonObject {
    if let Value::Object(object) = value { object } else { JsonObject::new() }
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
