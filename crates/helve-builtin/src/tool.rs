//! How the built-in tools run: file work off the threads that serve everybody, with an end when the caller gives up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use helve::{Tool, ToolContext, ToolFailure};
use helve_model::json::RawJson;
use helve_model::{Definition as _, ErrorCode, Outcome, ToolDefinition};
use helve_policy::Permit;

use crate::answer::{Answer, Trouble};

/// A tool that may block, and works on something it shares with the other tools of its toolbox.
pub(crate) struct BlockingTool<State> {
    definition: ToolDefinition,
    state: Arc<State>,
    run: Run<State>,
}

/// What a tool does with the arguments of a call.
pub(crate) type Run<State> = fn(&State, &RawJson, &Cancelled) -> Answer;

/// Whether the caller has given up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancelled(Arc<AtomicBool>);

/// Says so when the future that waits for the tool is dropped.
struct CancelOnDrop(Cancelled);

impl<State> BlockingTool<State> {
    pub(crate) fn new(definition: &str, state: &Arc<State>, run: Run<State>) -> Self {
        Self { definition: definition_of(definition), state: Arc::clone(state), run }
    }
}

impl<State: Send + Sync + 'static> Tool for BlockingTool<State> {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn call<'a>(&'a self, permit: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        Box::pin(run_blocking(Arc::clone(&self.state), permit, self.run))
    }
}

/// Runs a tool on a thread that may block.
pub(crate) async fn run_blocking<State: Send + Sync + 'static>(
    state: Arc<State>,
    permit: &Permit,
    run: Run<State>,
) -> Result<Outcome, ToolFailure> {
    let cancelled = Cancelled::default();
    let waiting = CancelOnDrop(cancelled.clone());
    let arguments = permit.arguments().clone();
    let work = tokio::task::spawn_blocking(move || run(&state, &arguments, &cancelled));
    let answer = work.await;
    drop(waiting);
    match answer {
        Ok(answer) => answer.or_else(Trouble::into_result),
        Err(_) => Err(ToolFailure::new(ErrorCode::ToolError, "the tool broke off without an answer")),
    }
}

impl Cancelled {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For the middle of long work.
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        if self.is_set() { Err(Trouble::cancelled()) } else { Ok(()) }
    }

    #[cfg(test)]
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// A definition from its JSON, which may be written over several lines.
pub(crate) fn definition_of(text: &str) -> ToolDefinition {
    // No string of JSON holds a line break, so joining the lines changes nothing.
    let raw = RawJson::assembled(text.lines().map(str::trim_start).collect());
    // An object with a string for its name is a definition; there is no other way to fail.
    ToolDefinition::from_raw(raw).unwrap_or_else(|problem| unreachable!("{problem}"))
}
