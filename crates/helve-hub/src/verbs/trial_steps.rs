//! The steps of a test, read from how the server was doing in the end: what was done, and what was learned.

use helve_model::ServerStatus;
use helve_setup::Trial;

/// The steps of a test. While it runs nobody knows yet whether a program is started or an address connected to.
pub(crate) const BEGIN: &str = "Start it, or connect to it";
pub(crate) const START: &str = "Start the program";
pub(crate) const CONNECT: &str = "Connect";
pub(crate) const AGREE: &str = "Agree on a protocol";
pub(crate) const LIST: &str = "List its tools";

/// The steps of a test: what was done, and what was learned.
pub(crate) fn steps(trial: &Trial) -> Vec<(&'static str, StepEnd, Option<String>)> {
    let report = &trial.report;
    let is_program = report.transport == "stdio";
    let begin = if is_program { START } else { CONNECT };
    let (agree, list) = (AGREE, LIST);
    let version = report.protocol_version.clone();
    let era = version.map(|version| match &report.era {
        Some(era) => format!("{version} ({era})"),
        None => version,
    });
    match &report.status {
        ServerStatus::Connected => {
            let took = report.connect_time.map(|time| format!("{} ms", time.as_millis()));
            let end = if report.list_error.is_some() { StepEnd::Failed } else { StepEnd::Done };
            let count = report.list_error.clone().or_else(|| Some(format!("{} tools", trial.tools.len())));
            vec![(begin, StepEnd::Done, took), (agree, StepEnd::Done, era), (list, end, count)]
        }
        _ if era.is_some() => {
            vec![(begin, StepEnd::Done, None), (agree, StepEnd::Done, era), (list, StepEnd::Failed, None)]
        }
        ServerStatus::NeedsAuth { .. } => {
            let wants = Some("it answers, and wants a login".to_owned());
            vec![(begin, StepEnd::Done, wants), (agree, StepEnd::Failed, None), (list, StepEnd::NotTried, None)]
        }
        ServerStatus::Failed(failure) if !is_program || !has_run(&failure.message, report.stderr.as_deref()) => {
            vec![(begin, StepEnd::Failed, None), (agree, StepEnd::NotTried, None), (list, StepEnd::NotTried, None)]
        }
        _ => vec![(begin, StepEnd::Done, None), (agree, StepEnd::Failed, None), (list, StepEnd::NotTried, None)],
    }
}

/// Did a program that failed begin to run at all?
fn has_run(message: &str, stderr: Option<&str>) -> bool {
    stderr.is_some_and(|text| !text.is_empty())
        || !["cannot start", "does not exist", "no program", "cannot be run"]
            .iter()
            .any(|words| message.contains(words))
}

/// How a step of a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepEnd {
    Done,
    Failed,
    NotTried,
}
