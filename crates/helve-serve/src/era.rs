//! The two eras of the protocol on the serving side. Everything that differs lives in this directory.

pub(crate) mod legacy;
pub(crate) mod listen;
pub(crate) mod modern;

use helve_model::json::RawJson;
use helve_wire::{Era, RpcError};

use crate::exchange::Exchange;
use crate::gate::Request;

/// Answers one request on a connection that may carry both eras: each request says which it is of.
pub(crate) async fn answer(exchange: &Exchange, request: &Request) -> Result<RawJson, RpcError> {
    let meta = request.meta();
    if modern::is_modern(request, &meta) {
        modern::check(&meta)?;
        modern::answer(exchange, request, meta).await
    } else {
        legacy::answer(exchange, request, meta).await
    }
}

/// The answer to a request that no server is needed for, before there is any: a legacy agent asks whether anybody is there,
/// or a modern one forgot what every request has to say.
pub(crate) fn answer_without_host(request: &Request) -> Option<Result<RawJson, RpcError>> {
    let meta = request.meta();
    if modern::is_modern(request, &meta) {
        return modern::check(&meta).err().map(Err);
    }
    (request.method == "ping").then(|| Ok(RawJson::empty_object()))
}

/// The era of a request.
pub(crate) fn of(request: &Request) -> Era {
    if modern::is_modern(request, &request.meta()) { Era::Modern } else { Era::Legacy }
}

/// What an agent says it can do in the first message it sends.
pub(crate) fn declared(request: &Request) -> Option<RawJson> {
    request.meta().client_capabilities.or_else(|| request.param("capabilities"))
}
