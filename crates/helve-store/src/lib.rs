//! What a hub remembers between runs: calls, approvals, tokens, definitions it has seen, changes that people made. One SQLite file,
//! one thread that writes to it.
//!
//! A call never waits for the store: [`Store::record`] puts it into a bounded queue, and what finds no room is counted.
//! Rows are written in batches, each chained to the one before by a hash, so that a row that is changed or missing shows.
//!
//! Nothing here knows what time it is: times are handed in. Nothing here is a plain secret: tokens are hashes.

#![warn(missing_docs)]

mod approvals;
mod backup;
mod calls;
mod chain;
mod changes;
mod definitions;
mod devices;
mod error;
mod files;
mod names;
mod retention;
mod schema;
mod seal;
mod search;
mod store;
mod time;
mod tokens;
mod traffic;
mod usage;
mod writer;

pub use approvals::{Approval, ApprovalState, AskOutcome, DecideOutcome, NewApproval, OpenApprovals, Verdict};
pub use calls::{Call, CallBody, Decided, Ended, IntoCall, NewCall};
pub use chain::{ChainReport, hex};
pub use changes::{Change, NewChange};
pub use definitions::{Seen, SeenDefinition};
pub use devices::Device;
pub use error::StoreError;
pub use retention::{Retained, Retention};
pub use seal::SealKey;
pub use search::{Found, Search};
pub use store::{Health, Sizes, Store};
pub use time::Moment;
pub use tokens::{NewToken, Token, TokenKind};
pub use traffic::{Minute, Traffic};
pub use usage::{RuleUse, Usage};
