//! The device grant (RFC 8628): the person types a code on a page elsewhere, and we ask until they have.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::client::Client;
use crate::credential::{AskedLogin, Credential, unix};
use crate::discovery::Found;
use crate::dpop::DpopKey;
use crate::egress::shown;
use crate::error::{Advice, AuthError, ErrorKind, Result, excerpt};
use crate::grant::Wanted;
use crate::json::Object;
use crate::login::DeviceCode;
use crate::ports::{HttpAnswer, Ports, Purpose};
use crate::token::{Form, TokenAnswer, TokenEndpoint, form};

/// How the grant is called, at registration and at the token endpoint.
pub(crate) const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// How long to wait between two questions where nobody says, and by how much longer after a `slow_down` (RFC 8628, 3.5).
const PAUSE: u64 = 5;
/// Bounds of what an authorization server may ask for, in seconds.
const PAUSES: std::ops::RangeInclusive<u64> = 1..=60;
/// Longest a code may live, in seconds, whatever is said.
const LONGEST_LIFE: u64 = 1_800;
/// Longest code that a person is asked to type.
const CODE_LENGTH: usize = 64;

/// A code that waits for its person.
#[derive(Debug)]
pub(crate) struct Device<'a> {
    found: &'a Found,
    client: Client,
    scopes: Vec<String>,
    dpop: Option<DpopKey>,
    code: SecretString,
    pub(crate) shown: DeviceCode,
    pause: Duration,
}

/// Asks for a code.
pub(crate) async fn begin<'a>(
    ports: &Ports,
    found: &'a Found,
    client: Client,
    scopes: Vec<String>,
) -> Result<Device<'a>> {
    let endpoint = endpoint_of(found)?;
    let dpop = if found.wants_dpop { Some(DpopKey::generate()?) } else { None };
    let asking = TokenEndpoint { ports, endpoint, issuer: &found.server.issuer, client: &client, dpop: None };
    let mut form = Form::new();
    Wanted { resource: found.resource.as_deref(), scopes: &scopes }.add_to(&mut form);
    let answer = asking.post_for(Purpose::Device, &form).await?;
    let (code, shown, pause) = read(&answer, endpoint, &found.server.issuer)?;
    Ok(Device { found, client, scopes, dpop, code, shown, pause })
}

/// Where codes are given.
pub(crate) fn endpoint_of(found: &Found) -> Result<&Url> {
    found.server.device_endpoint.as_ref().ok_or_else(|| {
        AuthError::new(
            ErrorKind::ClientNeeded,
            format!("the authorization server {} does not offer to sign in by a code", found.server.issuer),
        )
        .with_advice(Advice::LogIn)
    })
}

impl Device<'_> {
    /// Asks until the person has said yes or no, or the time is over.
    pub(crate) async fn wait(self, ports: &Ports, time: Option<Duration>) -> Result<Credential> {
        let server = &self.found.server;
        let endpoint = TokenEndpoint {
            ports,
            endpoint: &server.token_endpoint,
            issuer: &server.issuer,
            client: &self.client,
            dpop: self.dpop.as_ref(),
        };
        let mut form = form([("grant_type", DEVICE_GRANT)]);
        form.push(("device_code", self.code.clone()));
        if let Some(resource) = &self.found.resource {
            form.push(("resource", resource.clone().into()));
        }
        let life = time.map_or(self.shown.life, |time| time.min(self.shown.life));
        let (end, mut pause) = (Instant::now() + life, self.pause);
        let answer = loop {
            if Instant::now() + pause > end {
                return Err(AuthError::timed_out(format!("nobody typed the code within {} s", life.as_secs()))
                    .with_advice(Advice::LogIn));
            }
            sleep(pause).await;
            match pause_after(endpoint.ask_either_way(&form).await, pause)? {
                Asked::Granted(answer) => break answer,
                Asked::Again(longer) => pause = longer,
            }
        };
        let asked = AskedLogin {
            issuer: server.issuer.clone(),
            token_endpoint: server.token_endpoint.clone(),
            revocation_endpoint: server.revocation_endpoint.clone(),
            client: self.client,
            resource: self.found.resource.clone(),
            requested: self.scopes,
            dpop: self.dpop,
        };
        Ok(asked.answered(answer, unix((ports.clock)())))
    }
}

/// What came of asking once.
#[derive(Debug)]
enum Asked {
    Granted(TokenAnswer),
    /// Not yet: ask again after this long.
    Again(Duration),
}

/// What follows from an answer; only a refusal that is final is an error.
fn pause_after(answer: Result<TokenAnswer>, pause: Duration) -> Result<Asked> {
    let longest = Duration::from_secs(*PAUSES.end());
    let error = match answer {
        Ok(answer) => return Ok(Asked::Granted(answer)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::Refused(code) => match code.as_str() {
            "authorization_pending" => Ok(Asked::Again(pause)),
            "slow_down" => Ok(Asked::Again((pause + Duration::from_secs(PAUSE)).min(longest))),
            "access_denied" => Err(AuthError::declined("the person said no on the page")),
            "expired_token" => {
                Err(AuthError::timed_out("nobody typed the code before it ended").with_advice(Advice::LogIn))
            }
            _ => Err(error),
        },
        // A network that was away for a moment costs a longer pause, not the login.
        ErrorKind::Unreachable => Ok(Asked::Again((pause * 2).min(longest))),
        _ => Err(error),
    }
}

/// Reads what the device endpoint answered.
fn read(answer: &HttpAnswer, endpoint: &Url, issuer: &str) -> Result<(SecretString, DeviceCode, Duration)> {
    let place = shown(endpoint);
    if let Some(refusal) = TokenAnswer::refusal(answer, endpoint) {
        return Err(refusal);
    }
    let bad = |what: &str| AuthError::new(ErrorKind::BadAnswer, format!("{place} answered, but {what}"));
    let value = serde_json::from_slice::<Value>(&answer.body).map_err(|_| bad("not with JSON"))?;
    let object = Object::of(&value).ok_or_else(|| bad("not with a JSON object"))?;
    let code = object.owned("device_code").ok_or_else(|| bad("without a `device_code`"))?;
    let typed = object.text("user_code").filter(|code| is_typable(code));
    let typed = typed.ok_or_else(|| bad("without a `user_code` that a person could type"))?;
    let page = |text: &str| {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        url.ok_or_else(|| bad(&format!("the page it names is not a web page: {}", excerpt(text))))
    };
    // One maker writes `verification_url`, as a draft of the RFC had it.
    let named = object.text("verification_uri").or(object.text("verification_url"));
    let shown = DeviceCode {
        code: typed.to_owned(),
        page: page(named.ok_or_else(|| bad("without the page to type the code on"))?)?,
        whole_page: object.text("verification_uri_complete").map(page).transpose()?,
        issuer: issuer.to_owned(),
        life: Duration::from_secs(object.seconds("expires_in").unwrap_or(LONGEST_LIFE).clamp(1, LONGEST_LIFE)),
    };
    let pause = object.seconds("interval").unwrap_or(PAUSE).clamp(*PAUSES.start(), *PAUSES.end());
    Ok((SecretString::from(code), shown, Duration::from_secs(pause)))
}

/// Nothing that could act on a terminal or be taken for a sentence.
fn is_typable(code: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | ' ');
    code.len() <= CODE_LENGTH && code.chars().all(is_part) && !code.trim().is_empty()
}

#[cfg(test)]
#[path = "device_tests.rs"]
mod tests;
