//! The headers by which a modern request says what is in its body: both have to say the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helve_model::json::RawJson;
use helve_model::protocol::code;
use helve_model::protocol::methods;
use helve_wire::{RpcError, plane};

use super::{Incoming, Shared};
use crate::gate::{Meta, Request};

/// Compares the headers with the body.
pub(super) fn check(shared: &Shared, incoming: &Incoming, request: &Request, meta: &Meta) -> Result<(), RpcError> {
    let version = meta.protocol_version.as_ref().and_then(|version| version.parse::<String>().ok());
    expect(incoming, "mcp-protocol-version", version.as_deref())?;
    expect(incoming, "mcp-method", Some(&request.method))?;
    let named_by = match request.method.as_str() {
        methods::TOOLS_CALL | methods::PROMPTS_GET => "name",
        methods::RESOURCES_READ => "uri",
        methods::TASKS_GET | methods::TASKS_UPDATE | methods::TASKS_CANCEL => "taskId",
        _ => return Ok(()),
    };
    let name = request.required(named_by).ok();
    expect(incoming, "mcp-name", name.as_deref())?;
    if request.method == methods::TOOLS_CALL {
        let catalog = shared.gateway.catalog_of(&incoming.principal, &incoming.reach);
        let Some(tool) = name.and_then(|name| catalog.tool(&name).cloned()) else { return Ok(()) };
        let arguments = request.param("arguments").unwrap_or_else(RawJson::empty_object);
        for (header, value) in plane::param_headers(tool.definition(), &arguments) {
            expect_mirror(incoming, &header.to_ascii_lowercase(), value.as_deref())?;
        }
    }
    Ok(())
}

/// A header that has to be there. What the body lacks is missed by whoever needs it.
fn expect(incoming: &Incoming, header: &str, wanted: Option<&str>) -> Result<(), RpcError> {
    let Some(given) = incoming.header(header) else { return Err(mismatch(format!("{header} is missing"))) };
    let given = decoded(given).ok_or_else(|| mismatch(format!("{header} cannot be read")))?;
    match wanted {
        Some(wanted) if given != wanted => Err(mismatch(format!("{header} is '{given}', the body says '{wanted}'"))),
        _ => Ok(()),
    }
}

/// A header that is there if and only if the argument is.
fn expect_mirror(incoming: &Incoming, header: &str, wanted: Option<&str>) -> Result<(), RpcError> {
    match (wanted, incoming.header(header)) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(mismatch(format!("{header} mirrors no argument"))),
        (Some(_), _) => expect(incoming, header, wanted),
    }
}

/// Values that are not plain ASCII come in base 64.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn mismatch(problem: String) -> RpcError {
    RpcError { code: code::HEADER_MISMATCH, message: format!("Header mismatch: {problem}"), data: None }
}
