//! Tests that need a process of their own, to be killed or to be counted in: this test binary once more, running one test
//! that is ignored otherwise.

use std::process::{Child, Command, Stdio};

/// Set in the other process, and only there.
const ALONE: &str = "HELVE_TEST_ALONE";

/// Starts the test of this name in a process of its own; its stdout is piped.
pub(crate) fn start(test: &str) -> Child {
    // Built before, so that the other process finds it ready.
    drop(helve_testkit::peer_program());
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads", "1"])
        .env(ALONE, "yes")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs the test of this name in a process of its own; it must pass.
pub(crate) fn run(test: &str) {
    let output = start(test).wait_with_output().unwrap();
    let said = [&*String::from_utf8_lossy(&output.stdout), &*String::from_utf8_lossy(&output.stderr)].concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Is this the other process? A person who runs all ignored tests gets nothing out of them.
pub(crate) fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}
