//! The calls that are open at servers which several agents share: so that what a server says on its connection, without
//! saying about what, reaches the one it can only be for.

use std::sync::{Arc, Mutex, Weak};

use helve::Answerer;
use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_wire::{BoxFuture, ClientCapabilities, Question, RpcError};

use crate::sync::lock;

/// Who waits for what at which server.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(Mutex<Vec<(ServerName, Weak<dyn Answerer>)>>);

impl OpenCalls {
    pub(crate) fn add(&self, server: &ServerName, answerer: &Arc<dyn Answerer>) {
        let mut calls = lock(&self.0);
        calls.retain(|(_, call)| call.strong_count() > 0);
        calls.push((server.clone(), Arc::downgrade(answerer)));
    }

    fn only(&self, server: &ServerName) -> Option<Arc<dyn Answerer>> {
        let calls = lock(&self.0);
        let mut open = calls.iter().filter(|(of, _)| of == server).filter_map(|(_, call)| call.upgrade());
        let first = open.next();
        if open.next().is_some() { None } else { first }
    }
}

/// A server that is shared may ask nothing on its connection: nobody could say whom. What it logs goes to the only call
/// there is, or nowhere.
impl Answerer for OpenCalls {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    fn question<'a>(&'a self, _server: &'a ServerName, question: Question) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(std::future::ready(Err(RpcError::method_not_found(question.kind.method()))))
    }

    fn log(&self, server: &ServerName, params: &RawJson) {
        if let Some(call) = self.only(server) {
            call.log(server, params);
        }
    }
}
