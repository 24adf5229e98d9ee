//! Writing messages: payloads are spliced in as they are, metadata is added without re-modelling anything.

pub use helve_model::json::quoted;
use helve_model::json::{ObjectWriter, RawJson, scan};
use helve_model::protocol::notifications;
use memchr::memmem;

use crate::error::RpcError;

/// A request or notification in the making: raw parts put together into one line of JSON.
pub(crate) struct Message {
    bytes: Vec<u8>,
}

/// The parameters of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Params<'a> {
    /// Members of our own making: plain keys, raw values.
    Members(&'a [(&'a str, &'a str)]),
    /// An object of the caller's.
    Raw(&'a RawJson),
}

/// What goes into `_meta` of a request besides what the caller put there.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meta<'a> {
    /// The token under which progress is reported.
    pub(crate) progress_token: Option<u64>,
    /// Members that the era demands, already rendered, without braces.
    pub(crate) era: &'a str,
    /// An object of the caller's.
    pub(crate) caller: Option<&'a RawJson>,
    /// It is a request of ours: no progress token but our own goes with it.
    pub(crate) is_request: bool,
}

impl Message {
    /// `{"jsonrpc":"2.0","id":…,"method":…,"params":…`
    pub(crate) fn request(id: u64, method: &str, params: Params<'_>, meta: Meta<'_>) -> Self {
        let mut message = Self { bytes: Vec::with_capacity(192 + meta.era.len() + params.length()) };
        message.literal(r#"{"jsonrpc":"2.0","id":"#);
        message.number(id);
        message.method_and_params(method, params, meta);
        message
    }

    pub(crate) fn notification(method: &str, params: Params<'_>, meta: Meta<'_>) -> Self {
        let mut message = Self { bytes: Vec::with_capacity(96) };
        message.literal(r#"{"jsonrpc":"2.0""#);
        message.method_and_params(method, params, meta);
        message
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn method_and_params(&mut self, method: &str, params: Params<'_>, meta: Meta<'_>) {
        self.literal(r#","method":"#);
        self.method(method);
        if !(params.is_empty() && meta.is_empty()) {
            self.literal(r#","params":{"#);
            self.params(params, meta);
            self.literal("}");
        }
        self.literal("}");
    }

    /// The caller's members first, in their order; `_meta` last, the caller's own members in it kept.
    fn params(&mut self, params: Params<'_>, meta: Meta<'_>) {
        let mut callers_meta = meta.caller.map_or("", RawJson::as_str);
        match params {
            Params::Members(members) => {
                for (key, value) in members {
                    self.member(key, value);
                }
            }
            Params::Raw(object) => {
                for member in scan::members(object.as_str()).into_iter().flatten().map_while(Result::ok) {
                    if member.key_is("_meta") {
                        callers_meta = member.value;
                    } else {
                        self.member(member.raw_key, member.value);
                    }
                }
            }
        }
        if meta.is_empty() && callers_meta.is_empty() {
            return;
        }
        self.comma();
        self.literal(r#""_meta":{"#);
        for member in scan::members(callers_meta).into_iter().flatten().map_while(Result::ok) {
            // What the protocol puts there cannot be said twice, and is not the caller's to say.
            if member.key().is_some_and(|key| !meta.has(&key)) {
                self.member(member.raw_key, member.value);
            }
        }
        if let Some(token) = meta.progress_token {
            self.comma();
            self.literal(r#""progressToken":"#);
            self.number(token);
        }
        if !meta.era.is_empty() {
            self.comma();
            self.raw(meta.era);
        }
        self.literal("}");
    }

    fn member(&mut self, raw_key: &str, value: &str) {
        self.comma();
        self.literal("\"");
        self.raw(raw_key);
        self.literal("\":");
        self.raw(value);
    }

    fn comma(&mut self) {
        if self.bytes.last() != Some(&b'{') {
            self.bytes.push(b',');
        }
    }

    /// Most methods are plain words; those that are not are escaped.
    fn method(&mut self, method: &str) {
        if method.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')) {
            self.literal("\"");
            self.literal(method);
            self.literal("\"");
        } else {
            string(&mut self.bytes, method);
        }
    }

    fn number(&mut self, number: u64) {
        let mut digits = [0_u8; 20];
        let mut rest = number;
        let mut used = 0;
        for (digit, place) in digits.iter_mut().rev().zip(1..) {
            // A remainder of ten is one digit.
            *digit = b'0' + (rest % 10) as u8;
            used = place;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
    }

    /// Adds text of our own making, which has no line break in it.
    fn literal(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn raw(&mut self, json: &str) {
        raw(&mut self.bytes, json);
    }
}

impl Meta<'_> {
    const fn is_empty(&self) -> bool {
        self.progress_token.is_none() && self.era.is_empty() && self.caller.is_none()
    }

    /// Does the protocol say this here? The key is compared as it reads, whatever it was written with.
    fn has(&self, key: &str) -> bool {
        let era = self.era.as_bytes();
        let is_key = |at: usize| {
            let end = at + key.len();
            at.checked_sub(1).and_then(|before| era.get(before)) == Some(&b'"') && era.get(end..end + 2) == Some(b"\":")
        };
        // A token of somebody else's would make progress of his that of a request of ours.
        (key == "progressToken" && self.is_request) || memmem::find_iter(era, key.as_bytes()).any(is_key)
    }
}

impl Params<'_> {
    const fn is_empty(&self) -> bool {
        matches!(self, Self::Members([]))
    }

    fn length(&self) -> usize {
        match self {
            Self::Members(members) => members.iter().map(|(key, value)| key.len() + value.len() + 4).sum(),
            Self::Raw(object) => object.as_str().len(),
        }
    }
}

/// The notification that takes a request of ours back.
pub(crate) fn cancelled(id: u64, era: &str) -> Vec<u8> {
    let meta = Meta { era, ..Meta::default() };
    let params = [("requestId", &*id.to_string())];
    Message::notification(notifications::CANCELLED, Params::Members(&params), meta).into_bytes()
}

/// Our answer to a request of the peer.
pub(crate) fn answer(id: &RawJson, body: &Result<RawJson, RpcError>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    raw(&mut bytes, r#"{"jsonrpc":"2.0","id":"#);
    raw(&mut bytes, id.as_str());
    match body {
        Ok(result) => {
            raw(&mut bytes, r#","result":"#);
            raw(&mut bytes, result.as_str());
        }
        Err(error) => {
            raw(&mut bytes, &format!(r#","error":{{"code":{},"message":"#, error.code));
            string(&mut bytes, &error.message);
            if let Some(data) = &error.data {
                raw(&mut bytes, r#","data":"#);
                raw(&mut bytes, data.as_str());
            }
            bytes.push(b'}');
        }
    }
    bytes.push(b'}');
    bytes
}

/// An object from keys and raw values, in that order.
pub(crate) fn object(members: &[(&str, &str)]) -> RawJson {
    let room = members.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
    let written = ObjectWriter::new().with_room(room);
    members.iter().fold(written, |written, (key, value)| written.raw(key, value)).finish()
}

fn string(bytes: &mut Vec<u8>, text: &str) {
    // Writing a str into a Vec cannot fail.
    drop(serde_json::to_writer(bytes, text));
}

/// Adds JSON that somebody else wrote. A line break in it can only be white space (inside strings it is escaped), and
/// would end the message early on a line-based transport.
fn raw(bytes: &mut Vec<u8>, json: &str) {
    let start = bytes.len();
    bytes.extend_from_slice(json.as_bytes());
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        for byte in bytes.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(message: Message) -> String {
        String::from_utf8(message.into_bytes()).unwrap()
    }

    fn json(text: &str) -> RawJson {
        RawJson::checked(text).unwrap()
    }

    #[test]
    fn metadata_is_spliced_into_the_params() {
        let meta = Meta { progress_token: Some(7), era: r#""era/version":"x""#, caller: None, is_request: true };
        let none = Params::Members(&[]);
        insta::assert_snapshot!(shown(Message::request(7, "tools/list", none, meta)), @r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"progressToken":7,"era/version":"x"}}}"#);
        insta::assert_snapshot!(shown(Message::notification("n", none, Meta::default())), @r#"{"jsonrpc":"2.0","method":"n"}"#);
        let members = Params::Members(&[("name", "\"x\"")]);
        let mine = json("{\"mine\":1}");
        let meta = Meta { caller: Some(&mine), ..Meta::default() };
        insta::assert_snapshot!(shown(Message::request(7, "m", members, meta)), @r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"name":"x","_meta":{"mine":1}}}"#);
    }

    #[test]
    fn the_callers_own_members_are_kept() {
        let meta = Meta { progress_token: Some(7), era: r#""era/version":"x""#, caller: None, is_request: true };
        let params =
            json("{\"b\":1,\n \"_meta\" : {\"mine\":[1],\"progressToken\":9,\"era/version\":\"y\"},\"a\":\"x\\ny\"}");
        insta::assert_snapshot!(shown(Message::request(7, "m", Params::Raw(&params), meta)), @r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"b":1,"a":"x\ny","_meta":{"mine":[1],"progressToken":7,"era/version":"x"}}}"#);
        insta::assert_snapshot!(shown(Message::request(7, "m", Params::Raw(&params), Meta::default())), @r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"b":1,"a":"x\ny","_meta":{"mine":[1],"progressToken":9,"era/version":"y"}}}"#);
    }

    #[test]
    fn numbers_of_every_length() {
        for number in
            (0..20).flat_map(|power| [10_u64.saturating_pow(power) - 1, 10_u64.saturating_pow(power)]).chain([u64::MAX])
        {
            let mut message = Message { bytes: Vec::new() };
            message.number(number);
            assert_eq!(shown(message), number.to_string());
        }
    }

    #[test]
    fn an_odd_method_is_escaped() {
        insta::assert_snapshot!(shown(Message::request(1, "a\"b\n", Params::Members(&[]), Meta::default())), @r#"{"jsonrpc":"2.0","id":1,"method":"a\"b\n"}"#);
    }

    #[test]
    fn line_breaks_between_tokens_do_not_end_the_line() {
        let params = json("{\"a\":[1,\r\n2]}");
        insta::assert_snapshot!(shown(Message::request(1, "m", Params::Raw(&params), Meta::default())), @r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,  2]}}"#);
    }

    #[test]
    fn answers_echo_the_id_as_it_came() {
        let text = |id: &str, body| String::from_utf8(answer(&json(id), &body)).unwrap();
        insta::assert_snapshot!(text(r#""a\u0062""#, Ok(json("{}"))), @r#"{"jsonrpc":"2.0","id":"a\u0062","result":{}}"#);
        let error = RpcError { code: -1, message: "no \"way\"".into(), data: Some(json("[1]")) };
        insta::assert_snapshot!(text("1.50", Err(error)), @r#"{"jsonrpc":"2.0","id":1.50,"error":{"code":-1,"message":"no \"way\"","data":[1]}}"#);
    }
}
