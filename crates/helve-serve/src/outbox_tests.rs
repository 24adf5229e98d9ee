//! What waits for an agent that does not read.

use helve_model::json::RawJson;
use tokio::io::AsyncReadExt as _;

use super::*;

fn note(number: usize) -> Message {
    Message::notification(&format!("n/{number}"), Some(&RawJson::assembled(format!("\"{}\"", "x".repeat(200)))))
}

fn answer(bytes: usize) -> Message {
    let id = RawJson::from_static("1");
    Message::answer(&id, &Ok(RawJson::assembled(format!("\"{}\"", "x".repeat(bytes)))))
}

fn outbox(waiting_bytes: usize, unread_bytes: usize) -> Outbox {
    Outbox::new(&Limits { waiting_bytes, unread_bytes, ..Limits::default() })
}

#[test]
fn the_oldest_notifications_go_first_and_answers_stay() {
    let outbox = outbox(2_000, 100_000);
    outbox.send(answer(100));
    for number in 0..100 {
        outbox.send(note(number));
    }
    let state = lock(&outbox.state);
    assert!(state.bytes <= 2_000 && !state.overflowed);
    assert_eq!(state.queue.front().map(Message::kind), Some(Kind::Answer));
    let mut last = Vec::new();
    state.queue.back().unwrap().write_to(&mut last);
    assert!(String::from_utf8(last).unwrap().contains("n/99"));
}

#[test]
fn an_agent_that_leaves_its_answers_unread_is_given_up() {
    let outbox = outbox(1_000, 5_000);
    // One answer may be as large as it likes.
    outbox.send(answer(10_000));
    assert!(outbox.is_full());
    assert!(outbox.take(&mut Vec::new()).is_ok());
    for _ in 0..3 {
        outbox.send(answer(3_000));
    }
    assert!(outbox.take(&mut Vec::new()).is_err());
}

#[tokio::test]
async fn small_and_large_messages_are_lines_in_order() {
    let outbox = outbox(1 << 20, 1 << 20);
    let sent = [note(0), note(1), answer(GATHERED_BYTES * 2), note(2), answer(GATHERED_BYTES - 50), note(3)];
    let mut wanted = Vec::new();
    for message in sent {
        message.write_to(&mut wanted);
        wanted.push(b'\n');
        outbox.send(message);
    }
    let (near, mut far) = tokio::io::duplex(1 << 20);
    let mut got = vec![0; wanted.len()];
    tokio::select! {
        ended = outbox.write_into(near) => panic!("{ended:?}"),
        read = far.read_exact(&mut got) => drop(read.unwrap()),
    }
    assert_eq!(got, wanted);
}

#[tokio::test]
async fn who_was_full_hears_when_there_is_room_again() {
    let outbox = outbox(1_000, 100_000);
    outbox.send(answer(5_000));
    assert!(outbox.is_full());
    let (mut near, far) = tokio::io::duplex(100_000);
    let mut writing = std::pin::pin!(outbox.write_into(far));
    tokio::select! {
        biased;
        () = outbox.drained() => {}
        written = &mut writing => panic!("{written:?}"),
    }
    assert!(!outbox.is_full());
    let mut read = vec![0; 5_000];
    near.read_exact(&mut read).await.unwrap();
}
