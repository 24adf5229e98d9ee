//! Where documents are looked for, and whose they are (Q1, Q2, Q21).

use super::*;

fn paths(urls: Vec<Url>) -> Vec<String> {
    urls.into_iter().map(|url| url.to_string()).collect()
}

#[test]
fn a_server_is_asked_where_it_says_then_at_its_path_then_at_its_root() {
    let server = Url::parse("https://a.example/v1/mcp?key=1").unwrap();
    assert_eq!(
        paths(protected::places(&server, None).unwrap()),
        [
            "https://a.example/.well-known/oauth-protected-resource/v1/mcp",
            "https://a.example/.well-known/oauth-protected-resource",
        ]
    );
    let hinted = protected::places(&server, Some("https://b.example/prm")).unwrap();
    assert_eq!(hinted.first().unwrap().as_str(), "https://b.example/prm");
    assert_eq!(hinted.len(), 3);
    let relative = protected::places(&server, Some("/.well-known/oauth-protected-resource")).unwrap();
    assert_eq!(
        paths(relative),
        [
            "https://a.example/.well-known/oauth-protected-resource",
            "https://a.example/.well-known/oauth-protected-resource/v1/mcp",
        ]
    );
    let bare = Url::parse("https://a.example").unwrap();
    assert_eq!(
        paths(protected::places(&bare, None).unwrap()),
        ["https://a.example/.well-known/oauth-protected-resource"]
    );
}

#[test]
fn an_issuer_is_asked_in_every_revision_s_way() {
    assert_eq!(
        paths(server::places("https://as.example").unwrap()),
        [
            "https://as.example/.well-known/oauth-authorization-server",
            "https://as.example/.well-known/openid-configuration",
        ]
    );
    for issuer in ["https://as.example/tenant1", "https://as.example/tenant1/"] {
        assert_eq!(
            paths(server::places(issuer).unwrap()),
            [
                "https://as.example/.well-known/oauth-authorization-server/tenant1",
                "https://as.example/.well-known/openid-configuration/tenant1",
                "https://as.example/tenant1/.well-known/openid-configuration",
            ]
        );
    }
    for odd in ["", "as.example", "https://as.example/?a=1", "https://as.example/#a"] {
        assert!(server::places(odd).is_err(), "{odd}");
    }
}

#[test]
fn an_issuer_is_the_one_that_was_asked_for() {
    let table = [
        ("https://as.example", "https://as.example", true),
        ("https://as.example", "https://as.example/", true),
        ("https://as.example/", "https://as.example", true),
        ("https://as.example/t", "https://as.example/t", true),
        ("https://as.example/t", "https://as.example/t/", false),
        ("https://as.example", "https://AS.example", false),
        ("https://as.example", "https://as.example:443", false),
        ("https://as.example", "http://as.example", false),
        ("https://as.example", "https://evil.example", false),
        ("https://as.example", "https://as.example.evil.example", false),
        ("https://as.example", "", false),
    ];
    for (expected, named, same) in table {
        assert_eq!(server::is_same_issuer(expected, named), same, "{expected} and {named}");
    }
}
