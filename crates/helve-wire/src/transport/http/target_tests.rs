//! What a target takes, refuses and never shows.

use super::*;

fn secret(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

fn authorization(target: &HttpTarget) -> &str {
    target.headers.get(AUTHORIZATION).unwrap().to_str().unwrap()
}

#[test]
fn addresses() {
    assert_eq!(HttpTarget::new("http://localhost:80").unwrap().address(), "http://localhost/");
    assert_eq!(HttpTarget::new("https://Example.com/mcp?key=secret#x").unwrap().address(), "https://example.com/mcp");
    let problem = |url: &str| HttpTarget::new(url).unwrap_err().to_string();
    insta::assert_snapshot!(problem("example.com/mcp"), @"the server's address is not a URL: relative URL without a base");
    insta::assert_snapshot!(problem("file:///etc/passwd"), @"a server cannot be reached by `file:`");
    insta::assert_snapshot!(problem("localhost:8080"), @"a server cannot be reached by `localhost:`");
}

#[test]
fn authentication() {
    let target = HttpTarget::new("http://localhost/").unwrap();
    assert_eq!(authorization(&target.clone().with_bearer(&secret("t0k")).unwrap()), "Bearer t0k");
    assert_eq!(authorization(&target.clone().with_basic("me", &secret("pass")).unwrap()), "Basic bWU6cGFzcw==");
    let in_address = HttpTarget::new("http://m%65:pa+ss%3D@localhost/").unwrap();
    assert_eq!(in_address.url.as_str(), "http://localhost/");
    assert_eq!(authorization(&in_address), format!("Basic {}", BASE64_STANDARD.encode("me:pa+ss=")));
    insta::assert_snapshot!(target.with_basic("a:b", &secret("")).unwrap_err(), @"a user name for basic authentication cannot have a colon in it");
}

#[test]
fn headers_are_checked() {
    let problem = |name: &str, value: &str| {
        let target = HttpTarget::new("http://localhost/").unwrap();
        target.with_header(name, &secret(value)).unwrap_err().to_string()
    };
    insta::assert_snapshot!(problem("Accept", "x"), @"the header `accept` is set by the transport itself");
    insta::assert_snapshot!(problem("mcp-session-id", "x"), @"the header `mcp-session-id` is set by the transport itself");
    insta::assert_snapshot!(problem("a b", "x"), @r#""a b" is not a name for a header"#);
    insta::assert_snapshot!(problem("X-Key", "hunter2\nX: y"), @"the value of the header `x-key` has characters in it that cannot be sent");
}

#[test]
fn secrets_are_never_shown() {
    let target = HttpTarget::new("https://user:hunter2@example.com/mcp?key=hunter2")
        .unwrap()
        .with_header("X-Key", &secret("hunter2"))
        .unwrap();
    insta::assert_snapshot!(format!("{target:?}"), @r#"HttpTarget { address: "https://example.com/mcp", headers: ["user-agent", "authorization", "x-key"], header_source: false, .. }"#);
    assert!(!format!("{:?}", target.headers).contains("hunter2"));
}
