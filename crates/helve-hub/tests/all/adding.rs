//! Adding a server: understood, tested, saved, each only after it was shown.

use helve_hub::Programs;
use http::StatusCode;

use crate::world::{Manner, World, value_of};

/// A server in a few lines of shell: enough to be listed.
const SERVER: &str = r#"while read -r line; do id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p'); case $line in
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$id";;
*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"hello","inputSchema":{"type":"object"}}]}}\n' "$id";;
*'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id";; esac; done"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_line_is_shown_word_by_word_tested_and_saved() {
    let world = World::of("# mine\n").await;
    let typed = format!("sh -c {}", shell_words::quote(SERVER));
    let (status, page) = world.post("/servers/new", &[("typed", &typed), ("do", "understand")]).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    assert!(page.contains("Understood as a command line") && page.contains("<li>sh</li><li>-c</li>"), "{page}");
    assert_eq!(world.own(), "# mine\n", "nothing was written");
    let (shown, version) = (value_of(&page, "shown"), value_of(&page, "version"));
    let fields = |doing: &'static str, shown: &str, typed: &str| {
        [
            ("typed", typed),
            ("name", "tiny"),
            ("sandbox", "off"),
            ("scope", "user"),
            ("version", &version),
            ("shown", shown),
            ("do", doing),
        ]
        .map(|(key, value)| (key, value.to_owned()))
    };
    let post = async |fields: &[(&str, String)]| {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(key, value)| (*key, value.as_str())).collect();
        world.post("/servers/new", &fields).await
    };
    // Another name is another thing than what was shown.
    let (status, page) = post(&fields("save", &shown, &typed)).await;
    assert_eq!(status, StatusCode::CONFLICT, "{page}");
    assert!(page.contains("look at what it would do first"), "{page}");
    let shown = value_of(&page, "shown");
    let (status, page) = post(&fields("test", &shown, &typed)).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    assert!(page.contains("1 tools") && page.contains("<li>hello</li>") && page.contains("2025-06-18"), "{page}");
    assert_eq!(world.own(), "# mine\n", "a test writes nothing");
    // Other words than those that were shown are neither tested nor saved.
    for doing in ["test", "save"] {
        assert_eq!(post(&fields(doing, &shown, "sh -c evil")).await.0, StatusCode::CONFLICT);
    }
    let (status, page) = post(&fields("save", &shown, &typed)).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    assert!(world.own().starts_with("# mine\n") && world.own().contains("[servers.tiny]"), "{}", world.own());
    world.reload().await;
    assert!(world.page("/servers/tiny").await.contains("hello"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_fails_shows_the_exact_failure_with_stderr() {
    let world = World::of("").await;
    for (typed, expected) in [
        ("sh -c 'echo the-reason-canary >&2; exit 3'", "the-reason-canary"),
        ("/no/such/program --flag", "does not exist"),
    ] {
        let (_, page) = world.post("/servers/new", &[("typed", typed), ("sandbox", "off")]).await;
        let fields = [
            ("typed", typed),
            ("name", &value_of(&page, "name")),
            ("sandbox", "off"),
            ("shown", &value_of(&page, "shown")),
            ("do", "test"),
        ];
        let (status, page) = world.post("/servers/new", &fields).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        assert!(page.contains("TRANSPORT_ERROR") && page.contains(expected), "{typed}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snippet_keeps_its_secrets_out_of_file_and_page() {
    let world = World::of("").await;
    let typed = r#"{"servers": {"git": {"type": "stdio", "command": "npx", "args": ["-y", "git-mcp"],
        "env": {"GITHUB_TOKEN": "plain-canary", "OTHER_KEY": "${input:other}"}}},
        "inputs": [{"type": "promptString", "id": "other", "description": "The other key", "password": true}]}"#;
    let (status, page) = world.post("/servers/new", &[("typed", typed)]).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    assert!(page.contains("The other key") && page.contains("the variable GITHUB_TOKEN of the program npx"), "{page}");
    assert!(!page.contains("plain-canary"), "{page}");
    let masked = page.split("<textarea").nth(1).and_then(|rest| rest.split_once(">\n")).expect("a field").1;
    let masked = masked.split("</textarea>").next().expect("a text").replace("&quot;", "\"").replace("&#34;", "\"");
    let fields = [
        ("typed", masked.as_str()),
        ("name", "git"),
        ("shown", &value_of(&page, "shown")),
        ("secret:other", "typed-canary"),
        ("do", "save"),
    ];
    let (status, text) = world.post("/servers/new", &fields).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let own = world.own();
    assert!(own.contains("${secret:git.GITHUB_TOKEN}") && own.contains("${secret:git.other}"), "{own}");
    assert!(!own.contains("canary"), "{own}");
    let kept = world.setup.credentials().expect("a vault").vault.read(&helve_setup::secret_record("git.GITHUB_TOKEN"));
    assert_eq!(secrecy::ExposeSecret::expose_secret(&kept.expect("read").expect("kept")), "plain-canary");
    let (_, changes) = world.api("GET", "/api/v1/changes", "").await;
    assert!(!changes.to_string().contains("canary"), "{changes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_may_be_added_by_a_token_and_a_program_may_not() {
    let world = World::of("").await;
    let (_, found) = world.api("POST", "/api/v1/understand", r#"{"typed": "https://mcp.linear.app/mcp"}"#).await;
    assert_eq!(found["name"], "linear", "{found}");
    let body = serde_json::json!({ "typed": "https://mcp.linear.app/mcp", "shown": found["shown"] }).to_string();
    let (status, done) = world.api("POST", "/api/v1/servers", &body).await;
    assert_eq!(status, StatusCode::OK, "{done}");
    assert!(world.own().contains("[servers.linear]"), "{}", world.own());
    let (_, found) = world.api("POST", "/api/v1/understand", r#"{"typed": "id -u"}"#).await;
    assert!(found["refused"].as_str().expect("refused").contains("on the page only"), "{found}");
    let body = serde_json::json!({ "typed": "id -u", "shown": found["shown"] }).to_string();
    for route in ["/api/v1/servers", "/api/v1/test"] {
        assert_eq!(world.api("POST", route, &body).await.0, StatusCode::FORBIDDEN, "{route}");
    }

    let world = World::with(Manner { programs: Programs::Refused, ..Manner::default() }).await;
    let (_, page) = world.post("/servers/new", &[("typed", "id -u")]).await;
    assert!(page.contains("programs cannot be added") && !page.contains("Test connection"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_understood_says_why() {
    let world = World::of("[servers.taken]\nurl = \"https://example.com\"\n").await;
    for (typed, expected) in [
        ("{\"mcpServers\": {", "line 1"),
        ("ftp://example.com", "begins with http:// or https://"),
        ("say 'hello", "not a command line"),
        ("<script>alert(1)</script>", "&lt;script&gt;"),
    ] {
        let (_, page) = world.post("/servers/new", &[("typed", typed)]).await;
        assert!(page.contains(expected) && !page.contains("<script>alert"), "{typed}: {page}");
    }
    let (_, page) = world.post("/servers/new", &[("typed", "https://taken.example/mcp"), ("name", "taken")]).await;
    assert!(page.contains("there is a server"), "{page}");
}
