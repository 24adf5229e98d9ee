//! What a hub says is read like a stranger's word, and kept.

use std::time::{Duration, UNIX_EPOCH};

use super::{HubList, device, segment};
use crate::hubs::hub_memory::KeptHub;

fn read(text: &str) -> HubList {
    HubList::read(text.as_bytes()).unwrap()
}

fn names(list: &HubList) -> Vec<&str> {
    list.servers.iter().map(|server| server.name.as_str()).collect()
}

#[test]
fn only_plain_names_are_taken_and_none_twice() {
    let list = read(
        r#"{"servers":[{"name":"github","lists":"1"},{"name":"GitHub","lists":"2"},{"name":"a/b:c","lists":""},
            {"name":"Brave Search","lists":"x"},{"name":"","lists":""},{"name":" a","lists":""},{"name":"..","lists":""},
            {"name":"a\u0000b","lists":""},{"name":"a\u202eb","lists":""},{"name":"<b>","lists":""},{"name":"g\u0456thub","lists":""},
            {"name":"marked","lists":"\n"},{"name":3,"lists":""},7,null],"more":{"a":1}}"#,
    );
    assert_eq!(names(&list), ["Brave Search", "a/b:c", "github"]);
    assert_eq!(list.left_out, 12);
    let many: Vec<String> = (0..5_000).map(|number| format!(r#"{{"name":"s{number}","lists":"1"}}"#)).collect();
    let many = read(&format!(r#"{{"servers":[{}]}}"#, many.join(",")));
    assert_eq!((many.servers.len(), many.left_out), (256, 4_744));
    for text in ["", "[]", "{}", r#"{"servers":{}}"#, r#"{"servers":"x"}"#] {
        assert!(HubList::read(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn names_lead_to_their_own_address_and_nowhere_else() {
    let table = [("github", "github"), ("Brave Search", "Brave%20Search"), ("a/b:c", "a%2Fb%3Ac"), ("..", "%2E%2E")];
    for (name, expected) in table {
        assert_eq!(segment(name), expected);
    }
    assert_eq!(device(Some("my laptop\r\nx: y")), "mylaptopxy");
    assert_eq!(device(None), "device");
    assert_eq!(device(Some(&"x".repeat(100))).len(), 64);
}

#[test]
fn what_changed_is_known_and_a_hub_that_is_away_keeps_its_servers() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hubs/hub.json");
    let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    let url = "https://hub.example.com";
    let first = read(r#"{"servers":[{"name":"a","lists":"1"},{"name":"b","lists":"1"}]}"#);
    assert_eq!(KeptHub::keep(&file, url, &first, at(100)), ["a", "b"]);
    let second = read(r#"{"servers":[{"name":"a","lists":"1"},{"name":"b","lists":"2"}]}"#);
    assert_eq!(KeptHub::keep(&file, url, &second, at(200)), ["b"]);
    let kept = KeptHub::read(&file).unwrap();
    assert!(kept.is_current("a", at(150)) && !kept.is_current("b", at(150)) && kept.is_current("b", at(250)));
    assert!(!kept.is_current("c", at(900)));

    KeptHub::note_away(&file, url, "refused", at(300));
    KeptHub::note_away(&file, url, "refused", at(400));
    let away = KeptHub::read(&file).unwrap();
    assert_eq!(away.away.as_ref().map(|away| (away.since, away.tried)), Some((300, 400)));
    assert_eq!((away.servers.len(), away.heard), (2, 200));
    KeptHub::keep(&file, url, &second, at(500));
    assert_eq!(KeptHub::read(&file).unwrap().away, None);
    // Another hub of the same name is another hub.
    assert_eq!(KeptHub::keep(&file, "https://other.example.com", &second, at(600)), ["a", "b"]);
    fs_err::write(&file, "{ nonsense").unwrap();
    assert_eq!(KeptHub::read(&file), None);
}
