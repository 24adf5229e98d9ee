//! Where a person's answers are read from: standard input, or their terminal where standard input is something else. A
//! question must not eat the text that is piped into a command.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _};
use std::os::fd::AsFd as _;

use rustix::fs::FileType;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

/// The terminal of this session, whatever the standard streams are.
const TERMINAL: &str = "/dev/tty";

/// True when somebody at the terminal of this session can be asked although standard input is something else. Whoever gives
/// `/dev/null` says that nobody is there; and a process in the background that reads from the terminal is stopped.
pub(crate) fn is_there() -> bool {
    let is_nothing = rustix::fs::fstat(io::stdin())
        .is_ok_and(|stdin| FileType::from_raw_mode(stdin.st_mode) == FileType::CharacterDevice);
    let is_in_front = |terminal: File| tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp());
    !is_nothing && open().is_ok_and(is_in_front)
}

/// What the person types.
pub(crate) fn answers() -> io::Result<File> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return stdin.as_fd().try_clone_to_owned().map(File::from);
    }
    open()
}

/// One line of what the person types; empty at its end. A terminal gives no more than a line at a time, so nothing of
/// the next one is lost.
pub(crate) fn line() -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(answers()?).read_line(&mut line)?;
    Ok(line)
}

fn open() -> io::Result<File> {
    fs_err::OpenOptions::new().read(true).write(true).open(TERMINAL).map(|file| file.into_parts().0)
}
