//! Whose process is at the other end of a connection within this machine.

use std::net::SocketAddr;

/// The user that the socket at `peer` belongs to, as Linux lists it; `None` where nobody knows.
pub(crate) fn user_of(peer: SocketAddr) -> Option<u32> {
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
        let local = fields.nth(1)?;
        // After the local address: the other end, the state, two queues, a timer, retransmits, the user.
        if local == wanted { fields.nth(5)?.parse().ok() } else { None }
    })
}

/// An address as the kernel spells it: words of memory in the machine's own order, then the port.
fn spelled(address: SocketAddr) -> String {
    let octets = match address {
        SocketAddr::V4(address) => address.ip().octets().to_vec(),
        SocketAddr::V6(address) => address.ip().octets().to_vec(),
    };
    let words =
        octets.chunks_exact(4).map(|word| word.iter().fold(0_u32, |bits, byte| (bits >> 8) | (u32::from(*byte) << 24)));
    let host: String = words.map(|word| format!("{word:08X}")).collect();
    format!("{host}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1CA4 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0000000000000000 100 0 0 10 0
   1: 0100007F:C350 0100007F:1CA4 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0000000000000000 20 4 30 10 -1
";

    #[test]
    fn the_user_of_a_connection() {
        assert_eq!(find(TABLE, "127.0.0.1:50000".parse().unwrap()), Some(1000));
        assert_eq!(find(TABLE, "127.0.0.1:50001".parse().unwrap()), None);
        assert_eq!(spelled("[::1]:80".parse().unwrap()), "00000000000000000000000001000000:0050");
    }

    #[tokio::test]
    async fn a_connection_of_our_own_is_ours() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(user_of(near.local_addr().unwrap()), Some(rustix::process::getuid().as_raw()));
    }
}
