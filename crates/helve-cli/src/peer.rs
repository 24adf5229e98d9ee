//! Whose process is at the other end of a connection within this machine. What is not certain is not known: whoever
//! decides by it has to bar what nobody knows.

#[cfg(peer_user)]
mod kernel;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

/// The user who holds the socket at `peer` that is connected to `local`: `None` where the system does not tell, and where it is
/// closed already: the kernel lists what nobody holds as the superuser's.
///
/// `still_there` says whether our own end of that very connection is still up. It is asked last: an address is free for
/// others from the moment on that both ends are gone, and what was found might be theirs.
pub(crate) fn user_of(peer: SocketAddr, local: SocketAddr, still_there: impl FnOnce() -> bool) -> Option<u32> {
    let holder = holder(peer, local)?;
    still_there().then_some(holder.user)
}

/// The user who holds a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holder {
    user: u32,
    inode: u64,
}

/// True when the other end is held by a server that some helve of this machine runs in a sandbox. What the system does not tell
/// counts as no. May block.
#[cfg(all(peer_user, warden))]
pub(crate) fn is_confined(peer: SocketAddr, local: SocketAddr) -> bool {
    holder(peer, local).is_some_and(|holder| helve_wire::launch::warden::confines_holder_of(holder.inode))
}

/// Can this system tell whose a connection to `address` is? Tried with a connection of our own.
pub(crate) fn can_tell(address: IpAddr) -> io::Result<bool> {
    can_tell_by(address, holder)
}

fn can_tell_by(address: IpAddr, lookup: impl FnOnce(SocketAddr, SocketAddr) -> Option<Holder>) -> io::Result<bool> {
    let listener = TcpListener::bind((address, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let ours = near.local_addr()?;
    let told = lookup(ours, near.peer_addr()?);
    drop(near);
    Ok(told.map(|holder| holder.user) == Some(rustix::process::geteuid().as_raw()))
}

#[cfg(peer_user)]
fn holder(peer: SocketAddr, local: SocketAddr) -> Option<Holder> {
    kernel::holder(peer, local)
}

/// The system does not tell.
#[cfg(not(peer_user))]
const fn holder(_peer: SocketAddr, _local: SocketAddr) -> Option<Holder> {
    None
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
