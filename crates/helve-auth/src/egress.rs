//! Which addresses may be asked, and how: one policy for every request that is not the server's own protocol.

mod client;
mod policy;
mod resolver;
mod route;

pub(crate) use client::shown;
pub use client::{Certificates, EgressClient};
pub use policy::{AddressClass, Policy};
pub use resolver::{Resolve, SystemResolver};
