//! A line of a shell, taken apart into the words of its commands: as much as it takes to see which files it names. What
//! only the shell knows when it runs (the output of a command, a variable nobody set here) stays open, and is marked.

/// Longer lines are not looked into; their text counts as a whole.
const MAX_LINE: usize = 64 * 1024;

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// A part of it is known to the shell alone, so the text is not what the word becomes.
    pub(super) is_open: bool,
    /// It stands behind `<`: the command reads that file.
    pub(super) is_input: bool,
}

/// The simple commands of a line, each with its words; `;`, `|`, `&`, brackets, backticks and line ends part them. Commands
/// in `$(…)` are among them. `variable` gives the value of a variable that is known.
pub(super) fn commands(line: &str, variable: impl Fn(&str) -> Option<String>) -> Vec<Vec<Word>> {
    let Some(line) = Some(line).filter(|line| line.len() <= MAX_LINE) else { return Vec::new() };
    let mut lexer =
        Lexer { rest: line.chars().collect(), at: 0, variable, commands: vec![Vec::new()], word: None, input: false };
    lexer.run();
    lexer.commands.retain(|command| !command.is_empty());
    lexer.commands
}

struct Lexer<F> {
    rest: Vec<char>,
    at: usize,
    variable: F,
    commands: Vec<Vec<Word>>,
    word: Option<Word>,
    /// The next word stands behind `<`.
    input: bool,
}

impl<F: Fn(&str) -> Option<String>> Lexer<F> {
    fn run(&mut self) {
        while let Some(letter) = self.next() {
            match letter {
                ' ' | '\t' => self.end_word(),
                '\n' | ';' | '|' | '&' | '(' | ')' | '`' => self.end_command(),
                '#' if self.word.is_none() => {
                    while self.peek().is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                '<' => {
                    self.end_word();
                    self.input = true;
                }
                '>' => self.end_word(),
                '\'' => {
                    self.word();
                    while let Some(letter) = self.next().filter(|letter| *letter != '\'') {
                        self.push(letter);
                    }
                }
                '"' => self.quoted(),
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(letter) => self.push(letter),
                },
                '$' => self.expansion(false),
                letter => self.push(letter),
            }
        }
        self.end_word();
    }

    fn quoted(&mut self) {
        self.word();
        while let Some(letter) = self.next() {
            match letter {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(letter @ ('"' | '\\' | '$' | '`')) => self.push(letter),
                    Some(letter) => {
                        self.push('\\');
                        self.push(letter);
                    }
                },
                '$' => self.expansion(true),
                // A command whose output goes on here: its words are looked at, the word itself stays open.
                '`' => self.substitution('`'),
                letter => self.push(letter),
            }
        }
    }

    /// What stands behind `$`.
    fn expansion(&mut self, is_quoted: bool) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                if is_quoted {
                    self.substitution(')');
                } else {
                    self.open();
                    self.end_command();
                }
            }
            Some('{') => {
                self.at += 1;
                let mut name = String::new();
                while let Some(letter) = self.next().filter(|letter| *letter != '}') {
                    name.push(letter);
                }
                self.value(&name, is_quoted);
            }
            Some('\'') if !is_quoted => {}
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => {
                let mut name = String::new();
                while let Some(letter) = self.peek().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_') {
                    name.push(letter);
                    self.at += 1;
                }
                self.value(&name, is_quoted);
            }
            Some(letter) if letter.is_ascii_digit() || "@*#?!-$".contains(letter) => {
                self.at += 1;
                self.open();
            }
            _ => self.push('$'),
        }
    }

    /// The value of a variable; unquoted, blanks in it part words.
    fn value(&mut self, name: &str, is_quoted: bool) {
        let Some(value) = (self.variable)(name) else { return self.open() };
        for letter in value.chars() {
            if !is_quoted && letter.is_ascii_whitespace() {
                self.end_word();
            } else {
                self.push(letter);
            }
        }
    }

    /// A command inside a quoted word, up to `end`: looked at as a line of its own.
    fn substitution(&mut self, end: char) {
        let mut inside = String::new();
        let mut depth = 0_usize;
        while let Some(letter) = self.next() {
            match letter {
                letter if letter == end && depth == 0 => break,
                '(' if end == ')' => depth += 1,
                ')' if end == ')' => depth -= 1,
                _ => {}
            }
            inside.push(letter);
        }
        let inner = commands(&inside, &self.variable as &dyn Fn(&str) -> Option<String>);
        let current = self.commands.pop().unwrap_or_default();
        self.commands.extend(inner);
        self.commands.push(current);
        self.open();
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(letter)
    }

    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn word(&mut self) -> &mut Word {
        let is_input = self.input;
        self.word.get_or_insert_with(|| Word { text: String::new(), is_open: false, is_input })
    }

    fn push(&mut self, letter: char) {
        self.word().text.push(letter);
    }

    fn open(&mut self) {
        self.word().is_open = true;
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.input = false;
            if let Some(command) = self.commands.last_mut() {
                command.push(word);
            }
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.input = false;
        self.commands.push(Vec::new());
    }
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
