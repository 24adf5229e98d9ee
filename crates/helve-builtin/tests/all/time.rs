//! The time, at a time of our own.

use std::time::{Duration, SystemTime};

use helve::Toolbox;
use helve_model::TransportSpec;
use insta::assert_snapshot;

use crate::support::{call, open, spec, structured, tree};

/// 2026-07-01 12:00:00 UTC.
fn summer() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_782_907_200)
}

fn at(clock: helve_builtin::Clock) -> Toolbox {
    let spec = spec("time", &[]);
    let TransportSpec::Builtin(builtin) = &spec.transport else { panic!("not built in") };
    helve_builtin::open_with_clock(&spec, builtin, std::path::Path::new("/"), clock).unwrap()
}

#[tokio::test]
async fn now() {
    let time = at(summer);
    assert_snapshot!(call(&time, "now", "{}").await, @"2026-07-01T12:00:00+00:00 (Wednesday, UTC)");
    assert_snapshot!(call(&time, "now", r#"{"timezone":"Europe/Berlin"}"#).await, @"2026-07-01T14:00:00+02:00 (Wednesday, Europe/Berlin)");
    assert_snapshot!(structured(&time, "now", r#"{"timezone":"asia/kolkata"}"#).await, @r#"{"time":"2026-07-01T17:30:00+05:30","timezone":"Asia/Kolkata","weekday":"Wednesday","daylight_saving":false,"unix":1782907200}"#);
    let early = at(|| SystemTime::UNIX_EPOCH - Duration::from_millis(1_500));
    assert_snapshot!(structured(&early, "now", "{}").await, @r#"{"time":"1969-12-31T23:59:58+00:00","timezone":"UTC","weekday":"Wednesday","daylight_saving":false,"unix":-2}"#);
}

#[tokio::test]
async fn the_clock_of_the_machine_runs() {
    let directory = tree(&[]);
    let text = structured(&open("time", &[], directory.path()), "now", "{}").await;
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(value["unix"].as_i64().unwrap() > 1_700_000_000, "{text}");
}

#[tokio::test]
async fn zones_that_do_not_exist() {
    let time = at(summer);
    assert_snapshot!(call(&time, "now", r#"{"timezone":"Europe/Berln"}"#).await, @"failed: there is no time zone `Europe/Berln`; did you mean `Europe/Berlin`?");
    assert_snapshot!(call(&time, "now", r#"{"timezone":"new york"}"#).await, @"failed: there is no time zone `new york`; did you mean `America/New_York`?");
    assert_snapshot!(call(&time, "now", r#"{"timezone":"../../etc/passwd"}"#).await, @"failed: there is no time zone `../../etc/passwd`; write an IANA name such as Europe/Berlin");
    assert_snapshot!(call(&time, "now", r#"{"timezone":""}"#).await, @"failed: there is no time zone ``; write an IANA name such as Europe/Berlin");
    assert_snapshot!(call(&time, "now", r#"{"timezone":"\u0000"}"#).await, @r#"failed: there is no time zone `\u{0}`; write an IANA name such as Europe/Berlin"#);
}

#[tokio::test]
async fn convert() {
    let time = at(summer);
    let convert = |arguments: &'static str| call(&time, "convert", arguments);
    assert_snapshot!(convert(r#"{"time":"2026-12-24T18:00","from":"Europe/Berlin","to":"Asia/Tokyo"}"#).await, @"2026-12-24T18:00:00+01:00 (Thursday, Europe/Berlin) is 2026-12-25T02:00:00+09:00 (Friday, Asia/Tokyo)");
    assert_snapshot!(convert(r#"{"time":"09:30","from":"America/New_York","to":"Europe/London"}"#).await, @"2026-07-01T09:30:00-04:00 (Wednesday, America/New_York) is 2026-07-01T14:30:00+01:00 (Wednesday, Europe/London)");
    assert_snapshot!(convert(r#"{"time":"2026-12-24 18:00:30","to":"UTC"}"#).await, @"2026-12-24T18:00:30+00:00 (Thursday, UTC) is 2026-12-24T18:00:30+00:00 (Thursday, UTC)");
    assert_snapshot!(convert(r#"{"time":"2026-12-24","to":"Pacific/Auckland"}"#).await, @"2026-12-24T00:00:00+00:00 (Thursday, UTC) is 2026-12-24T13:00:00+13:00 (Thursday, Pacific/Auckland)");
    assert_snapshot!(convert(r#"{"time":"2026-12-24T18:00Z","from":"Europe/Berlin","to":"Asia/Tokyo"}"#).await, @"2026-12-24T19:00:00+01:00 (Thursday, Europe/Berlin) is 2026-12-25T03:00:00+09:00 (Friday, Asia/Tokyo)");
    assert_snapshot!(convert(r#"{"time":"2026-12-24T18:00-08:00","to":"UTC"}"#).await, @"2026-12-25T02:00:00+00:00 (Friday, UTC) is 2026-12-25T02:00:00+00:00 (Friday, UTC)");
    assert_snapshot!(convert(r#"{"time":"2026-12-24T18:00[America/Denver]","to":"UTC"}"#).await, @"2026-12-24T18:00:00-07:00 (Thursday, America/Denver) is 2026-12-25T01:00:00+00:00 (Friday, UTC)");
    assert_snapshot!(convert(r#"{"time":"2026-03-29T02:30","from":"Europe/Berlin","to":"UTC"}"#).await, @"
    2026-03-29T03:30:00+02:00 (Sunday, Europe/Berlin) is 2026-03-29T01:30:00+00:00 (Sunday, UTC)
    [the clocks skip this time; the one after the gap was taken]
    ");
    assert_snapshot!(convert(r#"{"time":"2026-10-25T02:30","from":"Europe/Berlin","to":"UTC"}"#).await, @"
    2026-10-25T02:30:00+02:00 (Sunday, Europe/Berlin) is 2026-10-25T00:30:00+00:00 (Sunday, UTC)
    [this time comes twice, when the clocks go back; the first one was taken]
    ");
    assert_snapshot!(convert(r#"{"time":"half past nine","to":"UTC"}"#).await, @"failed: `half past nine` is not a time; write it like 2026-03-29T14:30, or 14:30 for today");
    assert_snapshot!(convert(r#"{"time":"9999-12-31T23:59:59","from":"America/New_York","to":"UTC"}"#).await, @"failed: `9999-12-31T23:59:59` is out of range");
    assert_snapshot!(structured(&time, "convert", r#"{"time":"2026-10-25T02:30","from":"Europe/Berlin","to":"Asia/Kathmandu"}"#).await, @r#"{"source":{"time":"2026-10-25T02:30:00+02:00","timezone":"Europe/Berlin","weekday":"Sunday","daylight_saving":true,"unix":1792888200},"target":{"time":"2026-10-25T06:15:00+05:45","timezone":"Asia/Kathmandu","weekday":"Sunday","daylight_saving":false,"unix":1792888200},"note":"this time comes twice, when the clocks go back; the first one was taken"}"#);
}
