//! From `helve.toml` to a running tool: the file's table of built-in servers and this crate's are the same.

use helve_config::{Dialect, Environment, FilePlace, read_text, schema};
use helve_model::{Layer, ServerSpec, TransportSpec};
use tempfile::TempDir;

use crate::support::{call, tree};

/// The only server of a project's `helve.toml`.
fn configured(project: &TempDir, text: &str) -> ServerSpec {
    let place = FilePlace {
        path: project.path().join("helve.toml"),
        application: "helve",
        dialect: Dialect::Helve,
        layer: Layer::Project,
        project: project.path().to_path_buf(),
    };
    let content = read_text(&place, text, &Environment::new(project.path()));
    let server = &content.servers[0];
    assert!(server.diagnostics.is_empty() && server.blockers.is_empty(), "{:?}", server.diagnostics);
    server.spec.clone().unwrap()
}

/// Opened as a host does, which works somewhere else.
fn open(spec: &ServerSpec) -> Result<helve::Toolbox, helve::CallError> {
    let TransportSpec::Builtin(builtin) = &spec.transport else { panic!("not built in") };
    helve_builtin::open(spec, builtin, std::path::Path::new("/"))
}

#[tokio::test]
async fn files_of_a_project() {
    let project = tree(&[("docs/a.txt", "a"), ("b.txt", "b")]);
    let docs = configured(&project, "[servers.notes]\nbuiltin = \"filesystem\"\nroots = [\"docs\"]\nwritable = true");
    let toolbox = open(&docs).unwrap();
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"a.txt"}"#).await, "a");
    assert_eq!(call(&toolbox, "write_file", r#"{"path":"c.txt","content":"c"}"#).await, "created `c.txt`, 1 byte");
    assert_eq!(fs_err::read_to_string(project.path().join("docs/c.txt")).unwrap(), "c");

    let whole = open(&configured(&project, "[servers.notes]\nbuiltin = \"filesystem\"")).unwrap();
    assert_eq!(call(&whole, "read_file", r#"{"path":"b.txt"}"#).await, "b");
    assert!(whole.tools().iter().all(|tool| tool.definition().name().as_str() != "write_file"));
}

#[tokio::test]
async fn a_database_of_a_project() {
    let project = tree(&[("data/x.db", "")]);
    let spec = configured(&project, "[servers.db]\nbuiltin = \"sqlite\"\ndatabase = \"data/x.db\"\nmax_rows = 1");
    let toolbox = open(&spec).unwrap();
    let answer = call(&toolbox, "query", r#"{"sql":"SELECT 1 UNION ALL SELECT 2"}"#).await;
    assert!(answer.ends_with("[there is more than 1 row: a result has at most 1 row and 1,048,576 bytes]"), "{answer}");
}

/// Every kind and every option of the file is one of this crate's.
#[test]
fn every_option_of_the_file_exists() {
    let project = tree(&[("x.db", "")]);
    let schema = schema::helve_toml();
    let property = |key: &str| schema.pointer(&format!("/$defs/server/properties/{key}")).unwrap();
    let kinds: Vec<&str> =
        property("builtin")["enum"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect();
    assert_eq!(kinds, ["filesystem", "sqlite", "time"]);
    for text in [
        "builtin = \"filesystem\"\nroots = [\".\"]\nwritable = true\nmax_file_bytes = 1",
        "builtin = \"sqlite\"\ndatabase = \"x.db\"\nwritable = false\nmax_rows = 1\nmax_bytes = 1\nmax_steps = 1",
        "builtin = \"time\"",
    ] {
        open(&configured(&project, &format!("[servers.a]\n{text}"))).unwrap();
    }
}

/// What the schema says happens when an option is left away happens.
#[tokio::test]
async fn the_defaults_of_the_schema_are_the_defaults() {
    let schema = schema::helve_toml();
    let default = |key: &str| {
        schema.pointer(&format!("/$defs/server/properties/{key}/default")).and_then(serde_json::Value::as_u64).unwrap()
    };
    let project = tree(&[("x.db", "")]);
    let path = project.path().join("file");
    fs_err::write(&path, vec![b'x'; usize::try_from(default("max_file_bytes")).unwrap()]).unwrap();
    let files = open(&configured(&project, "[servers.a]\nbuiltin = \"filesystem\"")).unwrap();
    assert!(call(&files, "read_file", r#"{"path":"file"}"#).await.starts_with('x'));
    fs_err::write(&path, vec![b'x'; usize::try_from(default("max_file_bytes") + 1).unwrap()]).unwrap();
    assert!(call(&files, "read_file", r#"{"path":"file"}"#).await.starts_with("failed: "));

    let sqlite = open(&configured(&project, "[servers.a]\nbuiltin = \"sqlite\"\ndatabase = \"x.db\"")).unwrap();
    let many =
        r#"{"sql":"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000) SELECT x FROM c"}"#;
    let told = call(&sqlite, "query", many).await;
    let said: Vec<String> = told.lines().last().unwrap().split(' ').map(|word| word.replace(',', "")).collect();
    assert!(
        said.contains(&default("max_rows").to_string()) && said.contains(&default("max_bytes").to_string()),
        "{said:?}"
    );
}
