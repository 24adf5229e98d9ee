//! References that are filled when a server starts: left open here, and not for projects where they would run something.

use helve_config::Dialect;
use helve_model::{Layer, TransportSpec};

use crate::support::{place, problems, read};

const ENTRY: &str = "[servers.s]\nurl = \"https://a.example/${secret:path}\"\nheaders.Authorization = \"Bearer ${secret:token}!\"\nheaders.X = \"${cmd:op read op://v/i}\"\n";

#[test]
fn late_references_stay_open() {
    let content = read(Dialect::Helve, "/home/me/.config/helve/helve.toml", ENTRY);
    let spec = content.servers.first().and_then(|server| server.spec.as_ref()).expect("a server");
    let TransportSpec::Http(http) = &spec.transport else { panic!("{spec:?}") };
    assert_eq!(http.url.late_references().len(), 1);
    let header = &http.headers["Authorization"];
    assert_eq!((header.written(), header.expose()), ("Bearer ${secret:token}!", "Bearer ${secret:token}!"));
    let filled = header.filled(&[secrecy::SecretString::from("hunter2")]);
    assert_eq!(filled.expose(), "Bearer hunter2!");
    assert_eq!(http.headers["X"].late_references()[0].source.to_string(), "${cmd:op read op://v/i}");
}

#[test]
fn a_project_runs_nothing_by_a_reference() {
    let place = place(Dialect::Helve, "/project/helve.toml", Layer::Project);
    let content = helve_config::read_text(&place, ENTRY, &crate::support::environment());
    let told = problems(&content);
    assert!(told.contains("which only a file of your own may"), "{told}");
    assert!(!told.contains("secret:token"), "a secret is asked for by trust: {told}");
}
