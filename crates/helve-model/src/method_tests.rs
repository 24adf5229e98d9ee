//! Methods as they are written, and as they are meant.

use super::*;

#[test]
fn what_the_protocol_names_is_reserved_in_every_spelling() {
    let known = REQUESTS.iter().chain(&CLIENT_NOTIFICATIONS).chain(&SERVER_NOTIFICATIONS).map(|method| method.name);
    for name in known.chain(QUESTIONS) {
        assert!(is_reserved(name), "{name}");
        let odd = [
            name.to_uppercase(),
            format!(" {name}"),
            format!("{name}\n"),
            format!("{name}/"),
            format!("/{name}"),
            name.replace('/', "//"),
            name.replace('i', "\u{200b}i").replace('a', "a\u{ad}"),
            name.replace('o', "o\u{fe0f}"),
            name.replace('k', "\u{212a}"),
            format!("\u{feff}{name}\u{0}"),
        ];
        for odd in odd {
            assert!(is_reserved(&odd), "{odd:?}");
        }
    }
    for name in ["", " ", "tools/", "tools/other", "resources/new", "rpc.discover", "notifications/tools/x"] {
        assert!(is_reserved(name), "{name:?}");
    }
}

#[test]
fn a_vendors_own_names_are_not() {
    for name in ["vendor/do", "toolsmith/call", "notifications/vendor/said", "pingpong", "x", "notifications/messages"]
    {
        assert!(!is_reserved(name), "{name}");
    }
}

#[test]
fn every_extension_of_the_tables_is_a_known_one() {
    for method in REQUESTS.iter().chain(&CLIENT_NOTIFICATIONS).chain(&SERVER_NOTIFICATIONS) {
        if let MethodPart::Extension(name) = method.of {
            assert!(EXTENSIONS.contains(&name), "{}", method.name);
        }
    }
    assert_eq!(request("tools/call").map(|method| method.need), Some(Need::Tool));
    assert_eq!(request("Tools/call"), None);
    assert_eq!(client_notification("tools/call"), None);
    assert_eq!(server_notification("notifications/tools/list_changed").map(|method| method.need), Some(Need::Nothing));
}
