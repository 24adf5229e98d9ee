//! Owns the attack on rules about places: one denied file and one denied URI in hundreds of spellings, and one allowed
//! directory that others are to be reached through. The oracle is what happened: files that changed, and calls that a
//! recording server got.

use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use helve_testkit::Scenario;
use serde_json::{Value, json};

use super::Figure;
use super::arena::{Arena, Piped, Place};

/// So many spellings are tried every day; all of them otherwise.
const QUICK: usize = 260;

const DENYING: &str = r#"
[[rules]]
tool = "*/*"
pattern = "path=secrets/**"
action = "deny"

[[rules]]
tool = "own/test://private/**"
kind = "resource"
action = "deny"

[[rules]]
tool = "*/*"
action = "allow"
"#;

const ALLOWING: &str = r#"
[[rules]]
tool = "*/*"
pattern = "path=docs/**"
action = "allow"

[[rules]]
tool = "own/test://open/**"
kind = "resource"
action = "allow"

[[rules]]
tool = "own/*"
kind = "resource"
action = "deny"

[[rules]]
tool = "*/*"
action = "deny"
"#;

pub(crate) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let mut figures = denied(arena)?;
    figures.extend(allowed(arena)?);
    Ok(figures)
}

/// Every spelling of a denied place is denied.
fn denied(arena: &Arena) -> Result<Vec<Figure>> {
    let (place, mut agent) = start(arena, DENYING)?;
    let project = project(&place)?;
    let (write, echo, moving) = (agent.tool("write_file")?, agent.tool("echo")?, agent.tool("move_file")?);

    let paths = chosen(arena, spellings(&project, "secrets", "k"));
    let mut passed = 0;
    for path in &paths {
        agent.call(&write, &json!({"path": path, "content": "CHANGED"}))?;
        agent.call(&moving, &json!({"source": "docs/a", "destination": path}))?;
        agent.call(&echo, &json!({"path": path}))?;
        passed += usize::from(is_touched(&place)?);
    }
    let links = ["link/k", "./docs/../link/k", "docs/up/k", "docs/up/../secrets/k", "link"];
    for path in links {
        agent.call(&write, &json!({"path": path, "content": "CHANGED"}))?;
        passed += usize::from(is_touched(&place)?);
    }
    let uris = uri_spellings("private");
    for uri in &uris {
        agent.request("resources/read", &json!({"uri": uri}))?;
    }
    // What is not denied arrives: a rule that refuses everything proves nothing.
    agent.call(&write, &json!({"path": "docs/new", "content": "written"}))?;
    agent.call(&echo, &json!({"path": "docs/new"}))?;
    agent.request("resources/read", &json!({"uri": "test://text"}))?;
    agent.finish()?;

    let calls = recorded(&place, "tools/call", "arguments");
    let read = recorded(&place, "resources/read", "uri");
    let called = calls.iter().filter(|arguments| arguments["path"] != "docs/new").count();
    let uris_passed = read.iter().filter(|uri| **uri != "test://text").count();
    let arrived = [
        fs_err::read_to_string(place.root().join("project/docs/new")).is_ok_and(|text| text == "written"),
        calls.len() > called,
        read.len() > uris_passed,
    ];
    Ok(vec![
        Figure::none_of("spellings of a denied path that reach the file", paths.len() + links.len(), passed),
        Figure::none_of("spellings of a denied path that reach a server", paths.len(), called),
        Figure::none_of("spellings of a denied URI that reach a server", uris.len(), uris_passed),
        Figure::all_of("what is not denied arrives", arrived.len(), arrived.iter().filter(|arrived| **arrived).count()),
    ])
}

/// No spelling gets an allow to mean another place.
fn allowed(arena: &Arena) -> Result<Vec<Figure>> {
    let (place, mut agent) = start(arena, ALLOWING)?;
    let project = project(&place)?;
    let (write, echo) = (agent.tool("write_file")?, agent.tool("echo")?);
    let mut paths = Vec::new();
    for out in ["..", "%2e%2e", "%252e%252e", ".%2e", "..%00", "%c0%ae%c0%ae", "x/../..", "./..", "//..", "..\\.."] {
        for slash in ["/", "//", "%2f", "%252f", "\\", "%5c", "/./"] {
            paths.push(format!("docs{slash}{out}{slash}secrets{slash}k"));
            paths.push(format!("docs/{out}{slash}secrets/k"));
        }
    }
    paths.extend(spellings(&project, "secrets", "k").into_iter().take(60));
    paths.extend(["docs/a\0/../../secrets/k", "DOCS/a", "docs%2fa"].map(ToOwned::to_owned));
    let mut widened = 0;
    // Only the tool that opens it can tell that a link leads elsewhere.
    let links = ["docs/up/k", "docs/up/new", "docs//up/./k"];
    for path in links {
        agent.call(&write, &json!({"path": path, "content": "CHANGED"}))?;
        widened += usize::from(is_touched(&place)?);
    }
    for path in &paths {
        agent.call(&write, &json!({"path": path, "content": "CHANGED"}))?;
        agent.call(&echo, &json!({"path": path}))?;
        widened += usize::from(is_touched(&place)?);
    }
    let mut uris = Vec::new();
    for out in ["..", "%2e%2e", "%252e%252e", "x/../.."] {
        for slash in ["/", "//", "%2f", "\\"] {
            uris.push(format!("test://open/{out}{slash}private"));
            uris.push(format!("test://open{slash}{out}/private/a"));
        }
    }
    for uri in &uris {
        agent.request("resources/read", &json!({"uri": uri}))?;
    }
    agent.call(&write, &json!({"path": "docs/new", "content": "written"}))?;
    agent.call(&echo, &json!({"path": "docs/new"}))?;
    agent.finish()?;

    let calls = recorded(&place, "tools/call", "arguments");
    let called = calls.iter().filter(|arguments| arguments["path"] != "docs/new").count();
    let read = recorded(&place, "resources/read", "uri").len();
    let written = fs_err::read_to_string(place.root().join("project/docs/new")).is_ok_and(|text| text == "written");
    let arrived = usize::from(written) + usize::from(calls.len() > called);
    Ok(vec![
        Figure::none_of("spellings that widen an allow to another file", paths.len() + links.len(), widened),
        Figure::none_of("spellings that widen an allow at a server", paths.len() + uris.len(), called + read),
        Figure::all_of("what is allowed arrives", 2, arrived),
    ])
}

