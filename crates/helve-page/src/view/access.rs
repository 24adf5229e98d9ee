//! What the screens around access show: tokens, trust, approvals, the page without a session, errors.

use super::{Choice, ConnectLine, FileVersion, Link, Moment, Tree, WhatWouldChange};

/// The tokens. At `/tokens`; making one posts the fields of [`TokenForm`] to `/tokens`, revoking posts to `/tokens/ID/revoke`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tokens {
    /// The token that was made just now: shown this once.
    pub made: Option<MadeToken>,
    /// The tokens that count.
    pub active: Vec<TokenRow>,
    /// Those that do not any more, newest first, 100 at most.
    pub ended: Vec<TokenRow>,
    /// The devices that came with them, the one seen last first.
    pub devices: Vec<DeviceRow>,
    /// A new one.
    pub form: TokenForm,
}

/// A device that joined.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceRow {
    /// What it calls itself.
    pub name: String,
    /// The name of its token.
    pub token: String,
    /// Whether its token counts.
    pub counts: bool,
    /// When it was last seen.
    pub seen: Moment,
}

/// A token, once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MadeToken {
    /// Its name.
    pub name: String,
    /// The token itself.
    pub token: String,
    /// Which kind.
    pub kind: TokenKind,
    /// How applications are connected with it.
    pub connect: Vec<ConnectLine>,
}

/// What a token is for; never both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenKind {
    /// Agents: calls, nothing else.
    #[default]
    Agent,
    /// Scripts: the admin interface, nothing else.
    Admin,
}

/// One token.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenRow {
    /// Its id: the part of it that is not secret.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Which kind.
    pub kind: TokenKind,
    /// As in `github, files; read only`.
    pub scope: String,
    /// Whether it may answer approvals.
    pub is_approver: bool,
    /// When it was last used.
    pub used: Option<Moment>,
    /// When it ends or ended, and how.
    pub ends: Moment,
    /// As in `revoked`, `expired`; empty while it counts.
    pub ended: String,
    /// Agents connected with it now.
    pub agents: u64,
}

/// A token to be made: `name`, `kind` (`agent`, `admin`), `servers` and `tools` (globs, one a line), `read_only`, `approver`, `days`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenForm {
    /// The name.
    pub name: String,
    /// Which kind.
    pub kind: TokenKind,
    /// Servers it may reach.
    pub servers: String,
    /// Tools it may call.
    pub tools: String,
    /// Only what reads.
    pub read_only: bool,
    /// It may answer approvals.
    pub approver: bool,
    /// How long it counts.
    pub days: Vec<Choice>,
    /// What is wrong.
    pub problem: Option<String>,
}

/// A project's file that asks to be trusted. At `/trust?file=`; posts `file`, `version`, `back` and `do` = `trust` to `/trust`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trust {
    /// The file.
    pub file: FileVersion,
    /// What is asked, in one sentence.
    pub question: String,
    /// Everything in it that counts only when it is trusted, one by one.
    pub entries: Vec<TrustEntry>,
    /// Files that are trusted with it.
    pub with: Vec<String>,
    /// Why it cannot be trusted here, if so.
    pub refused: Option<String>,
    /// Where to go afterwards.
    pub back: String,
}

/// Something that wants trust.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrustEntry {
    /// The entry, as in `github`.
    pub name: String,
    /// The file it is in.
    pub file: String,
    /// What it would do, as in `runs npx -y @example/server`.
    pub does: String,
    /// Everything else that a yes covers, a line each.
    pub details: Vec<String>,
    /// The words it would run, one by one.
    pub words: Vec<String>,
}

/// Calls that wait for a person, and those that did. At `/approvals`; posts to `/approvals/ID/allow` and
/// `/approvals/ID/deny` with `reason:ID`; live at `/live/approvals`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Approvals {
    /// Those that wait, newest first.
    pub waiting: Vec<Approval>,
    /// Those that were answered, newest first, 100 at most.
    pub settled: Vec<SettledApproval>,
}

/// A call that waits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Approval {
    /// Names the question.
    pub id: String,
    /// Whose call.
    pub who: String,
    /// What the agent calls itself.
    pub agent: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// How much harm it could do: `low`, `medium`, `high`.
    pub risk: String,
    /// When it was asked, and until when it can be answered.
    pub asked: Moment,
    /// As in `the call waits, until 14:32`.
    pub waits: String,
    /// The rule that asks, in words.
    pub rule: String,
    /// Where it is written.
    pub place: Option<String>,
    /// Whose answer counts, in words.
    pub answerers: String,
    /// As in `as it was when last approved`; a warning if it is not.
    pub definition: String,
    /// Whether it changed since.
    pub is_changed: bool,
    /// The exact arguments.
    pub arguments: Tree,
    /// What was answered about the same tool before, newest first.
    pub before: Vec<SettledApproval>,
}

/// *Always*: a rule made of a call that waits. At `/approvals/ID/always?who=&argument=`; saving posts `who`, `argument` and
/// `version` there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Always {
    /// Names the question.
    pub id: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// How much harm it could do.
    pub risk: String,
    /// The arguments of the call that waits.
    pub call: Tree,
    /// For whom it would be.
    pub who: Vec<Choice>,
    /// Which arguments it would speak of.
    pub arguments: Vec<Choice>,
    /// The rule as it would be written.
    pub rule: String,
    /// The file it would go to.
    pub file: FileVersion,
    /// Stricter rules that it would stand before.
    pub goes_before: Vec<String>,
    /// What is to be known before.
    pub warning: Option<String>,
    /// Why it would not let this very call through.
    pub held_by: Option<String>,
    /// What it would have decided lately.
    pub what_would_change: WhatWouldChange,
}

/// A question that was answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettledApproval {
    /// Names the question.
    pub id: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Whose call.
    pub who: String,
    /// What was answered.
    pub state: ApprovalState,
    /// By whom.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub at: Moment,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

/// What became of a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ApprovalState {
    /// Allowed, and the call went on.
    #[default]
    Allowed,
    /// Denied.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// Whoever asked may not ask any more.
    Withdrawn,
    /// Allowed, and the call has not been made again yet.
    Unused,
    /// Allowed, and nobody made the call in time.
    Lapsed,
}

/// The page without a session: status 401, no data, no redirect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkNeeded {
    /// Why, as in `This link was used already.`; empty for a first visit.
    pub said: String,
}

/// An error page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ErrorPage {
    /// The status, as in 404.
    pub status: u16,
    /// What happened, as in `There is no server called githb.`
    pub what: String,
    /// What to do.
    pub advice: Vec<String>,
    /// Where to go.
    pub links: Vec<Link>,
}
