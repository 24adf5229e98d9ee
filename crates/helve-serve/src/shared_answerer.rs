//! What a server that agents share gets when it says something on its connection that names no request: nobody could tell
//! whose it is, so no agent is asked and no agent hears it.

use helve::Answerer;
use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_wire::{BoxFuture, ClientCapabilities, PeerQuestion, RpcError};

/// Answers for the host that agents share. What servers log there is for the person who runs it, by the host's events.
#[derive(Debug)]
pub(crate) struct SharedAnswerer;

impl Answerer for SharedAnswerer {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    fn question<'a>(
        &'a self,
        _server: &'a ServerName,
        question: PeerQuestion,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(std::future::ready(Err(RpcError::method_not_found(question.kind.method()))))
    }
}
