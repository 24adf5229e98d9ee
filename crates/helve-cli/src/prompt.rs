//! Asking a person at a terminal. Questions are talk; where nobody can be asked, nobody is.

use std::fs::File;
use std::io::{self, Read as _};

use helve_model::ErrorCode;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style};
use crate::tty;

/// Asks a question that is answered with yes or no; anything but a yes is a no.
pub(crate) fn confirm(context: &Context, question: &str) -> Result<bool, Failure> {
    let answer = ask(context, &format!("{question} [y/N]"))?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Asks a question; gives the answer without blanks around it. The end of the input is an empty answer.
pub(crate) fn ask(context: &Context, question: &str) -> Result<String, Failure> {
    put(context, question)?;
    let answer = tty::line().map_err(|error| Failure::file(&error))?;
    Ok(answer.trim().to_owned())
}

/// Asks for something that must not be seen: what is typed is not shown.
pub(crate) fn ask_hidden(context: &Context, question: &str) -> Result<String, Failure> {
    // Before the question: whoever answers at once is not seen either.
    let hidden = Hidden::begin().map_err(|error| Failure::file(&error))?;
    let answer = put(context, question).and_then(|()| read_hidden(&hidden.terminal));
    drop(hidden);
    context.printer.say(&Line::plain(""));
    answer
}

fn put(context: &Context, question: &str) -> Result<(), Failure> {
    if !context.console.can_ask() {
        return Err(Failure::new(ErrorCode::ApprovalRequired, "there is no terminal to ask at")
            .hint("say yes beforehand with `--yes`"));
    }
    context.printer.question(&Line::styled(Style::Name, question));
    Ok(())
}

/// Reads a line byte by byte: the terminal neither shows nor edits it, nor makes a signal of Ctrl-C, which would end
/// helve and leave the terminal as it is.
#[expect(clippy::unbuffered_bytes, reason = "what is typed after the answer is for the next question")]
fn read_hidden(terminal: &File) -> Result<String, Failure> {
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const BACKSPACES: [u8; 2] = [8, 127];
    let mut answer = Vec::new();
    for byte in terminal.bytes() {
        match byte.map_err(|error| Failure::file(&error))? {
            b'\n' | b'\r' | END => break,
            INTERRUPT => return Err(Failure::new(ErrorCode::Cancelled, "interrupted")),
            byte if BACKSPACES.contains(&byte) => drop(answer.pop()),
            byte => answer.push(byte),
        }
    }
    String::from_utf8(answer).map_err(|_| Failure::new(ErrorCode::Config, "the answer is not UTF-8"))
}

/// While it lives the terminal shows nothing of what is typed.
struct Hidden {
    terminal: File,
    before: Termios,
}

impl Hidden {
    fn begin() -> io::Result<Self> {
        let terminal = tty::answers()?;
        let before = tcgetattr(&terminal)?;
        let mut hidden = before.clone();
        hidden.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(&terminal, OptionalActions::Now, &hidden)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone has nothing to restore.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
