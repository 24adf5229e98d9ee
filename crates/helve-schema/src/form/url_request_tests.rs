//! Tests of URLs that servers want opened: how the host is shown, and what is refused.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(url: &str) -> Result<UrlRequest, UrlProblem> {
    UrlRequest::read(&json!({"mode": "url", "message": "Please sign in", "url": url}).to_string())
}

/// What a person would be shown.
fn shown(url: &str) -> String {
    match read(url) {
        Err(problem) => format!("refused: {problem}"),
        Ok(request) => {
            let mut lines = vec![format!("{} -> {}", request.url(), request.host())];
            lines.extend(request.unicode_host().map(|host| format!("  reads {host}")));
            lines.extend(request.warnings().iter().map(|warning| format!("  warning: {warning}")));
            lines.join("\n")
        }
    }
}

fn all(urls: &[&str]) -> String {
    urls.iter().map(|url| shown(url)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_host_is_shown_clearly() {
    let urls = [
        "https://mcp.example.com/ui/set_api_key?session=1#top",
        "HTTPS://Example.COM:8443",
        "https://example.com:443/",
        "http://example.com/",
        "http://localhost:3000/connect",
        "http://127.0.0.1:8080/",
        "http://[::1]/",
        "https://192.0.2.7/",
        "https://[2001:db8::1]/",
        "http://0x7f.1/",
        "https://3221225991/",
        "https://xn--80ak6aa92e.com/login",
        "https://аррӏе.com/login",
        "https://bücher.example/",
        "https://ｇｉｔｈｕｂ.com/",
        "https://github.com.evil.example/login",
        "https://example.com/a/../b?q=@github.com",
        "https://example.com./",
    ];
    insta::assert_snapshot!(all(&urls), @r#"
    https://mcp.example.com/ui/set_api_key?session=1#top -> mcp.example.com
    https://example.com:8443/ -> example.com:8443
    https://example.com/ -> example.com
    http://example.com/ -> example.com
      warning: not encrypted: anybody on the way can read and change what you enter there
    http://localhost:3000/connect -> localhost:3000
      warning: localhost is this machine
    http://127.0.0.1:8080/ -> 127.0.0.1:8080
      warning: 127.0.0.1 is this machine
    http://[::1]/ -> [::1]
      warning: [::1] is this machine
    https://192.0.2.7/ -> 192.0.2.7
      warning: the host 192.0.2.7 is a number, not a name
    https://[2001:db8::1]/ -> [2001:db8::1]
      warning: the host [2001:db8::1] is a number, not a name
    http://127.0.0.1/ -> 127.0.0.1
      warning: 127.0.0.1 is this machine
      warning: the host is written "0x7f.1" and leads to 127.0.0.1
    https://192.0.2.7/ -> 192.0.2.7
      warning: the host 192.0.2.7 is a number, not a name
      warning: the host is written "3221225991" and leads to 192.0.2.7
    https://xn--80ak6aa92e.com/login -> xn--80ak6aa92e.com
      reads аррӏе.com
      warning: the host xn--80ak6aa92e.com may be shown as аррӏе.com, with letters that can look like others
    https://xn--80ak6aa92e.com/login -> xn--80ak6aa92e.com
      reads аррӏе.com
      warning: the host xn--80ak6aa92e.com may be shown as аррӏе.com, with letters that can look like others
    https://xn--bcher-kva.example/ -> xn--bcher-kva.example
      reads bücher.example
      warning: the host xn--bcher-kva.example may be shown as bücher.example, with letters that can look like others
    https://github.com/ -> github.com
      warning: the host is written "ｇｉｔｈｕｂ.com" and leads to github.com
    https://github.com.evil.example/login -> github.com.evil.example
    https://example.com/b?q=@github.com -> example.com
    https://example.com./ -> example.com.
    "#);
}

#[test]
fn what_nobody_should_be_asked_about() {
    let long = format!("https://example.com/{}", "x".repeat(MAX_URL_BYTES));
    let urls = [
        "",
        "example.com",
        "/relative",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,hello",
        "ftp://example.com/",
        "mailto:someone@example.com",
        "https://github.com@evil.example/",
        "https://github.com:443@evil.example/",
        "https://@evil.example/",
        r"https://github.com\@evil.example/",
        "https:evil.example",
        "https:///evil.example",
        "https://",
        "https://exa mple.com/",
        "https://example.com/\u{7}",
        "https://example.com/\r\nX-Header: 1",
        "https://example.com/\u{202e}moc.elpmaxe",
        "https://exam\u{200b}ple.com/",
        " https://example.com/",
        "https://%00.example/",
        "https://xn--/",
        &long,
    ];
    insta::assert_snapshot!(all(&urls), @r#"
    refused: not a URL: relative URL without a base
    refused: not a URL: relative URL without a base
    refused: not a URL: relative URL without a base
    refused: a URL of the scheme "javascript"; only http and https are opened
    refused: a URL of the scheme "file"; only http and https are opened
    refused: a URL of the scheme "data"; only http and https are opened
    refused: a URL of the scheme "ftp"; only http and https are opened
    refused: a URL of the scheme "mailto"; only http and https are opened
    refused: the URL has a user name before its host, as if it led elsewhere; it leads to evil.example
    refused: the URL has a user name before its host, as if it led elsewhere; it leads to evil.example
    refused: the URL has a user name before its host, as if it led elsewhere; it leads to evil.example
    refused: the URL has a backslash, which browsers and others read in different ways
    refused: not a URL: it has no host after two slashes
    refused: not a URL: it has no host after two slashes
    refused: not a URL: empty host
    refused: the URL has spaces or characters that do not show
    refused: the URL has spaces or characters that do not show
    refused: the URL has spaces or characters that do not show
    refused: the URL has spaces or characters that do not show
    refused: the URL has spaces or characters that do not show
    refused: the URL has spaces or characters that do not show
    refused: not a URL: invalid international domain name
    refused: not a URL: invalid international domain name
    refused: the URL has 8212 bytes, the limit is 8192
    "#);
    assert_eq!(UrlRequest::read("{}"), Err(UrlProblem::Missing));
    assert!(matches!(UrlRequest::read("{"), Err(UrlProblem::Json(_))));
}

proptest! {
    /// Whatever is taken is shown in plain ASCII and leads where it says.
    #[test]
    fn what_is_shown_is_what_is_opened(url in "(https?:)?(//)?[a-z0-9@:/\\\\.\\[\\]%?#\\PC]{0,40}") {
        if let Ok(request) = read(&url) {
            prop_assert!(request.url().bytes().all(|byte| (0x21..0x7f).contains(&byte)));
            let again = Url::parse(request.url()).unwrap();
            prop_assert_eq!(again.as_str(), request.url());
            prop_assert!(request.host().starts_with(again.host_str().unwrap()));
            prop_assert_eq!(again.username(), "");
            prop_assert!(request.warnings().iter().all(|warning| warning.to_string().chars().all(is_visible)));
        }
    }
}
