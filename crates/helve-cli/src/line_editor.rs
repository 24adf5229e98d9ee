//! Owns how programs are typed at a terminal: lines that can be edited, the lines before them with the arrow keys, and what
//! is one program. What was typed is remembered while helve runs, and nowhere else.

use std::collections::VecDeque;

use unicode_width::UnicodeWidthChar as _;

use crate::printer::write_talk;
use crate::questions::keyboard::{Key, Keyboard, Keys};

/// Lines that are remembered.
const REMEMBERED: usize = 1_000;
/// Bytes of one line.
const LONGEST: usize = 64 << 10;
/// What a tab stands for.
const TAB: &str = "    ";
const FIRST: &str = ">>> ";
const FOLLOWING: &str = "... ";

/// A person's lines.
#[derive(Debug, Default)]
pub(crate) struct LineEditor {
    lines: VecDeque<String>,
    /// What was typed, or pasted, behind the last program.
    unread: VecDeque<u8>,
}

/// How a line ended.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Line(String),
    Interrupted,
    End,
}

/// The line that is being typed.
struct Draft<'a> {
    prompt: &'a str,
    text: Vec<char>,
    cursor: usize,
    width: usize,
}

impl LineEditor {
    /// The lines of one program; `None` at the end of input. An empty line ends a block, and Ctrl-C begins anew.
    pub(crate) fn program(&mut self) -> Option<String> {
        // Nobody ever closes the other end: the question stays until it is answered.
        let (gone, _stays) = rustix::pipe::pipe().ok()?;
        let mut keyboard = Keyboard::open_with(gone, std::mem::take(&mut self.unread)).ok()?;
        let program = self.read(&mut keyboard, &mut |text| write_talk(text), Keyboard::columns());
        self.unread = keyboard.unread();
        program
    }

    fn read(&mut self, keys: &mut dyn Keys, write: &mut dyn FnMut(&str), width: usize) -> Option<String> {
        let mut source = String::new();
        loop {
            let prompt = if source.is_empty() { FIRST } else { FOLLOWING };
            match self.line(prompt, keys, write, width) {
                Typed::End => return None,
                Typed::Interrupted => source.clear(),
                Typed::Line(line) => {
                    self.remember(&line);
                    let text = line.trim_end();
                    let is_open = text.ends_with([':', '\\', '(', '[', '{', ',']);
                    let goes_on = is_open || (source.contains('\n') && !text.is_empty());
                    source.push_str(text);
                    source.push('\n');
                    if !goes_on {
                        return Some(source);
                    }
                }
            }
        }
    }

    fn remember(&mut self, line: &str) {
        if line.trim().is_empty() || self.lines.back().is_some_and(|last| last == line) {
            return;
        }
        if self.lines.len() >= REMEMBERED {
            self.lines.pop_front();
        }
        self.lines.push_back(line.to_owned());
    }

    fn line(&self, prompt: &str, keys: &mut dyn Keys, write: &mut dyn FnMut(&str), width: usize) -> Typed {
        let mut draft = Draft { prompt, text: Vec::new(), cursor: 0, width };
        // The place among the lines before; behind the last of them is what is typed now.
        let (mut place, mut newest) = (self.lines.len(), Vec::new());
        loop {
            write(&draft.shown());
            match keys.next() {
                Key::Enter => {
                    write("\r\n");
                    return Typed::Line(draft.text.into_iter().collect());
                }
                Key::Interrupt => {
                    write("^C\r\n");
                    return Typed::Interrupted;
                }
                Key::EndOfInput if draft.text.is_empty() => {
                    write("\r\n");
                    return Typed::End;
                }
                Key::Gone => return Typed::End,
                Key::Up if place > 0 => {
                    if place == self.lines.len() {
                        newest.clone_from(&draft.text);
                    }
                    place -= 1;
                    draft.become_line(self.lines.get(place).map(String::as_str).unwrap_or_default().chars().collect());
                }
                Key::Down if place < self.lines.len() => {
                    place += 1;
                    let text = self.lines.get(place).map_or_else(|| newest.clone(), |line| line.chars().collect());
                    draft.become_line(text);
                }
                other => draft.edit(other),
            }
        }
    }
}

impl Draft<'_> {
    fn become_line(&mut self, text: Vec<char>) {
        self.cursor = text.len();
        self.text = text;
    }

    fn edit(&mut self, key: Key) {
        match key {
            Key::Character(character) => self.insert(character),
            Key::Tab => TAB.chars().for_each(|blank| self.insert(blank)),
            Key::Left => self.cursor = self.cursor.saturating_sub(1),
            Key::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.text.len(),
            Key::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            Key::Delete | Key::EndOfInput if self.cursor < self.text.len() => drop(self.text.remove(self.cursor)),
            Key::EraseLine => drop(self.text.drain(..std::mem::take(&mut self.cursor))),
            Key::EraseWord => {
                let before = self.text.get(..self.cursor).unwrap_or_default();
                let word = before.iter().rposition(|character| !character.is_whitespace()).unwrap_or(0);
                let gap =
                    before.get(..word).unwrap_or_default().iter().rposition(|character| character.is_whitespace());
                let from = gap.map_or(0, |gap| gap + 1);
                self.text.drain(from..self.cursor);
                self.cursor = from;
            }
            _ => {}
        }
    }

    fn insert(&mut self, character: char) {
        if self.text.len() < LONGEST {
            self.text.insert(self.cursor, character);
            self.cursor += 1;
        }
    }

    /// The line anew, from its first column: what fits of it around the cursor, and the cursor in its place.
    fn shown(&self) -> String {
        let columns = |characters: &[char]| characters.iter().map(|one| one.width().unwrap_or(0)).sum::<usize>();
        let room = self.width.saturating_sub(self.prompt.len() + 1).max(8);
        let mut from = 0;
        while columns(self.text.get(from..self.cursor).unwrap_or_default()) >= room {
            from += 1;
        }
        let mut to = self.text.len();
        while columns(self.text.get(from..to).unwrap_or_default()) > room {
            to -= 1;
        }
        let text: String = self.text.get(from..to).unwrap_or_default().iter().collect();
        let back = columns(self.text.get(self.cursor..to).unwrap_or_default());
        let back = if back > 0 { format!("\u{1b}[{back}D") } else { String::new() };
        format!("\r\u{1b}[J{}{text}{back}", self.prompt)
    }
}

#[cfg(test)]
#[path = "line_editor_tests.rs"]
mod tests;
