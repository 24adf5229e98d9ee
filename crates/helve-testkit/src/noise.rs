//! Owns the making of lines that are not protocol.

use crate::fault::Noise;
use crate::frame::Out;

/// Lines made at a time: enough that queueing costs little, few enough that memory does not matter.
const LINES_PER_FRAME: u64 = 1000;

/// The lines `from..to` as they are written.
pub(crate) fn lines(noise: Noise, from: u64, to: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in from..to {
        bytes.extend_from_slice(noise.line(number).as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// Writes all lines, waiting for room.
pub(crate) async fn write(out: &Out, noise: Noise) {
    let mut from = 0;
    while from < noise.lines {
        let to = noise.lines.min(from + LINES_PER_FRAME);
        out.room().await;
        out.send_raw(lines(noise, from, to));
        from = to;
    }
}
