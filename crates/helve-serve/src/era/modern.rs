//! The modern era: every request carries its own metadata, every result its type; nothing is remembered between them.

use std::sync::Arc;

use helve_model::json::{RawJson, scan};
use helve_wire::{Era, RpcError, Verdict};

use crate::gateway::Gateway;
use crate::outbox::Outlet;
use crate::refusal::invalid_params;
use crate::request::{Meta, Request};
use crate::tools;

/// The method by which an agent asks who we are.
pub(crate) const DISCOVER: &str = "server/discover";

/// The versions of this era, newest first.
const VERSIONS: [&str; 1] = ["2026-07-28"];

const UNSUPPORTED_VERSION: i64 = -32022;

/// How long an agent may use a list without asking again. Changes are announced to those who listen.
const LIST_TTL_MS: u64 = 5_000;

/// Answers one request.
pub(crate) async fn answer(
    gateway: &Arc<Gateway>,
    stream: &Arc<dyn Outlet>,
    request: &Request,
    meta: Meta,
) -> Result<RawJson, RpcError> {
    check(&meta)?;
    let result = match request.method.as_str() {
        DISCOVER => Ok(discover()),
        "tools/list" => tools::list(gateway, request).await.map(|list| cacheable(&list)),
        "tools/call" => tools::call(gateway, stream, request, meta).await,
        method => Err(RpcError::method_not_found(method)),
    };
    result.map(|result| complete(gateway, &result))
}

/// Does a request carry what it has to?
fn check(meta: &Meta) -> Result<(), RpcError> {
    let Some(version) = &meta.protocol_version else {
        return Err(invalid_params("`_meta` lacks io.modelcontextprotocol/protocolVersion"));
    };
    let version: String =
        version.parse().map_err(|_| invalid_params("io.modelcontextprotocol/protocolVersion is no string"))?;
    if Verdict::of_version(&version).is_none_or(|verdict| verdict.era != Era::Modern) {
        return Err(unsupported(&version));
    }
    match &meta.client_capabilities {
        Some(capabilities) if capabilities.is_object() => Ok(()),
        _ => Err(invalid_params("`_meta` lacks io.modelcontextprotocol/clientCapabilities")),
    }
}

fn unsupported(version: &str) -> RpcError {
    let (supported, requested) = (quoted_list(&VERSIONS), helve_wire::plane::quoted(version));
    let data = format!(r#"{{"supported":{supported},"requested":{requested}}}"#);
    RpcError {
        code: UNSUPPORTED_VERSION,
        message: format!("Unsupported protocol version: {version}"),
        data: Some(RawJson::assembled(data)),
    }
}

fn discover() -> RawJson {
    let versions = quoted_list(&VERSIONS);
    cacheable(&RawJson::assembled(format!(
        r#"{{"supportedVersions":{versions},"capabilities":{{"tools":{{"listChanged":true}}}}}}"#
    )))
}

/// A list, with how long it may be used. What an agent sees may depend on who it is, so it is nobody else's.
fn cacheable(result: &RawJson) -> RawJson {
    with_members(result, &format!(r#""ttlMs":{LIST_TTL_MS},"cacheScope":"private""#))
}

/// Puts in what every result of this era has. A modern server's result has it already, and stays as it is.
fn complete(gateway: &Gateway, result: &RawJson) -> RawJson {
    let (mut has_type, mut has_meta) = (false, false);
    for member in scan::members(result.as_str()).into_iter().flatten().map_while(Result::ok) {
        has_type |= member.key_is("resultType");
        has_meta |= member.key_is("_meta");
    }
    let info = &gateway.server_info;
    let meta = format!(r#""_meta":{{"io.modelcontextprotocol/serverInfo":{info}}}"#);
    match (has_type, has_meta) {
        (true, _) => result.clone(),
        (false, true) => with_members(result, r#""resultType":"complete""#),
        (false, false) => with_members(result, &format!(r#""resultType":"complete",{meta}"#)),
    }
}

/// The object with further members behind its own.
fn with_members(object: &RawJson, members: &str) -> RawJson {
    let text = object.as_str().trim_end();
    let open = text.strip_suffix('}').unwrap_or(text).trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    RawJson::assembled([open, comma, members, "}"].concat())
}

fn quoted_list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", words.join(","))
}
