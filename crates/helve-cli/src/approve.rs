//! Asking the person at the terminal whether a call may run.

use std::sync::{Arc, Mutex};

use helve::{ApprovalAnswer, ApprovalRequest, Approver};
use helve_policy::Approval;
use helve_setup::store::Stores;
use helve_setup::store::approvals::ApprovalFile;
use helve_wire::BoxFuture;
use tokio::task::spawn_blocking;

use crate::context::Context;
use crate::printer::{CLEAR_LINE, Line, Style, write_talk};
use crate::tty;

/// Arguments are shown up to this many characters.
const SHOWN_ARGUMENTS: usize = 2_000;

/// Asks at the terminal; says yes to everything when told to; else nobody is there.
#[derive(Debug)]
pub(crate) struct TerminalApprover {
    yes: bool,
    can_ask: bool,
    color: crate::printer::Color,
    stores: Option<Stores>,
    /// One question at a time.
    turn: Arc<Mutex<()>>,
}

impl TerminalApprover {
    pub(crate) fn new(context: &Context, yes: bool) -> Self {
        Self {
            yes,
            can_ask: context.console.can_ask(),
            color: context.printer.stderr_color(),
            stores: context.stores().ok(),
            turn: Arc::clone(&context.turn),
        }
    }
}

impl Approver for TerminalApprover {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            if self.yes {
                return ApprovalAnswer::Once;
            }
            if !self.can_ask {
                return ApprovalAnswer::Unavailable;
            }
            let (turn, color) = (Arc::clone(&self.turn), self.color);
            let asked = spawn_blocking(move || {
                let _turn = turn.lock();
                ask(&request, color)
            });
            asked.await.unwrap_or(ApprovalAnswer::Unavailable)
        })
    }

    fn keep(&self, approval: &Approval) {
        let Some(stores) = &self.stores else { return };
        if let Err(failure) = stores.update(|file: &mut ApprovalFile| file.add(approval)) {
            let line = Line::styled(Style::Warning, "warning:")
                .then(Style::Plain, format!(" the approval is not kept: {}", failure.message()));
            write_talk(&format!("{}\n", line.render(self.color)));
        }
    }
}

fn ask(request: &ApprovalRequest, color: crate::printer::Color) -> ApprovalAnswer {
    let arguments: String = request.arguments.as_str().chars().take(SHOWN_ARGUMENTS).collect();
    let question = Line::styled(Style::Warning, "?").then(Style::Plain, format!(" {}", request.sentence));
    let shown = Line::styled(Style::Dim, "  with ").then(Style::Plain, arguments);
    // Whatever shows that something goes on stands in this line.
    write_talk(&format!("{CLEAR_LINE}{}\n{}\n", question.render(color), shown.render(color)));
    loop {
        write_talk("  [o]nce, for this [r]un, [a]lways, [n]o? ");
        let Ok(answer) = tty::line() else { return ApprovalAnswer::Decline };
        match answer.trim().to_ascii_lowercase().as_str() {
            "o" | "once" | "y" | "yes" => return ApprovalAnswer::Once,
            "r" | "run" => return ApprovalAnswer::Run,
            "a" | "always" => return ApprovalAnswer::Always { pattern: None },
            "n" | "no" | "" => return ApprovalAnswer::Decline,
            _ => {}
        }
    }
}
