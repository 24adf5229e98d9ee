//! What a question looks like while it is open: a line to type in, or a list to choose from, drawn anew at each key.

use unicode_width::UnicodeWidthChar as _;

use super::keyboard::{Key, Keys};
use crate::printer::{Color, Line, Style, cut};

/// Choices that are seen at once.
const SEEN: usize = 10;
/// Characters of an answer.
const LONGEST_ANSWER: usize = 10_000;

/// The place where a person is asked.
pub(crate) struct Terminal<'a> {
    pub(crate) keys: &'a mut dyn Keys,
    pub(crate) write: &'a mut dyn FnMut(&str),
    pub(crate) color: Color,
    pub(crate) width: usize,
}

/// What came of a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<T> {
    Done(T),
    /// The person does not want to answer.
    Decline,
    /// The person went away.
    Cancel,
}

/// Something to choose: how it is shown, and what else it can be called.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) label: String,
    pub(crate) value: String,
}

/// A list to choose from.
#[derive(Debug)]
pub(crate) struct Choices {
    pub(crate) choices: Vec<Choice>,
    /// Where the person begins.
    pub(crate) start: usize,
    /// What is marked at first, where several may be chosen.
    pub(crate) marked: Option<Vec<bool>>,
}

impl Terminal<'_> {
    /// Lines that stay.
    pub(crate) fn say(&mut self, line: &Line) {
        let text = format!("{}\n", line.render(self.color));
        (self.write)(&text);
    }

    /// Asks for a text until `check` takes it.
    pub(crate) fn text<T>(
        &mut self,
        heading: &[Line],
        initial: &str,
        mut check: impl FnMut(&str) -> Result<T, String>,
    ) -> Step<T> {
        let mut typed: Vec<char> = initial.chars().collect();
        let mut cursor = typed.len();
        let mut problem = None;
        let mut live = Live::default();
        loop {
            let (line, back) = self.typed_line(&typed, cursor);
            let lines: Vec<Line> = heading.iter().cloned().chain(problem_line(problem.as_deref())).collect();
            live.draw(self, &lines, Some((&line, back)));
            match self.keys.next() {
                Key::Enter => {
                    let text: String = typed.iter().collect();
                    match check(&text) {
                        Ok(answer) => return live.end(self, Step::Done(answer)),
                        Err(message) => problem = Some(message),
                    }
                }
                Key::Character(character) if typed.len() < LONGEST_ANSWER => {
                    typed.insert(cursor, character);
                    cursor += 1;
                }
                Key::Backspace if cursor > 0 => {
                    cursor -= 1;
                    typed.remove(cursor);
                }
                Key::Delete if cursor < typed.len() => drop(typed.remove(cursor)),
                Key::Left => cursor = cursor.saturating_sub(1),
                Key::Right => cursor = (cursor + 1).min(typed.len()),
                Key::Home => cursor = 0,
                Key::End => cursor = typed.len(),
                Key::EraseLine => {
                    typed.drain(..cursor);
                    cursor = 0;
                }
                Key::EraseWord => {
                    let word = typed.iter().take(cursor).rposition(|character| *character != ' ').unwrap_or(0);
                    let kept = typed.iter().take(word).rposition(|character| *character == ' ').map_or(0, |at| at + 1);
                    typed.drain(kept..cursor);
                    cursor = kept;
                }
                Key::EndOfInput => return live.end(self, Step::Decline),
                Key::Escape | Key::Interrupt | Key::Gone => return live.end(self, Step::Cancel),
                _ => {}
            }
        }
    }

    /// Asks to choose until `check` takes what is chosen: the place in the list, and what is marked.
    pub(crate) fn choose<T>(
        &mut self,
        heading: &[Line],
        choices: &Choices,
        mut check: impl FnMut(usize, &[bool]) -> Result<T, String>,
    ) -> Step<T> {
        let all = &choices.choices;
        let several = choices.marked.is_some();
        let mut marked = choices.marked.clone().unwrap_or_else(|| vec![false; all.len()]);
        let mut at = choices.start.min(all.len().saturating_sub(1));
        let mut typed = String::new();
        let mut problem: Option<String> = None;
        let mut live = Live::default();
        loop {
            let mut lines: Vec<Line> = heading.to_vec();
            lines.extend(list(all, at, several.then_some(marked.as_slice())));
            lines.extend(problem_line(problem.as_deref()));
            let typed_line = Line::styled(Style::Dim, "  / ").then(Style::Plain, typed.as_str());
            live.draw(self, &lines, (!typed.is_empty()).then_some((&typed_line, 0)));
            match self.keys.next() {
                Key::Enter => {
                    if !typed.is_empty() && found(all, &typed).is_none() {
                        problem = Some(format!("there is no choice `{typed}`"));
                        continue;
                    }
                    match check(at, &marked) {
                        Ok(answer) => return live.end(self, Step::Done(answer)),
                        Err(message) => problem = Some(message),
                    }
                }
                Key::Character(' ') if several && typed.is_empty() => {
                    if let Some(mark) = marked.get_mut(at) {
                        *mark = !*mark;
                    }
                    problem = None;
                }
                Key::Character(character) if typed.len() < LONGEST_ANSWER => {
                    typed.push(character);
                    at = found(all, &typed).unwrap_or(at);
                    problem = None;
                }
                Key::Backspace => {
                    typed.pop();
                    at = found(all, &typed).unwrap_or(at);
                    problem = None;
                }
                Key::EraseLine | Key::EraseWord => typed.clear(),
                Key::Up | Key::Left => {
                    typed.clear();
                    at = at.checked_sub(1).unwrap_or(all.len().saturating_sub(1));
                }
                Key::Down | Key::Right | Key::Tab => {
                    typed.clear();
                    at = if at + 1 < all.len() { at + 1 } else { 0 };
                }
                Key::Home => at = 0,
                Key::End => at = all.len().saturating_sub(1),
                Key::EndOfInput => return live.end(self, Step::Decline),
                Key::Escape | Key::Interrupt | Key::Gone => return live.end(self, Step::Cancel),
                _ => {}
            }
        }
    }

    /// The line that is typed, as much of it as fits, and how many columns the cursor stands before its end.
    fn typed_line(&self, typed: &[char], cursor: usize) -> (Line, usize) {
        let room = self.width.saturating_sub(6).max(8);
        let mut begin = cursor;
        let mut used = 0;
        while let Some(character) = begin.checked_sub(1).and_then(|before| typed.get(before)) {
            used += columns(*character);
            if used > room {
                break;
            }
            begin -= 1;
        }
        let mut end = cursor;
        let mut back = 0;
        while let Some(character) = typed.get(end) {
            let more = columns(*character);
            if used + back + more > room {
                break;
            }
            back += more;
            end += 1;
        }
        let seen: String = typed.iter().skip(begin).take(end - begin).collect();
        (Line::styled(Style::Hint, "  > ").then(Style::Plain, seen), back)
    }
}

