//! Editing files: the entry of a server, a change taken back, two people at once, files that are not ours.

use helve_hub::Programs;
use http::StatusCode;

use crate::world::{Brings, Manner, World, value_of};

const FILE: &str = "~/.config/helve/helve.toml";

const TWO: &str = r#"# mine
[servers.clock] # ticks
builtin = "time"

[servers.remote]
url = "https://example.com/mcp"
enabled = false
headers = { Authorization = "Bearer hunter2-canary" }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_switched_off_and_that_is_taken_back() {
    let world = World::of(TWO).await;
    assert_eq!(world.post("/servers/clock/disable", &[]).await.0, StatusCode::SEE_OTHER);
    assert_eq!(world.own(), TWO.replace("builtin = \"time\"\n", "builtin = \"time\"\nenabled = false\n"));
    let list = world.page("/changes").await;
    assert!(list.contains("switched off server clock"), "{list}");
    let (_, change) = world.api("GET", "/api/v1/changes", "").await;
    let seq = change["changes"][0]["seq"].as_i64().expect("a number");
    let page = world.page(&format!("/changes/{seq}")).await;
    assert!(page.contains("Undo this change") && !page.contains("hunter2"), "{page}");
    let version = value_of(&page, "version");
    let (status, text) = world.post(&format!("/changes/{seq}/undo"), &[("version", &version)]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    assert_eq!(world.own(), TWO);
    // Once.
    let (status, text) = world.post(&format!("/changes/{seq}/undo"), &[("version", &version)]).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(text.contains("undone already"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_removed_comes_back_without_its_secret() {
    let world = World::of(TWO).await;
    world.post("/servers/remote/remove", &[("sure", "on")]).await;
    assert!(!world.own().contains("remote"), "{}", world.own());
    let (_, list) = world.api("GET", "/api/v1/changes", "").await;
    assert!(!list.to_string().contains("hunter2"), "{list}");
    let seq = list["changes"][0]["seq"].as_i64().expect("a number");
    let (_, undo) = world.api("GET", &format!("/api/v1/changes/{seq}/undo"), "").await;
    assert_eq!(undo["values_left_out"], 1, "{undo}");
    let body = serde_json::json!({ "version": undo["version"] }).to_string();
    let (status, done) = world.api("POST", &format!("/api/v1/changes/{seq}/undo"), &body).await;
    assert_eq!(status, StatusCode::OK, "{done}");
    assert!(world.own().contains("[servers.remote]\nurl = \"https://example.com/mcp\""), "{}", world.own());
    assert!(!world.own().contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_who_save_at_once_overwrite_nothing() {
    let world = World::of(TWO).await;
    let page = world.page("/servers/remote/settings?as=text").await;
    let version = value_of(&page, "version");
    assert!(!page.contains("hunter2") && page.contains("•••"), "a secret is never shown: {page}");
    let mine = TWO.replace("example.com", "mine.example").replace("hunter2-canary", "x");
    let theirs = TWO.replace("# ticks", "# tocks");
    fs_err::write(world.own_file(), &theirs).expect("written");
    let fields = [("text", mine.as_str()), ("version", version.as_str())];
    let (status, text) = world.post("/servers/remote/settings?as=text", &fields).await;
    assert_eq!(status, StatusCode::CONFLICT, "{text}");
    assert_eq!(world.own(), theirs, "nothing was written");
    assert!(text.contains("# tocks") && text.contains("mine.example") && !text.contains("hunter2"), "{text}");
    // With the version that was shown it is saved.
    let fields = [("text", mine.as_str()), ("version", &value_of(&text, "version")), ("do", "save")];
    let action = format!("/rules?edit={}", FILE.replace('/', "%2F"));
    let (status, text) = world.post(&action, &fields).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    assert_eq!(world.own(), mine);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_comes_back_with_its_secrets_in_place() {
    let world = World::of(TWO).await;
    let (_, entry) = world.api("GET", "/api/v1/servers/remote/settings", "").await;
    assert!(!entry.to_string().contains("hunter2"), "{entry}");
    let text = entry["text"].as_str().expect("a text").replace("# mine", "# ours");
    let body = serde_json::json!({ "version": entry["version"], "text": text }).to_string();
    let (status, done) = world.api("PUT", "/api/v1/servers/remote/settings", &body).await;
    assert_eq!(status, StatusCode::OK, "{done}");
    assert_eq!(world.own(), TWO.replace("# mine", "# ours"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_changes_one_key_and_leaves_the_rest() {
    let world = World::of(TWO).await;
    let page = world.page("/servers/remote/settings").await;
    let mark = page.split("Authorization=").nth(1).and_then(|rest| rest.split('\n').next()).expect("a header");
    assert!(mark.starts_with("•••"), "{mark}");
    let fields = [
        ("version", &*value_of(&page, "version")),
        ("url", "https://other.example/mcp"),
        ("headers", &format!("Authorization={mark}\nX-Api-Key=fresh-canary\n")),
        ("tools", "get_*\n"),
        ("disabled_tools", ""),
        ("call_timeout_seconds", "90"),
    ];
    let (status, text) = world.post("/servers/remote/settings", &fields).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let own = world.own();
    assert!(own.starts_with("# mine\n[servers.clock] # ticks\n"), "{own}");
    for part in [
        "url = \"https://other.example/mcp\"",
        "Bearer hunter2-canary",
        "${secret:remote.X-Api-Key}",
        "tools = [\"get_*\"]",
    ] {
        assert!(own.contains(part), "{part}: {own}");
    }
    assert!(!own.contains("fresh-canary"), "a new secret goes to the vault: {own}");
    // Emptied, the list is gone, and every tool is there again.
    let page = world.page("/servers/remote/settings").await;
    let fields = [("version", &*value_of(&page, "version")), ("tools", ""), ("call_timeout_seconds", "")];
    let (status, text) = world.post("/servers/remote/settings", &fields).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    assert!(!world.own().contains("tools =") && !world.own().contains("timeout"), "{}", world.own());
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_told_by_line_and_nothing_is_written() {
    let world = World::of(TWO).await;
    let page = world.page("/servers/clock/settings?as=text").await;
    let version = value_of(&page, "version");
    for (text, line) in [("[servers.clock\n", "line 1"), ("[servers.x]\ncommand = 5\n", "line 2")] {
        let fields = [("text", text), ("version", version.as_str())];
        let (status, answer) = world.post("/servers/clock/settings?as=text", &fields).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert!(answer.contains(line), "{line}: {answer}");
        assert!(answer.contains(text.lines().next().expect("a line")), "what was typed is still there");
        assert_eq!(world.own(), TWO);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_and_no_hub_without_programs_changes_what_runs() {
    let own = "[servers.tool]\ncommand = \"true\"\nenabled = false\n";
    let world = World::of(own).await;
    let (_, entry) = world.api("GET", "/api/v1/servers/tool/settings", "").await;
    let attempts = [
        own.replace("\"true\"", "\"false\""),
        own.replace("enabled = false\n", ""),
        format!("{own}env = {{ A = \"${{cmd:id}}\" }}\n"),
        format!("{own}\n[settings]\nvault_key = \"${{cmd:id}}\"\n"),
        format!("{own}\n[servers.new]\ncommand = \"id\"\n"),
    ];
    for text in &attempts {
        let body = serde_json::json!({ "version": entry["version"], "text": text }).to_string();
        let (status, done) = world.api("PUT", "/api/v1/servers/tool/settings", &body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{text}: {done}");
    }
    assert_eq!(world.api("POST", "/api/v1/servers/tool/enable", "").await.0, StatusCode::FORBIDDEN);
    assert_eq!(world.own(), own);
    // What runs nothing may be changed by a token.
    let text = format!("{own}call_timeout = 5\n");
    let body = serde_json::json!({ "version": entry["version"], "text": text }).to_string();
    let (status, done) = world.api("PUT", "/api/v1/servers/tool/settings", &body).await;
    assert_eq!(status, StatusCode::OK, "{done}");

    let world = World::with(Manner { own, programs: Programs::Refused, ..Manner::default() }).await;
    let page = world.page("/servers/tool/settings").await;
    let fields = [("version", &*value_of(&page, "version")), ("command", "id")];
    let (status, text) = world.post("/servers/tool/settings", &fields).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{text}");
    assert!(text.contains("programs cannot be added, changed or tested"), "{text}");
    assert_eq!(world.own(), own);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_other_applications_are_never_written() {
    let world = World::of("[settings]\nimport = true\n").await;
    let theirs = world.project_file().with_file_name(".mcp.json");
    let text = r#"{"mcpServers": {"theirs": {"url": "https://example.com/mcp"}}}"#;
    fs_err::write(&theirs, text).expect("written");
    world.reload().await;
    let page = world.page("/servers/theirs/settings").await;
    assert!(page.contains("it is shown, never written"), "{page}");
    for path in ["/servers/theirs/disable", "/servers/theirs/remove"] {
        let (status, answer) = world.post(path, &[]).await;
        assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    }
    assert_eq!(fs_err::read_to_string(theirs).expect("a file"), text);
    let (status, _) = world.api("PUT", "/api/v1/files", r#"{"file": "/etc/passwd", "text": ""}"#).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "no other file can be named");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_names_stay_text() {
    let world =
        World::of("[servers.\"<b onload=x>\"]\nurl = \"https://example.com/<script>\"\nenabled = false\n").await;
    for path in ["/servers", "/servers/%3Cb%20onload=x%3E", "/servers/%3Cb%20onload=x%3E/settings"] {
        let (status, page) = world.ask("GET", path, Brings::Cookie, None, "").await;
        assert_eq!(status, StatusCode::OK, "{page}");
        assert!(!page.contains("<b onload") && !page.contains("/<script>"), "{path}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_is_to_what_was_shown() {
    let project = "[servers.deploy]\ncommand = \"./deploy.sh\"\nargs = [\"--now\"]\n";
    let world = World::with(Manner { project, ..Manner::default() }).await;
    let list = world.page("/servers").await;
    assert!(list.contains("waits for your trust"), "{list}");
    let file = list.split("/trust?file=").nth(1).and_then(|rest| rest.split('"').next()).expect("a link").to_owned();
    let page = world.page(&format!("/trust?file={file}")).await;
    assert!(page.contains("./deploy.sh") && page.contains("--now"), "{page}");
    let (name, version) = (value_of(&page, "file"), value_of(&page, "version"));
    // A token cannot, whatever it has seen.
    let body = serde_json::json!({ "file": name, "version": version }).to_string();
    assert_eq!(world.api("POST", "/api/v1/trust", &body).await.0, StatusCode::FORBIDDEN);
    fs_err::write(world.project_file(), project.replace("--now", "--later")).expect("written");
    let fields = [("file", name.as_str()), ("version", version.as_str())];
    let (status, text) = world.post("/trust", &fields).await;
    assert_eq!(status, StatusCode::CONFLICT, "{text}");
    fs_err::write(world.project_file(), project).expect("written");
    let (status, text) = world.post("/trust", &fields).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    assert!(world.setup.read_configuration().untrusted.is_empty());
    assert!(world.page("/changes").await.contains("trusted server deploy"));
}
