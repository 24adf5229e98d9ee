//! Which results are given again, for how long, and how many.

use std::time::{Duration, Instant};

use helve_model::json::RawJson;
use helve_model::{Outcome, Owner, Principal, ServerName, ToolName};
use helve_policy::pin::DefinitionHash;
use proptest::prelude::*;

use helve_model::json::canonical::in_order as canonical;

use super::{ResultCache, ResultCacheLimits, ResultKey, entry_bytes};

const MINUTE: Duration = Duration::from_mins(1);

fn cache(entries: usize, bytes: usize) -> ResultCache {
    ResultCache::new(ResultCacheLimits { ttl: MINUTE, entries, bytes })
}

fn key_of(server: &str, definition: &str, arguments: &str) -> ResultKey {
    told_key(Principal::LOCAL, server, definition, arguments, [None; 3])
}

fn told_key(
    principal: Principal,
    server: &str,
    definition: &str,
    arguments: &str,
    told: [Option<&str>; 3],
) -> ResultKey {
    let owner = Owner::new(principal, ServerName::new(server).unwrap());
    let (tool, definition) = (ToolName::new("read"), DefinitionHash::of(definition));
    ResultKey::new(owner, tool, definition, &RawJson::checked(arguments).unwrap(), told)
}

/// How many results there are, and how many bytes they have.
fn sizes(cache: &ResultCache) -> (usize, usize) {
    let shares = cache.shares.values();
    shares.fold((0, 0), |(entries, bytes), share| (entries + share.entries.len(), bytes + share.bytes))
}

fn key(arguments: &str) -> ResultKey {
    key_of("fs", "{}", arguments)
}

#[test]
fn a_result_is_given_until_its_time_is_over() {
    let mut cache = cache(10, 10_000);
    let start = Instant::now();
    cache.insert(key("{}"), Outcome::text("a"), start);
    assert_eq!(cache.get(&key("{}"), start + MINUTE - Duration::from_millis(1)), Some(Outcome::text("a")));
    // Being asked for does not make it younger.
    assert_eq!(cache.get(&key("{}"), start + MINUTE), None);
    assert_eq!((sizes(&cache), cache.shares.values().all(|share| share.by_use.is_empty())), ((0, 0), true));
}

