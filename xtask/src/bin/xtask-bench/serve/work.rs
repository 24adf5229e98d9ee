//! Owns the work itself: starts one gateway and works through it as agents do, on one thread of a process of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::agent::{self, Agent};
use super::gateway::{Manner, Running, Upstream};
use super::job::{Job, Load, Sample, Work};
use crate::child::Listening;
use crate::job::{Era, Kind, Subject};
use crate::stats::median;
use crate::subject::{Server, StdioClient, StdioWork, with_stdio};
use crate::{memory, processor};

/// Calls in flight, and agents.
const IN_FLIGHT: usize = 32;

/// Of the time that is measured, so much is worked before the clock starts: caches, branch predictors, compilers.
const WARM_UP: f64 = 0.3;

/// Agents that come and go before memory is looked at: buffers, tables.
const FIRST_AGENTS: usize = 20;

pub(crate) fn run(job: &Job) -> Result<Sample> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        match job.work {
            Work::Calls { seconds } => calls(job, seconds).await,
            Work::Http { seconds } => http(job, seconds).await,
            Work::Large { bytes, calls } => large(job, bytes, calls).await,
            Work::Start => start(job).await,
            Work::Abandoned { agents } => abandoned(job, agents).await,
            Work::Expired { agents, seconds } => expired(job, agents, seconds).await,
        }
    })
}

async fn calls(job: &Job, seconds: f64) -> Result<Sample> {
    let upstream = job.behind.stdio(None);
    let gateway = job.gateway.start(&upstream, &[])?;
    let first = arrive(&gateway).await?;
    let idle = memory::resident_of(gateway.process())?;
    one_after_the_other(&first, seconds * WARM_UP).await?;
    let alone = one_after_the_other(&first, seconds).await?;
    let first = Arc::new(first);
    let one_agent = at_once(&vec![first; IN_FLIGHT], &gateway, &upstream, seconds).await?;
    let mut agents = Vec::with_capacity(IN_FLIGHT);
    for _ in 0..IN_FLIGHT {
        agents.push(Arc::new(arrive(&gateway).await?));
    }
    let many_agents = at_once(&agents, &gateway, &upstream, seconds).await?;
    let loaded = memory::resident_of(gateway.process())?;
    Ok(Sample { alone, one_agent, many_agents, idle, loaded, ..Sample::default() })
}

async fn http(job: &Job, seconds: f64) -> Result<Sample> {
    let server = Listening::echo_server(&job.behind.program)?;
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    let gateway = match job.gateway.manner {
        Manner::Direct => None,
        _ => Some(job.gateway.start(&Upstream::Http { url: url.clone() }, &[])?),
    };
    let agent = match &gateway {
        Some(gateway) => arrive(gateway).await?,
        None => Agent::arrive(&url).await?,
    };
    one_after_the_other(&agent, seconds * WARM_UP).await?;
    let alone = one_after_the_other(&agent, seconds).await?;
    Ok(Sample { alone, ..Sample::default() })
}

async fn large(job: &Job, bytes: usize, calls: usize) -> Result<Sample> {
    let gateway = job.gateway.start(&job.behind.stdio(Some(bytes)), &[])?;
    let agent = arrive(&gateway).await?;
    let process = gateway.process();
    let before = memory::resident_of(process)?;
    memory::reset_peak_of(process)?;
    let mut times = Vec::with_capacity(calls);
    let mut growth = 0.0;
    for index in 0..calls {
        let start = Instant::now();
        let length = agent.text().await.with_context(|| gateway.last_words())?;
        times.push(start.elapsed().as_secs_f64());
        ensure!(length >= bytes, "{length} of {bytes} bytes came");
        if index == 0 {
            growth = memory::peak_of(process)? - before;
        }
    }
    Ok(Sample { large: median(&mut times), growth, ..Sample::default() })
}

async fn start(job: &Job) -> Result<Sample> {
    let started = Instant::now();
    if job.gateway.manner == Manner::Direct {
        let server = Server::stdio(job.behind.program.clone());
        return with_stdio(Subject::new(Kind::Helve), OwnStart { server }).await;
    }
    let gateway = job.gateway.start(&job.behind.stdio(None), &[])?;
    arrive(&gateway).await?;
    Ok(Sample { start: started.elapsed().as_secs_f64(), ..Sample::default() })
}

/// What a server takes to start and answer, with nothing between.
struct OwnStart {
    server: Server,
}

impl StdioWork for OwnStart {
    type Output = Sample;

