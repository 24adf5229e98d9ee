//! Nothing that steers, turns or hides gets through.

use super::{cut, is_invisible, one_line, split_plain, visible};

#[test]
fn what_people_write_passes() {
    for text in ["plain", "Grüße, 世界 👋 é ﷺ", "a\u{301} ‑ “quoted”"] {
        assert_eq!(one_line(text), text);
        assert_eq!(visible(text), text);
    }
    assert_eq!(visible("two\nlines\tand a tab"), "two\nlines\tand a tab");
}

#[test]
fn what_steers_a_terminal_is_shown() {
    insta::assert_snapshot!(one_line("\u{1b}[2Jgone\u{7}"), @r"\u{1b}[2Jgone\u{7}");
    insta::assert_snapshot!(one_line("a\r\nb\tc"), @r"a\r\nb\tc");
    insta::assert_snapshot!(visible("a\r\nb"), @r"
    a\r
    b
    ");
    insta::assert_snapshot!(one_line("\u{9b}31mred\u{7f}"), @r"\u{9b}31mred\u{7f}");
    insta::assert_snapshot!(one_line("user\u{202e}gpj.exe"), @r"user\u{202e}gpj.exe");
    insta::assert_snapshot!(one_line("zero\u{200b}width\u{feff}"), @r"zero\u{200b}width\u{feff}");
    insta::assert_snapshot!(one_line("tag\u{e0041}\u{e007f}"), @r"tag\u{e0041}\u{e007f}");
    insta::assert_snapshot!(one_line("heart\u{2764}\u{fe0f}"), @r"heart❤\u{fe0f}");
}

#[test]
fn a_cut_text_says_so() {
    assert_eq!(cut("", 0), "");
    assert_eq!(cut("Grüße", 5), "Grüße");
    assert_eq!(cut("Grüße", 4), "Grüß…");
    assert_eq!(cut("a\u{202e}b", 2), "a\\u{202e}…");
}

#[test]
fn plain_text_hides_nothing() {
    for character in (0..=0x10_ffff).filter_map(char::from_u32) {
        let is_plain = (' '..='~').contains(&character);
        assert!(!is_plain || !is_invisible(character), "{character:?}");
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

/// The whole set. Other crates hold none of their own: `cargo xtask tidy` looks.
#[test]
fn s17_there_is_one_set_of_invisible_characters() {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for code in (0..=0x10_ffff_u32).filter(|code| char::from_u32(*code).is_some_and(is_invisible)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == code => *last = code,
            _ => ranges.push((code, code)),
        }
    }
    let shown = ranges
        .iter()
        .map(|(first, last)| if first == last { format!("{first:04X}") } else { format!("{first:04X}-{last:04X}") });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join(" "), @"0000-001F 007F-009F 00AD 034F 061C 115F-1160 17B4-17B5 180B-180F 200B-200F 2028-202E 2060-206F 3164 FDD0-FDEF FE00-FE0F FEFF FFA0 FFF0-FFFB FFFE-FFFF 13430-1343F 1BCA0-1BCA3 1D173-1D17A 1FFFE-1FFFF 2FFFE-2FFFF 3FFFE-3FFFF 4FFFE-4FFFF 5FFFE-5FFFF 6FFFE-6FFFF 7FFFE-7FFFF 8FFFE-8FFFF 9FFFE-9FFFF AFFFE-AFFFF BFFFE-BFFFF CFFFE-CFFFF DFFFE-E0FFF EFFFE-EFFFF FFFFE-FFFFF 10FFFE-10FFFF");
    for named in
        ['\u{61c}', '\u{ad}', '\u{2028}', '\u{2029}', '\u{180e}', '\u{fe00}', '\u{fe0f}', '\u{e0041}', '\u{e01ef}']
    {
        assert!(is_invisible(named), "{named:?}");
    }
}
