//! Owns the checks of a coding agent's registry: own and MCP tools side by side, sub-agents, the servers by name.

use anyhow::{Result, ensure};
use helve::{Narrowing, Registry, Tool, ToolContext, ToolFailure, definition};
use helve_model::{Outcome, ToolDefinition};
use helve_policy::Permit;
use helve_render::Provider;
use helve_wire::BoxFuture;
use serde_json::json;

use super::{context, fake, host, wait};
use crate::seeds::stage::Stage;

/// A tool of the program's own.
struct Builtin;

impl Tool for Builtin {
    fn definition(&self) -> ToolDefinition {
        definition("builtin_x", "Does x", &json!({"type": "object"}), &json!({"readOnlyHint": true}))
    }

    fn call<'a>(&'a self, _: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        Box::pin(async { Ok(Outcome::text("x done")) })
    }
}

/// Both kinds of tools are in the definitions, and answer with text.
pub(super) fn both_kinds(stage: &Stage) -> Result<()> {
    wait(async {
        let host = host([fake(stage, "ok", &[])?]).await?;
        let registry = Registry::new(host.clone());
        registry.register(Builtin)?;
        let definitions = registry.definitions(Provider::Anthropic);
        for part in ["builtin_x", "Does x", "mcp__ok__echo", "input_schema"] {
            ensure!(definitions.json().contains(part), "{part} is missing: {}", definitions.json());
        }
        let own = registry.execute("builtin_x", super::json("{}")?, context()).await?.to_text();
        let mcp = registry.execute("mcp__ok__echo", super::json(r#"{"x":"hi"}"#)?, context()).await?.to_text();
        ensure!(own == "x done" && mcp.contains("hi"), "{own} and {mcp}");
        host.shutdown().await;
        Ok(())
    })
}

/// A sub-agent calls what its parent has, and never more.
pub(super) fn sub_agents(stage: &Stage) -> Result<()> {
    wait(async {
        let host = host([fake(stage, "ok", &[])?]).await?;
        let registry = Registry::new(host.clone());
        let narrowing = Narrowing { only: Some(vec!["ok/echo".to_owned()]), without: Vec::new() };
        let child = registry.scope().narrow(&narrowing)?;
        let said = child.execute("mcp__ok__echo", super::json(r#"{"x":"sub"}"#)?, context()).await?.to_text();
        ensure!(said.contains("sub"), "{said}");
        ensure!(child.execute("ok/counter", super::json("{}")?, context()).await.is_err(), "more than it was given");
        host.shutdown().await;
        Ok(())
    })
}

/// Servers are started, listed, found by name and ended.
pub(super) fn manager(stage: &Stage) -> Result<()> {
    wait(async {
        let host = host([fake(stage, "one", &[])?]).await?;
        host.add_server(fake(stage, "two", &[])?).await;
        host.ready("two", super::PATIENCE).await?;
        let names: Vec<String> = host.status().iter().map(|report| report.name.to_string()).collect();
        ensure!(names == ["one", "two"], "{names:?}");
        ensure!(host.server_status("two").is_some_and(|report| report.tools > 10), "two has no tools");
        host.shutdown().await;
        ensure!(host.status().is_empty(), "servers after the end");
        Ok(())
    })
}
