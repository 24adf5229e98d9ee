//! How the body of a request is read: bounded in bytes and in time, so that nobody holds a connection by saying nothing.

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Body as HttpBody;
use tokio::time::{Instant, timeout_at};

use super::body::Body;
use super::respond::{limited, plain, refused};
use crate::gateway::Gateway;
use crate::ledger::{Exceeded, Held, Tally, UNCOUNTED_BYTES, behind_the_others};
use crate::limits::Limits;
use crate::principal::Principal;
use crate::refusal;

/// Of a body whose length nobody said, so much is counted at a time.
const STEP: usize = 1 << 20;

/// Others have their turn after so much of a large body.
const READ_AT_A_TIME: usize = 256 << 10;

/// The body as text with what it counts, or the response to a request whose body cannot be had.
pub(super) async fn read<B>(
    body: B,
    gateway: &Gateway,
    principal: &Principal,
) -> Result<(ByteString, Vec<Held>), Box<Response<Body>>>
where
    B: HttpBody + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut count = Count { tally: &gateway.ledger.request_bytes, principal, held: Vec::new(), counted: 0 };
    let gathered = gather(body, &gateway.options.limits, &mut count).await;
    let bytes = gathered.map_err(|unread| Box::new(unread.response()))?;
    let text = ByteString::try_from(bytes);
    let text = text.map_err(|_| Box::new(refused(StatusCode::BAD_REQUEST, None, &refusal::parse_error())))?;
    Ok((text, count.held))
}

enum Unread {
    TooLarge,
    CutOff,
    TooSlow,
    TooMuch(Exceeded),
}

/// What a body counts for its principal.
struct Count<'a> {
    tally: &'a Tally,
    principal: &'a Principal,
    held: Vec<Held>,
    counted: usize,
}

impl Count<'_> {
    /// Counts so much of it in all; small bodies count nothing.
    async fn reach(&mut self, bytes: usize) -> Result<(), Unread> {
        if bytes > UNCOUNTED_BYTES && bytes > self.counted {
            let more = bytes - self.counted;
            let held = self.tally.hold(self.principal, more).await.map_err(Unread::TooMuch)?;
            self.held.push(held);
            self.counted = bytes;
        }
        Ok(())
    }
}

async fn gather<B>(body: B, limits: &Limits, count: &mut Count<'_>) -> Result<Bytes, Unread>
where
    B: HttpBody + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = std::pin::pin!(body);
    let end = Instant::now() + limits.body_time;
    let mut whole = BytesMut::new();
    let said = body.size_hint().exact().and_then(|length| usize::try_from(length).ok());
    if said.is_some_and(|length| length > limits.message_bytes) {
        return Err(Unread::TooLarge);
    }
    count.reach(said.unwrap_or_default()).await?;
    let mut since_others = 0;
    loop {
        let until = end.min(Instant::now() + limits.body_stall);
        let Ok(frame) = timeout_at(until, body.frame()).await else { return Err(Unread::TooSlow) };
        let Some(frame) = frame else { return Ok(whole.freeze()) };
        let Ok(frame) = frame else { return Err(Unread::CutOff) };
        // Trailers say nothing here.
        let Ok(mut data) = frame.into_data() else { continue };
        let length = bytes::Buf::remaining(&data);
        if whole.len() + length > limits.message_bytes {
            return Err(Unread::TooLarge);
        }
        let data = bytes::Buf::copy_to_bytes(&mut data, length);
        // Most bodies come in one piece, which is taken as it is.
        if whole.is_empty() && body.is_end_stream() {
            return Ok(data);
        }
        if whole.len() + length > count.counted {
            count.reach(whole.len() + length.max(STEP.min(whole.len()))).await?;
        }
        whole.extend_from_slice(&data);
        since_others += length;
        if since_others > READ_AT_A_TIME {
            since_others = 0;
            behind_the_others().await;
        }
    }
}

impl Unread {
    fn response(&self) -> Response<Body> {
        match self {
            Self::TooLarge => plain(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large"),
            Self::CutOff => plain(StatusCode::BAD_REQUEST, "the request was cut off"),
            Self::TooMuch(exceeded) => limited(None, *exceeded),
            Self::TooSlow => plain(StatusCode::REQUEST_TIMEOUT, "the rest of the request did not come in time"),
        }
    }
}
