//! The thin echo server every benchmark runs against: blocking, hand-written, about a microsecond of work per call,
//! so that what is measured is the client.
//!
//! `xtask-echo-server stdio|http [--tools N] [--ttl MILLISECONDS] [--text BYTES] [--structured BYTES]`
//! `    [--delay MILLISECONDS] [--legacy 1] [--started FILE]`
//! Tools: `echo` (text), `text` and `structured` (prepared results), `endless` (bytes: a text nobody can hold). Listed
//! are `echo`, `text` if one is prepared, and as many others as are wanted.
//! `--legacy` makes it a server that knows no `server/discover`. `--delay` makes it slow to start; `--started` makes it leave a line in a file, which tells how often
//! it was started. Over HTTP it says `listening on port N` on stdout, and `GET /stats` counts connections and requests.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own: stdout is its wire, stderr is talk"
)]

mod answer;
mod http;
mod payload;
mod scan;
mod stdio;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use answer::Answerer;
use payload::Sizes;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let transport = arguments.next().unwrap_or_default();
    let mut sizes = Sizes::default();
    let mut delay = 0;
    let mut legacy = false;
    while let Some(name) = arguments.next() {
        let Some(value) = arguments.next() else { return usage() };
        if name == "--started" {
            if let Err(error) = leave_a_line(&value) {
                eprintln!("echo server: {value}: {error}");
                return ExitCode::FAILURE;
            }
            continue;
        }
        let Ok(value) = value.parse() else { return usage() };
        match name.as_str() {
            "--tools" => sizes.tools = value,
            "--text" => sizes.text = value,
            "--structured" => sizes.structured = value,
            "--ttl" => sizes.ttl = value,
            "--delay" => delay = value,
            "--legacy" => legacy = value > 0,
            _ => return usage(),
        }
    }
    if delay > 0 {
        std::thread::sleep(Duration::from_millis(delay as u64));
    }
    let answerer = Answerer::new(&sizes, legacy);
    let outcome = match transport.as_str() {
        "stdio" => stdio::serve(&answerer),
        "http" => http::serve(answerer),
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("echo server: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One write, so that servers that start at once do not mix theirs.
fn leave_a_line(file: &str) -> std::io::Result<()> {
    fs_err::OpenOptions::new().create(true).append(true).open(file)?.write_all(b"started\n")
}

fn usage() -> ExitCode {
    eprintln!("usage: xtask-echo-server stdio|http [OPTION VALUE]...");
    eprintln!("options: --tools --ttl --text --structured --delay --legacy --started");
    ExitCode::from(2)
}
