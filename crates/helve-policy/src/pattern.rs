//! What a rule's text names: a server glob and a tool glob in one of the spellings, and a pattern over arguments.

use std::borrow::Cow;

use helve_model::ServerName;
use helve_model::name::{CODE_PREFIX, PLACED_CODE_PREFIX, PROVIDER_PREFIX, PlaceName};

use crate::glob::has_wildcard;

/// In which spelling a rule's two globs are written, hence of which spelling of a name they are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// The identity itself: rules written `server/tool` or `server:tool`.
    Identity,
    /// `mcp__server__tool`.
    Provider,
    /// `device.ServerMCP.tool`, `devices.place.ServerMCP.tool`.
    Code,
    /// Any whole spelling, shortened ones too; only for rules that restrict.
    Whole,
}

impl View {
    pub(crate) const ALL: [Self; 4] = [Self::Identity, Self::Provider, Self::Code, Self::Whole];
}

/// A rule's text, split.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NameGlobs<'text> {
    pub(crate) view: View,
    pub(crate) server: Cow<'text, str>,
    pub(crate) tool: Cow<'text, str>,
    pub(crate) whose: Whose,
}

/// Of which servers a text can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Any that its glob matches.
    Anybody,
    /// Local ones: `device` never means one of a hub.
    Local,
    /// Those of hubs.
    Placed,
}

impl Whose {
    pub(crate) fn includes(self, server: &ServerName) -> bool {
        match self {
            Self::Anybody => true,
            Self::Local => server.place().is_none(),
            Self::Placed => server.place().is_some(),
        }
    }
}

/// What a rule's text names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named<'text> {
    /// One of these; several only where `__` could be the end of the server in several places.
    Tools(Vec<NameGlobs<'text>>),
    /// A name without a server.
    Bare,
    /// Braces or brackets around the place where the server ends.
    Unsplittable,
}

const ANY: Cow<'static, str> = Cow::Borrowed("*");

/// Splits a rule's text into a server glob and a tool glob.
pub(crate) fn split(text: &str) -> Named<'_> {
    let globs = |view, server, tool| NameGlobs { view, server, tool, whose: Whose::Anybody };
    if matches!(text, "*" | "**") {
        return Named::Tools(vec![globs(View::Identity, ANY, ANY)]);
    }
    if let Some(position) = first_outside_brackets(text, |rest| rest.starts_with(['/', ':'])) {
        let (server, rest) = text.split_at(position);
        if server.is_empty() {
            return Named::Unsplittable;
        }
        let tool = Cow::Borrowed(rest.get(1..).unwrap_or_default());
        return Named::Tools(vec![globs(View::Identity, unescape_server(server), tool)]);
    }
    if let Some(rest) = text.strip_prefix(PROVIDER_PREFIX) {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(position) = first_outside_brackets_from(rest, from, |rest| rest.starts_with("__")) {
            let (server, tool) = rest.split_at(position);
            if !server.is_empty() {
                found.push(globs(View::Provider, server.into(), tool.get(2..).unwrap_or_default().into()));
            }
            from = position + 1;
        }
        let begun = rest.trim_start_matches('_');
        return match found.is_empty() {
            false => Named::Tools(found),
            // What stands first is the beginning of a server's name, not its end: `__` may begin a name that was shortened.
            true if begun.is_empty() || begun.contains("__") => Named::Unsplittable,
            true => Named::Tools(vec![globs(View::Provider, rest.into(), ANY)]),
        };
    }
    if let Some(rest) = text.strip_prefix(CODE_PREFIX) {
        return code(rest, 0, Whose::Local);
    }
    if let Some(rest) = text.strip_prefix(PLACED_CODE_PREFIX) {
        let place = first_outside_brackets(rest, |rest| rest.starts_with('.'));
        return match place {
            Some(place) => code(rest, place + 1, Whose::Placed),
            None if rest.contains('.') || rest.is_empty() => Named::Unsplittable,
            // The whole place.
            None => Named::Tools(vec![NameGlobs {
                view: View::Code,
                server: format!("{rest}.*").into(),
                tool: ANY,
                whose: Whose::Placed,
            }]),
        };
    }
    let is_spelled = [PROVIDER_PREFIX, CODE_PREFIX, PLACED_CODE_PREFIX].iter().any(|prefix| text.contains(prefix));
    if text.contains(['/', ':']) || is_spelled { Named::Unsplittable } else { Named::Bare }
}

