//! Lines that come in pieces, together, too long or never: what the reader of a pipe makes of them.

use tokio::io::AsyncWriteExt as _;

use super::*;

/// The lines that come of these pieces, written one after the other.
async fn lines(unread: &[u8], pieces: &[&[u8]], most: usize) -> Vec<Result<String, String>> {
    let (mut sender, mut receiver) = pipe::pipe().expect("a pipe");
    let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
    let writing = tokio::spawn(async move {
        for piece in pieces {
            sender.write_all(&piece).await.ok();
            tokio::task::yield_now().await;
        }
    });
    let mut reader = Lines::new(unread.to_vec(), most);
    let mut found = Vec::new();
    loop {
        match reader.next(&mut receiver).await {
            Ok(Some(line)) => found.push(Ok(String::from_utf8_lossy(line).into_owned())),
            Ok(None) => break,
            Err(why) => {
                found.push(Err(why));
                break;
            }
        }
    }
    drop(receiver);
    writing.await.expect("it writes");
    found
}

#[tokio::test]
async fn lines_come_whole_however_they_were_written() {
    let good = |lines: &[&str]| lines.iter().map(|line| Ok((*line).to_owned())).collect::<Vec<_>>();
    assert_eq!(lines(b"", &[b"a\nb", b"c\n", b"\n", b"d"], 10).await, good(&["a", "bc", ""]));
    assert_eq!(lines(b"x\ny", &[b"z\n"], 10).await, good(&["x", "yz"]));
    // Many small ones, over the end of what is read at once.
    let many: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    let wanted: Vec<_> = (0..20_000).map(|number| Ok(number.to_string())).collect();
    assert_eq!(lines(b"", &[many.as_bytes()], 10).await, wanted);
    // One that is larger than what is read at once, between small ones.
    let long = "l".repeat(1 << 20);
    let text = format!("a\n{long}\nb\n");
    assert_eq!(lines(b"", &[text.as_bytes()], 2 << 20).await, good(&["a", &long, "b"]));
}

#[tokio::test]
async fn a_line_over_the_limit_is_an_error() {
    let wanted = vec![Ok("a".to_owned()), Err("it wrote a message of more than 100 bytes".to_owned())];
    assert_eq!(lines(b"", &[b"a\n", &[b'x'; 200_000]], 100).await, wanted);
}

#[tokio::test]
async fn what_stands_behind_the_last_line_is_kept() {
    let (mut sender, mut receiver) = pipe::pipe().expect("a pipe");
    sender.write_all(b"one\ntwo\nthr").await.expect("room");
    let mut reader = Lines::new(Vec::new(), 100);
    assert_eq!(reader.next(&mut receiver).await, Ok(Some(&b"one"[..])));
    assert_eq!(reader.rest(), b"two\nthr");
}

#[tokio::test]
async fn everything_is_written_in_the_end_although_the_pipe_is_small() {
    let (mut sender, mut receiver) = pipe::pipe().expect("a pipe");
    let mut outbox = Outbox::default();
    let text = "0123456789".repeat(100_000);
    outbox.put(&text);
    let reading = tokio::spawn(async move {
        let mut all = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut receiver, &mut all).await.expect("it reads");
        all
    });
    poll_fn(|context| {
        outbox.poll_flush(&mut sender, context);
        if outbox.len() == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    drop(sender);
    assert!(reading.await.expect("it reads") == text.as_bytes());
}
