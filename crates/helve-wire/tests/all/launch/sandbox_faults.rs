//! Servers in sandboxes that are killed, hang, fork or fill their limits: nothing is left, and nobody else notices. And what a
//! swap of the files they are started from gains.

use std::sync::Arc;

use helve_sandbox::{Limits, Network, Policy, Profile};
use helve_wire::launch::{
    CloseStep, ExitReport, Launched, Launcher as _, SandboxedLauncher, SealedFile, close, warden as peers,
};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write as _;
use tokio::io::AsyncWriteExt as _;

use super::sandbox::{Place, has_mounts, machine, policy};
use super::{SHORT, marked, new_mark, read_line, read_to_end, wait_until, warden};

/// Every kind of sandbox that this machine has, the one with a proxy among them.
fn kinds() -> Vec<(&'static str, Policy)> {
    let hosts = Network::Hosts(vec!["api.example".parse().unwrap()]);
    let mut kinds = vec![("standard", policy(Profile::Standard)), ("offline", policy(Profile::Offline))];
    if machine().network {
        kinds.push(("hosts", Policy { network: Some(hosts), ..policy(Profile::Strict) }));
    }
    kinds
}

fn launch(place: &Place, policy: Policy, script: &str, mark: &str) -> Launched {
    let mut command = place.command(script);
    command.environment.set("MARK", mark);
    SandboxedLauncher::new(warden(), Arc::new(place.sandbox(policy))).launch(&command).unwrap()
}

fn assert_nothing_left(place: &Place, mark: &str, what: &str) {
    wait_until(&format!("nothing runs: {what}"), || marked(mark).is_empty());
    wait_until(&format!("the run's directory is gone: {what}"), || {
        fs_err::read_dir(place.path("cache/sandbox/s/runs")).unwrap().next().is_none()
    });
}

#[tokio::test]
async fn nothing_is_left_of_a_sandboxed_server_however_it_ends() {
    let forks = "for i in 1 2 3 4 5 6 7 8 9 10; do setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 & done; ";
    let hangs = "trap '' TERM INT HUP QUIT; ";
    for (kind, policy) in kinds() {
        for (what, before) in [("killed", ""), ("hung", hangs), ("forking", forks)] {
            let (place, mark) = (Place::new(), new_mark());
            let other = Place::new();
            // Somebody else's server, which is to notice nothing.
            let echo = "while read -r line; do echo \"$line\"; done";
            let mut witness = launch(&other, policy.clone(), echo, "witness");
            let script = format!("{before}echo $$; while :; do sleep 1000; done");
            let Launched { stdin, mut stdout, stderr, process } = launch(&place, policy.clone(), &script, &mark);
            let server: i32 = read_line(&mut stdout).await.parse().unwrap();
            if what == "killed" {
                kill_process(Pid::from_raw(server).unwrap(), Signal::KILL).unwrap();
                assert_eq!(process.wait().await, ExitReport::Signalled(9), "{kind}");
            } else {
                drop(stdin);
                let report = close(&process, SHORT).await;
                assert!(matches!(report.step, CloseStep::Terminate | CloseStep::Kill), "{kind}, {what}: {report:?}");
            }
            drop((stdout, stderr, process));
            assert_nothing_left(&place, &mark, &format!("{kind}, {what}"));
            witness.stdin.write_all(b"still here\n").await.unwrap();
            assert_eq!(read_line(&mut witness.stdout).await, "still here", "{kind}, {what}");
        }
    }
}

#[tokio::test]
async fn a_server_that_fills_its_limits_ends_alone() {
    let limits = Limits {
        memory: Some(256 << 20),
        open_files: Some(16),
        file_size: Some(1 << 20),
        processor_seconds: Some(1),
        processes: None,
    };
    for (what, script) in [
        ("memory", "x=x; while :; do x=$x$x; done"),
        ("file size", "cat /dev/zero > \"$TMPDIR/big\""),
        (
            "open files",
            "for i in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do eval \"exec $i</dev/null\" || exit 9; done",
        ),
        ("processor time", "while :; do :; done"),
    ] {
        let (place, mark) = (Place::new(), new_mark());
        let limited = Policy { limits, ..policy(Profile::Standard) };
        let Launched { stdin, mut stdout, mut stderr, process } = launch(&place, limited, script, &mark);
        drop(stdin);
        tokio::join!(read_to_end(&mut stdout), read_to_end(&mut stderr));
        assert_ne!(process.wait().await, ExitReport::Exited(0), "{what}");
        drop(process);
        assert_nothing_left(&place, &mark, what);
    }
}

