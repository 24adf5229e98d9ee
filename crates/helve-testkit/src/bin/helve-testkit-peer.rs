//! The fake peer as a program: its scenario is its argument, its stdin and stdout are the protocol.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    helve_testkit::run(&arguments)
}
