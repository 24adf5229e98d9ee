//! A server's sandbox, as `helve.toml` writes it.

use helve_config::trust::NothingTrusted;
use helve_config::{CommandLine, Dialect, Environment, FileContent, FilePlace, merge, read_text};
use helve_model::sandbox::{Choice, Profile};
use helve_model::{Layer, SandboxSpec};

use crate::support::{PROJECT, describe};
use crate::trust::Project;

fn read(layer: Layer, text: &str) -> String {
    describe(&content(layer, text))
}

fn content(layer: Layer, text: &str) -> FileContent {
    let path = match layer {
        Layer::Project => format!("{PROJECT}/helve.toml"),
        _ => "/home/me/.config/helve/helve.toml".to_owned(),
    };
    let place =
        FilePlace { path: path.into(), application: "helve", dialect: Dialect::Helve, layer, project: PROJECT.into() };
    read_text(&place, text, &Environment::new(PROJECT).with_home("/home/me"))
}

#[test]
fn a_word_or_a_table() {
    let text = r#"
[servers.a]
command = "run"
sandbox = "offline"

[servers.b]
command = "run"
sandbox = { profile = "strict", read = ["~/notes"], write = ["./out"], network = ["api.example", "*.b.example:443"], required = true }

[servers.c]
command = "run"
cwd = "sub"
[servers.c.sandbox]
exec = ["cache"]
network = "none"
unix = true
memory_mb = 512
processes = 64
open_files = 32
file_size_mb = 8
processor_seconds = 9
"#;
    let said = read(Layer::Project, text);
    for expected in [
        "profile: In(Offline), read: []",
        "profile: In(Strict), read: [\"/home/me/notes\"], write: [\"/home/me/project/out\"]",
        "network: Some(Hosts([HostPattern { name: \"api.example\", below: false, port: None, private: false }, \
         HostPattern { name: \"b.example\", below: true, port: Some(443), private: false }]))",
        "required: Some(true)",
        "profile: In(Standard), read: [], write: [], exec: [\"/home/me/project/sub/cache\"], network: Some(None), unix: true",
        "memory: Some(536870912), processes: Some(64), open_files: Some(32), file_size: Some(8388608), processor_seconds: Some(9)",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

/// A person's own server runs wherever helve does: its relative paths start there, not beside the file.
#[test]
fn relative_paths_of_an_own_file_start_where_the_server_runs() {
    let said = read(Layer::User, "[servers.a]\ncommand = \"run\"\nsandbox = { write = [\"out\", \"~/notes\"] }\n");
    assert!(said.contains("write: [\"out\", \"/home/me/notes\"]"), "{said}");
}

#[test]
fn a_mistake_keeps_the_server_off() {
    for (mistake, layer) in [
        ("sandbox = \"offlin\"", Layer::User),
        ("sandbox = true", Layer::User),
        ("sandbox = { profil = \"strict\" }", Layer::User),
        ("sandbox = { network = \"some\" }", Layer::User),
        ("sandbox = { network = [\"https://a.example\"] }", Layer::User),
        ("sandbox = { read = \"x\" }", Layer::User),
        ("sandbox = { memory_mb = 0 }", Layer::User),
        ("sandbox = { profile = \"off\", read = [\"x\"] }", Layer::User),
        ("sandbx = \"strict\"", Layer::User),
        ("sandbox = { required = false }", Layer::Project),
    ] {
        let said = read(layer, &format!("[servers.a]\ncommand = \"run\"\n{mistake}\n"));
        assert!(said.contains("Invalid"), "{mistake}: {said}");
    }
    let own = read(Layer::User, "[servers.a]\ncommand = \"run\"\nsandbox = { required = false }\n");
    assert!(!own.contains("Invalid"), "{own}");
    let elsewhere = read(Layer::User, "[servers.a]\nurl = \"https://a.example\"\nsandbox = \"strict\"\n");
    assert!(elsewhere.contains("Invalid"), "{elsewhere}");
}

/// Whatever a project opens is in the question.
#[test]
fn the_question_shows_what_a_project_asks_for() {
    let project = Project::new();
    let text = "[servers.a]\ncommand = \"run\"\n[servers.a.sandbox]\nprofile = \"standard\"\nread = [\"/srv/data\"]\nwrite = [\"out\"]\n\
                network = [\"api.example\"]\nunix = true\nmemory_mb = 9\n";
    let requests = project.own(text);
    let lines: Vec<String> =
        requests[0].parts.iter().filter(|part| part.label == "sandbox").map(|part| part.to_line()).collect();
    let shown = lines.join("\n").replace(&project.root.display().to_string(), "[PROJECT]");
    insta::assert_snapshot!(shown, @r"
    standard
    reads /srv/data
    writes [PROJECT]/out
    reaches api.example
    makes Unix sockets
    at most 9 MB of memory
    ");
    let off = project.own("[servers.a]\ncommand = \"run\"\nsandbox = \"off\"\n");
    assert!(off[0].parts.iter().any(|part| part.label == "sandbox" && part.to_line() == "off"));
}

/// The person's own setting is for programs of projects that say nothing; it is nothing that a project asks for.
#[test]
fn a_setting_confines_the_programs_of_projects() {
    let own = "[settings]\nsandbox = \"offline\"\n[servers.mine]\ncommand = \"run\"\n";
    let theirs = "[servers.a]\ncommand = \"run\"\n[servers.b]\ncommand = \"run\"\nsandbox = \"off\"\n[servers.c]\nurl = \"https://c.example\"\n";
    let merged = |own: &str| {
        let contents = vec![content(Layer::User, own), content(Layer::Project, theirs)];
        merge(contents, CommandLine::default(), &NothingTrusted)
    };
    let configuration = merged(own);
    let sandbox = |name: &str| configuration.server(name).unwrap().spec.as_ref().unwrap().sandbox.clone();
    assert_eq!(sandbox("mine"), None);
    assert_eq!(sandbox("a"), Some(SandboxSpec::by_default(Choice::In(Profile::Offline))));
    assert_eq!(sandbox("b"), Some(SandboxSpec::new(Choice::Off)));
    assert_eq!(sandbox("c"), None);
    let hashes = |own: &str| merged(own).untrusted.iter().map(|request| request.hash).collect::<Vec<_>>();
    assert_eq!(hashes(own), hashes(""), "the person's own setting asks nobody again");

    let of_project = content(Layer::Project, "[settings]\nsandbox = \"off\"\n");
    assert!(of_project.diagnostics.iter().any(|found| found.message.contains("a project cannot say")));
}
