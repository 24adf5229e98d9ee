//! What a connection does differently in the two eras, as the rest of the crate asks for it: nobody outside this directory
//! asks which era it is.

use std::fmt;

use helve_model::json::RawJson;

use super::{Era, legacy, modern};
use crate::ClientInfo;
use crate::session::Relayed;

/// One era, spoken with one server.
pub(crate) trait Speech: fmt::Debug + Send + Sync {
    /// What a server is asked to see whether it is alive.
    fn liveness_method(&self) -> &'static str;

    /// True when servers may ask for things at any time; false when they ask by the results of calls alone.
    fn asks_at_any_time(&self) -> bool;

    /// True when a call ends a round with a question, and is made again with the answer.
    fn calls_in_rounds(&self) -> bool {
        !self.asks_at_any_time()
    }

    /// What every request says about whoever makes it, as members of its metadata. Empty where the handshake said it.
    fn request_meta(&self, version: &str, client: &ClientInfo, declared: &str, log_level: Option<&str>) -> String;

    /// True when requests say that themselves, so that one may be made in somebody else's name.
    fn has_request_meta(&self) -> bool;

    /// How a server is asked for logs; `None` where each request says it.
    fn log_level_method(&self) -> Option<&'static str>;

    /// The methods by which changes of a resource are followed and no longer followed; `None` where one request listens
    /// for everything.
    fn subscription_methods(&self) -> Option<SubscriptionMethods>;

    /// Parameters that somebody else's call has besides, as this era names them.
    fn relayed_members<'a>(&self, relayed: &'a Relayed) -> [(&'static str, Option<&'a RawJson>); 2];

    /// True when HTTP repeats in headers what a request is about.
    fn repeats_in_headers(&self) -> bool;

    /// True when an HTTP server may keep a session, whose streams can be gone back to, and which a request is taken back in
    /// by a notification. Otherwise hanging up is enough.
    #[cfg(feature = "http")]
    fn has_http_sessions(&self) -> bool;
}

/// Methods of an era that has one for each resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubscriptionMethods {
    pub(crate) subscribe: &'static str,
    pub(crate) unsubscribe: &'static str,
}

impl Era {
    /// How it is spoken.
    pub(crate) fn speech(self) -> &'static dyn Speech {
        match self {
            Self::Legacy => &legacy::Legacy,
            Self::Modern => &modern::Modern,
        }
    }

    /// True when a server of this era keeps nothing between requests, so that several can share one.
    #[must_use]
    pub const fn is_stateless(self) -> bool {
        matches!(self, Self::Modern)
    }
}

/// How a request is spoken before anything is agreed upon: only a modern probe names a version.
#[cfg(feature = "http")]
pub(crate) fn before_agreement(named_version: Option<&str>) -> &'static dyn Speech {
    match named_version {
        Some(_) => &modern::Modern,
        None => &legacy::Legacy,
    }
}
