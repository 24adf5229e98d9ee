//! Bad peers.
