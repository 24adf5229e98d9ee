//! Owns the parts of pages that change by themselves: rendered once per topic, sent to everybody who looks at it. None of
//! them holds anything of a session.

use askama::Template;

use crate::page::rendered;
use crate::view::{Approvals, Calls, LogLine, Overview, ResultPart, ServerHead, Servers, TestRun, TryOutcome, TryTool};
use crate::{draw, filters};

macro_rules! fragment {
    ($(#[$doc:meta])* $function:ident, $name:ident, $field:ident: $view:ty, $template:literal) => {
        #[derive(Template)]
        #[template(path = $template)]
        struct $name<'a> {
            $field: &'a $view,
        }

        $(#[$doc])*
        #[must_use]
        pub fn $function($field: &$view) -> String {
            rendered($name { $field }.render())
        }
    };
}

fragment!(
    /// The overview, at `/live/overview`.
    overview, OverviewLive, view: Overview, "overview_live.html"
);
fragment!(
    /// The list of servers, at `/live/servers`.
    servers, ServersLive, view: Servers, "servers_live.html"
);
fragment!(
    /// A test that runs, at `/live/test/ID`; its end is the event `done`.
    test, TestLive, test: TestRun, "test_live.html"
);
fragment!(
    /// A try that runs, at `/live/try/ID`; its end is the event `done`.
    try_tool, TryLive, view: TryTool, "try_live.html"
);
fragment!(
    /// The newest calls, at `/live/calls`.
    calls, CallsLive, view: Calls, "calls_live.html"
);
fragment!(
    /// What waits, at `/live/approvals`.
    approvals, ApprovalsLive, view: Approvals, "approvals_live.html"
);

#[derive(Template)]
#[template(path = "server_live.html")]
struct ServerLive<'a> {
    head: &'a ServerHead,
    strip: String,
}

/// The head of a server, at `/live/server/NAME`.
#[must_use]
pub fn server(head: &ServerHead) -> String {
    rendered(ServerLive { head, strip: draw::strip(&head.history) }.render())
}

#[derive(Template)]
#[template(path = "log_live.html")]
struct LogLive<'a> {
    lines: &'a [LogLine],
    dropped: &'a u64,
}

/// The log of a server, at `/live/log/NAME`.
#[must_use]
pub fn log(lines: &[LogLine], dropped: u64) -> String {
    rendered(LogLive { lines, dropped: &dropped }.render())
}
