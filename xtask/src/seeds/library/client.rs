//! Owns the checks of an agent's client: states, capabilities, content, toggling, plans of servers, sessions that outlive a program.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use helve::{CallContext, Host, Planned};
use helve_model::{ContentBody, ServerStatus};
use helve_policy::Caller;

use super::{builder, content_of, context, fake, host, http, said, wait};
use crate::seeds::stage::Stage;

/// All five states, each with a reason where it is not connected.
pub(super) fn states(stage: &Stage) -> Result<()> {
    let url = listening(stage)?;
    wait(async {
        let host = host([
            fake(stage, "connected", &[])?,
            fake(stage, "failed", &["--exit=3"])?,
            http("needs-auth", &url)?,
            fake(stage, "disabled", &[])?,
        ])
        .await?;
        host.toggle("disabled", false)?;
        let state = |name: &str| host.server_status(name).map(|report| report.status);
        ensure!(state("connected") == Some(ServerStatus::Connected), "{:?}", state("connected"));
        ensure!(matches!(state("failed"), Some(ServerStatus::Failed(_))), "{:?}", state("failed"));
        ensure!(matches!(state("needs-auth"), Some(ServerStatus::NeedsAuth { .. })), "{:?}", state("needs-auth"));
        ensure!(matches!(state("disabled"), Some(ServerStatus::Disabled(_))), "{:?}", state("disabled"));
        host.add_server(fake(stage, "pending", &[])?).await;
        ensure!(matches!(state("pending"), Some(ServerStatus::Pending(_))), "{:?}", state("pending"));
        host.shutdown().await;
        Ok(())
    })
}

/// What a server says of itself is kept, and what it does not declare is not asked for.
pub(super) fn capabilities(stage: &Stage) -> Result<()> {
    let log = stage.project().join("bare.log");
    wait(async {
        let switch = format!("--log={}", log.display());
        let host = host([fake(stage, "full", &[])?, fake(stage, "bare", &["--bare", &switch])?]).await?;
        let report = host.server_status("full").context("no report")?;
        ensure!(report.server_info.is_some_and(|info| info.as_str().contains("fake")), "no server info");
        ensure!(report.capabilities.is_some_and(|has| has.as_str().contains("listChanged")), "no capabilities");
        ensure!(host.resources(Some("bare")).await.map_or(0, |offers| offers.items.len()) == 0, "resources of nobody");
        host.shutdown().await;
        let heard = content_of(&log)?;
        ensure!(!heard.contains("/list"), "it was asked for lists: {heard}");
        Ok(())
    })
}

/// Blocks of every kind, errors, and a resource's bytes.
pub(super) fn content(stage: &Stage) -> Result<()> {
    wait(async {
        let host = host([fake(stage, "f", &[])?]).await?;
        let called = host.call("f/media", super::json("{}")?, context()).await?;
        let view = called.outcome.open()?;
        let kinds: Vec<&str> = view.content.iter().map(|block| kind(&block.body)).collect();
        ensure!(kinds == ["text", "image", "resource", "resource_link"], "{kinds:?}");
        ensure!(host.call("f/fail", super::json("{}")?, context()).await?.outcome.is_error(), "a failure is none");
        let read = host.read_resource("f", "note://bin", &context()).await?;
        let bytes = format!("{:?}", read.outcome.contents());
        ensure!(bytes.contains("iVBORw0KGgo"), "{bytes}");
        host.shutdown().await;
        Ok(())
    })
}

fn kind(body: &ContentBody) -> &'static str {
    match body {
        ContentBody::Text(_) => "text",
        ContentBody::Image(_) => "image",
        ContentBody::ResourceLink(_) => "resource_link",
        ContentBody::Resource(_) => "resource",
        _ => "other",
    }
}

