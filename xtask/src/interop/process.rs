//! Owns the server processes of a run: started with a mark in their environment, found by it, none left behind.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::servers::Server;

/// Time for an interpreter to start on a busy machine.
const START: Duration = Duration::from_secs(30);

/// Time for servers to go after the last agent is gone.
const FAREWELL: Duration = Duration::from_secs(15);

/// Every descendant inherits it, even one that left its parent, its group and its session.
pub(crate) const MARK: &str = "HELVE_INTEROP_RUN";

/// A mark that no other run on this machine has at the same time.
pub(crate) fn mark() -> String {
    format!("{}-{}", std::process::id(), std::thread::current().name().unwrap_or("main"))
}

/// The command of `server`, marked.
pub(crate) fn command(server: &Server, mark: &str) -> Command {
    let mut command = Command::new(&server.program);
    command.args(&server.arguments).envs(server.environment.iter().copied()).env(MARK, mark);
    command
}

/// A server that listens; killed when dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    child: Child,
    pub(crate) port: u16,
}

impl Listening {
    /// Starts `server` and waits for the line on stderr that says it listens. The port in that line may be a lie
    /// (`PORT=0` is echoed as 0), so the kernel is asked.
    pub(crate) fn start(server: &Server, mark: &str) -> Result<Self> {
        Self::start_with(server, mark, &[])
    }

    /// The same, with files that variables name.
    pub(crate) fn start_with(server: &Server, mark: &str, files: &[(&str, &Path)]) -> Result<Self> {
        let mut child = command(server, mark)
            .envs(files.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", server.name))?;
        let lines = lines_of(child.stderr.take().context("no stderr")?);
        let deadline = Instant::now() + START;
        let mut said = Vec::new();
        loop {
            let Ok(line) = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
                drop(child.kill());
                drop(child.wait());
                bail!("{} does not listen; it said: {}", server.name, said.join(" / "));
            };
            let listens = line.contains(" port ");
            said.push(line);
            if listens {
                break;
            }
        }
        let port = listening_port(child.id()).with_context(|| format!("{} listens nowhere", server.name))?;
        Ok(Self { child, port })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Processes that carry `mark` and are still alive, by id and command line.
pub(crate) fn leftovers(mark: &str) -> Result<Vec<String>> {
    let wanted = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for entry in fs_err::read_dir("/proc")? {
        let process = entry?.path();
        let Ok(environment) = fs_err::read(process.join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
            let line = fs_err::read(process.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(format!("{} {}", process.file_name().unwrap_or_default().display(), line.trim()));
        }
    }
    Ok(found)
}

/// Nothing that carries `mark` may be left, after a while.
pub(crate) fn gone(mark: &str) -> Result<()> {
    let end = Instant::now() + FAREWELL;
    loop {
        let leftovers = leftovers(mark)?;
        if leftovers.is_empty() {
            return Ok(());
        }
        ensure!(Instant::now() < end, "left behind: {}", leftovers.join(", "));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How many processes of helve serve at most, looked at all the time until it is ended.
#[derive(Debug)]
pub(crate) struct Peak {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
}

impl Peak {
    /// Of those in this home.
    pub(crate) fn watch_home(helve: &Path, home: &Path) -> Self {
        let wanted = format!("HOME={}", home.display());
        Self::watch(helve, move |process| {
            let environment = fs_err::read(process.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
    }

    /// Of those whose directory below `/proc` this is true for.
    pub(crate) fn watch(helve: &Path, is_meant: impl Fn(&Path) -> bool + Send + 'static) -> Self {
        let peak = Self { now: Arc::default(), most: Arc::default(), ended: Arc::default() };
        let (now, most, ended) = (Arc::clone(&peak.now), Arc::clone(&peak.most), Arc::clone(&peak.ended));
        let helve = file_of(helve);
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let count =
                    serving(|process| helve.is_some() && file_of(&process.join("exe")) == helve && is_meant(process));
                now.store(count, Ordering::Relaxed);
                most.fetch_max(count, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        peak
    }

    /// How many there were at the last look.
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }

    /// Ends it; says how many there were at most.
    pub(crate) fn end(self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Peak {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// The processes this is true for that have a verb that serves. Their wardens have another.
fn serving(is_meant: impl Fn(&Path) -> bool) -> usize {
    let entries = fs_err::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let serves = |process: &Path| {
        let line = fs_err::read(process.join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.get(1) != Some(&&b"__warden"[..]) && words.iter().any(|word| matches!(*word, b"serve" | b"keep"))
    };
    entries.filter(|entry| is_meant(&entry.path()) && serves(&entry.path())).count()
}

/// The one file, whatever its names.
fn file_of(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    fs_err::metadata(path).ok().map(|about| (about.dev(), about.ino()))
}

/// Lines of a pipe, read on a thread of their own so that the writer never blocks; closed at its end.
pub(crate) fn lines_of(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let Ok(line) = line else { break };
            // Nobody listens any more: go on reading, or the server blocks on a full pipe.
            drop(sender.send(line));
        }
    });
    receiver
}

/// The TCP port a process listens on.
fn listening_port(process: u32) -> Result<u16> {
    let process = Path::new("/proc").join(process.to_string());
    let mut sockets = Vec::new();
    for entry in fs_err::read_dir(process.join("fd"))? {
        let Ok(link) = fs_err::read_link(entry?.path()) else { continue };
        let link = link.to_string_lossy().into_owned();
        if let Some(inode) = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) {
            sockets.push(inode.to_owned());
        }
    }
    for table in ["tcp", "tcp6"] {
        let table = fs_err::read_to_string(process.join("net").join(table))?;
        if let Some(port) = table.lines().skip(1).find_map(|line| port_of(line, &sockets)) {
            return Ok(port);
        }
    }
    bail!("no listening socket among {} of {}", sockets.len(), process.display())
}

/// The local port of one line of `/proc/net/tcp`, if it is a listening socket of ours.
fn port_of(line: &str, sockets: &[String]) -> Option<u16> {
    const LISTEN: &str = "0A";
    let columns: Vec<&str> = line.split_whitespace().collect();
    let (address, state, inode) = (columns.get(1)?, columns.get(3)?, columns.get(9)?);
    if *state != LISTEN || !sockets.iter().any(|socket| socket == inode) {
        return None;
    }
    u16::from_str_radix(address.rsplit(':').next()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_kernel_knows_where_we_listen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(listening_port(std::process::id()).unwrap(), listener.local_addr().unwrap().port());
    }

    #[test]
    fn a_marked_process_is_found_until_it_is_gone() {
        let mark = mark();
        let mut cat = Command::new("cat");
        let mut child = cat.env(MARK, &mark).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Its answer proves that it runs: right after the start the kernel may not know its environment yet.
        writeln!(child.stdin.as_mut().unwrap(), "hello").unwrap();
        assert_eq!(lines_of(child.stdout.take().unwrap()).recv().unwrap(), "hello");
        let found = leftovers(&mark).unwrap();
        assert_eq!(found, [format!("{} cat", child.id())]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(leftovers(&mark).unwrap().is_empty());
    }
}
