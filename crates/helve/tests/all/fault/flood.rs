//! Floods of `list_changed`.

use std::time::{Duration, Instant};

use helve_testkit::{Recorder, Scenario};

use crate::support::{PATIENCE, call, host, http, until};

/// The host lists again at most once in this time.
const GAP: Duration = Duration::from_secs(1);

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn a_flood_of_changes_costs_two_listings_and_the_last_is_never_lost() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let server = scenario.serve_http().await.unwrap();
        let host = host([http("a", server.url())]).await;
        let listings = |recorder: &Recorder| recorder.count("tools/list");
        assert_eq!(listings(server.recorder()), 1);

        let begun = Instant::now();
        let flood = r#"{"count":200,"method":"notifications/tools/list_changed","params":{}}"#;
        call(&host, "a/notify", flood).await.unwrap();
        // The last one is true: there is one more tool now.
        call(&host, "a/list_changed", r#"{"kind":"tools"}"#).await.unwrap();
        let flooding = begun.elapsed();
        until(&host, "the new tool is there", |host| host.snapshot().tool("a/added").is_ok()).await;
        call(&host, "a/added", "{}").await.unwrap();
        // Nothing more comes: a third listing would be due by the end of this.
        tokio::time::sleep(GAP * 2).await;
        let allowed = 2 + usize::try_from(flooding.as_secs()).unwrap();
        let again = listings(server.recorder()) - 1;
        assert!((1..=allowed).contains(&again), "{again} listings for a flood of {flooding:?}");

        // And the next change is heard as the first was.
        call(&host, "a/list_changed", r#"{"kind":"tools"}"#).await.unwrap();
        until(&host, "the new tool is gone", |host| host.snapshot().tool("a/added").is_err()).await;
        assert_eq!(server.recorder().violations(), Vec::<String>::new());
        host.shutdown().await;
    }
}

#[tokio::test]
async fn a_server_that_never_acknowledges_is_ready_all_the_same() {
    let scenario = Scenario::modern().scripted("subscriptions/listen", "");
    let begun = Instant::now();
    let host = host([crate::support::stdio("a", &scenario)]).await;
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;
}
