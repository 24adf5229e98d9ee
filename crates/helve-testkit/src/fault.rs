//! Owns the kinds of misbehaviour that any form of the peer can show.

use serde::{Deserialize, Serialize};

/// What becomes of a handshake request (`server/discover` or `initialize`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeFault {
    /// Answered as the era says (a legacy peer answers `server/discover` with "method not found").
    #[default]
    Normal,
    /// Not answered at all.
    Silent,
    /// The peer exits.
    Exit { status: i32 },
    /// Answered with this error.
    Error { code: i64, message: String },
    /// Answered as usual, but later.
    Late { milliseconds: u64 },
}

/// What a peer does with `initialize` after `server/discover` on the same connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MixtureFault {
    /// Nothing special.
    #[default]
    Fine,
    /// Answers it with an error.
    Error,
    /// Exits.
    Exit,
}

/// How a peer that can only do one thing at a time takes a second request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OneAtATime {
    /// The second request is never answered.
    Drops,
    /// The second request is answered with an internal error.
    Fails,
    /// The peer exits.
    Exits,
}

/// A way in which lists are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListFault {
    /// The second item has no name and wrong types.
    MalformedItem,
    /// Every page ends with the same cursor.
    RepeatedCursor,
    /// Every page ends with a fresh cursor: the list never ends.
    EndlessPages,
    /// A cursor of one mebibyte.
    HugeCursor,
}

/// Lines on the stream that are not protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noise {
    pub lines: u64,
    pub kind: NoiseKind,
}

/// What such a line looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseKind {
    /// `[info] line 17 …`
    #[default]
    Text,
    /// A JSON object that is a log record, not a message.
    Json,
    /// Both in turn.
    Mixed,
}

/// One line of `bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndlessLine {
    pub bytes: u64,
    /// Whether it ends with a newline after those bytes (the peer goes on as usual either way).
    pub newline: bool,
}

impl Noise {
    pub fn text(lines: u64) -> Self {
        Self { lines, kind: NoiseKind::Text }
    }

    pub fn json(lines: u64) -> Self {
        Self { lines, kind: NoiseKind::Json }
    }

    pub fn mixed(lines: u64) -> Self {
        Self { lines, kind: NoiseKind::Mixed }
    }

    /// The text of line `number`, without its end.
    pub(crate) fn line(self, number: u64) -> String {
        let json = match self.kind {
            NoiseKind::Text => false,
            NoiseKind::Json => true,
            NoiseKind::Mixed => number % 2 == 1,
        };
        if json {
            format!(r#"{{"level":"info","seq":{number},"msg":"line {number}","ts":1753660800}}"#)
        } else {
            format!("[info] line {number}: listening, all is well")
        }
    }
}
