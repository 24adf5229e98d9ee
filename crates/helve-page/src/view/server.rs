//! What the screen of one server shows.

use super::{CallRow, Choice, Decision, Diff, Mark, Moment, Paging, Sandbox, Status, TextEditor};

/// One server. At `/servers/NAME`, `…/settings`, `…/log`, `…/calls`; live at `/live/server/NAME`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Server {
    /// What stands above every tab.
    pub head: ServerHead,
    /// The tab.
    pub tab: Tab,
}

/// What stands above every tab. Posts to `…/restart`, `…/enable`, `…/disable`, `…/remove`, `…/sign-in`, `…/sign-out`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerHead {
    /// Its name.
    pub name: String,
    /// A name for people, in the server's words.
    pub title: Option<String>,
    /// How it is doing.
    pub status: Status,
    /// The last day, oldest first.
    pub history: Vec<StatusSpan>,
    /// `program`, `HTTP`, `built in`.
    pub transport: String,
    /// The command line or the address, without secrets.
    pub target: String,
    /// The protocol's revision it speaks.
    pub era: Option<String>,
    /// The name and version the server gives itself.
    pub version: Option<String>,
    /// What holds it.
    pub sandbox: Option<Sandbox>,
    /// Where its entry is.
    pub origin: String,
    /// Why its entry cannot be edited here, if so.
    pub locked: Option<String>,
    /// Whether it is switched on.
    pub is_on: bool,
    /// Its login, for those that have one.
    pub sign_in: Option<SignIn>,
    /// Tools whose definition changed since it was approved.
    pub changed_tools: u64,
}

/// A stretch of a day.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatusSpan {
    /// How it was.
    pub mark: Mark,
    /// For how many minutes.
    pub minutes: u64,
    /// As in `failed from 14:02 to 14:05: exited with status 1`.
    pub said: String,
}

/// The login of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignIn {
    /// Whether there is one.
    pub is_signed_in: bool,
    /// As in `signed in until 18:30, renewed by itself`, or why not.
    pub said: String,
    /// Where the browser would be sent, shown before it is.
    pub provider: Option<String>,
    /// The page to sign in on, once a login has begun. A link, because no form may lead elsewhere.
    pub page: Option<String>,
}

/// The tabs of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Tab {
    /// Its tools, and what changed in them.
    Tools {
        /// What is looked for.
        filter: String,
        /// The tools, 100 at most.
        rows: Vec<ToolRow>,
        /// Where the list is cut.
        paging: Paging,
        /// Definitions that changed, not yet accepted.
        changes: Vec<DefinitionChange>,
        /// What the server tells models about itself.
        instructions: Option<String>,
    },
    /// Its entry, as a form or as text.
    Settings(Settings),
    /// What it writes to stderr. Live at `/live/log/NAME`.
    Log {
        /// The lines, oldest first, 500 at most.
        lines: Vec<LogLine>,
        /// Lines that are not kept any more.
        dropped: u64,
    },
    /// Its calls.
    Calls {
        /// The rows, 100 at most.
        rows: Vec<CallRow>,
        /// Where the list is cut.
        paging: Paging,
    },
}

impl Default for Tab {
    fn default() -> Self {
        Self::Log { lines: Vec::new(), dropped: 0 }
    }
}

/// One tool of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolRow {
    /// Its name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, in the server's words.
    pub description: Option<String>,
    /// How much harm it could do: `low`, `medium`, `high`.
    pub risk: String,
    /// What would be decided about a call of it.
    pub decision: Decision,
    /// Whether its definition is held fast. Posts `tool` and `pin` or `unpin` to `…/pins`.
    pub pin: Pin,
    /// Calls of the last 30 days.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// What its definition costs a model, in tokens.
    pub tokens: u64,
    /// It comes with a view of its own, which is not shown here.
    pub has_view: bool,
}

/// Whether a definition is held fast.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pin {
    /// A change is taken as it comes.
    #[default]
    Open,
    /// A change holds the tool back until somebody accepts it.
    Pinned,
    /// It changed, and is held back.
    Changed,
}

/// A definition that changed. Accepting posts `tool` and `definition` to `…/pins/accept`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DefinitionChange {
    /// The tool.
    pub tool: String,
    /// When it was seen.
    pub seen: Moment,
    /// As in `its description and 2 parameters changed`.
    pub said: String,
    /// What changed.
    pub diff: Diff,
    /// Names the new definition, so that no other one is accepted.
    pub definition: String,
    /// Whether calls of it are held back.
    pub is_held: bool,
}

/// The entry of a server. Posts the fields, or `text`, with `version` to `…/settings`.
#[derive(Debug, Clone, PartialEq)]
pub enum Settings {
    /// As a form; `…/settings?as=text` leads to the other.
    Form {
        /// The fields, in the order of the file.
        fields: Vec<SettingField>,
        /// The file.
        file: super::FileVersion,
        /// What no form can show; it stays as it is.
        kept: Vec<String>,
    },
    /// As text.
    Text(TextEditor),
}

/// One setting.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingField {
    /// What is posted.
    pub key: String,
    /// What is read.
    pub label: String,
    /// What it means.
    pub help: Option<String>,
    /// How it is edited.
    pub control: SettingControl,
    /// What is wrong with it.
    pub problem: Option<String>,
}

/// How a setting is edited.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingControl {
    /// A line.
    Line(String),
    /// Words or patterns, one a line.
    Lines(Vec<String>),
    /// Names and values, `NAME=value` a line; references to secrets stay references.
    Pairs(Vec<(String, String)>),
    /// Yes or no. Posts `on` or nothing.
    Switch(bool),
    /// One of these.
    Choice(Vec<Choice>),
    /// A value that is never shown. Empty: it stays.
    Secret {
        /// Whether there is one.
        is_filled: bool,
    },
}

impl Default for SettingControl {
    fn default() -> Self {
        Self::Line(String::new())
    }
}

/// A line of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogLine {
    /// When, as in `14:02:11.042`.
    pub at: String,
    /// As in `stderr`, `info`, `helve`.
    pub source: String,
    /// The line.
    pub text: String,
}
