//! Search over the definitions of real servers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails loudly")]

mod definitions;
mod search_quality;