fn start(arena: &Arena, rules: &str) -> Result<(Place, Agent)> {
    let place = arena.place()?;
    let server = place.server("own", Scenario::default(), "own.log");
    let root = json!([place.root().join("project")]);
    let files = format!("[servers.files]\nbuiltin = \"filesystem\"\nroots = {root}\nwritable = true\n");
    place.write("home/.config/helve/helve.toml", &format!("{server}\n{files}{rules}"))?;
    place.write("project/secrets/k", "SECRET")?.write("project/docs/a", "open")?;
    symlink("secrets", place.root().join("project/link"))?;
    symlink("../secrets", place.root().join("project/docs/up"))?;
    let mut piped = place.serve(&["--wait", "30s"])?;
    piped.initialize(&json!({}))?;
    let listed = piped.request("tools/list", &json!({}))?;
    let names = listed["result"]["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    let tools = names.map(ToOwned::to_owned).collect();
    Ok((place, Agent { piped, tools }))
}

struct Agent {
    piped: Piped,
    tools: Vec<String>,
}

impl Agent {
    fn tool(&self, name: &str) -> Result<String> {
        let found = self.tools.iter().find(|tool| tool.ends_with(name)).cloned();
        found.with_context(|| format!("no tool {name} among {:?}", self.tools))
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        let answer = self.piped.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        ensure!(answer.get("result").is_some() || answer.get("error").is_some(), "no answer: {answer}");
        Ok(())
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.piped.request(method, params)
    }

    fn finish(self) -> Result<()> {
        self.piped.finish()
    }
}

fn project(place: &Place) -> Result<String> {
    let project = fs_err::canonicalize(place.root().join("project"))?;
    Ok(project.to_str().context("the directory's name is not text")?.to_owned())
}

/// True when something in `secrets` is not as it was; it is put back.
fn is_touched(place: &Place) -> Result<bool> {
    let secrets = place.root().join("project/secrets");
    let untouched = fs_err::read_to_string(secrets.join("k")).is_ok_and(|text| text == "SECRET")
        && fs_err::read_dir(&secrets)?.count() == 1;
    if !untouched {
        fs_err::remove_dir_all(&secrets)?;
        place.write("project/secrets/k", "SECRET")?;
    }
    if !Path::new(&place.root().join("project/docs/a")).exists() {
        place.write("project/docs/a", "open")?;
    }
    Ok(!untouched)
}

/// One member of every such request that reached the recording server.
fn recorded(place: &Place, method: &str, member: &str) -> Vec<Value> {
    let frames = place.frames("own.log");
    frames.iter().filter(|frame| frame["method"] == method).map(|frame| frame["params"][member].clone()).collect()
}

/// Some of them, spread over all.
fn chosen(arena: &Arena, all: Vec<String>) -> Vec<String> {
    let step = (all.len() / arena.tries(QUICK, all.len())).max(1);
    all.into_iter().step_by(step).collect()
}

/// A file in a directory of the project, by every way to write its path that is known here.
fn spellings(project: &str, directory: &str, file: &str) -> Vec<String> {
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let twice = |text: &str| encoded(text).replace('%', "%25");
    let begins = [
        String::new(),
        "./".to_owned(),
        ".//./".to_owned(),
        "x/../".to_owned(),
        "docs/../".to_owned(),
        "docs/x/../../".to_owned(),
        format!("{project}/"),
        format!("/.{project}//"),
        format!("{project}/docs/../"),
        format!("file:{project}/"),
        format!("file://{project}/"),
        format!("FILE://localhost{project}/"),
        "file:".to_owned(),
        "file:./".to_owned(),
        " ".to_owned(),
        "%2e/".to_owned(),
        "%252e%252f".to_owned(),
        ".\\".to_owned(),
        "\u{200b}".to_owned(),
    ];
    let directories = [
        directory.to_owned(),
        encoded(directory),
        twice(directory),
        directory.to_uppercase(),
        directory.replacen('s', "%73", 1),
        directory.replacen('e', "\u{200d}e", 1),
    ];
    let slashes = ["/", "//", "/./", "/x/../", "%2f", "%252F", "\\", "%5c"];
    let ends = ["", "/", "/.", "%00", "\0.txt", " "];
    let mut all = Vec::new();
    for begin in &begins {
        for directory in &directories {
            for slash in slashes {
                for end in ends {
                    all.push(format!("{begin}{directory}{slash}{file}{end}"));
                }
            }
        }
    }
    all
}

/// A URI below a denied one, by every way to write it that is known here.
fn uri_spellings(host: &str) -> Vec<String> {
    let mut all = Vec::new();
    for scheme in ["test", "TEST", "Test"] {
        for host in [
            host.to_owned(),
            host.to_uppercase(),
            format!("me@{host}"),
            format!("{host}."),
            host.replacen('p', "%70", 1),
        ] {
            for path in ["/a", "//a", "/./a", "/x/../a", "/%61", "/a/", "/a#x", "/a?b=c", "", "/", "/..", "/%2e%2e/a"] {
                all.push(format!("{scheme}://{host}{path}"));
            }
        }
    }
    all
}
