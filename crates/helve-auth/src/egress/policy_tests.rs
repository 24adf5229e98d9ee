//! Where requests may go. The classes are compared with a second list, written from the registries.

use std::net::IpAddr;

use proptest::prelude::*;
use url::Url;

use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// A second opinion: prefixes that are not the internet, as the registries list them.
const SPECIAL_V4: &[(&str, u32)] = &[
    ("0.0.0.0", 8),
    ("10.0.0.0", 8),
    ("100.64.0.0", 10),
    ("127.0.0.0", 8),
    ("169.254.0.0", 16),
    ("172.16.0.0", 12),
    ("192.0.0.0", 24),
    ("192.0.2.0", 24),
    ("192.31.196.0", 24),
    ("192.52.193.0", 24),
    ("192.88.99.0", 24),
    ("192.168.0.0", 16),
    ("192.175.48.0", 24),
    ("198.18.0.0", 15),
    ("198.51.100.0", 24),
    ("203.0.113.0", 24),
    ("224.0.0.0", 3),
];

fn is_special(address: Ipv4Addr) -> bool {
    SPECIAL_V4.iter().any(|(prefix, length)| {
        let prefix: Ipv4Addr = prefix.parse().unwrap();
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        u32::from(address) & mask == u32::from(prefix)
    })
}

/// Blocks of addresses that are not public, and how many of their bits are given.
const SPECIAL_BLOCKS: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
];

proptest! {
    #[test]
    fn classes_agree_with_the_registries(bits in any::<u32>()) {
        let address = Ipv4Addr::from(bits);
        prop_assert_eq!(AddressClass::of(IpAddr::V4(address)) != AddressClass::Public, is_special(address));
    }

    #[test]
    fn an_address_inside_another_is_no_way_around(bits in any::<u32>(), block in prop::sample::select(SPECIAL_BLOCKS)) {
        let (start, length) = block;
        let inner = Ipv4Addr::from(u32::from(start) | (bits & (u32::MAX >> length)));
        prop_assert!(is_special(inner), "{}", inner);
        let [a, b, c, d] = inner.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        for outer in [
            inner.to_ipv6_mapped(),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !high, !low),
        ] {
            prop_assert_ne!(AddressClass::of(IpAddr::V6(outer)), AddressClass::Public, "{}", outer);
        }
    }
}

/// Spellings of places that a public server must not be able to make us ask.
pub(in crate::egress) fn spellings() -> Vec<String> {
    let hosts = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.255.255.254",
        "0",
        "0.0.0.0",
        "0x0",
        "10.0.0.1",
        "10.1",
        "0xa.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "192.168.1",
        "0xc0a80001",
        "100.64.0.1",
        "100.127.255.255",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.1",
        "198.18.0.1",
        "192.0.2.1",
        "203.0.113.5",
        "224.0.0.1",
        "239.255.255.250",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "[64:ff9b:1::1]",
        "[2002:7f00:1::]",
        "[2002:a9fe:a9fe::1]",
        "[2002:a00:1::]",
        "[2001:0:7f00:1::]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fec0::1]",
        "[ff02::1]",
        "[100::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[::ffff:0:127.0.0.1]",
        "[fe80::a9fe:a9fe]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "a.b.localhost.",
        "LocalHost.LocalDomain",
        "metadata",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "instance-data",
        "metadata.goog",
    ];
    let mut all = Vec::new();
    for host in hosts {
        for form in [
            "https://HOST/",
            "http://HOST/",
            "https://HOST:8443/x",
            "https://HOST:80/.well-known/a",
            "https://user@HOST/",
        ] {
            all.push(form.replace("HOST", host));
        }
    }
    all.extend(
        [
            "file:///etc/passwd",
            "ftp://a.example/",
            "gopher://127.0.0.1:11211/",
            "data:text/plain,x",
            "http://a.example/",
            "https://user:pw@a.example/",
            "ws://a.example/",
            "javascript:alert(1)",
        ]
        .map(str::to_owned),
    );
    all
}

#[test]
fn a_public_server_leads_nowhere_inside() {
    let policy = Policy::for_server(&url("https://mcp.example.com/mcp"));
    let all = spellings();
    assert!(all.len() >= 300, "{}", all.len());
    for text in all {
        // What is not an address at all cannot be asked either.
        if let Ok(url) = Url::parse(&text) {
            assert!(policy.check(&url).is_err(), "{text}");
        }
    }
    policy.check(&url("https://auth.example.com/token")).unwrap();
    policy.check(&url("https://93.184.216.34/")).unwrap();
    policy.check(&url("https://[2606:2800:220:1:248:1893:25c8:1946]/")).unwrap();
}

#[test]
fn a_server_on_loopback_may_have_its_authorization_server_there() {
    for server in ["http://127.0.0.1:1/mcp", "http://localhost:1/mcp", "http://[::1]:1/mcp"] {
        let policy = Policy::for_server(&url(server));
        policy.check(&url("http://127.0.0.1:2/token")).unwrap();
        policy.check(&url("http://localhost:2/token")).unwrap();
        policy.check(&url("https://auth.example.com/token")).unwrap();
        assert!(policy.check(&url("http://auth.example.com/token")).is_err(), "plain only on this machine");
        assert!(policy.check(&url("https://169.254.169.254/token")).is_err(), "never, whoever names it");
    }
}

#[test]
fn a_private_network_is_asked_only_where_the_person_is_in_it() {
    let private = Policy::for_server(&url("https://10.0.0.5/mcp"));
    private.check(&url("https://10.0.0.6/token")).unwrap();
    assert!(private.check(&url("https://127.0.0.1/token")).is_err());
    assert!(private.check(&url("https://169.254.169.254/token")).is_err());

    let public = Policy::for_server(&url("https://mcp.corp.example/mcp"));
    let inside: IpAddr = "10.0.0.6".parse().unwrap();
    assert!(!public.allows_address("sso.corp.example", inside));
    assert!(public.allows_address("mcp.corp.example.", inside), "the server's own host is asked anyway");
    let named = public.with_named(&url("https://sso.corp.example/realm"));
    assert!(named.allows_address("SSO.corp.example", inside));
    assert!(!named.allows_address("sso.corp.example", "169.254.169.254".parse().unwrap()));
    assert!(!named.allows_address("sso.corp.example", "127.0.0.1".parse().unwrap()));
}
