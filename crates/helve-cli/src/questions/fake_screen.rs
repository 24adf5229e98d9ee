//! A terminal for tests: keys from a list, and a screen that does what a real one does with the few codes we use.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::keyboard::{Key, Keys};
use super::widget::Terminal;
use crate::printer::Color;

/// Runs a dialogue with these keys. [`Key::Other`] takes a picture; the last picture is that of the end.
pub(crate) fn with_keys<T>(keys: &[Key], dialogue: impl FnOnce(&mut Terminal<'_>) -> T) -> (T, Vec<String>) {
    let screen = Rc::new(RefCell::new(Screen::default()));
    let mut typist = Typist { keys: keys.iter().copied().collect(), screen: Rc::clone(&screen), pictures: Vec::new() };
    let mut write = |text: &str| screen.borrow_mut().write(text);
    let mut terminal = Terminal { keys: &mut typist, write: &mut write, color: Color::Off, width: 60 };
    let result = dialogue(&mut terminal);
    let mut pictures = typist.pictures;
    pictures.push(screen.borrow().picture());
    (result, pictures)
}

/// The keys of a text.
pub(crate) fn typed(text: &str) -> Vec<Key> {
    text.chars().map(|character| if character == '\n' { Key::Enter } else { Key::Character(character) }).collect()
}

struct Typist {
    keys: VecDeque<Key>,
    screen: Rc<RefCell<Screen>>,
    pictures: Vec<String>,
}

impl Keys for Typist {
    fn next(&mut self) -> Key {
        loop {
            match self.keys.pop_front() {
                None => return Key::Gone,
                Some(Key::Other) => self.pictures.push(self.screen.borrow().picture()),
                Some(key) => return key,
            }
        }
    }
}

#[derive(Default)]
struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    fn write(&mut self, text: &str) {
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            self.lines.resize(self.lines.len().max(self.row + 1), Vec::new());
            match character {
                '\r' => self.column = 0,
                '\n' => (self.row, self.column) = (self.row + 1, 0),
                '\u{1b}' => {
                    assert_eq!(characters.next(), Some('['));
                    let mut number = String::new();
                    let code = loop {
                        match characters.next().unwrap() {
                            digit @ '0'..='9' => number.push(digit),
                            other => break other,
                        }
                    };
                    let number = number.parse().unwrap_or(1);
                    match code {
                        'A' => self.row -= number,
                        'D' => self.column -= number,
                        'J' => {
                            self.lines.truncate(self.row + 1);
                            self.lines[self.row].truncate(self.column);
                        }
                        other => panic!("a code nobody should need: {other}"),
                    }
                }
                other => {
                    let line = &mut self.lines[self.row];
                    line.truncate(self.column);
                    line.push(other);
                    self.column += 1;
                }
            }
        }
    }

    fn picture(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| line.iter().collect::<String>()).collect();
        lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}
