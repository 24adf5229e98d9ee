//! Which era a peer speaks: found out on one connection where possible, on a fresh process where not, in little time.
//!
//! In process the clock is the test's own, so that times are exact; over stdio it is the real one.

mod auto;
mod choice;
mod preferred;
#[cfg(warden)]
mod process;
mod rmcp;

use helve_testkit::{InProcess, Scenario};
use helve_wire::{Era, Greeting, NegotiatedVersion, OtherEra, ProtocolChoice, Session, connect_stream};

use crate::support::*;

const LEGACY: (Era, &str) = (Era::Legacy, "2025-11-25");
const MODERN: (Era, &str) = (Era::Modern, "2026-07-28");

fn known((era, version): (Era, &str)) -> ProtocolChoice {
    ProtocolChoice::Known(NegotiatedVersion { era, version: version.to_owned(), other: OtherEra::default() })
}

fn negotiated(greeting: &Greeting) -> (Era, &str) {
    (greeting.negotiated.era, &greeting.negotiated.version)
}

/// Connects, checks the negotiated, and checks with a call that the server agrees with it; gives the methods it got.
async fn check(scenario: &Scenario, expected: (Era, &str)) -> Vec<String> {
    let InProcess { stream, recorder } = scenario.in_process();
    let session = connect_stream(stream, options()).await.unwrap_or_else(|error| panic!("{}", shown(&error)));
    assert_eq!(negotiated(session.greeting()), expected, "{scenario:?}");
    check_agrees(&session).await;
    assert_eq!(recorder.violations(), Vec::<String>::new());
    let mut methods = recorder.methods();
    assert_eq!(methods.pop().as_deref(), Some("tools/call"));
    methods
}

/// A server that is in another era than the session thinks refuses this.
async fn check_agrees(session: &Session) {
    let outcome = call(session, "echo", r#"{"a":1}"#).await.unwrap_or_else(|error| panic!("{}", shown(&error)));
    assert_eq!(outcome.open().unwrap().structured.unwrap().as_str(), r#"{"a":1}"#);
}
