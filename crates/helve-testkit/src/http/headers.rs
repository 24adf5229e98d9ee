//! Owns the check of the modern era's request headers against the body they mirror.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::exchange::Exchange;
use crate::meta::PROTOCOL_VERSION;
use crate::tools;

/// Says what is wrong with the headers of a modern request, if anything.
pub(crate) fn check(exchange: &Exchange, message: &Value) -> Result<(), String> {
    let method = message["method"].as_str().unwrap_or_default();
    let params = &message["params"];
    let version = params["_meta"][PROTOCOL_VERSION].as_str();
    expect(exchange, "mcp-protocol-version", version)?;
    expect(exchange, "mcp-method", Some(method))?;
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
        _ => return Ok(()),
    };
    expect(exchange, "mcp-name", name)?;
    if method == "tools/call" {
        let contents = exchange.shared.peer.scenario().contents;
        for (argument, header) in tools::mirrored_arguments(contents, name.unwrap_or_default()) {
            expect_argument(exchange, &header, &params["arguments"][&argument])?;
        }
    }
    Ok(())
}

/// A header that must be there and equal to what the body says.
fn expect(exchange: &Exchange, header: &str, wanted: Option<&str>) -> Result<(), String> {
    let given = exchange.header(header).ok_or_else(|| format!("Header mismatch: {header} is missing"))?;
    let given = decode(given)?;
    match wanted {
        // What the body lacks is reported by whoever needs it.
        None => Ok(()),
        Some(wanted) if given == wanted => Ok(()),
        Some(wanted) => Err(format!("Header mismatch: {header} is '{given}', the body says '{wanted}'")),
    }
}

/// A header that mirrors an argument: there if and only if the argument is.
fn expect_argument(exchange: &Exchange, header: &str, argument: &Value) -> Result<(), String> {
    match argument {
        Value::Null => match exchange.header(header) {
            None => Ok(()),
            Some(_) => Err(format!("Header mismatch: {header} mirrors no argument")),
        },
        Value::String(text) => expect(exchange, header, Some(text)),
        other => expect(exchange, header, Some(&other.to_string())),
    }
}

/// Undoes the spelling for values that are not plain ASCII.
fn decode(value: &str) -> Result<String, String> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(value.to_string());
    };
    let bytes = STANDARD.decode(encoded).map_err(|error| format!("Header mismatch: {error}"))?;
    String::from_utf8(bytes).map_err(|error| format!("Header mismatch: {error}"))
}
