//! Programs that models write: what they run in is found with the first of them, and one runner is the host's.

use std::sync::Arc;

use helve::{CallContext, CallError, ErrorCode, Host};
use helve_code::{Limits, Report, Runner};
use helve_config::Settings;
use helve_model::json::{ObjectWriter, RawJson, quoted};
use helve_setup::Setup;
use tokio::sync::OnceCell;

/// Code mode of one host.
pub(crate) struct Code {
    setup: Arc<Setup>,
    settings: Settings,
    runner: OnceCell<Runner>,
}

impl Code {
    pub(crate) const fn new(setup: Arc<Setup>, settings: Settings) -> Self {
        Self { setup, settings, runner: OnceCell::const_new() }
    }

    /// Runs a program, and says what came of it: an object that `helve._types.ProgramResult` is made of.
    ///
    /// # Errors
    /// It was not run at all: there is no engine, or a rule denies `helve/run_code`.
    pub(crate) async fn run(&self, host: &Host, source: &str, context: CallContext) -> Result<RawJson, CallError> {
        let found = self.runner.get_or_try_init(|| async {
            let limits = Limits::default();
            let engine = self.setup.code_engine(&self.settings, None, &limits).await;
            let engine = engine.map_err(|why| CallError::new(ErrorCode::Config, why.to_string()))?;
            Ok::<_, CallError>(Runner::new(host, engine, limits))
        });
        Ok(told(&Box::pin(found.await?.run(source, context)).await?))
    }
}

fn told(report: &Report) -> RawJson {
    let whole = report.to_json();
    let member = |key: &str| whole.member(key).unwrap_or_else(|| RawJson::from_static("null"));
    ObjectWriter::new()
        .raw("value", &report.value)
        .text("printed", &report.printed)
        .raw("calls", member("calls"))
        .raw("error", member("error"))
        .array("notes", report.notes.iter().map(|note| quoted(note)))
        .array("attachments", &report.attachments)
        .text("text", &report.to_text(Limits::default().result_bytes))
        .finish()
}

impl std::fmt::Debug for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Code").field("runner", &self.runner.get()).finish_non_exhaustive()
    }
}
