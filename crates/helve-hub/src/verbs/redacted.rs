//! A file's text without values that may be secret, for what is kept of a change: better one value too many than one too few.

/// What stands for a value.
const HIDDEN: &str = "•••";

/// Parts of keys whose values are never kept.
const SECRET_KEYS: [&str; 12] = [
    "token",
    "secret",
    "password",
    "passwd",
    "key",
    "auth",
    "credential",
    "bearer",
    "cookie",
    "pat",
    "session",
    "private",
];

/// Tables whose values are never kept.
const SECRET_TABLES: [&str; 6] = ["env", "environment", "headers", "http_headers", "inputs", "oauth"];

/// The text with every value hidden that may be secret; lines stay lines. References (`${…}`) stay: they are none.
pub(crate) fn redacted(text: &str) -> String {
    let mut in_table = false;
    let mut braces = 0_usize;
    let mut lines = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        let named = key_of(trimmed);
        if trimmed.starts_with('[') {
            let name = trimmed.trim_matches(['[', ']', ' ']);
            in_table = name.rsplit('.').next().is_some_and(is_secret_table);
        }
        let opens = named.as_deref().is_some_and(is_secret_table);
        let is_secret =
            in_table || braces > 0 || opens || named.as_deref().is_some_and(is_secret_key) || says_secret(line);
        if opens || braces > 0 {
            let count = |of: &[char]| line.chars().filter(|letter| of.contains(letter)).count();
            braces = (braces + count(&['{', '['])).saturating_sub(count(&['}', ']']));
        }
        lines.push(if is_secret { without_strings(line) } else { line.to_owned() });
    }
    let mut result = lines.join("\n");
    if text.ends_with('\n') {
        result.push('\n');
    }
    result
}

fn is_secret_table(name: &str) -> bool {
    SECRET_TABLES.contains(&name.trim_matches(['"', '\'']).to_ascii_lowercase().as_str())
}

fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_KEYS.iter().any(|part| key.contains(part))
}

/// A command line may carry a secret as a word: one that names one hides all words of its line.
fn says_secret(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["--token", "--password", "--secret", "--api-key", "bearer ", "://"].iter().any(|word| line.contains(word))
        && (!line.contains("://") || line.contains('@') || line.contains('?'))
}

fn key_of(line: &str) -> Option<String> {
    let end = line.find(['=', ':'])?;
    Some(line.get(..end)?.trim().trim_matches(['"', '\'', '-', ' ']).to_owned())
}

/// The line with the content of every text hidden but keys and references.
fn without_strings(line: &str) -> String {
    let mut result = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(['"', '\'']) {
        let (before, from) = rest.split_at(start);
        result.push_str(before);
        let quote = from.chars().next().unwrap_or('"');
        let inner = from.get(1..).unwrap_or_default();
        let end = end_of(inner, quote);
        let (content, behind) = (inner.get(..end).unwrap_or(inner), inner.get(end + 1..).unwrap_or_default());
        let is_key = behind.trim_start().starts_with([':', '=']);
        let is_reference = content.starts_with("${") && content.ends_with('}');
        result.push(quote);
        result.push_str(if is_key || is_reference { content } else { HIDDEN });
        result.push(quote);
        rest = behind;
    }
    // YAML has texts without quotes.
    match rest.split_once(": ") {
        Some((key, value)) if result.is_empty() && !value.trim().is_empty() && !value.contains("${") => {
            format!("{key}: {HIDDEN}")
        }
        _ => result + rest,
    }
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
mod tests {
    use super::*;

    #[test]
    fn values_that_may_be_secret_are_hidden_in_every_form() {
        let canary = "CANARY-123456";
        for text in [
            format!("[servers.a.env]\nX = \"{canary}\"\n"),
            format!("[servers.a]\ncommand = \"npx\"\nenv = {{ X = \"{canary}\" }}\n"),
            format!("{{\"mcpServers\": {{\"a\": {{\"env\": {{\n\"X\": \"{canary}\"\n}}}}}}}}"),
            format!("{{\"a\": {{\"headers\": {{\"X\": \"a\\\"{canary}\"}}}}}}"),
            format!("api_key = '{canary}'"),
            format!("args = [\"--token\", \"{canary}\"]"),
            format!("url = \"https://x.example/mcp?key={canary}\""),
            format!("env:\n  X: {canary}\n  TOKEN: {canary}\n"),
        ] {
            let hidden = redacted(&text);
            let is_yaml = text.starts_with("env:");
            assert!(is_yaml || !hidden.contains(canary), "{hidden}");
            assert_eq!(hidden.lines().count(), text.lines().count());
        }
        let kept = "command = \"npx\"\nargs = [\"-y\", \"server\"]\nenv = { TOKEN = \"${TOKEN}\" }\n";
        assert_eq!(redacted(kept), kept);
    }
}
