//! The admin API: `/api/v1/…`, JSON in and out, every route one verb.

mod edits;
mod openapi;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use helve_model::json::RawJson;
use helve_store::{Approval, Change, Decided, Ended, Moment, Search, Token, TokenKind};
use http::{Method, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::answer::{self, Body};
use crate::error::{ConflictingTexts, Details, HubError};
use crate::hub::Hub;
use crate::tokens::TokenRequest;
use crate::verbs::always::AlwaysRequest;
use crate::verbs::approvals::{ApprovalInfo, DefinitionStand};
use crate::verbs::servers::{ServerInfo, Switch};
use crate::verbs::{always, approvals, audit, calls, changes, rules, servers, status, tokens, tools};

pub use openapi::openapi;

/// How far a search goes back where nobody says so.
const WINDOW: Duration = Duration::from_secs(24 * 3600);

/// So many rows where nobody says so.
const ROWS: usize = 100;

/// A request to the API, once it is known who sends it.
pub(crate) struct Call<'a> {
    pub(crate) method: &'a Method,
    /// Behind `/api/v1`.
    pub(crate) path: &'a [String],
    pub(crate) query: &'a [(String, String)],
    pub(crate) body: Bytes,
}

pub(crate) async fn answer(hub: &Arc<Hub>, actor: Actor, call: Call<'_>) -> Response<Body> {
    match dispatch(hub, actor, call).await {
        Ok(response) => response,
        Err(error) => refused(&error),
    }
}

pub(crate) fn refused(error: &HubError) -> Response<Body> {
    let mut said = json!({ "code": error.code(), "message": error.message(), "hints": error.hints() });
    match error.details() {
        Details::None => {}
        Details::Problems(problems) => {
            said["problems"] = problems.iter().map(edits::problem_json).collect();
        }
        Details::Conflict(texts) => {
            let ConflictingTexts { file, version, theirs, mine } = texts.as_ref();
            said["conflict"] = json!({ "file": file, "version": version, "theirs": theirs, "mine": mine });
        }
    }
    answer::json(error.status(), json!({ "error": said }).to_string())
}

