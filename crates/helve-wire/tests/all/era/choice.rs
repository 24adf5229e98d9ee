//! A negotiated that is handed in, a version that is pinned, and versions that do not meet.

use helve_model::ErrorCode;
use helve_testkit::{InProcess, ProbeFault, Scenario};
use helve_wire::launch::PlainLauncher;
use helve_wire::{NegotiatedVersion, OtherEra, ProtocolChoice, connect_stdio, connect_stream};

use super::{LEGACY, MODERN, check_agrees, known, negotiated};
use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_verdict_that_holds_saves_the_search() {
    for (scenario, choice, methods) in [
        (Scenario::legacy(), LEGACY, &["initialize", "notifications/initialized", "tools/call"][..]),
        (
            Scenario::legacy().probe(ProbeFault::Silent),
            LEGACY,
            &["initialize", "notifications/initialized", "tools/call"],
        ),
        (Scenario::modern().start_delay_ms(2_000), MODERN, &["server/discover", "tools/call"]),
        (Scenario::dual(), LEGACY, &["initialize", "notifications/initialized", "tools/call"]),
        (Scenario::dual(), MODERN, &["server/discover", "tools/call"]),
    ] {
        let InProcess { stream, recorder } = scenario.in_process();
        let options = options().with(|options| options.protocol = known(choice));
        let session = connect_stream(stream, options).await.unwrap();
        assert_eq!(negotiated(session.greeting()), choice);
        check_agrees(&session).await;
        assert_eq!(recorder.methods(), methods);
        // What is handed out can be handed in, with what it tells about the other era.
        let handed = NegotiatedVersion { other: OtherEra::default(), ..session.greeting().negotiated.clone() };
        assert_eq!(known(choice), ProtocolChoice::Known(handed));
    }
}

#[tokio::test]
async fn a_verdict_that_no_longer_holds_is_found_anew() {
    for (scenario, choice, expected, processes) in [
        (Scenario::modern(), LEGACY, MODERN, 2),
        // Only what a modern server does not take needs a process of its own.
        (Scenario::legacy(), MODERN, LEGACY, 1),
        (Scenario::legacy().probe(ProbeFault::Exit { status: 1 }), MODERN, LEGACY, 2),
    ] {
        let launcher = Noting::new(&PlainLauncher);
        let options = options().with(|options| options.protocol = known(choice));
        let session = connect_stdio(&launcher, &command(&scenario), options).await.unwrap();
        assert_eq!(negotiated(session.greeting()), expected);
        check_agrees(&session).await;
        assert_eq!(launcher.started().len(), processes);
        session.close().await;
    }
}

/// A cached negotiated must not make a silent server unreachable.
#[tokio::test(start_paused = true)]
async fn a_verdict_that_meets_silence_is_given_up_in_time() {
    let scenario = Scenario::legacy().probe(ProbeFault::Silent);
    let options = options().with(|options| options.protocol = known(MODERN));
    let session = in_process(&scenario, options).await.unwrap_or_else(|error| panic!("{}", shown(&error)));
    assert_eq!(negotiated(session.greeting()), LEGACY);
}

/// A stream cannot be started again: then the first reason is told.
#[tokio::test]
async fn a_verdict_that_no_longer_holds_on_a_stream() {
    let options = |choice| options().with(|options| options.protocol = known(choice));
    let error = in_process(&Scenario::modern(), options(LEGACY)).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    PROTOCOL_ERROR: the server refused `initialize`
      because: initialize is not part of this server's protocol; it speaks 2026-07-28 (-32601)
      hint: the reason is the server's own; its log may say more
    ");
    let session = in_process(&Scenario::legacy(), options(MODERN)).await.unwrap();
    assert_eq!(negotiated(session.greeting()), LEGACY);
}

#[tokio::test]
async fn a_pinned_version_is_spoken_and_no_other() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let session = in_process(&Scenario::dual(), pinned(version)).await.unwrap();
        let (spoken, pinned) = (&session.greeting().negotiated, NegotiatedVersion::of_version(version).unwrap());
        assert_eq!((spoken.era, &spoken.version), (pinned.era, &pinned.version));
        check_agrees(&session).await;
    }
    let error = in_process(&Scenario::legacy_version("2025-11-25"), pinned("2024-11-05")).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    PROTOCOL_ERROR: the server speaks protocol version 2025-11-25, and helve is pinned to 2024-11-05
      hint: pin the version that the server speaks, or none
    ");
    let error = in_process(&Scenario::legacy(), pinned("2026-07-28")).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    PROTOCOL_ERROR: the server does not speak the modern protocol
      because: the server refused `server/discover`
      because: Method not found: server/discover (-32601)
      hint: it may speak one of 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05
    ");
    let error = in_process(&Scenario::modern(), pinned("2025-06-18")).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    PROTOCOL_ERROR: the server refused `initialize`
      because: initialize is not part of this server's protocol; it speaks 2026-07-28 (-32601)
      hint: the reason is the server's own; its log may say more
    ");
}

#[tokio::test]
async fn a_pin_that_helve_does_not_speak_starts_nothing() {
    let launcher = Noting::new(&PlainLauncher);
    let error = connect_stdio(&launcher, &command(&Scenario::dual()), pinned("2023-01-01")).await.unwrap_err();
    assert_eq!(launcher.started(), Vec::<u32>::new());
    insta::assert_snapshot!(shown(&error), @r#"
    CONFIG: helve does not speak protocol version "2023-01-01"
      hint: it speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05
    "#);
}

#[tokio::test]
async fn versions_that_do_not_meet() {
    let error = in_process(&Scenario::legacy().forced_version("2099-01-01"), options()).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ProtocolError);
    insta::assert_snapshot!(shown(&error), @r"
    PROTOCOL_ERROR: no common protocol version: the server speaks 2099-01-01, helve speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05
      hint: update the server, or pin a protocol version that both sides speak
    ");
    let scenario = Scenario { modern_versions: vec!["2027-05-05".into(), "2027-01-01".into()], ..Scenario::modern() };
    let error = in_process(&scenario, options()).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    PROTOCOL_ERROR: no common protocol version: the server speaks 2027-05-05, 2027-01-01, helve speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05
      hint: update the server, or pin a protocol version that both sides speak
    ");
}

/// The server is modern, but of another version; it says which older ones it speaks.
#[tokio::test]
async fn a_version_from_the_list_of_a_refusal_is_taken() {
    let scenario = Scenario { modern_versions: vec!["2027-01-01".into()], ..Scenario::dual() };
    let InProcess { stream, recorder } = scenario.in_process();
    let session = connect_stream(stream, options()).await.unwrap();
    assert_eq!(negotiated(session.greeting()), LEGACY);
    check_agrees(&session).await;
    assert_eq!(recorder.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_without_a_version() {
    let scenario = Scenario::legacy()
        .scripted("initialize", "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"capabilities\":{}}}\n");
    let error = in_process(&scenario, options()).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    PROTOCOL_ERROR: the server's answer to `initialize` names no protocol version
      hint: the server does not follow the protocol; report it to its authors
    ");
}
