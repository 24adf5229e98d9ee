//! Owns the codes that people type elsewhere (RFC 8628): giving them, the page they are typed on, and what whoever asks is told
//! meanwhile.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Shared;
use super::grants::client_of;
use super::plumbing::{Answer, Asked};
use super::state::{Device, Grant, State};
use super::switches::DeviceKind;

/// How the grant is called.
pub(crate) const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// By how much longer to wait after a `slow_down`.
const LONGER: Duration = Duration::from_secs(5);

/// Gives a code.
pub(crate) fn begin(shared: &Shared, asked: &Asked) -> Answer {
    let base = shared.base();
    let mut state = shared.state();
    if state.switches.device == DeviceKind::Absent {
        return Answer::text(404, "text/html", "<h1>Not Found</h1>");
    }
    let client = match client_of(&state, asked) {
        Ok(client) => client,
        Err(refusal) => return refusal,
    };
    let is_registered_for = |grant: &str| match state.clients.get(&client) {
        Some(known) => known.grants.iter().any(|known| known == grant),
        None => true,
    };
    if !is_registered_for(GRANT) {
        return Answer::refusal(400, "unauthorized_client", "the client was not registered for this grant");
    }
    let number = state.next();
    let (code, typed) = (format!("device-code-{number}-0123456789abcdef"), format!("WDJB-{number:04}"));
    let interval = state.switches.device_interval;
    let pause = Duration::from_secs(interval);
    let device = Device {
        client,
        typed: typed.clone(),
        resource: asked.parameters.get("resource").cloned(),
        scope: asked.parameters.get("scope").cloned(),
        is_approved: false,
        not_before: Instant::now() + pause,
        pause,
        questions: 0,
    };
    state.devices.insert(code.clone(), device);
    Answer::json(
        200,
        &json!({
            "device_code": code,
            "user_code": typed,
            "verification_uri": format!("{base}/device"),
            "verification_uri_complete": format!("{base}/device?user_code={typed}"),
            "expires_in": 600,
            "interval": interval,
        }),
    )
}

/// The page: whoever comes with a code in the address says yes.
pub(crate) fn typed(shared: &Shared, asked: &Asked) -> Answer {
    let mut state = shared.state();
    let typed = asked.parameters.get("user_code");
    match state.devices.values_mut().find(|device| Some(&device.typed) == typed) {
        Some(device) => {
            device.is_approved = true;
            Answer::text(200, "text/html", "<h1>Thank you</h1>")
        }
        None => Answer::text(404, "text/html", "<h1>No such code</h1>"),
    }
}

/// What whoever asks about a code is told.
pub(crate) fn granted(state: &mut State, asked: &Asked) -> Result<(Grant, bool), Answer> {
    let client = client_of(state, asked)?;
    let kind = state.switches.device;
    let refuse = |code: &str| Err(Answer::refusal(400, code, "not yet, or not any more"));
    let code = asked.parameters.get("device_code").cloned().unwrap_or_default();
    let Some(device) = state.devices.get_mut(&code).filter(|device| device.client == client) else {
        return refuse("invalid_grant");
    };
    if device.resource.as_ref() != asked.parameters.get("resource") {
        return Err(Answer::refusal(400, "invalid_target", "another resource than the one the code is for"));
    }
    let is_hasty = Instant::now() < device.not_before;
    device.questions += 1;
    if is_hasty || (kind == DeviceKind::SlowDown && device.questions == 1) {
        device.pause += LONGER;
    }
    let is_first_slowed = kind == DeviceKind::SlowDown && device.questions == 1;
    device.not_before = Instant::now() + device.pause;
    let is_approved = device.is_approved;
    if is_hasty {
        state.hasty += 1;
        return refuse("slow_down");
    }
    match kind {
        _ if is_first_slowed => refuse("slow_down"),
        DeviceKind::Denied => refuse("access_denied"),
        DeviceKind::Expired => refuse("expired_token"),
        _ if !is_approved => refuse("authorization_pending"),
        _ => {
            let Some(device) = state.devices.remove(&code) else { return refuse("invalid_grant") };
            let login = state.next();
            Ok((Grant { login, client, resource: device.resource, scope: device.scope }, true))
        }
    }
}
