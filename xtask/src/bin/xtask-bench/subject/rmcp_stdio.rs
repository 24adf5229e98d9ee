//! The official Rust SDK over stdio, used as its documentation says: typed calls on a child process.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, ProtocolVersion, Tool};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, Value};
use tokio::process::Command;

use super::{Server, SharedClient, StdioClient, TEXT};
use crate::job::{Era, Shape};

/// A running client and the arguments it calls with, built once.
#[derive(Debug)]
pub(crate) struct Typed {
    client: RunningService<RoleClient, ()>,
    arguments: Map<String, Value>,
}

/// What a typed client hands out.
#[derive(Debug)]
#[expect(dead_code, reason = "held only so that it takes its memory")]
pub(crate) enum Answer {
    Result(CallToolResult),
    Tools(Vec<Tool>),
}

impl StdioClient for Typed {
    type Answer = Answer;

    async fn connect(server: &Server, era: Era) -> Result<Self> {
        let mut command = Command::new(&server.program);
        command.args(&server.arguments);
        let transport = TokioChildProcess::new(command).context("cannot start the echo server")?;
        let lifecycle = match era {
            Era::Legacy => ClientLifecycleMode::Initialize,
            Era::Modern => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        };
        let client = ().serve_with_lifecycle(transport, lifecycle).await?;
        let arguments = Map::from_iter([("text".to_owned(), Value::from(TEXT))]);
        Ok(Self { client, arguments })
    }

    async fn echo(&mut self) -> Result<()> {
        self.echo_once().await
    }

    async fn large(&mut self, shape: Shape) -> Result<Answer> {
        let name = match shape {
            Shape::Text => "text",
            Shape::Structured => "structured",
        };
        Ok(Answer::Result(self.client.peer().call_tool(CallToolRequestParams::new(name)).await?))
    }

    async fn list(&mut self) -> Result<Answer> {
        Ok(Answer::Tools(self.client.peer().list_all_tools().await?))
    }

    async fn oversized(&mut self, bytes: u64) -> Result<String> {
        let mut call = CallToolRequestParams::new("endless");
        call.arguments = Some(Map::from_iter([("bytes".to_owned(), Value::from(bytes))]));
        match self.client.peer().call_tool(call).await {
            Ok(_) => bail!("{bytes} bytes were taken"),
            Err(error) => Ok(error.to_string()),
        }
    }

    async fn close(self) -> Result<()> {
        self.client.cancel().await?;
        Ok(())
    }
}

impl SharedClient for Typed {
    async fn echo_shared(client: Arc<Self>) -> Result<()> {
        client.echo_once().await
    }
}

impl Typed {
    async fn echo_once(&self) -> Result<()> {
        let mut call = CallToolRequestParams::new("echo");
        call.arguments = Some(self.arguments.clone());
        let result = self.client.peer().call_tool(call).await?;
        match result.content.first() {
            Some(ContentBlock::Text(text)) if text.text == TEXT => Ok(()),
            other => bail!("not an echo: {other:?}"),
        }
    }
}
