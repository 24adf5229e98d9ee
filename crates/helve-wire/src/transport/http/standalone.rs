//! The stream on which a legacy server speaks unasked: opened once, opened again when it ends, with patience.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::dispatch::{MessageOrigin, Outlet};
use crate::transport::http::events::{EventStream, Position, deliver};
use crate::transport::http::posting::{LEAST_DELAY, Poster, RESUME_DELAY, is_event_stream};
use crate::transport::http::sse::Decoded;
use crate::transport::stream::too_large;

/// Attempts that fail one after another before the stream is given up.
pub(crate) const FAILURES: u32 = 10;
/// The longest wait between two attempts, unless the server asks for more.
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// A stream that lived this long, or carried something, was not a failure.
const HEALTHY_TIME: Duration = Duration::from_secs(5);

/// Listens until the server has no such stream, or cannot be reached any more.
pub(crate) async fn listen(poster: Arc<Poster>, outlet: Arc<dyn Outlet>, begun: oneshot::Sender<bool>) {
    let mut begun = Some(begun);
    let mut tell = |has_begun: bool| {
        if let Some(begun) = begun.take() {
            // Nobody waits any more when it took too long.
            let _: Result<(), bool> = begun.send(has_begun);
        }
    };
    let mut position = Position::default();
    let mut failures = 0;
    while failures < FAILURES {
        match poster.get_stream(&position).await {
            Ok(response) if is_event_stream(&response) => {
                tell(true);
                let began = Instant::now();
                let mut events = EventStream::new(response.body, poster.event_bytes, position);
                let carried = read(&poster, &mut events, &outlet).await;
                position = std::mem::take(&mut events.position);
                let healthy = carried || began.elapsed() >= HEALTHY_TIME;
                failures = if healthy { 0 } else { failures + 1 };
            }
            Ok(response) => {
                let status = response.status;
                response.body.discard();
                tell(false);
                if !status.is_server_error() || status == http::StatusCode::NOT_IMPLEMENTED {
                    tracing::debug!(%status, "the server has no stream of its own");
                    return;
                }
                failures += 1;
            }
            Err(error) => {
                tracing::debug!(%error, "the server's own stream cannot be opened");
                tell(false);
                failures += 1;
            }
        }
        tokio::time::sleep(delay(position.retry, failures)).await;
    }
    tracing::warn!(address = poster.client.address(), "the server's own stream is given up: it fails again and again");
}

/// Reads one stream to its end; true when it carried anything.
async fn read(poster: &Poster, events: &mut EventStream, outlet: &Arc<dyn Outlet>) -> bool {
    let mut carried = false;
    while let Some(Ok(decoded)) = events.next().await {
        match decoded {
            Decoded::Event(event) => {
                if let Some(data) = event.data.filter(|data| !data.is_empty()) {
                    carried = true;
                    deliver(&poster.dispatcher, data, MessageOrigin::Connection, outlet);
                }
            }
            Decoded::TooLarge { id: Some(id) } => poster.dispatcher.reject(id, too_large(poster.event_bytes)),
            Decoded::TooLarge { id: None } => {}
        }
    }
    carried
}

/// What the server asks for, and longer the more often it fails.
pub(crate) fn delay(retry: Option<Duration>, failures: u32) -> Duration {
    let first = retry.unwrap_or(RESUME_DELAY).max(LEAST_DELAY);
    let longest = LONGEST_DELAY.max(first);
    first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(longest)
}
