//! Owns the work itself, done in a process of its own so that no measure inherits another's memory or threads.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::job::{Era, Job, Kind, Runtime, Sample, Shape, Work};
use crate::stats::median;
use crate::subject::{
    HttpClient, HttpWork, Server, SharedClient, SharedWork, StdioClient, StdioWork, hold, kept, ready, with_http,
    with_shared, with_stdio,
};
use crate::{callgrind, memory};

/// Calls before the clock starts: lazy set-up, caches, branch predictors.
const WARM_UP: usize = 500;

/// Small calls before a large one is timed.
const SMALL_WARM_UP: usize = 20;

pub(crate) fn run(job: Job) -> Result<Sample> {
    let mut builder = match job.subject.runtime {
        Runtime::CurrentThread => tokio::runtime::Builder::new_current_thread(),
        Runtime::MultiThread => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build()?;
    let server = Server::stdio(job.server.clone());
    let subject = job.subject;
    runtime.block_on(async move {
        match job.work {
            Work::Echo { calls } => with_stdio(subject, Echo { server, calls }).await,
            Work::Flood { calls, in_flight } => with_shared(subject, Flood { server, calls, in_flight }).await,
            Work::Large { shape, bytes, calls } => {
                let option = match shape {
                    Shape::Text => "--text",
                    Shape::Structured => "--structured",
                };
                let server = server.preparing(option, bytes);
                with_stdio(subject, Large { server, shape, bytes, calls }).await
            }
            Work::List { tools, calls } => {
                let server = server.preparing("--tools", tools);
                with_stdio(subject, List { server, calls }).await
            }
            Work::Idle { connections } => with_stdio(subject, Idle { server, connections }).await,
            Work::Connect { connections } => with_stdio(subject, Connect { server, connections }).await,
            Work::Http { calls } => with_http(subject, Http { program: job.server, calls }).await,
            Work::Ready { servers, delay } => {
                let server = server.preparing("--delay", delay);
                if subject.client == Kind::Host {
                    return ready(&server, servers).await;
                }
                with_stdio(subject, Connect { server, connections: servers }).await
            }
            Work::Hold { servers } => {
                if subject.client == Kind::Host {
                    return hold(&server, servers).await;
                }
                with_stdio(subject, Idle { server, connections: servers }).await
            }
            Work::Kept { servers, tools } => kept(&server.preparing("--tools", tools), servers, tools).await,
        }
    })
}

struct Echo {
    server: Server,
    calls: usize,
}

impl StdioWork for Echo {
    type Output = Sample;

    async fn run<C: StdioClient>(self, era: Era) -> Result<Sample> {
        let mut client = C::connect(&self.server, era).await?;
        for _ in 0..WARM_UP.min(self.calls) {
            client.echo().await?;
        }
        let mut times = Vec::with_capacity(self.calls);
        callgrind::begin();
        let start = Instant::now();
        for _ in 0..self.calls {
            let start = Instant::now();
            client.echo().await?;
            times.push(start.elapsed().as_secs_f64());
        }
        let total_seconds = start.elapsed().as_secs_f64();
        callgrind::end();
        client.close().await?;
        Ok(Sample { median_seconds: median(&mut times), total_seconds, calls: self.calls, ..Sample::default() })
    }
}

struct Flood {
    server: Server,
    calls: usize,
    in_flight: usize,
}

impl SharedWork for Flood {
    type Output = Sample;

    async fn run<C: SharedClient>(self, era: Era) -> Result<Sample> {
        let client = Arc::new(C::connect(&self.server, era).await?);
        let callers = |calls: usize| {
            let callers: Vec<_> = (0..self.in_flight)
                .map(|_| {
                    let client = Arc::clone(&client);
                    tokio::spawn(async move {
                        for _ in 0..calls {
                            C::echo_shared(Arc::clone(&client)).await?;
                        }
                        anyhow::Ok(())
                    })
                })
                .collect();
            async move {
                for caller in callers {
                    caller.await??;
                }
                anyhow::Ok(())
            }
        };
        callers(WARM_UP / self.in_flight + 1).await?;
        let each = self.calls / self.in_flight;
        let start = Instant::now();
        callers(each).await?;
        let total_seconds = start.elapsed().as_secs_f64();
        let client = Arc::into_inner(client).context("a caller still holds the client")?;
        client.close().await?;
        Ok(Sample { total_seconds, calls: each * self.in_flight, ..Sample::default() })
    }
}

struct Large {
    server: Server,
    shape: Shape,
    bytes: usize,
    calls: usize,
}

impl StdioWork for Large {
    type Output = Sample;

    async fn run<C: StdioClient>(self, era: Era) -> Result<Sample> {
        let mut client = C::connect(&self.server, era).await?;
        for _ in 0..SMALL_WARM_UP {
            client.echo().await?;
        }
        let shape = self.shape;
        let mut sample = timed(&mut client, self.calls, async |client| client.large(shape).await).await?;
        sample.answer_bytes = self.bytes as f64;
        client.close().await?;
        Ok(sample)
    }
}

struct List {
    server: Server,
    calls: usize,
}

impl StdioWork for List {
    type Output = Sample;

    async fn run<C: StdioClient>(self, era: Era) -> Result<Sample> {
        let mut client = C::connect(&self.server, era).await?;
        for _ in 0..SMALL_WARM_UP {
            client.echo().await?;
        }
        let sample = timed(&mut client, self.calls, async |client| client.list().await).await?;
        client.close().await?;
        Ok(sample)
    }
}

/// The first call tells about memory, all of them about time.
async fn timed<C: StdioClient>(
    client: &mut C,
    calls: usize,
    call: impl AsyncFn(&mut C) -> Result<C::Answer>,
) -> Result<Sample> {
    let before = memory::resident()?;
    memory::reset_peak()?;
    let mut sample = Sample { calls, ..Sample::default() };
    let mut times = Vec::with_capacity(calls);
    for index in 0..calls {
        let start = Instant::now();
        let answer = call(client).await?;
        times.push(start.elapsed().as_secs_f64());
        if index == 0 {
            sample.peak_growth_bytes = memory::peak()? - before;
            sample.held_growth_bytes = memory::resident()? - before;
        }
        drop(answer);
    }
    sample.total_seconds = times.iter().sum();
    sample.median_seconds = median(&mut times);
    Ok(sample)
}

struct Idle {
    server: Server,
    connections: usize,
}

impl StdioWork for Idle {
    type Output = Sample;

    async fn run<C: StdioClient>(self, era: Era) -> Result<Sample> {
        let mut clients = vec![C::connect(&self.server, era).await?];
        let before = memory::resident()?;
        for _ in 0..self.connections {
            let mut client = C::connect(&self.server, era).await?;
            client.echo().await?;
            clients.push(client);
        }
        let resident_bytes = memory::resident()?;
        for client in clients {
            client.close().await?;
        }
        let held_growth_bytes = resident_bytes - before;
        Ok(Sample { held_growth_bytes, resident_bytes, calls: self.connections, ..Sample::default() })
    }
}

struct Connect {
    server: Server,
    connections: usize,
}

impl StdioWork for Connect {
    type Output = Sample;

    async fn run<C: StdioClient>(self, era: Era) -> Result<Sample> {
        let start = Instant::now();
        let connecting: Vec<_> = (0..self.connections)
            .map(|_| {
                let server = self.server.clone();
                tokio::spawn(async move { C::connect(&server, era).await })
            })
            .collect();
        let mut clients = Vec::with_capacity(self.connections);
        for client in connecting {
            clients.push(client.await??);
        }
        let total_seconds = start.elapsed().as_secs_f64();
        for client in clients {
            client.close().await?;
        }
        Ok(Sample { total_seconds, calls: self.connections, ..Sample::default() })
    }
}

struct Http {
    program: PathBuf,
    calls: usize,
}

impl HttpWork for Http {
    type Output = Sample;

    async fn run<C: HttpClient>(self, era: Era) -> Result<Sample> {
        let listening = Listening::echo_server(&self.program)?;
        let mut client = C::connect(listening.port, era).await?;
        for _ in 0..WARM_UP.min(self.calls) {
            client.echo().await?;
        }
        let mut times = Vec::with_capacity(self.calls);
        callgrind::begin();
        for _ in 0..self.calls {
            let start = Instant::now();
            client.echo().await?;
            times.push(start.elapsed().as_secs_f64());
        }
        callgrind::end();
        let connections = listening.connections()?;
        Ok(Sample { median_seconds: median(&mut times), calls: self.calls, connections, ..Sample::default() })
    }
}

/// A server that said its port; killed when dropped.
pub(crate) struct Listening {
    child: std::process::Child,
    pub(crate) port: u16,
}

impl Listening {
    pub(crate) fn echo_server(program: &Path) -> Result<Self> {
        Self::start(Command::new(program).arg("http"))
    }

    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut line)?;
        let port = line.trim().rsplit(' ').next().and_then(|port| port.parse().ok());
        Ok(Self { child, port: port.with_context(|| format!("the server did not say its port: {line}"))? })
    }

    fn connections(&self) -> Result<u64> {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port))?;
        stream.write_all(b"GET /stats HTTP/1.1\r\n\r\n")?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let stats: Value = serde_json::from_str(answer.lines().last().unwrap_or_default())?;
        stats["connections"].as_u64().context("the server did not count")
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
