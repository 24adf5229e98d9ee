//! Processes that a server starts and leaves behind: with the warden none outlives the session, nor the host.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use helve_testkit::{Scenario, alive, descendants_of, wait_until_dead};
use helve_wire::launch::CloseTimes;
use helve_wire::{Session, connect_stdio};

use super::exit::kill;
use crate::alone;
use crate::support::*;

/// Behind a wrapper, by double fork, in a session of their own; deaf to polite signals or not.
async fn spawn_descendants(session: &Session, ignore_signals: bool) -> Vec<u32> {
    let arguments = format!(r#"{{"ignore_signals":{ignore_signals},"lifetime_ms":60000}}"#);
    let outcome = call(session, "spawn_descendants", &arguments).await.unwrap();
    let structured: serde_json::Value = outcome.open().unwrap().structured.unwrap().parse().unwrap();
    let descendants = structured["descendants"].as_array().unwrap();
    assert_eq!(descendants.len(), 3);
    let processes = descendants.iter().flat_map(|one| one["pids"].as_array().unwrap());
    let processes: Vec<u32> = processes.map(|process| process.as_u64().unwrap().try_into().unwrap()).collect();
    assert!(processes.len() >= 4 && processes.iter().all(|process| alive(*process)), "{processes:?}");
    processes
}

#[tokio::test]
async fn nothing_lives_when_close_returns() {
    for (scenario, ignore_signals) in [
        (Scenario::legacy(), false),
        (Scenario::legacy(), true),
        (Scenario::modern().ignores_eof().ignores_sigterm(), true),
    ] {
        let time = Duration::from_millis(200);
        let close_times = CloseTimes { after_eof: time, after_terminate: time };
        let warden = warden();
        let launcher = Noting::new(&warden);
        let options = options().with(|options| options.close_times = close_times);
        let session = connect_stdio(&launcher, &command(&scenario), options).await.unwrap();
        let mut processes = spawn_descendants(&session, ignore_signals).await;
        processes.extend(descendants_of(launcher.started()[0]));
        processes.extend(launcher.started());
        session.close().await;
        let living: Vec<u32> = processes.into_iter().filter(|process| alive(*process)).collect();
        assert_eq!(living, Vec::<u32>::new());
    }
}

#[tokio::test]
async fn nothing_lives_after_a_drop() {
    let warden = warden();
    let launcher = Noting::new(&warden);
    let session = connect_stdio(&launcher, &command(&Scenario::modern()), options()).await.unwrap();
    let mut processes = spawn_descendants(&session, true).await;
    processes.extend(launcher.started());
    drop(session);
    assert_eq!(wait_until_dead(&processes, PATIENCE).await, Vec::<u32>::new());
}

#[tokio::test]
async fn nothing_lives_after_the_server_was_killed() {
    let warden = warden();
    let launcher = Noting::new(&warden);
    let session = connect_stdio(&launcher, &command(&Scenario::modern()), options()).await.unwrap();
    let processes = spawn_descendants(&session, true).await;
    let server = descendants_of(launcher.started()[0])[0];
    kill(server);
    let error = session.ended().await;
    assert_eq!(error.code(), helve_model::ErrorCode::TransportError);
    assert_eq!(wait_until_dead(&processes, PATIENCE).await, Vec::<u32>::new());
}

/// The host is another process: see the test below.
#[tokio::test]
async fn nothing_lives_a_second_after_the_host_was_killed() {
    let mut host = alone::start("fault::tree::a_host_that_waits_to_be_killed");
    let lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let told = lines.map(Result::unwrap).find_map(|line| line.strip_prefix("processes: ").map(ToOwned::to_owned));
    let processes: Vec<u32> = told.unwrap().split(' ').map(|process| process.parse().unwrap()).collect();
    assert!(processes.len() >= 6 && processes.iter().all(|process| alive(*process)), "{processes:?}");
    host.kill().unwrap();
    let killed = Instant::now();
    host.wait().unwrap();
    let living = wait_until_dead(&processes, Duration::from_secs(1).saturating_sub(killed.elapsed())).await;
    assert_eq!(living, Vec::<u32>::new());
}

#[tokio::test]
#[ignore = "another test starts and kills it"]
async fn a_host_that_waits_to_be_killed() {
    if !alone::is_alone() {
        return;
    }
    let warden = warden();
    let launcher = Noting::new(&warden);
    let scenario = Scenario::legacy().ignores_eof().ignores_sigterm();
    let session = connect_stdio(&launcher, &command(&scenario), options()).await.unwrap();
    let mut processes = spawn_descendants(&session, true).await;
    processes.extend(descendants_of(launcher.started()[0]));
    processes.extend(launcher.started());
    let processes: Vec<String> = processes.iter().map(ToString::to_string).collect();
    println!("\nprocesses: {}", processes.join(" "));
    std::future::pending().await
}
