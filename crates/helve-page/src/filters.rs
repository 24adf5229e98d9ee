//! Owns how numbers, marks and verdicts read on a page. Templates use these as filters.
#![expect(unreachable_pub, reason = "the macro that makes a filter of a function writes methods that are public")]

use std::fmt::Write;

use askama::Values;

use crate::view::{
    ApprovalState, CallEnd, DiffKind, Mark, Series, StepState, TimeSpan, TokenKind, Tone, Tree, Verdict,
};
use crate::{draw, escape};

type Text = askama::Result<String>;

/// A count, in a few digits: `9.8 k`.
#[askama::filter_fn]
pub(crate) fn count(number: &u64, _: &dyn Values) -> Text {
    Ok(short(*number, 1_000, &["", " k", " M", " G", " T"]))
}

/// Bytes, in a few digits.
#[askama::filter_fn]
pub(crate) fn bytes(number: &u64, _: &dyn Values) -> Text {
    Ok(short(*number, 1_024, &[" B", " KB", " MB", " GB", " TB"]))
}

/// Microseconds, as people say them.
#[askama::filter_fn]
pub(crate) fn took(us: &u64, _: &dyn Values) -> Text {
    Ok(duration(*us))
}

/// A name as one part of a path.
#[askama::filter_fn]
pub(crate) fn segment(name: &str, _: &dyn Values) -> Text {
    Ok(path_segment(name))
}

/// HTML in which hidden characters are marked.
#[askama::filter_fn]
pub(crate) fn marked(text: &str, _: &dyn Values) -> Text {
    Ok(escape::marked(text))
}

/// HTML that comes back as it was.
#[askama::filter_fn]
pub(crate) fn exactly(text: &str, _: &dyn Values) -> Text {
    Ok(escape::exactly(text))
}

/// The class of a tone.
#[askama::filter_fn]
pub(crate) fn tone(tone: &Tone, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match tone {
        Tone::Plain => "soft",
        Tone::Good => "good",
        Tone::Warn => "warn",
        Tone::Bad => "bad",
    })
}

/// The symbol of a tone.
#[askama::filter_fn]
pub(crate) fn tone_icon(tone: &Tone, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match tone {
        Tone::Plain => "i-off",
        Tone::Good => "i-ready",
        Tone::Warn => "i-wait",
        Tone::Bad => "i-bad",
    })
}

/// The class of a mark.
#[askama::filter_fn]
pub(crate) fn mark(mark: &Mark, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(draw::mark_class(*mark))
}

/// The symbol of a mark.
#[askama::filter_fn]
pub(crate) fn mark_icon(mark: &Mark, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match mark {
        Mark::Ready => "i-ready",
        Mark::Idle => "i-idle",
        Mark::Waiting => "i-wait",
        Mark::Failed => "i-bad",
        Mark::NeedsPerson => "i-key",
        Mark::Off => "i-off",
    })
}

/// A verdict as a word.
#[askama::filter_fn]
pub(crate) fn verdict(verdict: &Verdict, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
        Verdict::Undecided => "–",
    })
}

/// The class of a verdict.
#[askama::filter_fn]
pub(crate) fn verdict_tone(verdict: &Verdict, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match verdict {
        Verdict::Allow => "good",
        Verdict::Ask => "warn",
        Verdict::Deny => "bad",
        Verdict::Undecided => "soft",
    })
}

/// The end of a call as a word.
#[askama::filter_fn]
pub(crate) fn end(end: &CallEnd, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match end {
        CallEnd::Answered => "answered",
        CallEnd::ToolError => "tool error",
        CallEnd::Refused => "refused",
        CallEnd::Failed => "failed",
        CallEnd::Cancelled => "cancelled",
    })
}

/// The class of an end.
#[askama::filter_fn]
pub(crate) fn end_tone(end: &CallEnd, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match end {
        CallEnd::Answered => "good",
        CallEnd::Cancelled => "soft",
        CallEnd::ToolError => "warn",
        CallEnd::Refused | CallEnd::Failed => "bad",
    })
}

