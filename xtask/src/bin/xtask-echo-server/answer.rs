//! Owns what the server says to each request, in either era: as little as a client accepts.

use std::io::{Read, Result, Write, copy, repeat};

use crate::payload::{Payloads, Sizes};
use crate::scan::members;

/// Found in the params of every modern request and of no other.
const MODERN_MARK: &[u8] = b"io.modelcontextprotocol/protocolVersion";

const MODERN_VERSION: &[u8] = br#""2026-07-28""#;

const SERVER: &str = r#"{"name":"echo","version":"1.0.0"}"#;

/// Answers requests; holds what was prepared for them.
#[derive(Debug)]
pub(crate) struct Answerer {
    payloads: Payloads,
    /// What is said about keeping the list, in the modern era.
    keeping: String,
    /// It knows the older era alone.
    legacy: bool,
}

impl Answerer {
    pub(crate) fn new(sizes: &Sizes, legacy: bool) -> Self {
        let keeping = format!(r#""ttlMs":{},"cacheScope":"private","#, sizes.ttl);
        Self { payloads: Payloads::new(sizes), keeping, legacy }
    }

    /// Writes the answer's beginning to `out`; what is returned comes behind it. `None`: nothing is to be said.
    pub(crate) fn answer(&self, request: &[u8], out: &mut Vec<u8>) -> Option<Rest<'_>> {
        let (mut id, mut method, mut params) = (None, &b""[..], &b""[..]);
        members(request, |key, value| match key {
            br#""id""# => id = Some(value),
            br#""method""# => method = value,
            br#""params""# => params = value,
            _ => {}
        })?;
        let id = id?;
        let modern = memchr::memmem::find(params, MODERN_MARK).is_some();
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(id);
        match method {
            br#""tools/call""# => self.call(params, modern, out),
            br#""tools/list""# => {
                result(modern, out);
                if modern {
                    out.extend_from_slice(self.keeping.as_bytes());
                }
                Some(Rest::Bytes(&self.payloads.list))
            }
            br#""initialize""# => {
                // The handshake cannot lead into the era that has none.
                let wanted = member(params, br#""protocolVersion""#).filter(|version| *version != MODERN_VERSION);
                let version = wanted.unwrap_or(br#""2025-11-25""#);
                out.extend_from_slice(br#","result":{"protocolVersion":"#);
                out.extend_from_slice(version);
                out.extend_from_slice(br#","capabilities":{"tools":{}},"serverInfo":"#);
                out.extend_from_slice(SERVER.as_bytes());
                Some(Rest::Bytes(b"}"))
            }
            br#""server/discover""# if !self.legacy => {
                result(modern, out);
                out.extend_from_slice(br#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":"#);
                out.extend_from_slice(SERVER.as_bytes());
                Some(Rest::Bytes(b"}}"))
            }
            br#""ping""# => {
                result(modern, out);
                // A result has at least this much to say, which spares a special case for the comma.
                Some(Rest::Bytes(br#""_meta":{}}"#))
            }
            _ => {
                out.extend_from_slice(br#","error":{"code":-32601,"message":"Method not found""#);
                Some(Rest::Bytes(b"}"))
            }
        }
    }

    fn call(&self, params: &[u8], modern: bool, out: &mut Vec<u8>) -> Option<Rest<'_>> {
        let (mut name, mut arguments) = (&b""[..], &b""[..]);
        members(params, |key, value| match key {
            br#""name""# => name = value,
            br#""arguments""# => arguments = value,
            _ => {}
        });
        result(modern, out);
        match name {
            br#""text""# => Some(Rest::Bytes(&self.payloads.text)),
            br#""structured""# => Some(Rest::Bytes(&self.payloads.structured)),
            br#""endless""# => {
                let bytes =
                    member(arguments, br#""bytes""#).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
                out.extend_from_slice(br#""content":[{"type":"text","text":""#);
                Some(Rest::Filler(bytes.unwrap_or(0)))
            }
            _ => {
                out.extend_from_slice(br#""content":[{"type":"text","text":"#);
                out.extend_from_slice(member(arguments, br#""text""#).unwrap_or(br#""""#));
                Some(Rest::Bytes(br#"}],"isError":false}"#))
            }
        }
    }
}

/// How an answer goes on behind its beginning. [`END`] comes after either.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rest<'answerer> {
    Bytes(&'answerer [u8]),
    /// That many letters, which nobody holds in memory, and [`FILLER_END`].
    Filler(u64),
}

impl Rest<'_> {
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Filler(count) => count + FILLER_END.len() as u64,
        }
    }

    pub(crate) fn write(&self, output: &mut impl Write) -> Result<()> {
        match self {
            Self::Bytes(bytes) => output.write_all(bytes),
            Self::Filler(count) => {
                copy(&mut repeat(b'x').take(*count), output)?;
                output.write_all(FILLER_END)
            }
        }
    }
}

/// Closes a text that was made of filler.
const FILLER_END: &[u8] = br#""}],"isError":false}"#;

/// The last byte of every answer.
pub(crate) const END: &[u8] = b"}";

fn result(modern: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(br#","result":{"#);
    if modern {
        out.extend_from_slice(br#""resultType":"complete","#);
    }
}

fn member<'text>(object: &'text [u8], wanted: &[u8]) -> Option<&'text [u8]> {
    let mut found = None;
    members(object, |key, value| {
        if key == wanted {
            found = Some(value);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn both_eras_are_answered() {
        assert_snapshot!(told(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#), @r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1.0.0"}}}"#);
        assert!(
            told(r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}"#).contains("2025-11-25")
        );
        assert_snapshot!(told(r#"{"method":"server/discover","id":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#), @r#"{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"echo","version":"1.0.0"}}}}"#);
        assert_snapshot!(told(r#"{"id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a \"b\""}}}"#), @r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"a \"b\""}],"isError":false}}"#);
        assert_snapshot!(told(r#"{"id":2,"method":"tools/call","params":{"name":"endless","arguments":{"bytes":5}}}"#), @r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"xxxxx"}],"isError":false}}"#);
        assert_snapshot!(told(r#"{"id":3,"method":"ping"}"#), @r#"{"jsonrpc":"2.0","id":3,"result":{"_meta":{}}}"#);
        assert_snapshot!(told(r#"{"id":4,"method":"resources/list"}"#), @r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"Method not found"}}"#);
    }

    #[test]
    fn prepared_results_are_whole_in_both_eras() {
        let modern = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        for method in [
            r#""method":"tools/list","params":{"#,
            r#""method":"tools/call","params":{"name":"text","#,
            r#""method":"tools/call","params":{"name":"structured","#,
        ] {
            told(&format!(r#"{{"id":1,{method}{modern}}}}}"#));
            told(&format!(r#"{{"id":1,{method}"x":1}}}}"#));
        }
    }

    #[test]
    fn notifications_and_nonsense_are_not_answered() {
        let answerer = Answerer::new(&Sizes::default(), false);
        for request in [r#"{"method":"notifications/initialized"}"#, "hello", r#"{"id":"#] {
            assert_eq!(answerer.answer(request.as_bytes(), &mut Vec::new()), None, "{request}");
        }
    }

    fn told(request: &str) -> String {
        let answerer = Answerer::new(&Sizes { tools: 3, text: 100, structured: 100, ttl: 0 }, false);
        let mut out = Vec::new();
        let rest = answerer.answer(request.as_bytes(), &mut out).unwrap();
        let length = out.len() as u64 + rest.length();
        rest.write(&mut out).unwrap();
        assert_eq!(out.len() as u64, length);
        out.extend_from_slice(END);
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert!(value.is_object());
        String::from_utf8(out).unwrap()
    }
}
