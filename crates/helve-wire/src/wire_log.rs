//! What is said on the wire, as log lines: one for each message at `debug`, its text at `trace`. Messages only: what
//! goes beside them, such as headers and their secrets, is never logged.

use std::borrow::Cow;
use std::fmt;

use helve_model::json::scan;
use helve_model::text::is_invisible;
use tracing::Level;

/// So much of a message's text is logged, in characters.
const SHOWN_TEXT: usize = 4_000;
/// So much of a method's name or of an id is logged, in characters.
const SHOWN_NAME: usize = 100;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the peer.
    Sent,
    /// From the peer.
    Heard,
}

/// Logs one message. Where nobody listens it costs one comparison.
#[inline]
pub(crate) fn log(server: &str, way: Way, message: &[u8]) {
    if tracing::enabled!(Level::DEBUG) {
        write(server, way, &String::from_utf8_lossy(message));
    }
}

#[cold]
fn write(server: &str, way: Way, text: &str) {
    let (mut id, mut method) = ("", "");
    for member in scan::members(text).into_iter().flatten().map_while(Result::ok) {
        match member.raw_key {
            "id" => id = member.value,
            "method" => method = member.value.trim_matches('"'),
            _ => {}
        }
    }
    let kind = match (method.is_empty(), id.is_empty()) {
        (false, false) => "request",
        (false, true) => "notification",
        (true, false) => "answer",
        (true, true) => "no message",
    };
    let (id, method) = (shown(id, SHOWN_NAME), shown(method, SHOWN_NAME));
    tracing::debug!(server, %id, %method, bytes = text.len(), "{way} {kind}");
    tracing::trace!(server, "{way} {}", shown(text, SHOWN_TEXT));
}

/// The beginning of a text, without what could steer a terminal.
fn shown(text: &str, characters: usize) -> Cow<'_, str> {
    let is_cut = text.chars().nth(characters).is_some();
    if !is_cut && !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let safe = |character: char| if is_invisible(character) { char::REPLACEMENT_CHARACTER } else { character };
    let mut beginning: String = text.chars().take(characters).map(safe).collect();
    if is_cut {
        beginning.push('…');
    }
    Cow::Owned(beginning)
}

impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Sent => "sent",
            Self::Heard => "heard",
        })
    }
}
