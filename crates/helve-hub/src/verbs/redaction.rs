//! A file's text without values that may be secret, for what is kept of a change. Only values of keys that are known to hold
//! no secret stay, and of them none that looks like one: better one value too many is hidden than one too few.

/// What stands for a value.
pub(crate) const HIDDEN: &str = "•••";

/// Keys whose values are kept.
const HARMLESS: &[&str] = &[
    "action",
    "application",
    "args",
    "arguments",
    "builtin",
    "call_timeout",
    "command",
    "cwd",
    "description",
    "disabled",
    "disabled_tools",
    "enabled",
    "exec",
    "import",
    "kind",
    "lazy",
    "name",
    "network",
    "pattern",
    "profile",
    "protocol_version",
    "read",
    "readonly",
    "record",
    "redact",
    "risk",
    "sandbox",
    "shared",
    "startup_timeout",
    "tool",
    "tools",
    "transport",
    "type",
    "unlisted",
    "url",
    "validation",
    "who",
    "write",
    "write_tools",
];

/// Tables whose values are hidden whatever their keys are.
const TABLES: [&str; 7] = ["env", "environment", "headers", "http_headers", "inputs", "oauth", "query"];

/// A word of letters and digits that is at least so long may be a secret, whatever it is for.
const LOOKS_SECRET: usize = 20;

/// The text with every value hidden that may be secret; lines stay lines. References (`${…}`) stay: they are none.
pub(crate) fn redacted(text: &str) -> String {
    let mut reader = Reader::default();
    let mut result: String = text.lines().map(|line| reader.line(line) + "\n").collect();
    if !text.ends_with('\n') {
        result.pop();
    }
    result
}

/// Where the text has come to.
#[derive(Default)]
struct Reader {
    /// The key whose value comes.
    key: String,
    /// How deep braces were open when a table of secrets began.
    hides_from: Option<usize>,
    depth: usize,
    /// The header of a TOML table names one of secrets.
    in_table: bool,
    /// A YAML table of secrets began at this indentation.
    indented: Option<usize>,
    /// The next value is the secret that an option named.
    hides_next: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> String {
        let indentation = line.len() - line.trim_start().len();
        let bare = line.trim();
        if self.indented.is_some_and(|outer| indentation <= outer && !bare.is_empty()) {
            self.indented = None;
        }
        if self.depth == 0 && bare.starts_with('[') && bare.ends_with(']') && !bare.contains(['=', ',']) {
            let name = bare.trim_matches(['[', ']', ' ']);
            self.in_table = name.split('.').any(is_table);
            return line.to_owned();
        }
        if bare.starts_with('#') || bare.starts_with("//") {
            // Somebody may have kept a value there.
            return line.replace(bare, if looks_secret(bare) { HIDDEN } else { bare });
        }
        let mut result = String::new();
        let mut rest = line;
        while let Some(letter) = rest.chars().next() {
            match letter {
                '"' | '\'' => {
                    let inner = rest.get(1..).unwrap_or_default();
                    let end = end_of(inner, letter);
                    let (content, behind) =
                        (inner.get(..end).unwrap_or(inner), inner.get(end + 1..).unwrap_or_default());
                    let shown = if behind.trim_start().starts_with([':', '=']) {
                        self.begins(content);
                        content
                    } else if self.may_show(content) {
                        content
                    } else {
                        HIDDEN
                    };
                    result.extend([letter.to_string().as_str(), shown, letter.to_string().as_str()]);
                    rest = behind;
                }
                '{' | '[' | '}' | ']' => {
                    self.depth =
                        if matches!(letter, '{' | '[') { self.depth + 1 } else { self.depth.saturating_sub(1) };
                    if self.hides_from.is_some_and(|from| self.depth < from) {
                        self.hides_from = None;
                    }
                    result.push(letter);
                    rest = rest.get(1..).unwrap_or_default();
                }
                letter if letter.is_whitespace() || matches!(letter, ',' | '=' | ':') => {
                    result.push(letter);
                    rest = rest.get(letter.len_utf8()..).unwrap_or_default();
                }
                _ => {
                    let end = Self::end_of_bare(rest);
                    let (word, behind) = (rest.get(..end).unwrap_or(rest), rest.get(end..).unwrap_or_default());
                    let key = word.trim_start_matches("- ").trim();
                    let is_value = matches!(key, "true" | "false" | "null" | "~" | "-") || key.parse::<f64>().is_ok();
                    if behind.starts_with(": ")
                        || behind.starts_with(':') && behind.len() == 1
                        || behind.trim_start().starts_with('=')
                    {
                        self.begins(key);
                        if behind.trim() == ":" && is_table(key) {
                            self.indented = Some(indentation);
                        }
                        result.push_str(word);
                    } else if (is_value && !self.hides()) || self.may_show(key) {
                        result.push_str(word);
                    } else {
                        result.push_str(HIDDEN);
                    }
                    rest = behind;
                }
            }
        }
        result
    }

    /// Where a word without quotes ends: a key at its sign, a value at the end of what holds it.
    fn end_of_bare(text: &str) -> usize {
        let key = text.find(['=', '"', '\'', ',', '{', '}', '[', ']']).unwrap_or(text.len());
        let yaml = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1)).unwrap_or(text.len());
        // An address has a colon of its own, and a text of YAML has anything.
        key.min(yaml).max(1)
    }

    fn begins(&mut self, key: &str) {
        key.trim().clone_into(&mut self.key);
        if is_table(key) && self.hides_from.is_none() {
            self.hides_from = Some(self.depth + 1);
        } else if !is_table(key) && self.hides_from == Some(self.depth + 1) {
            self.hides_from = None;
        }
    }

    fn hides(&self) -> bool {
        self.in_table || self.indented.is_some() || self.hides_from.is_some_and(|from| self.depth >= from)
    }

    fn may_show(&mut self, value: &str) -> bool {
        // `--token`, `VALUE`: the word behind an option that names a secret is one.
        let follows = std::mem::replace(&mut self.hides_next, value.starts_with('-') && looks_secret(value));
        let is_reference = value.starts_with("${") && value.ends_with('}') && value.matches("${").count() == 1;
        is_reference
            || !follows
                && !self.hides()
                && HARMLESS.contains(&self.key.to_ascii_lowercase().as_str())
                && !looks_secret(value)
    }
}

/// A word may carry a secret although its key holds none: an option with its value, an address with a password.
fn looks_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let names = ["token", "secret", "passw", "api-key", "apikey", "bearer", "credential"];
    let is_long = |part: &str| part.len() >= LOOKS_SECRET && part.bytes().any(|byte| byte.is_ascii_digit());
    names.iter().any(|name| lower.contains(name))
        || value.contains('=')
        || value.contains('?')
        || (value.contains("://") && value.contains('@'))
        || value.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').any(is_long)
}

fn is_table(name: &str) -> bool {
    TABLES.contains(&name.trim().trim_matches(['"', '\'']).to_ascii_lowercase().as_str())
}

fn end_of(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '\\' if quote == '"' => escaped = !escaped,
            letter if letter == quote && !escaped => return at,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
#[path = "redaction_tests.rs"]
mod tests;