#[test]
fn another_call_is_another_result() {
    let mut cache = cache(10, 10_000);
    let now = Instant::now();
    cache.insert(key_of("fs", "{}", r#"{"path": "a", "tail": 1}"#), Outcome::text("a"), now);
    assert!(cache.get(&key_of("fs", "{}", r#"{"tail":1,"path":"a"}"#), now).is_some());
    for other in [
        key_of("fs", "{}", r#"{"path": "b", "tail": 1}"#),
        key_of("fs", "{}", r#"{"path": "a", "tail": 1.0}"#),
        key_of("fs", r#"{"description": "now something else"}"#, r#"{"path": "a", "tail": 1}"#),
        key_of("other", "{}", r#"{"path": "a", "tail": 1}"#),
    ] {
        assert_eq!(cache.get(&other, now), None, "{other:?}");
    }
}

#[test]
fn a_failure_is_never_kept_and_ends_what_was() {
    let mut cache = cache(10, 10_000);
    let now = Instant::now();
    cache.insert(key("{}"), Outcome::text("a"), now);
    cache.insert(key("{}"), Outcome::failure("no"), now);
    assert_eq!(cache.get(&key("{}"), now), None);
}

#[test]
fn the_longest_unused_goes_first() {
    let mut cache = cache(3, 10_000);
    let now = Instant::now();
    let keys = ["[1]", "[2]", "[3]", "[4]"].map(key);
    for key in &keys[..3] {
        cache.insert(key.clone(), Outcome::text("x"), now);
    }
    assert!(cache.get(&keys[0], now).is_some());
    cache.insert(keys[3].clone(), Outcome::text("x"), now);
    assert_eq!(keys.each_ref().map(|key| cache.get(key, now).is_some()), [true, false, true, true]);
}

#[test]
fn bytes_are_bounded_too() {
    let now = Instant::now();
    let (small, large) = (Outcome::text("x"), Outcome::text(&"x".repeat(1_000)));
    let room = entry_bytes(&key("[1]"), &large);
    let mut cache = cache(100, room);
    for number in 0..3 {
        cache.insert(key(&format!("[{number}]")), small.clone(), now);
    }
    assert!(sizes(&cache).0 > 1);
    cache.insert(key("[9]"), large, now);
    assert_eq!(sizes(&cache), (1, room));
    // What would not fit even alone pushes nothing out.
    cache.insert(key("[8]"), Outcome::text(&"x".repeat(1_001)), now);
    assert!(cache.get(&key("[9]"), now).is_some());
}

#[test]
fn s18_what_one_changes_takes_nothing_from_another() {
    let mut cache = cache(3, 10_000);
    let now = Instant::now();
    let of = |principal: Principal, server: &str| told_key(principal, server, "{}", "{}", [None; 3]);
    let (ours, elsewhere, theirs) =
        (of(Principal::token(0), "fs"), of(Principal::token(0), "db"), of(Principal::token(1), "fs"));
    for key in [&ours, &elsewhere, &theirs] {
        cache.insert(key.clone(), Outcome::text("x"), now);
    }
    cache.forget(&Owner::new(Principal::token(0), ServerName::new("fs").unwrap()));
    assert!(cache.get(&ours, now).is_none());
    assert!(cache.get(&elsewhere, now).is_some() && cache.get(&theirs, now).is_some());
}

#[test]
fn a_server_is_forgotten_alone() {
    let mut cache = cache(10, 10_000);
    let now = Instant::now();
    cache.insert(key_of("fs", "{}", "[1]"), Outcome::text("x"), now);
    cache.insert(key_of("fs", "{}", "[2]"), Outcome::text("x"), now);
    cache.insert(key_of("db", "{}", "[1]"), Outcome::text("x"), now);
    cache.forget_server(&ServerName::new("fs").unwrap());
    assert_eq!(sizes(&cache).0, 1);
    assert!(cache.get(&key_of("db", "{}", "[1]"), now).is_some());
}

#[test]
fn s18_a_result_is_one_principals_and_of_all_that_the_server_was_told() {
    let mut cache = cache(3, 10_000);
    let now = Instant::now();
    let of = |principal: Principal, told: [Option<&str>; 3]| told_key(principal, "fs", "{}", "{}", told);
    let ours = of(Principal::token(0), [Some(r#"{"a":1,"b":2}"#), Some(r#"{"more":1}"#), Some(r#"{"roots":{}}"#)]);
    cache.insert(ours.clone(), Outcome::text("ours"), now);
    let spelled = [Some(r#"{ "b":2, "a":1 }"#), Some(r#"{"more":1}"#), Some(r#"{"roots":{}}"#)];
    assert!(cache.get(&of(Principal::token(0), spelled), now).is_some());
    for told in [
        [None, Some(r#"{"more":1}"#), Some(r#"{"roots":{}}"#)],
        [Some(r#"{"a":1,"b":3}"#), Some(r#"{"more":1}"#), Some(r#"{"roots":{}}"#)],
        [Some(r#"{"a":1,"b":2}"#), None, Some(r#"{"roots":{}}"#)],
        [Some(r#"{"a":1,"b":2}"#), Some(r#"{"more":1}"#), None],
        [Some(r#"{"more":1}"#), Some(r#"{"a":1,"b":2}"#), Some(r#"{"roots":{}}"#)],
    ] {
        assert_eq!(cache.get(&of(Principal::token(0), told), now), None, "{told:?}");
    }
    for other in [Principal::token(1), Principal::local_user(0), Principal::connection(0), Principal::LOCAL] {
        assert_eq!(cache.get(&of(other.clone(), spelled), now), None, "{other}");
        // However much it keeps, ours stays.
        for number in 0..10 {
            let arguments = format!("[{number}]");
            let theirs = told_key(other.clone(), "fs", "{}", &arguments, [None; 3]);
            cache.insert(theirs, Outcome::text("theirs"), now);
        }
    }
    assert_eq!(cache.get(&ours, now), Some(Outcome::text("ours")));
    // An owner of whom nothing is good any more costs nothing.
    cache.insert(key("{}"), Outcome::text("x"), now);
    cache.insert(told_key(Principal::local_user(9), "fs", "{}", "{}", [None; 3]), Outcome::text("x"), now + MINUTE);
    assert_eq!(cache.shares.len(), 1);
}

#[test]
fn canonical_arguments() {
    for (text, expected) in [
        (r#" { "b" : [ 1 , {"z":1,"y" : "a b"} ] , "a" : 1.0 } "#, r#"{"a":1.0,"b":[1,{"y":"a b","z":1}]}"#),
        (r#"{"a":2,"b":3,"a":1}"#, r#"{"a":2,"a":1,"b":3}"#),
        (r#"{"n":18446744073709551617}"#, r#"{"n":18446744073709551617}"#),
        ("{}", "{}"),
        ("[ ]", "[]"),
        ("{broken", "{broken"),
        ("[1 2]", "[1 2]"),
    ] {
        assert_eq!(canonical(text), expected);
    }
    let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
    assert_eq!(canonical(&deep), deep);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_books_are_right(
        steps in proptest::collection::vec((0..12_u8, 0..300_usize, any::<bool>(), 0..40_u64), 0..80),
    ) {
        let (entries, bytes) = (5, 2_000);
        let mut cache = cache(entries, bytes);
        let mut now = Instant::now();
        for (number, length, is_insert, pause) in steps {
            now += Duration::from_secs(pause);
            let key = key(&format!("[{number}]"));
            let outcome = Outcome::text(&"x".repeat(length));
            if is_insert {
                cache.insert(key.clone(), outcome.clone(), now);
                prop_assert_eq!(cache.get(&key, now), Some(outcome));
            } else {
                cache.get(&key, now);
            }
            let shares: Vec<_> = cache.shares.values().collect();
            for share in shares {
                prop_assert!(share.entries.len() <= entries && share.bytes <= bytes);
                prop_assert_eq!(share.entries.len(), share.by_use.len());
                let counted: usize = share.entries.iter().map(|(key, entry)| entry_bytes(key, &entry.outcome)).sum();
                prop_assert_eq!(counted, share.bytes);
            }
        }
    }
}