    async fn run<C: StdioClient>(self, era: Era) -> Result<Sample> {
        let started = Instant::now();
        let mut client = C::connect(&self.server, era).await?;
        client.echo().await?;
        Ok(Sample { start: started.elapsed().as_secs_f64(), ..Sample::default() })
    }
}

async fn abandoned(job: &Job, agents: usize) -> Result<Sample> {
    let gateway = job.gateway.start(&job.behind.stdio(None), &[])?;
    let agent = arrive(&gateway).await?;
    for _ in 0..FIRST_AGENTS.min(agents) {
        agent::come_and_go(&gateway.url).await?;
    }
    agent.echo().await?;
    let before = memory::resident_of(gateway.process())?;
    for _ in 0..agents {
        agent::come_and_go(&gateway.url).await?;
    }
    // The gateway has seen the last one go when it answers again.
    agent.echo().await?;
    let grown = memory::resident_of(gateway.process())? - before;
    Ok(Sample { abandoned: grown / agents as f64, ..Sample::default() })
}

async fn expired(job: &Job, agents: usize, seconds: u64) -> Result<Sample> {
    let idle = format!("{seconds}s");
    let gateway = job.gateway.start(&job.behind.stdio(None), &["--session-idle", &idle])?;
    arrive(&gateway).await?;
    let mut sessions = Vec::with_capacity(agents);
    for _ in 0..agents {
        sessions.push(agent::come_and_go(&gateway.url).await?);
    }
    ensure!(agent::is_known(&gateway.url, sessions.last().context("no sessions")?).await?, "gone before its time");
    // The only way to know what is gone after its time is to let it pass.
    tokio::time::sleep(Duration::from_secs(seconds) + Duration::from_millis(500)).await;
    // Those whose time is over go when others come.
    agent::come_and_go(&gateway.url).await?;
    let mut left = 0.0;
    for session in &sessions {
        if agent::is_known(&gateway.url, session).await? {
            left += 1.0;
        }
    }
    Ok(Sample { left, ..Sample::default() })
}

async fn arrive(gateway: &Running) -> Result<Agent> {
    Agent::arrive(&gateway.url).await.with_context(|| gateway.last_words())
}

/// The median time of a call.
async fn one_after_the_other(agent: &Agent, seconds: f64) -> Result<f64> {
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let start = Instant::now();
        agent.echo().await?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(median(&mut times))
}

/// One call in flight for each of `agents`, some of which may be the same.
async fn at_once(agents: &[Arc<Agent>], gateway: &Running, upstream: &Upstream, seconds: f64) -> Result<Load> {
    for_a_while(agents, seconds * WARM_UP).await?;
    let before = processor::of(gateway.process())?;
    let upstream_before = processor_of(upstream, gateway)?;
    let start = Instant::now();
    let mut times = for_a_while(agents, seconds).await?;
    let rate = times.len() as f64 / start.elapsed().as_secs_f64();
    let processor = (processor::of(gateway.process())? - before) / times.len() as f64;
    let upstream = (processor_of(upstream, gateway)? - upstream_before) / times.len() as f64;
    times.sort_unstable_by(f64::total_cmp);
    let p99 = times.get(times.len() * 99 / 100).copied().context("no calls")?;
    Ok(Load { rate, p99, processor, upstream })
}

/// What the servers have used that the gateway started.
fn processor_of(upstream: &Upstream, gateway: &Running) -> Result<f64> {
    let Some(program) = upstream.program() else { return Ok(0.0) };
    let program = program.canonicalize()?;
    let is_one = |process: &u32| fs_err::read_link(format!("/proc/{process}/exe")).is_ok_and(|file| file == program);
    let mut used = 0.0;
    for process in helve_testkit::descendants_of(gateway.process()).into_iter().filter(is_one) {
        used += processor::of(process)?;
    }
    Ok(used)
}

async fn for_a_while(agents: &[Arc<Agent>], seconds: f64) -> Result<Vec<f64>> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let callers: Vec<_> = agents
        .iter()
        .map(|agent| {
            let agent = Arc::clone(agent);
            tokio::spawn(async move {
                let mut times = Vec::new();
                loop {
                    let start = Instant::now();
                    if start >= end {
                        return anyhow::Ok(times);
                    }
                    agent.echo().await?;
                    times.push(start.elapsed().as_secs_f64());
                }
            })
        })
        .collect();
    let mut times = Vec::new();
    for caller in callers {
        times.extend(caller.await??);
    }
    Ok(times)
}