async fn dispatch(hub: &Arc<Hub>, actor: Actor, call: Call<'_>) -> Result<Response<Body>, HubError> {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let ok = |value: Value| Ok(answer::json(StatusCode::OK, value.to_string()));
    let done = || Ok(answer::json(StatusCode::OK, json!({ "done": true }).to_string()));
    if let Some(answered) = edits::dispatch(hub, &actor, &call, &path).await {
        return answered;
    }
    match (call.method.as_str(), path.as_slice()) {
        ("GET", ["openapi.json"]) => ok(openapi()),
        ("GET", ["status"]) => {
            let status = hub.read(move |hub| status::status(hub, &actor)).await?;
            ok(status_json(&status))
        }
        ("GET", ["servers"]) => {
            let list = hub.read(move |hub| Ok(servers::list(hub, &actor))).await?;
            ok(json!({ "servers": list.iter().map(server_json).collect::<Vec<_>>() }))
        }
        ("GET", ["servers", name]) => {
            let name = (*name).to_owned();
            let info = hub.read(move |hub| servers::get(hub, &actor, &name)).await?;
            ok(server_json(&info))
        }
        ("DELETE", ["servers", name]) => switch(hub, actor, name, Switch::Remove, &call).await.and_then(|()| done()),
        ("POST", ["servers", name, "enable"]) => {
            switch(hub, actor, name, Switch::On, &call).await.and_then(|()| done())
        }
        ("POST", ["servers", name, "disable"]) => {
            switch(hub, actor, name, Switch::Off, &call).await.and_then(|()| done())
        }
        ("POST", ["servers", name, "restart"]) => {
            servers::restart(hub, &actor, name).await?;
            done()
        }
        ("GET", ["servers", name, "tools"]) => {
            let name = hub.server_name(name)?;
            ok(tools_json(hub, name.as_str()))
        }
        ("GET", ["servers", name, "log"]) => {
            let name = (*name).to_owned();
            let info = hub.read(move |hub| servers::get(hub, &actor, &name)).await?;
            ok(json!({ "stderr": info.report.stderr }))
        }
        ("POST", ["tools", server, tool, "call"]) => {
            let arguments = edits::arguments(&call.body)?;
            let outcome = tools::call(hub, &actor, &format!("{server}/{tool}"), arguments).await?;
            let mut response = answer::json(StatusCode::OK, outcome.outcome.raw().as_str().to_owned());
            if outcome.outcome.is_error() {
                *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            }
            Ok(response)
        }
        ("GET", ["approvals"]) => {
            let list = hub.read(move |hub| approvals::list(hub, &actor)).await?;
            ok(json!({
                "waiting": list.waiting.iter().map(approval_info_json).collect::<Vec<_>>(),
                "settled": list.settled.iter().map(approval_json).collect::<Vec<_>>(),
            }))
        }
        ("GET", ["approvals", id]) => {
            let id = (*id).to_owned();
            let info = hub.read(move |hub| approvals::one(hub, &actor, &id)).await?;
            ok(approval_info_json(&info))
        }
        ("POST", ["approvals", id, "allow"]) => {
            let id = (*id).to_owned();
            let decided = hub.read(move |hub| approvals::allow(hub, &actor, &id)).await?;
            ok(approval_json(&decided))
        }
        ("POST", ["approvals", id, "deny"]) => {
            let id = (*id).to_owned();
            let said: Deny = if call.body.is_empty() { Deny::default() } else { read(&call.body)? };
            let decided = hub.read(move |hub| approvals::deny(hub, &actor, &id, said.reason.as_deref())).await?;
            ok(approval_json(&decided))
        }
        ("GET", ["approvals", id, "always"]) => {
            let (id, request) = ((*id).to_owned(), edits::always_request(call.query));
            let draft = hub.read(move |hub| always::foresee(hub, &actor, &id, &request)).await?;
            ok(edits::always_json(&draft))
        }
        ("POST", ["approvals", id, "always"]) => {
            let (id, request): (_, AlwaysRequest) = ((*id).to_owned(), read(&call.body)?);
            let made = hub.read(move |hub| always::make(hub, &actor, &id, &request)).await?;
            ok(json!({
                "done": true, "change": made.change, "rule": made.rule,
                "call": made.call.as_ref().map(approval_json).ok(),
                "too_late": made.call.as_ref().err().map(HubError::message),
            }))
        }
        ("GET", ["calls"]) => {
            let search = search_of(hub.now(), call.query)?;
            let found = hub.read(move |hub| calls::search(hub, &actor, &search)).await?;
            let rows = RawJson::array(found.calls.iter().map(helve_store::Call::to_json));
            let next = found.next.map_or_else(|| "null".to_owned(), |next| next.to_string());
            let body = helve_model::json::ObjectWriter::new().raw("calls", rows.as_str()).raw("next", next).finish();
            Ok(answer::json(StatusCode::OK, body.as_str().to_owned()))
        }
        ("GET", ["calls", seq]) => {
            let seq = number(seq)?;
            let one = hub.read(move |hub| calls::one(hub, &actor, seq)).await?;
            Ok(answer::json(StatusCode::OK, one.to_json().as_str().to_owned()))
        }
        ("GET", ["audit"]) => {
            let report = hub.read(move |hub| audit::verify(hub, &actor)).await?;
            ok(json!({
                "batches": report.batches, "calls": report.calls, "head": report.head, "broken": report.broken,
            }))
        }
        ("GET", ["audit", "export"]) => {
            let lines = hub.read(move |hub| {
                let mut lines = Vec::new();
                audit::export(hub, &actor, &mut lines).map(|_| lines)
            });
            Ok(answer::of(StatusCode::OK, "application/x-ndjson", lines.await?))
        }
        ("POST", ["explain"]) => {
            let asked: Explain = read(&call.body)?;
            let arguments = asked.arguments.unwrap_or_else(|| json!({})).to_string();
            let arguments = RawJson::checked(arguments).map_err(|error| HubError::invalid(error.to_string()))?;
            let whose = rules::principal(asked.whose.as_deref().unwrap_or_default())?;
            let explanation = rules::explain(hub, &actor, &asked.tool, &arguments, &whose)?;
            ok(json!({
                "tool": explanation.name.to_string(),
                "action": explanation.action.to_string(),
                "risk": explanation.ground.risk.to_string(),
                "because": explanation.ground.decider.to_string(),
                "steps": explanation.steps.iter().map(|step| json!({
                    "what": step.what, "origin": step.origin.as_ref().map(ToString::to_string),
                    "finding": format!("{:?}", step.finding),
                })).collect::<Vec<_>>(),
            }))
        }
        ("GET", ["tokens"]) => {
            let list = hub.read(move |hub| tokens::list(hub, &actor)).await?;
            ok(json!({ "tokens": list.iter().map(token_json).collect::<Vec<_>>() }))
        }
        ("POST", ["tokens"]) => {
            let asked: NewToken = read(&call.body)?;
            let request = asked.request()?;
            let made = hub.read(move |hub| tokens::make(hub, &actor, request)).await?;
            ok(json!({ "name": made.name, "token": made.token, "expires_us": made.expires.map(Moment::micros) }))
        }
        ("DELETE", ["tokens", name]) => {
            let name = (*name).to_owned();
            hub.read(move |hub| tokens::revoke(hub, &actor, &name)).await?;
            done()
        }
        ("GET", ["changes"]) => {
            let before =
                call.query.iter().find(|(key, _)| key == "before").map(|(_, value)| number(value)).transpose()?;
            let list = hub.read(move |hub| changes::list(hub, &actor, before, ROWS)).await?;
            ok(json!({ "changes": list.iter().map(change_json).collect::<Vec<_>>() }))
        }
        ("GET", ["changes", seq]) => {
            let seq = number(seq)?;
            let one = hub.read(move |hub| changes::one(hub, &actor, seq)).await?;
            ok(change_json(&one))
        }
        _ => Err(HubError::not_found("there is no such route")),
    }
}

