//! A program that wants the person's own configuration gets a host in two steps.

use helve::CallContext;
use helve_model::json::RawJson;
use helve_model::{ErrorCode, ServerStatus};
use helve_policy::Caller;
use helve_setup::{Lifetime, Recipe, Setup, Wanted, from_environment};

use crate::support::{Person, peer};

const ALLOW: &str = "[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n";

fn allowing(servers: &[String]) -> String {
    format!("{}{ALLOW}", servers.concat())
}

#[tokio::test]
async fn the_persons_own_servers_are_called_in_two_steps() {
    let place = tempfile::tempdir().unwrap();
    let person = Person::new(&allowing(&[peer("echoes", "", &place.path().join("started"))]));
    let host = from_environment(person.environment()).unwrap().start().await.unwrap();
    let arguments = RawJson::from_static(r#"{"a":1}"#);
    let outcome = host.call("echoes/echo", arguments, CallContext::new(Caller::Person)).await.unwrap();
    assert_eq!(outcome.to_text(), r#"{"a":1}"#);
    host.shutdown().await;
}

#[tokio::test]
async fn a_project_that_nobody_trusted_starts_nothing() {
    let place = tempfile::tempdir().unwrap();
    let started = place.path().join("started");
    let person = Person::new(ALLOW);
    person.write("project/helve.toml", &peer("theirs", "", &started));
    let host = from_environment(person.environment()).unwrap().start().await.unwrap();
    let error = host.call("theirs/echo", RawJson::empty_object(), CallContext::new(Caller::Person)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Untrusted);
    assert!(!started.exists(), "a server of an untrusted project was started");
    host.shutdown().await;
}

#[test]
fn rules_that_cannot_be_read_stop_everything() {
    let person = Person::new("[[rules]\ntool = ");
    let error = from_environment(person.environment()).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::Config));
    assert!(
        error.message().starts_with("nothing is started, because ~/.config/helve/helve.toml:1 cannot be used"),
        "{error}"
    );
}

/// Looking up a name starts nothing; connecting and calling do.
#[tokio::test]
async fn a_name_is_looked_up_without_starting_anything() {
    let place = tempfile::tempdir().unwrap();
    let started = place.path().join("started");
    let person = Person::new(&allowing(&[peer("lazy", "lazy = true", &started)]));
    let setup = Setup::new(person.environment());
    let recipe = || Recipe::new(&setup, &setup.load().unwrap(), Wanted::OnDemand, Lifetime::Short).unwrap();
    let context = CallContext::new(Caller::Person);

    let host = recipe().start().await.unwrap();
    host.recalled().await;
    for name in ["lazy/echo", "lazy:echo", "mcp__lazy__echo", "device.LazyMCP.echo", "echo", "lazy/nothing"] {
        assert!(host.resolve(name).is_err(), "{name} is not known yet");
    }
    assert!(matches!(host.server_status("lazy").unwrap().status, ServerStatus::Pending(_)));
    assert!(!started.exists(), "looking up a name started a server");

    let prepared = host.connect("lazy/echo", &context).await.unwrap();
    assert_eq!(prepared.tool().name().to_string(), "lazy/echo");
    assert!(started.exists() && host.resolve("lazy/echo").is_ok());
    host.shutdown().await;

    // Another run knows the tools from this one, and still starts nothing to say so.
    fs_err::remove_file(&started).unwrap();
    let host = recipe().start().await.unwrap();
    host.recalled().await;
    let tool = host.resolve("mcp__lazy__echo").unwrap();
    assert!(tool.is_from_cache() && !started.exists(), "looking up a name started a server");
    let prepared = host.connect("lazy/echo", &context).await.unwrap();
    assert!(!prepared.tool().is_from_cache() && started.exists(), "connecting starts the server");
    host.shutdown().await;
}
