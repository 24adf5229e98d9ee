//! Where one process does not do: those that exit on the probe or take the mixture badly are started again.

use std::time::{Duration, Instant};

use helve_testkit::{MixtureFault, ProbeFault, Recording, Scenario, alive};
use helve_wire::connect_stdio;
use helve_wire::launch::{CloseTimes, PlainLauncher};

use super::{LEGACY, MODERN, check_agrees, negotiated};
use crate::support::*;

/// Connects over stdio; gives how many processes were started and what they received, in order.
async fn check(scenario: Scenario, expected: (helve_wire::Era, &str)) -> (usize, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let launcher = Noting::new(&PlainLauncher);
    let scenario = scenario.record_to(&record);
    let session = connect_stdio(&launcher, &command(&scenario), options())
        .await
        .unwrap_or_else(|error| panic!("{}", shown(&error)));
    assert_eq!(negotiated(session.greeting()), expected);
    check_agrees(&session).await;
    let started = launcher.started();
    let (last, others) = started.split_last().unwrap();
    assert!(alive(*last));
    assert!(others.iter().all(|process| !alive(*process)), "only one process is kept");
    session.close().await;
    assert!(!alive(*last));
    (started.len(), Recording::load(&record).unwrap().methods())
}

#[tokio::test]
async fn one_process_is_enough_for_most() {
    for (scenario, expected) in [(Scenario::legacy(), LEGACY), (Scenario::modern(), MODERN), (Scenario::dual(), MODERN)]
    {
        assert_eq!(check(scenario, expected).await.0, 1);
    }
}

#[tokio::test]
async fn a_process_that_exits_on_the_probe_is_started_again_with_initialize() {
    for status in [0, 1] {
        let scenario = Scenario::legacy().probe(ProbeFault::Exit { status });
        let (started, methods) = check(scenario, LEGACY).await;
        assert_eq!(started, 2);
        assert_eq!(methods, ["server/discover", "initialize", "notifications/initialized", "tools/call"]);
    }
}

#[tokio::test]
async fn a_silent_server_is_ready_within_a_second() {
    let scenario = Scenario::legacy().probe(ProbeFault::Silent);
    // What a server that answers at once takes is the machine's share.
    let started = Instant::now();
    check(Scenario::legacy(), LEGACY).await;
    let usual = started.elapsed();
    let started = Instant::now();
    assert_eq!(check(scenario, LEGACY).await.0, 1);
    let extra = started.elapsed().saturating_sub(usual);
    assert!(extra < Duration::from_secs(1), "took {extra:?} longer than the usual {usual:?}");
}

#[tokio::test]
async fn a_slow_start_needs_one_process_only() {
    for (scenario, expected) in [(Scenario::legacy(), LEGACY), (Scenario::modern(), MODERN), (Scenario::dual(), LEGACY)]
    {
        assert_eq!(check(scenario.start_delay_ms(600), expected).await.0, 1);
    }
}

/// Whether the mixture comes of silence or of an error, a fresh process gets the one handshake it can take.
#[tokio::test]
async fn a_server_that_takes_the_mixture_badly_gets_a_fresh_process() {
    for mixture in [MixtureFault::Error, MixtureFault::Exit] {
        for probe in [ProbeFault::Normal, ProbeFault::Silent, ProbeFault::Late { milliseconds: 400 }] {
            let scenario = Scenario::legacy().probe(probe.clone()).mixture(mixture);
            let (started, methods) = check(scenario, LEGACY).await;
            assert_eq!(started, 2, "{probe:?} {mixture:?}");
            let expected = ["server/discover", "initialize", "initialize", "notifications/initialized", "tools/call"];
            assert_eq!(methods, expected, "{probe:?} {mixture:?}");
        }
    }
}

#[tokio::test]
async fn a_slow_modern_server_that_exits_on_the_mixture_gets_a_fresh_process() {
    let scenario = Scenario::modern().start_delay_ms(500).mixture(MixtureFault::Exit);
    let (started, methods) = check(scenario, MODERN).await;
    // It went without a word, so either era was possible.
    assert_eq!(started, 3);
    assert_eq!(methods, ["server/discover", "initialize", "initialize", "server/discover", "tools/call"]);
}

/// However it goes, a connection that was not made leaves no process.
#[tokio::test]
async fn a_failed_search_leaves_no_process() {
    let refusal = ProbeFault::Error { code: -32603, message: "no".into() };
    for scenario in [
        Scenario::legacy().exits_at_once(1),
        Scenario::legacy().never_answers().ignores_eof().ignores_sigterm(),
        Scenario::legacy().initialize(refusal),
        Scenario::legacy().forced_version("1999-01-01").ignores_eof(),
    ] {
        let launcher = Noting::new(&PlainLauncher);
        let short = Duration::from_millis(100);
        let options = options().with(|options| {
            options.startup = Duration::from_secs(2);
            options.close_times = CloseTimes { after_eof: short, after_terminate: short };
        });
        drop(connect_stdio(&launcher, &command(&scenario), options).await.unwrap_err());
        let living = helve_testkit::wait_until_dead(&launcher.started(), PATIENCE).await;
        assert_eq!(living, Vec::<u32>::new(), "{scenario:?}");
    }
}
