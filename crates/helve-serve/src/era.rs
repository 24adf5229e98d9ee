//! The two eras of the protocol on the serving side. Everything that differs lives in this directory.

pub(crate) mod legacy;
pub(crate) mod listen;
pub(crate) mod modern;

use helve_model::json::RawJson;
use helve_model::protocol::methods;
use helve_wire::{BoxFuture, RpcError};

use crate::exchange::Exchange;
use crate::gate::{Meta, Request};

/// One era, as agents speak it.
pub(crate) trait AgentEra: Send + Sync {
    /// Is this one of its versions?
    fn speaks(&self, version: &str) -> bool;

    /// Does a request carry what each has to?
    fn check(&self, meta: &Meta) -> Result<(), RpcError>;

    /// True when servers ask an agent while it waits, by requests; false when it is asked by the results it gets.
    fn is_asked_by_request(&self) -> bool;

    /// The answer to a request that no server is needed for, before there is any.
    fn answer_without_host(&self, request: &Request, meta: &Meta) -> Option<Result<RawJson, RpcError>>;

    /// Answers one request whose metadata was checked.
    fn answer<'a>(
        &self,
        exchange: &'a Exchange,
        request: &'a Request,
        meta: Meta,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>>;
}

/// The era of a request on a connection that may carry both: each request says which it is of.
pub(crate) fn of(request: &Request, meta: &Meta) -> &'static dyn AgentEra {
    if is_modern(request, meta) { &modern::Modern } else { &legacy::Legacy }
}

/// Is this request of the modern era?
fn is_modern(request: &Request, meta: &Meta) -> bool {
    meta.protocol_version.is_some() || request.method == methods::SERVER_DISCOVER
}

/// Answers one request, in its era.
pub(crate) async fn answer(exchange: &Exchange, request: &Request) -> Result<RawJson, RpcError> {
    let meta = request.meta();
    let era = of(request, &meta);
    era.check(&meta)?;
    era.answer(exchange, request, meta).await
}

/// What an agent says it can do in the first message it sends.
pub(crate) fn declared(request: &Request, meta: Meta) -> Option<RawJson> {
    meta.client_capabilities.or_else(|| request.param("capabilities"))
}
