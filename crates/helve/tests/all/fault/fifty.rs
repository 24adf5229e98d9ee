//! Fifty servers, most of which are bad in one way or another.

use std::time::{Duration, Instant};

use helve_model::ServerSpec;
use helve_testkit::Scenario;

use crate::support::{PATIENCE, builder, call, marked, marked_processes, status, stdio, until};

/// How long a server that says nothing may take.
const HANGING: Duration = Duration::from_secs(8);
/// How long a slow one takes.
const SLOW_MS: u64 = 5_000;

fn many(kind: &str, count: usize, scenario: &Scenario) -> Vec<ServerSpec> {
    let scenario = marked(scenario.clone(), "fifty");
    (0..count).map(|number| stdio(&format!("{kind}-{number}"), &scenario)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_servers_of_which_thirty_are_bad() {
    let mut servers = many("good", 20, &Scenario::dual());
    servers.extend(many("crashing", 10, &Scenario::dual().exits_at_once(4)));
    servers.extend(many("slow", 10, &Scenario::dual().start_delay_ms(SLOW_MS)));
    let mut hanging = many("hanging", 10, &Scenario::dual().never_answers());
    for server in &mut hanging {
        server.startup_timeout = Some(HANGING);
    }
    servers.extend(hanging);
    let host = builder(servers).start().await.unwrap();
    let count = |kind: &str, words: &str| {
        let reports = host.status();
        let of_kind = |report: &&helve::ServerReport| report.name.as_str().starts_with(kind);
        reports.iter().filter(of_kind).filter(|report| report.status.to_string().starts_with(words)).count()
    };

    until(&host, "the good ones are there", |_| count("good", "connected") == 20).await;
    // They did not wait for the bad ones.
    assert_eq!(count("hanging", "pending (connecting)"), 10);
    for number in 0..20 {
        call(&host, &format!("good-{number}/echo"), "{}").await.unwrap();
    }

    until(&host, "the crashing ones have a reason", |_| count("crashing", "failed") == 10).await;
    assert!(status(&host, "crashing-3").ends_with("is gone: exited with status 4)"), "{}", status(&host, "crashing-3"));
    until(&host, "the slow ones have joined", |_| count("slow", "connected") == 10).await;
    call(&host, "slow-7/echo", "{}").await.unwrap();
    until(&host, "the hanging ones have a reason", |_| count("hanging", "failed") == 10).await;
    assert_eq!(status(&host, "hanging-9"), "failed (TIMEOUT: the server `hanging-9` was not ready within 8 s)");
    assert!(host.settled(Duration::ZERO).await);

    let begun = Instant::now();
    host.shutdown().await;
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    assert_eq!(marked_processes("fifty"), Vec::<u32>::new());
}
