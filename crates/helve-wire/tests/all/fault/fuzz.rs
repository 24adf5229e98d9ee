//! A million frames, valid, mutated and random, through the reader: no panic, no hang, bounded memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use helve_model::json::RawJson;
use helve_testkit::{peak_rss_bytes, rss_bytes};
use helve_wire::{
    CallOptions, ClientCapabilities, Limits, Notification, PeerHandler, ProgressCallback, Session, Times,
};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

use crate::alone;
use crate::hand::Hand;
use crate::support::*;

const FRAMES: u64 = 1_000_000;
/// So many frames in a row before the reader must have caught up.
const ROUND: u64 = 20_000;
const FENCE: &str = "notifications/fence";

#[test]
fn a_million_frames() {
    alone::run("fault::fuzz::feed_a_million");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "another test runs it, in a process of its own"]
async fn feed_a_million() {
    let before = rss_bytes(std::process::id()).unwrap();
    let tight = Limits { message_bytes: 600, ..Limits::default() };
    for (seed, limits) in [(1, Limits::default()), (2, tight)] {
        Feeding::start(seed, limits).await.run(FRAMES / 2).await;
    }
    let unread = Limits { outgoing_bytes: 1 << 20, ..Limits::default() };
    Feeding::start(3, unread).await.run_unread(FRAMES / 10).await;
    let growth = peak_rss_bytes(std::process::id()).unwrap().saturating_sub(before) >> 20;
    assert!(growth < 64, "grew by {growth} MiB");
}

/// Sees how far the reader has come.
#[derive(Default)]
struct Fence(AtomicU64);

impl PeerHandler for Fence {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities { roots: true, ..ClientCapabilities::default() }
    }

    fn notification(&self, notification: Notification) {
        if notification.method == FENCE {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Feeding {
    session: Session,
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    fence: Arc<Fence>,
    random: Random,
}

impl Feeding {
    async fn start(seed: u64, limits: Limits) -> Self {
        let fence = Arc::new(Fence::default());
        let handler = Arc::clone(&fence) as Arc<dyn PeerHandler>;
        let (session, hand) = Hand::legacy(options().with(|options| {
            options.handler = handler;
            options.limits = limits;
        }))
        .await;
        let (reader, writer) = hand.into_parts();
        Self { session, reader, writer, fence, random: Random(seed) }
    }

    /// With calls in flight all the time, whose ids the frames try to hit; in the end a call must be answered.
    async fn run(mut self, frames: u64) {
        let newest_id = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let callers: Vec<_> =
            (0..8).map(|_| tokio::spawn(keep_calling(self.session.clone(), Arc::clone(&stop)))).collect();
        let reading = tokio::spawn(read_until_last(self.reader, Arc::clone(&newest_id)));
        feed(&mut self.writer, &mut self.random, &self.fence, &newest_id, frames).await;
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.await.unwrap();
        }
        let last = tokio::spawn(async move { self.session.request("prompts/list", None, times()).await });
        let id = reading.await.unwrap();
        self.writer
            .write_all(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n").as_bytes())
            .await
            .unwrap();
        last.await.unwrap().unwrap();
    }

    /// Nobody reads what we answer: that must not keep us from reading.
    async fn run_unread(mut self, frames: u64) {
        feed(&mut self.writer, &mut self.random, &self.fence, &AtomicU64::new(5), frames).await;
    }
}

async fn feed(
    writer: &mut WriteHalf<DuplexStream>,
    random: &mut Random,
    fence: &Fence,
    newest_id: &AtomicU64,
    frames: u64,
) {
    let mut bytes = Vec::new();
    for number in 1..=frames {
        random.frame(newest_id.load(Ordering::Relaxed), &mut bytes);
        let caught_up = number % ROUND == 0;
        if caught_up {
            // Ends whatever line was left open.
            bytes.extend_from_slice(format!("\n{{\"jsonrpc\":\"2.0\",\"method\":\"{FENCE}\"}}\n").as_bytes());
        }
        if caught_up || bytes.len() > 16 << 10 {
            writer.write_all(&bytes).await.unwrap();
            bytes.clear();
        }
        if caught_up {
            eventually("the reader has caught up", || fence.0.load(Ordering::Relaxed) >= number / ROUND).await;
        }
    }
}

/// Whatever becomes of the calls, each must end.
async fn keep_calling(session: Session, stop: Arc<AtomicBool>) {
    let on_progress: ProgressCallback = Arc::new(drop);
    let times = Times { idle: Duration::from_millis(20), total: Duration::from_millis(50) };
    let options = CallOptions::default().with(|options| {
        options.times = times;
        options.on_progress = Some(on_progress);
    });
    while !stop.load(Ordering::Relaxed) {
        let permit = tool("any", "{}");
        let called = session.call_tool(&permit, options.clone());
        drop(tokio::time::timeout(PATIENCE, called).await.unwrap());
    }
}

/// Reads what the client writes, and gives the id of its last request.
async fn read_until_last(mut reader: BufReader<ReadHalf<DuplexStream>>, newest_id: Arc<AtomicU64>) -> u64 {
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).await.unwrap();
        // What the client writes is always JSON, whatever it was sent.
        let message = RawJson::checked(line.as_str()).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Some(method) = message.member_str("method") {
            let Some(id) = message.member("id").and_then(|id| id.parse().ok()) else { continue };
            newest_id.store(id, Ordering::Relaxed);
            if method == "prompts/list" {
                return id;
            }
        }
    }
}

