//! Logins, in words and for programs.

use std::time::{Duration, UNIX_EPOCH};

use helve::auth::Facts;
use helve_setup::SetupError;
use helve_setup::vault::VaultError;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;

/// Where somebody is signed in, in a word.
pub(crate) fn issuer(facts: &Facts) -> String {
    facts.issuer.clone().unwrap_or_else(|| "yes".to_owned())
}

/// A login in words: where, as whom, until when, with which rights.
pub(crate) fn described(context: &Context, facts: &Facts) -> String {
    let mut parts = Vec::new();
    parts.extend(facts.account.as_ref().map(|account| format!("as {account}")));
    parts.extend(facts.issuer.as_ref().map(|issuer| format!("at {issuer}")));
    parts.push(match (facts.expires, facts.renewable) {
        (_, true) => "renewed by itself".to_owned(),
        (Some(end), false) => left(context, end),
        (None, false) => "until the server refuses it".to_owned(),
    });
    if !facts.scopes.is_empty() {
        parts.push(format!("with {}", facts.scopes.join(" ")));
    }
    parts.join(", ")
}

/// How long a login lasts that nothing can renew.
fn left(context: &Context, end: u64) -> String {
    let now = context.env.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    match end.checked_sub(now) {
        None | Some(0) => "ended: sign in again".to_owned(),
        Some(seconds) if seconds < 3_600 => format!("for {} more minutes", seconds.div_ceil(60)),
        Some(seconds) if seconds < 48 * 3_600 => format!("for {} more hours", seconds / 3_600),
        Some(seconds) => format!("for {} more days", Duration::from_secs(seconds).as_secs() / 86_400),
    }
}

/// A login for programs.
pub(crate) fn as_json(facts: &Facts) -> Value {
    json!({
        "issuer": facts.issuer,
        "account": facts.account,
        "scopes": facts.scopes,
        "expires": facts.expires,
        "renewable": facts.renewable,
    })
}

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Self {
        SetupError::from(error).into()
    }
}
