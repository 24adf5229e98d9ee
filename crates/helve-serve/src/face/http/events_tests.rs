//! What is kept of a stream, and for whom.

use std::task::Waker;

use helve_model::json::RawJson;

use super::*;

fn limits(waiting_bytes: usize, replay_bytes: usize) -> Limits {
    Limits { waiting_bytes, replay_bytes, ..Limits::default() }
}

fn note(number: usize) -> Message {
    Message::notification("n", Some(&RawJson::assembled(number.to_string())))
}

/// Everything there is to read now.
fn read(stream: &EventStream, reader: u64) -> Vec<String> {
    let mut events = Vec::new();
    while let Poll::Ready(Next::Event(parts)) = stream.poll_next(reader, &Context::from_waker(Waker::noop())) {
        events.push(String::from_utf8(parts.concat()).unwrap());
    }
    events
}

#[test]
fn a_stream_is_resumed_where_it_broke() {
    let stream = EventStream::new(&limits(10_000, 10_000));
    stream.make_resumable(3, true);
    (0..3).for_each(|number| stream.send(note(number)));
    let reader = stream.read_from(None).unwrap();
    insta::assert_snapshot!(read(&stream, reader).concat(), @r#"
    id: 3-0
    data: 

    id: 3-1
    data: {"jsonrpc":"2.0","method":"n","params":0}

    id: 3-2
    data: {"jsonrpc":"2.0","method":"n","params":1}

    id: 3-3
    data: {"jsonrpc":"2.0","method":"n","params":2}
    "#);
    let again = stream.read_from(Some(1)).unwrap();
    let events = read(&stream, again);
    assert_eq!(events.len(), 2);
    assert!(events[0].starts_with("id: 3-2\n"));
    // The older reader is gone, and an event that was never sent cannot be named.
    assert!(matches!(stream.poll_next(reader, &Context::from_waker(Waker::noop())), Poll::Ready(Next::End)));
    assert_eq!(stream.read_from(Some(9)), None);
    assert!(!stream.is_finished());
    stream.end();
    assert!(stream.is_finished());
}

#[test]
fn what_is_kept_is_bounded() {
    let stream = EventStream::new(&limits(1_000_000, 1_000));
    stream.make_resumable(1, false);
    let reader = stream.read_from(None).unwrap();
    for number in 0..1_000 {
        stream.send(note(number));
        assert_eq!(read(&stream, reader).len(), 1);
        assert!(stream.bytes() <= 1_000);
    }
    assert_eq!(stream.read_from(Some(5)), None);
    assert!(stream.read_from(Some(990)).is_some());
}

#[test]
fn a_reader_that_never_comes_loses_notifications_only() {
    let stream = EventStream::new(&limits(1_000, 1_000));
    stream.make_resumable(1, false);
    stream.send(Message::answer(&RawJson::from_static("7"), &Ok(RawJson::empty_object())));
    (0..1_000).for_each(|number| stream.send(note(number)));
    assert!(stream.bytes() <= 1_000);
    let reader = stream.read_from(None).unwrap();
    let events = read(&stream, reader);
    assert!(events[0].contains("\"id\":7"));
    assert!(events.last().unwrap().contains("999"));
}

#[test]
fn event_ids() {
    assert_eq!(parse_event_id("3-17"), Some((3, 17)));
    assert_eq!(parse_event_id("nonsense"), None);
    assert_eq!(parse_event_id("-1"), None);
}

fn answer(bytes: usize) -> Message {
    Message::answer(&RawJson::from_static("7"), &Ok(RawJson::assembled(format!("{{\"x\":\"{}\"}}", "x".repeat(bytes)))))
}

#[test]
fn what_nobody_reads_leaves_nothing_behind() {
    let stream = EventStream::new(&limits(100_000, 1_000));
    stream.make_resumable(1, true);
    for number in 0..200_000 {
        stream.send(note(number));
        assert!(stream.bytes() <= 100_000);
    }
    // Each costs its own bytes and its place in the queue, so there are far fewer of them than bytes.
    assert!(stream.events() <= 1_000, "{}", stream.events());
    let reader = stream.read_from(None).unwrap();
    let events = read(&stream, reader);
    assert!(events[0].starts_with("id: 1-0\ndata: \n"));
    assert!(events.last().unwrap().contains("199999"));
}

#[test]
fn an_answer_is_kept_whatever_its_size() {
    let stream = EventStream::new(&limits(1_000_000, 1_000));
    stream.make_resumable(1, true);
    (0..5).for_each(|number| stream.send(note(number)));
    stream.send(answer(20_000));
    stream.end();
    let reader = stream.read_from(None).unwrap();
    assert_eq!(read(&stream, reader).len(), 7);
    // It does not push out what came before it.
    for after in [2, 5] {
        let again = stream.read_from(Some(after)).unwrap();
        assert_eq!(read(&stream, again).len(), 6 - usize::try_from(after).unwrap());
    }
}

#[test]
fn who_leaves_every_answer_unread_gets_none() {
    let stream = EventStream::new(&Limits { unread_bytes: 10_000, ..limits(1_000, 1_000) });
    stream.send(answer(50_000));
    assert!(stream.bytes() > 50_000, "one answer may be as large as it likes");
    (0..100).for_each(|_| stream.send(answer(1_000)));
    assert_eq!(stream.bytes(), 0);
    let reader = stream.read_from(None).unwrap();
    assert!(matches!(stream.poll_next(reader, &Context::from_waker(Waker::noop())), Poll::Ready(Next::End)));
}

#[tokio::test(start_paused = true)]
async fn the_clock_stands_still_while_somebody_reads() {
    const TIME: Duration = Duration::from_secs(60);
    let stream = EventStream::new(&Limits::default());
    let reader = stream.read_from(None).unwrap();
    stream.left(reader);
    let mut gone = std::pin::pin!(stream.unread_for(TIME));
    let is_gone = async |gone: &mut std::pin::Pin<&mut _>, seconds: u64| {
        tokio::time::timeout(Duration::from_secs(seconds), gone).await.is_ok()
    };
    assert!(!is_gone(&mut gone, 59).await);
    let again = stream.read_from(None).unwrap();
    assert!(!is_gone(&mut gone, 3_600).await);
    // The older reader's end is noticed late, and means nothing.
    stream.left(reader);
    assert!(!is_gone(&mut gone, 3_600).await);
    stream.left(again);
    assert!(!is_gone(&mut gone, 59).await);
    assert!(is_gone(&mut gone, 2).await);
}
