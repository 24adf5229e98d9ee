//! Programs as models write them: each file ends with the value it has to have. On every Python that is found.

use std::path::{Path, PathBuf};

use helve_code::Limits;
use serde_json::Value;

use super::support::{Shop, engine_with};

fn programs() -> Vec<(String, String, Value)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut files: Vec<PathBuf> = fs_err::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let text = fs_err::read_to_string(&path).unwrap();
        let (source, expected) = text.rsplit_once("# => ").expect("a program ends with its value");
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, source.to_owned(), serde_json::from_str(expected).unwrap())
    };
    files.into_iter().map(read).collect()
}

/// The Pythons of this machine: the first on the path, and those of pyenv that are new enough.
fn pythons() -> Vec<Option<PathBuf>> {
    #[expect(clippy::disallowed_methods, reason = "a test looks for every Python of this machine")]
    let versions = std::env::home_dir().map(|home| home.join(".pyenv/versions"));
    let entries = versions.and_then(|versions| fs_err::read_dir(versions).ok()).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.map_while(Result::ok).map(|entry| entry.path().join("bin/python3")).collect();
    found.retain(|path| path.is_file());
    found.sort();
    std::iter::once(None).chain(found.into_iter().map(Some)).collect()
}

#[tokio::test]
async fn programs_as_models_write_them() {
    let programs = programs();
    assert!(programs.len() >= 60, "{}", programs.len());
    for python in pythons() {
        let limits = Limits::default();
        let Some(engine) = engine_with(python, &limits).await else { continue };
        let shown = engine.description();
        let shop = Shop::open(engine, limits, true).await;
        let mut wrong = Vec::new();
        for (name, source, expected) in &programs {
            let report = shop.run(source).await;
            let value = report.value.parse::<Value>().unwrap();
            if report.error.is_some() || value != *expected {
                wrong.push(format!("{name}: {value} {:?}", report.error));
            }
        }
        println!("{shown}: {} of {}", programs.len() - wrong.len(), programs.len());
        assert!(wrong.is_empty(), "{shown}:\n{}", wrong.join("\n"));
    }
}
