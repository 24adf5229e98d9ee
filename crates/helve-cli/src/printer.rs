//! What goes where: stdout is data, stderr is talk. Every text passes [`safe`] on its way.

pub(crate) mod json;
mod pretty;
mod style;
mod table;

use std::io::{self, Write as _};
use std::sync::Arc;

use helve_model::{Hint, text};
use helve_setup::Environment;
use serde::Serialize;

use crate::console::{Console, variable};
use crate::failure::Failure;
use crate::hint_words::HintWords;
use crate::options::{ColorChoice, GlobalOptions};
use crate::redact;

pub(crate) use style::{Color, Line, Style};
pub(crate) use table::{Table, cut};

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Errors only.
    Quiet,
    Normal,
    /// Notes too.
    Verbose,
    /// And log lines of everything.
    Debug,
}

/// The way out for everything helve says.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    pub(crate) verbosity: Verbosity,
    is_json: bool,
    is_terminal: bool,
    stdout: Color,
    stderr: Color,
    width: Option<usize>,
    /// How hints are said.
    pub(crate) words: Arc<HintWords>,
}

impl Printer {
    pub(crate) fn new(env: &Environment, console: Console, options: &GlobalOptions) -> Self {
        let verbosity = match (options.quiet, options.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::Debug,
        };
        Self {
            verbosity,
            is_json: options.json,
            is_terminal: console.stdout_is_terminal,
            stdout: color(env, options.color, console.stdout_is_terminal),
            stderr: color(env, options.color, console.stderr_is_terminal),
            width: console.width(env),
            words: Arc::new(HintWords::new(env)),
        }
    }

    /// True when data is wanted as JSON.
    pub(crate) const fn is_json(&self) -> bool {
        self.is_json
    }

    /// Colours on stdout?
    pub(crate) const fn stdout_color(&self) -> Color {
        self.stdout
    }

    /// Colours on stderr?
    pub(crate) const fn stderr_color(&self) -> Color {
        self.stderr
    }

    /// Data: a line.
    pub(crate) fn line(&self, line: &Line) -> Result<(), Failure> {
        write_data(&redact::hide(&format!("{}\n", line.render(self.stdout))))
    }

    /// Data: text over several lines.
    pub(crate) fn block(&self, text: &str) -> Result<(), Failure> {
        write_data(&redact::hide(&text::visible(text)))
    }

    /// Data: somebody else's text. A terminal is shown no character it would obey; a pipe gets every byte.
    pub(crate) fn data(&self, text: &str) -> Result<(), Failure> {
        if self.is_terminal { write_data(&text::visible(text)) } else { write_data(text) }
    }

