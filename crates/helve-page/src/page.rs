//! Owns the whole pages: one function per screen, from what it shows to HTML.

use askama::Template;

use crate::assets::{Paths, paths};
use crate::filters::path_segment;
use crate::view::{
    Add, Always, Approvals, Call, Calls, Change, Changes, Conflict, ErrorPage, Frame, Hub, LinkNeeded, Overview, Pin,
    ResultPart, Rules, Section, Server, ServerHead, Servers, SettingControl, Settings, Tab, TokenKind, Tokens, Tone,
    Trust, TryOutcome, TryTool, UnderstoodKind,
};
use crate::{draw, filters};

/// Declares a screen: its view, its template, and the function that renders it.
macro_rules! screen {
    ($(#[$doc:meta])* $function:ident, $name:ident, $view:ty, $template:literal) => {
        #[derive(Template)]
        #[template(path = $template)]
        struct $name<'a> {
            paths: Paths,
            frame: &'a Frame,
            view: &'a $view,
        }

        $(#[$doc])*
        #[must_use]
        pub fn $function(frame: &Frame, view: &$view) -> String {
            rendered($name { paths: paths(), frame, view }.render())
        }
    };
}

screen!(
    /// What needs a person, the last hour, the newest calls.
    overview, OverviewPage, Overview, "overview.html"
);
screen!(
    /// All servers.
    servers, ServersPage, Servers, "servers.html"
);
screen!(
    /// Adding a server.
    add, AddPage, Add, "add.html"
);
screen!(
    /// One call.
    call, CallPage, Call, "call.html"
);
screen!(
    /// The rules.
    rules, RulesPage, Rules, "rules.html"
);
screen!(
    /// The tokens.
    tokens, TokensPage, Tokens, "tokens.html"
);
screen!(
    /// What people changed.
    changes, ChangesPage, Changes, "changes.html"
);
screen!(
    /// One change.
    change, ChangePage, Change, "change.html"
);
screen!(
    /// An edit of a file that has changed since.
    conflict, ConflictPage, Conflict, "conflict.html"
);
screen!(
    /// The hub itself.
    hub, HubPage, Hub, "hub.html"
);
screen!(
    /// A file that asks to be trusted.
    trust, TrustPage, Trust, "trust.html"
);
screen!(
    /// Calls that wait for a person.
    approvals, ApprovalsPage, Approvals, "approvals.html"
);

screen!(
    /// A rule made of a call that waits.
    always, AlwaysPage, Always, "always.html"
);

#[derive(Template)]
#[template(path = "server.html")]
struct ServerPage<'a> {
    paths: Paths,
    frame: &'a Frame,
    view: &'a Server,
    head: &'a ServerHead,
    base: String,
    tab: &'static str,
    strip: String,
}

/// One server.
#[must_use]
pub fn server(frame: &Frame, view: &Server) -> String {
    let tab = match view.tab {
        Tab::Tools { .. } => "tools",
        Tab::Settings(_) => "settings",
        Tab::Log { .. } => "log",
        Tab::Calls { .. } => "calls",
    };
    let (base, strip) = (format!("/servers/{}", path_segment(&view.head.name)), draw::strip(&view.head.history));
    rendered(ServerPage { paths: paths(), frame, view, head: &view.head, base, tab, strip }.render())
}

#[derive(Template)]
#[template(path = "try_tool.html")]
struct TryPage<'a> {
    paths: Paths,
    frame: &'a Frame,
    view: &'a TryTool,
    action: String,
    fields: String,
}

/// Trying a tool.
#[must_use]
pub fn try_tool(frame: &Frame, view: &TryTool) -> String {
    let action = format!("/servers/{}/tools/{}", path_segment(&view.server), path_segment(&view.tool));
    let fields = draw::form(&view.form.fields, &action);
    rendered(TryPage { paths: paths(), frame, view, action, fields }.render())
}

#[derive(Template)]
#[template(path = "calls.html")]
struct CallsPage<'a> {
    paths: Paths,
    frame: &'a Frame,
    view: &'a Calls,
    bars: String,
    live: String,
}

/// The calls.
#[must_use]
pub fn calls(frame: &Frame, view: &Calls) -> String {
    // The same filters as the page: all of them are in its address.
    let query = view.toggle_live.split_once('?').map_or("", |(_, query)| query);
    let live = if query.is_empty() { "/live/calls".to_owned() } else { format!("/live/calls?{query}") };
    rendered(CallsPage { paths: paths(), frame, view, bars: draw::bars(&view.bars), live }.render())
}

#[derive(Template)]
#[template(path = "link_needed.html")]
struct LinkNeededPage<'a> {
    paths: Paths,
    view: &'a LinkNeeded,
}

/// The page without a session.
#[must_use]
pub fn link_needed(view: &LinkNeeded) -> String {
    rendered(LinkNeededPage { paths: paths(), view }.render())
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPageTemplate<'a> {
    paths: Paths,
    view: &'a ErrorPage,
}

/// An error.
#[must_use]
pub fn error(view: &ErrorPage) -> String {
    rendered(ErrorPageTemplate { paths: paths(), view }.render())
}

/// Our filters never fail and a String takes whatever is written to it, so there is always a page.
pub(crate) fn rendered(page: askama::Result<String>) -> String {
    page.unwrap_or_default()
}
