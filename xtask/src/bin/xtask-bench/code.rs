//! What code mode costs: a program's start beside the bare interpreter, a call inside of one beside a bare pipe, many calls
//! beside the same calls made by the host. Both sides of a ratio are taken in turn, since what a busy machine does to one it
//! does to the other.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use helve::{CallContext, Caller, FunctionTool, Host, RawJson, Toolbox};
use helve_code::{Engine, EngineSetup, Limits, Report, Runner};
use helve_wire::launch::WardenProgram;
use serde_json::{Value, json};

use crate::processor::OneProcessor;
use crate::report::{Goal, Line};
use crate::stats::{median, median_ratio};

const COLD: Goal = Goal::AtMost(1.7);
const SPARE: Goal = Goal::AtMost(0.15);
const CALL: Goal = Goal::AtMost(2.5);
const GATHERED: Goal = Goal::AtMost(1.3);
const MANY: Goal = Goal::AtMost(1.15);
const AT_ONCE: Goal = Goal::AtMost(1.5);

/// Calls of one program that are timed from inside.
const CALLS: usize = 2_000;
/// Calls that a program makes beside the host.
const MANY_CALLS: usize = 100;
/// What one of them takes.
const ONE_CALL: Duration = Duration::from_millis(1);
/// What each of the calls takes that are made at once.
const SLOW_CALL: Duration = Duration::from_millis(200);
/// How long a spare has to become one: it imports what most programs use.
const SPARE_WITHIN: Duration = Duration::from_millis(250);

/// One line out, one line in, as often as the calls of a program.
const BARE_ECHO: &str = "\
import posix, time
line = b'x' * 100 + b'\\n'
def once():
    posix.write(1, line)
    posix.read(0, 65536)
for _ in range(200): once()
began = time.perf_counter()
for _ in range(2000): once()
posix.write(2, b'%.9f' % ((time.perf_counter() - began) / 2000))
";

/// A measure's name and how to take it, with the number of rounds.
type Measure = (&'static str, fn(usize) -> Result<Vec<Line>>);

pub(crate) const MEASURES: &[Measure] = &[("start", start), ("call", call), ("many", many), ("gather", at_once)];

fn start(rounds: usize) -> Result<Vec<Line>> {
    run(async |place| {
        let (cold, spare) = (place.cold(), place.spare());
        let (mut bare_times, mut cold_times, mut spare_times) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            bare_times.push(place.bare_start()?);
            cold_times.push(place.timed(&cold, "pass").await?);
            // The first of a runner has nothing that waits for it, and leaves something for the next.
            if spare_times.is_empty() {
                place.timed(&spare, "pass").await?;
            }
            tokio::time::sleep(SPARE_WITHIN).await;
            spare_times.push(place.timed(&spare, "pass").await?);
        }
        let (cold_ratio, spare_ratio) =
            (median_ratio(&cold_times, &bare_times), median_ratio(&spare_times, &cold_times));
        let [bare, cold, spare] = [bare_times, cold_times, spare_times].map(|mut times| median(&mut times) * 1e3);
        Ok(vec![
            Line::new("cold program / bare Python", cold_ratio, COLD, format!("{cold:.2} ms, Python {bare:.2} ms")),
            Line::new("program in the spare / cold", spare_ratio, SPARE, format!("{spare:.2} ms")),
        ])
    })
}

/// On one processor: what is compared is what a call costs, not where the kernel happens to run those who wait for it.
fn call(rounds: usize) -> Result<Vec<Line>> {
    let _one = OneProcessor::take()?;
    run(async |place| {
        let runner = place.cold();
        let timed = |calls: &str| {
            format!(
                "import asyncio, time\nfor _ in range(200): device.BenchMCP.echo(text='x')\nbegan = time.perf_counter()\n{calls}\n(time.perf_counter() - began) / {CALLS}"
            )
        };
        let one_by_one = timed(&format!("for _ in range({CALLS}): device.BenchMCP.echo(text='x')"));
        let at_once =
            timed(&format!("await asyncio.gather(*[device.BenchMCP.echo(text='x') for _ in range({CALLS})])"));
        let (mut bare_times, mut sync_times, mut gathered_times) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            bare_times.push(place.bare_echo()?);
            sync_times.push(place.seconds(&runner, &one_by_one).await?);
            gathered_times.push(place.seconds(&runner, &at_once).await?);
        }
        let ratios = (median_ratio(&sync_times, &bare_times), median_ratio(&gathered_times, &sync_times));
        let [bare, sync, gathered] = [bare_times, sync_times, gathered_times].map(|mut times| median(&mut times) * 1e6);
        Ok(vec![
            Line::new("call in a program / bare pipe echo", ratios.0, CALL, format!("{sync:.1} µs, pipe {bare:.1} µs")),
            Line::new("gathered call / call", ratios.1, GATHERED, format!("{gathered:.1} µs")),
        ])
    })
}

fn many(rounds: usize) -> Result<Vec<Line>> {
    run(async |place| {
        let (cold, spare) = (place.cold(), place.spare());
        let source = format!("for _ in range({MANY_CALLS}): device.BenchMCP.wait()");
        let (mut host_times, mut cold_times, mut spare_times) = (Vec::new(), Vec::new(), Vec::new());
        place.timed(&spare, "pass").await?;
        for _ in 0..rounds {
            host_times.push(place.by_host().await?);
            cold_times.push(place.timed(&cold, &source).await?);
            tokio::time::sleep(SPARE_WITHIN).await;
            spare_times.push(place.timed(&spare, &source).await?);
        }
        let ratios = (median_ratio(&spare_times, &host_times), median_ratio(&cold_times, &host_times));
        let [host, cold, spare] = [host_times, cold_times, spare_times].map(|mut times| median(&mut times) * 1e3);
        Ok(vec![
            Line::new(
                "100 calls of 1 ms in a program / by the host",
                ratios.0,
                MANY,
                format!("{spare:.1} ms, host {host:.1} ms"),
            ),
            Line::for_information("the same in a cold one", ratios.1, format!("{cold:.1} ms")),
        ])
    })
}

