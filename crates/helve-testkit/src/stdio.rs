//! Owns the life of the binaries: the peer on standard streams, or an HTTP form as a process of its own.

use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;

use crate::byte_stream;
use crate::ending::Ending;
use crate::http::{Form, HttpServer};
use crate::peer::Peer;
use crate::scenario::{Era, Scenario};
use crate::tools::{DESCENDANT, live_as_descendant};

/// A peer that does not leave when its client is gone leaves by itself after this time, so that no test leaks it for ever.
const STUBBORN_LIFETIME: Duration = Duration::from_secs(300);

/// Runs the binary: `helve-testkit-peer [http|sse] [SCENARIO]`, the scenario as one JSON argument.
///
/// Without a form it speaks on its standard streams. The HTTP forms write their URL as the first line of stdout and serve
/// until their stdin ends.
pub fn run(arguments: &[String]) -> ExitCode {
    let result = match arguments {
        [] => serve_stdio(Scenario::default()),
        [scenario] => parse(scenario).and_then(serve_stdio),
        [form, scenario] if form == "http" => {
            parse(scenario).and_then(|scenario| serve_http(&scenario, Form::Streamable))
        }
        [form, scenario] if form == "sse" => parse(scenario).and_then(|scenario| serve_http(&scenario, Form::HttpSse)),
        [form, orders] if form == DESCENDANT => live_as_descendant(orders),
        _ => Err(std::io::Error::other("usage: helve-testkit-peer [http|sse] [SCENARIO AS JSON]")),
    };
    ended("helve-testkit-peer", result)
}

/// Runs the binary `helve-testkit-fixture [stdio|http|sse] [--era legacy|modern|dual]`; the forms are those of [`run`].
pub fn run_fixture(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (form, era) = match words.as_slice() {
        [] => ("stdio", "dual"),
        ["--era", era] => ("stdio", *era),
        [form] => (*form, "dual"),
        [form, "--era", era] => (*form, *era),
        _ => ("", ""),
    };
    let era = match era {
        "legacy" => Some(Era::Legacy),
        "modern" => Some(Era::Modern),
        "dual" => Some(Era::Dual),
        _ => None,
    };
    let result = match (form, era.map(Scenario::fixture)) {
        ("stdio", Some(scenario)) => serve_stdio(scenario),
        ("http", Some(scenario)) => serve_http(&scenario, Form::Streamable),
        ("sse", Some(scenario)) => serve_http(&scenario, Form::HttpSse),
        _ => Err(std::io::Error::other("usage: helve-testkit-fixture [stdio|http|sse] [--era legacy|modern|dual]")),
    };
    ended("helve-testkit-fixture", result)
}

fn ended(program: &str, result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "a binary has no other place to say why it does not start")]
            {
                eprintln!("{program}: {error}");
            }
            ExitCode::from(64)
        }
    }
}

fn parse(scenario: &str) -> std::io::Result<Scenario> {
    serde_json::from_str(scenario).map_err(|error| std::io::Error::other(format!("bad scenario: {error}")))
}

fn serve_stdio(scenario: Scenario) -> std::io::Result<()> {
    if scenario.ignores_sigterm {
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
    }
    let stubborn = scenario.ignores_eof || scenario.ignores_sigterm || scenario.never_reads;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let serving = byte_stream::serve(Peer::new(scenario), stdin()?, stdout()?, Ending::Process);
        if stubborn {
            drop(tokio::time::timeout(STUBBORN_LIFETIME, serving).await);
        } else {
            serving.await;
        }
        Ok::<(), std::io::Error>(())
    })?;
    // Reads and writes that are stuck in threads must not keep the process.
    runtime.shutdown_background();
    Ok(())
}

fn serve_http(scenario: &Scenario, form: Form) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = HttpServer::start(scenario, form, Ending::Process).await?;
        let mut stdout = stdout()?;
        stdout.write_all(format!("{}\n", server.url()).as_bytes()).await?;
        stdout.flush().await?;
        tokio::io::copy(&mut stdin()?, &mut tokio::io::sink()).await?;
        Ok::<(), std::io::Error>(())
    })?;
    runtime.shutdown_background();
    Ok(())
}

/// The standard input without a thread in between where it is a pipe, and with one where it is not.
fn stdin() -> std::io::Result<Box<dyn AsyncRead + Unpin + Send>> {
    let handle: OwnedFd = rustix::io::dup(std::io::stdin())?;
    Ok(match pipe::Receiver::from_owned_fd(handle) {
        Ok(receiver) => Box::new(receiver),
        Err(_) => Box::new(tokio::io::stdin()),
    })
}

fn stdout() -> std::io::Result<Box<dyn AsyncWrite + Unpin + Send>> {
    let handle: OwnedFd = rustix::io::dup(std::io::stdout())?;
    Ok(match pipe::Sender::from_owned_fd(handle) {
        Ok(sender) => Box::new(sender),
        Err(_) => Box::new(tokio::io::stdout()),
    })
}
