//! Messages of others that are passed on to a server: each needs a clearance, and that a decision. Tools are called,
//! resources read and prompts got by functions of their own.

use std::sync::atomic::Ordering;

use helve_model::json::RawJson;
use helve_model::method::TASKS;
use helve_model::{ErrorCode, ServerName};
use helve_policy::{Answer, Barred, CalledBy, Clearance, MessageForm, Permit, Relay, Subject, Whereabouts};
use helve_wire::Greeting;
use tokio::time::Instant;

use super::record::Recording;
use super::{CallContext, authorize};
use crate::error::CallError;
use crate::host::Host;
use crate::host_core::HostCore;
use crate::record::CallEnd;

impl Host {
    /// Decides whether a message may be passed on to its server, and asks where a rule says so.
    ///
    /// # Errors
    /// `DENIED` when nobody may pass it on, or a rule or a person says no; otherwise why its server cannot be reached.
    pub async fn clear(&self, message: Relay, context: &CallContext) -> Result<Clearance, CallError> {
        let handle = self.handle_of(message.server.as_str())?;
        let permit = match message.subject().map_err(|barred| refused(&barred, &message))? {
            Some(subject) => {
                let sent = message.params.clone().unwrap_or_else(RawJson::empty_object);
                Some(permit(self.shared(), subject, &sent, message.form, context).await?)
            }
            None => None,
        };
        let session = match message.form {
            MessageForm::Request => handle.session(Instant::now() + self.times(&handle).idle).await?,
            // Nothing is started, and nobody waits, to be told something.
            MessageForm::Notification => handle.session_now().ok_or_else(|| handle.unavailable(&handle.status()))?,
        };
        let (server, method) = (message.server.clone(), message.method.clone());
        Clearance::new(message, permit.as_ref(), |extension| declares(session.greeting(), extension)).map_err(
            |barred| {
                CallError::new(ErrorCode::Denied, format!("`{method}` was not passed on: {barred}")).at_server(&server)
            },
        )
    }

    /// Passes a request on, and gives the server's answer.
    ///
    /// # Errors
    /// Whatever the server or the way to it does.
    pub async fn relay(&self, clearance: &Clearance) -> Result<RawJson, CallError> {
        let handle = self.handle_of(clearance.server().as_str())?;
        let times = self.times(&handle);
        let session = handle.session(Instant::now() + times.idle).await?;
        let answer = session.relay(clearance, times).await;
        answer.map_err(|error| CallError::from_wire(error, handle.server()))
    }

    /// Passes a notification on, if the server is connected. A server that has not taken the last ones yet misses it; that
    /// is counted.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED` when it was left out; otherwise why the server cannot be reached.
    pub async fn relay_notification(&self, clearance: &Clearance) -> Result<(), CallError> {
        let handle = self.handle_of(clearance.server().as_str())?;
        let Some(session) = handle.session_now() else { return Ok(()) };
        let Ok(_turn) = handle.notification_turns().try_acquire() else {
            let missed = handle.missed_notifications().fetch_add(1, Ordering::Relaxed) + 1;
            tracing::debug!(server = %handle.server(), missed, "a notification was left out: the server does not take them");
            let message = format!("the server `{}` does not take the notifications it gets", handle.server());
            return Err(CallError::new(ErrorCode::LimitExceeded, message).at_server(handle.server()));
        };
        session.relay_notification(clearance).await.map_err(|error| CallError::from_wire(error, handle.server()))
    }

    /// Decides whether somebody may hear of changes of a resource: whether he may read it.
    ///
    /// # Errors
    /// `DENIED` when a rule or a person says no.
    pub async fn may_follow(&self, server: &ServerName, uri: &str, context: &CallContext) -> Result<(), CallError> {
        permit(self.shared(), Subject::resource(server, uri), &RawJson::empty_object(), MessageForm::Request, context)
            .await
            .map(drop)
    }

    /// True when a rule lets this caller send a method that is not one of the protocol's to a server, perhaps after a
    /// question.
    #[must_use]
    pub fn opens<'a>(&self, server: &ServerName, method: &str, party: impl Into<CalledBy<'a>>) -> bool {
        let Some(rules) = self.shared().rule_set() else { return false };
        !rules.for_tool(Subject::method(server, method)).denies(party)
    }

    /// True when a server declared an extension, now or in an earlier run.
    #[must_use]
    pub fn declares(&self, server: &ServerName, extension: &str) -> bool {
        let snapshot = self.snapshot();
        let greeting = snapshot.server(server.as_str()).and_then(|entry| entry.last_greeting());
        greeting.is_some_and(|greeting| declares(&greeting, extension))
    }
}

/// Does a server have an extension? The older era has tasks as a capability.
fn declares(greeting: &Greeting, extension: &str) -> bool {
    greeting.offers_part("extensions", extension) || (extension == TASKS && greeting.offers("tasks"))
}

async fn permit(
    host: &HostCore,
    subject: Subject,
    sent: &RawJson,
    form: MessageForm,
    context: &CallContext,
) -> Result<Permit, CallError> {
    let name = subject.name.clone();
    let mut recording = Recording::begin(host, None, context, sent);
    recording.found(&name);
    let result = async {
        let Some(rules) = host.rule_set() else {
            return Err(CallError::new(ErrorCode::ServerUnavailable, "the host has no servers yet"));
        };
        let (policy, nothing) = (rules.for_tool(subject), RawJson::empty_object());
        match authorize::decide(host, &policy, nothing, &Whereabouts::default(), context, &mut recording)? {
            Answer::Approved(permit) => Ok(permit),
            Answer::Open(question) if form == MessageForm::Notification => {
                Err(context.refused(&question.refuse_unanswered()))
            }
            Answer::Open(question) => authorize::ask(host, &policy, context, question, &Whereabouts::default()).await,
        }
    }
    .await
    .map_err(|error: CallError| error.at(&name));
    recording.end_with(result.as_ref().map(|_| CallEnd::Done));
    result
}

fn refused(barred: &Barred, message: &Relay) -> CallError {
    let code = match barred {
        Barred::Missing(_) => ErrorCode::InvalidParams,
        _ => ErrorCode::Denied,
    };
    CallError::new(code, format!("`{}` was not passed on: {barred}", message.method)).at_server(&message.server)
}
