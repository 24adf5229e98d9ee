//! Owns the seam between the work and the clients: what every column must be able to do.
//!
//! A new column is a file in `subject/`, a [`Kind`], and one arm in each `with_…` function below.

mod floor_http;
mod floor_stdio;
mod helve_gateway;
mod helve_host;
mod helve_http;
mod helve_stdio;
mod rmcp_stdio;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};

pub(crate) use self::helve_host::{hold, kept, ready};
use crate::job::{Era, Kind, Shape, Subject};

/// About 100 bytes: the size of an argument in real life.
pub(crate) const TEXT: &str =
    "The quick brown fox jumps over the lazy dog, then sits down and thinks about what it has done to it.";

/// The echo server as a program to start, with what it has to prepare.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl Server {
    pub(crate) fn stdio(program: PathBuf) -> Self {
        Self { program, arguments: vec!["stdio".to_owned()] }
    }

    pub(crate) fn preparing(mut self, option: &str, amount: usize) -> Self {
        self.arguments.extend([option.to_owned(), amount.to_string()]);
        self
    }
}

/// A connection over stdio to a server it started.
pub(crate) trait StdioClient: Send + Sync + Sized + 'static {
    /// Kept until memory has been read.
    type Answer: Send;

    fn connect(server: &Server, era: Era) -> impl Future<Output = Result<Self>> + Send;

    /// Calls `echo` with [`TEXT`] and makes sure it came back.
    fn echo(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// Calls the tool with the prepared large result.
    fn large(&mut self, shape: Shape) -> impl Future<Output = Result<Self::Answer>> + Send;

    /// Lists all tools, ready to be looked up by name.
    fn list(&mut self) -> impl Future<Output = Result<Self::Answer>> + Send;

    /// Calls `endless`, whose answer has so many bytes, and says with which words the call was refused.
    fn oversized(&mut self, bytes: u64) -> impl Future<Output = Result<String>> + Send;

    fn close(self) -> impl Future<Output = Result<()>> + Send;
}

/// A client that takes many calls at once.
pub(crate) trait SharedClient: StdioClient {
    fn echo_shared(client: Arc<Self>) -> impl Future<Output = Result<()>> + Send;
}

/// A connection over Streamable HTTP.
pub(crate) trait HttpClient: Send + Sized {
    fn connect(port: u16, era: Era) -> impl Future<Output = Result<Self>> + Send;

    fn echo(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// As over stdio.
    fn oversized(&mut self, bytes: u64) -> impl Future<Output = Result<String>> + Send;
}

/// Work that any stdio client can do.
pub(crate) trait StdioWork {
    type Output;

    fn run<C: StdioClient>(self, era: Era) -> impl Future<Output = Result<Self::Output>>;
}

/// Work that needs many calls at once.
pub(crate) trait SharedWork {
    type Output;

    fn run<C: SharedClient>(self, era: Era) -> impl Future<Output = Result<Self::Output>>;
}

/// Work over HTTP.
pub(crate) trait HttpWork {
    type Output;

    fn run<C: HttpClient>(self, era: Era) -> impl Future<Output = Result<Self::Output>>;
}

pub(crate) async fn with_stdio<W: StdioWork>(subject: Subject, work: W) -> Result<W::Output> {
    match subject.client {
        Kind::Floor => work.run::<floor_stdio::PingPong>(subject.era).await,
        Kind::Rmcp => work.run::<rmcp_stdio::Typed>(subject.era).await,
        Kind::Helve => work.run::<helve_stdio::Helve<helve_stdio::Plain>>(subject.era).await,
        Kind::HelveTyped => work.run::<helve_stdio::Helve<helve_stdio::Typed>>(subject.era).await,
        Kind::HelveSecrets => work.run::<helve_stdio::Helve<helve_stdio::Secrets>>(subject.era).await,
        Kind::HelveWarden => work.run::<helve_stdio::Helve<helve_stdio::Warden>>(subject.era).await,
        Kind::HelveFixedToken | Kind::HelveSignedIn => bail!("tokens go over HTTP"),
        Kind::Host => work.run::<helve_host::OneHost<1>>(subject.era).await,
        Kind::HostManyRules => work.run::<helve_host::OneHost<1_000>>(subject.era).await,
        Kind::Gateway => work.run::<helve_gateway::Agent<helve_gateway::Plain>>(subject.era).await,
        Kind::GatewayApprovals => work.run::<helve_gateway::Agent<helve_gateway::Holding>>(subject.era).await,
    }
}

pub(crate) async fn with_shared<W: SharedWork>(subject: Subject, work: W) -> Result<W::Output> {
    match subject.client {
        Kind::Floor => bail!("the floor takes one call at a time"),
        Kind::Rmcp => work.run::<rmcp_stdio::Typed>(subject.era).await,
        Kind::Helve => work.run::<helve_stdio::Helve<helve_stdio::Plain>>(subject.era).await,
        Kind::HelveTyped => work.run::<helve_stdio::Helve<helve_stdio::Typed>>(subject.era).await,
        Kind::HelveSecrets => work.run::<helve_stdio::Helve<helve_stdio::Secrets>>(subject.era).await,
        Kind::HelveWarden => work.run::<helve_stdio::Helve<helve_stdio::Warden>>(subject.era).await,
        Kind::HelveFixedToken | Kind::HelveSignedIn => bail!("tokens go over HTTP"),
        Kind::Host => work.run::<helve_host::OneHost<1>>(subject.era).await,
        Kind::HostManyRules => work.run::<helve_host::OneHost<1_000>>(subject.era).await,
        Kind::Gateway | Kind::GatewayApprovals => bail!("the agent of a gateway takes one call at a time"),
    }
}

pub(crate) async fn with_http<W: HttpWork>(subject: Subject, work: W) -> Result<W::Output> {
    match subject.client {
        Kind::Floor => work.run::<floor_http::Hyper>(subject.era).await,
        Kind::Helve | Kind::HelveTyped | Kind::HelveSecrets | Kind::HelveWarden => {
            work.run::<helve_http::Helve<helve_http::Open>>(subject.era).await
        }
        Kind::HelveFixedToken => work.run::<helve_http::Helve<helve_http::FixedToken>>(subject.era).await,
        Kind::HelveSignedIn => work.run::<helve_http::Helve<helve_http::SignedIn>>(subject.era).await,
        Kind::Host | Kind::HostManyRules | Kind::Gateway | Kind::GatewayApprovals => {
            bail!("a host is measured over stdio")
        }
        Kind::Rmcp => bail!("rmcp's HTTP client stands on another HTTP library and is not measured here"),
    }
}
