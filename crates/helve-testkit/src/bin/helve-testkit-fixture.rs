//! The conformance fixture as a program: on its stdin and stdout, or over HTTP.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    helve_testkit::run_fixture(&arguments)
}
