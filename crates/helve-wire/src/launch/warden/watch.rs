//! The warden's life: start the server, sleep, and end the tree when it is time.

use std::collections::HashSet;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper,
    set_dumpable_behavior, wait,
};

use super::descendants::{descendants, direct_children};
use super::host::Host;
use super::orders::Orders;
use super::{CONFINING_NAME, EXIT_BROKEN, STAGE, Server, complain};

/// How long what the server or the host leaves behind may take to end after `SIGTERM`.
const GRACE: Duration = Duration::from_millis(300);

/// How often to look for processes that started since, while the tree is being asked to end.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// How soon to look for processes that started since, while the tree is being killed; twice as long each time nothing
/// new is found, because then the kernel needs its time.
const KILL_AGAIN: Duration = Duration::from_millis(1);
const KILL_AGAIN_AT_MOST: Duration = Duration::from_millis(128);

/// Starts the server and returns when nothing of it is left.
pub(super) fn watch(leading: &[&str], host: Pid, server: &Server) -> ExitCode {
    match Warden::start(leading, host, server) {
        Ok(warden) => warden.hold(),
        Err(error) => complain(EXIT_BROKEN, &format!("cannot hold the server: {error}")),
    }
}

struct Warden {
    orders: Orders,
    host: Host,
    server: Pid,
    server_exit: Option<WaitStatus>,
    /// Processes that have had a `SIGTERM`: one is enough, some programs take a second one for impatience.
    asked: HashSet<Pid>,
    killed: HashSet<Pid>,
    kill_again: Duration,
}

/// What to do with the tree.
enum Intent {
    LetLive,
    /// `SIGTERM` for those who had none, and `SIGKILL` at this time.
    End(Instant),
    Kill,
}

/// What a look at a tree that is to be killed showed.
enum Killed {
    SomeNew,
    NoneNew,
    /// All that is left belongs to another user. It stays.
    Refused,
}

impl Warden {
    #[expect(clippy::disallowed_methods, reason = "this is where the warden starts the server")]
    fn start(leading: &[&str], host: Pid, server: &Server) -> io::Result<Self> {
        let orders = Orders::receive()?;
        set_child_subreaper(Some(getpid()))?;
        let host = Host::new(host);
        if host.is_gone() {
            return Err(io::Error::other("the host that started it is gone"));
        }
        if server.handed.rules.is_some() {
            // Before there is anybody below who could be asked about.
            rustix::thread::set_name(CONFINING_NAME)?;
        }
        // Opened now: when it fails later, the server already runs.
        let nowhere = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        // The handle is not needed: children are collected by number, all in one place.
        let mut stage = Command::new("/proc/self/exe");
        stage.arg0("helve-warden").args(leading);
        stage.args([STAGE, &getpid().to_string()]).args(server.handed.to_words());
        let child = stage.arg(&server.program).args(&server.args).spawn()?;
        rustix::stdio::dup2_stdin(&nowhere)?;
        rustix::stdio::dup2_stdout(&nowhere)?;
        rustix::stdio::dup2_stderr(&nowhere)?;
        Ok(Self {
            orders,
            host,
            server: Pid::from_child(&child),
            server_exit: None,
            asked: HashSet::new(),
            killed: HashSet::new(),
            kill_again: KILL_AGAIN,
        })
    }

    fn hold(mut self) -> ExitCode {
        let mut intent = Intent::LetLive;
        while self.collect() {
            intent = self.decide(intent);
            let look_again = match intent {
                Intent::LetLive => self.host.look_again(),
                Intent::End(_) => {
                    self.ask_those_not_asked();
                    Some(ASK_AGAIN)
                }
                Intent::Kill => match self.kill_all() {
                    Killed::SomeNew => Some(Duration::ZERO),
                    Killed::NoneNew => {
                        self.kill_again = (self.kill_again * 2).min(KILL_AGAIN_AT_MOST);
                        Some(self.kill_again)
                    }
                    Killed::Refused => break,
                },
            };
            self.sleep(look_again);
        }
        leave_like(self.server_exit)
    }

    /// Collects the children that ended. False when there are none left: then nothing of the tree is, since whoever
    /// loses a parent becomes our child.
    fn collect(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((process, status))) if process == self.server => self.server_exit = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn decide(&mut self, intent: Intent) -> Intent {
        if self.orders.take_terminate() {
            self.asked.clear();
            self.ask_those_not_asked();
        }
        if self.orders.kill() {
            return Intent::Kill;
        }
        match intent {
            Intent::LetLive if self.server_exit.is_some() || self.host.is_gone() => Intent::End(Instant::now() + GRACE),
            Intent::End(until) if until <= Instant::now() => Intent::Kill,
            unchanged => unchanged,
        }
    }

    fn ask_those_not_asked(&mut self) {
        for process in descendants() {
            if self.asked.insert(process) {
                // Ended meanwhile, or not ours to signal: the next look tells.
                kill_process(process, Signal::TERM).ok();
            }
        }
    }

    /// Kills every process of the tree that can be seen now; a process may start another while we read the list.
    fn kill_all(&mut self) -> Killed {
        let known = self.killed.len();
        let mut refused = HashSet::new();
        for process in descendants() {
            match kill_process(process, Signal::KILL) {
                Err(Errno::PERM) => refused.insert(process),
                // Ended meanwhile is as good.
                Ok(()) | Err(_) => self.killed.insert(process),
            };
        }
        if self.killed.len() > known {
            return Killed::SomeNew;
        }
        let direct = direct_children();
        if !direct.is_empty() && direct.iter().all(|child| refused.contains(child)) {
            return Killed::Refused;
        }
        Killed::NoneNew
    }

    /// Sleeps until there is something to do, at most for `limit`.
    fn sleep(&mut self, limit: Option<Duration>) {
        let mut events = vec![PollFd::from_borrowed_fd(self.orders.wake(), PollFlags::IN)];
        // Once it is gone it would wake us for ever.
        if let (Some(ended), false) = (self.host.ended(), self.host.is_gone()) {
            events.push(PollFd::from_borrowed_fd(ended, PollFlags::IN));
        }
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        // An error is an interruption by a signal: there is something to do then.
        poll(&mut events, limit.as_ref()).ok();
        self.orders.clear();
    }
}

/// Ends this process the way the server ended.
fn leave_like(server: Option<WaitStatus>) -> ExitCode {
    let Some(status) = server else { return ExitCode::from(EXIT_BROKEN) };
    if let Some(signal) = status.terminating_signal() {
        // The server's memory may be worth a core file, ours is not.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
        // Returns for signals it does not know; then we say it as shells do.
        signal_hook::low_level::emulate_default_handler(signal).ok();
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    ExitCode::from(status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(EXIT_BROKEN))
}
