//! Owns the server's HTTP: one thread per connection, keep-alive, JSON answers with a length, and a count of it all.

use std::io::{Read, Result, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::answer::{Answerer, END};

const READ: usize = 64 * 1024;

/// Answers from this size on are written in pieces; smaller ones leave in one write.
const LARGE: u64 = 16 * 1024;

#[derive(Debug, Default)]
struct Stats {
    connections: AtomicU64,
    requests: AtomicU64,
}

pub(crate) fn serve(answerer: Answerer) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("listening on port {}", listener.local_addr()?.port());
    let answerer = Arc::new(answerer);
    let stats = Arc::new(Stats::default());
    for stream in listener.incoming() {
        let stream = stream?;
        let (answerer, stats) = (Arc::clone(&answerer), Arc::clone(&stats));
        std::thread::spawn(move || {
            // A client that leaves in the middle is its own business.
            drop(converse(stream, &answerer, &stats));
        });
    }
    Ok(())
}

fn converse(mut stream: TcpStream, answerer: &Answerer, stats: &Stats) -> Result<()> {
    stream.set_nodelay(true)?;
    stats.connections.fetch_add(1, Ordering::Relaxed);
    let mut pending = Vec::with_capacity(READ);
    let mut chunk = vec![0; READ];
    let mut body = Vec::with_capacity(READ);
    let mut out = Vec::with_capacity(READ);
    loop {
        let (head, length) = loop {
            if let Some(head) = memchr::memmem::find(&pending, b"\r\n\r\n") {
                let length = content_length(pending.get(..head).unwrap_or_default());
                if pending.len() >= head + 4 + length {
                    break (head, length);
                }
            }
            let count = stream.read(&mut chunk)?;
            if count == 0 {
                return Ok(());
            }
            pending.extend_from_slice(chunk.get(..count).unwrap_or_default());
        };
        let request = pending.get(head + 4..head + 4 + length).unwrap_or_default();
        body.clear();
        let (status, rest) = if pending.starts_with(b"POST ") {
            stats.requests.fetch_add(1, Ordering::Relaxed);
            match answerer.answer(request, &mut body) {
                Some(rest) => ("200 OK", Some(rest)),
                None => ("202 Accepted", None),
            }
        } else if pending.starts_with(b"GET /stats ") {
            // The connection that asks does not count.
            let connections = stats.connections.load(Ordering::Relaxed) - 1;
            let requests = stats.requests.load(Ordering::Relaxed);
            write!(body, r#"{{"connections":{connections},"requests":{requests}}}"#)?;
            ("200 OK", None)
        } else {
            ("405 Method Not Allowed", None)
        };
        let answer_length = body.len() as u64 + rest.as_ref().map_or(0, |rest| rest.length() + END.len() as u64);
        out.clear();
        write!(out, "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {answer_length}\r\n\r\n")?;
        out.extend_from_slice(&body);
        if let Some(rest) = rest {
            if rest.length() >= LARGE {
                stream.write_all(&out)?;
                out.clear();
                rest.write(&mut stream)?;
            } else {
                rest.write(&mut out)?;
            }
            out.extend_from_slice(END);
        }
        stream.write_all(&out)?;
        pending.drain(..head + 4 + length);
    }
}

fn content_length(head: &[u8]) -> usize {
    let text = String::from_utf8_lossy(head);
    let mut headers = text.lines().skip(1).filter_map(|line| line.split_once(':'));
    let length = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    length.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_found_in_any_spelling() {
        assert_eq!(content_length(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-LENGTH:  12"), 12);
        assert_eq!(content_length(b"GET / HTTP/1.1\r\nhost: x"), 0);
    }
}
