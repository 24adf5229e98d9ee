//! How the body of a request is read: bounded in bytes and in time, so that nobody holds a connection by saying nothing.

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Body as HttpBody;
use tokio::time::{Instant, timeout_at};

use super::body::Body;
use super::respond::{plain, refused};
use crate::limits::Limits;
use crate::refusal;

/// The body as text, or the response to a request whose body cannot be had.
pub(super) async fn read<B>(body: B, limits: &Limits) -> Result<ByteString, Box<Response<Body>>>
where
    B: HttpBody + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let bytes = gather(body, limits).await.map_err(|unread| Box::new(unread.response()))?;
    ByteString::try_from(bytes).map_err(|_| Box::new(refused(StatusCode::BAD_REQUEST, None, &refusal::parse_error())))
}

enum Unread {
    TooLarge,
    CutOff,
    TooSlow,
}

async fn gather<B>(body: B, limits: &Limits) -> Result<Bytes, Unread>
where
    B: HttpBody + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = std::pin::pin!(body);
    let end = Instant::now() + limits.body_time;
    let mut whole = BytesMut::new();
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
        whole.extend_from_slice(&data);
    }
}

impl Unread {
    fn response(&self) -> Response<Body> {
        match self {
            Self::TooLarge => plain(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large"),
            Self::CutOff => plain(StatusCode::BAD_REQUEST, "the request was cut off"),
            Self::TooSlow => plain(StatusCode::REQUEST_TIMEOUT, "the rest of the request did not come in time"),
        }
    }
}