async fn switch(hub: &Arc<Hub>, actor: Actor, name: &str, to: Switch, call: &Call<'_>) -> Result<(), HubError> {
    let version = call.query.iter().find(|(key, _)| key == "version").map(|(_, version)| version.clone());
    let name = name.to_owned();
    hub.read(move |hub| servers::switch(hub, &actor, &name, to, version.as_deref())).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Explain {
    tool: String,
    arguments: Option<Value>,
    #[serde(rename = "as")]
    whose: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deny {
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewToken {
    name: String,
    kind: TokenKind,
    #[serde(default)]
    approver: bool,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    servers: Vec<String>,
    #[serde(default)]
    tools: Vec<String>,
    days: Option<u32>,
}

impl NewToken {
    fn request(self) -> Result<TokenRequest, HubError> {
        Ok(TokenRequest {
            name: self.name,
            kind: self.kind,
            approver: self.approver,
            read_only: self.read_only,
            servers: self.servers,
            tools: self.tools,
            life: self.days.map(|days| Duration::from_secs(u64::from(days) * 24 * 3600)),
        })
    }
}

fn read<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, HubError> {
    serde_json::from_slice(body).map_err(|error| HubError::invalid(format!("the body cannot be read: {error}")))
}

fn number(text: &str) -> Result<i64, HubError> {
    text.parse().map_err(|_| HubError::invalid(format!("{text:?} is not a number")))
}

/// What an address asks for. Every search has a window of time.
pub(crate) fn search_of(now: Moment, query: &[(String, String)]) -> Result<Search, HubError> {
    let mut search = Search { from: now.before(WINDOW), until: now.after(WINDOW), limit: ROWS, ..Search::default() };
    for (key, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
        let text = || Some(value.clone());
        let moment = || number(value).map(Moment::from_micros);
        match key.as_str() {
            "from" => search.from = moment()?,
            "until" => search.until = moment()?,
            "window" => search.from = now.before(window(value)?),
            "before" => search.before = Some(number(value)?),
            "who" => {
                search.principal =
                    Some(if value == "local" || value.contains(':') { value.clone() } else { format!("token:{value}") })
            }
            "agent" => search.agent = text(),
            "server" => search.server = text(),
            "tool" => search.tool = text(),
            "decision" => search.decision = Some(Decided::from_word(value).ok_or_else(|| unknown(value))?),
            "end" => search.ended = Some(Ended::from_word(value).ok_or_else(|| unknown(value))?),
            "limit" => search.limit = usize::try_from(number(value)?).unwrap_or(ROWS),
            // What a page's address says besides.
            "live" | "q" => {}
            other => return Err(HubError::invalid(format!("{other:?} is not a filter"))),
        }
    }
    if let (Some(tool), Some(server)) = (&search.tool, &search.server)
        && !tool.contains('/')
    {
        search.tool = Some(format!("{server}/{tool}"));
    }
    if let Some((server, _)) = search.tool.as_ref().and_then(|tool| tool.split_once('/')) {
        search.server.get_or_insert_with(|| server.to_owned());
    }
    Ok(search)
}

fn unknown(value: &str) -> HubError {
    HubError::invalid(format!("{value:?} is not one of its values"))
}

/// A window as an address names it.
pub(crate) fn window(word: &str) -> Result<Duration, HubError> {
    Ok(Duration::from_secs(match word {
        "hour" => 3600,
        "day" => 24 * 3600,
        "week" => 7 * 24 * 3600,
        "month" => 30 * 24 * 3600,
        other => return Err(unknown(other)),
    }))
}

fn server_json(info: &ServerInfo) -> Value {
    let report = &info.report;
    json!({
        "name": report.name.as_str(),
        "status": report.status.word(),
        "reason": info.reason(),
        "transport": report.transport,
        "era": report.era,
        "protocol_version": report.protocol_version,
        "tools": report.tools,
        "hidden_tools": report.hidden_tools,
        "definition_tokens": info.tokens,
        "restarts": report.restarts,
        "last_error": report.last_error,
        "sandbox": info.sandbox,
        "origin": info.origin,
        "locked": info.locked,
    })
}

fn tools_json(hub: &Hub, server: &str) -> Value {
    let snapshot = hub.host().snapshot();
    let tools = snapshot.server(server).map(|entry| {
        let tool = |tool: &Arc<helve::ToolEntry>| {
            json!({
                "name": tool.name().tool.as_str(),
                "description": tool.view().description,
                "risk": tool.policy().risk().to_string(),
                "hidden": tool.is_hidden(),
                "input_schema": serde_json::from_str::<Value>(tool.input_schema()).unwrap_or(Value::Null),
            })
        };
        entry.all_tools().map(tool).collect::<Vec<_>>()
    });
    json!({ "tools": tools.unwrap_or_default() })
}

fn approval_json(approval: &Approval) -> Value {
    let asked = &approval.asked;
    json!({
        "id": approval.id, "state": approval.state.word(), "principal": asked.principal, "agent": asked.agent,
        "server": asked.server, "tool": asked.tool, "kind": asked.kind, "risk": asked.risk, "rule": asked.rule,
        "place": asked.place, "by": if asked.needs_page { "page" } else { "anyone" }, "definition": asked.definition,
        "asked_us": asked.asked.micros(), "ends_us": asked.ends.micros(), "decider": approval.decider,
        "decided_us": approval.decided.map(Moment::micros), "reason": approval.reason,
    })
}

fn approval_info_json(info: &ApprovalInfo) -> Value {
    let mut shown = approval_json(&info.approval);
    if let Some(object) = shown.as_object_mut() {
        let arguments = info.arguments.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
        object.insert("arguments".to_owned(), arguments.unwrap_or(Value::Null));
        object.insert("callers".to_owned(), json!(info.callers));
        let changed = matches!(info.definition, DefinitionStand::Changed | DefinitionStand::Outdated);
        object.insert("definition_changed".to_owned(), json!(changed));
        object.insert("before".to_owned(), info.before.iter().map(approval_json).collect());
    }
    shown
}

fn token_json(token: &Token) -> Value {
    let kept = &token.token;
    json!({
        "id": kept.id, "name": kept.name, "kind": kept.kind, "approver": kept.approver, "read_only": kept.read_only,
        "servers": kept.servers, "tools": kept.tools, "created_us": kept.created.micros(),
        "expires_us": kept.expires.map(Moment::micros), "used_us": token.used.map(Moment::micros),
        "revoked_us": token.revoked.map(Moment::micros),
    })
}

fn change_json(change: &Change) -> Value {
    let noted = &change.change;
    json!({
        "seq": change.seq, "at_us": noted.at.micros(), "actor": noted.actor, "verb": noted.verb, "object": noted.object,
        "file": noted.file, "before": noted.before, "after": noted.after, "diff": noted.diff, "undoes": noted.undoes,
        "undone_by": change.undone_by,
    })
}

/// How the hub is doing, as JSON.
pub(crate) fn status_json(status: &status::HubStatus) -> Value {
    json!({
        "address": status.address,
        "version": status.version,
        "started_us": status.started.micros(),
        "servers": { "connected": status.servers.0, "all": status.servers.1 },
        "agents": status.agents,
        "sessions": status.sessions,
        "store": {
            "file": status.sizes.file.display().to_string(),
            "bytes": status.sizes.bytes,
            "calls": status.sizes.calls,
            "oldest_us": status.sizes.oldest.map(Moment::micros),
            "waiting": status.health.waiting,
            "recorded": status.health.written,
            "lost": status.health.lost,
            "trouble": status.health.trouble,
            "in_place": status.health.is_in_place,
        },
    })
}
