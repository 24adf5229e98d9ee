//! Finding out on one connection: what is sent, what decides, how long it takes.

use std::time::Duration;

use helve_testkit::{DualRule, InProcess, MixtureFault, ProbeFault, Scenario};
use helve_wire::connect_stream;
use tokio::time::Instant;

use super::{LEGACY, MODERN, check, check_agrees};
use crate::hand::Hand;
use crate::support::*;

const DISCOVER: [&str; 1] = ["server/discover"];
/// A modern server that refuses `initialize` is asked whether it is still there.
const REFUSED: [&str; 3] = ["server/discover", "initialize", "server/discover"];
const BOTH: [&str; 3] = ["server/discover", "initialize", "notifications/initialized"];

fn silent() -> Scenario {
    Scenario::legacy().probe(ProbeFault::Silent)
}

fn late(milliseconds: u64) -> ProbeFault {
    ProbeFault::Late { milliseconds }
}

#[tokio::test(start_paused = true)]
async fn the_right_handshake_for_each_era() {
    assert_eq!(check(&Scenario::modern(), MODERN).await, DISCOVER);
    assert_eq!(check(&Scenario::legacy(), LEGACY).await, BOTH);
    assert_eq!(check(&Scenario::dual(), MODERN).await, DISCOVER);
    assert_eq!(check(&Scenario::dual().dual_rule(DualRule::LastHandshake), MODERN).await, DISCOVER);
    for version in helve_testkit::LEGACY_VERSIONS {
        let expected = (helve_wire::Era::Legacy, version);
        assert_eq!(check(&Scenario::legacy_version(version), expected).await, BOTH);
    }
}

#[tokio::test(start_paused = true)]
async fn any_error_that_is_not_modern_means_legacy() {
    for code in [-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32042, 0, 1, 404, i64::MIN] {
        let probe = ProbeFault::Error { code, message: "before initialize".into() };
        let started = Instant::now();
        assert_eq!(check(&Scenario::legacy().probe(probe), LEGACY).await, BOTH, "{code}");
        assert_eq!(started.elapsed(), Duration::ZERO, "{code}");
    }
}