/// Makes frames from a seed, so that what fails once fails again.
struct Random(u64);

/// What mutations put in.
const TOKENS: [&[u8]; 20] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b":",
    b",",
    b"null",
    b"\"id\":",
    b"\"result\":",
    b"\"error\":",
    b"\0",
    b"\xff",
    b"\xe2\x82",
    b"\n",
    b"\r\n",
    b"\\u0069",
    b"1e999",
    b"\"jsonrpc\":\"2.0\"",
];

impl Random {
    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Adds one frame; most end their line.
    fn frame(&mut self, newest_id: u64, out: &mut Vec<u8>) {
        let start = out.len();
        self.valid(newest_id, 2, out);
        if self.below(2) == 0 {
            for _ in 0..=self.below(4) {
                self.mutate(out, start);
            }
        }
        match self.below(40) {
            0 => {}
            1 => out.extend_from_slice(b"\r\n"),
            _ => out.push(b'\n'),
        }
    }

    fn valid(&mut self, newest_id: u64, depth: usize, out: &mut Vec<u8>) {
        let id = self.id(newest_id);
        let payload = self.payload();
        let text = match self.below(14) {
            0..=2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":{payload}}}}}"#),
            3 => format!(r#"{{"result":{{"a":{payload}}},"id":{id},"jsonrpc":"2.0"}}"#),
            4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":{payload}}}}}"#),
            5 => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{}}}}}"#,
                self.below(9)
            ),
            6 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{payload}}}"#),
            7 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
            8 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list","params":{payload}}}"#),
            9 => format!("[info] request {id}: {payload}"),
            10 => format!(r#"{{"level":"info","id":{id},"message":{payload}}}"#),
            11 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
            12 if depth > 0 => {
                out.push(b'[');
                for _ in 0..self.below(4) {
                    self.valid(newest_id, depth - 1, out);
                    out.push(b',');
                }
                self.valid(newest_id, depth - 1, out);
                out.push(b']');
                return;
            }
            _ => {
                let length = self.below(100);
                out.extend((0..length).map(|_| self.next() as u8));
                return;
            }
        };
        out.extend_from_slice(text.as_bytes());
    }

    fn id(&mut self, newest_id: u64) -> String {
        let near = newest_id.saturating_sub(self.next() % 10);
        match self.below(12) {
            0 => format!("\"{near}\""),
            1 => "null".to_owned(),
            2 => format!("{near}.0"),
            3 => format!("-{near}"),
            4 => self.next().to_string(),
            _ => near.to_string(),
        }
    }

    fn payload(&mut self) -> String {
        match self.below(10) {
            0 => format!("\"{}\"", "x".repeat(self.below(2_000))),
            1 => format!("{}1{}", "[".repeat(self.below(300)), "]".repeat(self.below(300))),
            2 => r#""\ud83d\ude00 é \n \" \\""#.to_owned(),
            3 => format!(r#"{{"id":{},"jsonrpc":"2.0","result":{{}}}}"#, self.below(9)),
            4 => "{}".to_owned(),
            _ => format!(r#"[{{"type":"text","text":"{}"}}]"#, self.below(1_000)),
        }
    }

    /// Changes one place of the frame that begins at `start`.
    fn mutate(&mut self, bytes: &mut Vec<u8>, start: usize) {
        let at = start + self.below(bytes.len() - start);
        let end = bytes.len().min(at + self.below(20));
        match self.below(6) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let token = TOKENS[self.below(TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
}
