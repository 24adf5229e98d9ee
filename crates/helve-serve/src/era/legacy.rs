//! The legacy era: `initialize`, a session, requests from us to the agent.

use std::sync::Arc;

use helve_model::json::RawJson;
use helve_wire::plane::quoted;
use helve_wire::{Era, RpcError, Verdict};

use crate::gateway::Gateway;
use crate::news::Level;
use crate::outbox::Outlet;
use crate::refusal::invalid_params;
use crate::request::{Meta, Request};
use crate::session::Session;
use crate::tools;

/// Offered to an agent that asks for a version we do not speak.
const NEWEST: &str = "2025-11-25";

/// Answers one request.
pub(crate) async fn answer(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    stream: &Arc<dyn Outlet>,
    request: &Request,
    meta: Meta,
) -> Result<RawJson, RpcError> {
    match request.method.as_str() {
        "initialize" => initialize(gateway, session, request),
        "ping" => Ok(RawJson::empty_object()),
        "logging/setLevel" => set_log_level(session, request),
        "tools/list" => tools::list(gateway, request).await,
        "tools/call" => tools::call(gateway, stream, request, meta).await,
        method => Err(RpcError::method_not_found(method)),
    }
}

/// A notification of an agent.
pub(crate) fn notified(session: &Session, method: &str, params: Option<&RawJson>) {
    if method == "notifications/cancelled" {
        session.running.cancel(params);
    }
}

fn initialize(gateway: &Gateway, session: &Session, request: &Request) -> Result<RawJson, RpcError> {
    let asked = request.required("protocolVersion")?;
    let is_ours = Verdict::of_version(&asked).is_some_and(|verdict| verdict.era == Era::Legacy);
    let version = if is_ours { asked } else { NEWEST.to_owned() };
    let result = format!(
        r#"{{"protocolVersion":{},"capabilities":{{"logging":{{}},"tools":{{"listChanged":true}}}},"serverInfo":{}}}"#,
        quoted(&version),
        gateway.server_info,
    );
    session.greet();
    Ok(RawJson::assembled(result))
}

fn set_log_level(session: &Session, request: &Request) -> Result<RawJson, RpcError> {
    let word = request.required("level")?;
    let level = Level::from_word(&word).ok_or_else(|| invalid_params(format!("there is no log level `{word}`")))?;
    session.set_log_level(level);
    Ok(RawJson::empty_object())
}
