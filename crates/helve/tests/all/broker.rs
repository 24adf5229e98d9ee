//! The form action brokers like.

use std::time::Duration;

use helve::CallEnd;
use helve::broker::{ActionCall, ActionResult, ActionStatus, Broker, Capability, CapabilityProvider, HostProvider};
use helve_model::{Action, ErrorCode};
use helve_testkit::Scenario;
use helve_wire::BoxFuture;

use crate::support::{PATIENCE, builder, json, program, recorded, rule, stdio};

fn action(capability: &str, arguments: &str, timeout: Option<Duration>) -> ActionCall {
    ActionCall { id: "7".to_owned(), capability: capability.to_owned(), arguments: json(arguments), timeout }
}

#[tokio::test]
async fn every_end_has_a_status_and_a_code() {
    let rules = vec![rule("files/exit", Action::Deny), rule("*/*", Action::Allow)];
    let missing = program("gone", "no-such-program-anywhere", &[]);
    let host = builder([stdio("files", &Scenario::legacy()), missing]).rules(rules).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    let broker = Broker::new();
    let nobody = broker.invoke(action("files:echo", "{}", None)).await;
    assert_eq!(nobody.error.unwrap().message, "nobody offers `files:echo`");
    broker.register(HostProvider::new(host.clone()));

    let done = broker.invoke(action("files:echo", r#"{"a":1}"#, None)).await;
    assert_eq!((done.id.as_str(), done.status, done.error), ("7", ActionStatus::Ok, None));
    let output = done.output.unwrap().member("structuredContent").unwrap();
    assert_eq!(output.as_str(), r#"{"a":1}"#);

    let short = Some(Duration::from_millis(200));
    for (capability, arguments, timeout, status, code, has_output) in [
        ("files:fail", "{}", None, ActionStatus::Error, ErrorCode::ToolError, true),
        ("files:sleep", r#"{"ms":"long"}"#, None, ActionStatus::Error, ErrorCode::InvalidParams, false),
        ("files:exit", "{}", None, ActionStatus::Error, ErrorCode::Denied, false),
        ("files:nothing", "{}", None, ActionStatus::Error, ErrorCode::ToolNotFound, false),
        // C7: in a broker's words. What is recorded has the host's.
        ("nobody:echo", "{}", None, ActionStatus::Error, ErrorCode::ToolNotFound, false),
        ("gone:echo", "{}", None, ActionStatus::Error, ErrorCode::TransportError, false),
        ("files:sleep", r#"{"ms":600000}"#, short, ActionStatus::Timeout, ErrorCode::Timeout, false),
        // Progress does not prolong an action.
        (
            "files:progress",
            r#"{"steps":100000,"delay_ms":10}"#,
            short,
            ActionStatus::Timeout,
            ErrorCode::Timeout,
            false,
        ),
    ] {
        let mut events = host.events();
        let result = broker.invoke(action(capability, arguments, timeout)).await;
        let error = result.error.unwrap();
        assert_eq!((result.status, error.code), (status, code), "{capability}: {}", error.message);
        assert_eq!(result.output.is_some(), has_output, "{capability}");
        let record = recorded(&mut events).await;
        let end = match (has_output, capability) {
            (true, _) => CallEnd::ToolError,
            (false, "nobody:echo") => CallEnd::Failed(ErrorCode::ServerNotFound),
            (false, "gone:echo") => CallEnd::Failed(ErrorCode::ServerUnavailable),
            (false, _) => CallEnd::Failed(code),
        };
        assert_eq!((record.end, &*record.asked()), (end, capability));
    }
    host.shutdown().await;
}

struct Clock;

impl CapabilityProvider for Clock {
    fn capabilities(&self) -> Vec<Capability> {
        let named = |name: &str| Capability { name: name.to_owned(), description: None, input_schema: json("{}") };
        vec![named("clock:now"), named("files:echo")]
    }

    fn invoke(&self, call: ActionCall) -> BoxFuture<'_, ActionResult> {
        Box::pin(async move {
            ActionResult {
                id: call.id,
                status: ActionStatus::Ok,
                output: Some(json(r#""noon""#)),
                error: None,
                duration: Duration::ZERO,
            }
        })
    }
}

#[tokio::test]
async fn of_two_who_offer_the_same_the_earlier_is_asked() {
    let host = builder([stdio("files", &Scenario::legacy())]).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    let broker = Broker::new();
    broker.register(HostProvider::new(host.clone()));
    broker.register(Clock);
    let names: Vec<String> = broker.capabilities().into_iter().map(|capability| capability.name).collect();
    assert!(names.is_sorted() && names.iter().filter(|name| *name == "files:echo").count() == 1, "{names:?}");
    let output = |result: ActionResult| result.output.unwrap();
    assert_eq!(output(broker.invoke(action("clock:now", "{}", None)).await).as_str(), r#""noon""#);
    let echoed = output(broker.invoke(action("files:echo", "{}", None)).await);
    assert!(echoed.member("structuredContent").is_some());
    host.shutdown().await;
}
