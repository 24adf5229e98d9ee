//! Whose process is at the other end of a connection within this machine.

use std::net::{IpAddr, SocketAddr};

/// The user whose process holds the socket at `peer` that is connected to `local`; `None` where nobody knows, and where
/// it is closed already: what nobody holds is listed as the superuser's.
pub(crate) fn user_of(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    #[cfg(target_os = "linux")]
    if let Ok(user) = diagnosis::user_of(peer, local) {
        return user;
    }
    listed(peer)
}

/// Reads the table of all connections, which takes long where many fit: for kernels that cannot be asked for one.
fn listed(peer: SocketAddr) -> Option<u32> {
    let table = match peer {
        SocketAddr::V4(_) => "/proc/net/tcp",
        SocketAddr::V6(_) => "/proc/net/tcp6",
    };
    find(&fs_err::read_to_string(table).ok()?, peer)
}

fn find(table: &str, peer: SocketAddr) -> Option<u32> {
    let wanted = spelled(peer);
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace();
        if fields.nth(1)? != wanted {
            return None;
        }
        // After the local address: the other end, the state, two queues, a timer, retransmits, the user, a time-out, the
        // inode.
        let user = fields.nth(5)?.parse().ok()?;
        (fields.nth(1)? != "0").then_some(user)
    })
}

/// An address as the kernel spells it: words of memory in the machine's own order, then the port.
fn spelled(address: SocketAddr) -> String {
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
#[cfg(target_os = "linux")]
mod diagnosis {
    use std::net::SocketAddr;

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
    /// `TCP_LISTEN`: where there is no such connection, the kernel names whoever listens at its address.
    const LISTENING: u8 = 10;
    /// Where the answer says what was asked for, the state, the user and the inode.
    const KIND_AT: usize = 4;
    const STATE_AT: usize = 17;
    const USER_AT: usize = 80;
    const INODE_AT: usize = 84;

    /// `Ok(None)`: there is no such socket any more, or nobody holds it.
    pub(super) fn user_of(peer: SocketAddr, local: SocketAddr) -> Result<Option<u32>> {
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

    fn read(answer: &[u8]) -> Option<u32> {
        let kind = u16::from_ne_bytes(answer.get(KIND_AT..KIND_AT + 2)?.try_into().ok()?);
        let number = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
        let (user, inode) = (number(USER_AT)?, number(INODE_AT)?);
        let is_connection = kind == BY_FAMILY && *answer.get(STATE_AT)? != LISTENING;
        (is_connection && inode != 0).then_some(user)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1CA4 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0000000000000000 100 0 0 10 0
   1: 0100007F:C350 0100007F:1CA4 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:C352 0100007F:1CA4 05 00000000:00000000 03:00001760 00000000     0        0 0 3 0000000000000000
";

    #[test]
    fn the_user_of_a_connection() {
        assert_eq!(find(TABLE, "127.0.0.1:50000".parse().unwrap()), Some(1000));
        assert_eq!(find(TABLE, "127.0.0.1:50001".parse().unwrap()), None);
        assert_eq!(find(TABLE, "127.0.0.1:50002".parse().unwrap()), None);
        assert_eq!(spelled("[::1]:80".parse().unwrap()), "00000000000000000000000001000000:0050");
    }

    #[test]
    fn a_connection_of_our_own_is_ours_until_it_is_closed() {
        let ourselves = Some(rustix::process::getuid().as_raw());
        for address in ["127.0.0.1:0", "[::1]:0"] {
            // Not every machine has both.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (far, peer) = listener.accept().unwrap();
            let local = far.local_addr().unwrap();
            assert_eq!(user_of(peer, local), ourselves, "{address}");
            assert_eq!(listed(peer), ourselves, "{address}");
            drop(near);
            assert_eq!(user_of(peer, local), None, "{address}");
            assert_eq!(listed(peer), None, "{address}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_answers_for_one_socket_and_no_listener() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, peer) = listener.accept().unwrap();
        let local = far.local_addr().unwrap();
        assert_eq!(diagnosis::user_of(peer, local), Ok(Some(rustix::process::getuid().as_raw())));
        assert_eq!(diagnosis::user_of(local, listener.local_addr().unwrap()), Ok(None));
        drop(near);
    }
}
