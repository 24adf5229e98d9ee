//! The peer as a child process.
#![expect(clippy::disallowed_methods, reason = "these tests start the peer by hand, without any launcher")]

use std::process::Stdio;

use helve_testkit::{
    OneAtATime, RecordedEvent, Recording, Scenario, alive, descendants_of, open_fds, peak_rss_bytes, peer_program,
    rss_bytes, threads, wait_until_dead,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::client::{Client, DEADLINE};

fn start(arguments: &[&str]) -> (Client, Child) {
    let mut child = Command::new(peer_program())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let client = Client::over(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (client, child)
}

async fn legacy(scenario: &Scenario) -> (Client, Child) {
    let (mut client, child) = start(&[&scenario.to_json()]);
    client.initialize("2025-11-25").await;
    (client, child)
}

async fn status(child: &mut Child) -> Option<i32> {
    tokio::time::timeout(DEADLINE, child.wait()).await.expect("an end in time").unwrap().code()
}

#[test]
fn a_scenario_survives_the_way_through_json() {
    let scenario = Scenario::modern().page_size(3).one_at_a_time(OneAtATime::Fails).scripted("ping", "x\u{0}\n");
    assert_eq!(serde_json::from_str::<Scenario>(&scenario.to_json()).unwrap(), scenario);
    assert!(serde_json::from_str::<Scenario>(r#"{"nonsense":1}"#).is_err());
}

#[tokio::test]
async fn both_eras_work_over_stdio() {
    let (mut client, mut child) = legacy(&Scenario::dual()).await;
    assert_eq!(client.call("echo", json!({ "a": 1 })).await["structuredContent"], json!({ "a": 1 }));
    assert!(client.modern("server/discover", json!({})).await["result"]["supportedVersions"].is_array());
    client.close_writer().await;
    assert_eq!(status(&mut child).await, Some(0));
}

#[tokio::test]
async fn the_peer_ends_with_the_status_it_was_told() {
    let (_client, mut child) = start(&[&Scenario::legacy().exits_at_once(9).to_json()]);
    assert_eq!(status(&mut child).await, Some(9));
    let (mut client, mut child) = legacy(&Scenario::legacy()).await;
    client.start("tools/call", json!({ "name": "exit", "arguments": { "status": 3 } })).await;
    assert_eq!(status(&mut child).await, Some(3));
    let (_client, mut child) = start(&["not a scenario"]);
    assert_eq!(status(&mut child).await, Some(64));
}

#[tokio::test]
async fn stdout_can_be_closed_while_the_process_lives() {
    let (mut client, mut child) = legacy(&Scenario::legacy()).await;
    client.start("tools/call", json!({ "name": "close_stdout" })).await;
    assert_eq!(client.line().await, None);
    assert_eq!(child.try_wait().unwrap(), None);
    client.close_writer().await;
    assert_eq!(status(&mut child).await, Some(0));
}

#[tokio::test]
async fn a_stubborn_peer_outlives_eof_and_sigterm() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recording");
    let scenario = Scenario::legacy().ignores_eof().ignores_sigterm().record_to(&file);
    let (mut client, mut child) = legacy(&scenario).await;
    let call = client.start("tools/call", json!({ "name": "sleep", "arguments": { "ms": 50 } })).await;
    client.close_writer().await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    // It answers after both, so it has outlived them.
    assert_eq!(client.answer(call).await["result"]["content"][0]["text"], "slept");
    assert_eq!(child.try_wait().unwrap(), None);
    child.kill().await.unwrap();
    assert!(Recording::load(&file).unwrap().entries.contains(&RecordedEvent::Eof));
}

#[tokio::test]
async fn an_ordinary_peer_dies_of_sigterm() {
    let (_client, mut child) = legacy(&Scenario::legacy()).await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(status(&mut child).await, None);
}

#[tokio::test]
async fn stderr_can_be_flooded() {
    let (mut client, mut child) = start(&[&Scenario::legacy().stderr_at_start(300_000).to_json()]);
    let mut stderr = child.stderr.take().unwrap();
    let mut flood = vec![0; 300_000];
    stderr.read_exact(&mut flood).await.unwrap();
    client.initialize("2025-11-25").await;
    let id = client.start("tools/call", json!({ "name": "stderr", "arguments": { "bytes": 200_000 } })).await;
    // The peer goes on while its stderr is full.
    client.request("ping", json!({})).await;
    stderr.read_exact(&mut flood[..200_000]).await.unwrap();
    assert_eq!(client.answer(id).await["result"]["content"][0]["text"], "written");
}

#[tokio::test]
async fn a_huge_line_costs_the_peer_no_memory() {
    let (mut client, child) = legacy(&Scenario::legacy()).await;
    let before = peak_rss_bytes(child.id().unwrap()).unwrap();
    client.start("tools/call", json!({ "name": "big", "arguments": { "bytes": 64 << 20 } })).await;
    assert!(client.line().await.unwrap().len() > 64 << 20);
    let grown = peak_rss_bytes(child.id().unwrap()).unwrap() - before;
    assert!(grown < 8 << 20, "{grown}");
}

#[tokio::test]
async fn descendants_take_their_shapes_and_ignore_signals() {
    let (mut client, mut child) = legacy(&Scenario::legacy()).await;
    let arguments = json!({ "ignore_signals": true, "lifetime_ms": 30_000 });
    let started = client.call("spawn_descendants", arguments).await["structuredContent"]["descendants"].clone();
    let pids = |index: usize| -> Vec<u32> { serde_json::from_value(started[index]["pids"].clone()).unwrap() };
    let (wrapper, double_fork, setsid) = (pids(0), pids(1), pids(2));
    let by_parentage = descendants_of(child.id().unwrap());
    assert!(by_parentage.contains(&wrapper[0]) && by_parentage.contains(&wrapper[1]), "{by_parentage:?}");
    assert!(by_parentage.contains(&setsid[0]) && !by_parentage.contains(&double_fork[0]), "{by_parentage:?}");
    let raw = |pid: u32| rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    assert_eq!(rustix::process::getsid(Some(raw(setsid[0]))).unwrap(), raw(setsid[0]));
    let all = [wrapper, double_fork, setsid].concat();
    for pid in &all {
        rustix::process::kill_process(raw(*pid), rustix::process::Signal::TERM).unwrap();
    }
    client.close_writer().await;
    assert_eq!(status(&mut child).await, Some(0));
    // They outlive both the signal and the peer, until somebody means it.
    assert!(all.iter().all(|pid| alive(*pid)));
    for pid in &all {
        rustix::process::kill_process(raw(*pid), rustix::process::Signal::KILL).unwrap();
    }
    assert_eq!(wait_until_dead(&all, DEADLINE).await, [] as [u32; 0]);
}

#[tokio::test]
async fn a_descendant_can_hold_stdout_open() {
    let (mut client, mut child) = legacy(&Scenario::legacy()).await;
    let arguments = json!({ "shapes": ["setsid"], "inherit_stdout": true, "lifetime_ms": 30_000 });
    let started = client.call("spawn_descendants", arguments).await["structuredContent"]["descendants"].clone();
    client.close_writer().await;
    assert_eq!(status(&mut child).await, Some(0));
    let held = tokio::time::timeout(std::time::Duration::from_millis(30), client.line()).await;
    assert!(held.is_err(), "{held:?}");
    let pid = rustix::process::Pid::from_raw(i32::try_from(started[0]["pids"][0].as_u64().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(client.line().await, None);
}

#[tokio::test]
async fn the_http_forms_run_as_processes_too() {
    for form in ["http", "sse"] {
        let mut child = Command::new(peer_program())
            .args([form, &Scenario::dual().to_json()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).await.unwrap();
        let address = url.trim().strip_prefix("http://").unwrap().split('/').next().unwrap();
        let mut http = crate::http_client::Http::connect(address.parse().unwrap()).await;
        http.send("POST", "/nothing", &[], "{}").await;
        assert_eq!(http.head().await.unwrap().status, 404);
        drop(child.stdin.take());
        assert_eq!(status(&mut child).await, Some(0));
    }
}

#[tokio::test]
async fn processes_can_be_looked_at() {
    let (mut client, child) = legacy(&Scenario::legacy()).await;
    let pid = child.id().unwrap();
    assert!(alive(pid) && descendants_of(std::process::id()).contains(&pid));
    assert!(open_fds(pid).unwrap() >= 3 && threads(pid).unwrap() >= 1 && rss_bytes(pid).unwrap() > 100_000);
    let answer: Value = client.request("ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    drop(child);
    assert_eq!(wait_until_dead(&[pid], DEADLINE).await, [] as [u32; 0]);
    assert!(!alive(pid));
}
