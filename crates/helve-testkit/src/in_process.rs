//! Owns the in-process form: the peer as a task at the other end of a pair of streams.

use tokio::io::DuplexStream;

use crate::byte_stream;
use crate::ending::Ending;
use crate::peer::Peer;
use crate::recorder::Recorder;
use crate::scenario::Scenario;

/// What a stream holds before a writer has to wait: that of a pipe.
const STREAM_BYTES: usize = 64 * 1024;

/// A peer that runs as a task.
#[derive(Debug)]
pub struct InProcess {
    /// The client's end: lines in both directions. Dropping it (or shutting it down) is EOF for the peer.
    pub stream: DuplexStream,
    /// What the peer has seen.
    pub recorder: Recorder,
}

impl Scenario {
    /// Starts the peer as a task of the current runtime.
    pub fn in_process(&self) -> InProcess {
        let peer = Peer::new(self.clone());
        let recorder = peer.recorder().clone();
        let (client, server) = tokio::io::duplex(STREAM_BYTES);
        let (reader, writer) = tokio::io::split(server);
        tokio::spawn(byte_stream::serve(peer, reader, writer, Ending::task()));
        InProcess { stream: client, recorder }
    }
}
