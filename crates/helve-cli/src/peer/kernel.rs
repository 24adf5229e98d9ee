//! Asking the kernel (Linux) who holds a socket: for that one, or by its table of all.

use std::net::{IpAddr, SocketAddr};

use super::Holder;

/// The states of a connection (`TCP_ESTABLISHED` and the others of the kernel) in which its near end still belongs to the
/// program that opened it: established, or closed for writing alone. One on its way (`TCP_SYN_SENT`) is another's attempt
/// at an address that somebody left; what the kernel goes on with by itself belongs to nobody.
const HELD_STATES: [u8; 3] = [1, 4, 5];

/// The holder of the socket at `peer` that is connected to `local`.
pub(super) fn holder(peer: SocketAddr, local: SocketAddr) -> Option<Holder> {
    if let Ok(holder) = diagnosis::holder(peer, local) {
        return holder;
    }
    listed(peer, local)
}

/// Reads the table of all connections, which takes long where many fit: for kernels that cannot be asked for one.
pub(super) fn listed(peer: SocketAddr, local: SocketAddr) -> Option<Holder> {
    let table = match peer {
        SocketAddr::V4(_) => "/proc/net/tcp",
        SocketAddr::V6(_) => "/proc/net/tcp6",
    };
    find(&fs_err::read_to_string(table).ok()?, peer, local)
}

pub(super) fn find(table: &str, peer: SocketAddr, local: SocketAddr) -> Option<Holder> {
    // Both ends: one address may have connections to several others, of several users.
    let (near, far) = (spelled(peer), spelled(local));
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        if fields.next()? != near || fields.next()? != far {
            return None;
        }
        let state = u8::from_str_radix(fields.next()?, 16).ok()?;
        // After the state: two queues, a timer, retransmits, the user, a time-out, the inode.
        let user = fields.nth(3)?.parse().ok()?;
        let inode = fields.nth(1)?.parse().ok()?;
        (HELD_STATES.contains(&state) && inode != 0).then_some(Holder { user, inode })
    })
}

/// An address as the kernel spells it: words of memory in the machine's own order, then the port.
pub(super) fn spelled(address: SocketAddr) -> String {
    let words = octets(address.ip());
    let words =
        words.chunks_exact(4).map(|word| word.iter().fold(0_u32, |bits, byte| (bits >> 8) | (u32::from(*byte) << 24)));
    let host: String = words.map(|word| format!("{word:08X}")).collect();
    format!("{host}:{:04X}", address.port())
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Asking the kernel for one socket, by netlink (sock_diag(7)).
pub(super) mod diagnosis {
    use std::net::SocketAddr;

    use super::super::Holder;
    use rustix::io::Result;
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

    /// `SOCK_DIAG_BY_FAMILY`.
    const BY_FAMILY: u16 = 20;
    /// `NLM_F_REQUEST`.
    const REQUEST: u16 = 1;
    const FAMILY_V4: u8 = 2;
    const FAMILY_V6: u8 = 10;
    const TCP: u8 = 6;
    const QUESTION_BYTES: u32 = 72;
    const ADDRESS_BYTES: usize = 16;
    /// `INET_DIAG_NOCOOKIE`.
    const ANY_COOKIE: [u8; 8] = [0xff; 8];
    /// Where the answer says what was asked for, the state, the user and the inode.
    const KIND_AT: usize = 4;
    const STATE_AT: usize = 17;
    const USER_AT: usize = 80;
    const INODE_AT: usize = 84;

    /// `Ok(None)`: there is no such socket any more, or nobody holds it. Where there is no such connection, the kernel may
    /// name whoever listens at its address: the state tells.
    pub(in super::super) fn holder(peer: SocketAddr, local: SocketAddr) -> Result<Option<Holder>> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
        send(&socket, &question(peer, local), SendFlags::empty())?;
        let mut answer = [0; 1024];
        // The kernel has answered when the question is sent.
        let (length, _) = recv(&socket, &mut answer, RecvFlags::DONTWAIT)?;
        Ok(read(answer.get(..length).unwrap_or_default()))
    }

    fn question(peer: SocketAddr, local: SocketAddr) -> Vec<u8> {
        let mut question = Vec::new();
        question.extend(QUESTION_BYTES.to_ne_bytes());
        question.extend(BY_FAMILY.to_ne_bytes());
        question.extend(REQUEST.to_ne_bytes());
        // A number for the answer, and who asks: neither matters on a socket for one question.
        question.extend([0; 8]);
        question.extend([if peer.is_ipv4() { FAMILY_V4 } else { FAMILY_V6 }, TCP, 0, 0]);
        // In whatever state it is.
        question.extend(u32::MAX.to_ne_bytes());
        question.extend(peer.port().to_be_bytes());
        question.extend(local.port().to_be_bytes());
        for end in [peer, local] {
            let mut octets = super::octets(end.ip());
            octets.resize(ADDRESS_BYTES, 0);
            question.extend(octets);
        }
        // On any interface.
        question.extend([0; 4]);
        question.extend(ANY_COOKIE);
        question
    }

    fn read(answer: &[u8]) -> Option<Holder> {
        let kind = u16::from_ne_bytes(answer.get(KIND_AT..KIND_AT + 2)?.try_into().ok()?);
        let number = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
        let (user, inode) = (number(USER_AT)?, number(INODE_AT)?);
        let is_held = kind == BY_FAMILY && super::HELD_STATES.contains(answer.get(STATE_AT)?);
        (is_held && inode != 0).then_some(Holder { user, inode: u64::from(inode) })
    }
}
