//! Fenced code blocks: in which lines of a text tags are only talked about.
//!
//! A line that begins with three or more backticks or tildes opens a block; the next line of as many or more of the
//! same, and nothing else, closes it. White space before them does not count: lists indent their blocks.

use super::Ends;

/// Fewer marks than this are not fence.
const MARKS: usize = 3;

/// How an open block was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

/// What a line is to fences.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FenceLine {
    /// It depends on what follows.
    Unsure,
    /// No fence.
    No,
    /// After this line, which is so long, `fence` is open, or none is.
    Changes { fence: Option<Fence>, length: usize },
}

impl FenceLine {
    /// The line that `text` begins with.
    pub(super) fn of(text: &str, open: Option<Fence>, ends: Ends) -> Self {
        let unless_more = |settled| if ends == Ends::Here { settled } else { Self::Unsure };
        let unindented = text.trim_start_matches([' ', '\t']);
        let Some(mark) = unindented.chars().next() else { return unless_more(Self::No) };
        if !matches!(mark, '`' | '~') {
            return Self::No;
        }
        let after = unindented.trim_start_matches(mark);
        let length = unindented.len() - after.len();
        if after.is_empty() && ends == Ends::Later {
            return Self::Unsure;
        }
        if length < MARKS {
            return Self::No;
        }
        let (line, line_end) = match text.find('\n') {
            Some(newline) => (after.lines().next().unwrap_or_default(), newline + 1),
            None if ends == Ends::Later => return Self::Unsure,
            None => (after, text.len()),
        };
        let fence = match open {
            None if mark == '`' && line.contains('`') => return Self::No,
            None => Some(Fence { mark, length }),
            Some(open) if open.mark == mark && open.length <= length && line.trim().is_empty() => None,
            Some(_) => return Self::No,
        };
        Self::Changes { fence, length: line_end }
    }
}
