//! The thin echo server every benchmark runs against: blocking, hand-written, about a microsecond of work per call,
//! so that what is measured is the client.
//!
//! `xtask-echo-server stdio|http [--tools N] [--text BYTES] [--structured BYTES]`
//! Tools: `echo` (text), `text` and `structured` (prepared results), `endless` (bytes: a text nobody can hold).
//! Over HTTP it says `listening on port N` on stdout, and `GET /stats` counts connections and requests.
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

use std::process::ExitCode;

use answer::Desk;
use payload::Sizes;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let transport = arguments.next().unwrap_or_default();
    let mut sizes = Sizes::default();
    while let Some(name) = arguments.next() {
        let Some(value) = arguments.next().and_then(|value| value.parse().ok()) else { return usage() };
        match name.as_str() {
            "--tools" => sizes.tools = value,
            "--text" => sizes.text = value,
            "--structured" => sizes.structured = value,
            _ => return usage(),
        }
    }
    let desk = Desk::new(&sizes);
    let outcome = match transport.as_str() {
        "stdio" => stdio::serve(&desk),
        "http" => http::serve(desk),
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

fn usage() -> ExitCode {
    eprintln!("usage: xtask-echo-server stdio|http [--tools N] [--text BYTES] [--structured BYTES]");
    ExitCode::from(2)
}
