//! One request on its way: what is sent, how long it may take, and what a missing answer means.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use helve_model::ErrorCode;
use tokio::time::{Instant, sleep_until};

use crate::error::Error;
use crate::pending::{Pending, Slot};

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Without an answer or growing progress.
    pub idle: Duration,
    /// In all, however much progress is reported.
    pub total: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self { idle: Duration::from_secs(30), total: Duration::from_secs(30 * 60) }
    }
}

impl Times {
    /// The same time for both: progress buys nothing.
    #[must_use]
    pub const fn exactly(time: Duration) -> Self {
        Self { idle: time, total: time }
    }
}

/// A request, encoded.
pub(crate) struct Outgoing<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    /// What the request is about: the tool, the prompt, the resource. HTTP repeats it in a header.
    pub(crate) subject: Option<&'a str>,
    /// Further headers that HTTP sends along.
    pub(crate) headers: Vec<(String, String)>,
    /// The version HTTP announces, while none is agreed upon.
    pub(crate) protocol_version: Option<&'a str>,
    pub(crate) body: Vec<u8>,
    /// It carries a token under which its progress is reported.
    pub(crate) wants_progress: bool,
    /// `initialize` must not be cancelled.
    pub(crate) cancellable: bool,
    /// What a notification that cancels it must carry in `_meta`.
    pub(crate) cancel_meta: &'a str,
}

/// The time ran out.
#[derive(Debug)]
pub(crate) struct Elapsed {
    waited: Duration,
    had_progress: bool,
}

/// Waits for `answer`, as long as progress keeps coming or the peer waits for an answer of ours, up to the total.
pub(crate) async fn within<T>(
    times: Times,
    pending: &Pending,
    slot: &Slot,
    answer: impl Future<Output = T>,
) -> Result<T, Elapsed> {
    let mut answer = pin!(answer);
    let started = Instant::now();
    let mut timer = pin!(sleep_until(started + times.idle.min(times.total)));
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return Ok(answer),
            () = &mut timer => {
                let progress = slot.last_progress();
                // A person who fills in a form takes time, and that is not the peer's.
                let heard = [progress, pending.last_asked()].into_iter().flatten().fold(started, Instant::max);
                let until = (heard + times.idle).min(started + times.total);
                if until <= Instant::now() {
                    return Err(Elapsed { waited: started.elapsed(), had_progress: progress.is_some() });
                }
                timer.as_mut().reset(until);
            }
        }
    }
}

impl Elapsed {
    pub(crate) fn into_error(self, may_have_run: bool) -> Error {
        let waited = self.waited.as_secs_f64();
        let message = if self.had_progress {
            format!("the server reported progress but did not finish within {waited:.1} s")
        } else {
            format!("the server did not answer within {waited:.1} s")
        };
        Error::new(ErrorCode::Timeout, message)
            .with_hint("raise the time-out of this server, or look into the server's log")
            .with_may_have_run(may_have_run)
    }
}
