//! Which documents speak for which servers (Q3, Q4).

use url::Url;

use super::*;

#[test]
fn a_resource_covers_what_lies_below_it() {
    let table = [
        ("https://a.example/mcp", "https://a.example/mcp", true),
        ("https://a.example/mcp/", "https://a.example/mcp", true),
        ("https://a.example/mcp", "https://a.example/mcp/", true),
        ("https://a.example", "https://a.example/mcp", true),
        ("https://a.example/", "https://a.example/mcp", true),
        ("https://a.example", "https://a.example", true),
        ("https://a.example/mcp", "https://a.example/mcp/v1", true),
        ("https://A.example/mcp", "https://a.example/mcp", true),
        ("https://a.example:443/mcp", "https://a.example/mcp", true),
        ("https://a.example/mcp", "https://a.example/mcp?key=1", true),
        ("https://a.example/mcp?key=1", "https://a.example/mcp?key=1", true),
        ("http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/mcp", true),
        ("https://a.example/mc", "https://a.example/mcp", false),
        ("https://a.example/mcp/v1", "https://a.example/mcp", false),
        ("https://a.example/other", "https://a.example/mcp", false),
        ("https://b.example/mcp", "https://a.example/mcp", false),
        ("https://a.example.evil.example/mcp", "https://a.example/mcp", false),
        ("http://a.example/mcp", "https://a.example/mcp", false),
        ("https://a.example:8443/mcp", "https://a.example/mcp", false),
        ("https://a.example/mcp#x", "https://a.example/mcp", false),
        ("https://a.example/mcp?key=2", "https://a.example/mcp?key=1", false),
        ("https://user@a.example/mcp", "https://a.example/mcp", false),
        ("https://a.example/mcp/../mcp", "https://a.example/mcp", true),
        ("https://a.example/%6dcp", "https://a.example/mcp", false),
        ("https://a.example//mcp", "https://a.example/mcp", false),
        ("ftp://a.example/mcp", "https://a.example/mcp", false),
        ("a.example/mcp", "https://a.example/mcp", false),
        ("", "https://a.example/mcp", false),
    ];
    for (resource, server, expected) in table {
        assert_eq!(covers(resource, &Url::parse(server).unwrap()), expected, "{resource} for {server}");
    }
}

#[test]
fn a_server_names_itself_without_what_may_be_secret() {
    let table = [
        ("https://a.example", "https://a.example"),
        ("https://a.example/", "https://a.example"),
        ("https://a.example/mcp", "https://a.example/mcp"),
        ("https://a.example/mcp/", "https://a.example/mcp/"),
        ("https://A.Example/MCP", "https://a.example/MCP"),
        ("https://a.example:443/mcp", "https://a.example/mcp"),
        ("https://a.example/mcp?key=hunter2", "https://a.example/mcp"),
        ("https://a.example/mcp#part", "https://a.example/mcp"),
        ("https://user:hunter2@a.example/mcp", "https://a.example/mcp"),
    ];
    for (server, expected) in table {
        assert_eq!(canonical_resource(&Url::parse(server).unwrap()), expected, "{server}");
    }
}
