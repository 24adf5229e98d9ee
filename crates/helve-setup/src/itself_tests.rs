//! Which addresses are its own, and what a package's name stands for.

use super::{Listener, program_of};

fn is_at(listener: &str, url: &str) -> bool {
    let hosts = vec!["tools.example.com".to_owned()];
    Listener { address: listener.parse().expect("an address"), hosts }.is_at(url)
}

#[test]
fn s0_its_own_listener() {
    for url in [
        "http://127.0.0.1:7332/mcp",
        "http://127.1:7332/sse",
        "http://LocalHost:7332/",
        "http://app.localhost:7332/mcp",
        "http://tools.example.com:7332/mcp",
        "https://user:secret@127.0.0.1:7332/mcp?x=y",
        "http://[::ffff:127.0.0.1]:7332/mcp",
        "http://0.0.0.0:7332/mcp",
    ] {
        assert!(is_at("127.0.0.1:7332", url), "{url}");
        assert!(is_at("0.0.0.0:7332", url), "{url}");
    }
    for url in ["http://127.0.0.1:7333/mcp", "http://127.0.0.1/mcp", "http://192.0.2.7:7332/mcp", "no address"] {
        assert!(!is_at("127.0.0.1:7332", url), "{url}");
        assert!(!is_at("0.0.0.0:7332", url), "{url}");
    }
    assert!(!is_at("192.0.2.7:7332", "http://localhost:7332/mcp"));
    assert!(is_at("192.0.2.7:7332", "http://192.0.2.7:7332/mcp"));
    assert!(is_at("[::]:80", "http://127.0.0.1/mcp"));
}

#[test]
fn s0_the_program_of_a_package() {
    let packages = ["helve", "helve@0.1.0", "@scope/helve", "@scope/helve@latest", "helve==0.1", "helve[all]>=1"];
    assert!(packages.into_iter().all(|package| program_of(package) == "helve"));
}
