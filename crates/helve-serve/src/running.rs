//! Requests that are being answered, so that an agent can take them back.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::Mutex;

use futures_util::future::{AbortHandle, Abortable};
use helve_model::json::RawJson;
use helve_wire::RpcError;

use crate::refusal::invalid_request;
use helve_model::sync::lock;

/// The requests of one connection or session, by the id the agent gave them.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<HashMap<RawJson, AbortHandle>>);

impl Running {
    /// Works until it is done; `None` when the agent took the request back. Dropping what was being done tells the server.
    /// A request whose id is that of another one is refused: nobody could tell their answers apart, or take one back.
    pub(crate) async fn run(
        &self,
        id: &RawJson,
        work: impl Future<Output = Result<RawJson, RpcError>>,
    ) -> Option<Result<RawJson, RpcError>> {
        let (handle, registration) = AbortHandle::new_pair();
        match lock(&self.0).entry(id.clone()) {
            MapEntry::Occupied(_) => {
                return Some(Err(invalid_request(format!("a request of the id {id} is being answered already"))));
            }
            MapEntry::Vacant(place) => place.insert(handle),
        };
        let _entry = Entry { running: self, id };
        Abortable::new(work, registration).await.ok()
    }

    /// Takes back what `notifications/cancelled` names.
    pub(crate) fn cancel(&self, params: Option<&RawJson>) {
        let handle = params.and_then(|params| params.member("requestId")).and_then(|id| lock(&self.0).remove(&id));
        if let Some(handle) = handle {
            handle.abort();
        }
    }
    /// Takes back everything: the agent is gone.
    pub(crate) fn cancel_all(&self) {
        let all: Vec<AbortHandle> = lock(&self.0).drain().map(|(_, handle)| handle).collect();
        all.iter().for_each(AbortHandle::abort);
    }
}

struct Entry<'a> {
    running: &'a Running,
    id: &'a RawJson,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        drop(lock(&self.running.0).remove(self.id));
    }
}
