//! What a message is: one pass over a JSON-RPC envelope finds its id, method, params, result and error.
//!
//! The whole envelope is read before anything is decided, so a second `id` behind a large result cannot answer
//! somebody else's request. Payloads are not opened here.

use bytestring::ByteString;
use helve_model::json::RawJson;
use helve_model::json::scan::{self, Member};
use helve_model::json::strict::Outline;

use crate::error::RpcError;

/// One message of the peer, sorted by what it asks of us.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// The answer to a request of ours.
    Answer {
        /// Which one.
        id: AnswerId,
        /// What it says.
        body: Result<RawJson, RpcError>,
    },
    /// A request of the peer; the id is echoed as it came.
    Request {
        /// As the peer wrote it.
        id: RawJson,
        /// What is asked for.
        method: String,
        /// With which parameters.
        params: Option<RawJson>,
    },
    /// A notification.
    Notification {
        /// What it is about.
        method: String,
        /// With which parameters.
        params: Option<RawJson>,
    },
    /// An answer that cannot be accepted.
    Unacceptable {
        /// Which request it was meant for.
        id: AnswerId,
        /// What is wrong with it.
        problem: String,
    },
    /// No JSON-RPC at all: a log line, most likely.
    Noise,
}

/// The id of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerId {
    /// A number, as we number our requests.
    Ours(u64),
    /// The right number in the wrong type: `"7"` where we asked with `7`.
    Mistyped(u64),
    /// `null`, or none: the peer could not read which request it was answering.
    Null,
    /// Nothing we ever send.
    Foreign,
}

/// Sorts one message. Batches are taken apart before: see [`batch`].
pub fn read(frame: &ByteString) -> Incoming {
    let mut envelope = Envelope::default();
    let Ok(members) = scan::members(frame) else { return Incoming::Noise };
    for member in members {
        match member {
            Ok(member) => envelope.take(frame, member),
            Err(error) => {
                envelope.problem.get_or_insert_with(|| format!("is not valid JSON: {error}"));
                break;
            }
        }
    }
    match envelope.sort() {
        Incoming::Noise => misspelt_answer(frame).unwrap_or(Incoming::Noise),
        sorted => sorted,
    }
}

/// An answer in another notation than JSON, such as what Python prints of a dictionary: its call need not wait for a better
/// one.
fn misspelt_answer(frame: &str) -> Option<Incoming> {
    let text = frame.trim();
    let says = |word: &str| text.contains(word);
    let is_answer =
        text.starts_with('{') && text.ends_with('}') && says("jsonrpc") && (says("result") || says("error"));
    if !is_answer || says("method") || scan::members(text).is_ok_and(|mut members| members.all(|member| member.is_ok()))
    {
        return None;
    }
    let after = ["'id'", "\"id\""].iter().find_map(|key| Some(text.split_once(key)?.1))?;
    let value = after.trim_start().strip_prefix(':')?.trim_start();
    let digits = value.split(|character: char| !character.is_ascii_digit()).next()?;
    Some(Incoming::Unacceptable { id: AnswerId::Ours(digits.parse().ok()?), problem: "is not valid JSON".to_owned() })
}

/// Sorts one message that was checked whole, by the members that were noted on the way.
pub fn read_outlined(frame: &ByteString, outline: &Outline) -> Incoming {
    let mut envelope = Envelope::default();
    for member in outline.members(frame) {
        envelope.take(frame, member);
    }
    envelope.sort()
}

/// The messages of a batch (protocol version 2025-03-26 has them), or `None` when this is not an array.
///
/// They are found one by one: millions of small ones take no more memory than the frame.
pub fn batch(frame: &ByteString) -> Option<impl Iterator<Item = ByteString>> {
    if scan::elements(frame).ok()?.any(|element| element.is_err()) {
        return None;
    }
    let elements = scan::elements(frame).ok()?;
    Some(elements.map_while(Result::ok).map(|text| frame.slice_ref(text)))
}

/// The id of an answer of which only the beginning and the end are known: it was too large to keep.
pub(crate) fn recover_id(head: &str, tail: &str) -> Option<u64> {
    let mut envelope = Envelope::default();
    let head = ByteString::from(head);
    for member in scan::members(&head).ok()?.map_while(Result::ok) {
        envelope.take(&head, member);
    }
    // A question or a notification has its own ids, which are none of ours; a log line answers nothing.
    let is_answer = envelope.method.is_none() && (envelope.json_rpc || tail.contains("\"jsonrpc\""));
    if !is_answer {
        return None;
    }
    if let Some(id) = envelope.id {
        return ours(id.as_str());
    }
    // Some servers write the result first: then the id is one of the last members.
    let (_, after) = tail.rsplit_once("\"id\"")?;
    let value = after.trim_start().strip_prefix(':')?.trim_start();
    let end = value.find([',', '}', ' '])?;
    let (value, _) = value.split_at_checked(end)?;
    ours(value)
}

