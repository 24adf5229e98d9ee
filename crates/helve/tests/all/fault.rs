//! What stays true when servers die, hang, flood or refuse.

pub(crate) mod crash;
mod endpoint;
mod ends;
mod fifty;
mod flood;
