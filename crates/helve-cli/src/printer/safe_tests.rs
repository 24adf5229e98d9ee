//! Nothing that steers, turns or hides gets through.

use super::{block, is_hidden, line, split_plain};

#[test]
fn what_people_write_passes() {
    for text in ["plain", "Grüße, 世界 👋 é ﷺ", "a\u{301} ‑ “quoted”"] {
        assert_eq!(line(text), text);
        assert_eq!(block(text), text);
    }
    assert_eq!(block("two\nlines\tand a tab"), "two\nlines\tand a tab");
}

#[test]
fn what_steers_a_terminal_is_shown() {
    insta::assert_snapshot!(line("\u{1b}[2Jgone\u{7}"), @r"\u{1b}[2Jgone\u{7}");
    insta::assert_snapshot!(line("a\r\nb\tc"), @r"a\r\nb\tc");
    insta::assert_snapshot!(block("a\r\nb"), @r"
    a\r
    b
    ");
    insta::assert_snapshot!(line("\u{9b}31mred\u{7f}"), @r"\u{9b}31mred\u{7f}");
    insta::assert_snapshot!(line("user\u{202e}gpj.exe"), @r"user\u{202e}gpj.exe");
    insta::assert_snapshot!(line("zero\u{200b}width\u{feff}"), @r"zero\u{200b}width\u{feff}");
    insta::assert_snapshot!(line("tag\u{e0041}\u{e007f}"), @r"tag\u{e0041}\u{e007f}");
}

#[test]
fn plain_text_hides_nothing() {
    for character in (0..=0x10_ffff).filter_map(char::from_u32) {
        let is_plain = (' '..='~').contains(&character);
        assert!(!is_plain || !is_hidden(character), "{character:?}");
        // In the middle of eight bytes, where the neighbours must not hide it.
        let text = format!("{}{character}{}", " ".repeat(37), "~".repeat(9));
        let (plain, rest) = split_plain(&text);
        assert_eq!(plain.len(), if is_plain { text.len() } else { 37 }, "{character:?}");
        assert_eq!(format!("{plain}{rest}"), text);
    }
    for text in ["", "a", "é", &"a".repeat(32), &"a".repeat(33)] {
        assert_eq!(split_plain(text), if text == "é" { ("", text) } else { (text, "") });
    }
}

#[test]
fn every_control_and_format_character_of_the_first_planes_is_hidden() {
    let controls = (0..=0x1f).chain(0x7f..=0x9f).filter_map(char::from_u32);
    assert!(controls.into_iter().all(is_hidden));
    let turning = ['\u{202a}', '\u{202b}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}'];
    assert!(turning.into_iter().all(is_hidden));
    assert!(!is_hidden(' ') && !is_hidden('\u{a0}') && !is_hidden('é') && !is_hidden('\u{fe0f}'));
}
