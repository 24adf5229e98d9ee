//! What a kept program says to whoever has it, in one stream: pieces of its output and its diagnostics, and its end.
//!
//! A frame is a kind, a length and so many bytes. In the other direction there are no frames: all of it is the program's
//! input.

use std::io;

use helve_wire::launch::ExitReport;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A frame above this size is not ours.
const MAX_BYTES: u32 = 1 << 30;

/// One piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    Output(Vec<u8>),
    Diagnostics(Vec<u8>),
    Ended(ExitReport),
}

const OUTPUT: u8 = 1;
const DIAGNOSTICS: u8 = 2;
const EXITED: u8 = 3;
const SIGNALLED: u8 = 4;
const GONE: u8 = 5;

impl Frame {
    /// How many bytes it has.
    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Output(bytes) | Self::Diagnostics(bytes) => bytes.len() + 5,
            Self::Ended(_) => 9,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, body): (u8, &[u8]) = match self {
            Self::Output(bytes) => (OUTPUT, bytes),
            Self::Diagnostics(bytes) => (DIAGNOSTICS, bytes),
            Self::Ended(ExitReport::Exited(status)) => (EXITED, &status.to_le_bytes()),
            Self::Ended(ExitReport::Signalled(signal)) => (SIGNALLED, &signal.to_le_bytes()),
            Self::Ended(ExitReport::Unknown) => (GONE, &[]),
        };
        let mut bytes = Vec::with_capacity(body.len() + 5);
        bytes.push(kind);
        bytes.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    /// The next frame; `None` at the end of the stream.
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let kind = match stream.read_u8().await {
            Ok(kind) => kind,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = stream.read_u32_le().await?;
        if length > MAX_BYTES {
            return Err(unreadable());
        }
        let mut body = Vec::new();
        stream.take(u64::from(length)).read_to_end(&mut body).await?;
        let number = || <[u8; 4]>::try_from(body.as_slice()).map(i32::from_le_bytes).map_err(|_| unreadable());
        Ok(Some(match kind {
            OUTPUT if body.len() == length as usize => Self::Output(body),
            DIAGNOSTICS if body.len() == length as usize => Self::Diagnostics(body),
            EXITED => Self::Ended(ExitReport::Exited(number()?)),
            SIGNALLED => Self::Ended(ExitReport::Signalled(number()?)),
            GONE => Self::Ended(ExitReport::Unknown),
            _ => return Err(unreadable()),
        }))
    }
}

fn unreadable() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame that cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_come_out_as_they_went_in() {
        let frames = [
            Frame::Output(b"{}\n".to_vec()),
            Frame::Diagnostics(Vec::new()),
            Frame::Ended(ExitReport::Exited(3)),
            Frame::Ended(ExitReport::Signalled(9)),
            Frame::Ended(ExitReport::Unknown),
        ];
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        let mut stream = bytes.as_slice();
        for frame in frames {
            assert_eq!(Frame::read(&mut stream).await.unwrap(), Some(frame));
        }
        assert_eq!(Frame::read(&mut stream).await.unwrap(), None);
        for broken in [&[9, 0, 0, 0, 0][..], &[1, 5, 0, 0, 0, 1], &[3, 1, 0, 0, 0, 1], &[1, 255, 255, 255, 255]] {
            let mut stream = broken;
            assert!(Frame::read(&mut stream).await.is_err(), "{broken:?}");
        }
    }
}