/// Two of itself each time, for ever: what a limit of processes is for.
#[tokio::test]
async fn a_server_that_forks_without_end_stays_within_its_processes() {
    if !(machine().mounts && machine().counts_processes) {
        println!("not looked at: processes are counted only for users other than root, in a user namespace");
        return;
    }
    let (place, mark) = (Place::new(), new_mark());
    let limits = Limits { processes: Some(40), ..Limits::NONE };
    let limited = Policy { limits, ..policy(Profile::Standard) };
    // Each that can start no more sleeps, so that all of them can be counted.
    let bomb = "bomb() { bomb 2>/dev/null & bomb 2>/dev/null & sleep 1000; }; echo begun; bomb 2>/dev/null; sleep 1000";
    let other = Place::new();
    let echo = "while read -r line; do echo \"$line\"; done";
    let mut witness = launch(&other, policy(Profile::Standard), echo, "witness");
    let Launched { stdin, mut stdout, stderr, process } = launch(&place, limited, bomb, &mark);
    assert_eq!(read_line(&mut stdout).await, "begun");
    let mut most = 0;
    wait_until("it has all it gets", || {
        let now = marked(&mark).len();
        let has_stopped = now == most && now >= 30;
        most = most.max(now);
        has_stopped
    });
    // The warden and its stage are not in the sandbox.
    assert!(most <= 42, "{most} processes");
    witness.stdin.write_all(b"still here\n").await.unwrap();
    assert_eq!(read_line(&mut witness.stdout).await, "still here");
    drop(stdin);
    close(&process, SHORT).await;
    drop((stdout, stderr, process));
    assert_nothing_left(&place, &mark, "a fork bomb");
}

#[tokio::test]
async fn what_is_written_to_a_covered_file_during_the_start_is_not_what_runs() {
    if !has_mounts() {
        return;
    }
    let place = Place::new();
    let script = place.path("home/project/server.sh");
    fs_err::write(&script, "echo trusted").unwrap();
    let sealed = SealedFile::new(&script, |copy| copy.write_all(b"echo trusted")).unwrap();
    // It runs what it is started from again and again, as an interpreter does that loads files late.
    let mut command = place.command("while read -r line; do . ./server.sh; echo x > server.sh; done");
    command.sealed = vec![sealed];
    // Not even where the entry lets it write its project.
    let named = Policy { write: vec![".".into()], ..policy(Profile::Standard) };
    let launcher = SandboxedLauncher::new(warden(), Arc::new(place.sandbox(named)));
    fs_err::write(&script, "echo swapped").unwrap();
    let mut launched = launcher.launch(&command).unwrap();
    for _ in 0..3 {
        launched.stdin.write_all(b"\n").await.unwrap();
        assert_eq!(read_line(&mut launched.stdout).await, "trusted");
        fs_err::write(&script, "echo swapped again").unwrap();
    }
    drop(launched.stdin);
    assert_eq!(read_to_end(&mut launched.stdout).await, "");
    assert_eq!(fs_err::read_to_string(&script).unwrap(), "echo swapped again");
}

#[tokio::test]
async fn the_holder_of_a_socket_is_known_to_be_confined() {
    let place = Place::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // By a daemon that left its parents; the warden is one that is not left.
    let script =
        format!("setsid bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; echo connected; sleep 1000' & read -r line");
    let mut confined = launch(&place, policy(Profile::Standard), &script, &new_mark());
    let (_stream, peer) = listener.accept().await.unwrap();
    assert_eq!(read_line(&mut confined.stdout).await, "connected");
    assert!(peers::confines_holder_of(inode(peer.port(), port)));
    // A server without a sandbox runs as its person does, and so does this test.
    let mut command = place.command(&script);
    command.environment.set("MARK", new_mark());
    let mut free = helve_wire::launch::Launcher::launch(&warden(), &command).unwrap();
    let (_stream, peer) = listener.accept().await.unwrap();
    assert_eq!(read_line(&mut free.stdout).await, "connected");
    assert!(!peers::confines_holder_of(inode(peer.port(), port)));
}

/// The number of the socket from one port of this machine to another.
fn inode(from: u16, to: u16) -> u64 {
    let table = fs_err::read_to_string("/proc/net/tcp").unwrap();
    let (from, to) = (format!("0100007F:{from:04X}"), format!("0100007F:{to:04X}"));
    let line = table.lines().find(|line| line.contains(&format!("{from} {to}"))).unwrap();
    line.split_whitespace().nth(9).unwrap().parse().unwrap()
}
