//! Live reload: a changed configuration file reaches a running host; servers that did not change keep running.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use helve::{Plan, ServerChanges};

use crate::context::Context;
use crate::failure::Failure;
use crate::running::{Wanted, host_plan, hurry};
use crate::store::pins::PinFile;
use crate::store::trust::TrustFile;

/// What is known of a file without reading it: when it was changed, how long it is, which one it is.
type Mark = Option<(SystemTime, u64, u64)>;

/// What is known of every file that a configuration was or could be read from.
type Marks = BTreeMap<PathBuf, Mark>;

/// Looks whether any file changed that a configuration was or could be read from.
#[derive(Debug)]
pub(crate) struct Reloader {
    marks: Marks,
}

impl Reloader {
    pub(crate) fn new(context: &Context) -> Self {
        Self { marks: marks(context) }
    }

    /// One look; a change is loaded and applied. A configuration that cannot be used changes nothing. Files are looked at
    /// and read on another thread.
    pub(crate) async fn look(&mut self, context: &Context, apply: impl AsyncFnOnce(Plan) -> ServerChanges) {
        let known = std::mem::take(&mut self.marks);
        let Some((marks, plan)) = context.aside(move |context| load_if_changed(context, &known)).await else { return };
        self.marks = marks;
        let plan = match plan {
            None => return,
            Some(Ok(plan)) => plan,
            Some(Err(failure)) => {
                return context
                    .printer
                    .warning(format!("the changed configuration is not used: {}", failure.message()));
            }
        };
        let changes = apply(plan).await;
        let names = |names: &[helve_model::ServerName]| {
            names.iter().map(helve_model::ServerName::as_str).collect::<Vec<_>>().join(", ")
        };
        for (what, servers) in [("added", &changes.added), ("removed", &changes.removed), ("changed", &changes.changed)]
        {
            if !servers.is_empty() {
                context.printer.say(&crate::printer::Line::plain(format!("{what}: {}", names(servers))));
            }
        }
        for (server, error) in &changes.errors {
            context.printer.warning(format!("{server}: {}", error.chain()));
        }
    }
}

/// The marks as they are now, and the plan when they are not those that are known.
fn load_if_changed(context: &Context, known: &Marks) -> (Marks, Option<Result<Plan, Failure>>) {
    let marks = marks(context);
    if marks == *known {
        return (marks, None);
    }
    let plan = context.load().and_then(|configuration| {
        context.report_problems(&configuration);
        let mut plan = host_plan(context, &configuration, Wanted::All)?;
        hurry(context, &mut plan);
        Ok(plan)
    });
    (marks, Some(plan))
}

fn marks(context: &Context) -> Marks {
    // A definition that the person accepted meanwhile is called and listed again, and a server they trusted is started.
    let answers = context.stores().ok().map(|stores| [stores.path::<PinFile>(), stores.path::<TrustFile>()]);
    context
        .candidate_files()
        .into_iter()
        .chain(answers.into_iter().flatten())
        .map(|path| {
            let mark = mark(&path);
            (path, mark)
        })
        .collect()
}

fn mark(path: &std::path::Path) -> Mark {
    use std::os::unix::fs::MetadataExt as _;
    let about = fs_err::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len(), about.ino()))
}
