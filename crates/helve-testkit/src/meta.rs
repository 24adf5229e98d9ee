//! Owns the metadata of the modern era: its names, its check, and the refusals that follow from it.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::call::CallEra;
use crate::scenario::Era;

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

pub(crate) const HEADER_MISMATCH: i64 = -32020;
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// What a request's `_meta` says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RequestMeta {
    #[serde(rename = "progressToken")]
    pub(crate) progress_token: Option<Value>,
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) protocol_version: Option<Value>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) client_capabilities: Option<Value>,
    #[serde(rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) log_level: Option<String>,
}

/// Why a request is not served.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RequestMeta {
    pub(crate) fn of(params: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "_meta")]
            meta: Option<RequestMeta>,
        }
        let parsed = params.and_then(|raw| serde_json::from_str::<Params>(raw.get()).ok());
        parsed.and_then(|params| params.meta).unwrap_or_default()
    }

    pub(crate) fn looks_modern(&self) -> bool {
        self.protocol_version.is_some() || self.client_capabilities.is_some()
    }
}

/// Checks that a request carries what the modern era asks for.
pub(crate) fn check(request: &RequestMeta, supported: &[String], era: Era) -> Result<CallEra, Refusal> {
    let Some(version) = request.protocol_version.as_ref().and_then(Value::as_str) else {
        return Err(Refusal::new(-32602, &format!("missing _meta[\"{PROTOCOL_VERSION}\"]")));
    };
    if !supported.iter().any(|known| known == version) {
        let supported = if era == Era::Dual { with_legacy(supported) } else { supported.to_vec() };
        let data = json!({ "supported": supported, "requested": version });
        return Err(Refusal {
            code: UNSUPPORTED_VERSION,
            message: "Unsupported protocol version".to_string(),
            data: Some(data),
        });
    }
    match &request.client_capabilities {
        Some(capabilities @ Value::Object(_)) => Ok(CallEra::Modern { capabilities: capabilities.clone() }),
        _ => Err(Refusal::new(-32602, "missing _meta[\"io.modelcontextprotocol/clientCapabilities\"]")),
    }
}

pub(crate) fn server_info() -> Value {
    json!({ "name": "helve-testkit", "title": "Fake peer", "version": env!("CARGO_PKG_VERSION") })
}

impl Refusal {
    pub(crate) fn new(code: i64, message: &str) -> Self {
        Self { code, message: message.to_string(), data: None }
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(-32601, &format!("Method not found: {method}"))
    }

    /// What a modern-only peer says to `initialize`: the only place to tell an old client what would work.
    pub(crate) fn initialize(supported: &[String]) -> Self {
        let message = format!("initialize is not part of this server's protocol; it speaks {}", supported.join(", "));
        Self { code: -32601, message, data: Some(json!({ "supported": supported })) }
    }
}

fn with_legacy(modern: &[String]) -> Vec<String> {
    let legacy = crate::scenario::LEGACY_VERSIONS.iter().rev().map(ToString::to_string);
    modern.iter().cloned().chain(legacy).collect()
}