#[derive(Default)]
struct Envelope {
    json_rpc: bool,
    id: Option<RawJson>,
    method: Option<RawJson>,
    params: Option<RawJson>,
    result: Option<RawJson>,
    error: Option<RawJson>,
    problem: Option<String>,
    /// It has members that no message has.
    has_others: bool,
}

impl Envelope {
    fn take(&mut self, frame: &ByteString, member: Member<'_>) {
        let key = member.key();
        let slot = match key.as_deref().unwrap_or(member.raw_key) {
            "jsonrpc" => {
                self.json_rpc |= member.value == "\"2.0\"";
                return;
            }
            "id" => &mut self.id,
            "method" => &mut self.method,
            "params" => &mut self.params,
            "result" => &mut self.result,
            "error" => &mut self.error,
            _ => {
                self.has_others = true;
                return;
            }
        };
        if slot.is_some() {
            self.problem.get_or_insert_with(|| format!("has `{}` twice", member.raw_key));
            return;
        }
        if member.too_deep {
            self.problem.get_or_insert_with(|| format!("nests deeper than {} levels", scan::MAX_DEPTH));
        }
        *slot = Some(RawJson::part_of(frame, member.value));
    }

    /// What does not say that it is a message: an answer, if it has all that an answer has and nothing else. A log line may
    /// have an id and an error too.
    fn unmarked(self) -> Incoming {
        let has_result = self.result.as_ref().is_some_and(RawJson::is_object);
        let has_error = self.error.as_ref().is_some_and(|error| error.member("code").is_some());
        let is_answer = self.method.is_none() && !self.has_others && (has_result || has_error);
        match answer_id(self.id.as_ref()) {
            id @ (AnswerId::Ours(_) | AnswerId::Mistyped(_)) if is_answer => {
                Incoming::Unacceptable { id, problem: "lacks `\"jsonrpc\": \"2.0\"`".to_owned() }
            }
            _ => Incoming::Noise,
        }
    }

    fn sort(self) -> Incoming {
        if !self.json_rpc {
            return self.unmarked();
        }
        if let Some(method) = self.method {
            let Ok(method) = method.parse::<String>() else { return Incoming::Noise };
            return match (self.problem, self.id) {
                // A request or notification that cannot be read concerns no call of ours.
                (Some(_), _) => Incoming::Noise,
                (None, Some(id)) if can_be_echoed(&id) => Incoming::Request { id, method, params: self.params },
                (None, Some(_)) => Incoming::Noise,
                (None, None) => Incoming::Notification { method, params: self.params },
            };
        }
        if self.problem.is_none() && self.id.is_none() && self.result.is_none() && self.error.is_none() {
            return Incoming::Noise;
        }
        let id = answer_id(self.id.as_ref());
        let unacceptable = |problem: &str| Incoming::Unacceptable { id, problem: problem.to_owned() };
        match (self.problem, self.result, self.error) {
            (Some(problem), _, _) => unacceptable(&problem),
            (None, Some(_), Some(_)) => unacceptable("has both a result and an error"),
            (None, Some(result), None) if result.is_object() => Incoming::Answer { id, body: Ok(result) },
            (None, Some(_), None) => unacceptable("has a result that is not an object"),
            (None, None, Some(error)) => match RpcError::from_raw(&error) {
                Some(error) => Incoming::Answer { id, body: Err(error) },
                None => unacceptable("has an error that is not an object with code and message"),
            },
            (None, None, None) => unacceptable("has neither a result nor an error"),
        }
    }
}

/// What is not a string, number or null cannot be answered; and what is not JSON at all must not be written back.
fn can_be_echoed(id: &RawJson) -> bool {
    !id.as_str().starts_with(['{', '[', 't', 'f']) && id.check().is_ok()
}

fn answer_id(id: Option<&RawJson>) -> AnswerId {
    match id.map(RawJson::as_str) {
        None | Some("null") => AnswerId::Null,
        Some(text) => match ours(text) {
            Some(number) => AnswerId::Ours(number),
            None => text
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'))
                .and_then(|text| text.parse().ok())
                .map_or(AnswerId::Foreign, AnswerId::Mistyped),
        },
    }
}

/// A number of ours; `7.0` and `7e0` are other spellings of 7.
fn ours(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse::<u64>() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    let whole = text.starts_with(|first: char| first.is_ascii_digit()) && number.fract() == 0.0 && number < 9e15;
    // In range and whole, so the cast is exact.
    whole.then_some(number as u64)
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
