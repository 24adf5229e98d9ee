//! The warden as a program of its own, for hosts that do not bring its function in their own binary.

use std::process::ExitCode;

#[cfg(warden)]
fn main() -> ExitCode {
    helve_wire::launch::warden::run(&[], std::env::args_os().skip(1))
}

#[cfg(not(warden))]
#[expect(clippy::print_stderr, reason = "a program may talk to its person")]
fn main() -> ExitCode {
    eprintln!("this build of helve-warden can hold no process: it needs Linux");
    ExitCode::FAILURE
}
