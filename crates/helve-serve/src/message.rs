//! A message on its way to an agent: raw parts, put next to each other only by whoever writes them.

use std::sync::Arc;

use bytes::Bytes;
use helve_model::json::{ObjectWriter, RawJson};
use helve_wire::RpcError;

use crate::ledger::Held;

/// Payloads from this size on are handed on as they are instead of being copied behind their envelope.
const SPLICED_BYTES: usize = 16 << 10;

/// One message. Its parts, one after the other, are one line of JSON.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    kind: Kind,
    head: Bytes,
    payload: Bytes,
    tail: &'static str,
    /// What it counts for its reader, for as long as it is there.
    held: Option<Arc<Held>>,
}

/// What may become of a message when an agent does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The answer to a request of the agent's. Never lost.
    Answer,
    /// A question to the agent. Never lost.
    Question,
    /// The agent can do without it.
    Notification,
}

impl Message {
    /// The answer to a request; the id is echoed as it came.
    pub(crate) fn answer(id: &RawJson, body: &Result<RawJson, RpcError>) -> Self {
        match body {
            Ok(result) => {
                let head = envelope().raw("id", id);
                Self::spliced(Kind::Answer, head.up_to("result"), result, "}")
            }
            Err(error) => {
                let head = envelope().raw("id", id);
                let body = ObjectWriter::new().number("code", error.code).text("message", &error.message);
                match &error.data {
                    Some(data) => Self::spliced(Kind::Answer, head.up_to("error") + &body.up_to("data"), data, "}}"),
                    None => Self::whole(Kind::Answer, head.object("error", body).into_text()),
                }
            }
        }
    }

    /// Several answers as one array, as they were asked for.
    pub(crate) fn batch(answers: &[Self]) -> Self {
        let mut text = Vec::with_capacity(answers.iter().map(|answer| answer.len() + 1).sum::<usize>() + 1);
        for answer in answers {
            text.push(if text.is_empty() { b'[' } else { b',' });
            answer.write_to(&mut text);
        }
        text.push(b']');
        Self { kind: Kind::Answer, head: Bytes::from(text), payload: Bytes::new(), tail: "", held: None }
    }

    pub(crate) fn notification(method: &str, params: Option<&RawJson>) -> Self {
        Self::with_params(Kind::Notification, envelope().text("method", method), params)
    }

    /// A question to the agent; `id` is ours.
    pub(crate) fn question(id: u64, method: &str, params: Option<&RawJson>) -> Self {
        Self::with_params(Kind::Question, envelope().number("id", id).text("method", method), params)
    }

    /// The same, counted for as long as it is there.
    pub(crate) fn holding(mut self, held: Held) -> Self {
        self.held = Some(Arc::new(held));
        self
    }

    /// What it counts.
    pub(crate) fn held(&self) -> Option<Arc<Held>> {
        self.held.clone()
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) const fn len(&self) -> usize {
        self.head.len() + self.payload.len() + self.tail.len()
    }

    /// What to write, in order.
    pub(crate) fn parts(self) -> impl Iterator<Item = Bytes> {
        let tail = Bytes::from_static(self.tail.as_bytes());
        [self.head, self.payload, tail].into_iter().filter(|part| !part.is_empty())
    }

    /// Appends the message to a buffer.
    pub(crate) fn write_to(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.head);
        buffer.extend_from_slice(&self.payload);
        buffer.extend_from_slice(self.tail.as_bytes());
    }

    fn with_params(kind: Kind, head: ObjectWriter, params: Option<&RawJson>) -> Self {
        match params {
            Some(params) => Self::spliced(kind, head.up_to("params"), params, "}"),
            None => Self::whole(kind, head.into_text()),
        }
    }

    fn spliced(kind: Kind, mut head: String, payload: &RawJson, tail: &'static str) -> Self {
        let payload = one_line(payload);
        if payload.as_str().len() < SPLICED_BYTES {
            head.reserve(payload.as_str().len() + tail.len());
            head.push_str(payload.as_str());
            head.push_str(tail);
            return Self::whole(kind, head);
        }
        Self { kind, head: Bytes::from(head), payload: payload.into_bytes(), tail, held: None }
    }

    fn whole(kind: Kind, text: String) -> Self {
        Self { kind, head: Bytes::from(text), payload: Bytes::new(), tail: "", held: None }
    }
}

fn envelope() -> ObjectWriter {
    ObjectWriter::new().text("jsonrpc", "2.0")
}

/// A line break between two tokens would end the message early; inside strings it is escaped, and stays.
fn one_line(json: &RawJson) -> RawJson {
    if memchr::memchr2(b'\n', b'\r', json.as_str().as_bytes()).is_none() {
        return json.clone();
    }
    RawJson::assembled(json.as_str().replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(message: Message) -> String {
        let mut buffer = Vec::new();
        message.write_to(&mut buffer);
        let parts: Vec<u8> = message.parts().flatten().collect();
        assert_eq!(buffer, parts);
        String::from_utf8(buffer).unwrap()
    }

    fn json(text: &str) -> RawJson {
        RawJson::checked(text).unwrap()
    }

    #[test]
    fn answers_echo_the_id_and_splice_the_payload() {
        let answer = Message::answer(&json(r#""a\u0062""#), &Ok(json("{\"b\":1e400,\n\"a\":2}")));
        insta::assert_snapshot!(shown(answer), @r#"{"jsonrpc":"2.0","id":"a\u0062","result":{"b":1e400, "a":2}}"#);
        let error = RpcError { code: -1, message: "no \"way\"".into(), data: Some(json("[1]")) };
        insta::assert_snapshot!(shown(Message::answer(&json("7"), &Err(error))), @r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no \"way\"","data":[1]}}"#);
    }

    #[test]
    fn a_large_payload_is_not_copied() {
        let large = json(&format!("\"{}\"", "x".repeat(SPLICED_BYTES)));
        let message = Message::answer(&json("1"), &Ok(large.clone()));
        assert_eq!(message.payload.as_ptr(), large.as_str().as_ptr());
        assert_eq!(message.len(), shown(message).len());
    }

    #[test]
    fn notifications_and_questions() {
        insta::assert_snapshot!(shown(Message::notification("n", None)), @r#"{"jsonrpc":"2.0","method":"n"}"#);
        insta::assert_snapshot!(shown(Message::question(3, "m", Some(&json("{}")))), @r#"{"jsonrpc":"2.0","id":3,"method":"m","params":{}}"#);
    }
}
