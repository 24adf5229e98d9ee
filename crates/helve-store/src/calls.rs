//! One recorded call: what is handed in, what is read back, and the bytes by which it enters the chain.

use std::fmt;

use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::StoreError;
use crate::names::{NameKind, Names, shortened};
use crate::time::Moment;

/// What can become a row. It is asked on the store's own thread, so that a call does not wait for texts to be made.
pub trait IntoCall: fmt::Debug + Send {
    /// The row.
    fn into_call(self: Box<Self>) -> NewCall;
}

/// How a call was decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decided {
    /// It did not come to a decision.
    #[default]
    Not,
    /// It was allowed.
    Allow,
    /// Somebody was asked.
    Ask,
    /// It was refused.
    Deny,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// With an outcome.
    #[default]
    Done,
    /// With an outcome by which the tool says that it failed.
    ToolError,
    /// With a kept outcome.
    Cached,
    /// It was refused.
    Refused,
    /// With an error.
    Failed,
}

/// What was sent and what came back, sealed by whoever hands it in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallBody(pub Vec<u8>);

/// A call to be recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewCall {
    /// When it ended.
    pub at: Moment,
    /// The host that made it: the first part of its id.
    pub host: String,
    /// Its number at that host: the rest of its id.
    pub number: u64,
    /// On whose behalf.
    pub principal: String,
    /// What its agent calls itself.
    pub agent: Option<String>,
    /// By which way it came in, as a number of the caller's.
    pub door: u8,
    /// The server.
    pub server: Option<String>,
    /// The tool, with its server: `server/tool`.
    pub tool: Option<String>,
    /// What was asked for, where that names no tool or is spelled otherwise.
    pub asked: Option<String>,
    /// How it was decided.
    pub decision: Decided,
    /// By what.
    pub rule: Option<String>,
    /// How it ended.
    pub ended: Ended,
    /// With which error.
    pub code: Option<String>,
    /// How long it took, in microseconds.
    pub took: u64,
    /// How often it was sent.
    pub attempts: u32,
    /// Bytes of the arguments.
    pub bytes_in: u64,
    /// Bytes of the result.
    pub bytes_out: u64,
    /// The call in the course of which it was made.
    pub parent: Option<String>,
    /// The trace it belongs to.
    pub trace: Option<[u8; 16]>,
    /// What was sent and came back, if that is recorded.
    pub body: Option<CallBody>,
}

impl IntoCall for NewCall {
    fn into_call(self: Box<Self>) -> NewCall {
        *self
    }
}

/// A call that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its place among all: later ones have larger numbers.
    pub seq: i64,
    /// What was recorded; names that found no room are `(other)`.
    pub call: NewCall,
}

impl Decided {
    /// One word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Not => "none",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// The decision of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Not, Self::Allow, Self::Ask, Self::Deny].into_iter().find(|decided| decided.word() == word)
    }

    const fn from_number(number: i64) -> Self {
        match number {
            1 => Self::Allow,
            2 => Self::Ask,
            3 => Self::Deny,
            _ => Self::Not,
        }
    }
}

impl Ended {
    /// One word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::ToolError => "tool_error",
            Self::Cached => "cached",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    /// The end of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Done, Self::ToolError, Self::Cached, Self::Refused, Self::Failed]
            .into_iter()
            .find(|ended| ended.word() == word)
    }

    const fn from_number(number: i64) -> Self {
        match number {
            1 => Self::ToolError,
            2 => Self::Cached,
            3 => Self::Refused,
            4 => Self::Failed,
            _ => Self::Done,
        }
    }
}

impl NewCall {
    /// As much of every text as is stored: what is hashed is what can be read back.
    pub(crate) fn shorten(&mut self) {
        let texts = [
            &mut self.agent,
            &mut self.server,
            &mut self.tool,
            &mut self.asked,
            &mut self.rule,
            &mut self.code,
            &mut self.parent,
        ];
        for text in texts.into_iter().flatten().chain([&mut self.host, &mut self.principal]) {
            let length = shortened(text).len();
            text.truncate(length);
        }
    }

    /// What it is known by.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}-{}", self.host, self.number)
    }
}

