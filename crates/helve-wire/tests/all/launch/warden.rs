//! What only the warden can do: nothing of a server's tree survives.

use std::process::Stdio;
use std::time::{Duration, Instant};

use helve_wire::launch::{
    CloseStep, CloseTimes, ExitReport, Launched, Launcher as _, ServerCommand, WardenLauncher, WardenProgram, close,
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncWriteExt as _;

use super::{PATIENCE, SHAPES, SHORT, marked, new_mark, read_line, read_to_end, shell, wait_until, warden};

fn marked_shell(script: &str, mark: &str) -> ServerCommand {
    let mut command = shell(script);
    command.environment.set("MARK", mark);
    command
}

fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process.try_into().unwrap()).unwrap(), signal).unwrap();
}

fn children(process: u32) -> Vec<u32> {
    let list = fs_err::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    list.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

fn assert_nothing_left(mark: &str, of: &str) {
    let left = marked(mark);
    assert!(left.is_empty(), "left of {of}: {left:?}");
}

#[tokio::test]
async fn nothing_is_left_when_close_returns() {
    for (shape, script) in SHAPES {
        let mark = new_mark();
        let mut launched = warden().launch(&marked_shell(script, &mark)).unwrap();
        read_line(&mut launched.stdout).await;
        wait_until(&format!("warden, server and one more run ({shape})"), || marked(&mark).len() >= 3);
        drop(launched.stdin);
        let report = close(&launched.process, CloseTimes { after_eof: PATIENCE, ..SHORT }).await;
        assert_nothing_left(&mark, shape);
        assert_eq!((report.exit, report.step), (ExitReport::Exited(0), CloseStep::EndOfInput), "{shape}");
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_tree_that_ignores_everything() {
    let mark = new_mark();
    let script = "trap '' TERM INT HUP QUIT; setsid sh -c 'sleep 1000 & sleep 1000' & echo ready; \
                  while :; do sleep 1000; done";
    let mut launched = warden().launch(&marked_shell(script, &mark)).unwrap();
    read_line(&mut launched.stdout).await;
    drop(launched.stdin);
    let report = close(&launched.process, SHORT).await;
    assert_nothing_left(&mark, script);
    assert_eq!((report.exit, report.step), (ExitReport::Signalled(9), CloseStep::Kill));
}

#[tokio::test]
async fn nothing_is_left_after_a_drop() {
    for (shape, script) in SHAPES {
        let mark = new_mark();
        let mut launched = warden().launch(&marked_shell(script, &mark)).unwrap();
        read_line(&mut launched.stdout).await;
        drop(launched);
        wait_until(&format!("{shape} is gone"), || marked(&mark).is_empty());
    }
}

#[tokio::test]
async fn a_drop_right_after_the_launch_leaves_nothing() {
    for _ in 0..20 {
        let mark = new_mark();
        drop(warden().launch(&marked_shell("sleep 1000", &mark)).unwrap());
        wait_until("it is gone", || marked(&mark).is_empty());
    }
}

/// Processes that start others faster than they can be counted, and one that hands on and exits again and again.
#[tokio::test]
async fn a_tree_that_grows_while_it_is_killed_is_killed() {
    let bursts = "for i in 1 2 3 4 5 6 7 8; do (while :; do sleep 1000 & sleep 0.01; done) & done";
    let relay = "relay() { relay & exit 0; }; relay &";
    for script in [bursts, relay] {
        let mark = new_mark();
        let mut launched = warden().launch(&marked_shell(&format!("{script}\necho ready; cat"), &mark)).unwrap();
        read_line(&mut launched.stdout).await;
        launched.process.kill();
        let exit = tokio::time::timeout(PATIENCE, launched.process.wait()).await.unwrap();
        assert_eq!(exit, ExitReport::Signalled(9));
        assert_nothing_left(&mark, script);
    }
}

#[tokio::test]
async fn the_server_dies_with_its_warden() {
    let mark = new_mark();
    let launched = warden().launch(&marked_shell("trap '' TERM; while :; do sleep 0.1; done", &mark)).unwrap();
    let id = launched.process.id();
    wait_until("the server runs", || marked(&mark).len() >= 3);
    signal(id, Signal::KILL);
    assert_eq!(launched.process.wait().await, ExitReport::Signalled(9));
    wait_until("the server is gone", || marked(&mark).is_empty());
}

#[tokio::test]
async fn a_stopped_warden_obeys_as_well() {
    let mark = new_mark();
    let mut launched = warden().launch(&marked_shell("echo ready; sleep 1000", &mark)).unwrap();
    read_line(&mut launched.stdout).await;
    signal(launched.process.id(), Signal::STOP);
    drop(launched.stdin);
    tokio::time::timeout(PATIENCE, close(&launched.process, SHORT)).await.unwrap();
    assert_nothing_left(&mark, "a stopped warden");
}

/// A parent-death signal on the warden would end it here: that signal is about threads.
#[tokio::test]
async fn the_thread_that_launched_may_end() {
    let runtime = tokio::runtime::Handle::current();
    let launching = std::thread::spawn(move || {
        let _within = runtime.enter();
        warden().launch(&shell("read line; echo got $line; cat"))
    });
    let Launched { mut stdin, mut stdout, stderr: _stderr, process } = launching.join().unwrap().unwrap();
    stdin.write_all(b"word\n").await.unwrap();
    assert_eq!(read_line(&mut stdout).await, "got word");
    drop(stdin);
    assert_eq!(process.wait().await, ExitReport::Exited(0));
}

/// Otherwise the host would learn of a server's end, or of its closed input, only when the warden ends.
#[tokio::test]
async fn the_warden_keeps_no_end_of_the_pipes() {
    let mut launched = warden().launch(&shell("echo ready; cat")).unwrap();
    read_line(&mut launched.stdout).await;
    let id = launched.process.id();
    wait_until("the warden let go of the pipes", || {
        let links = (0..3).map(|descriptor| fs_err::read_link(format!("/proc/{id}/fd/{descriptor}")).unwrap());
        links.into_iter().all(|link| link.to_str() == Some("/dev/null"))
    });
}

#[tokio::test]
async fn an_idle_warden_sleeps() {
    let mut launched = warden().launch(&shell("echo ready; cat")).unwrap();
    read_line(&mut launched.stdout).await;
    let id = launched.process.id();
    let sleeping = || fs_err::read_to_string(format!("/proc/{id}/syscall")).unwrap();
    let switches = || {
        let status = fs_err::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    wait_until("the warden sleeps without a time limit", || {
        // Number of the call, its arguments: poll(descriptors, count, limit) or ppoll with no limit at all.
        let call = sleeping();
        let words: Vec<&str> = call.split_whitespace().collect();
        matches!(words.as_slice(), [_, _, "0x2", limit, ..] if matches!(*limit, "0x0" | "0xffffffff" | "0xffffffffffffffff"))
    });
    let before = switches();
    for child in children(id) {
        signal(child, Signal::WINCH);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(switches(), before);
}

#[tokio::test]
async fn a_server_that_cannot_become_one_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    fs_err::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs_err::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut launched = warden().launch(&ServerCommand { program: script.clone().into(), ..shell("") }).unwrap();
    let said = read_to_end(&mut launched.stderr).await.replace(script.to_str().unwrap(), "[script]");
    insta::assert_snapshot!(said, @"helve-warden: cannot start `[script]`: No such file or directory (os error 2)");
    assert_eq!(launched.process.wait().await, ExitReport::Exited(127));
}

#[tokio::test]
async fn a_warden_that_is_not_there_is_an_error() {
    let launcher = WardenLauncher::new(WardenProgram { path: "/nowhere/helve-warden".into(), leading: Vec::new() });
    let error = launcher.launch(&shell("exit 0")).unwrap_err();
    insta::assert_snapshot!(format!("{}: {error}\n{}", error.code(), error.hints().join("\n")), @r"
    TRANSPORT_ERROR: the program `/nowhere/helve-warden` does not exist
    check the path, or install the program
    it is the warden, which holds the server's processes: install it, or use a plain launcher
    ");
}

/// As a host does that has the warden behind a verb of its own binary.
#[tokio::test]
async fn a_warden_may_need_arguments_of_its_own() {
    let program =
        WardenProgram { path: "/usr/bin/env".into(), leading: vec![env!("CARGO_BIN_EXE_helve-warden").into()] };
    let launched = WardenLauncher::new(program).launch(&shell("exit 6")).unwrap();
    assert_eq!(launched.process.wait().await, ExitReport::Exited(6));
}

#[tokio::test]
async fn a_hundred_at_once() {
    let mark = new_mark();
    let mut running = tokio::task::JoinSet::new();
    for number in 0..100 {
        let command = marked_shell("sleep 1000 >/dev/null 2>&1 & read line; echo $line; cat", &mark);
        running.spawn(async move {
            let Launched { mut stdin, mut stdout, stderr: _stderr, process } = warden().launch(&command).unwrap();
            stdin.write_all(format!("{number}\n").as_bytes()).await.unwrap();
            assert_eq!(read_line(&mut stdout).await, number.to_string());
            drop(stdin);
            close(&process, CloseTimes { after_eof: PATIENCE, after_terminate: PATIENCE }).await
        });
    }
    while let Some(report) = running.join_next().await {
        assert_eq!(report.unwrap().step, CloseStep::EndOfInput);
    }
    assert_nothing_left(&mark, "a hundred servers");
}

/// The host is another process, see [`super::alone`].
#[test]
fn nothing_is_left_a_second_after_the_host_is_killed() {
    let mark = new_mark();
    let mut host = super::alone::start("hold", &mark, Stdio::piped());
    super::alone::wait_for_ready(&mut host);
    wait_until("warden, server and one more run for each shape", || marked(&mark).len() >= 3 * SHAPES.len());
    host.kill().unwrap();
    let killed = Instant::now();
    host.wait().unwrap();
    wait_until("everything is gone", || marked(&mark).is_empty());
    let took = killed.elapsed();
    assert!(took < Duration::from_secs(1), "took {took:?}");
}

/// Counted in another process, see [`super::alone`]: here other tests open and close files meanwhile.
#[test]
fn launching_and_ending_leaks_no_descriptor_and_no_process() {
    let host = super::alone::start("count", &new_mark(), Stdio::piped());
    let output = host.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Under `nohup` nobody hears `SIGHUP`: not the host, and not what it starts.
#[tokio::test]
async fn what_is_ignored_stays_ignored() {
    let deaf = r#"trap '' HUP; exec "$0" "$@""#;
    let leading = ["-c", deaf, env!("CARGO_BIN_EXE_helve-warden")].map(Into::into).to_vec();
    let launcher = WardenLauncher::new(WardenProgram { path: "/bin/sh".into(), leading });
    let mut launched = launcher.launch(&shell("kill -HUP $PPID; grep ^SigIgn /proc/self/status")).unwrap();
    let said = read_to_end(&mut launched.stdout).await;
    let mask = said.trim().rsplit('\t').next().and_then(|mask| u64::from_str_radix(mask, 16).ok());
    assert_eq!(mask.unwrap() & 1, 1, "{said:?}");
    assert_eq!(launched.process.wait().await, ExitReport::Exited(0));
}
