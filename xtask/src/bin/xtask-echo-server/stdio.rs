//! Owns the server's pipe: reads what is there, answers every whole line, writes once.

use std::io::{Read, Result, Write};

use crate::answer::{Answerer, END};

const READ: usize = 64 * 1024;

/// Payloads from this size on are written from where they lie; smaller ones are copied and leave in one write.
const LARGE: u64 = 16 * 1024;

pub(crate) fn serve(answerer: &Answerer) -> Result<()> {
    let mut input = std::io::stdin().lock();
    // Unbuffered: the standard handle would look for newlines in ten megabytes of result.
    let mut output = unbuffered_stdout()?;
    let mut pending = Vec::with_capacity(READ);
    let mut out = Vec::with_capacity(READ);
    let mut chunk = vec![0; READ];
    loop {
        let count = input.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        pending.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', pending.get(start..).unwrap_or_default()) {
            let line = pending.get(start..start + length).unwrap_or_default();
            start += length + 1;
            if let Some(rest) = answerer.answer(line, &mut out) {
                if rest.length() >= LARGE {
                    output.write_all(&out)?;
                    out.clear();
                    rest.write(&mut output)?;
                } else {
                    rest.write(&mut out)?;
                }
                out.extend_from_slice(END);
                out.push(b'\n');
            }
        }
        pending.drain(..start);
        if !out.is_empty() {
            output.write_all(&out)?;
            out.clear();
        }
    }
}

fn unbuffered_stdout() -> Result<std::fs::File> {
    use std::os::fd::AsFd;
    Ok(std::io::stdout().as_fd().try_clone_to_owned()?.into())
}