    /// Data: the same, where it may be no text at all.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        if self.is_terminal {
            return write_data(&text::visible(&String::from_utf8_lossy(bytes)));
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(Failure::stdout)
    }

    /// Data: JSON that was read elsewhere, laid out for people.
    pub(crate) fn raw_json(&self, raw: &helve_model::json::RawJson) -> Result<(), Failure> {
        match raw.check() {
            Ok(()) => write_data(&pretty::pretty(raw.as_str())),
            Err(error) => Err(Failure::other("the server sent something that is not valid JSON").cause(&error)),
        }
    }

    /// Data: a table; nothing when it has no rows.
    pub(crate) fn table(&self, table: &Table) -> Result<(), Failure> {
        if table.is_empty() { Ok(()) } else { write_data(&redact::hide(&table.render(self.stdout, self.width))) }
    }

    /// Data: a table of many rows, which are made twice instead of held; nothing when there are none.
    pub(crate) fn long_table<'a, const N: usize, R>(
        &self,
        heading: [&'static str; N],
        rows: impl Fn() -> R,
    ) -> Result<(), Failure>
    where
        R: Iterator<Item = [Line<std::borrow::Cow<'a, str>>; N]>,
    {
        if rows().next().is_none() {
            return Ok(());
        }
        table::render_long(heading, rows, (self.stdout, self.width), |text| write_data(&redact::hide(text)))
    }

    /// Data: JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = json::render(value).map_err(|error| Failure::other("the answer is not valid JSON").cause(&error))?;
        write_data(&redact::hide(&text))
    }

    /// Data: JSON in one line, for what comes bit by bit.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text =
            json::render_line(value).map_err(|error| Failure::other("the answer is not valid JSON").cause(&error))?;
        write_data(&redact::hide(&text))
    }

    /// Talk: what a program of the person's own says on its stderr.
    pub(crate) fn talk(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            write_talk(&text::visible(text));
        }
    }

    /// Data that is escape codes of helve's own making already, like a help text.
    pub(crate) fn rendered(&self, text: &str) -> Result<(), Failure> {
        write_data(text)
    }

    /// Talk: a line, unless the person wants quiet.
    pub(crate) fn say(&self, line: &Line) {
        if self.verbosity > Verbosity::Quiet {
            write_talk(&format!("{}\n", line.render(self.stderr)));
        }
    }

    /// Talk: something to do next.
    pub(crate) fn hint(&self, hint: impl Into<Hint>) {
        if self.verbosity > Verbosity::Quiet {
            write_talk(&self.labelled(Style::Hint, "hint:", &self.words.say(&hint.into())));
        }
    }

    /// Talk: something to look at.
    pub(crate) fn warning(&self, text: impl Into<String>) {
        if self.verbosity > Verbosity::Quiet {
            write_talk(&self.labelled(Style::Warning, "warning:", &text.into()));
        }
    }

    /// Talk: a problem of a configuration, with the line it stands in.
    pub(crate) fn diagnostic(&self, diagnostic: &helve_config::Diagnostic) {
        use helve_config::Severity;
        let (needed, style) = match diagnostic.severity {
            Severity::Error => (Verbosity::Quiet, Style::Bad),
            Severity::Warning => (Verbosity::Normal, Style::Warning),
            Severity::Note => (Verbosity::Verbose, Style::Dim),
        };
        if self.verbosity < needed {
            return;
        }
        let text = diagnostic.render();
        let (word, rest) = text.split_once(':').unwrap_or(("", &text));
        let word = Line::styled(style, format!("{word}:")).render(self.stderr);
        write_talk(&format!("{word}{}", text::visible(rest)));
    }

    /// The end: why there is no answer. With `--json` it is the answer.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.is_json {
            // Whoever closed stdout does not want to know.
            drop(self.json(&failure.to_json(&self.words)));
            return;
        }
        let mut text = self.labelled(Style::Bad, "error:", failure.message());
        for cause in failure.causes() {
            text.push_str(&self.labelled(Style::Dim, "  cause:", cause));
        }
        for hint in failure.hints() {
            text.push_str(&self.labelled(Style::Hint, "hint:", &self.words.say(hint)));
        }
        write_talk(&text);
    }

    /// A word and what it is about; further lines of it stand below, a little to the right.
    fn labelled(&self, style: Style, label: &str, text: &str) -> String {
        let mut lines = text.lines();
        let first =
            Line::styled(style, label).then(Style::Plain, " ").then(Style::Plain, lines.next().unwrap_or_default());
        let mut rendered = format!("{}\n", first.render(self.stderr));
        for line in lines {
            rendered.push_str(&format!("  {}\n", Line::plain(line).render(self.stderr)));
        }
        rendered
    }

    /// A question, without a line break behind it.
    pub(crate) fn question(&self, line: &Line) {
        write_talk(&format!("{} ", line.render(self.stderr)));
    }
}

/// Back to the beginning of the line, and clear it.
pub(crate) const CLEAR_LINE: &str = "\r\x1b[K";

/// Colours follow the person's word, then the variables everybody knows, then the terminal.
pub(crate) fn color(env: &Environment, choice: ColorChoice, is_terminal: bool) -> Color {
    let is_set = |name: &str| env.variable_os(name).is_some_and(|value| !value.is_empty());
    let forced = is_set(variable::CLICOLOR_FORCE) && env.variable(variable::CLICOLOR_FORCE) != Some("0");
    let on = match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if is_set(variable::NO_COLOR) => false,
        ColorChoice::Auto if forced => true,
        ColorChoice::Auto => is_terminal && env.variable(variable::TERM) != Some("dumb"),
    };
    if on { Color::On } else { Color::Off }
}

fn write_data(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)
}

/// Nobody hears that nobody hears.
pub(crate) fn write_talk(text: &str) {
    drop(io::stderr().lock().write_all(redact::hide(text).as_bytes()));
}

#[cfg(test)]
#[path = "printer_tests.rs"]
mod tests;
