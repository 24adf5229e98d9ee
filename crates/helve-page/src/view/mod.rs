//! What each screen shows, as plain data: the hub fills it, `render` turns it into HTML. No logic, no defaults that decide
//! anything, no clock: whatever depends on now is handed in as words beside the moment itself.
//!
//! Texts are taken as they are, whoever wrote them: the templates escape and make hidden characters visible.

mod access;
mod calls;
mod changes;
mod overview;
mod rules;
mod server;
mod servers;
mod tree;
mod try_tool;

pub use access::{
    Always, Approval, ApprovalState, Approvals, DeviceRow, ErrorPage, LinkNeeded, MadeToken, SettledApproval,
    TokenForm, TokenKind, TokenRow, Tokens, Trust, TrustEntry,
};
pub use calls::{Bar, Call, CallEnd, CallFilter, CallRow, Calls, ChainStep, Decision, Recorded, TimeSpan, Verdict};
pub use changes::{Change, ChangeRow, Changes, Check, Conflict, Fact, Hub, Meter};
pub use overview::{BusyTool, ConnectLine, Need, Overview, Series};
pub use rules::{Explain, ExplainStep, Flip, KeptAnswer, RuleRow, Rules, WhatWouldChange};
pub use server::{
    DefinitionChange, LogLine, Pin, Server, ServerHead, SettingControl, SettingField, Settings, SignIn, StatusSpan,
    Tab, ToolRow,
};
pub use servers::{
    Add, Failure, ImportRow, Sandbox, SecretSlot, ServerRow, Servers, Step, StepState, TestRun, Understood,
    UnderstoodKind,
};
pub use tree::{Leaf, Node, NodeValue, Tree};
pub use try_tool::{CallResult, Progress, ResultPart, TryOutcome, TryTool};

/// What every page has around it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// Which entry of the navigation is the current one.
    pub section: Section,
    /// The session's token against forged requests; each form carries it as `csrf`.
    pub csrf: String,
    /// Calls that wait for an answer; `None` where the hub has no approvals.
    pub waiting: Option<u64>,
    /// Records that were lost because the queue was full: shown in red on every page.
    pub lost_records: u64,
    /// What the last action came to, said once.
    pub said: Option<Said>,
    /// The hub's own address as people know it, as in `127.0.0.1:7333`.
    pub address: String,
}

/// An entry of the navigation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words of the navigation")]
pub enum Section {
    #[default]
    None,
    Overview,
    Servers,
    Approvals,
    Calls,
    Rules,
    Tokens,
    Changes,
    Hub,
}

/// What an action came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// Good news or bad.
    pub tone: Tone,
    /// One sentence.
    pub text: String,
    /// Where to go from there.
    pub link: Option<Link>,
}

/// How a mark, a word or a message is coloured; the shape of marks differs too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neither.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Somebody should look.
    Warn,
    /// It does not work, or was refused.
    Bad,
}

/// A link of the page's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Link {
    /// A path of this hub, with its query.
    pub href: String,
    /// What it leads to.
    pub text: String,
}

/// A moment: for machines, and as said now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moment {
    /// As in `2026-11-18T08:30:00Z`.
    pub iso: String,
    /// As in `12 s ago`, `yesterday 14:02`.
    pub said: String,
}

/// How a server is doing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    /// The mark.
    pub mark: Mark,
    /// The word beside it, as in `ready`.
    pub word: String,
    /// Why, as in `exited with status 1`.
    pub reason: Option<String>,
    /// What comes next, as in `next try in 8 s`.
    pub next: Option<String>,
}

/// The mark of a server: each has a shape of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mark {
    /// Connected: a full circle.
    Ready,
    /// Starts at first use: a half circle.
    Idle,
    /// On its way, or tried again: a triangle.
    Waiting,
    /// Broke: a cross.
    Failed,
    /// Somebody has to sign in or to trust: a key.
    NeedsPerson,
    /// Switched off: an empty circle.
    #[default]
    Off,
}

/// A choice of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    /// What is posted.
    pub value: String,
    /// What is read.
    pub label: String,
    /// What it means.
    pub help: Option<String>,
    /// Whether it is the current one.
    pub is_chosen: bool,
}

/// A file that an edit goes to, in the version it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileVersion {
    /// Where it is, as people write it.
    pub path: String,
    /// Posted back as `version` with each edit: nothing is written if the file has another one by then.
    pub version: String,
    /// Why it cannot be edited here, if so.
    pub locked: Option<String>,
}

/// What is wrong with a text, and where.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Problem {
    /// Counted from 1; `None` when it is the whole text.
    pub line: Option<u32>,
    /// Counted from 1.
    pub column: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// A mistake, or something to look at.
    pub is_warning: bool,
}

/// A text that is edited as it stands in its file. Posts `text` and `version`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextEditor {
    /// The file.
    pub file: FileVersion,
    /// The whole text, or the part that is edited.
    pub text: String,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

impl TextEditor {
    /// Whether something is wrong with the text that keeps it from counting.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.problems.iter().any(|problem| !problem.is_warning)
    }
}

/// Where a list is cut.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paging {
    /// As in `100 of 12,431`.
    pub said: String,
    /// The page with newer (or earlier) rows.
    pub newer: Option<String>,
    /// The page with older (or later) rows.
    pub older: Option<String>,
}

/// The difference between two texts, by lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diff {
    /// The lines, with those around them.
    pub lines: Vec<DiffLine>,
}

/// One line of a difference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DiffLine {
    /// What became of it.
    pub kind: DiffKind,
    /// The line, without its end.
    pub text: String,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DiffKind {
    /// It is in both.
    #[default]
    Same,
    /// It was taken away.
    Removed,
    /// It came.
    Added,
    /// Lines are left out here; the text says how many.
    Skipped,
}
