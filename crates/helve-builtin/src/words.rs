//! How foreign text and numbers are shown, and which word was probably meant.

use helve_model::text::{cut, nearest, one_line};

/// How many characters of a foreign name a message shows.
const SHOWN_CHARACTERS: usize = 200;

/// How many characters of a foreign message are passed on.
const MESSAGE_CHARACTERS: usize = 500;

/// `text` in backquotes, with nothing invisible in it and not endless.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", cut(text, SHOWN_CHARACTERS))
}

/// A message of somebody else, with nothing invisible in it and not endless.
pub(crate) fn message(text: &str) -> String {
    cut(text, MESSAGE_CHARACTERS).into_owned()
}

/// `text` on one line, with nothing invisible in it but tabs: a name cannot look like two, or like another line of a list.
pub(crate) fn printable(text: &str) -> String {
    let parts: Vec<_> = text.split('\t').map(one_line).collect();
    parts.join("\t")
}

/// Which of `names` was probably meant; all of them when none is near.
pub(crate) fn suggestion(wrong: &str, names: &[&str]) -> String {
    match nearest(wrong, names.iter().copied()) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => format!("there is {}", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")),
    }
}

/// `1 byte`, `2 bytes`, `1,048,576 bytes`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + noun.len() + 8);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown.push(' ');
    shown.push_str(noun);
    if number != 1 {
        shown.push('s');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let shown: Vec<String> =
            [0, 1, 999, 1_000, 1_048_576, u64::MAX].into_iter().map(|number| counted(number, "byte")).collect();
        insta::assert_snapshot!(shown.join("\n"), @"
        0 bytes
        1 byte
        999 bytes
        1,000 bytes
        1,048,576 bytes
        18,446,744,073,709,551,615 bytes
        ");
    }

    #[test]
    fn nothing_invisible_is_shown() {
        insta::assert_snapshot!(quoted("a\nb\u{1b}[31m\u{202e}gpj.exe\u{e0041}ä"), @r#"`a\nb\u{1b}[31m\u{202e}gpj.exe\u{e0041}ä`"#);
        assert_eq!(quoted(&"x".repeat(1_000)).chars().count(), SHOWN_CHARACTERS + 3);
    }

    #[test]
    fn near_names_are_suggested() {
        assert_eq!(suggestion("rots", &["roots", "writable"]), "did you mean `roots`?");
        assert_eq!(suggestion("xyz", &["roots", "writable"]), "there is `roots`, `writable`");
    }
}
