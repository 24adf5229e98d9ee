//! The hub without a listener: who may come in, what they may do, what is recorded of it, and what people are shown.
//!
//! Page and API do everything through the functions in `verbs`: one for each thing that can be done, and the right to do it
//! is checked there and nowhere else. Agents are served by [`helve_serve`]; what they call is recorded by [`CallRecorder`].
//!
//! Nothing here listens, prints, or knows what time it is: requests, keys and a clock are handed in.

#![warn(missing_docs)]

mod actor;
mod answer;
mod api;
mod applied_edits;
mod approval_queue;
mod authenticate;
mod bodies;
mod connect_lines;
mod devices;
mod door;
mod error;
mod feed;
mod hub;
mod live;
mod masks;
mod metrics;
mod page;
mod recorder;
mod sessions;
mod tokens;
mod verbs;

pub use actor::Actor;
pub use answer::Body;
pub use api::openapi;
pub use approval_queue::{AgentApprovers, Announcement, ApprovalQueue, ApprovalTimes};
pub use authenticate::HubAuthenticate;
pub use bodies::BodySeal;
pub use connect_lines::{ConnectLine, connect_lines};
pub use door::{LONGEST_BODY, RequestTarget};
pub use error::HubError;
pub use hub::{Hub, HubOptions, Programs};
pub use live::Live;
pub use metrics::Metrics;
pub use recorder::CallRecorder;
pub use tokens::{MadeToken, TokenRequest, Tokens};
pub use verbs::approvals::{
    ApprovalInfo, ApprovalList, DefinitionStand, allow as allow_call, deny as deny_call, list as list_approvals,
    one as approval,
};
pub use verbs::audit::{back_up, export, verify};
pub use verbs::status::{HubStatus, status};
pub use verbs::tokens::{list as list_tokens, make as make_token, revoke as revoke_token};
