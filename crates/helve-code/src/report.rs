//! Owns what is told of a program that ended: its value, what it printed, the calls it made, and why it did not come further.

use std::fmt::Write as _;
use std::time::Duration;

use helve_model::json::{ObjectWriter, RawJson};
use helve_model::{ErrorCode, Outcome};

use crate::run::CallMade;
use crate::shorten::shorten;

/// How many calls a text lists; what failed is always among them.
const CALLS_SHOWN: usize = 30;

/// What came of a program.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// Its value, whole.
    pub value: RawJson,
    /// Images and bytes that are part of the value, as blocks of content.
    pub attachments: Vec<RawJson>,
    /// What is to be known about the value.
    pub notes: Vec<String>,
    /// What it printed.
    pub printed: String,
    /// Characters that it printed beyond that.
    pub printed_more: u64,
    /// The calls it made, in order.
    pub calls: Vec<CallMade>,
    /// Why it did not come to its end; `None` when it did.
    pub error: Option<ProgramError>,
}

/// Why a program did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramError {
    /// The kind of failure. What the program itself did wrong is `TOOL_ERROR`.
    pub code: ErrorCode,
    /// What happened, with lines.
    pub message: String,
    /// It was refused before it ran: no call was made.
    pub is_refusal: bool,
}

impl Report {
    pub(crate) fn failed(code: ErrorCode, message: String, is_refusal: bool) -> Self {
        let error = Some(ProgramError { code, message, is_refusal });
        Self {
            value: crate::run::none(),
            attachments: Vec::new(),
            notes: Vec::new(),
            printed: String::new(),
            printed_more: 0,
            calls: Vec::new(),
            error,
        }
    }

    /// The result as an agent gets it: the value, what was printed, and where something failed the calls that were made.
    #[must_use]
    pub fn to_outcome(&self, bytes: usize) -> Outcome {
        let text = self.to_text(bytes);
        let block = ObjectWriter::new().text("type", "text").text("text", &text).finish();
        let blocks = [&block].into_iter().chain(&self.attachments);
        let result = ObjectWriter::new().array("content", blocks);
        let result = if self.error.is_some() { result.flag("isError", true) } else { result };
        Outcome::new(result.finish())
    }

    /// The same as one text.
    #[must_use]
    pub fn to_text(&self, bytes: usize) -> String {
        let mut text = String::new();
        if let Some(error) = &self.error {
            let _ = writeln!(text, "{} ({})", error.message, error.code);
        } else {
            let (value, was_cut) = shorten(&self.value, bytes);
            match value.parse::<String>() {
                Ok(words) => text.push_str(&words),
                Err(_) if value.as_str() == "null" && !self.printed.is_empty() => {}
                Err(_) => text.push_str(value.as_str()),
            }
            if !text.is_empty() {
                text.push('\n');
            }
            if was_cut {
                let _ = writeln!(text, "(the value had {} bytes and was shortened)", self.value.as_str().len());
            }
        }
        for note in &self.notes {
            let _ = writeln!(text, "({note})");
        }
        if !self.printed.is_empty() {
            let printed = crate::shorten::cut_text(&self.printed, bytes);
            let _ = write!(text, "printed:\n{printed}");
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        if self.printed_more > 0 {
            let _ = writeln!(text, "({} more characters were printed)", self.printed_more);
        }
        if self.error.as_ref().is_some_and(|error| !error.is_refusal) {
            self.list_calls(&mut text);
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn list_calls(&self, text: &mut String) {
        if self.calls.is_empty() {
            text.push_str("calls made: none\n");
            return;
        }
        text.push_str("calls made:\n");
        let mut left_out = 0;
        for (index, call) in self.calls.iter().enumerate() {
            if index >= CALLS_SHOWN && call.end == Some(Ok(())) {
                left_out += 1;
                continue;
            }
            let _ = writeln!(text, "{}: {} {}", index + 1, call.tool, call.outcome());
        }
        if left_out > 0 {
            let _ = writeln!(text, "and {left_out} more that worked");
        }
    }

    /// `{"value", "stdout", "calls": [{"tool", "ok", "code", "ms"}…], "error"}`.
    #[must_use]
    pub fn to_json(&self) -> RawJson {
        let calls = self.calls.iter().map(|call| {
            let code = match call.end {
                Some(Ok(())) => None,
                Some(Err(code)) => Some(code.as_str()),
                None => Some(ErrorCode::Cancelled.as_str()),
            };
            ObjectWriter::new()
                .text("tool", &call.tool)
                .flag("ok", code.is_none())
                .raw("code", code.map_or_else(|| "null".to_owned(), helve_model::json::quoted))
                .number("ms", milliseconds(call.duration))
                .into_text()
        });
        let error = self.error.as_ref().map(|error| {
            ObjectWriter::new().text("message", &error.message).text("code", error.code.as_str()).into_text()
        });
        ObjectWriter::new()
            .raw("value", &self.value)
            .text("stdout", &self.printed)
            .array("calls", calls)
            .raw("error", error.unwrap_or_else(|| "null".to_owned()))
            .finish()
    }
}

impl CallMade {
    /// How it ended, in a few words.
    #[must_use]
    pub fn outcome(&self) -> String {
        let time = milliseconds(self.duration);
        match self.end {
            Some(Ok(())) => format!("{time} ms"),
            Some(Err(code)) => format!("failed ({code}), {time} ms"),
            None => "was under way, and may have run".to_owned(),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
