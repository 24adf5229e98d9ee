//! What people changed, and the hub itself.

use helve_page::view::{
    Change, ChangeRow, Changes, Check, Diff, DiffKind, DiffLine, Fact, FileVersion, Hub as HubView, Meter, Paging, Tone,
};
use helve_store::Moment;

use super::shown::{bytes, moment, span};
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::{Hub, Programs};
use crate::verbs::{changes as verb, status};

const ROWS: usize = 100;

pub(super) fn changes(hub: &Hub, before: Option<i64>) -> Result<Changes, HubError> {
    let now = hub.now();
    let list = verb::list(hub, &Actor::Session, before, ROWS)?;
    let older = list.last().filter(|_| list.len() == ROWS).map(|last| format!("/changes?before={}", last.seq));
    let newer = before.map(|_| "/changes".to_owned());
    Ok(Changes {
        rows: list.iter().map(|change| row(change, now)).collect(),
        paging: Paging { said: String::new(), newer, older },
    })
}

pub(super) fn change(hub: &Hub, seq: i64) -> Result<Change, HubError> {
    let now = hub.now();
    let change = verb::one(hub, &Actor::Session, seq)?;
    let mut view = Change {
        row: row(&change, now),
        diff: diff(&change.change.diff),
        undo: None,
        file: FileVersion { path: change.change.file.clone().unwrap_or_default(), ..FileVersion::default() },
        said: None,
    };
    if change.change.file.is_none() {
        return Ok(view);
    }
    match verb::foresee_undo(hub, &Actor::Session, seq) {
        Ok(undo) => {
            view.file = super::settings::version(&undo.file);
            view.undo = Some(helve_page::line_diff(&undo.before, &undo.after));
            view.said = match undo.left_out {
                0 => None,
                1 => Some("One value may be a secret and was never kept: it is put back empty, fill it in.".to_owned()),
                count => Some(format!("{count} values may be secrets and were never kept: they are put back empty.")),
            };
        }
        Err(error) => view.said = Some(format!("It cannot be undone here: {}.", error.message())),
    }
    Ok(view)
}

fn row(change: &helve_store::Change, now: Moment) -> ChangeRow {
    let noted = &change.change;
    let lines = |mark: char| noted.diff.lines().filter(|line| line.starts_with(mark)).count() as u64;
    ChangeRow {
        number: u64::try_from(change.seq).unwrap_or_default(),
        at: moment(noted.at, now),
        who: noted.actor.clone(),
        what: format!("{} {}", noted.verb, noted.object),
        file: noted.file.clone(),
        added: lines('+'),
        removed: lines('-'),
    }
}

fn diff(text: &str) -> Diff {
    let line = |line: &str| {
        let kind = match line.chars().next() {
            Some('-') => DiffKind::Removed,
            Some('+') => DiffKind::Added,
            Some('~') => DiffKind::Skipped,
            _ => DiffKind::Same,
        };
        DiffLine { kind, text: line.chars().skip(1).collect() }
    };
    Diff { lines: text.lines().map(line).collect() }
}

pub(super) fn view(hub: &Hub) -> Result<HubView, HubError> {
    let now = hub.now();
    let status = status::status(hub, &Actor::Session)?;
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value, tone: Tone::Plain };
    let programs = match hub.options.programs {
        Programs::Allowed => "can be added by a person at this page",
        Programs::Refused => "cannot be added, changed or tested here",
    };
    let retention = hub.options.retention;
    let health = &status.health;
    let lost = Fact {
        name: "Not recorded".to_owned(),
        value: format!("{} calls since the start", health.lost),
        tone: if health.lost > 0 { Tone::Bad } else { Tone::Good },
    };
    let store_check = match (&health.trouble, health.is_in_place) {
        (Some(trouble), _) => check(Tone::Bad, "The store", trouble.clone()),
        (None, false) => check(Tone::Bad, "The store", "its file was deleted or replaced: restart the hub".to_owned()),
        (None, true) => check(Tone::Good, "The store", "writes are kept".to_owned()),
    };
    let environment = hub.setup.environment();
    let files = hub.setup.read_configuration().files.into_iter().map(|file| FileVersion {
        path: environment.shown(&file.place.path),
        version: String::new(),
        locked: None,
    });
    Ok(HubView {
        facts: vec![
            fact("Address", status.address.clone()),
            fact("Version", status.version.clone()),
            fact("Running for", span(now.since(status.started).as_secs())),
            fact("Agents connected", status.agents.to_string()),
            fact("Programs", programs.to_owned()),
        ],
        meters: vec![Meter {
            name: "Records".to_owned(),
            said: format!("{} of {}", bytes(status.sizes.bytes), bytes(retention.bytes)),
            value: status.sizes.bytes,
            limit: retention.bytes,
        }],
        store: vec![
            fact("File", environment.shown(&status.sizes.file)),
            fact("Calls", status.sizes.calls.to_string()),
            fact("Oldest call", status.sizes.oldest.map_or_else(|| "none".to_owned(), |at| moment(at, now).said)),
            fact("Waiting to be written", health.waiting.to_string()),
            lost,
        ],
        limits: vec![fact("Calls are kept for", span(retention.time.as_secs()))],
        checks: vec![store_check],
        files: files.collect(),
        sessions: status.sessions as u64,
    })
}

fn check(tone: Tone, what: &str, said: String) -> Check {
    Check { tone, what: what.to_owned(), said, advice: None }
}
