//! What the person who runs `helve serve` is told of its agents, and what is kept of their answers.
//!
//! At the default level only what needs a hand: the first refusal of each tool, with the command that helps. With `-v`
//! everything: who came, who went, every refusal, every request that did not get in.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use helve::{ApprovalAnswer, ApprovalRequest, Approver, CallError};
use helve_model::text::one_line;
use helve_model::{ErrorCode, Hint};
use helve_policy::{Approval, Decider};
use helve_serve::{AgentNotice, Observer};
use helve_setup::store::Stores;
use helve_setup::store::approvals::ApprovalFile;
use helve_wire::BoxFuture;

use crate::context::Context;
use crate::printer::{Line, Printer, Style, Verbosity};

/// Of so many tools the first refusal is told; of further ones with `-v`.
const TOLD_TOOLS: usize = 50;

/// So many lines are written in a second; further ones are counted. An agent must not fill a disk.
const LINES_A_SECOND: u32 = 20;

/// Tells the person what happens at the door.
pub(crate) struct DoorKeeper {
    printer: Printer,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The tools whose refusal was told.
    told: HashSet<(ErrorCode, String)>,
    has_told_of_unlisted: bool,
    second: Option<Instant>,
    lines: u32,
    left_out: u32,
}

impl DoorKeeper {
    pub(crate) fn new(context: &Context) -> Self {
        Self { printer: context.printer.clone(), state: Mutex::default() }
    }

    fn refused(&self, who: &str, error: &CallError) {
        let what = match (error.server(), error.tool()) {
            (Some(server), Some(tool)) => format!("{server}/{tool}"),
            (Some(server), None) => server.to_string(),
            _ => String::new(),
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (error.code(), what);
        let is_new = !state.told.contains(&key) && state.told.len() < TOLD_TOOLS;
        if is_new {
            state.told.insert(key);
        }
        if !is_new && self.printer.verbosity < Verbosity::Verbose {
            return;
        }
        if !state.may_write(&self.printer) {
            return;
        }
        let line = Line::styled(Style::Warning, "refused:").then(Style::Plain, format!(" {who}: {}", error.chain()));
        self.printer.say(&line);
        // The way to make this very call at a terminal is of no use to an agent.
        error
            .hints()
            .iter()
            .filter(|hint| !matches!(hint, Hint::AllowOnce { .. }))
            .for_each(|hint| self.printer.hint(hint));
        let is_unlisted = error.ground().is_some_and(|ground| matches!(ground.decider, Decider::Default(_)));
        if is_unlisted && !std::mem::replace(&mut state.has_told_of_unlisted, true) {
            self.printer.hint(
                "an agent that asks you itself before each call needs no second question: `helve serve --unlisted allow`",
            );
        }
    }

    fn told(&self, line: &Line) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.printer.verbosity >= Verbosity::Verbose && state.may_write(&self.printer) {
            self.printer.say(line);
        }
    }
}

impl State {
    fn may_write(&mut self, printer: &Printer) -> bool {
        let now = now();
        if self.second.is_none_or(|second| now.duration_since(second) >= Duration::from_secs(1)) {
            if self.left_out > 0 {
                let words = format!("({} more lines were left out)", self.left_out);
                printer.say(&Line::styled(Style::Dim, words));
            }
            (self.second, self.lines, self.left_out) = (Some(now), 0, 0);
        }
        let may = self.lines < LINES_A_SECOND;
        if may {
            self.lines += 1;
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
        may
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl Observer for DoorKeeper {
    fn notice(&self, notice: AgentNotice<'_>) {
        match notice {
            AgentNotice::Came(visitor) => {
                self.told(&Line::styled(Style::Dim, "came: ").then(Style::Plain, visitor.to_string()))
            }
            AgentNotice::Left(visitor) => {
                self.told(&Line::styled(Style::Dim, "left: ").then(Style::Plain, visitor.to_string()))
            }
            AgentNotice::Refused(visitor, error) => self.refused(&visitor.to_string(), error),
            AgentNotice::Barred(why) => {
                let why = format!("a request: {}", one_line(why));
                self.told(&Line::styled(Style::Warning, "refused: ").then(Style::Plain, why));
            }
            _ => {}
        }
    }
}

/// Keeps what a person approved for good where an agent asked them. Nobody is at a terminal of `serve`.
#[derive(Debug)]
pub(crate) struct ApprovalKeeper {
    printer: Printer,
    stores: Option<Stores>,
}

impl ApprovalKeeper {
    pub(crate) fn new(context: &Context) -> Self {
        Self { printer: context.printer.clone(), stores: context.stores().ok() }
    }

    /// True when there is a place to keep them.
    pub(crate) const fn can_keep(&self) -> bool {
        self.stores.is_some()
    }
}

impl Approver for ApprovalKeeper {
    fn approve(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(std::future::ready(ApprovalAnswer::Unavailable))
    }

    fn keep(&self, approval: &Approval) {
        let Some(stores) = &self.stores else { return };
        match stores.update(|file: &mut ApprovalFile| file.add(approval)) {
            Ok(()) => {
                let name = one_line(&approval.tool.to_string()).into_owned();
                let words = format!("approved for good: {} `{name}`", approval.kind);
                self.printer.say(&Line::plain(words));
                self.printer.hint("`helve trust --list` shows all of them, `helve trust --revoke` takes one back");
            }
            Err(failure) => self.printer.warning(format!("the approval is not kept: {}", failure.message())),
        }
    }
}
