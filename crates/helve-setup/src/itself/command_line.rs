//! Which programs a command line comes down to: through `env` and its like, shells that are given a text, and package
//! runners. Pure: what a name means is for the caller to find out.

use std::collections::VecDeque;

/// Programs that start the program named behind their options, on this machine and with these very words.
const WRAPPERS: &[&str] = &[
    "builtin",
    "chrt",
    "command",
    "dbus-run-session",
    "doas",
    "env",
    "eval",
    "exec",
    "firejail",
    "ionice",
    "ltrace",
    "nice",
    "nohup",
    "numactl",
    "prlimit",
    "rlwrap",
    "setarch",
    "setpriv",
    "setsid",
    "stdbuf",
    "strace",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "unbuffer",
    "unshare",
    "xvfb-run",
];

/// Programs that start a program of a package.
const RUNNERS: &[&str] = &["bun", "bunx", "npm", "npx", "pipx", "pnpm", "pnpx", "uv", "uvx", "yarn"];

/// Programs that take a text of commands behind `-c`.
const SHELLS: &[&str] = &["ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "rbash", "sh", "zsh"];

/// Words of a shell that a command may stand behind.
const KEYWORDS: &[&str] = &["!", "(", ")", "do", "elif", "else", "if", "then", "until", "while", "{", "}"];

/// Words of one command that are looked at.
const MAX_WORDS: usize = 64;
/// Bytes of a shell's text that are looked at.
const MAX_TEXT: usize = 16 * 1024;
/// Commands that are looked at, those inside of others included.
const MAX_COMMANDS: usize = 64;

/// What stands for a part of a shell's text that only the shell knows. No program's name has it.
const UNKNOWN: char = '\0';

/// A program that would be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// The program: a path or a name.
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    /// `PATH`, where the command line itself sets it.
    pub(crate) search_path: Option<String>,
    /// Where it is started, where the command line itself goes there.
    pub(crate) directory: Option<String>,
    /// The name is a package's: of a program that some package runner finds.
    pub(crate) is_package: bool,
}

/// One command, and what the text around it set.
#[derive(Debug, Clone, Default)]
struct Command {
    words: Vec<String>,
    search_path: Option<String>,
    directory: Option<String>,
}

/// Every program that this command line may come down to. `variable` gives what the shell would fill in.
pub(crate) fn invocations(words: Vec<String>, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Invocation> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([Command { words, ..Command::default() }]);
    for _ in 0..MAX_COMMANDS {
        let Some(command) = waiting.pop_front() else { break };
        look_at(command, variable, &mut found, &mut waiting);
    }
    found
}

fn look_at(
    mut command: Command,
    variable: &dyn Fn(&str) -> Option<String>,
    found: &mut Vec<Invocation>,
    waiting: &mut VecDeque<Command>,
) {
    command.words.truncate(MAX_WORDS);
    let name = command.words.first().map(|word| file_name(word).to_owned()).unwrap_or_default();
    let name = name.as_str();
    found.extend(command.invocation(0, false));
    if SHELLS.contains(&name) {
        let Some(at) = command.words.iter().position(|word| is_text_option(word)) else { return };
        // Behind `-c` other options may come, then the text, then what it knows as `$0` and `$@`.
        let rest = command.words.get(at + 1..).unwrap_or_default();
        let Some(text) = rest.iter().position(|word| !word.starts_with('-')) else { return };
        let (before, after) = rest.split_at(text + 1);
        let text = before.last().map(String::as_str).unwrap_or_default();
        let fill = |name: &str| match name.parse::<usize>() {
            Ok(position) => after.get(position).cloned(),
            Err(_) => variable(name),
        };
        waiting.extend(commands(text, &fill, after, &command));
    } else if WRAPPERS.contains(&name) || RUNNERS.contains(&name) {
        let is_package = RUNNERS.contains(&name);
        for at in 1..command.words.len() {
            let word = command.words.get(at).map(String::as_str).unwrap_or_default();
            if let Some(path) = word.strip_prefix("PATH=") {
                command.search_path = Some(path.to_owned());
            } else if SHELLS.contains(&file_name(word)) || WRAPPERS.contains(&file_name(word)) {
                let words = command.words.get(at..).unwrap_or_default().to_vec();
                waiting.push_back(Command { words, ..command.clone() });
            } else if let Ok(split) = shell_words::split(word)
                && split.len() > 1
            {
                // `env -S "helve serve"`, `npx -c "helve serve"`, `eval "helve serve"`.
                let rest = command.words.get(at + 1..).unwrap_or_default().iter().cloned();
                waiting.push_back(Command { words: split.into_iter().chain(rest).collect(), ..command.clone() });
            }
            found.extend(command.invocation(at, is_package));
        }
    }
}

impl Command {
    fn invocation(&self, at: usize, is_package: bool) -> Option<Invocation> {
        let (program, arguments) = self.words.get(at..)?.split_first()?;
        let is_name = !program.is_empty() && !program.starts_with('-') && !program.contains(UNKNOWN);
        is_name.then(|| Invocation {
            program: program.clone(),
            arguments: arguments.to_vec(),
            search_path: self.search_path.clone(),
            directory: self.directory.clone(),
            is_package,
        })
    }
}

