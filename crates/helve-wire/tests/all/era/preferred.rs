//! The legacy era where it is preferred: one process, greeted as a client of that era greets it (G1).

use helve_testkit::{InProcess, ProbeFault, Scenario};
use helve_wire::launch::PlainLauncher;
use helve_wire::{
    ConnectOptions, Era, EraPreference, NegotiatedVersion, OtherEra, ProtocolChoice, connect_stdio, connect_stream,
};

use super::{LEGACY, MODERN, check_agrees, known, negotiated};
use crate::support::*;

fn legacy_first() -> ConnectOptions {
    options().with(|options| options.protocol = ProtocolChoice::LegacyFirst)
}

#[tokio::test(start_paused = true)]
async fn g1_a_server_of_both_eras_is_greeted_in_the_preferred_one() {
    let initialized = &["initialize", "notifications/initialized", "tools/call"][..];
    let refused = &["initialize", "server/discover", "tools/call"][..];
    for (scenario, expected, other, methods) in [
        (Scenario::asks_in_legacy_only(), LEGACY, OtherEra::Unknown, initialized),
        (Scenario::dual(), LEGACY, OtherEra::Unknown, initialized),
        (Scenario::legacy(), LEGACY, OtherEra::Unknown, initialized),
        (Scenario::modern(), MODERN, OtherEra::NotSpoken, refused),
        // It is slow to start: nothing else is said to it for long, and what is said then does not change its mind.
        (Scenario::legacy().start_delay_ms(8_000), LEGACY, OtherEra::Unknown, initialized),
        (
            Scenario::asks_in_legacy_only().start_delay_ms(15_000),
            LEGACY,
            OtherEra::Unknown,
            &["initialize", "server/discover", "notifications/initialized", "tools/call"],
        ),
        (Scenario::modern().initialize(ProbeFault::Silent), MODERN, OtherEra::NotSpoken, refused),
    ] {
        let InProcess { stream, recorder } = scenario.in_process();
        let session = connect_stream(stream, legacy_first()).await.unwrap_or_else(|error| panic!("{}", shown(&error)));
        assert_eq!(
            (negotiated(session.greeting()), session.greeting().negotiated.other),
            (expected, other),
            "{scenario:?}"
        );
        check_agrees(&session).await;
        assert_eq!(recorder.methods(), methods, "{scenario:?}");
    }
}

#[tokio::test]
async fn g1_a_server_that_leaves_over_the_preferred_era_is_started_again() {
    for (scenario, expected, processes) in [
        (Scenario::asks_in_legacy_only(), LEGACY, 1),
        (Scenario::modern(), MODERN, 1),
        (Scenario::modern().initialize(ProbeFault::Exit { status: 1 }), MODERN, 2),
    ] {
        let launcher = Noting::new(&PlainLauncher);
        let session = connect_stdio(&launcher, &command(&scenario), legacy_first()).await.unwrap();
        assert_eq!(negotiated(session.greeting()), expected);
        check_agrees(&session).await;
        assert_eq!(launcher.started().len(), processes, "{scenario:?}");
        session.close().await;
    }
}

/// What is tried, by what is known and what is preferred.
#[test]
fn g1_what_is_known_decides_what_is_tried() {
    let kept = |era: Era, other: OtherEra| {
        let (_, version) = if era == Era::Legacy { LEGACY } else { MODERN };
        Some(NegotiatedVersion { era, version: version.to_owned(), other })
    };
    let choose = ProtocolChoice::new;
    let (newest, legacy) = (EraPreference::Newest, EraPreference::Legacy);
    assert_eq!(choose(None, newest), ProtocolChoice::Auto);
    assert_eq!(choose(None, legacy), ProtocolChoice::LegacyFirst);
    for other in [OtherEra::Unknown, OtherEra::Spoken] {
        assert_eq!(choose(kept(Era::Modern, other), legacy), ProtocolChoice::LegacyFirst);
    }
    // What has only one era is spoken to in that one, without a detour.
    let only = OtherEra::NotSpoken;
    for preference in [newest, legacy] {
        for era in [Era::Legacy, Era::Modern] {
            assert_eq!(choose(kept(era, only), preference), ProtocolChoice::Known(kept(era, only).unwrap()));
        }
    }
    // Found out for somebody with another preference.
    assert_eq!(choose(kept(Era::Legacy, OtherEra::Spoken), newest), known(MODERN));
    assert_eq!(choose(kept(Era::Legacy, OtherEra::Unknown), newest), ProtocolChoice::Auto);
}
