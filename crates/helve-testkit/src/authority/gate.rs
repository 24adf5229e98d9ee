//! Owns the protected address: who gets through to the server behind it.

use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request, Response, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::Shared;
use super::plumbing::{Answer, Asked, Body, written};
use super::switches::ChallengeKind;

/// Lets a request with a good token through, and refuses others.
pub(crate) async fn pass(shared: &Shared, headers: &HeaderMap, asked: Asked) -> Result<Response<Body>, std::io::Error> {
    if let Some(refusal) = refusal(shared, &asked) {
        return Ok(written(refusal));
    }
    let stream = TcpStream::connect(shared.inner).await?;
    let broken = |_| std::io::Error::other("the server behind is gone");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    drop(tokio::spawn(connection));
    let mut request = Request::builder()
        .method(asked.method.as_str())
        .uri("/mcp")
        .body(Full::new(asked.body))
        .map_err(std::io::Error::other)?;
    for (name, value) in headers {
        if name != header::AUTHORIZATION && name != header::HOST {
            request.headers_mut().append(name, value.clone());
        }
    }
    let host = shared.inner.to_string().parse().map_err(std::io::Error::other)?;
    request.headers_mut().insert(header::HOST, host);
    let response = sender.send_request(request).await.map_err(broken)?;
    Ok(response.map(BodyExt::boxed))
}

fn refusal(shared: &Shared, asked: &Asked) -> Option<Answer> {
    let state = shared.state();
    let token = asked.authorization.as_deref().and_then(|header| header.strip_prefix("Bearer "));
    if token.is_none() && state.switches.bad_request_first && asked.body.windows(10).any(|part| part == b"2026-07-28") {
        return Some(Answer::text(400, "text/plain", "unknown protocol version"));
    }
    let base = shared.base();
    let challenge = |error: Option<(&str, &str)>| {
        let mut parts = Vec::new();
        if state.switches.challenge == ChallengeKind::WithMetadata && state.switches.resource_metadata {
            let path = if state.switches.resource_metadata_at_root { "" } else { "/mcp" };
            parts.push(format!("resource_metadata=\"{base}/.well-known/oauth-protected-resource{path}\""));
        }
        match error {
            Some((error, scope)) => parts.extend([format!("error=\"{error}\""), format!("scope=\"{scope}\"")]),
            None => parts.extend(state.switches.challenge_scope.iter().map(|scope| format!("scope=\"{scope}\""))),
        }
        format!("Bearer {}", parts.join(", ")).trim_end().to_owned()
    };
    let Some(grant) = token.and_then(|token| state.access.get(token)) else {
        let mut answer = Answer::json(401, &json!({"error": "invalid_token"}));
        if state.switches.challenge != ChallengeKind::Absent {
            answer.headers.push(("www-authenticate", challenge(None)));
        }
        return Some(answer);
    };
    let wanted = state.switches.call_scope.as_deref()?;
    let is_call = serde_json::from_slice::<Value>(&asked.body).is_ok_and(|body| body["method"] == "tools/call");
    let has = grant.scope.as_deref().unwrap_or_default().split(' ').any(|scope| scope == wanted);
    if is_call && !has {
        let mut answer = Answer::json(403, &json!({"error": "insufficient_scope"}));
        answer.headers.push(("www-authenticate", challenge(Some(("insufficient_scope", wanted)))));
        return Some(answer);
    }
    None
}
