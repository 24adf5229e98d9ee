//! Whether it matters in which directory a program is started: whether its command line has relative paths.
//!
//! What looks like a path is taken for one: a list that is kept once more costs little, one that is shown for another
//! directory's server is wrong.

use std::path::Path;

use helve_model::{ConfigText, StdioSpec};

/// Bytes of one argument that are looked at; a longer one counts as relative.
const MOST_BYTES: usize = 64 << 10;

/// Words of one argument that are looked up among the files there are.
const MOST_WORDS: usize = 64;

/// The longest ending of a file's name.
const MOST_ENDING: usize = 5;

/// True when another directory than this one could make it another program. Looks which files there are.
pub(super) fn depends_on(stdio: &StdioSpec, directory: &Path) -> bool {
    if stdio.working_directory.as_ref().is_some_and(|own| own.is_absolute()) {
        return false;
    }
    let is_led_by_dot = |value: &ConfigText| is_dotted(value.expose());
    stdio.working_directory.is_some()
        || is_below(stdio.command.expose())
        || stdio.arguments.iter().any(|argument| may_be_relative(argument.expose(), directory))
        || stdio.environment.values().any(is_led_by_dot)
}

/// Arguments of `sh -c` are several words; an option may have its value behind a `=`.
fn may_be_relative(argument: &str, directory: &Path) -> bool {
    if argument.len() > MOST_BYTES {
        return true;
    }
    let ends_word = |letter: char| letter.is_whitespace() || ";|&()<>=,'\"`".contains(letter);
    let mut words = argument.split(ends_word).filter(|word| !word.is_empty());
    words.by_ref().take(MOST_WORDS).any(|word| is_relative(word, directory)) || words.next().is_some()
}

fn is_relative(word: &str, directory: &Path) -> bool {
    if word.starts_with(['/', '~']) || word.contains("://") {
        return false;
    }
    // `-I./include`
    if word.starts_with('-') {
        return word.contains("./");
    }
    is_dotted(word) || is_below(word) || has_ending(word) || directory.join(word).symlink_metadata().is_ok()
}

fn is_dotted(word: &str) -> bool {
    matches!(word, "." | "..") || ["./", "../", ".\\", "..\\"].iter().any(|start| word.starts_with(start))
}

/// `bin/server`, and not `@scope/package`, `image:tag` or `/usr/bin/server`.
fn is_below(word: &str) -> bool {
    word.contains('/') && !word.starts_with(['/', '@', '~']) && !word.contains(':')
}

/// `server.py`, and not `package@1.2.3`.
fn has_ending(word: &str) -> bool {
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let is_ending = (1..=MOST_ENDING).contains(&ending.len())
        && ending.chars().all(|letter| letter.is_ascii_alphanumeric())
        && ending.chars().any(|letter| letter.is_ascii_alphabetic());
    is_ending && !stem.is_empty() && !stem.contains('@')
}

#[cfg(test)]
#[path = "relative_tests.rs"]
mod tests;
