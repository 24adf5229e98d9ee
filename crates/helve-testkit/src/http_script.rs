//! Owns how the HTTP forms of the peer answer, and the faults that only HTTP has.

use serde::{Deserialize, Serialize};

/// How the HTTP forms behave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpScript {
    /// Whether requests are answered with one JSON object or a stream of events.
    pub answer: HttpAnswer,
    /// Legacy: hand out `Mcp-Session-Id` and insist on it.
    pub sessions: bool,
    /// Legacy: what a request in a session that is not known is answered with.
    pub unknown_session: UnknownSession,
    /// Legacy: offer the GET stream.
    pub get_stream: bool,
    /// Legacy: number events so that a broken stream can be resumed with `Last-Event-ID`.
    pub resumable: bool,
    /// The `retry` field sent at the start of each numbered stream.
    pub retry_ms: Option<u64>,
    /// Legacy: close each answer's connection after this many events; the rest waits for a resumption.
    pub close_after_events: Option<usize>,
    /// Modern: check `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` against the body.
    pub check_headers: bool,
    /// Refuse requests whose `Host` is not this machine, as those of a browser are after DNS rebinding.
    pub check_host: bool,
    /// Faults, tried in order; the first that fits a request is used.
    pub faults: Vec<HttpFault>,
}

/// The content type of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpAnswer {
    #[default]
    Sse,
    Json,
}

/// How a server says that it does not know a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownSession {
    /// As the protocol wants it: 404.
    #[default]
    NotFound,
    /// 400 and a JSON-RPC error, as to a request without a session.
    BadRequest,
}

/// One fault and the requests it strikes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpFault {
    pub on: FaultTarget,
    /// How many requests are let through first.
    #[serde(default)]
    pub skip: u32,
    /// How many requests are struck; `None` is all of them.
    #[serde(default)]
    pub times: Option<u32>,
    pub kind: HttpFaultKind,
}

/// Which requests a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultTarget {
    /// Every HTTP request.
    Any,
    /// Requests with this HTTP method.
    Verb(String),
    /// POSTs whose body has this JSON-RPC method.
    Rpc(String),
    /// Requests to this path.
    Path(String),
}

/// What happens instead of (or to) the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpFaultKind {
    /// This answer, whatever was asked. `$ID` in the body becomes the request's id.
    Canned { status: u16, headers: Vec<(String, String)>, body: String },
    /// The session of the request is forgotten: 404, now and later.
    ForgetSession,
    /// A gzip body that unpacks to this many bytes.
    GzipBomb { bytes: u64 },
    /// A body of this many bytes.
    Body { bytes: u64, content_type: String },
    /// The connection is reset before any byte of the answer.
    ResetBeforeHeaders,
    /// The connection is reset after the head of the answer.
    ResetAfterHeaders,
    /// The true answer is cut after this many bytes of its body.
    Cut { body_bytes: u64, how: CutKind },
    /// The head of an event stream, then a comment line every so often, for ever.
    SseComments { every_ms: u64 },
    /// The request is taken and nothing is answered.
    Silent,
    /// The true answer, later.
    Late { milliseconds: u64 },
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutKind {
    /// As when a process dies: the kernel says goodbye in order.
    #[default]
    Close,
    /// By a reset.
    Reset,
}

impl Default for HttpScript {
    fn default() -> Self {
        Self {
            answer: HttpAnswer::Sse,
            sessions: true,
            unknown_session: UnknownSession::NotFound,
            get_stream: true,
            resumable: true,
            retry_ms: None,
            close_after_events: None,
            check_headers: true,
            check_host: false,
            faults: Vec::new(),
        }
    }
}

impl HttpScript {
    pub fn json() -> Self {
        Self { answer: HttpAnswer::Json, ..Self::default() }
    }

    pub fn sse() -> Self {
        Self::default()
    }

    pub fn fault(mut self, fault: HttpFault) -> Self {
        self.faults.push(fault);
        self
    }
}

impl HttpFault {
    /// Strikes every request.
    pub fn any(kind: HttpFaultKind) -> Self {
        Self { on: FaultTarget::Any, skip: 0, times: None, kind }
    }

    /// Strikes requests with this HTTP method.
    pub fn verb(verb: &str, kind: HttpFaultKind) -> Self {
        Self { on: FaultTarget::Verb(verb.to_string()), skip: 0, times: None, kind }
    }

    /// Strikes POSTs that carry this JSON-RPC method.
    pub fn rpc(method: &str, kind: HttpFaultKind) -> Self {
        Self { on: FaultTarget::Rpc(method.to_string()), skip: 0, times: None, kind }
    }

    /// Strikes requests to this path.
    pub fn path(path: &str, kind: HttpFaultKind) -> Self {
        Self { on: FaultTarget::Path(path.to_string()), skip: 0, times: None, kind }
    }

    pub fn skip(mut self, requests: u32) -> Self {
        self.skip = requests;
        self
    }

    pub fn times(mut self, requests: u32) -> Self {
        self.times = Some(requests);
        self
    }
}

impl HttpFaultKind {
    /// A bare status with no body.
    pub fn status(status: u16) -> Self {
        Self::Canned { status, headers: Vec::new(), body: String::new() }
    }

    /// 401, with or without a `WWW-Authenticate` challenge.
    pub fn unauthorized(challenge: Option<&str>) -> Self {
        let headers = challenge.map(|value| ("www-authenticate".to_string(), value.to_string())).into_iter().collect();
        Self::Canned { status: 401, headers, body: String::new() }
    }

    /// A redirect that keeps the method.
    pub fn redirect(location: &str) -> Self {
        Self::Canned { status: 307, headers: vec![("location".to_string(), location.to_string())], body: String::new() }
    }

    /// This status with a body of this type.
    pub fn with_body(status: u16, content_type: &str, body: &str) -> Self {
        let headers = vec![("content-type".to_string(), content_type.to_string())];
        Self::Canned { status, headers, body: body.to_string() }
    }

    /// A page for people, with status 200.
    pub fn html() -> Self {
        Self::with_body(200, "text/html", "<!doctype html><title>Welcome</title><p>It works")
    }

    /// 400 with a JSON-RPC error that only a modern server sends.
    pub fn modern_error() -> Self {
        let body = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2027-01-01"],"requested":"2026-07-28"}}}"#;
        Self::with_body(400, "application/json", body)
    }
}
