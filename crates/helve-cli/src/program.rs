//! Programs that the person names on the command line or in the settings (`--sampler`, `--exec`).

use helve_setup::Program;

use crate::context::Context;
use crate::failure::Failure;

/// A command line as a person writes it: words, with quotation marks where they are needed.
pub(crate) fn parse(context: &Context, option: &str, text: &str) -> Result<Program, Failure> {
    let words = shell_words::split(text)
        .map_err(|error| Failure::usage(format!("`{option} {text}` is not a command: {error}")))?;
    named(context, option, &words)
}

/// A program and its arguments.
pub(crate) fn named(context: &Context, option: &str, words: &[String]) -> Result<Program, Failure> {
    match words.split_first() {
        Some((program, arguments)) => Ok(Program::new(&context.setup, program, arguments)),
        None => Err(Failure::usage(format!("`{option}` names no command"))),
    }
}
