//! The two eras of the protocol on the serving side. Everything that differs lives in this directory.

pub(crate) mod legacy;
pub(crate) mod modern;

use std::sync::Arc;

use helve_model::json::RawJson;
use helve_wire::RpcError;

use crate::gateway::Gateway;
use crate::outbox::Outlet;
use crate::request::Request;
use crate::session::Session;

/// Answers one request on a connection that may carry both eras: each request says which it is of.
pub(crate) async fn answer(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    stream: &Arc<dyn Outlet>,
    request: &Request,
) -> Result<RawJson, RpcError> {
    let meta = request.meta();
    if meta.protocol_version.is_some() || request.method == modern::DISCOVER {
        modern::answer(gateway, stream, request, meta).await
    } else {
        legacy::answer(gateway, session, stream, request, meta).await
    }
}
