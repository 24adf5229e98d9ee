//! Several messages in one: an array of them is answered with an array, in the version of the protocol that has them.

use bytestring::ByteString;
use futures_util::future::join_all;
use helve_model::json::RawJson;
use helve_model::protocol::methods;
use helve_wire::RpcError;
use helve_wire::plane;

use crate::era;
use crate::gate::{self, Barred, Passed, Request};
use crate::message::Message;
use crate::refusal::{self, invalid_request};

/// Messages in one batch.
const MOST_MESSAGES: usize = 1_000;

/// A batch, sorted by what is to be done with it.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// To be answered.
    pub(crate) requests: Vec<Request>,
    /// Answered already: what is not a message.
    refusals: Vec<Message>,
    /// Something in it goes no further, and nobody waits for an answer to it.
    dropped: bool,
    /// What asks for no answer.
    pub(crate) others: Vec<Passed>,
}

/// Is this an array, whatever is in it?
pub(crate) fn is_batch(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

/// Reads a batch of an agent that speaks this version.
pub(crate) fn read(version: Option<&str>, text: &ByteString) -> Result<Batch, RpcError> {
    let messages = plane::batch(text).ok_or_else(|| refusal::of_noise(text))?;
    if !version.is_some_and(era::legacy::has_batches) {
        return Err(invalid_request(
            "there are no batches in this version of the protocol: send one message at a time",
        ));
    }
    let mut batch = Batch::default();
    for (number, message) in messages.enumerate() {
        if number == MOST_MESSAGES {
            return Err(invalid_request(format!("a batch has at most {MOST_MESSAGES} messages")));
        }
        match gate::read(&message) {
            Ok(Passed::Request(request)) if request.method == methods::INITIALIZE => {
                let error = invalid_request("`initialize` is sent by itself");
                batch.refusals.push(Message::answer(&request.id, &Err(error)));
            }
            Ok(Passed::Request(request)) => batch.requests.push(request),
            Ok(other) => batch.others.push(other),
            Err(Barred::Refused { id, error }) => {
                let id = id.unwrap_or_else(|| RawJson::from_static("null"));
                batch.refusals.push(Message::answer(&id, &Err(error)));
            }
            Err(Barred::Dropped) => batch.dropped = true,
        }
    }
    if !batch.dropped && batch.requests.is_empty() && batch.refusals.is_empty() && batch.others.is_empty() {
        return Err(invalid_request("a batch has at least one message"));
    }
    Ok(batch)
}

impl Batch {
    /// Does anything in it want an answer?
    pub(crate) fn asks(&self) -> bool {
        !self.requests.is_empty() || !self.refusals.is_empty()
    }

    /// Answers all requests at once. What was taken back is left out; when that is all, there is no answer.
    pub(crate) async fn answer<Answering>(self, answer: impl Fn(Request) -> Answering) -> Option<Message>
    where
        Answering: Future<Output = Option<Message>>,
    {
        let mut answers = self.refusals;
        answers.extend(join_all(self.requests.into_iter().map(answer)).await.into_iter().flatten());
        (!answers.is_empty()).then(|| Message::batch(&answers))
    }
}
