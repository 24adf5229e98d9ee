//! Owns asking the client: as requests of the peer in the legacy era, as `input_required` rounds in the modern one.
//!
//! In the modern era the peer is stateless between rounds, so what it needs to know stands in `requestState`, which is
//! spelled in a way that only a faithful client brings back unchanged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::call::{Call, ResultKind};
use crate::recorder::RecordedEvent;

/// Escapes that a re-encoding client would spell otherwise, a control character, and characters outside ASCII.
const ODD_SPELLING: &str = r#"\u0041\/\u00e9é\u0000\t \"\\\ud83d\ude00😀\u2028"#;

/// What to ask, from the arguments of the tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
struct Question {
    kind: Kind,
    /// How often to ask before answering.
    rounds: u64,
    message: String,
    /// Modern: send no `requestState` (the round is then told by the keys of the answers).
    no_state: bool,
    /// Modern: send only a `requestState`, without questions.
    state_only: bool,
    /// What takes the place of a question's own parameters, member by member.
    params: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Form,
    Url,
    /// The first call is refused with an error that names a page; later ones are answered.
    UrlError,
    Sampling,
    Roots,
    /// A form and a sampling request in one round.
    Mixed,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            kind: Kind::Form,
            rounds: 1,
            message: "Who are you?".to_string(),
            no_state: false,
            state_only: false,
            params: Map::new(),
        }
    }
}

/// Asks as `arguments` say and hands all answers to `done`.
pub(crate) fn run(call: &Call, arguments: &Value, done: fn(&Call, Vec<Value>)) {
    let question = match serde_json::from_value::<Question>(arguments.clone()) {
        Ok(question) => question,
        Err(error) => return call.error(-32602, &format!("bad arguments: {error}")),
    };
    if question.kind == Kind::UrlError {
        return url_error(call, &question, done);
    }
    if call.is_modern() && call.peer.scenario().asks_in_legacy_only {
        return call.error(-32603, "asking is unavailable on 2026-07-28 connections");
    }
    if call.is_modern() {
        return modern_round(call, &question, done);
    }
    call.clone().spawn(async move |call| {
        let mut answers = Vec::new();
        for round in 1..=question.rounds {
            for (method, params) in question.requests(round, true) {
                answers.push(call.ask(method, &params).await);
            }
        }
        done(&call, answers);
    });
}

/// Refuses the first call, until the person has been somewhere.
fn url_error(call: &Call, question: &Question, done: fn(&Call, Vec<Value>)) {
    if call.peer.recorder().count("tools/call") > 1 {
        return done(call, Vec::new());
    }
    let mut page = json!({
        "mode": "url", "message": question.message, "url": "https://example.com/connect", "elicitationId": "connect",
    });
    question.replace(&mut page);
    call.error_with(-32042, "This needs more from the person", Some(json!({ "elicitations": [page] })));
}

/// What a retry carries, in its own spelling.
#[derive(Default, Deserialize)]
struct Retry<'a> {
    #[serde(borrow, rename = "requestState")]
    state: Option<&'a RawValue>,
    #[serde(rename = "inputResponses")]
    answers: Option<Map<String, Value>>,
}

