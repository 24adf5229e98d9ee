//! Decides when a rule says *ask*: the person behind the host.

use std::fmt;
use std::sync::{Arc, Mutex};

use helve_model::json::RawJson;
use helve_model::{CallKind, Principal, QualifiedName, Risk};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Approval, Approvals, Caller, Decider, ServerIdentity};
use helve_wire::BoxFuture;

use crate::error::CallError;
use crate::record::CallSource;
use helve_model::sync::lock;

/// Decides calls for which a rule says *ask*.
pub trait Approver: Send + Sync {
    /// May this call run? Asked once per call; other calls go on meanwhile.
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer>;

    /// An approval was given for good: the place to store it beyond this run.
    fn keep(&self, approval: &Approval) {
        drop(approval.clone());
    }
}

/// Hears which calls were refused, on behalf of a person who can change that.
pub trait RefusalListener: Send + Sync {
    /// A call was refused: this is why, and what can be done about it. Called while the call waits, so it must be quick.
    fn refused(&self, error: &CallError);
}

/// A call that waits for an answer.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    /// What is to be called.
    pub name: QualifiedName,
    /// Which kind of call.
    pub kind: CallKind,
    /// With which arguments.
    pub arguments: RawJson,
    /// On whose behalf.
    pub principal: Principal,
    /// The caller.
    pub caller: Caller,
    /// How much harm it could do.
    pub risk: Risk,
    /// The whole question, as a sentence that says who decided to ask.
    pub sentence: String,
    /// What wants it asked; `None` for a question about several calls at once.
    pub decider: Option<Decider>,
    /// The definition that a yes would be for; `None` for what has none.
    pub definition: Option<DefinitionHash>,
    /// The server that a yes would be for.
    pub server: Option<ServerIdentity>,
    /// Where the call comes from.
    pub source: CallSource,
}

/// What the person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Yes, this call.
    Once,
    /// Yes, and all such calls until the host ends, or whoever has [`RunApprovals`] of its own.
    Run,
    /// Yes, and all such calls until the tool's definition changes.
    Always {
        /// Only calls with such arguments: `key=glob`, or a glob over any string argument.
        pattern: Option<String>,
    },
    /// No.
    Decline,
    /// No, and this is what the caller is told: who said so, and why.
    DeclineWith(String),
    /// Nobody has answered yet, and the call does not run: what the caller is told to do.
    Later(OpenQuestion),
    /// Nobody is there to ask.
    Unavailable,
}

/// A question that stays open after the call that raised it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// What the caller is told: how the question is called, until when it is open, what to do.
    pub said: String,
    /// A page where a person can answer it, for a caller that can show one.
    pub page: Option<AnswerPage>,
}

/// A page where a person can answer a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerPage {
    /// What the question is called.
    pub id: String,
    /// Where the page is.
    pub url: String,
}

impl OpenQuestion {
    /// A question of which the caller is told this.
    pub fn new(said: impl Into<String>, page: Option<AnswerPage>) -> Self {
        Self { said: said.into(), page }
    }
}

/// What somebody said yes to for as long as they are there: one of several whom a host calls for. Cheap to clone; every
/// clone is the same.
#[derive(Debug, Clone, Default)]
pub struct RunApprovals(Arc<Mutex<Approvals>>);

impl RunApprovals {
    /// They are gone: nothing of it counts any more.
    pub fn forget(&self) {
        *lock(&self.0) = Approvals::new();
    }

    pub(crate) fn set(&self) -> &Mutex<Approvals> {
        &self.0
    }
}

/// Says yes to everything: for programs that decide by rules alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct ApproveAll;

impl Approver for ApproveAll {
    fn approve(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(std::future::ready(ApprovalAnswer::Once))
    }
}

/// Nobody is there: what has to be asked is refused.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NobodyThere;

impl Approver for NobodyThere {
    fn approve(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(std::future::ready(ApprovalAnswer::Unavailable))
    }
}

impl fmt::Debug for dyn RefusalListener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RefusalListener")
    }
}

impl fmt::Debug for dyn Approver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Approver")
    }
}
