//! A whole gateway as an agent on a stream finds it: the message checked at the gate, the tool looked up by the name that
//! agents know, and a host's call behind it.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail, ensure};
use helve::{Answerer, CallError, Host};
use helve_hub::{AgentApprovers, ApprovalQueue, ApprovalTimes, Live};
use helve_model::{SecretSet, ServerSpec};
use helve_serve::{ApproverSource, HostPurpose, HostSource, Naming, Options, face};
use helve_store::{SealKey, Store};
use helve_wire::BoxFuture;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::task::JoinHandle;

use super::helve_host::{PATIENCE, builder, spec};
use super::helve_stdio::version;
use super::{Server, StdioClient, TEXT};
use crate::job::{Era, Shape};
use crate::rules::server_name;

/// Bytes that may be on their way between the agent and the gateway.
const PIPE: usize = 64 << 10;

/// Whether calls can be held for a person. Nothing that is measured is asked about.
pub(crate) trait Approvals: std::fmt::Debug + Send + Sync + 'static {
    /// Where they are held; the directory is its store's.
    fn source(directory: &std::path::Path) -> Result<Option<Arc<dyn ApproverSource>>>;
}

/// The agent's own form is the only way to ask.
#[derive(Debug)]
pub(crate) struct Plain;

/// Calls are held as a hub holds them.
#[derive(Debug)]
pub(crate) struct Holding;

impl Approvals for Plain {
    fn source(_directory: &std::path::Path) -> Result<Option<Arc<dyn ApproverSource>>> {
        Ok(None)
    }
}

impl Approvals for Holding {
    fn source(directory: &std::path::Path) -> Result<Option<Arc<dyn ApproverSource>>> {
        let store = Arc::new(Store::open(directory, |_| {})?);
        let key = SealKey::new(&[7; SealKey::BYTES]).context("no key")?;
        let (live, secrets) = (Arc::<Live>::default(), Arc::<SecretSet>::default());
        let address = "http://127.0.0.1:7333".to_owned();
        let queue = ApprovalQueue::new(store, key, live, secrets, address, ApprovalTimes::default(), SystemTime::now)?;
        Ok(Some(Arc::new(AgentApprovers(queue))))
    }
}

/// The only agent of a gateway, and the gateway, in one process.
#[derive(Debug)]
pub(crate) struct Agent<A> {
    writer: WriteHalf<DuplexStream>,
    reader: BufReader<ReadHalf<DuplexStream>>,
    serving: JoinHandle<std::io::Result<()>>,
    call: String,
    answer: String,
    /// What every later answer has to be.
    first_answer: String,
    _directory: tempfile::TempDir,
    approvals: PhantomData<A>,
}

/// Starts the host of the gateway.
struct OneServer(ServerSpec);

impl HostSource for OneServer {
    fn start(&self, answerer: Arc<dyn Answerer>, _purpose: HostPurpose) -> BoxFuture<'_, Result<Host, CallError>> {
        Box::pin(builder().answerer(answerer).server(self.0.clone()).start())
    }
}

impl<A: Approvals> StdioClient for Agent<A> {
    type Answer = ();

    async fn connect(server: &Server, era: Era) -> Result<Self> {
        let spec = spec(server, 0)?.with(|spec| spec.protocol_version = Some(version(era).to_owned()));
        let (near, far) = duplex(PIPE);
        let directory = tempfile::tempdir()?;
        let approvals = A::source(directory.path())?;
        let serving = tokio::spawn(async move {
            let (reader, writer) = split(far);
            let options = Options::default().with(|options| {
                options.naming = Naming::Server;
                options.wait = Some(PATIENCE);
                options.approvals = approvals;
            });
            face::stream::serve_alone(&OneServer(spec), options, reader, writer).await
        });
        let (reader, writer) = split(near);
        // About 200 bytes.
        let call = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{}__echo\",\"arguments\":{{\"text\":\"{TEXT}\",\"path\":\"/srv/main.rs\"}}}}}}\n",
            server_name(0)
        );
        let mut agent = Self {
            writer,
            reader: BufReader::new(reader),
            serving,
            call,
            answer: String::new(),
            first_answer: String::new(),
            _directory: directory,
            approvals: PhantomData,
        };
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        agent
            .writer
            .write_all(
                format!("{hello}\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n").as_bytes(),
            )
            .await?;
        agent.answered("\"id\":0").await?;
        Ok(agent)
    }

    async fn echo(&mut self) -> Result<()> {
        self.writer.write_all(self.call.as_bytes()).await?;
        self.answered("\"id\":1").await?;
        // Looked into once: a search through each answer would be counted as the gateway's.
        if self.first_answer.is_empty() {
            ensure!(self.answer.contains(TEXT), "another text came back: {}", self.answer);
            self.first_answer.clone_from(&self.answer);
        }
        ensure!(self.answer == self.first_answer, "another answer came: {}", self.answer);
        Ok(())
    }

    async fn large(&mut self, shape: Shape) -> Result<()> {
        bail!("the echo server lists no tool with a large result ({shape:?}), and a gateway calls nothing else")
    }

    async fn list(&mut self) -> Result<()> {
        bail!("a gateway lists by itself")
    }

    async fn oversized(&mut self, _bytes: u64) -> Result<String> {
        bail!("the echo server does not list `endless`, and a gateway calls nothing else")
    }

    async fn close(self) -> Result<()> {
        drop((self.writer, self.reader));
        Ok(self.serving.await??)
    }
}

impl<A> Agent<A> {
    /// Reads to the answer with this id; what comes before it is not waited for.
    async fn answered(&mut self, id: &str) -> Result<()> {
        loop {
            self.answer.clear();
            let read = self.reader.read_line(&mut self.answer).await.context("the gateway went away")?;
            ensure!(read > 0, "the gateway went away");
            if self.answer.contains(id) {
                return Ok(());
            }
        }
    }
}
