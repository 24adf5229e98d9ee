//! A network of one's own, with one door: a listener that is born inside and handed out, so that whoever holds it decides where
//! connections lead. Nothing of the host's network is visible inside.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};

use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv,
    send, sendmsg, socket_with,
};

use crate::PROXY_PORT;
use crate::stage::StageError;

/// The loopback device is the first of every network.
const LOOPBACK: i32 = 1;
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_ACK: u16 = 1 | 4;
const IFF_UP: u32 = 1;

/// The way out for the listener; to be taken while the host's network is still this process's.
pub(crate) fn connect(hand_over_to: &str) -> Result<UnixStream, StageError> {
    let failed = |error: std::io::Error| StageError::new("cannot reach the host's proxy", error);
    let address = SocketAddr::from_abstract_name(hand_over_to).map_err(failed)?;
    UnixStream::connect_addr(&address).map_err(failed)
}

/// Makes the listener in the new network and sends it out.
pub(crate) fn hand_out_listener(way_out: &UnixStream) -> Result<(), StageError> {
    bring_up_loopback()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))
        .map_err(|error| StageError::new("cannot listen in the sandbox's network", error))?;
    let descriptors = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(StageError::new("cannot hand out its listener", "there is no room for it"));
    }
    sendmsg(way_out, &[IoSlice::new(b"l")], &mut ancillary, SendFlags::NOSIGNAL)
        .map_err(|error| StageError::new("cannot hand out its listener", error))?;
    Ok(())
}

fn bring_up_loopback() -> Result<(), StageError> {
    let failed = |error: rustix::io::Errno| StageError::new("cannot bring up the sandbox's network", error);
    // The protocol that is number 0: routes and devices.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None).map_err(failed)?;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
    message.extend([1_u32, 0].map(u32::to_ne_bytes).as_flattened());
    // Any family, any kind of device; then which, and the flag to set among the flags to change.
    message.extend([0_u8; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend([IFF_UP, IFF_UP].map(u32::to_ne_bytes).as_flattened());
    send(&socket, &message, SendFlags::empty()).map_err(failed)?;
    let mut answer = [0_u8; 128];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty()).map_err(failed)?;
    // The header, and behind it an error number that is 0 for none.
    let error = answer.get(..length).and_then(|answer| answer.get(16..20)).and_then(|bytes| bytes.try_into().ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(failed(rustix::io::Errno::from_raw_os_error(-error))),
        None => Err(StageError::new("cannot bring up the sandbox's network", "the kernel's answer is too short")),
    }
}

/// True when this process can have a network of its own. It has it afterwards.
#[expect(deprecated, reason = "its successor is unsafe for flags of shared descriptors, which are not asked for here")]
pub(crate) fn is_to_be_had() -> bool {
    rustix::thread::unshare(rustix::thread::UnshareFlags::NEWNET).is_ok() && bring_up_loopback().is_ok()
}
