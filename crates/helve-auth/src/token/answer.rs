//! What a token endpoint's answer means. Strict about the token, lenient about what surrounds it.

use http::HeaderValue;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use crate::egress::shown;
use crate::error::{Advice, AuthError, ErrorKind, Result, excerpt};
use crate::json::Object;
use crate::jwt;
use crate::ports::HttpAnswer;

/// Longest token that is taken: more does not fit into a header that servers read.
const TOKEN_BYTES: usize = 64 << 10;

/// A token, as it was given.
#[derive(Debug)]
pub(crate) struct TokenAnswer {
    pub(crate) access_token: SecretString,
    pub(crate) token_type: TokenType,
    /// How many seconds it lives; `None`: nobody said, and nothing is made up.
    pub(crate) expires_in: Option<u64>,
    pub(crate) refresh_token: Option<SecretString>,
    /// The scopes it has, where they differ from those that were asked for.
    pub(crate) scopes: Option<Vec<String>>,
    /// Whose it is, for showing.
    pub(crate) account: Option<String>,
}

/// How a token is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenType {
    Bearer,
    Dpop,
}

impl TokenAnswer {
    /// Reads an answer.
    pub(crate) fn read(answer: &HttpAnswer, endpoint: &Url) -> Result<Self> {
        let place = shown(endpoint);
        let value = serde_json::from_slice::<Value>(&answer.body).ok();
        let object = value.as_ref().and_then(Object::of);
        if let Some(refusal) = refusal(answer, object.as_ref(), &place) {
            return Err(refusal);
        }
        let bad = |what: &str| {
            AuthError::new(ErrorKind::BadAnswer, format!("{place} answered {}, but {what}", answer.status))
        };
        let object = object.ok_or_else(|| bad("not with a JSON object"))?;
        // Q16: one maker puts the person's token one level down, beside the workspace's.
        let object = match (object.text("access_token"), object.object("authed_user")) {
            (None, Some(inner)) if inner.text("access_token").is_some() => inner,
            _ => object,
        };
        let token = object.text("access_token").ok_or_else(|| bad("without an access token"))?;
        if token.len() > TOKEN_BYTES || HeaderValue::from_str(token).is_err() || token.contains(' ') {
            return Err(bad("its access token cannot be sent in a header"));
        }
        // Q16: other words than `Bearer` are seen and mean the same; only `DPoP` means something else.
        let token_type = match object.text("token_type") {
            Some(name) if name.eq_ignore_ascii_case("dpop") => TokenType::Dpop,
            _ => TokenType::Bearer,
        };
        let account = object.text("id_token").and_then(account_of);
        Ok(Self {
            access_token: SecretString::from(token.to_owned()),
            token_type,
            expires_in: object.seconds("expires_in"),
            refresh_token: object.owned("refresh_token").map(SecretString::from),
            scopes: object.text("scope").map(|scope| scope.split([' ', ',']).map(str::to_owned).collect()),
            account,
        })
    }

    /// Why an endpoint refuses, if it does.
    pub(crate) fn refusal(answer: &HttpAnswer, endpoint: &Url) -> Option<AuthError> {
        let value = serde_json::from_slice::<Value>(&answer.body).ok();
        refusal(answer, value.as_ref().and_then(Object::of).as_ref(), &shown(endpoint))
    }

    /// The error code of an answer that refuses.
    pub(crate) fn error_code(answer: &HttpAnswer) -> Option<String> {
        let value = serde_json::from_slice::<Value>(&answer.body).ok()?;
        Object::of(&value)?.owned("error")
    }
}

/// The refusal in an answer: by its status, or by what it says though its status is 200.
fn refusal(answer: &HttpAnswer, object: Option<&Object<'_>>, place: &str) -> Option<AuthError> {
    let code = object.and_then(|object| object.owned("error"));
    if answer.status.is_success() && code.is_none() {
        return None;
    }
    let status = answer.status;
    let words = object.and_then(|object| object.text("error_description")).map(excerpt);
    let message = match (&code, &words) {
        (Some(code), Some(words)) => format!("{place} refuses ({}): {words}", excerpt(code)),
        (Some(code), None) => format!("{place} refuses: {}", excerpt(code)),
        // The body of a failure may repeat what was sent: it is not shown.
        (None, _) => format!("{place} answered {status} without saying why"),
    };
    let is_passing = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
    let kind = match code {
        Some(code) if !is_passing || code == "invalid_grant" => ErrorKind::Refused(code),
        None if !is_passing && !status.is_success() && status.is_client_error() => ErrorKind::Refused(String::new()),
        _ if is_passing => ErrorKind::Unreachable,
        _ => ErrorKind::BadAnswer,
    };
    let error = AuthError::new(kind, message);
    Some(if is_passing { error.with_advice(Advice::TryLater) } else { error })
}

/// A name to show for the person of an identity token.
fn account_of(token: &str) -> Option<String> {
    let claims = jwt::claims(token)?;
    let object = Object::of(&claims)?;
    let name = object.text("email").or(object.text("preferred_username")).or(object.text("sub"))?;
    Some(excerpt(name))
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
