//! What holds for every launcher.

use std::time::{Duration, Instant};

use helve_wire::launch::{
    ChildEnvironment, CloseStep, CloseTimes, Executable, ExitReport, Launched, ServerCommand, close,
};

use rustix::process::Signal;

use super::{
    PATIENCE, SHORT, is_alive, launchers, read_line, read_to_end, shell, wait_until_collected, wait_until_gone,
};

#[tokio::test]
async fn the_server_gets_exactly_the_environment_given() {
    for launcher in launchers() {
        let environment: ChildEnvironment = [("GREETING", "a b\nc"), ("EMPTY", "")].into_iter().collect();
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

#[tokio::test]
async fn the_server_inherits_the_same_signals_and_descriptors_from_every_launcher() {
    let mut seen = Vec::new();
    for launcher in launchers() {
        let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd";
        let mut launched = launcher.launch(&shell(script)).unwrap();
        seen.push(read_to_end(&mut launched.stdout).await);
    }
    // Whoever runs the tests may leave descriptors and ignored signals to everybody; a launcher must not add any.
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let mut lines = seen[0].lines().map(|line| line.split('\t').next_back().unwrap());
    let mut mask = || u64::from_str_radix(lines.next().unwrap(), 16).unwrap();
    let (blocked, ignored) = (mask(), mask());
    let broken_pipe = 1 << (Signal::PIPE.as_raw() - 1);
    assert_eq!((blocked, ignored & broken_pipe), (0, 0), "a Rust program ignores it, its children must not");
}

/// A program in a directory of its own, opened.
fn opened_program(directory: &std::path::Path) -> (std::path::PathBuf, Executable) {
    let program = directory.join("bin/program");
    fs_err::create_dir(directory.join("bin")).unwrap();
    fs_err::copy(fs_err::canonicalize("/usr/bin/env").unwrap(), &program).unwrap();
    let file = fs_err::File::open(&program).unwrap().into_parts().0;
    (program, Executable::new(std::sync::Arc::new(file)).unwrap())
}

fn evil(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs_err::write(path, "#!/bin/sh\necho evil\n").unwrap();
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn s6_an_open_program_is_run_whatever_its_name_leads_to() {
    for launcher in launchers() {
        let directory = tempfile::tempdir().unwrap();
        let (program, executable) = opened_program(directory.path());
        fs_err::rename(directory.path().join("bin"), directory.path().join("aside")).unwrap();
        fs_err::create_dir(directory.path().join("bin")).unwrap();
        evil(&program);
        let environment: ChildEnvironment = [("GREETING", "hello")].into_iter().collect();
        let command = ServerCommand {
            program: program.into(),
            args: Vec::new(),
            environment,
            executable: Some(executable),
            ..shell("")
        };
        let mut launched = launcher.launch(&command).unwrap();
        assert_eq!(read_to_end(&mut launched.stdout).await, "GREETING=hello\n", "{launcher:?}");
        assert_eq!(launched.process.wait().await, ExitReport::Exited(0));
    }
}

#[tokio::test]
async fn s6_a_program_that_was_written_or_replaced_since_is_not_run() {
    let replace = |program: &std::path::Path| {
        evil(&program.with_extension("new"));
        fs_err::rename(program.with_extension("new"), program).unwrap();
    };
    for (how, change) in [("written", evil as fn(&std::path::Path)), ("replaced", replace)] {
        for launcher in launchers() {
            let directory = tempfile::tempdir().unwrap();
            let (program, executable) = opened_program(directory.path());
            change(&program);
            let command =
                ServerCommand { program: program.into(), args: Vec::new(), executable: Some(executable), ..shell("") };
            // One launcher looks before it starts anything, the other one where the program would begin.
            let said = match launcher.launch(&command) {
                Ok(mut launched) => {
                    assert_eq!(read_to_end(&mut launched.stdout).await, "", "{how}, {launcher:?}");
                    read_to_end(&mut launched.stderr).await
                }
                Err(error) => std::error::Error::source(&error).unwrap().to_string(),
            };
            assert!(said.contains("somebody wrote or replaced it"), "{how}, {launcher:?}: {said}");
        }
    }
}