/// A time-out, a crash, a message above 1 MB, and requests that overtake each other.
pub(super) fn stdio(stage: &Stage) -> Result<()> {
    wait(async {
        let host = host([fake(stage, "f", &[])?]).await?;
        let short = CallContext::new(Caller::Agent).with_timeout(Duration::from_millis(700));
        let late = host.call("f/slow", super::json(r#"{"seconds":30}"#)?, short).await.err().context("in time")?;
        ensure!(late.code().to_string() == "TIMEOUT", "{late}");
        ensure!(said(&host, "f/big", r#"{"bytes":3000000}"#).await?.len() >= 60_000, "a large answer is lost");
        let began = Instant::now();
        let slow = || said(&host, "f/slow", r#"{"seconds":0.7}"#);
        let (one, two, three) = tokio::join!(slow(), slow(), slow());
        ensure!(one? == "at last" && two? == "at last" && three? == "at last", "an answer went to another call");
        ensure!(began.elapsed() < Duration::from_millis(2_000), "one after another: {:?}", began.elapsed());
        let crash = host.call("f/crash", super::json("{}")?, context()).await.err().context("no crash")?;
        ensure!(crash.code().to_string() == "TRANSPORT_ERROR", "{crash}");
        ensure!(said(&host, "f/echo", r#"{"x":"back"}"#).await?.contains("back"), "it does not come back");
        host.shutdown().await;
        Ok(())
    })
}

/// Tools go out and come in, and the process lives on.
pub(super) fn toggle(stage: &Stage) -> Result<()> {
    let log = stage.project().join("toggle.log");
    wait(async {
        let host = host([fake(stage, "f", &[&format!("--log={}", log.display())])?]).await?;
        let tools = || host.snapshot().tools().filter(|tool| tool.name().server.as_str() == "f").count();
        let before = tools();
        host.toggle("f", false)?;
        ensure!(before > 10 && tools() == 0, "{} tools of a server that is off", tools());
        let error = host.call("f/echo", super::json("{}")?, context()).await.err().context("called while off")?;
        ensure!(error.code().to_string() == "SERVER_DISABLED", "{error}");
        host.toggle("f", true)?;
        ensure!(said(&host, "f/echo", r#"{"x":"on"}"#).await?.contains("on") && tools() == before, "{}", tools());
        host.shutdown().await;
        let started = content_of(&log)?.lines().filter(|line| line.starts_with("started")).count();
        ensure!(started == 1, "started {started} times");
        Ok(())
    })
}

/// Of a whole plan only what changed is touched, and what fails is told by server.
pub(super) fn set_servers(stage: &Stage) -> Result<()> {
    wait(async {
        let host = host([fake(stage, "kept", &[])?, fake(stage, "removed", &[])?]).await?;
        let plan = vec![fake(stage, "kept", &[])?, fake(stage, "good", &[])?, fake(stage, "bad", &["--no-init"])?];
        let changes = host.connect_servers(plan).await;
        let names = |names: &[helve_model::ServerName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        ensure!(names(&changes.removed) == ["removed"] && names(&changes.kept) == ["kept"], "{changes:?}");
        let failed: Vec<String> = changes.errors.iter().map(|(name, _)| name.to_string()).collect();
        ensure!(changes.added.len() == 2 && failed == ["bad"], "{changes:?}");
        host.shutdown().await;
        Ok(())
    })
}

/// Calls and reads go to the server they name.
pub(super) fn routing(stage: &Stage) -> Result<()> {
    wait(async {
        let host = host([fake(stage, "a", &[])?, fake(stage, "b", &["--bare"])?]).await?;
        ensure!(said(&host, "a/echo", r#"{"x":"1"}"#).await?.contains('1'), "no answer");
        let offers = host.resources(Some("a")).await?;
        ensure!(offers.items.len() == 2, "{} resources", offers.items.len());
        let error = host.call("nobody/echo", super::json("{}")?, context()).await.err().context("nobody answered")?;
        ensure!(error.code().to_string() == "SERVER_NOT_FOUND", "{error}");
        host.shutdown().await;
        ensure!(host.status().is_empty(), "servers after the end");
        Ok(())
    })
}

/// Dropping a call tells the server; the next one is answered.
pub(super) fn cancellation(stage: &Stage) -> Result<()> {
    let log = stage.project().join("cancel.log");
    wait(async {
        let host = host([fake(stage, "f", &[&format!("--log={}", log.display())])?]).await?;
        let slow = said(&host, "f/slow", r#"{"seconds":30}"#);
        ensure!(tokio::time::timeout(Duration::from_millis(500), slow).await.is_err(), "30 s are over");
        ensure!(said(&host, "f/echo", r#"{"x":"next"}"#).await?.contains("next"), "no next answer");
        host.shutdown().await;
        let heard = content_of(&log)?;
        ensure!(heard.contains("notifications/cancelled"), "{heard}");
        Ok(())
    })
}

/// A host is saved, and another goes on with its HTTP session, without a handshake.
pub(super) fn resumed(stage: &Stage) -> Result<()> {
    let (port, log) = (content_of(&stage.project().join("port"))?, stage.project().join("http.log"));
    let url = format!("http://127.0.0.1:{port}/mcp");
    wait(async {
        let first = host([http("f", &url)?]).await?;
        said(&first, "f/echo", "{}").await?;
        let saved = first.save(&[])?;
        drop(first);
        let before = content_of(&log)?.matches("POST initialize").count();
        let second: Host = builder().server(Planned::from(http("f", &url)?)).resume(saved).start().await?;
        ensure!(said(&second, "f/echo", r#"{"x":"again"}"#).await?.contains("again"), "no answer");
        let after = content_of(&log)?.matches("POST initialize").count();
        ensure!(after == before, "{} handshakes more", after - before);
        second.shutdown().await;
        Ok(())
    })
}

/// The same without async.
pub(super) fn blocking(stage: &Stage) -> Result<()> {
    let host = helve::blocking::Host::start(builder().server(Planned::from(fake(stage, "f", &[])?)))?;
    let called = host.call("f/echo", super::json(r#"{"x":"sync"}"#)?, context())?;
    ensure!(called.to_text().contains("sync"), "{}", called.to_text());
    host.shutdown();
    Ok(())
}

/// Where a server listens that wants a token nobody has.
fn listening(stage: &Stage) -> Result<String> {
    let port = content_of(&stage.project().join("port-auth"))?;
    Ok(format!("http://127.0.0.1:{port}/mcp"))
}
