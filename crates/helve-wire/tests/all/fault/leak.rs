//! Connecting and closing again and again leaves nothing: counted in a process of its own.

use helve_testkit::{Scenario, descendants_of, open_fds};
use helve_wire::launch::{Launcher, PlainLauncher};
use helve_wire::{Changes, connect_stdio};

use crate::alone;
use crate::support::*;

const CYCLES: usize = 200;

#[test]
fn two_hundred_connections_leave_nothing() {
    alone::run("fault::leak::connect_and_close");
}

#[tokio::test]
#[ignore = "another test runs it, in a process of its own"]
async fn connect_and_close() {
    let launchers: [&dyn Launcher; 2] = [&PlainLauncher, &warden()];
    let scenarios = [Scenario::legacy(), Scenario::modern()];
    let own = std::process::id();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    // The first connection opens what the runtime keeps.
    cycle(launchers[0], &scenarios[0], 0).await;
    let settle = async || {
        eventually("no process is left", || descendants_of(own).is_empty()).await;
        eventually("no task is left", || tasks() == 0).await;
    };
    settle().await;
    let before = open_fds(own).unwrap();
    for number in 0..CYCLES {
        cycle(launchers[number % 2], &scenarios[(number / 2) % 2], number).await;
    }
    settle().await;
    eventually("no thread is left", || helve_testkit::threads(own).unwrap() <= 4).await;
    assert_eq!(open_fds(own).unwrap(), before);
}

/// Closed, dropped, dropped with a call in flight or given up during the handshake, in turn.
async fn cycle(launcher: &dyn Launcher, scenario: &Scenario, number: usize) {
    let command = command(scenario);
    if number % 5 == 4 {
        let connecting = connect_stdio(launcher, &command, options());
        drop(tokio::time::timeout(std::time::Duration::from_millis(2), connecting).await);
        return;
    }
    let session = connect_stdio(launcher, &command, options()).await.unwrap();
    assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
    match number % 5 {
        0 | 1 => session.close().await,
        2 => session.follow(Changes { tools: true, ..Changes::default() }, times()).await.unwrap(),
        _ => {
            let permit = tool("sleep", r#"{"ms":60000}"#);
            let calling = session.call_tool(&permit, within(PATIENCE));
            drop(tokio::time::timeout(std::time::Duration::from_millis(1), calling).await);
        }
    }
}
