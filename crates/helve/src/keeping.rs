//! Servers that another process keeps running, and lends: how a host comes to them, and how the two know that they mean the
//! same servers.
//!
//! What is lent is the program itself: its three streams, and its end. Whoever has it speaks with the server as if it were
//! their own, in the server's own words; [`program`] only sees to it that several can do so at once.

mod frame;
mod lease;
mod messages;
mod program;

use std::path::Path;
use std::pin::Pin;

use helve_model::{ServerSpec, TransportSpec};
use helve_wire::BoxFuture;
use helve_wire::launch::Launched;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connect;
use crate::schema_cache::Salt;
use crate::settings::Surroundings;

pub use lease::lease;
pub use program::KeptProgram;

/// Both directions of a connection.
pub trait Duplex: AsyncRead + AsyncWrite + Send {}

impl<S: AsyncRead + AsyncWrite + Send> Duplex for S {}

/// A connection to whoever keeps programs.
pub type KeeperConnection = Pin<Box<dyn Duplex>>;

/// Somebody who keeps servers running for others.
pub trait Keeper: Send + Sync {
    /// The program of this server, as if it had just been started; `None`: it is not kept, and is started as usual.
    fn borrow<'a>(&'a self, server: &'a ServerSpec) -> BoxFuture<'a, Option<Launched>>;
}

/// What would run for all of these servers, as a hash under a key that nobody else has: programs, addresses, resolved
/// values, the variables programs would get, and the directory they would run in.
///
/// Two hosts with one fingerprint can share servers: neither could start another one than the other has.
#[must_use]
pub fn fingerprint(
    servers: &[ServerSpec],
    surroundings: &Surroundings,
    working_directory: &Path,
    key: [u8; 32],
) -> [u8; 32] {
    let salt = Salt::from_bytes(key);
    let mut hash = Sha256::new();
    let mut feed = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    feed(&key);
    feed(working_directory.as_os_str().as_encoded_bytes());
    let mut servers: Vec<&ServerSpec> = servers.iter().collect();
    servers.sort_by(|left, right| left.name.cmp(&right.name));
    for server in servers {
        feed(server.name.as_str().as_bytes());
        feed(salt.key(server, Some(working_directory)).as_bytes());
        if let TransportSpec::Stdio(stdio) = &server.transport {
            for (name, value) in connect::command(server, stdio, surroundings).environment.iter() {
                feed(name.as_encoded_bytes());
                feed(value.as_encoded_bytes());
            }
        }
    }
    hash.finalize().into()
}