/// The symbol of an end.
#[askama::filter_fn]
pub(crate) fn end_icon(end: &CallEnd, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match end {
        CallEnd::Answered => "i-check",
        CallEnd::Cancelled => "i-off",
        CallEnd::ToolError => "i-wait",
        CallEnd::Refused => "i-stop",
        CallEnd::Failed => "i-bad",
    })
}

/// What became of a question, as a word.
#[askama::filter_fn]
pub(crate) fn settled(state: &ApprovalState, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match state {
        ApprovalState::Allowed => "allowed once",
        ApprovalState::Denied => "denied",
        ApprovalState::Expired => "expired",
        ApprovalState::Withdrawn => "withdrawn",
        ApprovalState::Unused => "allowed, not used yet",
        ApprovalState::Lapsed => "allowed, not used in time",
    })
}

/// The class of a risk.
#[askama::filter_fn]
pub(crate) fn risk_tone(risk: &str, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match risk {
        "low" => "good",
        "medium" => "warn",
        _ => "bad",
    })
}

/// The symbol of a step.
#[askama::filter_fn]
pub(crate) fn step_icon(state: &StepState, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match state {
        StepState::Waiting => "i-off",
        StepState::Running => "i-wait",
        StepState::Done => "i-check",
        StepState::Failed => "i-bad",
    })
}

/// A step's state as a word.
#[askama::filter_fn]
pub(crate) fn step(state: &StepState, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match state {
        StepState::Waiting => "not tried",
        StepState::Running => "running",
        StepState::Done => "done",
        StepState::Failed => "failed",
    })
}

/// The class of a step.
#[askama::filter_fn]
pub(crate) fn step_tone(state: &StepState, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match state {
        StepState::Waiting => "soft",
        StepState::Running => "warn",
        StepState::Done => "good",
        StepState::Failed => "bad",
    })
}

/// The class of a line of a difference.
#[askama::filter_fn]
pub(crate) fn diff_class(kind: &DiffKind, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match kind {
        DiffKind::Same => "same",
        DiffKind::Removed => "del",
        DiffKind::Added => "ins",
        DiffKind::Skipped => "skip",
    })
}

/// The sign of a line of a difference.
#[askama::filter_fn]
pub(crate) fn diff_sign(kind: &DiffKind, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match kind {
        DiffKind::Same => " ",
        DiffKind::Removed => "-",
        DiffKind::Added => "+",
        DiffKind::Skipped => "⋯",
    })
}

/// What a token is for, as a word.
#[askama::filter_fn]
pub(crate) fn token_kind(kind: &TokenKind, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match kind {
        TokenKind::Agent => "agent",
        TokenKind::Admin => "admin",
    })
}

/// A small line of a series.
#[askama::filter_fn]
pub(crate) fn spark(series: &Series, _: &dyn Values) -> Text {
    Ok(draw::spark(&series.points))
}

/// JSON as a tree that can be folded.
#[askama::filter_fn]
pub(crate) fn tree(tree: &Tree, _: &dyn Values) -> Text {
    Ok(draw::tree(tree))
}

/// Where the time of a call went.
#[askama::filter_fn]
pub(crate) fn times(spans: &[TimeSpan], _: &dyn Values) -> Text {
    Ok(draw::times(spans))
}

pub(crate) fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..10_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        10_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..60_000_000 => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
        _ => format!("{} min", us / 60_000_000),
    }
}

fn short(number: u64, step: u64, units: &[&str]) -> String {
    let mut unit = 0;
    let mut whole = u128::from(number) * 10;
    let step = u128::from(step);
    while whole >= step * 10 && unit + 1 < units.len() {
        whole /= step;
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or_default();
    if unit == 0 || whole >= 100 {
        format!("{}{name}", whole / 10)
    } else {
        format!("{}.{}{name}", whole / 10, whole % 10)
    }
}

pub(crate) fn path_segment(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') || (byte == b'.' && name.len() > 2) {
            path.push(char::from(byte));
        } else {
            // Writing into a String cannot fail.
            let _: std::fmt::Result = write!(path, "%{byte:02X}");
        }
    }
    path
}

#[cfg(test)]
#[path = "filters_tests.rs"]
mod tests;
