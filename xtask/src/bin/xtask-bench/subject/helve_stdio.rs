//! helve's wire over stdio, as a host uses it: all features on, a permit per call, the answer kept raw.

use std::ffi::OsString;
use std::marker::PhantomData;
use std::sync::Arc;

use anyhow::{Result, bail};
use helve_model::{CallKind, Outcome, SecretSet, ServerName, ToolDefinition};
use helve_policy::Permit;
use helve_wire::launch::{Launcher, PlainLauncher, ServerCommand, WardenLauncher, WardenProgram, child_environment};
use helve_wire::{CallOptions, ConnectOptions, Listing, ProtocolChoice, Session, Times, connect_stdio};

use super::{Server, SharedClient, StdioClient, TEXT};
use crate::job::{Era, Shape};

const SERVER: &str = "echo";

/// A session, used in the manner `M`.
#[derive(Debug)]
pub(crate) struct Helve<M> {
    session: Session,
    echo: Permit,
    manner: PhantomData<M>,
}

/// What the wire hands out.
#[derive(Debug)]
#[expect(dead_code, reason = "held only so that it takes its memory")]
pub(crate) enum Answer {
    Result(Outcome),
    Tools(Listing<ToolDefinition>),
}

/// What tells one way of using the wire from another.
pub(crate) trait Manner: Send + Sync + 'static {
    fn launcher() -> Result<Box<dyn Launcher>> {
        Ok(Box::new(PlainLauncher))
    }

    fn check(outcome: &Outcome) -> Result<()> {
        check_echo(outcome)
    }

    fn secrets() -> Option<Arc<SecretSet>> {
        None
    }
}

/// One process group per server.
#[derive(Debug)]
pub(crate) struct Plain;

/// A warden per server: this very program, by its hidden verb.
#[derive(Debug)]
pub(crate) struct Warden;

/// One process group per server, and every answer opened.
#[derive(Debug)]
pub(crate) struct Typed;

/// One process group per server, and five secrets of usual lengths that it must not repeat.
#[derive(Debug)]
pub(crate) struct Secrets;

impl Manner for Plain {}

impl Manner for Secrets {
    fn secrets() -> Option<Arc<SecretSet>> {
        let secrets = SecretSet::new();
        for secret in [
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "sk-proj-T3BlbkFJ7Qx2vZpLw9RkD4mNs8Yt",
            "AKIAIOSFODNN7EXAMPLE",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "correct horse battery",
        ] {
            secrets.add(secret);
        }
        Some(Arc::new(secrets))
    }
}

impl Manner for Typed {
    fn check(outcome: &Outcome) -> Result<()> {
        check_typed_echo(outcome)
    }
}

impl Manner for Warden {
    fn launcher() -> Result<Box<dyn Launcher>> {
        let program = WardenProgram { path: std::env::current_exe()?, leading: vec!["warden".into()] };
        Ok(Box::new(WardenLauncher::new(program)))
    }
}

impl<M: Manner> StdioClient for Helve<M> {
    type Answer = Answer;

    async fn connect(server: &Server, era: Era) -> Result<Self> {
        let command = ServerCommand {
            program: server.program.clone().into(),
            args: server.arguments.iter().map(OsString::from).collect(),
            working_directory: None,
            environment: child_environment(std::env::vars_os(), []),
            ..ServerCommand::default()
        };
        let options = options(era)?.with(|options| options.secrets = M::secrets());
        let session = connect_stdio(&*M::launcher()?, &command, options).await?;
        Ok(Self { session, echo: echo()?, manner: PhantomData })
    }

    async fn echo(&mut self) -> Result<()> {
        self.echo_once().await
    }

    async fn large(&mut self, shape: Shape) -> Result<Answer> {
        let name = match shape {
            Shape::Text => "text",
            Shape::Structured => "structured",
        };
        let outcome = self.session.call_tool(&permit(name, "{}")?, CallOptions::default()).await?;
        Ok(Answer::Result(outcome))
    }

    async fn list(&mut self) -> Result<Answer> {
        let listing = self.session.list_tools(Times::default()).await?;
        if listing.incomplete.is_some() || !listing.warnings.is_empty() {
            bail!("not the whole list: {:?}", listing.incomplete);
        }
        Ok(Answer::Tools(listing))
    }

    async fn oversized(&mut self, bytes: u64) -> Result<String> {
        refusal(&self.session, bytes).await
    }

    async fn close(self) -> Result<()> {
        self.session.close().await;
        Ok(())
    }
}

impl<M: Manner> SharedClient for Helve<M> {
    async fn echo_shared(client: Arc<Self>) -> Result<()> {
        client.echo_once().await
    }
}

impl<M: Manner> Helve<M> {
    async fn echo_once(&self) -> Result<()> {
        M::check(&self.session.call_tool(&self.echo, CallOptions::default()).await?)
    }
}

/// The answer is handed out raw; like the floor's, it is judged by its length.
pub(super) fn check_echo(outcome: &Outcome) -> Result<()> {
    if outcome.raw().as_str().len() < TEXT.len() {
        bail!("not an echo: {outcome:?}");
    }
    Ok(())
}

/// The same with the typed view opened, as rmcp always does.
fn check_typed_echo(outcome: &Outcome) -> Result<()> {
    let text = outcome.open()?.to_text();
    if text != TEXT {
        bail!("not an echo: {text:?}");
    }
    Ok(())
}

pub(super) async fn refusal(session: &Session, bytes: u64) -> Result<String> {
    let call = permit("endless", &format!(r#"{{"bytes":{bytes}}}"#))?;
    match session.call_tool(&call, CallOptions::default()).await {
        Ok(_) => bail!("{bytes} bytes were taken"),
        Err(error) => Ok(format!("{}: {error}", error.code())),
    }
}

pub(super) const fn version(era: Era) -> &'static str {
    match era {
        Era::Legacy => "2025-11-25",
        Era::Modern => "2026-07-28",
    }
}

pub(super) fn options(era: Era) -> Result<ConnectOptions> {
    let protocol = ProtocolChoice::Pinned(version(era).to_owned());
    Ok(ConnectOptions::new(server()?).with(|options| options.protocol = protocol))
}

pub(super) fn echo() -> Result<Permit> {
    permit("echo", &format!(r#"{{"text":"{TEXT}"}}"#))
}

fn permit(tool: &str, arguments: &str) -> Result<Permit> {
    xtask::allowed::permit(SERVER, CallKind::Tool, tool, arguments)
}

fn server() -> Result<ServerName> {
    Ok(ServerName::new(SERVER)?)
}
