//! What an answer means that is not the one we hoped for: by its status, its type and the first words of its body.

use std::time::Duration;

use bytes::Bytes;
use bytestring::ByteString;
use helve_model::ErrorCode;
use helve_model::json::RawJson;
use http::StatusCode;
use http::header::RETRY_AFTER;
use tokio::time::timeout;

use crate::error::{Error, RpcError};
use crate::transport::http::client::HttpResponse;

/// How long the body of a refusal is waited for.
const BODY_TIME: Duration = Duration::from_secs(2);
/// How much is read of a body that is only shown.
const SHOWN_BYTES: usize = 4 << 10;
/// How much of it is shown.
const SHOWN_CHARACTERS: usize = 160;

/// Why a request was not answered as hoped.
#[derive(Debug)]
pub(crate) enum HttpRefusal {
    /// The peer's own words.
    Rpc(RpcError),
    Other(Error),
}

/// Reads a response whose status is not a success.
pub(crate) async fn of_status(mut response: HttpResponse, limit: usize) -> HttpRefusal {
    let status = response.status;
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return HttpRefusal::Other(unauthorised(response));
    }
    let is_json = response.content_type().is_some_and(|kind| kind.contains("json"));
    let body = body_of(&mut response, if is_json { limit } else { SHOWN_BYTES }).await;
    if let Some(error) = rpc_error(&body) {
        return HttpRefusal::Rpc(error);
    }
    let (code, may_have_run) = match status {
        StatusCode::TOO_MANY_REQUESTS => (ErrorCode::TransportError, false),
        StatusCode::PAYLOAD_TOO_LARGE => (ErrorCode::LimitExceeded, false),
        StatusCode::REQUEST_TIMEOUT => (ErrorCode::TransportError, true),
        status if status.is_client_error() => (ErrorCode::ProtocolError, false),
        _ => (ErrorCode::TransportError, true),
    };
    let hint = match status {
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            "check the path of the server's address, which often ends in /mcp".to_owned()
        }
        StatusCode::PAYLOAD_TOO_LARGE => "send less, or raise the server's own limit".to_owned(),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => match response.headers.get(RETRY_AFTER) {
            Some(after) => format!("try again later (the server says: {})", excerpt(after.as_bytes())),
            None => "try again later".to_owned(),
        },
        _ => "look into the server's log".to_owned(),
    };
    let shown = described(&response, &body);
    let error = Error::new(code, format!("the server answered {status}{shown}"))
        .with_hint(hint)
        .with_http_status(status.as_u16())
        .with_may_have_run(may_have_run);
    response.body.discard();
    HttpRefusal::Other(error)
}

/// The error of an answer that has the right status but is not of the type that was `wanted`.
pub(crate) async fn of_content(mut response: HttpResponse, wanted: &str) -> Error {
    let body = body_of(&mut response, SHOWN_BYTES).await;
    let shown = described(&response, &body);
    Error::new(ErrorCode::ProtocolError, format!("the server did not answer with {wanted}{shown}"))
        .with_hint("check the server's address: this looks like another kind of server")
        .with_http_status(response.status.as_u16())
        .with_may_have_run(true)
}

/// The error of an answer that is packed although we asked for plain.
pub(crate) fn of_encoding(response: &HttpResponse, encoding: &str) -> Error {
    Error::new(
        ErrorCode::ProtocolError,
        format!("the server's answer is packed with `{encoding}`, which was not asked for"),
    )
    .with_hint("switch compression off at the server or at the proxy before it")
    .with_http_status(response.status.as_u16())
    .with_may_have_run(true)
}

/// The error of an answer that ended too early.
pub(crate) fn cut_off() -> Error {
    Error::new(ErrorCode::TransportError, "the connection ended before the server's answer was complete")
        .with_hint("look into the server's log: it may have crashed")
        .with_may_have_run(true)
}

/// The error of an answer that ended too early and cannot be had any more.
pub(crate) fn not_resumed(why: &str) -> Error {
    Error::new(ErrorCode::TransportError, format!("the server's answer broke off and cannot be resumed: {why}"))
        .with_hint("look into the server's log: it may have crashed or been restarted")
        .with_may_have_run(true)
}

/// The error of a message that the server did not take in time.
pub(crate) fn not_taken(time: Duration) -> Error {
    let seconds = time.as_secs_f64();
    Error::new(ErrorCode::Timeout, format!("the server did not take a message within {seconds} s"))
        .with_hint("the server is stuck; restart it, or raise the limit `write_stall`")
        .with_may_have_run(true)
}

/// The error of a request that was taken and not answered.
pub(crate) fn no_answer(status: StatusCode) -> Error {
    Error::new(ErrorCode::ProtocolError, format!("the server took the request ({status}) but gave no answer"))
        .with_hint("the server does not follow the protocol; report it to its authors")
        .with_http_status(status.as_u16())
        .with_may_have_run(true)
}

/// The error of a request that came to a session the server has forgotten: it was not accepted.
pub(crate) fn session_expired(status: StatusCode) -> Error {
    Error::new(ErrorCode::TransportError, "the server no longer knows this session")
        .with_hint("connect again")
        .with_http_status(status.as_u16())
        .with_session_expired()
}

/// A text of the peer's in one line, without anything that could act on a terminal.
pub(crate) fn excerpt(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text.get(..SHOWN_BYTES).unwrap_or(text));
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().map(|character| {
            let plain = character.is_ascii_graphic() || character.is_alphanumeric();
            if plain { character } else { '\u{fffd}' }
        }));
    }
    match words.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words,
    }
}

fn unauthorised(response: HttpResponse) -> Error {
    let status = response.status;
    let challenge = response.challenge();
    let (message, hint) = match (status, &challenge) {
        (StatusCode::UNAUTHORIZED, Some(challenge)) => (
            format!("the server wants credentials: {}", excerpt(challenge.as_bytes())),
            "set its `Authorization` header",
        ),
        (StatusCode::UNAUTHORIZED, None) => (
            "the server wants credentials and does not say which".to_owned(),
            "set the header this server authenticates with; its documentation names it",
        ),
        (_, Some(challenge)) => (
            format!("the server refuses these credentials: {}", excerpt(challenge.as_bytes())),
            "log in again with the rights the server asks for",
        ),
        (_, None) => (
            format!("the server refuses access ({status})"),
            "check the credentials of this server, and what they are allowed to do",
        ),
    };
    response.body.discard();
    Error::new(ErrorCode::AuthRequired, message)
        .with_hint(hint)
        .with_challenge(challenge)
        .with_http_status(status.as_u16())
}

/// The body, as far as it can be read in time; empty when it cannot.
async fn body_of(response: &mut HttpResponse, limit: usize) -> Bytes {
    if response.foreign_encoding().is_some() {
        return Bytes::new();
    }
    match timeout(BODY_TIME, response.body.read_some(limit)).await {
        Ok(body) => body,
        Err(_) => Bytes::new(),
    }
}

/// `error` of a JSON-RPC answer, whatever its id is and whether or not it names the version.
fn rpc_error(body: &Bytes) -> Option<RpcError> {
    let text = ByteString::try_from(body.clone()).ok()?;
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    RpcError::from_raw(&RawJson::assembled(text.to_owned()).member("error")?)
}

fn described(response: &HttpResponse, body: &[u8]) -> String {
    let kind = response.headers.get(http::header::CONTENT_TYPE).map(|value| excerpt(value.as_bytes()));
    let kind = kind.unwrap_or_else(|| "no content type".to_owned());
    let words = excerpt(body);
    if words.is_empty() { format!(" ({kind}, nothing to read)") } else { format!(" ({kind}): {words}") }
}
