//! The programs of docs/code.md do what the page says.

use std::path::Path;
use std::sync::Arc;

use helve::{CallContext, CallError, Caller, Host, Toolbox};
use helve_code::{Limits, Runner};
use helve_model::{BuiltinSpec, ServerSpec};

use super::support::engine_with;

#[derive(Debug)]
struct Builtins(std::path::PathBuf);

impl helve::Builtins for Builtins {
    fn open(&self, spec: &ServerSpec, builtin: &BuiltinSpec) -> Result<Toolbox, CallError> {
        helve_builtin::open(spec, builtin, &self.0)
    }
}

/// Each program with the text that stands behind it.
fn programs(page: &str) -> Vec<(&str, &str)> {
    let mut blocks = page.split("```").skip(1).step_by(2).peekable();
    let mut found = Vec::new();
    while let Some(block) = blocks.next() {
        if let Some(program) = block.strip_prefix("python\n")
            && let Some(value) = blocks.peek().and_then(|next| next.strip_prefix("text\n"))
        {
            found.push((program, value.trim()));
        }
    }
    found
}

#[tokio::test]
async fn the_programs_of_the_page() {
    let limits = Limits::default();
    let Some(engine) = engine_with(None, &limits).await else { return };
    let directory = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| fs_err::write(directory.path().join(path), text).unwrap();
    fs_err::create_dir(directory.path().join("notes")).unwrap();
    put("notes/plan.md", "# Plan\n- buy milk\n- TODO call bob\n");
    put("sales.csv", "name,amount\nann,10\nbob,25\nann,7\n");
    put("package.json", "{\"version\": \"1.4.2\"}");
    let servers = helve_builtin::defaults(directory.path());
    let builtins = Arc::new(Builtins(directory.path().to_owned()));
    let host = Host::builder().builtins(builtins).servers(servers).start().await.unwrap();
    let runner = Runner::new(&host, engine, limits);
    runner.offer(&host).unwrap();
    let page = fs_err::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/code.md")).unwrap();
    let programs = programs(&page);
    assert_eq!(programs.len(), 10);
    for (program, value) in programs {
        let report = runner.run(program, CallContext::new(Caller::Agent)).await.unwrap();
        assert_eq!(report.to_text(40 << 10), value, "{program}");
    }
}
