//! Launching real processes and ending them: what holds for every launcher.

use std::path::Path;
use std::time::{Duration, Instant};

use helve_wire::launch::{
    CloseStep, CloseTimes, Environment, ExitReport, Launched, Launcher, PlainLauncher, ServerCommand, close,
};
use tokio::io::AsyncReadExt as _;

/// Enough for anything a test waits for; reached only when the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

const SHORT: CloseTimes =
    CloseTimes { after_eof: Duration::from_millis(200), after_terminate: Duration::from_millis(200) };

fn launchers() -> Vec<Box<dyn Launcher>> {
    vec![Box::new(PlainLauncher)]
}

fn shell(script: &str) -> ServerCommand {
    ServerCommand {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        working_directory: None,
        environment: [("PATH", "/usr/bin:/bin")].into_iter().collect(),
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

#[tokio::test]
async fn the_server_gets_exactly_the_environment_given() {
    for launcher in launchers() {
        let environment: Environment = [("GREETING", "a b\nc"), ("EMPTY", "")].into_iter().collect();
        let command =
            ServerCommand { program: "/usr/bin/env".into(), args: vec!["-0".into()], environment, ..shell("") };
        let mut launched = launcher.launch(&command).unwrap();
        assert_eq!(read_to_end(&mut launched.stdout).await, "EMPTY=\0GREETING=a b\nc\0", "{launcher:?}");
        assert_eq!(launched.process.wait().await, ExitReport::Exited(0));
    }
}

#[tokio::test]
async fn the_server_runs_in_its_directory_with_its_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let directory = fs_err::canonicalize(directory.path()).unwrap();
    for launcher in launchers() {
        let mut command = shell(r#"pwd; for argument in "$@"; do echo "[$argument]"; done; echo talk >&2"#);
        command.args.extend(["name", "", "two words", "$HOME", "--"].map(Into::into));
        command.working_directory = Some(directory.clone());
        let mut launched = launcher.launch(&command).unwrap();
        let expected = format!("{}\n[]\n[two words]\n[$HOME]\n[--]\n", directory.display());
        assert_eq!(read_to_end(&mut launched.stdout).await, expected, "{launcher:?}");
        assert_eq!(read_to_end(&mut launched.stderr).await, "talk\n", "{launcher:?}");
    }
}

#[tokio::test]
async fn the_exit_report_is_the_servers_own() {
    for launcher in launchers() {
        for (script, expected, shown) in [
            ("exit 0", ExitReport::Exited(0), "exited with status 0"),
            ("exit 3", ExitReport::Exited(3), "exited with status 3"),
            ("exit 137", ExitReport::Exited(137), "exited with status 137"),
            ("kill -SEGV $$", ExitReport::Signalled(11), "killed by SIGSEGV"),
            ("kill -TERM $$", ExitReport::Signalled(15), "killed by SIGTERM"),
            ("kill -KILL $$", ExitReport::Signalled(9), "killed by SIGKILL"),
        ] {
            let launched = launcher.launch(&shell(script)).unwrap();
            let both = tokio::join!(launched.process.wait(), launched.process.wait());
            assert_eq!(both, (expected, expected), "{launcher:?} {script}");
            assert_eq!(launched.process.wait().await, expected);
            assert_eq!(launched.process.try_wait(), Some(expected));
            assert_eq!(expected.to_string(), shown);
            // Without effect, and without harm, when it is gone.
            launched.process.terminate();
            launched.process.kill();
        }
    }
}

#[tokio::test]
async fn waiting_can_be_given_up_and_taken_up_again() {
    for launcher in launchers() {
        let Launched { stdin, stdout: _stdout, stderr: _stderr, process } =
            launcher.launch(&shell("cat; exit 5")).unwrap();
        for _ in 0..3 {
            assert!(tokio::time::timeout(Duration::from_millis(5), process.wait()).await.is_err());
        }
        assert_eq!(process.try_wait(), None);
        drop(stdin);
        assert_eq!(process.wait().await, ExitReport::Exited(5), "{launcher:?}");
    }
}

#[tokio::test]
async fn the_end_of_its_input_is_enough_for_a_polite_server() {
    for launcher in launchers() {
        let Launched { stdin, stdout: _stdout, stderr: _stderr, process } =
            launcher.launch(&shell("cat; exit 7")).unwrap();
        drop(stdin);
        let report = close(&process, CloseTimes { after_eof: PATIENCE, after_terminate: PATIENCE }).await;
        assert_eq!((report.exit, report.step), (ExitReport::Exited(7), CloseStep::EndOfInput), "{launcher:?}");
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_input_is_asked() {
    for launcher in launchers() {
        let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done";
        let Launched { stdin, mut stdout, stderr: _stderr, process } = launcher.launch(&shell(script)).unwrap();
        read_line(&mut stdout).await;
        drop(stdin);
        let started = Instant::now();
        let report = close(&process, CloseTimes { after_terminate: PATIENCE, ..SHORT }).await;
        assert_eq!((report.exit, report.step), (ExitReport::Exited(9), CloseStep::Terminate), "{launcher:?}");
        assert!(started.elapsed() >= SHORT.after_eof);
    }
}

#[tokio::test]
async fn a_server_that_ignores_everything_is_killed_after_both_times() {
    for launcher in launchers() {
        let script = "trap '' TERM INT HUP; echo ready; while :; do sleep 1000; done";
        let Launched { stdin, mut stdout, stderr: _stderr, process } = launcher.launch(&shell(script)).unwrap();
        read_line(&mut stdout).await;
        drop(stdin);
        let started = Instant::now();
        let report = close(&process, SHORT).await;
        assert_eq!((report.exit, report.step), (ExitReport::Signalled(9), CloseStep::Kill), "{launcher:?}");
        assert!(started.elapsed() >= SHORT.after_eof + SHORT.after_terminate);
    }
}

#[tokio::test]
async fn what_stays_in_the_group_goes_with_the_server() {
    for launcher in launchers() {
        let script = "sleep 1000 >/dev/null 2>&1 & echo $!; read line";
        let Launched { stdin, mut stdout, stderr: _stderr, process } = launcher.launch(&shell(script)).unwrap();
        let grandchild: u32 = read_line(&mut stdout).await.parse().unwrap();
        assert!(is_alive(grandchild));
        drop(stdin);
        close(&process, SHORT).await;
        wait_until_gone(grandchild);
    }
}

#[tokio::test]
async fn dropping_kills_and_leaves_no_zombie() {
    for launcher in launchers() {
        let script = "trap '' TERM; sleep 1000 >/dev/null 2>&1 & echo $! $$; read line; sleep 1000";
        let Launched { stdin, mut stdout, stderr: _stderr, process } = launcher.launch(&shell(script)).unwrap();
        let line = read_line(&mut stdout).await;
        let id = process.id();
        drop(process);
        drop(stdin);
        for process in line.split(' ') {
            wait_until_gone(process.parse().unwrap());
        }
        wait_until_collected(id);
    }
}

#[test]
fn dropping_works_outside_a_runtime() {
    for launcher in launchers() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let launched = runtime.block_on(async { launcher.launch(&shell("sleep 1000")) }).unwrap();
        drop(runtime);
        let id = launched.process.id();
        drop(launched);
        wait_until_collected(id);
    }
}

#[test]
fn a_process_can_be_waited_for_in_another_runtime() {
    for launcher in launchers() {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let first = runtime();
        let launched = first.block_on(async { launcher.launch(&shell("read line; exit 4")) }).unwrap();
        drop(first);
        drop(launched.stdin);
        assert_eq!(runtime().block_on(launched.process.wait()), ExitReport::Exited(4), "{launcher:?}");
    }
}

#[test]
fn launching_outside_a_runtime_is_an_error() {
    for launcher in launchers() {
        let error = launcher.launch(&shell("exit 0")).unwrap_err();
        assert_eq!(error.code().as_str(), "TRANSPORT_ERROR", "{launcher:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    for launcher in launchers() {
        for program in ["no-such-server".into(), directory.path().join("missing").into(), directory.path().into()] {
            let error = launcher.launch(&ServerCommand { program, ..shell("") }).unwrap_err();
            assert_eq!(error.code().as_str(), "TRANSPORT_ERROR", "{launcher:?}");
            assert!(!error.hints().is_empty());
        }
    }
}
