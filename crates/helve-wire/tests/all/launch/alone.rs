//! Hosts that need a process of their own: one that is killed, and one that counts its descriptors. They are this test
//! binary once more, running the one ignored test below.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use helve_wire::launch::{CloseTimes, Launched, Launcher as _, close};

use super::{PATIENCE, SHAPES, launchers, marked, read_line, shell, wait_until, warden};

/// Names of the variables that tell the other process what to do; no mark, nothing to do.
const MODE: &str = "HELVE_TEST_MODE";
const MARK: &str = "HELVE_TEST_SERVERS";

/// Starts a host that runs in this mode and gives its servers this mark.
#[expect(clippy::disallowed_methods, reason = "the test kills this process itself")]
pub(super) fn start(mode: &str, mark: &str, stdout: Stdio) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "launch::alone::a_host_in_a_process_of_its_own", "--ignored", "--nocapture"])
        .env(MODE, mode)
        .env(MARK, mark)
        .stdin(Stdio::null())
        .stdout(stdout)
        .spawn()
        .unwrap()
}

/// Waits until all servers of a host that holds them are ready.
pub(super) fn wait_for_ready(host: &mut Child) {
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "all ready"), "the host ended early");
}

#[test]
#[ignore = "other tests start it"]
#[expect(clippy::disallowed_methods, reason = "how the other tests tell it what to do")]
fn a_host_in_a_process_of_its_own() {
    let (Ok(mode), Ok(mark)) = (std::env::var(MODE), std::env::var(MARK)) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match mode.as_str() {
        "hold" => runtime.block_on(hold(&mark)),
        "count" => runtime.block_on(count(&mark)),
        other => panic!("no mode {other}"),
    }
}

#[expect(clippy::print_stdout, reason = "what the test waits for")]
async fn hold(mark: &str) {
    let mut held = Vec::new();
    for (_, script) in SHAPES {
        let mut command = shell(script);
        command.environment.set("MARK", mark);
        let mut launched = warden().launch(&command).unwrap();
        read_line(&mut launched.stdout).await;
        held.push(launched);
    }
    println!("all ready");
    std::future::pending().await
}

async fn count(mark: &str) {
    let descriptors = || fs_err::read_dir("/proc/self/fd").unwrap().count();
    let times = CloseTimes { after_eof: PATIENCE, after_terminate: PATIENCE };
    for launcher in launchers() {
        let before = descriptors();
        for round in 0..30 {
            let mut command = shell("sleep 1000 >/dev/null 2>&1 & echo ready; cat");
            command.environment.set("MARK", mark);
            let Launched { stdin, mut stdout, stderr, process } = launcher.launch(&command).unwrap();
            read_line(&mut stdout).await;
            drop((stdin, stderr));
            if round % 2 == 0 {
                close(&process, times).await;
            }
        }
        wait_until("all is ended", || marked(mark).is_empty());
        assert_eq!(descriptors(), before, "{launcher:?}");
        wait_until("no zombie is left", || fs_err::read_to_string("/proc/thread-self/children").unwrap().is_empty());
    }
}
