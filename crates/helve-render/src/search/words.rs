//! Owns what a word is: text cut at everything that is not a letter or a digit, at humps and around digits, in lower case,
//! and then without its English ending.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Letters of a word that count; anything longer is data, not a word.
const MAX_WORD: usize = 40;

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// A name made of words: `GetIssue` is `get` and `issue`.
    Name,
    /// Sentences: `GitHub` is one word, `fileKey` is two as well.
    Prose,
}

/// Hands over every word of a text, in lower case. A word that is cut is also given whole.
pub(super) fn each(text: &str, writing: Writing, give: &mut dyn FnMut(&str)) {
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        rest = rest.get(start..).unwrap_or_default();
        let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let (run, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        cut(run, writing, give);
        rest = after;
    }
}

/// The word without its ending.
pub(super) struct Stems(Stemmer);

impl Stems {
    pub(super) fn new() -> Self {
        Self(Stemmer::create(Algorithm::English))
    }

    pub(super) fn of<'w>(&self, word: &'w str) -> Cow<'w, str> {
        // The rules are English; other scripts stay as they are.
        if word.is_ascii() && word.bytes().any(|byte| byte.is_ascii_lowercase()) {
            self.0.stem(word)
        } else {
            Cow::Borrowed(word)
        }
    }
}

/// The letters and digits of a text in lower case and nothing else: how names are compared that are meant to be the same.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || character == '\''
}

/// What kind of letter stands at a place, as far as it decides where a word ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    /// Scripts without spaces.
    Ideograph,
}

fn kind(character: char) -> Kind {
    match character {
        '0'..='9' => Kind::Digit,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => Kind::Ideograph,
        other if other.is_uppercase() => Kind::Upper,
        other if other.is_numeric() => Kind::Digit,
        _ => Kind::Lower,
    }
}

/// Cuts one run of letters and digits.
fn cut(run: &str, writing: Writing, give: &mut dyn FnMut(&str)) {
    let letters: Vec<char> = run.chars().filter(|character| *character != '\'').take(MAX_WORD + 1).collect();
    if letters.is_empty() || letters.len() > MAX_WORD {
        return;
    }
    if letters.iter().any(|letter| kind(*letter) == Kind::Ideograph) {
        return pairs(&letters, give);
    }
    let lower = |letters: &[char]| letters.iter().flat_map(|letter| letter.to_lowercase()).collect::<String>();
    give(&lower(&letters));
    let is_proper = letters.first().is_some_and(|first| kind(*first) == Kind::Upper);
    let has_digits = letters.iter().any(|letter| kind(*letter) == Kind::Digit);
    if writing == Writing::Prose && is_proper && !has_digits {
        return;
    }
    let mut parts: Vec<&[char]> = Vec::new();
    let mut start = 0;
    for index in 1..letters.len() {
        let (before, here) = (kind(letters[index - 1]), kind(letters[index]));
        let next = letters.get(index + 1).map(|letter| kind(*letter));
        let is_border = match (before, here) {
            (Kind::Lower, Kind::Upper) => true,
            // `HTTPServer`: the last capital begins the next word.
            (Kind::Upper, Kind::Upper) => next == Some(Kind::Lower),
            (before, here) => (before == Kind::Digit) != (here == Kind::Digit),
        };
        if is_border {
            parts.extend(letters.get(start..index));
            start = index;
        }
    }
    if start == 0 {
        return;
    }
    parts.extend(letters.get(start..));
    // `k8s` and `s3` are one word: pieces of one letter say nothing.
    for part in parts.into_iter().filter(|part| part.len() > 1) {
        give(&lower(part));
    }
}

/// Where there are no spaces, two letters stand for a word.
fn pairs(letters: &[char], give: &mut dyn FnMut(&str)) {
    if let [only] = letters {
        give(&only.to_string());
    }
    for pair in letters.windows(2) {
        give(&pair.iter().collect::<String>());
    }
}

/// Words that say nothing about what is wanted.
pub(super) fn is_empty(word: &str) -> bool {
    EMPTY.binary_search(&word).is_ok()
}

/// Words that make another verb of the one before them, which may stand apart: `set aside`, `set it all aside`.
pub(super) fn is_particle(word: &str) -> bool {
    matches!(word, "aside" | "away" | "back" | "down" | "off" | "on" | "out" | "over" | "up")
}

/// Sorted. None of them says what a tool does: `get`, `list` and `new` are words like others.
const EMPTY: [&str; 116] = [
    "a", "about", "actually", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but",
    "by", "can", "cannot", "could", "did", "do", "does", "doing", "don", "done", "dont", "each", "either", "every",
    "for", "from", "go", "going", "got", "had", "has", "have", "having", "he", "help", "her", "here", "him", "his",
    "how", "i", "if", "im", "in", "into", "is", "it", "its", "ive", "just", "let", "lets", "like", "ll", "me", "might",
    "must", "my", "need", "needs", "of", "on", "onto", "or", "our", "please", "re", "s", "she", "should", "so", "some",
    "such", "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
    "too", "us", "use", "used", "using", "ve", "very", "via", "want", "wants", "was", "we", "were", "what", "when",
    "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_up(text: &str, writing: Writing) -> String {
        let mut all = Vec::new();
        each(text, writing, &mut |word| all.push(word.to_owned()));
        all.join(" ")
    }

    #[test]
    fn words_end_at_signs_humps_and_digits() {
        insta::assert_snapshot!(cut_up("get_issue-Comments", Writing::Name), @"get issue comments");
        insta::assert_snapshot!(cut_up("HTTPServerError", Writing::Name), @"httpservererror http server error");
        insta::assert_snapshot!(cut_up("GitHub's fileKey", Writing::Prose), @"githubs filekey file key");
        insta::assert_snapshot!(cut_up("k8s base64", Writing::Name), @"k8s base64 base 64");
        insta::assert_snapshot!(cut_up("查询天气 Größe", Writing::Prose), @"查询 询天 天气 größe");
    }

    #[test]
    fn the_words_that_say_nothing_are_sorted() {
        assert!(EMPTY.is_sorted());
    }
}
