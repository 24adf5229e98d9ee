//! The benchmarks, built in release by `cargo xtask bench`: for the wire and the host a driver that runs itself as its
//! children, for the pure crates loops in this process, for the program `helve` and gateways the programs themselves.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own: it starts servers and children, and its table goes to stdout"
)]

mod bench;
mod callgrind;
mod child;
mod cli;
mod code;
mod host;
mod job;
mod measures;
mod memory;
mod peers;
mod processor;
mod pure;
mod report;
mod rules;
mod sandbox;
mod serve;
mod soak;
mod stats;
mod subject;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use crate::bench::{Bench, real_time_allowed};
use crate::cli::Cli;
use crate::job::{Kind, Subject};
use crate::peers::Peers;
use crate::report::Line;
use crate::serve::{Installed, Serve};
use crate::soak::Soak;

#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Take the measures
    Wire {
        /// The thin echo server
        #[arg(long)]
        server: PathBuf,
        /// Whose numbers are held to the goals
        #[arg(long, default_value = "helve")]
        candidate: Kind,
        /// Rounds of timed measures; the medians are taken over them
        #[arg(long, default_value_t = 7)]
        rounds: usize,
        /// Only the measures that count (instructions, allocations, connections); these gate
        #[arg(long)]
        counts: bool,
        /// Only this measure
        #[arg(long)]
        only: Option<String>,
        /// Print a last line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Take the measures of the pure crates
    Pure {
        /// Rounds; the medians are taken over them
        #[arg(long, default_value_t = 101)]
        rounds: usize,
        /// Only this measure
        #[arg(long)]
        only: Option<String>,
        /// Print a last line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Take the measures of sandboxes
    Sandbox {
        /// Starts that are compared; the medians are taken over the differences
        #[arg(long, default_value_t = 201)]
        rounds: usize,
        #[command(flatten)]
        told: Told,
    },
    /// Take the measures of code mode
    Code {
        /// Rounds; the medians are taken over them
        #[arg(long, default_value_t = 21)]
        rounds: usize,
        #[command(flatten)]
        told: Told,
    },
    /// Connect from inside a sandbox (used by the driver)
    #[command(hide = true)]
    SandboxClient { port: u16, way: String },
    /// Take the measures of the host
    Host {
        /// The thin echo server
        #[arg(long)]
        server: PathBuf,
        /// Other clients, as JSON
        #[arg(long, default_value = "{}")]
        peers: Peers,
        /// Rounds of timed measures; the medians are taken over them
        #[arg(long, default_value_t = 7)]
        rounds: usize,
        /// Only the measures that count
        #[arg(long)]
        counts: bool,
        #[command(flatten)]
        told: Told,
    },
    /// Take the measures of the program `helve`
    Cli {
        /// The program
        #[arg(long)]
        helve: PathBuf,
        /// The thin echo server
        #[arg(long)]
        server: PathBuf,
        /// Other clients, as JSON
        #[arg(long, default_value = "{}")]
        peers: Peers,
        /// Rounds; the medians are taken over them
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        #[command(flatten)]
        told: Told,
    },
    /// Take the measures of `helve serve`
    Serve {
        /// The program
        #[arg(long)]
        helve: PathBuf,
        /// The thin echo server
        #[arg(long)]
        server: PathBuf,
        /// The echo server on rmcp
        #[arg(long)]
        rmcp_server: PathBuf,
        /// The gateway on rmcp
        #[arg(long)]
        relay: PathBuf,
        /// Other gateways, as JSON
        #[arg(long, default_value = "[]")]
        peers: Installed,
        /// Rounds; the medians are taken over them
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        #[command(flatten)]
        told: Told,
    },
    /// Make the long runs
    Soak {
        /// The thin echo server
        #[arg(long)]
        server: PathBuf,
        /// The client that runs them
        #[arg(long, default_value = "helve")]
        candidate: Kind,
        /// Connections to make and close
        #[arg(long, default_value_t = 10_000)]
        cycles: usize,
        /// Size of the answer that is too large, as a line and as a body; 0 leaves these runs out
        #[arg(long, default_value_t = 4 << 30)]
        bytes: u64,
    },
    /// Make the host's long runs
    SoakHost {
        /// The fake peer
        #[arg(long)]
        peer: PathBuf,
        /// Only this run
        #[arg(long)]
        only: Option<String>,
        /// Toggles and reconnections, each
        #[arg(long, default_value_t = 1_000)]
        cycles: usize,
    },
    /// Make the long run of programs
    SoakPrograms {
        /// Programs of each of two principals
        #[arg(long, default_value_t = 1_000)]
        programs: usize,
    },
    /// Do one piece of work and report (used by the driver)
    #[command(hide = true)]
    Child { job: String },
    /// Start one gateway, work through it and report (used by the driver)
    #[command(hide = true)]
    ServeChild { job: String },
}

/// What is measured, and how it is told.
#[derive(Debug, clap::Args)]
struct Told {
    /// Only this measure
    #[arg(long)]
    only: Option<String>,
    /// Print a last line of JSON
    #[arg(long)]
    json: bool,
    /// Fail when a goal is missed
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    // Before anything else: a warden must be small and quick.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "warden") {
        return helve_wire::launch::warden::run(&["warden"], words);
    }
    let outcome = match Arguments::parse().command {
        Command::Child { job } => child(&job),
        Command::ServeChild { job } => serve_child(&job),
        Command::Soak { server, candidate, cycles, bytes } => {
            let mut runs = vec![Soak::Cycles(cycles)];
            if bytes > 0 {
                runs.extend([Soak::Line(bytes), Soak::Body(bytes)]);
            }
            runs.into_iter().try_for_each(|run| soak(run, Subject::new(candidate), &server))
        }
        Command::SoakHost { peer, only, cycles } => soak::host::run(peer, only.as_deref(), cycles)
            .and_then(|lines| tell(&lines, &Told { only, json: false, check: true })),
        Command::SoakPrograms { programs } => {
            soak::programs::run(programs).and_then(|lines| tell(&lines, &Told { only: None, json: false, check: true }))
        }
        Command::Sandbox { rounds, told } => take(&[("sandbox", rounds)], &told, |rounds| sandbox::measure(*rounds)),
        Command::Code { rounds, told } => take(code::MEASURES, &told, |measure| measure(rounds)),
        Command::SandboxClient { port, way } => sandbox::client(port, way == "proxy"),
        Command::Pure { rounds, only, json } => pure(rounds, only, json),
        Command::Wire { server, candidate, rounds, counts, only, json } => {
            let real_time = real_time(counts);
            wire(&Bench { server, candidate, rounds, real_time }, counts, only, json)
        }
        Command::Host { server, peers, rounds, counts, told } => {
            let bench = Bench { server, candidate: Kind::Host, rounds, real_time: real_time(counts) };
            host(&bench, &peers, counts, &told)
        }
        Command::Cli { helve, server, peers, rounds, told } => cli(&Cli { helve, server, peers, rounds }, &told),
        Command::Serve { helve, server, rmcp_server, relay, peers, rounds, told } => {
            let serve = Serve { helve, server, rmcp_server, relay, peers, rounds, real_time: real_time(false) };
            take(serve::MEASURES, &told, |measure| measure(&serve))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether timings can be taken in real time; says so where they cannot.
fn real_time(only_counts: bool) -> bool {
    let real_time = real_time_allowed();
    if !real_time && !only_counts {
        eprintln!("note: real-time priority is not allowed here (chrt -f 10): timings on a busy machine say little");
    }
    real_time
}

fn wire(bench: &Bench, counts: bool, only: Option<String>, json: bool) -> Result<()> {
    let told = Told { only, json, check: true };
    let timings = if counts { &[][..] } else { measures::TIMINGS };
    take(measures::COUNTS.iter().chain(timings), &told, |measure| measure(bench))
}

fn pure(rounds: usize, only: Option<String>, json: bool) -> Result<()> {
    take(pure::MEASURES, &Told { only, json, check: true }, |measure| measure(rounds))
}

fn host(bench: &Bench, peers: &Peers, counts: bool, told: &Told) -> Result<()> {
    let timings = if counts { &[][..] } else { host::TIMINGS };
    take(host::COUNTS.iter().chain(timings), told, |measure| measure(bench, peers))
}

fn cli(cli: &Cli, told: &Told) -> Result<()> {
    take(cli::MEASURES, told, |measure| measure(cli))
}

/// Takes the wanted measures and tells what they gave. One that cannot be taken costs the others nothing.
fn take<'a, M: 'a>(
    measures: impl IntoIterator<Item = &'a (&'static str, M)>,
    told: &Told,
    run: impl Fn(&M) -> Result<Vec<Line>>,
) -> Result<()> {
    let (mut lines, mut failures) = (Vec::new(), Vec::new());
    for (name, measure) in measures {
        if told.only.as_ref().is_none_or(|only| only == name) {
            match run(measure) {
                Ok(taken) => lines.extend(taken),
                Err(error) => failures.push(format!("{name}: {error:#}")),
            }
        }
    }
    if failures.is_empty() || !lines.is_empty() {
        tell(&lines, told)?;
    }
    if !failures.is_empty() {
        bail!("not everything could be measured\n{}", failures.join("\n"));
    }
    Ok(())
}

/// Says what was measured; a goal that is missed fails the run where that is wanted.
fn tell(lines: &[Line], told: &Told) -> Result<()> {
    if lines.is_empty() {
        bail!("no measure is called {}", told.only.as_deref().unwrap_or_default());
    }
    print!("{}", report::for_people(lines));
    if told.json {
        println!("{}", report::for_machines(lines)?);
    }
    let missed = lines.iter().filter(|line| line.met() == Some(false)).count();
    if missed > 0 && told.check {
        bail!("{missed} of the goals missed");
    }
    Ok(())
}

fn soak(run: Soak, subject: Subject, server: &Path) -> Result<()> {
    let seen = soak::run(run, subject, server.to_path_buf()).with_context(|| format!("{run:?}"))?;
    println!("{run:?}: {seen}");
    Ok(())
}

fn serve_child(job: &str) -> Result<()> {
    let sample = serve::run(&serde_json::from_str(job)?)?;
    println!("{}", serde_json::to_string(&sample)?);
    Ok(())
}

fn child(job: &str) -> Result<()> {
    let sample = child::run(serde_json::from_str(job)?)?;
    println!("{}", serde_json::to_string(&sample)?);
    Ok(())
}
