//! Connections that are somebody's, and those that are nobody's any more.

use super::*;

#[cfg(peer_user)]
const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1CA4 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0000000000000000 100 0 0 10 0
   1: 0100007F:C350 0100007F:0050 01 00000000:00000000 00:00000000 00000000  1001        0 13 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:C350 0100007F:1CA4 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0000000000000000 20 4 30 10 -1
   3: 0100007F:C352 0100007F:1CA4 05 00000000:00000000 03:00001760 00000000     0        0 0 3 0000000000000000
   4: 0100007F:C353 0100007F:1CA4 02 00000000:00000000 03:00001760 00000000  1000        0 14 3 0000000000000000
   5: 0100007F:C354 0100007F:1CA4 05 00000000:00000000 03:00001760 00000000  1000        0 15 3 0000000000000000
";

#[cfg(peer_user)]
#[test]
fn s2_the_user_of_a_connection_by_both_its_ends() {
    let local = "127.0.0.1:7332".parse().unwrap();
    let of = |peer: &str| kernel::find(TABLE, peer.parse().unwrap(), local).map(|holder| holder.user);
    assert_eq!(of("127.0.0.1:50000"), Some(1000));
    assert_eq!(of("127.0.0.1:50001"), None, "there is none");
    assert_eq!(of("127.0.0.1:50002"), None, "nobody holds it");
    assert_eq!(of("127.0.0.1:50003"), None, "it is only on its way");
    assert_eq!(of("127.0.0.1:50004"), Some(1000), "it is closed for writing");
    assert_eq!(of("127.0.0.1:7332"), None, "it is the listener");
    assert_eq!(kernel::spelled("[::1]:80".parse().unwrap()), "00000000000000000000000001000000:0050");
}

#[cfg(peer_user)]
#[test]
fn s2_a_connection_of_our_own_is_ours_until_it_is_closed() {
    let ourselves = Some(rustix::process::getuid().as_raw());
    for address in ["127.0.0.1:0", "[::1]:0"] {
        // Not every machine has both.
        let Ok(listener) = TcpListener::bind(address) else { continue };
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, peer) = listener.accept().unwrap();
        let local = far.local_addr().unwrap();
        let up = || far.peer_addr().is_ok();
        assert_eq!(user_of(peer, local, up), ourselves, "{address}");
        assert_eq!(kernel::listed(peer, local).map(|holder| holder.user), ourselves, "{address}");
        assert_eq!(user_of(peer, local, || false), None, "{address}: what was found may be of another");
        near.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(user_of(peer, local, up), ourselves, "{address}");
        drop(near);
        assert_eq!(user_of(peer, local, up), None, "{address}");
        assert_eq!(kernel::listed(peer, local), None, "{address}");
    }
}

#[test]
fn s2_a_system_that_cannot_tell_is_noticed() {
    let address = IpAddr::from([127, 0, 0, 1]);
    assert!(!can_tell_by(address, |_, _| None).unwrap());
    assert!(
        !can_tell_by(address, |_, _| Some(Holder { user: rustix::process::geteuid().as_raw() + 1, inode: 1 })).unwrap()
    );
    #[cfg(peer_user)]
    assert!(can_tell(address).unwrap());
    #[cfg(not(peer_user))]
    assert!(!can_tell(address).unwrap());
}

#[cfg(peer_user)]
#[test]
fn the_kernel_answers_for_one_socket_and_no_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, peer) = listener.accept().unwrap();
    let local = far.local_addr().unwrap();
    let holder = kernel::diagnosis::holder(peer, local).unwrap();
    assert_eq!(holder.map(|holder| holder.user), Some(rustix::process::getuid().as_raw()));
    assert_eq!(kernel::diagnosis::holder(local, listener.local_addr().unwrap()), Ok(None));
    drop(near);
}
