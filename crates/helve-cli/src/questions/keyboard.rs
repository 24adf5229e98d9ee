//! The terminal as a keyboard: which bytes are which key, and single keys instead of lines for as long as a person is
//! asked.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

use crate::tty;

/// An escape key comes alone; what a terminal writes for other keys comes at once.
const WITHIN_A_KEY: Duration = Duration::from_millis(50);
/// Bytes taken from the terminal at once.
const CHUNK: usize = 256;
/// The longest sequence of one key.
const LONGEST_KEY: usize = 32;
const ESCAPE: u8 = 0x1b;

/// A key, as far as anybody cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Character(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    /// Ctrl-U: all before the cursor goes.
    EraseLine,
    /// Ctrl-W: the word before the cursor goes.
    EraseWord,
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// There is nobody to ask, or nothing to ask about any more.
    Gone,
    Other,
}

/// Where keys come from.
pub(crate) trait Keys {
    fn next(&mut self) -> Key;
}

/// The keys of the person's terminal. Lines and signals come back when it is dropped.
pub(crate) struct Keyboard {
    before: Termios,
    bytes: Bytes,
    is_interrupted: bool,
}

impl Keyboard {
    /// Takes single keys from now on. When the other end of `gone` is closed, nobody waits for an answer any more.
    pub(crate) fn open(gone: OwnedFd) -> io::Result<Self> {
        // What was typed before the question was seen is not an answer to it.
        Self::take(gone, VecDeque::new(), OptionalActions::Flush)
    }

    /// The same, beginning with what came before.
    pub(crate) fn open_with(gone: OwnedFd, unread: VecDeque<u8>) -> io::Result<Self> {
        Self::take(gone, unread, OptionalActions::Now)
    }

    fn take(gone: OwnedFd, waiting: VecDeque<u8>, when: OptionalActions) -> io::Result<Self> {
        let terminal = tty::answers()?;
        let before = tcgetattr(&terminal)?;
        let mut single = before.clone();
        single.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        single.input_modes -= InputModes::IXON | InputModes::INLCR | InputModes::IGNCR;
        single.special_codes[SpecialCodeIndex::VMIN] = 1;
        single.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, when, &single)?;
        Ok(Self { before, bytes: Bytes { terminal, waiting, gone }, is_interrupted: false })
    }

    /// What was typed behind the last key.
    pub(crate) fn unread(mut self) -> VecDeque<u8> {
        std::mem::take(&mut self.bytes.waiting)
    }

    /// True when Ctrl-C was pressed, which the terminal made no signal of.
    pub(crate) const fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// How wide the terminal is that questions are shown on.
    pub(crate) fn columns() -> usize {
        const USUAL: usize = 80;
        tcgetwinsize(io::stderr()).map_or(USUAL, |size| usize::from(size.ws_col)).max(20)
    }
}

impl Keys for Keyboard {
    fn next(&mut self) -> Key {
        let key = key(&mut self.bytes);
        self.is_interrupted |= key == Key::Interrupt;
        key
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _ = tcsetattr(&self.bytes.terminal, OptionalActions::Drain, &self.before);
    }
}

/// Where bytes come from: the next one, waited for as long as it takes or not much longer than a key takes.
trait Source {
    fn next(&mut self) -> Option<u8>;
    fn next_soon(&mut self) -> Option<u8>;
}

struct Bytes {
    terminal: File,
    waiting: VecDeque<u8>,
    gone: OwnedFd,
}

