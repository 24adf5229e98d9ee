//! How pieces of a line look, and how a line becomes the bytes of a terminal: the only place that makes escape codes.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Effects};
use helve_model::text;
use unicode_width::UnicodeWidthStr as _;

/// What a piece of text is, which decides how it looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Plain,
    /// A heading.
    Heading,
    /// A name that matters here.
    Name,
    /// Beside the point.
    Dim,
    /// As it should be.
    Good,
    /// Worth a look.
    Warning,
    /// Wrong.
    Bad,
    /// Something to do.
    Hint,
}

/// One line in pieces. Whatever the pieces hold, they stay on their line and do not steer the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line<T = String> {
    first: (Style, T),
    /// Mostly empty, and then it holds no memory.
    rest: Vec<(Style, T)>,
}

impl Line {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::styled(Style::Plain, text)
    }

    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self { first: (style, text.into()), rest: Vec::new() }
    }

    /// The same with one more piece.
    #[must_use]
    pub(crate) fn then(mut self, style: Style, text: impl Into<String>) -> Self {
        self.rest.push((style, text.into()));
        self
    }

    /// The same with another line's pieces behind it.
    #[must_use]
    pub(crate) fn append(mut self, other: Self) -> Self {
        self.rest.push(other.first);
        self.rest.extend(other.rest);
        self
    }
}

impl<'a> Line<std::borrow::Cow<'a, str>> {
    /// A line that holds no more than it has to.
    pub(crate) fn borrowed(style: Style, text: impl Into<std::borrow::Cow<'a, str>>) -> Self {
        Self { first: (style, text.into()), rest: Vec::new() }
    }
}

impl<T: AsRef<str>> Line<T> {
    /// The text as it will be seen, without colours.
    pub(crate) fn text(&self) -> String {
        self.pieces().map(|(_, text)| text).collect()
    }

    /// How many columns of a terminal it takes.
    pub(crate) fn width(&self) -> usize {
        if self.rest.is_empty() { width(&text::one_line(self.first.1.as_ref())) } else { width(&self.text()) }
    }

    /// The pieces as they will be seen.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (Style, std::borrow::Cow<'_, str>)> {
        std::iter::once(&self.first).chain(&self.rest).map(|(style, text)| (*style, text::one_line(text.as_ref())))
    }

    /// The bytes for a terminal, or plain text.
    pub(crate) fn render(&self, color: Color) -> String {
        let mut rendered = String::new();
        self.render_into(&mut rendered, color);
        rendered
    }

    /// Adds the same to a text.
    pub(crate) fn render_into(&self, rendered: &mut String, color: Color) {
        for (style, text) in self.pieces() {
            paint(rendered, color, style, &text);
        }
    }
}

/// How many columns of a terminal a safe text takes.
fn width(text: &str) -> usize {
    let (plain, rest) = text::split_plain(text);
    // What follows a character may change how wide it is, so the last plain one is measured with the rest.
    match plain.len().checked_sub(1).and_then(|columns| Some((columns, text.get(columns..)?))) {
        Some((columns, rest_and_last)) if !rest.is_empty() => columns + rest_and_last.width(),
        _ => plain.len() + rest.width(),
    }
}

/// Colours or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    On,
    Off,
}

/// Adds `text`, which is safe already, in its style.
pub(crate) fn paint(rendered: &mut String, color: Color, style: Style, text: &str) {
    let look = style.look();
    if color == Color::Off || look.is_plain() || text.is_empty() {
        rendered.push_str(text);
        return;
    }
    // Writing to a String cannot fail.
    let _ = write!(rendered, "{}{text}{}", look.render(), look.render_reset());
}

impl Style {
    const fn look(self) -> anstyle::Style {
        let plain = anstyle::Style::new();
        match self {
            Self::Plain => plain,
            Self::Heading => plain.effects(Effects::BOLD.insert(Effects::UNDERLINE)),
            Self::Name => plain.bold(),
            Self::Dim => plain.dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default().effects(Effects::BOLD),
            Self::Bad => AnsiColor::Red.on_default().effects(Effects::BOLD),
            Self::Hint => AnsiColor::Cyan.on_default(),
        }
    }
}
