//! What follows from each answer while a code waits, and which codes are shown at all.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::json;

use super::*;

fn answer(value: &Value) -> HttpAnswer {
    HttpAnswer { status: StatusCode::OK, headers: HeaderMap::new(), body: Bytes::from(value.to_string()) }
}

fn endpoint() -> Url {
    Url::parse("https://auth.example/device").unwrap()
}

fn given(value: &Value) -> Result<(SecretString, DeviceCode, Duration)> {
    read(&answer(value), &endpoint(), "https://auth.example")
}

#[test]
fn what_follows_from_each_answer() {
    let pause = Duration::from_secs(5);
    let refused = |code: &str| Err(AuthError::new(ErrorKind::Refused(code.to_owned()), "no"));
    let again = |answer| match pause_after(answer, pause) {
        Ok(Asked::Again(pause)) => pause.as_secs(),
        other => panic!("{other:?}"),
    };
    assert_eq!(again(refused("authorization_pending")), 5);
    assert_eq!(again(refused("slow_down")), 10);
    assert_eq!(again(Err(AuthError::new(ErrorKind::Unreachable, "down"))), 10);
    let mut long = Duration::from_secs(1);
    for _ in 0..100 {
        let Ok(Asked::Again(longer)) = pause_after(refused("slow_down"), long) else { panic!("again") };
        long = longer;
    }
    assert_eq!(long.as_secs(), 60, "an authorization server cannot make anybody wait for ever");
    let kind = |code: &str| pause_after(refused(code), pause).unwrap_err().kind().clone();
    assert_eq!(kind("access_denied"), ErrorKind::LoginRequired);
    assert_eq!(kind("expired_token"), ErrorKind::TimedOut);
    assert_eq!(kind("invalid_grant"), ErrorKind::Refused("invalid_grant".to_owned()));
}

#[test]
fn a_code_and_its_page_are_read_within_bounds() {
    let good = json!({
        "device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": "https://auth.example/device",
        "verification_uri_complete": "https://auth.example/device?user_code=WDJB-MJHT", "expires_in": "900", "interval": 0,
    });
    let (_, shown, pause) = given(&good).unwrap();
    assert_eq!((shown.code.as_str(), shown.life.as_secs(), pause.as_secs()), ("WDJB-MJHT", 900, 1));
    assert_eq!(shown.whole_page.unwrap().query(), Some("user_code=WDJB-MJHT"));
    for (member, value) in [
        ("device_code", json!(null)),
        ("user_code", json!("\u{1b}[2J")),
        ("user_code", json!("x".repeat(65))),
        ("user_code", json!(" ")),
        ("verification_uri", json!("javascript:alert(1)")),
        ("verification_uri", json!("file:///etc/passwd")),
        ("verification_uri_complete", json!("vscode://x")),
    ] {
        let mut odd = good.clone();
        odd[member] = value;
        assert_eq!(*given(&odd).unwrap_err().kind(), ErrorKind::BadAnswer, "{odd}");
    }
    let mut draft = good;
    draft["verification_uri"] = json!(null);
    draft["verification_url"] = json!("https://auth.example/d");
    draft["expires_in"] = json!(9_999_999);
    let (_, shown, _) = given(&draft).unwrap();
    assert_eq!((shown.page.path(), shown.life.as_secs()), ("/d", LONGEST_LIFE));
    for odd in [json!([]), json!("x"), json!({"error": "invalid_scope"})] {
        assert!(given(&odd).is_err(), "{odd}");
    }
}