impl Bytes {
    fn fill(&mut self, within: Option<Duration>) {
        let mut ends = [
            PollFd::from_borrowed_fd(self.terminal.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.gone.as_fd(), PollFlags::IN),
        ];
        let within = within.and_then(|time| Timespec::try_from(time).ok());
        loop {
            match poll(&mut ends, within.as_ref()) {
                Ok(0) => return,
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
        let [typed, gone] = &ends;
        if !gone.revents().is_empty() || !typed.revents().contains(PollFlags::IN) {
            return;
        }
        let mut chunk = [0; CHUNK];
        if let Ok(count) = rustix::io::read(&self.terminal, &mut chunk) {
            self.waiting.extend(chunk.iter().take(count));
        }
    }
}

impl Source for Bytes {
    fn next(&mut self) -> Option<u8> {
        if self.waiting.is_empty() {
            self.fill(None);
        }
        self.waiting.pop_front()
    }

    fn next_soon(&mut self) -> Option<u8> {
        if self.waiting.is_empty() {
            self.fill(Some(WITHIN_A_KEY));
        }
        self.waiting.pop_front()
    }
}

/// The next key.
fn key(bytes: &mut impl Source) -> Key {
    match bytes.next() {
        None => Key::Gone,
        Some(b'\r' | b'\n') => Key::Enter,
        Some(b'\t') => Key::Tab,
        Some(0x7f | 0x08) => Key::Backspace,
        Some(0x01) => Key::Home,
        Some(0x02) => Key::Left,
        Some(0x03) => Key::Interrupt,
        Some(0x04) => Key::EndOfInput,
        Some(0x05) => Key::End,
        Some(0x06) => Key::Right,
        Some(0x0e) => Key::Down,
        Some(0x10) => Key::Up,
        Some(0x15) => Key::EraseLine,
        Some(0x17) => Key::EraseWord,
        Some(ESCAPE) => escaped(bytes),
        Some(byte @ b' '..=b'~') => Key::Character(char::from(byte)),
        Some(byte @ 0xc2..) => character(byte, bytes),
        Some(_) => Key::Other,
    }
}

fn escaped(bytes: &mut impl Source) -> Key {
    let Some(kind) = bytes.next_soon() else { return Key::Escape };
    if !matches!(kind, b'[' | b'O') {
        return Key::Other;
    }
    let mut parameters = Vec::new();
    while let Some(byte) = bytes.next_soon() {
        match byte {
            b'@'..=b'~' => return named(&parameters, byte),
            _ if parameters.len() < LONGEST_KEY => parameters.push(byte),
            _ => return Key::Other,
        }
    }
    Key::Other
}

fn named(parameters: &[u8], last: u8) -> Key {
    match (parameters, last) {
        (_, b'A') => Key::Up,
        (_, b'B') => Key::Down,
        (_, b'C') => Key::Right,
        (_, b'D') => Key::Left,
        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
        (b"3", b'~') => Key::Delete,
        _ => Key::Other,
    }
}

/// A character of several bytes.
fn character(first: u8, bytes: &mut impl Source) -> Key {
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    let mut encoded = vec![first];
    while encoded.len() < length {
        match bytes.next_soon() {
            Some(byte) => encoded.push(byte),
            None => return Key::Other,
        }
    }
    let decoded = std::str::from_utf8(&encoded).ok().and_then(|text| text.chars().next());
    decoded.map_or(Key::Other, Key::Character)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Typed(VecDeque<u8>);

    impl Source for Typed {
        fn next(&mut self) -> Option<u8> {
            self.0.pop_front()
        }

        fn next_soon(&mut self) -> Option<u8> {
            self.0.pop_front()
        }
    }

    #[test]
    fn bytes_become_keys() {
        let keys = |typed: &str| {
            let mut source = Typed(typed.bytes().collect());
            let mut keys = Vec::new();
            loop {
                match key(&mut source) {
                    Key::Gone => return keys,
                    other => keys.push(other),
                }
            }
        };
        assert_eq!(keys("aé😀\r"), [Key::Character('a'), Key::Character('é'), Key::Character('😀'), Key::Enter]);
        assert_eq!(keys("\x1b[A\x1bOB\x1b[1;5C\x1b[D"), [Key::Up, Key::Down, Key::Right, Key::Left]);
        assert_eq!(keys("\x1b[3~\x1b[H\x1b[4~\x7f"), [Key::Delete, Key::Home, Key::End, Key::Backspace]);
        assert_eq!(keys("\x03\x04\x15\x17"), [Key::Interrupt, Key::EndOfInput, Key::EraseLine, Key::EraseWord]);
        assert_eq!(keys("\x1b"), [Key::Escape]);
        assert_eq!(keys("\x1b[5~\x00x"), [Key::Other, Key::Other, Key::Character('x')]);
        assert_eq!(keys(&format!("\x1b[{}", "1".repeat(100))).first(), Some(&Key::Other));
    }
}
