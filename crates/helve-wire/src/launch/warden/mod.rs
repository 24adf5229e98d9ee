//! The warden: a tiny process between the host and one server, whose only work is that no process of the server's
//! tree outlives the server, the host's order, or the host. This file owns what a warden is told on its command line.
//!
//! A process group cannot do that: grandchildren leave it with `setsid` or a double fork, and nobody signals it when
//! the host is killed. The warden can, because it is a *subreaper*: a descendant that loses its parent becomes the
//! warden's child, so "I have no children" means "nothing is left".
//!
//! ```text
//! host ── warden ── server ── whatever it starts
//! ```
//!
//! - The server inherits the host's pipes through the warden, which keeps no end of them: the host notices the
//!   server's death and closed pipes as if there were no warden.
//! - The server is started through a *stage*: the same program once more, which makes itself the leader of a session,
//!   asks the kernel for a `SIGKILL` should the warden die, and becomes the server. (The request acts on the process
//!   that makes it, so only the future server can make it.)
//! - The warden ends everything when the server's main process exits and when the host is gone: `SIGTERM`, a short
//!   grace, `SIGKILL`. `SIGTERM` to the warden is passed on to every descendant; `SIGUSR1` kills them all.
//! - It exits when nothing is left, in the way the server did: with its exit status, or by its signal.
//!
//! What it cannot hold: processes that its user may not signal (started through `sudo`), and the server's
//! grandchildren when somebody kills the warden itself. It is a safety net, not a sandbox.

mod descendants;
mod host;
mod orders;
mod stage;
mod watch;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use rustix::process::{Pid, Signal};

use super::executable::Handover;

/// The host's order to kill the tree now. Not `SIGKILL`: that would end the warden and set the tree free.
pub(super) const KILL: Signal = Signal::USR1;

/// Exit status of a warden that could not do its work; the reason is on its stderr.
const EXIT_BROKEN: u8 = 125;
/// Exit status when the server's program could not be started, as shells have it.
const EXIT_CANNOT_RUN: u8 = 126;
/// Exit status when the server's program was not found, as shells have it.
const EXIT_NOT_FOUND: u8 = 127;

/// First word: watch a server. Then the host's process number, the program, its arguments.
pub(super) const WATCH: &str = "watch";
/// First word: become the server. Then the warden's process number, the program, its arguments.
const STAGE: &str = "stage";
/// The same, with the open file to run in front of the program's name.
pub(super) const WATCH_FILE: &str = "watch-file";
const STAGE_FILE: &str = "stage-file";

/// Runs a warden, or its stage. This is the whole program: call it early in `main`, before threads are started, and
/// return what it returns.
///
/// `leading` are the arguments that make this program call `run` (a hidden verb, say); `arguments` are those behind
/// them. [`super::WardenLauncher`] puts them together.
pub fn run(leading: &[&str], arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let (verb, parent) = (arguments.next(), arguments.next());
    let parent = parent.and_then(|number| number.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let (Some(verb), Some(parent)) = (verb.as_ref().and_then(|verb| verb.to_str()), parent) else {
        return usage();
    };
    let file = if matches!(verb, WATCH_FILE | STAGE_FILE) {
        let Some(file) = arguments.next().and_then(|file| file.to_str()?.parse().ok()) else { return usage() };
        Some(file)
    } else {
        None
    };
    let Some(program) = arguments.next() else { return usage() };
    let server = Server { program, args: arguments.collect(), file };
    match verb {
        WATCH | WATCH_FILE => watch::watch(leading, parent, &server),
        STAGE | STAGE_FILE => stage::become_server(parent, &server),
        _ => usage(),
    }
}

/// What is to be started, as it came in.
struct Server {
    program: OsString,
    args: Vec<OsString>,
    /// The open file that is run, whatever the name leads to.
    file: Option<Handover>,
}

fn usage() -> ExitCode {
    complain(EXIT_BROKEN, "this program holds the process tree of an MCP server; helve starts it, people do not")
}

/// Says why on stderr, which is the server's until the server runs.
fn complain(status: u8, why: &str) -> ExitCode {
    // When even stderr is gone there is nobody to tell.
    writeln!(std::io::stderr(), "helve-warden: {why}").ok();
    ExitCode::from(status)
}
