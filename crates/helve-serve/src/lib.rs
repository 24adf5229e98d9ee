//! A [`helve::Host`] shown as one MCP server, so that any agent gets all servers, one policy and one record through one
//! entry.
//!
//! [`Gateway`] holds what does not depend on how an agent comes in; [`face`] has the ways in. Payloads are relayed as bytes:
//! a field nobody here knows survives the trip.
//!
//! Nothing here listens, reads configuration, or looks at the environment.

#![warn(missing_docs)]

mod agent;
mod approver_source;
mod assigned_host;
mod authenticate;
mod batch;
mod capabilities;
mod catalog;
mod change_notices;
mod conversation;
mod discovery;
mod elicit_approval;
mod era;
mod exchange;
pub mod face;
mod gate;
mod gateway;
mod held_tasks;
mod key;
mod ledger;
mod limits;
mod links;
mod listing_cache;
mod lookups;
mod message;
mod named_questions;
mod naming;
mod observer;
mod offer_index;
mod offers;
mod outbox;
mod own_hosts;
mod owner_store;
mod pending_questions;
mod principal;
mod reach;
mod refusal;
mod resources;
mod running;
mod seal;
mod shared_answerer;
mod sign_in_question;
mod tasks;
mod tools;
mod watching;

pub use approver_source::{ApproverSource, AskedAgent, PageQuestion, PageWay};
pub use authenticate::{Authenticate, KnownTokens, LocalUsers, RequestCredentials, Unauthenticated};
pub use discovery::Discovery;
pub use gateway::{Gateway, HostPurpose, HostSource, Options, Unlisted};
pub use key::GatewayKey;
pub use ledger::behind_the_others;
pub use limits::Limits;
pub use naming::Naming;
pub use observer::{AgentNotice, Observer, Visitor};
pub use principal::{Peer, Principal, PrincipalKind};
