//! The same bytes give the same lines however they are split, and large lines are bounded.

use proptest::prelude::*;

use super::*;

fn lines_of(limit: usize, chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<Line> {
    let mut buffer = LineBuffer::new(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        buffer.room().extend_from_slice(chunk.as_ref());
        while let Some(line) = buffer.next_line() {
            lines.push(line);
        }
    }
    lines
}

fn text(line: &str) -> Line {
    Line::Text(ByteString::from(line))
}

#[test]
fn lines_blank_lines_and_carriage_returns() {
    assert_eq!(lines_of(99, ["a\n\r\n \nb\r\nc"]), [text("a"), text("b")]);
    assert_eq!(lines_of(99, ["h\u{e9}".as_bytes(), "\n".as_bytes()]), [text("h\u{e9}")]);
    assert_eq!(lines_of(99, [&b"\xc3"[..], &b"\xa9\n"[..]]), [text("\u{e9}")]);
    assert_eq!(lines_of(99, [&b"\xff\n"[..]]), [Line::NotUtf8(ByteString::from("\u{fffd}"))]);
}

#[test]
fn a_large_line_takes_the_buffer_with_it() {
    let large = "x".repeat(3 * TAKE_BYTES);
    assert_eq!(lines_of(1 << 20, [format!("a\n{large}\nb\n")]), [text("a"), text(&large), text("b")]);
}

#[test]
fn a_line_over_the_limit_is_told_as_soon_as_its_id_is_known() {
    let head = r#"{"jsonrpc":"2.0","id":5,"result":{"a":""#;
    let filler = "x".repeat(100);
    let mut buffer = LineBuffer::new(64);
    buffer.room().extend_from_slice(format!("{head}{filler}").as_bytes());
    assert_eq!(buffer.next_line(), Some(Line::TooLarge { id: Some(5) }));
    for _ in 0..1_000 {
        buffer.room().extend_from_slice(filler.as_bytes());
        assert_eq!(buffer.next_line(), None);
        assert!(buffer.data.capacity() <= 2 * READ_BYTES);
    }
    buffer.room().extend_from_slice(b"\"}}\nnext\n");
    assert_eq!(buffer.next_line(), Some(text("next")));
}

#[test]
fn a_line_over_the_limit_with_its_id_at_the_end() {
    let filler = "x".repeat(10_000);
    let line = format!(r#"{{"result":{{"a":"{filler}"}},"jsonrpc":"2.0","id":6}}"#);
    for size in [1, 7, 64, 100_000] {
        let bytes = format!("{line}\nnext\n").into_bytes();
        let lines = lines_of(64, bytes.chunks(size));
        assert_eq!(lines, [Line::TooLarge { id: Some(6) }, text("next")], "chunks of {size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn splitting_changes_nothing(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(0xc3), Just(0xa9), Just(b'a')], 0..200),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        limit in 1_usize..60,
    ) {
        let whole = lines_of(limit, [&bytes]);
        let mut positions: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        positions.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for position in positions {
            pieces.push(&bytes[from..position]);
            from = position;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(lines_of(limit, pieces), whole);
    }
}
