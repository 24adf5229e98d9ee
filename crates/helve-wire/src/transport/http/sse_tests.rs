//! The same bytes give the same events however they are split; events over the limit are dropped and told.

use proptest::prelude::*;

use super::*;

fn decode(limit: usize, chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<Decoded> {
    let mut decoder = SseDecoder::new(limit);
    let mut decoded = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk.as_ref()));
        while let Some(event) = decoder.next() {
            decoded.push(event);
        }
    }
    decoded
}

fn data(text: &str) -> Decoded {
    Decoded::Event(SseEvent { data: Some(Bytes::copy_from_slice(text.as_bytes())), ..SseEvent::default() })
}

#[test]
fn fields_line_ends_and_comments() {
    assert_eq!(decode(99, ["data: a\n\n"]), [data("a")]);
    assert_eq!(decode(99, ["data:a\r\n\r\ndata: b\r\rdata:  c\n\n"]), [data("a"), data("b"), data(" c")]);
    assert_eq!(decode(99, ["data: a\ndata\ndata: b\n\n"]), [data("a\n\nb")]);
    assert_eq!(decode(99, ["\u{feff}data: a\n\n\u{feff}data: b\n\n"]), [data("a")], "a mark is one only at the start");
    assert_eq!(decode(99, [": comment\n\n:\n\n\n\n", "unknown: x\n\n"]), []);
    assert_eq!(decode(99, ["data: never ended\n"]), []);
    assert_eq!(
        decode(99, ["id: 7\nevent: message\nretry: 500\ndata: \n\n"]),
        [Decoded::Event(SseEvent {
            id: Some("7".into()),
            event: Some("message".into()),
            data: Some(Bytes::new()),
            retry: Some(Duration::from_millis(500)),
        })]
    );
    assert_eq!(
        decode(99, ["id: a\0b\nretry: 5x\nretry:\n\nid\n\n"]),
        [Decoded::Event(SseEvent { id: Some(String::new()), ..SseEvent::default() })]
    );
    let longest = Decoded::Event(SseEvent { retry: Some(MAX_RETRY), ..SseEvent::default() });
    assert_eq!(decode(99, ["retry: 99999999999999999999999\n\n"]), [longest]);
}

#[test]
fn a_return_at_the_end_of_a_read_ends_the_event_at_once() {
    assert_eq!(decode(99, ["data: a\r\n\r"]), [data("a")]);
    assert_eq!(decode(99, ["data: a\r", "\n\r", "\n", "data: b\n\n"]), [data("a"), data("b")]);
}

#[test]
fn a_large_line_is_not_copied_again() {
    let large = "x".repeat(2 * COPY_BYTES);
    let chunk = Bytes::from(format!("data: {large}\n\n"));
    let mut decoder = SseDecoder::new(1 << 20);
    decoder.push(chunk.clone());
    let Some(Decoded::Event(SseEvent { data: Some(data), .. })) = decoder.next() else { panic!("no event") };
    assert_eq!(data.as_ptr(), chunk.slice(6..).as_ptr());
    assert_eq!(data.len(), large.len());
}

#[test]
fn an_event_over_the_limit_is_told_at_once_and_the_next_one_arrives() {
    let mut decoder = SseDecoder::new(64);
    decoder.push(Bytes::from(format!("data: {{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{{\"a\":\"{}", "x".repeat(100))));
    assert_eq!(decoder.next(), Some(Decoded::TooLarge { id: Some(5) }));
    for _ in 0..1_000 {
        decoder.push(Bytes::from("x".repeat(1_000)));
        assert_eq!(decoder.next(), None);
        assert!(decoder.line.capacity() == 0);
    }
    decoder.push(Bytes::from_static(b"\"}}\n\ndata: next\n\n"));
    assert_eq!(decoder.next(), Some(data("next")));
}

#[test]
fn an_event_over_the_limit_with_its_id_at_the_end() {
    let event = format!("data: {{\"result\":{{\"a\":\"{}\"}},\"jsonrpc\":\"2.0\",\"id\":6}}\n\n", "x".repeat(5_000));
    for size in [1, 7, 64, 100_000] {
        let bytes = format!("{event}data: next\n\n").into_bytes();
        let expected = [Decoded::TooLarge { id: None }, Decoded::TooLarge { id: Some(6) }, data("next")];
        assert_eq!(decode(64, bytes.chunks(size)), expected, "chunks of {size}");
    }
}

#[test]
fn many_small_lines_count_together() {
    let lines = "data: 0123456789\n".repeat(10);
    assert_eq!(decode(64, [format!("{lines}\ndata: x\n\n")]), [Decoded::TooLarge { id: None }, data("x")]);
}

#[test]
fn a_comment_without_end_holds_nothing() {
    let mut decoder = SseDecoder::new(64);
    decoder.push(Bytes::from_static(b": "));
    assert_eq!(decoder.next(), None);
    for _ in 0..1_000 {
        decoder.push(Bytes::from("x".repeat(1_000)));
        assert_eq!(decoder.next(), None);
        assert!(decoder.line.len() <= 1);
    }
    decoder.push(Bytes::from_static(b"\ndata: a\n\n"));
    assert_eq!(decoder.next(), Some(data("a")));
}

/// The events of a whole stream, by the letter of the standard: lines first, then fields.
fn by_the_letter(bytes: &[u8]) -> Vec<Decoded> {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let Some((complete, _)) = text.rsplit_once('\n') else { return events };
    let mut event = SseEvent::default();
    for line in complete.split('\n') {
        if line.is_empty() {
            let event = std::mem::take(&mut event);
            if event != SseEvent::default() {
                events.push(Decoded::Event(event));
            }
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                let lines = match event.data.take() {
                    None => value.to_owned(),
                    Some(before) => format!("{}\n{value}", String::from_utf8_lossy(&before)),
                };
                event.data = Some(Bytes::from(lines));
            }
            "id" => event.id = Some(value.to_owned()),
            _ => {}
        }
    }
    events
}

fn some_stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: {\"a\":1}"),
        Just("data:"),
        Just("id: 4"),
        Just(": note"),
        Just("data"),
        Just("x"),
        Just(":"),
        Just("\n"),
        Just("\n"),
        Just("\r"),
        Just("\r\n"),
        Just("\n\n"),
        Just("\u{feff}"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn whole_streams_are_read_by_the_letter(bytes in some_stream()) {
        prop_assert_eq!(decode(1_000_000, [&bytes]), by_the_letter(&bytes));
    }

    #[test]
    fn splitting_changes_nothing(
        bytes in some_stream(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let whole = decode(1_000_000, [&bytes]);
        let mut positions: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        positions.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for position in positions {
            pieces.push(&bytes[from..position]);
            from = position;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(decode(1_000_000, pieces), whole);
        prop_assert_eq!(decode(1_000_000, bytes.chunks(1)), decode(1_000_000, [&bytes]));
    }

    #[test]
    fn the_limit_holds_whatever_comes(
        bytes in proptest::collection::vec(any::<u8>(), 0..2_000),
        size in 1_usize..300,
        limit in 1_usize..200,
    ) {
        let mut decoder = SseDecoder::new(limit);
        for chunk in bytes.chunks(size) {
            decoder.push(Bytes::copy_from_slice(chunk));
            while let Some(decoded) = decoder.next() {
                if let Decoded::Event(event) = decoded {
                    prop_assert!(event.data.map_or(0, |data| data.len()) <= limit);
                }
            }
            prop_assert!(decoder.line.len() + decoder.event.bytes <= limit.max(1));
        }
    }
}