fn modern_round(call: &Call, question: &Question, done: fn(&Call, Vec<Value>)) {
    let retry: Retry<'_> =
        call.params.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let given = retry.answers.unwrap_or_default();
    let (answered, mut answers) = match retry.state {
        Some(state) if question.no_state => {
            let text = format!("a requestState that was never given: {state}");
            call.peer.recorder().add(RecordedEvent::Violation(text.clone()));
            return call.error(-32602, &text);
        }
        Some(state) => match open_state(call, state) {
            Some(opened) => opened,
            None => return call.error(-32602, "this requestState is not mine"),
        },
        None if question.no_state => {
            (given.keys().filter_map(|key| round_of(key)).max().unwrap_or_default(), Vec::new())
        }
        None => (0, Vec::new()),
    };
    if answered > 0 && !question.state_only {
        for index in 0..question.requests(answered, false).len() {
            let key = format!("q{answered}.{index}");
            if !given.contains_key(&key) {
                call.peer.recorder().add(RecordedEvent::Violation(format!("no answer to {key}")));
            }
        }
    }
    answers.extend(given.into_iter().map(|(_, answer)| answer));
    if answered >= question.rounds {
        return done(call, answers);
    }
    let round = answered + 1;
    let mut requests = Map::new();
    for (index, (method, params)) in question.requests(round, false).into_iter().enumerate() {
        let capability = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            _ => "roots",
        };
        if !call.client_can(&format!("/{capability}")) {
            return call.missing_capability(&json!({ capability: {} }));
        }
        requests.insert(format!("q{round}.{index}"), json!({ "method": method, "params": params }));
    }
    let mut body = Map::new();
    if !question.state_only {
        body.insert("inputRequests".to_string(), Value::Object(requests));
    }
    let mut text = Value::Object(body).to_string();
    if !question.no_state {
        let comma = if question.state_only { "" } else { "," };
        let inside = text.strip_suffix('}').unwrap_or_default();
        let carried = STANDARD.encode(Value::from(answers).to_string());
        text = format!(r#"{inside}{comma}"requestState":{}}}"#, state_token(round, &carried));
    }
    call.result_text(ResultKind::InputRequired, &text, Map::new());
}

/// The state after `round` as a JSON string token; its spelling must not be left to a serialiser.
fn state_token(round: u64, carried: &str) -> String {
    format!(r#""{round}|{ODD_SPELLING}|{carried}""#)
}

/// The round that a state which came back belongs to, and the answers it carries; records how faithfully it came.
fn open_state(call: &Call, state: &RawValue) -> Option<(u64, Vec<Value>)> {
    let value: String = serde_json::from_str(state.get()).ok()?;
    let (round, rest) = value.split_once('|')?;
    let round = round.parse().ok()?;
    let (_, carried) = rest.rsplit_once('|')?;
    let sent = state_token(round, carried);
    let same_value = serde_json::from_str::<String>(&sent).is_ok_and(|sent| sent == value);
    let same_bytes = sent == state.get();
    call.peer.recorder().add(RecordedEvent::RequestState { same_value, same_bytes });
    let answers = serde_json::from_slice(&STANDARD.decode(carried).ok()?).ok()?;
    same_value.then_some((round, answers))
}

fn round_of(key: &str) -> Option<u64> {
    key.strip_prefix('q')?.split('.').next()?.parse().ok()
}

impl Question {
    /// The requests of one round.
    fn requests(&self, round: u64, legacy: bool) -> Vec<(&'static str, Value)> {
        let message = format!("{} ({round} of {})", self.message, self.rounds);
        let form = json!({
            "mode": "form",
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "name": { "type": "string", "title": "Name", "minLength": 1 },
                    "age": { "type": "integer", "minimum": 0, "default": 30 },
                },
                "required": ["name"],
            },
        });
        let sampling = json!({
            "messages": [{ "role": "user", "content": { "type": "text", "text": message } }],
            "maxTokens": 100,
        });
        let mut requests = match self.kind {
            Kind::UrlError => Vec::new(),
            Kind::Form => vec![("elicitation/create", form)],
            Kind::Url => {
                let mut url = json!({ "mode": "url", "message": message, "url": "https://example.com/confirm" });
                if legacy {
                    url["elicitationId"] = json!(format!("elicitation-{round}"));
                }
                vec![("elicitation/create", url)]
            }
            Kind::Sampling => vec![("sampling/createMessage", sampling)],
            Kind::Roots => vec![("roots/list", json!({}))],
            Kind::Mixed => vec![("elicitation/create", form), ("sampling/createMessage", sampling)],
        };
        for (_, params) in &mut requests {
            self.replace(params);
        }
        requests
    }

    fn replace(&self, params: &mut Value) {
        for (key, value) in &self.params {
            params[key] = value.clone();
        }
    }
}
