//! Owns the checks of an agent runtime's broker: `server:tool`, a status and a code with every result, servers that come and go.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use helve::broker::{ActionCall, ActionResult, ActionStatus, Broker, HostProvider};
use helve::{Host, HostEvent};

use super::{fake, filesystem, host, http, marked, program, said, wait};
use crate::seeds::stage::Stage;

fn action(capability: &str, arguments: &str, timeout: Option<Duration>) -> Result<ActionCall> {
    let arguments = super::json(arguments)?;
    Ok(ActionCall { id: "call-1".to_owned(), capability: capability.to_owned(), arguments, timeout })
}

fn broker(host: &Host) -> Broker {
    let broker = Broker::new();
    broker.register(HostProvider::new(host.clone()));
    broker
}

/// The real file server, by `filesystem:read_file`.
pub(super) fn calls(stage: &Stage) -> Result<()> {
    wait(async {
        let path = stage.project().join("README.md");
        fs_err::write(&path, "# Read me")?;
        let host = host([filesystem(stage)?]).await?;
        let broker = broker(&host);
        let names = broker.capabilities().into_iter().filter(|known| known.name.starts_with("filesystem:")).count();
        ensure!(names > 10, "{names} capabilities");
        let arguments = serde_json::json!({"path": path}).to_string();
        let result = broker.invoke(action("filesystem:read_file", &arguments, Some(super::PATIENCE))?).await;
        let output = result.output.map(|output| output.to_string()).unwrap_or_default();
        ensure!(result.id == "call-1" && result.status == ActionStatus::Ok && output.contains("# Read me"), "{output}");
        host.remove_server("filesystem").await?;
        ensure!(broker.capabilities().is_empty(), "capabilities of a server that is gone");
        host.shutdown().await;
        Ok(())
    })
}

/// What brings each code about.
const CODES: &[(&str, &str, &str)] = &[
    ("TRANSPORT_ERROR", "gone:echo", "{}"),
    ("TRANSPORT_ERROR", "nowhere:echo", "{}"),
    ("TOOL_NOT_FOUND", "f:nope", "{}"),
    ("TOOL_NOT_FOUND", "f:unknown", "{}"),
    ("INVALID_PARAMS", "f:search", r#"{"quer":1}"#),
    ("TOOL_ERROR", "f:fail", "{}"),
    ("TOOL_ERROR", "f:fault", "{}"),
    ("TIMEOUT", "f:slow", r#"{"seconds":30}"#),
];

/// One of the codes.
pub(super) fn code(stage: &Stage, wanted: &str) -> Result<()> {
    wait(async {
        let missing = program(stage, "gone", "no-such-program-anywhere", [])?;
        let host = host([fake(stage, "f", &[])?, missing, http("nowhere", "http://127.0.0.1:9/mcp")?]).await?;
        let broker = broker(&host);
        let timeout = (wanted == "TIMEOUT").then(|| Duration::from_millis(700));
        for (code, capability, arguments) in CODES.iter().filter(|(code, _, _)| *code == wanted) {
            let result = broker.invoke(action(capability, arguments, timeout)?).await;
            ensure!(code_of(&result) == *code, "{capability}: {}, not {code}", code_of(&result));
            let is_late = result.status == ActionStatus::Timeout;
            ensure!(is_late == (wanted == "TIMEOUT"), "{capability}: {:?}", result.status);
        }
        host.shutdown().await;
        Ok(())
    })
}

fn code_of(result: &ActionResult) -> String {
    result.error.as_ref().map_or_else(|| "none".to_owned(), |error| error.code.to_string())
}

/// The runtime's own file is read by the library, every field of it counts.
pub(super) fn configuration(stage: &Stage) -> Result<()> {
    let fake = stage.name("fake");
    wait(async {
        let mut server = super::fake(stage, "f", &[])?;
        if let helve_model::TransportSpec::Stdio(stdio) = &mut server.transport {
            stdio.environment = [("A".to_owned(), helve_model::ConfigText::literal("b"))].into_iter().collect();
        }
        let host = host([server]).await?;
        let value = said(&host, "f/env", r#"{"name":"A"}"#).await?;
        ensure!(value == "'b'", "{value} with {fake}");
        host.shutdown().await;
        Ok(())
    })
}

/// Added, removed, connected again, listed, shut down; each says what went wrong.
pub(super) fn lifecycle(stage: &Stage) -> Result<()> {
    wait(async {
        let host = host([]).await?;
        ensure!(host.connect_server(fake(stage, "f", &[])?).await?.tools > 10, "no tools");
        let bad = host.connect_server(fake(stage, "bad", &["--exit=3"])?).await;
        let error = bad.err().context("a server that ends is taken for connected")?;
        ensure!(error.to_string().contains("bad"), "{error}");
        ensure!(host.reconnect_server("bad").await.is_err(), "a server that ends is connected again");
        host.reconnect_server("f").await?;
        host.remove_server("bad").await?;
        let again = host.remove_server("bad").await.err().context("removed twice")?;
        ensure!(again.code().to_string() == "SERVER_NOT_FOUND", "{again}");
        ensure!(host.status().len() == 1, "{:?}", host.status());
        host.shutdown().await;
        ensure!(host.status().is_empty(), "servers after the end");
        Ok(())
    })
}

/// Dropping the host ends a server that ignores the end of its input.
pub(super) fn ends_with_its_host(stage: &Stage) -> Result<()> {
    let peer = stage.name("peer").to_owned();
    // What the scene runs in the background goes on.
    let mark = format!("{}-stubborn", stage.mark());
    wait(async {
        let scenario = r#"{"ignores_eof":true,"ignores_sigterm":true,"instructions":"ends with its host"}"#;
        let host = host([marked(&mark, "stubborn", &peer, [scenario])?]).await?;
        ensure!(said(&host, "stubborn/echo", "{}").await? == "{}", "it does not answer");
        drop(host);
        Ok(())
    })?;
    crate::interop::process::gone(&mark)
}

/// A tool that appears is announced and can be called.
pub(super) fn list_changed(stage: &Stage) -> Result<()> {
    wait(async {
        let host = host([fake(stage, "f", &[])?]).await?;
        let mut events = host.events();
        let before = host.server_status("f").context("no report")?.tools;
        said(&host, "f/grow", "{}").await?;
        let end = Instant::now() + super::PATIENCE;
        while host.server_status("f").context("no report")?.tools == before {
            ensure!(Instant::now() < end, "the new tool never appeared");
            let next = tokio::time::timeout(Duration::from_secs(1), events.next()).await;
            drop::<Result<Option<HostEvent>, _>>(next);
        }
        ensure!(said(&host, "f/grown", "{}").await? == "done grown", "the new tool does not answer");
        host.shutdown().await;
        Ok(())
    })
}
