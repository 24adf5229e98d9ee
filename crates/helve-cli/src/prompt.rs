//! Asking a person at a terminal. Questions are talk; where nobody can be asked, nobody is.

use std::io::{self, BufRead as _};

use helve_model::ErrorCode;

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style};

/// Asks a question that is answered with yes or no; anything but a yes is a no.
pub(crate) fn confirm(context: &Context, question: &str) -> Result<bool, Failure> {
    let answer = ask(context, &format!("{question} [y/N]"))?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Asks a question; gives the answer without blanks around it. The end of the input is an empty answer.
pub(crate) fn ask(context: &Context, question: &str) -> Result<String, Failure> {
    if !context.env.can_ask() {
        return Err(Failure::new(ErrorCode::ApprovalRequired, "there is no terminal to ask at")
            .hint("say yes beforehand with `--yes`"));
    }
    context.printer.question(&Line::styled(Style::Name, question));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| Failure::file(&error))?;
    Ok(answer.trim().to_owned())
}
