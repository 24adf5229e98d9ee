//! Launching real processes and ending them: what the tests share.

mod alone;
mod engine;
mod every_launcher;
mod sandbox;
mod sandbox_faults;
mod warden;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use helve_wire::launch::{CloseTimes, Launcher, PlainLauncher, ServerCommand, WardenLauncher, WardenProgram};
use tokio::io::AsyncReadExt as _;

/// Enough for anything a test waits for; reached only when the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

const SHORT: CloseTimes =
    CloseTimes { after_eof: Duration::from_millis(200), after_terminate: Duration::from_millis(200) };

fn launchers() -> Vec<Box<dyn Launcher>> {
    vec![Box::new(PlainLauncher), Box::new(warden())]
}

fn warden() -> WardenLauncher {
    WardenLauncher::new(WardenProgram { path: env!("CARGO_BIN_EXE_helve-warden").into(), leading: Vec::new() })
}

fn shell(script: &str) -> ServerCommand {
    ServerCommand {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        working_directory: None,
        environment: [("PATH", "/usr/bin:/bin")].into_iter().collect(),
        ..ServerCommand::default()
    }
}

async fn read_to_end(pipe: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut text = String::new();
    tokio::time::timeout(PATIENCE, pipe.read_to_string(&mut text)).await.unwrap().unwrap();
    text
}

/// Reads one line, byte by byte, so that nothing behind it is taken.
async fn read_line(pipe: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut line = Vec::new();
    loop {
        match tokio::time::timeout(PATIENCE, pipe.read_u8()).await.unwrap().unwrap() {
            b'\n' => return String::from_utf8(line).unwrap(),
            byte => line.push(byte),
        }
    }
}

/// A zombie counts as gone: it waits for its parent only.
fn is_alive(process: u32) -> bool {
    match fs_err::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => !matches!(stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next()), Some('Z' | 'X')),
        Err(_) => false,
    }
}

fn wait_until_gone(process: u32) {
    wait_until(&format!("process {process} is gone"), || !is_alive(process));
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Gone without a trace: not even a zombie.
fn wait_until_collected(process: u32) {
    wait_until(&format!("process {process} is collected"), || !Path::new(&format!("/proc/{process}")).exists());
}

/// Every process whose environment names this mark, living or not: all that came from one server, wherever it went.
fn marked(mark: &str) -> Vec<u32> {
    let mark = format!("MARK={mark}\0");
    let processes = fs_err::read_dir("/proc").unwrap().filter_map(|entry| {
        let process = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let environment = fs_err::read(format!("/proc/{process}/environ")).ok()?;
        environment.windows(mark.len()).any(|window| window == mark.as_bytes()).then_some(process)
    });
    processes.collect()
}

/// A mark that no other test run uses.
fn new_mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("helve-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Scripts that start processes which a process group does not hold. Each prints `ready` and ends with its input.
const SHAPES: [(&str, &str); 6] = [
    ("wrapper", "sleep 1000 >/dev/null & sh -c 'echo ready; cat >/dev/null'"),
    ("exec", "sleep 1000 >/dev/null & echo ready; exec cat >/dev/null"),
    ("double fork", "sh -c 'sleep 1000 >/dev/null & sleep 1000 >/dev/null & exit 0'; echo ready; cat >/dev/null"),
    ("setsid", "setsid sleep 1000 >/dev/null & echo ready; cat >/dev/null"),
    (
        "daemon",
        "setsid sh -c 'sh -c \"sleep 1000 & exit 0\" & exit 0' </dev/null >/dev/null 2>&1; echo ready; cat >/dev/null",
    ),
    (
        "stubborn daemon",
        "setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000 & exit 0' </dev/null >/dev/null 2>&1; echo ready; cat >/dev/null",
    ),
];
