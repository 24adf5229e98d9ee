//! Owns which request is struck by which HTTP fault, and the answers that are wrong from the start.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::Response;

use super::body::{self, Body};
use super::exchange::Exchange;
use crate::frame::Part;
use crate::http_script::{CutKind, FaultTarget, HttpFault, HttpFaultKind};

/// What one member of a gzip bomb unpacks to.
const BOMB_MEMBER: usize = 1 << 20;

/// The faults of a scenario with what is left of them.
#[derive(Debug)]
pub(crate) struct Faults {
    armed: Mutex<Vec<HttpFault>>,
}

/// What a fault makes of a request.
pub(crate) enum Struck {
    /// It is answered like this.
    Answer(Response<Body>),
    /// The connection breaks without an answer.
    Broken,
    /// The session is gone.
    ForgetSession,
    /// It is served, and the answer is cut.
    Cut { body_bytes: u64, how: CutKind },
    /// It is served later.
    Late(Duration),
}

impl Faults {
    pub(crate) fn new(faults: &[HttpFault]) -> Self {
        Self { armed: Mutex::new(faults.to_vec()) }
    }

    /// The fault that strikes this request, if any; it is used up by that.
    pub(crate) fn strike(&self, exchange: &Exchange) -> Option<Struck> {
        let kind = {
            let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
            armed.iter_mut().find_map(|fault| use_up(fault, exchange))?
        };
        Some(apply(kind, exchange))
    }
}

fn use_up(fault: &mut HttpFault, exchange: &Exchange) -> Option<HttpFaultKind> {
    let fits = match &fault.on {
        FaultTarget::Any => true,
        FaultTarget::Verb(verb) => exchange.head.method.as_str() == verb,
        FaultTarget::Rpc(method) => exchange.rpc_method.as_ref() == Some(method),
        FaultTarget::Path(path) => exchange.head.uri.path() == path,
    };
    if !fits {
        return None;
    }
    if fault.skip > 0 {
        fault.skip -= 1;
        return None;
    }
    match &mut fault.times {
        Some(0) => return None,
        Some(times) => *times -= 1,
        None => {}
    }
    Some(fault.kind.clone())
}

fn apply(kind: HttpFaultKind, exchange: &Exchange) -> Struck {
    match kind {
        HttpFaultKind::Canned { status, headers, body } => {
            let body = body.replace("$ID", exchange.rpc_id.as_deref().unwrap_or("null"));
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            // A status or header that HTTP does not know is a mistake in the test; it shows as a broken connection.
            response.body(body::full(body)).map_or(Struck::Broken, Struck::Answer)
        }
        HttpFaultKind::ForgetSession => Struck::ForgetSession,
        HttpFaultKind::GzipBomb { bytes } => {
            let mut response =
                Response::new(body::parts(vec![Part::Bytes(bomb_member())], bytes.div_ceil(BOMB_MEMBER as u64)));
            insert(&mut response, "content-type", "application/json");
            insert(&mut response, "content-encoding", "gzip");
            Struck::Answer(response)
        }
        HttpFaultKind::Body { bytes, content_type } => {
            let id = exchange.rpc_id.as_deref().unwrap_or("null");
            let mut head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"filling":""#);
            if content_type == "text/event-stream" {
                head.insert_str(0, "data: ");
            }
            let filling = Part::Fill { byte: b'x', count: bytes.saturating_sub(head.len() as u64) };
            let mut response = Response::new(body::parts(vec![Part::from(head), filling], 1));
            insert(&mut response, "content-type", &content_type);
            Struck::Answer(response)
        }
        HttpFaultKind::ResetBeforeHeaders => {
            exchange.breaker.break_after_flush(CutKind::Reset);
            Struck::Broken
        }
        HttpFaultKind::ResetAfterHeaders => {
            let body = body::cut(body::silent(), 0, CutKind::Reset, exchange.breaker.clone());
            Struck::Answer(event_stream(body))
        }
        HttpFaultKind::Cut { body_bytes, how } => Struck::Cut { body_bytes, how },
        HttpFaultKind::SseComments { every_ms } => {
            Struck::Answer(event_stream(body::comments(Duration::from_millis(every_ms.max(1)))))
        }
        HttpFaultKind::Silent => Struck::Late(Duration::MAX),
        HttpFaultKind::Late { milliseconds } => Struck::Late(Duration::from_millis(milliseconds)),
    }
}

fn event_stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    insert(&mut response, "content-type", "text/event-stream");
    response
}

fn insert(response: &mut Response<Body>, name: &'static str, value: &str) {
    if let Ok(value) = hyper::header::HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// One gzip member full of blanks; members may follow each other, so a bomb of any size is this one again and again.
fn bomb_member() -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory cannot fail.
    let written = encoder.write_all(&vec![b' '; BOMB_MEMBER]);
    Bytes::from(written.and_then(|()| encoder.finish()).unwrap_or_default())
}