/// How wide a character is as it is shown; hidden ones are spelt out.
fn columns(character: char) -> usize {
    let mut buffer = [0; 4];
    let shown = helve_model::text::one_line(character.encode_utf8(&mut buffer));
    shown.chars().map(|shown| shown.width().unwrap_or(0)).sum()
}

/// The part of a list around the place where the person is.
fn list(choices: &[Choice], at: usize, marked: Option<&[bool]>) -> Vec<Line> {
    let begin = at.saturating_sub(SEEN / 2).min(choices.len().saturating_sub(SEEN));
    let mut lines = Vec::new();
    if begin > 0 {
        lines.push(Line::styled(Style::Dim, format!("    … {begin} more")));
    }
    for (index, choice) in choices.iter().enumerate().skip(begin).take(SEEN) {
        let (pointer, style) = if index == at { ("  > ", Style::Name) } else { ("    ", Style::Plain) };
        let mark = match marked.and_then(|marked| marked.get(index)) {
            None => "",
            Some(true) => "[x] ",
            Some(false) => "[ ] ",
        };
        lines.push(Line::styled(Style::Hint, pointer).then(style, format!("{mark}{}", choice.label)));
    }
    let after = choices.len().saturating_sub(begin + SEEN);
    if after > 0 {
        lines.push(Line::styled(Style::Dim, format!("    … {after} more")));
    }
    lines
}

/// The choice that is meant by what was typed so far.
fn found(choices: &[Choice], typed: &str) -> Option<usize> {
    if typed.is_empty() {
        return None;
    }
    let typed = typed.to_lowercase();
    let fits = |test: fn(&str, &str) -> bool| {
        choices
            .iter()
            .position(|choice| test(&choice.label.to_lowercase(), &typed) || test(&choice.value.to_lowercase(), &typed))
    };
    fits(|name, typed| name == typed)
        .or_else(|| fits(|name, typed| name.starts_with(typed)))
        .or_else(|| fits(|name, typed| name.contains(typed)))
}

fn problem_line(problem: Option<&str>) -> Option<Line> {
    problem.map(|problem| Line::styled(Style::Bad, "  ! ").then(Style::Plain, problem))
}

/// The lines that are drawn anew.
#[derive(Default)]
struct Live {
    height: usize,
}

impl Live {
    /// Draws the lines in the place of the last ones; the cursor stays on the one that is typed.
    fn draw(&mut self, terminal: &mut Terminal<'_>, lines: &[Line], typed: Option<(&Line, usize)>) {
        let mut text = self.erased();
        self.height = 0;
        for line in lines.iter().chain(typed.map(|(line, _)| line)) {
            if self.height > 0 {
                text.push('\n');
            }
            // A line that wraps could not be drawn anew.
            cut(&mut text, terminal.color, line, terminal.width.saturating_sub(1));
            self.height += 1;
        }
        if let Some((_, back @ 1..)) = typed {
            text.push_str(&format!("\x1b[{back}D"));
        }
        (terminal.write)(&text);
    }

    fn end<T>(&mut self, terminal: &mut Terminal<'_>, step: Step<T>) -> Step<T> {
        let text = self.erased();
        (terminal.write)(&text);
        step
    }

    /// To the beginning of the first line, and everything from there on cleared.
    fn erased(&self) -> String {
        match self.height {
            0 => String::new(),
            1 => "\r\x1b[J".to_owned(),
            several => format!("\r\x1b[{}A\x1b[J", several - 1),
        }
    }
}

#[cfg(test)]
#[path = "widget_tests.rs"]
mod tests;
