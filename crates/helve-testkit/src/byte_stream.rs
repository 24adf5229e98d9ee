//! Owns the peer over a stream of bytes: lines in, frames out, and the faults of the start.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use crate::ending::Ending;
use crate::frame::{FILL_BLOCK, Frame, Out, OutReader, Part};
use crate::noise;
use crate::peer::{Connection, Peer};
use crate::recorder::RecordedEvent;
use crate::tools::write_stderr;

/// After the client has closed its side, what is still queued may take this long to leave.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Frames are gathered up to this size before they are written.
const WRITE_BUFFER: usize = 64 * 1024;

/// Serves one client until it closes its side or the peer ends itself.
pub(crate) async fn serve<R, W>(peer: Peer, reader: R, writer: W, ending: Ending)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    if let Some(status) = peer.scenario().exit_at_once {
        return ending.exit(peer.recorder(), status);
    }
    let (out, queue) = Out::new();
    let connection = Connection::new(out.clone(), ending.clone());
    let line_end: &'static [u8] = if peer.scenario().crlf { b"\r\n" } else { b"\n" };
    let is_process = ending.is_process();
    let mut writing = tokio::spawn(async move {
        let mut writer = writer;
        // A client that no longer reads is no concern of the peer: it finds out when it reads.
        drop(write_frames(queue, &mut writer, line_end).await);
        drop(writer);
        if is_process {
            drop(close_stdout());
        }
    });
    tokio::select! {
        () = ending.ended() => {
            writing.abort();
        }
        () = read_all(&peer, &connection, reader, &out) => {
            connection.abort_all();
            drop(out);
            drop(connection);
            if tokio::time::timeout(LAST_WORDS, &mut writing).await.is_err() {
                writing.abort();
            }
        }
    }
}

async fn read_all<R>(peer: &Peer, connection: &Arc<Connection>, reader: R, out: &Out)
where
    R: AsyncRead + Unpin,
{
    start(peer, connection, out).await;
    if peer.scenario().never_reads {
        return std::future::pending().await;
    }
    let mut reader = BufReader::with_capacity(WRITE_BUFFER, reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(count) => peer.recorder().add_bytes(count),
        }
        let message = line.strip_suffix(b"\n").unwrap_or(&line);
        let message = message.strip_suffix(b"\r").unwrap_or(message);
        peer.receive(connection, message, out);
    }
    peer.recorder().add(RecordedEvent::Eof);
    if peer.scenario().ignores_eof {
        std::future::pending::<()>().await;
    }
}

/// What the peer does before its first read.
async fn start(peer: &Peer, connection: &Connection, out: &Out) {
    let scenario = peer.scenario();
    if scenario.stderr_at_start > 0 && connection.ending.is_process() {
        let bytes = scenario.stderr_at_start;
        // It blocks while nobody drains it, as a real server would.
        drop(tokio::task::spawn_blocking(move || write_stderr(bytes)).await);
    }
    if let Some(noise) = scenario.noise_at_start {
        noise::write(out, noise).await;
    }
    if let Some(line) = scenario.endless_line {
        let mut parts = vec![Part::Fill { byte: b'x', count: line.bytes }];
        if line.newline {
            parts.push(Part::from("\n".to_string()));
        }
        out.send(Frame::Raw(parts));
    }
    if scenario.start_delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(scenario.start_delay_ms)).await;
    }
}

/// Writes frames until the last [`Out`] is gone, or one of them closes the stream.
async fn write_frames<W>(mut queue: OutReader, writer: &mut W, line_end: &[u8]) -> std::io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let mut buffer = Vec::with_capacity(WRITE_BUFFER);
    loop {
        let frame = match queue.try_next() {
            Some(frame) => frame,
            None => {
                writer.write_all(&buffer).await?;
                writer.flush().await?;
                buffer.clear();
                let Some(frame) = queue.next().await else { return Ok(()) };
                frame
            }
        };
        let (parts, end) = match frame {
            Frame::Message { parts, .. } => (parts, line_end),
            Frame::Raw(parts) => (parts, &b""[..]),
            Frame::Disconnect => continue,
            Frame::CloseStream => {
                writer.write_all(&buffer).await?;
                return writer.shutdown().await;
            }
        };
        for part in parts {
            match part {
                Part::Bytes(bytes) => buffer.extend_from_slice(&bytes),
                Part::Fill { byte, count } => {
                    writer.write_all(&buffer).await?;
                    buffer.clear();
                    fill(writer, byte, count).await?;
                }
            }
        }
        buffer.extend_from_slice(end);
        if buffer.len() >= WRITE_BUFFER {
            writer.write_all(&buffer).await?;
            buffer.clear();
        }
    }
}

async fn fill<W>(writer: &mut W, byte: u8, mut count: u64) -> std::io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let block = vec![byte; FILL_BLOCK];
    while count > 0 {
        let piece = block.get(..usize::try_from(count).unwrap_or(FILL_BLOCK).min(FILL_BLOCK)).unwrap_or_default();
        writer.write_all(piece).await?;
        count -= piece.len() as u64;
    }
    Ok(())
}

/// Lets go of the process's own stdout, which is a second handle on the same stream.
fn close_stdout() -> std::io::Result<()> {
    let nothing = fs_err::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(nothing.file())?;
    Ok(())
}