fn at_once(rounds: usize) -> Result<Vec<Line>> {
    run(async |place| {
        let runner = place.cold();
        let source = "import asyncio\nlen(await asyncio.gather(*[device.BenchMCP.slow() for _ in range(8)]))";
        let mut times = Vec::new();
        for _ in 0..rounds {
            times.push(place.timed(&runner, source).await?);
        }
        let time = median(&mut times);
        let seen = format!("{:.0} ms, cold", time * 1e3);
        Ok(vec![Line::new("8 gathered calls of 200 ms / 200 ms", time / SLOW_CALL.as_secs_f64(), AT_ONCE, seen)])
    })
}

/// A host with tools of its own, an engine, and the interpreter behind it.
struct Place {
    host: Host,
    /// One whose workers wait for nobody, and one with a spare.
    cold: Engine,
    spare: Engine,
    python: PathBuf,
}

/// As the program `helve` has it: everything in one thread.
fn run(work: impl AsyncFnOnce(&Place) -> Result<Vec<Line>>) -> Result<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let place = Place::open().await?;
        work(&place).await
    })
}

fn limits() -> Limits {
    Limits::default().with(|limits| limits.calls = 2 * CALLS)
}

impl Place {
    async fn open() -> Result<Self> {
        let host = Host::builder().toolbox(tools()).start().await?;
        let stage = WardenProgram { path: std::env::current_exe()?, leading: vec!["warden".into()] };
        let setup = EngineSetup::new(Some(stage)).with(|setup| setup.search_path = std::env::var_os("PATH"));
        let (cold, spare) = (Engine::find(&setup, &limits()).await?, Engine::find(&setup, &limits()).await?);
        let python = cold.executable().to_owned();
        Ok(Self { host, cold, spare, python })
    }

    fn cold(&self) -> Runner {
        Runner::new(&self.host, self.cold.clone(), limits().with(|limits| limits.spare_for = None))
    }

    fn spare(&self) -> Runner {
        Runner::new(&self.host, self.spare.clone(), limits())
    }

    async fn report(&self, runner: &Runner, source: &str) -> Result<Report> {
        // The last one that is offered is the one that runs.
        runner.offer(&self.host)?;
        let report = runner.run(source, CallContext::new(Caller::Agent)).await?;
        ensure!(report.error.is_none(), "{:?}", report.error);
        Ok(report)
    }

    async fn timed(&self, runner: &Runner, source: &str) -> Result<f64> {
        runner.offer(&self.host)?;
        let began = Instant::now();
        let report = runner.run(source, CallContext::new(Caller::Agent)).await?;
        let took = began.elapsed().as_secs_f64();
        ensure!(report.error.is_none(), "{:?}", report.error);
        Ok(took)
    }

    /// What a program itself measured.
    async fn seconds(&self, runner: &Runner, source: &str) -> Result<f64> {
        let report = self.report(runner, source).await?;
        report.value.parse::<f64>().with_context(|| format!("the program gave {}", report.value.as_str()))
    }

    async fn by_host(&self) -> Result<f64> {
        let began = Instant::now();
        for _ in 0..MANY_CALLS {
            let prepared = self.host.snapshot().prepare("bench/wait")?;
            prepared.invoke(RawJson::from_static("{}"), CallContext::new(Caller::Agent)).await?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn bare_start(&self) -> Result<f64> {
        let began = Instant::now();
        let status = Command::new(&self.python).args(["-I", "-S", "-E", "-c", "pass"]).status()?;
        ensure!(status.success(), "Python: {status}");
        Ok(began.elapsed().as_secs_f64())
    }

    /// The time of one line out and one back, between Python and a thread that does nothing else.
    fn bare_echo(&self) -> Result<f64> {
        bare_echo(&self.python)
    }
}

fn bare_echo(python: &Path) -> Result<f64> {
    let mut child = Command::new(python)
        .args(["-I", "-S", "-E", "-c", BARE_ECHO])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("no pipe")?;
    let mut lines = BufReader::new(child.stdout.take().context("no pipe")?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        stdin.write_all(&line)?;
        line.clear();
    }
    let mut said = String::new();
    child.stderr.take().context("no pipe")?.read_to_string(&mut said)?;
    child.wait()?;
    said.parse().with_context(|| format!("Python said {said}"))
}

fn tools() -> Toolbox {
    let echo = FunctionTool::with_schema(
        "echo",
        "Says it again",
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        |arguments: Value, _| async move { arguments["text"].as_str().unwrap_or_default().to_owned() },
    );
    let nothing = || json!({"type": "object", "properties": {}});
    // A timer of the runtime has whole milliseconds, which is too coarse for one of them.
    let wait = FunctionTool::with_schema("wait", "Takes a millisecond", nothing(), |_: Value, _| async {
        tokio::task::spawn_blocking(|| std::thread::sleep(ONE_CALL)).await.map_err(|error| error.to_string())?;
        Ok::<_, String>("done".to_owned())
    });
    let slow = FunctionTool::with_schema("slow", "Takes a while", nothing(), |_: Value, _| async {
        tokio::time::sleep(SLOW_CALL).await;
        "done"
    });
    Toolbox::new("bench").with(echo.only_reads()).with(wait.only_reads()).with(slow.only_reads())
}
