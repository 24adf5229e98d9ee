//! Which addresses are of the world, and which of this machine or a private network. Documentation ranges count as public:
//! nobody is there to be protected.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True for addresses that a name in a list may lead to without more being said.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared_by_carriers = a == 100 && (64..128).contains(&b);
    let of_protocols = (a, b, c) == (192, 0, 0);
    let of_benchmarks = a == 198 && (18..20).contains(&b);
    !(a == 0
        || a >= 240
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || shared_by_carriers
        || of_protocols
        || of_benchmarks)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // The address of version 4 inside decides: mapped, compatible (with them `::` and `::1`), translated, 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        // Translated within one network, and Teredo, which hides where it leads.
        [0x64, 0xff9b, 1, ..] | [0x2001, 0, ..] => false,
        // Private, link-local, site-local, multicast.
        [first, ..] => !matches!(first >> 8, 0xfc | 0xfd | 0xff) && !(0xfe80..=0xfeff).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn addresses_of_the_world_and_of_this_place() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "192.0.2.1",
            "198.51.100.7",
            "203.0.113.9",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1",
            "2001:db8::1",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
