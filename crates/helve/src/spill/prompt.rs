//! A prompt that is too large: its messages are passed on until there is no more room, and the last one says what is
//! missing.

use std::io;
use std::path::Path;

use helve_model::json::ObjectWriter;
use helve_model::{PromptOutcome, QualifiedName};

use super::{Files, Shape};

/// The role that says what is missing: that of the message it was cut from.
const TELLER: &str = "user";

/// Cuts the messages of a prompt to `limit` bytes, and keeps the whole in a file, where there is a directory for it.
/// `None`: it is small enough.
///
/// Blocks while it writes. What it wrote before it failed stays.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn spill_messages(
    outcome: &PromptOutcome,
    name: &QualifiedName,
    limit: usize,
    directory: Option<&Path>,
) -> io::Result<Option<PromptOutcome>> {
    let raw = outcome.raw().as_str();
    if raw.len() <= limit {
        return Ok(None);
    }
    let mut files = Files::new(directory, name);
    let mut shape = Shape::new(limit);
    let mut messages: Vec<String> = Vec::new();
    for message in outcome.messages() {
        shape.take(&message.content, &mut files)?;
        messages.extend(shape.blocks.drain(..).map(|block| written(&message.role, &block)));
    }
    let whole = files.keep(raw.as_bytes(), "json")?;
    shape.say_where(whole.as_deref());
    messages.extend(shape.blocks.drain(..).map(|block| written(TELLER, &block)));
    Ok(Some(PromptOutcome::new(ObjectWriter::new().array("messages", messages).finish())))
}

fn written(role: &str, block: &str) -> String {
    ObjectWriter::new().text("role", role).raw("content", block).into_text()
}