/// `ServerMCP.tool`, where the server's name ends at the first dot from `from` on.
fn code(rest: &str, from: usize, whose: Whose) -> Named<'_> {
    let (server, tool) = match first_outside_brackets_from(rest, from, |rest| rest.starts_with('.')) {
        Some(position) => {
            let (server, tool) = rest.split_at(position);
            (server, tool.get(1..).unwrap_or_default().into())
        }
        None if rest.get(from..).is_none_or(|rest| rest.contains('.') || rest.is_empty()) => {
            return Named::Unsplittable;
        }
        None => (rest, ANY),
    };
    Named::Tools(vec![NameGlobs { view: View::Code, server: server.into(), tool, whose }])
}

/// The ways to read a text as names of a place's servers: `hub/github/create_issue`, `hub/github/*`, and `hub/*` or
/// `mcp__hub__*` for all of them. None where what stands first cannot be a place: a glob there means local
/// servers and places alike, by their whole names.
pub(crate) fn placed(text: &str) -> Vec<NameGlobs<'_>> {
    let is_place = |place: &str| PlaceName::new(place).is_ok();
    let provider = text.strip_prefix(PROVIDER_PREFIX).map(|rest| rest.split_once("__").unwrap_or((rest, "*")));
    let (view, border, place, rest) = match (text.split_once('/'), provider) {
        (Some((place, rest)), _) if is_place(place) => (View::Identity, "/", place, rest),
        (None, Some((place, rest))) if is_place(place) => (View::Provider, "__", place, rest),
        _ => return Vec::new(),
    };
    let globs = |server: Cow<'_, str>, tool| NameGlobs {
        view,
        server: format!("{place}{border}{server}").into(),
        tool,
        whose: Whose::Placed,
    };
    let is_border = |rest: &str| match view {
        View::Identity => rest.starts_with(['/', ':']),
        _ => rest.starts_with(border),
    };
    if let Some(position) = first_outside_brackets(rest, is_border) {
        let (server, tool) = rest.split_at(position);
        // In the other spelling this is one of the usual readings.
        let is_new = view == View::Identity;
        let tool = Cow::Borrowed(tool.get(1..).unwrap_or_default());
        return if is_new { vec![globs(unescape_server(server), tool)] } else { Vec::new() };
    }
    // A star may stand for the end of the server's name and the beginning of the tool's.
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(position) = first_outside_brackets_from(rest, from, |rest| rest.starts_with('*')) {
        let (server, tool) = (rest.get(..=position).unwrap_or_default(), rest.get(position..).unwrap_or_default());
        found.push(globs(unescape_server(server), Cow::Borrowed(tool)));
        from = position + 1;
        if found.len() == MAX_STARS {
            break;
        }
    }
    found
}

/// Stars of one text at which the server's name may end.
const MAX_STARS: usize = 4;

/// A rule's `pattern`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentGlob<'text> {
    /// The argument it speaks of; `None`: any string argument.
    pub(crate) key: Option<&'text str>,
    pub(crate) glob: &'text str,
}

/// Reads `key=glob`, or a glob over any string argument. A key consists of letters, digits, `_`, `-`, `.` and `$`.
pub(crate) fn argument_glob(pattern: &str) -> ArgumentGlob<'_> {
    match pattern.split_once('=') {
        Some((key, glob)) if is_key(key) => ArgumentGlob { key: Some(key), glob },
        _ => ArgumentGlob { key: None, glob: pattern },
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '$'))
}

/// `%2F`, `%3A` and `%25` stand for `/`, `:` and `%`; any other `%` for itself.
fn unescape_server(server: &str) -> Cow<'_, str> {
    if !server.contains('%') {
        return Cow::Borrowed(server);
    }
    Cow::Owned(server.replace("%2F", "/").replace("%3A", ":").replace("%25", "%"))
}

fn first_outside_brackets(text: &str, found: impl Fn(&str) -> bool) -> Option<usize> {
    first_outside_brackets_from(text, 0, found)
}

/// The first byte position from `from` on that is in no `[…]` or `{…}` and not escaped, and where `found` holds.
fn first_outside_brackets_from(text: &str, from: usize, found: impl Fn(&str) -> bool) -> Option<usize> {
    if !has_wildcard(text) {
        return text
            .char_indices()
            .map(|(position, _)| position)
            .find(|position| *position >= from && text.get(*position..).is_some_and(&found));
    }
    let (mut depth, mut in_class, mut escaped) = (0_u32, false, false);
    for (position, character) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        let outside = depth == 0 && !in_class;
        if outside && position >= from && text.get(position..).is_some_and(&found) {
            return Some(position);
        }
        match character {
            '\\' => escaped = true,
            '[' if !in_class => in_class = true,
            ']' => in_class = false,
            '{' if !in_class => depth += 1,
            '}' if !in_class => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
