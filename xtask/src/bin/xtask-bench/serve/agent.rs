//! Owns the agent that all gateways are measured with: helve's wire over Streamable HTTP, in the era that all of them
//! speak; and an agent that goes without a word.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use helve_model::{CallKind, HttpFlavour, ServerName};
use helve_policy::Permit;
use helve_wire::{CallOptions, ConnectOptions, HttpTarget, ProtocolChoice, Session, connect_http};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;

use crate::subject::TEXT;

const SERVER: &str = "echo";

/// The newest version that every gateway speaks with a handshake.
const VERSION: &str = "2025-06-18";

const SESSION: &str = "mcp-session-id";

/// How long a gateway that listens may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(1);

/// A session with a gateway.
#[derive(Debug)]
pub(super) struct Agent {
    session: Session,
    echo: Permit,
    text: Permit,
}

impl Agent {
    /// Connects and calls, again and again until that goes well: a gateway may listen before it can answer.
    pub(super) async fn arrive(url: &str) -> Result<Self> {
        let start = Instant::now();
        loop {
            let arrived = async {
                let agent = Self::connect(url).await?;
                agent.echo().await?;
                anyhow::Ok(agent)
            };
            match arrived.await {
                Ok(agent) => return Ok(agent),
                Err(error) if start.elapsed() > ANSWERS_WITHIN => return Err(error),
                Err(_) => tokio::time::sleep(TRY_AGAIN).await,
            }
        }
    }

    pub(super) async fn connect(url: &str) -> Result<Self> {
        let protocol = ProtocolChoice::Pinned(VERSION.to_owned());
        let options = ConnectOptions::new(ServerName::new(SERVER)?).with(|options| options.protocol = protocol);
        let session = connect_http(&HttpTarget::new(url)?, HttpFlavour::Streamable, options).await?;
        let permit = |tool| xtask::allowed::permit(SERVER, CallKind::Tool, tool, &arguments());
        Ok(Self { session, echo: permit("echo")?, text: permit("text")? })
    }

    /// Calls `echo`; the answer is judged by its length.
    pub(super) async fn echo(&self) -> Result<()> {
        let outcome = self.session.call_tool(&self.echo, CallOptions::default()).await?;
        let answer = outcome.raw().as_str();
        ensure!(answer.contains(TEXT), "not an echo: {answer}");
        Ok(())
    }

    /// Calls the tool with the prepared large text. Gives the length of the answer.
    pub(super) async fn text(&self) -> Result<usize> {
        Ok(self.session.call_tool(&self.text, CallOptions::default()).await?.raw().as_str().len())
    }
}

/// Both are required by the tools' schema.
fn arguments() -> String {
    json!({"text": TEXT, "path": "/srv/project"}).to_string()
}

/// An agent that greets, lists, calls, and goes: its connection closes, its session is not ended. Gives the session's id.
pub(super) async fn come_and_go(url: &str) -> Result<String> {
    let mut agent = Bare::connect(url, None).await?;
    agent
        .request(
            "initialize",
            &format!(
                r#"{{"protocolVersion":"{VERSION}","capabilities":{{}},"clientInfo":{{"name":"bench","version":"1"}}}}"#
            ),
        )
        .await?;
    let notified = agent.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()).await?;
    ensure!(notified.0 == StatusCode::ACCEPTED, "a notification got {}", notified.0);
    agent.request("tools/list", "{}").await?;
    agent.request("tools/call", &format!(r#"{{"name":"echo","arguments":{}}}"#, arguments())).await?;
    agent.session.context("it gave no session")
}

/// Whether a session is still there.
pub(super) async fn is_known(url: &str, session: &str) -> Result<bool> {
    let mut agent = Bare::connect(url, Some(session.to_owned())).await?;
    let (status, answer) = agent.post(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#.to_owned()).await?;
    match status {
        StatusCode::OK => Ok(true),
        StatusCode::NOT_FOUND => Ok(false),
        status => bail!("neither there nor gone: {status} {answer}"),
    }
}

/// One connection of an agent that has nothing but the protocol.
struct Bare {
    sender: SendRequest<Full<Bytes>>,
    address: String,
    path: String,
    session: Option<String>,
}

impl Bare {
    async fn connect(url: &str, session: Option<String>) -> Result<Self> {
        let url: Uri = url.parse()?;
        let address = url.authority().context("no address")?.to_string();
        let stream = TcpStream::connect(&address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, address, path: url.path().to_owned(), session })
    }

    async fn request(&mut self, method: &str, params: &str) -> Result<()> {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let (status, answer) = self.post(body).await?;
        ensure!(status == StatusCode::OK && answer.contains(r#""result""#), "{method} got {status} {answer}");
        Ok(())
    }

    async fn post(&mut self, body: String) -> Result<(StatusCode, String)> {
        let mut request = Request::post(&self.path)
            .header(HOST, &self.address)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header(SESSION, session).header("mcp-protocol-version", VERSION);
        }
        self.sender.ready().await?;
        let response = self.sender.send_request(request.body(Full::new(Bytes::from(body)))?).await?;
        if let Some(session) = response.headers().get(SESSION) {
            self.session = Some(session.to_str()?.to_owned());
        }
        let status = response.status();
        let answer = response.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8_lossy(&answer).into_owned()))
    }
}
