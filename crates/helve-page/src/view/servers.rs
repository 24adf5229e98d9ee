//! What the list of servers and the screen that adds one show.

use super::{Choice, FileVersion, Paging, Problem, Series, Status, Tone, TrustEntry};

/// All servers. At `/servers?q=`; live at `/live/servers`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Servers {
    /// What is looked for.
    pub filter: String,
    /// The rows, 100 at most.
    pub rows: Vec<ServerRow>,
    /// Where the list is cut.
    pub paging: Paging,
    /// Servers in all.
    pub servers: u64,
    /// Tools of all of them.
    pub tools: u64,
    /// What all definitions together cost a model, in tokens.
    pub tokens: u64,
    /// Why nothing can be added here, if so.
    pub locked: Option<String>,
    /// Projects' files that nobody has trusted yet.
    pub untrusted: Vec<TrustEntry>,
    /// Entries of other applications' files, which can be imported and are never written.
    pub imports: Vec<ImportRow>,
}

/// One server of the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerRow {
    /// Its name.
    pub name: String,
    /// How it is doing.
    pub status: Status,
    /// `program`, `HTTP`, `built in`.
    pub transport: String,
    /// The protocol's revision it speaks, once known.
    pub era: Option<String>,
    /// What holds it, for programs.
    pub sandbox: Option<Sandbox>,
    /// Its tools.
    pub tools: u64,
    /// What its definitions cost a model, in tokens.
    pub tokens: u64,
    /// Calls of the last hour.
    pub calls: Series,
    /// The last error of a call, if it was lately.
    pub last_error: Option<String>,
    /// Why its entry cannot be edited here, if so.
    pub locked: Option<String>,
    /// Where its entry is, as in `~/.config/helve/helve.toml:12`.
    pub origin: String,
}

/// What holds a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sandbox {
    /// As in `confined`, `not confined`.
    pub word: String,
    /// Whether that is as asked for.
    pub tone: Tone,
    /// What it may touch, one line each.
    pub details: Vec<String>,
}

/// An entry of another application's file. Posts `typed` to `/servers/new`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportRow {
    /// The entry's name.
    pub name: String,
    /// Whose file it is.
    pub application: String,
    /// The file.
    pub file: String,
    /// What the field of the screen that adds is filled with.
    pub typed: String,
}

/// Adding a server. At `/servers/new`; posts `typed`, the fields below and `do` = `understand`, `test` or `save`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Add {
    /// What was typed: a command line, a URL, a snippet of any client's configuration.
    pub typed: String,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// Why programs cannot be added here, if so.
    pub programs_refused: Option<String>,
    /// What it was understood as.
    pub understood: Option<Understood>,
}

/// What was typed, understood.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Understood {
    /// As in `a command line`, `a snippet of Cursor's configuration`.
    pub came_as: String,
    /// Its name. Posted as `name`.
    pub name: String,
    /// The servers of the snippet, if it has several. Posted as `entry`.
    pub entries: Vec<Choice>,
    /// What it would run, or where it would connect.
    pub kind: UnderstoodKind,
    /// Which sandbox. Posted as `sandbox`.
    pub sandboxes: Vec<Choice>,
    /// What the sandbox chosen would let it touch.
    pub sandbox: Sandbox,
    /// Values that are asked for. Posted as `secret:NAME`, never shown again.
    pub secrets: Vec<SecretSlot>,
    /// Which file it would go to. Posted as `scope`.
    pub scopes: Vec<Choice>,
    /// That file.
    pub file: FileVersion,
    /// What would be written into it.
    pub text: String,
    /// What is to be known before.
    pub warnings: Vec<String>,
    /// Whether it may be tested and saved.
    pub refused: Option<String>,
    /// Names all that is shown here: testing and saving post it back as `shown`, so that nobody says yes to something else.
    pub shown: String,
    /// The test of it, if there was one. Live at `/live/test/ID`.
    pub test: Option<TestRun>,
}

/// What would run, or where it would connect.
#[derive(Debug, Clone, PartialEq)]
pub enum UnderstoodKind {
    /// A program on this machine: running code.
    Program {
        /// The words of its command, one by one, as they would be run.
        words: Vec<String>,
        /// The file that the first word is, on this machine.
        resolved: Option<String>,
        /// Where it would run.
        directory: Option<String>,
        /// Variables it would get; values of secrets are left out.
        variables: Vec<(String, String)>,
    },
    /// A server at an address.
    Http {
        /// The address.
        url: String,
        /// Headers it would get; values of secrets are left out.
        headers: Vec<(String, String)>,
    },
    /// Tools that come with helve.
    BuiltIn {
        /// Which.
        name: String,
    },
}

impl Default for UnderstoodKind {
    fn default() -> Self {
        Self::BuiltIn { name: String::new() }
    }
}

/// A value that is asked for and never shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SecretSlot {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Where it would go, as in `the variable GITHUB_TOKEN of the program npx`.
    pub goes_to: String,
    /// Whether there is a value already.
    pub is_filled: bool,
    /// What stands for a value that was typed and not saved yet.
    pub mark: Option<String>,
}

/// A server that was started aside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestRun {
    /// What the live topic is called.
    pub id: String,
    /// Whether it still runs.
    pub is_running: bool,
    /// What was done, in order.
    pub steps: Vec<Step>,
    /// The exact failure.
    pub failure: Option<Failure>,
    /// The names of its tools.
    pub tools: Vec<String>,
}

/// One step of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// As in `Start the program`.
    pub what: String,
    /// How it went.
    pub state: StepState,
    /// What was learned, as in `process 4711`.
    pub detail: Option<String>,
    /// How long it took, in microseconds.
    pub took_us: Option<u64>,
}

/// How a step went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StepState {
    /// Not begun.
    #[default]
    Waiting,
    /// Under way.
    Running,
    /// Done.
    Done,
    /// Failed: what follows was not tried.
    Failed,
}

/// Why something failed, exactly.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Failure {
    /// The code, as in `TRANSPORT_ERROR`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do.
    pub hints: Vec<String>,
    /// The last lines of the program's stderr.
    pub stderr: Vec<String>,
}
