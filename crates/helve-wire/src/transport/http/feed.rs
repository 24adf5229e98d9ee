//! A stream of events outside of MCP: what a hub tells of its servers. Opened once; whoever reads it opens it
//! again.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use helve_model::ErrorCode;
use http::header::ACCEPT;
use http::{HeaderValue, Method};
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::transport::http::client::{HttpClient, HttpRequest};
use crate::transport::http::events::{EventStream, Position};
use crate::transport::http::posting::is_event_stream;
use crate::transport::http::refusal::{HttpRefusal, of_content, of_status};
use crate::transport::http::sse::Decoded;
use crate::transport::http::target::HttpTarget;

/// Events from one address, as they come. Dropped, the connection is closed.
pub struct Feed {
    events: EventStream,
    limit: usize,
    /// Its connections live as long as it does.
    _client: HttpClient,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEvent {
    /// Its kind; `None` where nobody said.
    pub kind: Option<String>,
    /// Its data.
    pub data: Bytes,
}

impl Feed {
    /// Opens the stream, within this time. An event above `limit` bytes is an error, and so is another origin.
    ///
    /// # Errors
    /// That nobody answers, or not with a stream of events; `AUTH_REQUIRED` when the credentials do not count.
    pub async fn open(target: HttpTarget, limit: usize, within: Duration) -> Result<Self> {
        let client = HttpClient::new(target)?;
        let mut headers = client.headers().clone();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let request = HttpRequest { method: Method::GET, url: None, headers: &headers, more: &[], body: Bytes::new() };
        let sent = AtomicBool::new(false);
        let response = timeout(within, client.send(&request, &sent)).await.map_err(|_| silent(within))??;
        if !response.status.is_success() {
            let refusal = timeout(within, of_status(response, limit)).await.map_err(|_| silent(within))?;
            return Err(match refusal {
                HttpRefusal::Other(error) => error,
                HttpRefusal::Rpc(error) => Error::new(ErrorCode::ProtocolError, error.to_string()),
            });
        }
        if !is_event_stream(&response) {
            return Err(of_content(response, "a stream of events").await);
        }
        let events = EventStream::new(response.body, limit, Position::default());
        Ok(Self { events, limit, _client: client })
    }

    /// The next event, or the end of the stream: an error each, or that nothing was heard for so long. Comments, which say
    /// that somebody is there, count as heard. Cancel safe.
    ///
    /// # Errors
    /// Why nothing more comes.
    pub async fn next(&mut self, silence: Duration) -> Result<FeedEvent> {
        loop {
            let heard = timeout(silence, self.events.next()).await.map_err(|_| silent(silence))?;
            match heard {
                Some(Ok(Decoded::Event(event))) => {
                    // Without data it is a sign of life.
                    let Some(data) = event.data else { continue };
                    return Ok(FeedEvent { kind: event.event, data });
                }
                Some(Ok(Decoded::TooLarge { .. })) => {
                    let message = format!("an event is larger than {} bytes", self.limit);
                    return Err(Error::new(ErrorCode::LimitExceeded, message));
                }
                Some(Err(error)) => {
                    return Err(Error::new(ErrorCode::TransportError, "the stream broke off").with_source(error));
                }
                None => return Err(Error::new(ErrorCode::TransportError, "the stream has ended")),
            }
        }
    }
}

fn silent(within: Duration) -> Error {
    Error::new(ErrorCode::Timeout, format!("nothing was heard for {} s", within.as_secs_f64()))
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Feed").finish_non_exhaustive()
    }
}
