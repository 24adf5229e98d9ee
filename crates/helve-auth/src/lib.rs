//! Gets and keeps an access token for one server.
//!
//! A server that answers 401 names, by way of its metadata, an authorization server. This crate finds it, becomes a client
//! of it, gets a token by one of six grants, keeps the token fresh, and says what a person has to do where a person is
//! needed. It knows nothing of MCP, of terminals, browsers, files or configuration: those come in through the ports in
//! [`ports`]. Every request it makes goes through the egress policy of [`egress`].
//!
//! [`SignIn`] is the way in: one for each server.

#![warn(missing_docs)]

mod challenge;
mod client;
mod credential;
mod discovery;
mod dpop;
pub mod egress;
mod error;
mod flight;
mod grant;
mod json;
mod jwt;
mod login;
mod memory;
pub mod ports;
mod random;
mod reception;
mod resource;
mod scopes;
mod settings;
mod sign_in;
mod token;

pub use challenge::{Challenge, Scheme};
pub use credential::{Facts, RecordKind, RecordName};
pub use error::{Advice, AuthError, ErrorKind, Result};
pub use login::{DeviceCode, LoginWish, Outcome, Page};
pub use memory::MemoryStore;
pub use resource::{canonical_resource, covers};
pub use settings::{
    Callback, CallbackHost, ConfiguredClient, Grant, IdentityProvider, PkceDemand, Registration, ResourceChoice,
    Settings,
};
pub use sign_in::{LoggedOut, Next, RefusedRequest, SignIn};