/// Reads `call` rows with their names, in the order [`from_row`] expects.
pub(crate) const SELECT: &str =
    "SELECT call.seq, call.at, h.text, call.number, p.text, a.text, call.door, s.text, t.text,
    call.asked, call.decision, r.text, call.ending, c.text, call.took, call.attempts, call.bytes_in, call.bytes_out,
    call.parent, call.trace
    FROM call
    JOIN name h ON h.id = call.host JOIN name p ON p.id = call.principal
    LEFT JOIN name a ON a.id = call.agent LEFT JOIN name s ON s.id = call.server LEFT JOIN name t ON t.id = call.tool
    LEFT JOIN name r ON r.id = call.rule LEFT JOIN name c ON c.id = call.code";

pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Call> {
    let count = |index: usize| row.get::<_, i64>(index).map(|number| u64::try_from(number).unwrap_or_default());
    let trace: Option<Vec<u8>> = row.get(19)?;
    Ok(Call {
        seq: row.get(0)?,
        call: NewCall {
            at: Moment::from_micros(row.get(1)?),
            host: row.get(2)?,
            number: count(3)?,
            principal: row.get(4)?,
            agent: row.get(5)?,
            door: u8::try_from(count(6)?).unwrap_or_default(),
            server: row.get(7)?,
            tool: row.get(8)?,
            asked: row.get(9)?,
            decision: Decided::from_number(row.get(10)?),
            rule: row.get(11)?,
            ended: Ended::from_number(row.get(12)?),
            code: row.get(13)?,
            took: count(14)?,
            attempts: u32::try_from(count(15)?).unwrap_or_default(),
            bytes_in: count(16)?,
            bytes_out: count(17)?,
            parent: row.get(18)?,
            trace: trace.and_then(|trace| trace.try_into().ok()),
            body: None,
        },
    })
}

/// Writes one row, and gives it as it will be read.
pub(crate) fn insert(
    connection: &Connection,
    names: &mut Names,
    seq: i64,
    mut call: NewCall,
) -> Result<Call, StoreError> {
    call.shorten();
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let number_of = |names: &mut Names, kind, text: &mut Option<String>| -> Result<Option<i64>, StoreError> {
        text.as_mut().map(|text| names.number(connection, kind, text)).transpose()
    };
    let host = names.number(connection, NameKind::Host, &mut call.host)?;
    let principal = names.number(connection, NameKind::Principal, &mut call.principal)?;
    let agent = number_of(names, NameKind::Agent, &mut call.agent)?;
    let server = number_of(names, NameKind::Server, &mut call.server)?;
    let tool = number_of(names, NameKind::Tool, &mut call.tool)?;
    let rule = number_of(names, NameKind::Rule, &mut call.rule)?;
    let code = number_of(names, NameKind::Code, &mut call.code)?;
    connection.prepare_cached("INSERT INTO call VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?.execute(
        params![
            seq,
            call.at.micros(),
            host,
            signed(call.number),
            principal,
            agent,
            call.door,
            server,
            tool,
            call.asked,
            call.decision as i64,
            rule,
            call.ended as i64,
            code,
            signed(call.took),
            call.attempts,
            signed(call.bytes_in),
            signed(call.bytes_out),
            call.parent,
            call.trace.as_ref().map(<[u8; 16]>::as_slice),
        ],
    )?;
    if let Some(CallBody(sealed)) = call.body.take() {
        connection.prepare_cached("INSERT INTO body VALUES (?, ?)")?.execute(params![seq, sealed])?;
    }
    Ok(Call { seq, call })
}

impl Call {
    /// Adds the row to a hash: every field with its length, so that no two rows give the same bytes. Names enter as
    /// texts, so that an export can be verified without the store.
    pub(crate) fn hash_into(&self, hash: &mut Sha256) {
        let call = &self.call;
        let number = |hash: &mut Sha256, number: i64| hash.update(number.to_le_bytes());
        let text = |hash: &mut Sha256, text: Option<&str>| {
            hash.update(text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            hash.update(text.unwrap_or_default());
        };
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        for value in [
            self.seq,
            call.at.micros(),
            signed(call.number),
            i64::from(call.door),
            call.decision as i64,
            call.ended as i64,
            signed(call.took),
            i64::from(call.attempts),
            signed(call.bytes_in),
            signed(call.bytes_out),
        ] {
            number(hash, value);
        }
        for value in [
            Some(&call.host),
            Some(&call.principal),
            call.agent.as_ref(),
            call.server.as_ref(),
            call.tool.as_ref(),
            call.asked.as_ref(),
            call.rule.as_ref(),
            call.code.as_ref(),
            call.parent.as_ref(),
        ] {
            text(hash, value.map(String::as_str));
        }
        hash.update(call.trace.unwrap_or_default());
    }
}
