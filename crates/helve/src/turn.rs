//! Turns at servers that several callers share: taken right before a call is sent, so that a call that waits for a
//! person's yes holds none.

use std::fmt;

use helve_model::ServerName;
use helve_wire::BoxFuture;

use crate::error::CallError;

/// Hands out turns at servers, for whoever calls on behalf of several.
pub trait Turns: Send + Sync {
    /// Waits for a turn at this server. Asked when the call is permitted and about to be sent.
    fn take<'a>(&'a self, server: &'a ServerName) -> BoxFuture<'a, Result<Turn, CallError>>;
}

/// The right to have one call on its way. It ends when this is dropped.
pub struct Turn {
    _held: Box<dyn Send + Sync>,
}

impl Turn {
    /// A turn that ends when `held` is dropped.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Turn").finish_non_exhaustive()
    }
}
