//! Answers of token endpoints, good and odd (Q11, Q16, Q17, Q18).

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use secrecy::ExposeSecret as _;

use super::*;

fn read(status: u16, body: &str) -> String {
    let answer = HttpAnswer {
        status: StatusCode::from_u16(status).unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::copy_from_slice(body.as_bytes()),
    };
    let endpoint = Url::parse("https://as.example/token?secret=1").unwrap();
    match TokenAnswer::read(&answer, &endpoint) {
        Ok(token) => format!(
            "{} {:?} {:?} {:?} {:?}",
            token.access_token.expose_secret(),
            token.token_type,
            token.expires_in,
            token.refresh_token.map(|token| token.expose_secret().to_owned()),
            token.scopes
        ),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

#[test]
fn tokens_are_read_by_their_shape() {
    let table = [
        (r#"{"access_token":"t","token_type":"Bearer","expires_in":60}"#, "t Bearer Some(60) None None"),
        (r#"{"access_token":"t"}"#, "t Bearer None None None"),
        (r#"{"access_token":"t","token_type":"bearer","expires_in":"60"}"#, "t Bearer Some(60) None None"),
        (r#"{"access_token":"t","expires_in":59.9}"#, "t Bearer Some(59) None None"),
        (r#"{"access_token":"t","expires_in":-1}"#, "t Bearer None None None"),
        (r#"{"access_token":"t","expires_in":null,"refresh_token":null,"scope":null}"#, "t Bearer None None None"),
        (r#"{"access_token":"t","refresh_token":"r"}"#, "t Bearer None Some(\"r\") None"),
        (r#"{"access_token":"t","refresh_token":""}"#, "t Bearer None None None"),
        (r#"{"access_token":"t","scope":"a b"}"#, "t Bearer None None Some([\"a\", \"b\"])"),
        (r#"{"access_token":"t","scope":"a,b"}"#, "t Bearer None None Some([\"a\", \"b\"])"),
        (r#"{"access_token":"t","token_type":"DPoP"}"#, "t Dpop None None None"),
        (r#"{"ok":true,"authed_user":{"access_token":"t","token_type":"user"}}"#, "t Bearer None None None"),
        (r#"{"access_token":"t","authed_user":{"access_token":"u"}}"#, "t Bearer None None None"),
    ];
    for (body, expected) in table {
        assert_eq!(read(200, body), expected, "{body}");
    }
}

#[test]
fn refusals_say_who_said_what_and_nothing_else() {
    let table = [
        (
            400,
            r#"{"error":"invalid_grant"}"#,
            "Refused(\"invalid_grant\"): https://as.example/token refuses: invalid_grant",
        ),
        (
            400,
            r#"{"error":"invalid_grant","error_description":"too \u001b[31mold"}"#,
            "Refused(\"invalid_grant\"): https://as.example/token refuses (invalid_grant): too \u{fffd}[31mold",
        ),
        (
            200,
            r#"{"ok":false,"error":"invalid_code"}"#,
            "Refused(\"invalid_code\"): https://as.example/token refuses: invalid_code",
        ),
        (
            400,
            "your code=hunter2",
            "Refused(\"\"): https://as.example/token answered 400 Bad Request without saying why",
        ),
        (200, "<html>hunter2", "BadAnswer: https://as.example/token answered 200 OK, but not with a JSON object"),
        (200, "[]", "BadAnswer: https://as.example/token answered 200 OK, but not with a JSON object"),
        (
            200,
            r#"{"access_token":""}"#,
            "BadAnswer: https://as.example/token answered 200 OK, but without an access token",
        ),
        (
            200,
            r#"{"access_token":7}"#,
            "BadAnswer: https://as.example/token answered 200 OK, but without an access token",
        ),
        (
            200,
            "{\"access_token\":\"a\\nb\"}",
            "BadAnswer: https://as.example/token answered 200 OK, but its access token cannot be sent in a header",
        ),
        (500, "oops", "Unreachable: https://as.example/token answered 500 Internal Server Error without saying why"),
        (429, r#"{"error":"slow_down"}"#, "Unreachable: https://as.example/token refuses: slow_down"),
        (
            503,
            r#"{"error":"temporarily_unavailable"}"#,
            "Unreachable: https://as.example/token refuses: temporarily_unavailable",
        ),
    ];
    for (status, body, expected) in table {
        assert_eq!(read(status, body), expected, "{status} {body}");
    }
}