/// The commands of a shell's text. Follows a literal `cd`, and what is set for a command or before it.
fn commands(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    positional: &[String],
    around: &Command,
) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut now = Command { words: Vec::new(), ..around.clone() };
    for words in lex(text, variable, positional.get(1..).unwrap_or_default()) {
        let mut words = words.into_iter().peekable();
        let mut set = now.search_path.clone();
        while let Some(word) = words.peek() {
            match assignment(word) {
                Some(("PATH", path)) => set = Some(path.to_owned()),
                Some(_) => {}
                None if KEYWORDS.contains(&word.as_str()) => {}
                None => break,
            }
            words.next();
        }
        let words: Vec<String> = words.collect();
        match words.first().map(String::as_str) {
            None => now.search_path = set,
            Some("cd") => now.directory = words.get(1).cloned(),
            Some("export") => {
                let path = words.iter().filter_map(|word| word.strip_prefix("PATH=")).next_back();
                now.search_path = path.map(str::to_owned).or(set);
            }
            Some(_) => commands.push(Command { words, search_path: set, directory: now.directory.clone() }),
        }
    }
    commands
}

/// `NAME=value`, as it may stand before a command.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (is_name && name.starts_with(|first: char| !first.is_ascii_digit())).then_some((name, value))
}

/// `-c`, alone or among other letters: `-lc`, `-ec`.
fn is_text_option(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| letters.contains('c'))
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Splits a shell's text into commands, each a list of words without its redirections. What only the shell can know is
/// [`UNKNOWN`].
fn lex(text: &str, variable: &dyn Fn(&str) -> Option<String>, positional: &[String]) -> Vec<Vec<String>> {
    let mut lexer = Lexer { commands: vec![Vec::new()], word: None, redirects: false };
    let mut letters = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default().chars().peekable();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), letter) => lexer.push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                lexer.begin();
            }
            (_, '\\') => match letters.next() {
                // A line that goes on.
                Some('\n') | None => {}
                Some(escaped) => lexer.push(escaped),
            },
            (_, '$') => {
                let mut name = String::new();
                let braced = letters.next_if_eq(&'{').is_some();
                if letters.peek().is_some_and(|next| matches!(next, '@' | '*')) {
                    letters.next();
                    lexer.splice(positional);
                } else {
                    let is_name = |next: &char| next.is_ascii_alphanumeric() || *next == '_';
                    while let Some(next) = letters.next_if(is_name) {
                        name.push(next);
                    }
                    let is_plain = !braced || letters.peek() == Some(&'}');
                    match variable(&name).filter(|_| is_plain && !name.is_empty()) {
                        Some(value) => value.chars().for_each(|letter| lexer.push(letter)),
                        None => lexer.push(UNKNOWN),
                    }
                }
                if braced {
                    while letters.next().is_some_and(|next| next != '}') {}
                }
            }
            (_, '`') => lexer.push(UNKNOWN),
            (Some(_), letter) => lexer.push(letter),
            (None, '~') if lexer.word.is_none() && letters.peek().is_none_or(|next| "/ \t\n;".contains(*next)) => {
                match variable("HOME") {
                    Some(home) => home.chars().for_each(|letter| lexer.push(letter)),
                    None => lexer.push(UNKNOWN),
                }
            }
            (None, '#') if lexer.word.is_none() => while letters.next_if(|next| *next != '\n').is_some() {},
            (None, '<' | '>') => {
                // `2>` and `>&`: the number before belongs to it, the word behind it too.
                if lexer.word.as_ref().is_some_and(|word| word.chars().all(|letter| letter.is_ascii_digit())) {
                    lexer.word = None;
                }
                lexer.end_word();
                while letters.next_if(|next| matches!(next, '<' | '>' | '&' | '|')).is_some() {}
                lexer.redirects = true;
            }
            (None, ';' | '|' | '&' | '\n' | '(' | ')') => lexer.end_command(),
            (None, letter) if letter.is_whitespace() => lexer.end_word(),
            (None, letter) => lexer.push(letter),
        }
    }
    lexer.end_command();
    lexer.commands
}

struct Lexer {
    commands: Vec<Vec<String>>,
    word: Option<String>,
    /// The next word is the name of a file.
    redirects: bool,
}

impl Lexer {
    fn begin(&mut self) {
        self.word.get_or_insert_default();
    }

    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn splice(&mut self, words: &[String]) {
        // An empty `"$@"` disappears.
        if self.word.as_ref().is_some_and(String::is_empty) {
            self.word = None;
        }
        for word in words {
            self.word.get_or_insert_default().push_str(word);
            self.end_word();
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.redirects) {
            return;
        }
        if let Some(command) = self.commands.last_mut() {
            command.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirects = false;
        if self.commands.last().is_some_and(|command| !command.is_empty()) {
            self.commands.push(Vec::new());
        }
    }
}

#[cfg(test)]
#[path = "command_line_tests.rs"]
mod tests;
