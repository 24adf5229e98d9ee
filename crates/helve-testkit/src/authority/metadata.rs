//! Owns the documents by which servers and authorization servers describe themselves.

use serde_json::{Value, json};

use super::Shared;
use super::plumbing::Answer;
use super::switches::{DeviceKind, RegistrationKind};

pub(crate) fn document(shared: &Shared, path: &str) -> Answer {
    let state = shared.state();
    let switches = &state.switches;
    let base = shared.base();
    if let Some(place) = &switches.metadata_redirect {
        return Answer::to(place);
    }
    let not_found = || Answer::text(404, "text/html", "<h1>Not Found</h1>");
    match path {
        "/.well-known/oauth-protected-resource/mcp" if switches.resource_metadata_at_root => not_found(),
        "/.well-known/oauth-protected-resource/mcp" | "/.well-known/oauth-protected-resource"
            if switches.resource_metadata =>
        {
            let resource = switches.resource.clone().unwrap_or_else(|| format!("{base}/mcp"));
            let mut document = json!({"resource": resource, "authorization_servers": [base]});
            if let Some(scopes) = &switches.resource_scopes {
                document["scopes_supported"] = json!(scopes);
            }
            Answer::json(200, &document)
        }
        "/.well-known/oauth-authorization-server" if switches.openid_only => not_found(),
        "/.well-known/oauth-authorization-server" | "/.well-known/openid-configuration" if switches.server_metadata => {
            let mut document = json!({
                "issuer": switches.issuer.clone().unwrap_or_else(|| base.clone()),
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "revocation_endpoint": format!("{base}/revoke"),
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "authorization_response_iss_parameter_supported": switches.announces_issuer,
                "client_id_metadata_document_supported": switches.documents,
            });
            if switches.device != DeviceKind::Absent {
                document["device_authorization_endpoint"] = json!(format!("{base}/device_authorization"));
            }
            if switches.registration != RegistrationKind::Absent {
                document["registration_endpoint"] = json!(format!("{base}/register"));
            } else if switches.nulls {
                document["registration_endpoint"] = Value::Null;
            }
            if switches.nulls {
                document["scopes_supported"] = Value::Null;
                document["op_policy_uri"] = Value::Null;
            }
            if switches.pkce {
                document["code_challenge_methods_supported"] = json!(["plain", "S256"]);
            }
            if let Some(scopes) = &switches.server_scopes {
                document["scopes_supported"] = json!(scopes);
            }
            if let Some(methods) = &switches.auth_methods {
                document["token_endpoint_auth_methods_supported"] = json!(methods);
            }
            Answer::json(200, &document)
        }
        _ => not_found(),
    }
}
