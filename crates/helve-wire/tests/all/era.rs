//! Which era a peer is taken to speak, and what that costs.
