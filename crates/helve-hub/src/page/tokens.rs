//! The tokens.

use std::time::Duration;

use helve_page::view::{Choice, ConnectLine, DeviceRow, MadeToken, TokenForm, TokenKind, TokenRow, Tokens};
use helve_store::{Moment, Token, TokenKind as Kind};

use super::shown::moment;
use super::{Fields, field};
use crate::actor::Actor;
use crate::connect_lines::connect_lines;
use crate::error::HubError;
use crate::hub::Hub;
use crate::tokens::TokenRequest;
use crate::verbs::tokens;

const DAY: u64 = 24 * 3600;

/// So many that ended are shown.
const ENDED: usize = 100;

/// So many devices are shown.
const DEVICES: usize = 100;

pub(super) fn view(hub: &Hub, made: Option<MadeToken>, form: Option<TokenForm>) -> Result<Tokens, HubError> {
    let now = hub.now();
    let all = tokens::list(hub, &Actor::Session)?;
    let (active, ended): (Vec<TokenRow>, Vec<TokenRow>) =
        all.iter().map(|token| row(token, now)).partition(|row| row.ended.is_empty());
    let form = form.unwrap_or_else(|| TokenForm { days: days("90"), ..TokenForm::default() });
    let devices = hub.devices.all(&hub.store)?.into_iter().filter_map(|device| {
        let token = all.iter().find(|token| token.token.id == device.token)?;
        let counts = token.revoked.is_none() && token.token.expires.is_none_or(|expires| now < expires);
        let (name, token) = (device.name, token.token.name.clone());
        Some(DeviceRow { name, token, counts, seen: moment(device.last, now) })
    });
    let devices = devices.take(DEVICES).collect();
    Ok(Tokens { made, active, ended: ended.into_iter().take(ENDED).collect(), devices, form })
}

pub(super) fn make(hub: &Hub, actor: &Actor, fields: &Fields) -> Result<Tokens, HubError> {
    let lines = |key: &str| {
        let patterns = field(fields, key).lines().map(str::trim).filter(|line| !line.is_empty());
        patterns.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let kind = if field(fields, "kind") == "admin" { Kind::Admin } else { Kind::Agent };
    let request = TokenRequest {
        name: field(fields, "name").to_owned(),
        kind,
        approver: !field(fields, "approver").is_empty(),
        read_only: !field(fields, "read_only").is_empty(),
        servers: lines("servers"),
        tools: lines("tools"),
        life: field(fields, "days").parse().ok().map(|days: u64| Duration::from_secs(days * DAY)),
    };
    match tokens::make(hub, actor, request) {
        Ok(made) => {
            let lines =
                if kind == Kind::Agent { connect_lines(&hub.options.address, Some(&made.token)) } else { Vec::new() };
            let connect = lines.into_iter().map(|line| ConnectLine {
                application: line.application.to_owned(),
                line: line.line,
                place: line.place.to_owned(),
            });
            let made = MadeToken { name: made.name, token: made.token, kind: shown(kind), connect: connect.collect() };
            view(hub, Some(made), None)
        }
        Err(error) => {
            let form = TokenForm {
                name: field(fields, "name").to_owned(),
                kind: shown(kind),
                servers: field(fields, "servers").to_owned(),
                tools: field(fields, "tools").to_owned(),
                read_only: !field(fields, "read_only").is_empty(),
                approver: !field(fields, "approver").is_empty(),
                days: days(field(fields, "days")),
                problem: Some(error.message().to_owned()),
            };
            view(hub, None, Some(form))
        }
    }
}

/// Revokes a token by its id; gives its name.
pub(super) fn revoke(hub: &Hub, actor: &Actor, id: &str) -> Result<String, HubError> {
    let all = tokens::list(hub, actor)?;
    let found = all.iter().find(|token| token.token.id == id);
    let name =
        found.map(|token| token.token.name.clone()).ok_or_else(|| HubError::not_found("There is no such token."))?;
    tokens::revoke(hub, actor, &name)?;
    Ok(name)
}

const fn shown(kind: Kind) -> TokenKind {
    match kind {
        Kind::Agent => TokenKind::Agent,
        Kind::Admin => TokenKind::Admin,
    }
}

fn days(chosen: &str) -> Vec<Choice> {
    let choice = |(value, label): (&str, &str)| Choice {
        value: value.to_owned(),
        label: label.to_owned(),
        help: None,
        is_chosen: value == chosen,
    };
    [("1", "1 day"), ("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "1 year")].map(choice).into()
}

fn row(token: &Token, now: Moment) -> TokenRow {
    let kept = &token.token;
    let mut scope = kept.servers.iter().chain(&kept.tools).cloned().collect::<Vec<_>>().join(", ");
    if scope.is_empty() {
        scope.push_str("everything");
    }
    if kept.read_only {
        scope.push_str("; read only");
    }
    let expired = kept.expires.filter(|expires| *expires <= now);
    let (ends, ended) = match (token.revoked, expired) {
        (Some(revoked), _) => (Some(revoked), "revoked"),
        (None, Some(expired)) => (Some(expired), "expired"),
        (None, None) => (kept.expires, ""),
    };
    TokenRow {
        id: kept.id.clone(),
        name: kept.name.clone(),
        kind: shown(kept.kind),
        scope,
        is_approver: kept.approver,
        used: token.used.map(|used| moment(used, now)),
        ends: ends.map(|ends| moment(ends, now)).unwrap_or_default(),
        ended: ended.to_owned(),
        agents: 0,
    }
}
