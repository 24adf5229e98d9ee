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
//! grandchildren when somebody kills the warden itself. It is a safety net; a sandbox is what its stage puts on itself when
//! rules are handed over.

mod descendants;
mod host;
mod orders;
mod peers;
mod stage;
mod watch;

use std::ffi::{CStr, OsString};
use std::io::Write as _;
use std::process::ExitCode;

use rustix::process::{Pid, Signal};

use super::confinement::{Confinement, receive_words};
use super::executable::{Executable, Handover};

pub use peers::confines_holder_of;

/// The host's order to kill the tree now. Not `SIGKILL`: that would end the warden and set the tree free.
pub(super) const KILL: Signal = Signal::USR1;

/// What a warden is called whose server runs in a sandbox: the name that the system shows of its process.
const CONFINING_NAME: &CStr = c"helve-confines";

/// Exit status of a warden that could not do its work; the reason is on its stderr.
const EXIT_BROKEN: u8 = 125;
/// Exit status when the server's program could not be started, as shells have it.
const EXIT_CANNOT_RUN: u8 = 126;
/// Exit status when the server's program was not found, as shells have it.
const EXIT_NOT_FOUND: u8 = 127;

/// First word: watch a server. Then the host's process number, what is handed over, the program, its arguments.
pub(super) const WATCH: &str = "watch";
/// First word: become the server. Then the warden's process number, what is handed over, the program, its arguments.
const STAGE: &str = "stage";
/// First word: become the server without a warden. Then what is handed over, the program, its arguments.
const CONFINE: &str = "confine";
/// The only word: say what this machine can enforce, as JSON on stdout.
pub(super) const PROBE: &str = "probe";
/// In front of the open file to run in place of what the program's name leads to.
const FILE: &str = "file=";
/// In front of the rules to be applied.
const RULES: &str = "rules=";
/// In front of a sealed copy of a file that lies over it, and behind that the file's path.
const SEALED: &str = "sealed=";
/// Between the two.
const AT: char = '@';
/// Ends what is handed over.
const END: &str = "--";
/// In front of a sealed file that holds the program and its arguments, which follow otherwise.
const PRIVATE: &str = "private=";

/// The words between a process number and a program.
pub(super) fn handed_over(executable: Option<&Executable>, confinement: Option<&Confinement>) -> Vec<OsString> {
    let sealed = confinement.iter().flat_map(|confinement| &confinement.sealed);
    let handed = HandedOver {
        file: executable.map(Executable::hand_over),
        rules: confinement.map(Confinement::hand_over),
        sealed: sealed.filter_map(|file| Some((file.hand_over(), file.spelled_path()?.to_owned()))).collect(),
    };
    handed.to_words()
}

/// The word in place of a program and its arguments.
pub(super) fn private_words(sealed: &Executable) -> OsString {
    OsString::from(format!("{PRIVATE}{}", sealed.hand_over()))
}

/// The words that have a stage apply these rules without a warden.
pub(super) fn confine_arguments(confinement: &Confinement, executable: Option<&Executable>) -> Vec<OsString> {
    let mut words = vec![OsString::from(CONFINE)];
    words.extend(handed_over(executable, Some(confinement)));
    words
}

/// Runs a warden, or its stage. This is the whole program: call it early in `main`, before threads are started, and
/// return what it returns.
///
/// `leading` are the arguments that make this program call `run` (a hidden verb, say); `arguments` are those behind
/// them. [`super::WardenLauncher`] puts them together.
pub fn run(leading: &[&str], arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let Some(verb) = arguments.next() else { return usage() };
    match verb.to_str() {
        Some(PROBE) => return probe(),
        Some(CONFINE) => {
            return match Server::read(arguments) {
                Some(server) => stage::become_server(None, &server),
                None => usage(),
            };
        }
        _ => {}
    }
    let parent = arguments.next().and_then(|number| number.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let (Some(parent), Some(server)) = (parent, Server::read(arguments)) else { return usage() };
    match verb.to_str() {
        Some(WATCH) => watch::watch(leading, parent, &server),
        Some(STAGE) => stage::become_server(Some(parent), &server),
        _ => usage(),
    }
}

fn probe() -> ExitCode {
    let machine = helve_sandbox::probe();
    match serde_json::to_string(&machine)
        .map_err(std::io::Error::from)
        .and_then(|text| writeln!(std::io::stdout(), "{text}"))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(EXIT_BROKEN, &format!("cannot say what this machine can enforce: {error}")),
    }
}

/// What is to be started, as it came in.
struct Server {
    program: OsString,
    args: Vec<OsString>,
    handed: HandedOver,
}

/// What the host has open for the process that becomes the server.
#[derive(Default)]
struct HandedOver {
    /// The file that is run, whatever the name leads to.
    file: Option<Handover>,
    /// What the process puts on itself first.
    rules: Option<Handover>,
    /// Copies that lie over files, each with the path of its file.
    sealed: Vec<(Handover, String)>,
}

impl Server {
    fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut handed = HandedOver::default();
        loop {
            let word = arguments.next()?;
            let word = word.to_str()?;
            if word == END {
                break;
            }
            // A word that is not understood must not be passed over: it may have been the rules.
            if let Some(file) = word.strip_prefix(FILE) {
                handed.file = Some(file.parse().ok()?);
            } else if let Some(sealed) = word.strip_prefix(SEALED) {
                let (copy, path) = sealed.split_once(AT)?;
                handed.sealed.push((copy.parse().ok()?, path.to_owned()));
            } else {
                handed.rules = Some(word.strip_prefix(RULES)?.parse().ok()?);
            }
        }
        let program = arguments.next()?;
        let Some(sealed) = program.to_str().and_then(|word| word.strip_prefix(PRIVATE)) else {
            return Some(Self { program, args: arguments.collect(), handed });
        };
        let mut words = receive_words(&sealed.parse().ok()?).ok()?.into_iter();
        Some(Self { program: words.next()?, args: words.collect(), handed })
    }
}

impl HandedOver {
    fn to_words(&self) -> Vec<OsString> {
        let file = self.file.iter().map(|file| format!("{FILE}{file}"));
        let rules = self.rules.iter().map(|rules| format!("{RULES}{rules}"));
        let sealed = self.sealed.iter().map(|(copy, path)| format!("{SEALED}{copy}{AT}{path}"));
        file.chain(rules).chain(sealed).chain([END.to_owned()]).map(OsString::from).collect()
    }
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
