//! Owns the endpoints: registering, authorizing (whoever comes says yes), tokens, giving them back.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::plumbing::{Answer, Asked, decoded, encoded};
use super::state::{Client, Code, Grant, State};
use super::switches::{IssuerInRedirect, RegistrationKind, TokenShape};
use super::{Shared, device};

pub(crate) fn register(shared: &Shared, asked: &Asked) -> Answer {
    let mut state = shared.state();
    let Ok(wish) = serde_json::from_slice::<Value>(&asked.body) else {
        return Answer::refusal(400, "invalid_client_metadata", "not JSON");
    };
    let kind = state.switches.registration.clone();
    match &kind {
        RegistrationKind::Absent => return Answer::text(404, "text/html", "<h1>Not Found</h1>"),
        RegistrationKind::OnlyNamed(name) if wish["client_name"] != json!(name) => {
            return Answer::text(403, "text/plain", "This client is not on our list");
        }
        _ => {}
    }
    let redirects: Vec<String> = wish["redirect_uris"]
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    if let Some(prefix) = &state.switches.redirect_prefix
        && !redirects.iter().all(|redirect| redirect.starts_with(prefix))
    {
        return Answer::refusal(400, "invalid_redirect_uri", "this redirect address is not allowed");
    }
    let number = state.next();
    let id = format!("client-{number}");
    let secret = match kind {
        RegistrationKind::WithSecret | RegistrationKind::SecretButNone => Some(format!("client-secret-{number}")),
        _ => None,
    };
    let mut answer = json!({"client_id": id, "redirect_uris": redirects, "client_name": wish["client_name"]});
    if let Some(secret) = &secret {
        answer["client_secret"] = json!(secret);
    }
    match kind {
        RegistrationKind::SecretButNone => answer["token_endpoint_auth_method"] = json!("none"),
        RegistrationKind::WithSecret => {}
        _ => answer["token_endpoint_auth_method"] = json!("none"),
    }
    let grants = wish["grant_types"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let grants = grants.map(str::to_owned).collect();
    state.clients.insert(id, Client { secret, redirects, grants });
    Answer::json(201, &answer)
}

pub(crate) fn authorize(shared: &Shared, asked: &Asked) -> Answer {
    let mut state = shared.state();
    let get = |name: &str| asked.parameters.get(name).cloned();
    let (Some(client), Some(redirect), Some(given)) = (get("client_id"), get("redirect_uri"), get("state")) else {
        return Answer::text(400, "text/html", "<h1>Something is missing</h1>");
    };
    let known = state.clients.get(&client);
    let is_document = state.switches.documents && client.starts_with("https://");
    let is_configured = client.starts_with("configured");
    let is_allowed = known.is_some_and(|known| known.redirects.contains(&redirect));
    // A client that is not known is not sent back: the page shows an error, and nobody returns (Q9).
    if !is_allowed && !is_document && !is_configured {
        return Answer::text(400, "text/html", "<h1>Unknown client</h1>");
    }
    if !redirect.starts_with("http://127.0.0.1:") && !redirect.starts_with("http://localhost:") {
        return Answer::text(400, "text/html", "<h1>Unknown redirect address</h1>");
    }
    let back = |members: &[(&str, &str)]| {
        let mut query: Vec<String> = members.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        query.push(format!("state={}", encoded(&given)));
        let issuer = match &state.switches.issuer_in_redirect {
            IssuerInRedirect::Right => Some(state.switches.issuer.clone().unwrap_or_else(|| shared.base())),
            IssuerInRedirect::Missing => None,
            IssuerInRedirect::Other(issuer) => Some(issuer.clone()),
        };
        query.extend(issuer.map(|issuer| format!("iss={}", encoded(&issuer))));
        Answer::to(&format!("{redirect}?{}", query.join("&")))
    };
    if state.switches.refuses_scopes && get("scope").is_some() {
        return back(&[("error", "invalid_scope"), ("error_description", "no such scope")]);
    }
    if state.switches.refuses_resource && get("resource").is_some() {
        return Answer::text(400, "text/html", "<h1>AADSTS9010010</h1>");
    }
    let (Some(challenge), Some("S256")) = (get("code_challenge"), get("code_challenge_method").as_deref()) else {
        return back(&[("error", "invalid_request"), ("error_description", "PKCE is required")]);
    };
    let code = format!("code-{}", challenge.get(..16).unwrap_or(&challenge));
    let answer = back(&[("code", &code)]);
    let (resource, scope) = (get("resource"), get("scope"));
    state.codes.insert(code, Code { client, redirect, challenge, resource, scope });
    answer
}

/// `None`: the connection is closed without an answer.
pub(crate) fn token(shared: &Shared, asked: &Asked) -> Option<Answer> {
    let mut state = shared.state();
    let shape = state.switches.token_shape;
    match shape {
        TokenShape::Html => return Some(Answer::text(200, "text/html", "<!doctype html><h1>Sign in</h1>")),
        TokenShape::Huge => return Some(Answer::text(200, "application/json", &"x".repeat(10 << 20))),
        TokenShape::Broken => return Some(Answer::text(500, "text/plain", "oops")),
        TokenShape::OkFalse => return Some(Answer::json(200, &json!({"ok": false, "error": "invalid_code"}))),
        TokenShape::EmptyToken => return Some(Answer::json(200, &json!({"access_token": "", "token_type": "Bearer"}))),
        TokenShape::WrongTypes => return Some(Answer::json(200, &json!({"access_token": 7, "expires_in": [1]}))),
        TokenShape::Standard | TokenShape::Nested | TokenShape::TextNumbers | TokenShape::Lost => {}
    }
    let grant = match asked.parameters.get("grant_type").map(String::as_str) {
        Some("authorization_code") => by_code(&mut state, asked),
        Some("refresh_token") => by_refresh(&mut state, asked),
        Some("client_credentials") => by_itself(&mut state, asked),
        Some(device::GRANT) => device::granted(&mut state, asked),
        _ => Err(Answer::refusal(400, "unsupported_grant_type", "not here")),
    };
    match grant {
        Err(refusal) => Some(refusal),
        Ok((grant, may_refresh)) => {
            let answer = given(&mut state, grant, may_refresh);
            (shape != TokenShape::Lost).then_some(answer)
        }
    }
}

pub(crate) fn revoke(shared: &Shared, asked: &Asked) -> Answer {
    let mut state = shared.state();
    let token = asked.parameters.get("token").cloned().unwrap_or_default();
    let login = state.refresh.get(&token).or_else(|| state.access.get(&token)).map(|grant| grant.login);
    if let Some(login) = login {
        state.revoke(login);
    }
    Answer::json(200, &json!({}))
}

/// The asking client, and that it may.
pub(crate) fn client_of(state: &State, asked: &Asked) -> Result<String, Answer> {
    let unknown = || {
        let status = if state.switches.unknown_client == "invalid_client" { 401 } else { 400 };
        Err(Answer::refusal(status, state.switches.unknown_client, "no such client"))
    };
    let basic = asked.authorization.as_deref().and_then(|header| header.strip_prefix("Basic "));
    let basic =
        basic.and_then(|text| BASE64_STANDARD.decode(text).ok()).and_then(|bytes| String::from_utf8(bytes).ok());
    let by_header =
        basic.as_deref().and_then(|pair| pair.split_once(':')).map(|(id, secret)| (decoded(id), decoded(secret)));
    let (id, secret) = match by_header {
        Some((id, secret)) => (id, Some(secret)),
        None => match asked.parameters.get("client_id") {
            Some(id) => (id.clone(), asked.parameters.get("client_secret").cloned()),
            None => return unknown(),
        },
    };
    if id.starts_with("configured") || (state.switches.documents && id.starts_with("https://")) {
        return Ok(id);
    }
    match state.clients.get(&id) {
        Some(known) if known.secret.is_none() || known.secret == secret => Ok(id),
        Some(_) => Err(Answer::refusal(401, "invalid_client", "the secret is missing or wrong")),
        None => unknown(),
    }
}

fn by_code(state: &mut State, asked: &Asked) -> Result<(Grant, bool), Answer> {
    let client = client_of(state, asked)?;
    let refuse = |words: &str| Err(Answer::refusal(400, "invalid_grant", words));
    let get = |name: &str| asked.parameters.get(name);
    let Some(code) = get("code").and_then(|code| state.codes.remove(code)) else {
        return refuse("no such code");
    };
    if code.client != client || Some(&code.redirect) != get("redirect_uri") {
        return refuse("the code belongs to another client or redirect address");
    }
    let verifier = get("code_verifier").map(|verifier| Sha256::digest(verifier.as_bytes()));
    if verifier.map(|hash| BASE64_URL_SAFE_NO_PAD.encode(hash)) != Some(code.challenge) {
        return refuse("the verifier does not match");
    }
    if code.resource.as_ref() != get("resource") {
        return Err(Answer::refusal(400, "invalid_target", "another resource than the one authorized"));
    }
    let login = state.next();
    Ok((Grant { login, client, resource: code.resource, scope: code.scope }, true))
}

fn by_refresh(state: &mut State, asked: &Asked) -> Result<(Grant, bool), Answer> {
    let client = client_of(state, asked)?;
    let dead = Answer::refusal(400, state.switches.dead_refresh, "the refresh token is not good");
    let Some(token) = asked.parameters.get("refresh_token") else { return Err(dead) };
    if let Some(login) = state.used.get(token).copied() {
        state.reuses += 1;
        state.revoke(login);
        return Err(dead);
    }
    let Some(grant) = state.refresh.get(token).cloned() else { return Err(dead) };
    if grant.client != client {
        return Err(dead);
    }
    // Q23.
    if grant.resource.as_ref() != asked.parameters.get("resource") {
        return Err(Answer::refusal(400, "invalid_target", "another resource than the one authorized"));
    }
    if state.switches.rotation {
        state.refresh.remove(token);
        state.used.insert(token.clone(), grant.login);
    }
    state.refreshes += 1;
    state.access.retain(|_, other| other.login != grant.login);
    Ok((grant, state.switches.rotation))
}

fn by_itself(state: &mut State, asked: &Asked) -> Result<(Grant, bool), Answer> {
    let client = client_of(state, asked)?;
    let login = state.next();
    let (resource, scope) = (asked.parameters.get("resource").cloned(), asked.parameters.get("scope").cloned());
    Ok((Grant { login, client, resource, scope }, false))
}

fn given(state: &mut State, grant: Grant, may_refresh: bool) -> Answer {
    let number = state.next();
    let access = format!("access-token-{number}-0123456789abcdef");
    state.access.insert(access.clone(), grant.clone());
    let mut answer = json!({"access_token": access, "token_type": "Bearer"});
    if let Some(lifetime) = state.switches.lifetime {
        answer["expires_in"] = json!(lifetime);
    }
    if let Some(scope) = &grant.scope {
        answer["scope"] = json!(scope);
    }
    if may_refresh && state.switches.refresh_tokens {
        let refresh = format!("refresh-token-{number}-0123456789abcdef");
        answer["refresh_token"] = json!(refresh);
        state.refresh.insert(refresh, grant);
    }
    match state.switches.token_shape {
        TokenShape::Nested => {
            answer["token_type"] = json!("user");
            answer = json!({"ok": true, "app_id": "A1", "authed_user": answer});
        }
        TokenShape::TextNumbers => {
            answer["expires_in"] = json!(state.switches.lifetime.unwrap_or_default().to_string());
            answer["scope"] = Value::Null;
            answer["id_token"] = Value::Null;
        }
        _ => {}
    }
    Answer::json(200, &answer)
}
