//! A gateway on rmcp as its documentation would have it, typed from end to end: agents over Streamable HTTP, one server over stdio.
//!
//! `xtask-relay one|many PROGRAM stdio legacy|modern`: on one thread or on many; the era is the one that the server is told. Its address
//! is the first line of stdout; it serves until its input ends.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program of its own, as others are: its address is its output"
)]

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::transport::TokioChildProcess;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, ErrorData, RoleClient, RoleServer, ServerHandler};
use tokio::net::TcpListener;
use tokio::process::Command;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mut builder = match words.next().as_deref() {
        Some("one") => tokio::runtime::Builder::new_current_thread(),
        Some("many") => tokio::runtime::Builder::new_multi_thread(),
        _ => bail!("usage: xtask-relay one|many PROGRAM stdio legacy|modern"),
    };
    let program = words.next().context("no program")?;
    let arguments: Vec<String> = words.collect();
    builder.enable_all().build()?.block_on(serve(&program, &arguments))
}

async fn serve(program: &str, arguments: &[String]) -> Result<()> {
    let lifecycle = match arguments.last().map(String::as_str) {
        Some("modern") => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        _ => ClientLifecycleMode::Initialize,
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let server = ().serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?;
    let relay = Relay { server: server.peer().clone() };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let sessions = Arc::new(LocalSessionManager::default());
    let service =
        StreamableHttpService::new(move || Ok(relay.clone()), sessions, StreamableHttpServerConfig::default());
    let accepting = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(()) = stream.set_nodelay(true) else { continue };
            let service = service.clone();
            tokio::spawn(async move {
                let answer = service_fn(move |request| {
                    let service = service.clone();
                    async move { Ok::<_, Infallible>(service.handle(request).await) }
                });
                // A client that hangs up concerns nobody else.
                drop(http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await);
            });
        }
    });
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    accepting.abort();
    server.cancel().await?;
    Ok(())
}

/// Hands everything on to the one server.
#[derive(Clone, Debug)]
struct Relay {
    server: Peer<RoleClient>,
}

impl ServerHandler for Relay {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.server.list_tools(request).await.map_err(internal)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.server.call_tool(request).await.map_err(internal)?.into())
    }
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
