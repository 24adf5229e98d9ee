//! What a person has approved before, so that they are not asked again.
//!
//! An approval answers a question, also one that an `ask` rule raised; it never lifts a `deny`. It holds for one
//! definition of the tool, for the server it was given to, and for the principal whose call it was: once one of the first
//! two changes, the approval is dead; another principal is asked for itself.

use std::collections::HashMap;
use std::fmt;

use helve_model::{Action, CallKind, Principal, QualifiedName};

use crate::arguments::{ArgumentMatches, Condition, MatchContext};
use crate::glob::{Globs, GlobsBuilder};
use crate::identity::ServerIdentity;
use crate::pin::DefinitionHash;
use crate::place::Directories;
use crate::{Permit, Question};

/// How long an approval lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ApprovalSpan {
    /// For one call.
    Once,
    /// Until this run ends.
    Run,
    /// Until it is taken back, or the definition changes.
    Always,
}

/// One approval, as its owner stores it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Approval {
    /// Whose calls were approved. Nobody else's are.
    pub principal: Principal,
    /// What was approved.
    pub tool: QualifiedName,
    /// Which kind of call.
    pub kind: CallKind,
    /// Only calls with such arguments: `key=glob`, or a glob over any string argument. `None`: all.
    pub pattern: Option<String>,
    /// The definition it was given for; `None` for what has none.
    pub definition: Option<DefinitionHash>,
    /// The server it was given to: where that comes from and what it runs.
    pub server: Option<ServerIdentity>,
    /// How long it lasts.
    pub span: ApprovalSpan,
}

/// The approvals in force. Keeping them beyond a run is up to the caller: see [`Approvals::iter`].
#[derive(Debug, Default)]
pub struct Approvals {
    by_call: HashMap<(QualifiedName, CallKind), Vec<Entry>>,
}

/// What became of a question.
#[derive(Debug)]
pub enum Answer {
    /// It was approved before.
    Approved(Permit),
    /// It still has to be asked.
    Open(Question),
}

#[derive(Debug)]
struct Entry {
    approval: Approval,
    condition: Option<(Globs, Condition)>,
}

impl Approvals {
    /// No approvals.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers an approval. One that says the same for an older definition, or for a shorter span, is replaced.
    pub fn add(&mut self, approval: Approval) {
        let entries = self.by_call.entry((approval.tool.clone(), approval.kind)).or_default();
        entries.retain(|entry| {
            entry.approval.pattern != approval.pattern
                || entry.approval.principal != approval.principal
                || entry.approval.server != approval.server
                || (entry.approval.definition == approval.definition && entry.approval.span > approval.span)
        });
        let condition = approval.pattern.as_deref().map(compile);
        entries.push(Entry { approval, condition });
    }

    /// Answers a question from what was approved before. An approval for one call is used up by it.
    #[must_use]
    pub fn answer(&mut self, question: Question) -> Answer {
        let key = (question.name().clone(), question.kind());
        let Some(entries) = self.by_call.get_mut(&key) else { return Answer::Open(question) };
        let Some(index) = covering(entries, &question) else { return Answer::Open(question) };
        let span = entries[index].approval.span;
        if span == ApprovalSpan::Once {
            entries.remove(index);
        }
        Answer::Approved(question.permit(span))
    }

    /// The approval that would answer a question. It stays as it is.
    #[must_use]
    pub fn find(&self, question: &Question) -> Option<&Approval> {
        let entries = self.by_call.get(&(question.name().clone(), question.kind()))?;
        covering(entries, question).map(|index| &entries[index].approval)
    }

    /// What was approved of one tool, for whichever definition and arguments.
    pub fn of(&self, tool: &QualifiedName, kind: CallKind) -> impl Iterator<Item = &Approval> {
        self.by_call.get(&(tool.clone(), kind)).into_iter().flatten().map(|entry| &entry.approval)
    }

    /// Takes out every approval that was given for another definition than the current one, for the person to be told.
    pub fn remove_stale(
        &mut self,
        tool: &QualifiedName,
        kind: CallKind,
        current: Option<DefinitionHash>,
    ) -> Vec<Approval> {
        let Some(entries) = self.by_call.get_mut(&(tool.clone(), kind)) else { return Vec::new() };
        entries.extract_if(.., |entry| entry.approval.definition != current).map(|entry| entry.approval).collect()
    }

    /// Takes back every approval of one tool.
    pub fn revoke(&mut self, tool: &QualifiedName, kind: CallKind) -> Vec<Approval> {
        let entries = self.by_call.remove(&(tool.clone(), kind)).unwrap_or_default();
        entries.into_iter().map(|entry| entry.approval).collect()
    }

    /// Every approval, sorted by tool: those with [`ApprovalSpan::Always`] are what outlives a run.
    pub fn iter(&self) -> impl Iterator<Item = &Approval> {
        let mut approvals: Vec<&Approval> = self.by_call.values().flatten().map(|entry| &entry.approval).collect();
        approvals.sort_by(|left, right| left.tool.cmp(&right.tool).then_with(|| left.pattern.cmp(&right.pattern)));
        approvals.into_iter()
    }
}

impl FromIterator<Approval> for Approvals {
    fn from_iter<T: IntoIterator<Item = Approval>>(approvals: T) -> Self {
        let mut collected = Self::new();
        for approval in approvals {
            collected.add(approval);
        }
        collected
    }
}

impl fmt::Display for ApprovalSpan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Once => "once",
            Self::Run => "for this run",
            Self::Always => "for good",
        })
    }
}

/// Which approval covers a call, if one does. The longest span first: an approval for one call is not spent where another
/// covers the call.
fn covering(entries: &[Entry], question: &Question) -> Option<usize> {
    let definition = question.definition();
    let fits = |entry: &Entry| {
        entry.approval.principal == *question.principal()
            && entry.approval.definition == definition
            && entry.approval.server == question.server()
            && entry.condition.as_ref().is_none_or(|(globs, condition)| matches(globs, condition, question))
    };
    (0..entries.len()).filter(|index| fits(&entries[*index])).max_by_key(|index| entries[*index].approval.span)
}

fn compile(pattern: &str) -> (Globs, Condition) {
    let mut builder = GlobsBuilder::default();
    let condition = Condition::compile(pattern, Action::Allow, &mut builder);
    (builder.build().0, condition)
}

fn matches(globs: &Globs, condition: &Condition, question: &Question) -> bool {
    let around = MatchContext { directories: &Directories::nowhere(), places: question.places(), joins: false };
    ArgumentMatches::read(question.arguments().as_str(), globs, around, |_| true).hold(globs, condition, Action::Allow)
}

#[cfg(test)]
#[path = "approval_tests.rs"]
mod tests;