#[tokio::test]
async fn a_modern_refusal_is_told() {
    let refused = async |code: i64, message: &str| {
        let scenario = Scenario::modern().probe(ProbeFault::Error { code, message: message.into() });
        shown(&in_process(&scenario, options()).await.unwrap_err())
    };
    insta::assert_snapshot!(refused(-32020, "header mismatch").await, @r"
    PROTOCOL_ERROR: the server refused `server/discover`
      because: header mismatch (-32020)
      hint: the reason is the server's own; its log may say more
    ");
    insta::assert_snapshot!(refused(-32021, "I need sampling").await, @r"
    PROTOCOL_ERROR: the server refused `server/discover`
      because: I need sampling (-32021)
      hint: the reason is the server's own; its log may say more
    ");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_on_the_probe_costs_half_a_second() {
    let started = Instant::now();
    assert_eq!(check(&silent(), LEGACY).await, BOTH);
    assert!(started.elapsed() <= Duration::from_millis(500), "{:?}", started.elapsed());
}

/// As a slow first start: everything is answered at once when the server is there.
#[tokio::test(start_paused = true)]
async fn a_slow_start_costs_nothing_extra() {
    for (scenario, expected, methods) in [
        (Scenario::legacy(), LEGACY, &BOTH[..]),
        (Scenario::modern(), MODERN, &REFUSED[..]),
        // Both are answered: the last one rules.
        (Scenario::dual(), LEGACY, &BOTH[..]),
        (Scenario::dual().dual_rule(DualRule::LastHandshake), LEGACY, &BOTH[..]),
    ] {
        for delay in [301, 900, 5_000] {
            let started = Instant::now();
            assert_eq!(check(&scenario.clone().start_delay_ms(delay), expected).await, methods);
            let took = started.elapsed();
            assert!(took <= Duration::from_millis(delay + 10), "{delay} took {took:?}");
        }
    }
    // Within the silence the probe stays alone.
    assert_eq!(check(&Scenario::dual().start_delay_ms(299), MODERN).await, DISCOVER);
}

#[tokio::test(start_paused = true)]
async fn both_answers_late() {
    let slow = |discover: u64, initialize: u64| {
        Scenario::dual().dual_rule(DualRule::LastHandshake).probe(late(discover)).initialize(late(initialize))
    };
    // `initialize` goes out after 300 ms: it is answered last, and rules.
    assert_eq!(check(&slow(400, 400), LEGACY).await, BOTH);
    assert_eq!(check(&slow(1_000, 1_000), LEGACY).await, BOTH);
    // `server/discover` is answered last, a little later, and rules.
    assert_eq!(check(&slow(450, 100), MODERN).await, BOTH[..2]);
    // Legacy servers answer the probe with an error, late or not.
    let legacy = Scenario::legacy().probe(late(400)).initialize(late(700));
    assert_eq!(check(&legacy, LEGACY).await, BOTH);
    let modern = Scenario::modern().probe(late(700)).initialize(late(100));
    assert_eq!(check(&modern, MODERN).await, REFUSED);
}

/// Both answers come in one piece, `server/discover` last: only the order on the wire tells which rules.
#[tokio::test(start_paused = true)]
async fn the_order_on_the_wire_decides() {
    for discover_last in [true, false] {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let mut hand = Hand::new(theirs);
        let server = async {
            let discover = hand.request("server/discover").await;
            let initialize = hand.request("initialize").await;
            let discovered = format!(
                r#"{{"jsonrpc":"2.0","id":{discover},"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}"#
            );
            let initialized = format!(
                r#"{{"jsonrpc":"2.0","id":{initialize},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}}}}}}"#
            );
            let (first, last) = if discover_last { (initialized, discovered) } else { (discovered, initialized) };
            hand.write(format!("{first}\n{last}\n")).await;
        };
        let (session, ()) = tokio::join!(connect_stream(ours, options()), server);
        let expected = if discover_last { MODERN } else { LEGACY };
        assert_eq!(super::negotiated(session.unwrap().greeting()), expected);
    }
}

/// The probe is still open when `initialize` comes: an error to that does not mean that the server has no era at all.
#[tokio::test(start_paused = true)]
async fn a_slow_modern_server_may_refuse_initialize() {
    for mixture in [MixtureFault::Fine, MixtureFault::Error] {
        let scenario = Scenario::modern().start_delay_ms(800).mixture(mixture);
        assert_eq!(check(&scenario, MODERN).await, REFUSED);
        let scenario = Scenario::modern().probe(late(800)).mixture(mixture);
        assert_eq!(check(&scenario, MODERN).await, REFUSED);
    }
    let dual = Scenario::dual().start_delay_ms(800).mixture(MixtureFault::Error);
    assert_eq!(check(&dual, MODERN).await, REFUSED);
}

#[tokio::test(start_paused = true)]
async fn one_at_a_time_does_not_hold_the_handshake_up() {
    let InProcess { stream, recorder } = silent().in_process();
    let options = options().with(|options| options.one_at_a_time = true);
    let started = Instant::now();
    let session = connect_stream(stream, options).await.unwrap();
    assert!(started.elapsed() <= Duration::from_millis(500));
    check_agrees(&session).await;
    assert_eq!(recorder.methods()[..2], BOTH[..2]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_nothing_is_too_slow() {
    let scenario = Scenario::legacy().never_answers();
    let options = options().with(|options| options.startup = Duration::from_millis(1_500));
    let started = Instant::now();
    let error = in_process(&scenario, options).await.unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_millis(1_500));
    insta::assert_snapshot!(shown(&error), @r#"
    TIMEOUT: the server `peer` was not ready within 1.5 s
      hint: a first start may have to download something: try again, or give it more time
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_both_handshakes() {
    let refusal = |message: &str| ProbeFault::Error { code: -32603, message: message.into() };
    let scenario = Scenario::legacy().probe(refusal("not now")).initialize(refusal("no licence"));
    let error = in_process(&scenario, options()).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    PROTOCOL_ERROR: the server refused `initialize`
      because: no licence (-32603)
      hint: the reason is the server's own; its log may say more
    ");
}
