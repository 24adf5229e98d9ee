//! Which principals are the same, and what is shown.

use super::*;

#[test]
fn a_principal_is_its_id_and_no_kind_can_spell_another_ones() {
    let all = [
        Principal::LOCAL,
        Principal::token("local"),
        Principal::token("user:1"),
        Principal::local_user(1),
        Principal::connection(1),
        Principal::program(1),
        Principal::token(1),
    ];
    for (left, one) in all.iter().enumerate() {
        for (right, other) in all.iter().enumerate() {
            assert_eq!(one == other, left == right, "{one} {other}");
        }
    }
}

#[test]
fn a_name_is_shown_and_decides_nothing() {
    let plain = Principal::token("ci-1");
    let named = plain.clone().named("the build machine");
    assert_eq!(plain, named);
    assert_eq!((plain.to_string(), named.to_string()), ("token:ci-1".to_owned(), "the build machine".to_owned()));
    assert_eq!((named.id(), named.kind()), ("token:ci-1", PrincipalKind::Token));
}

#[test]
fn an_id_that_was_kept_is_the_same_principal_again_unless_it_meant_a_connection() {
    let lasting = [Principal::LOCAL, Principal::token("ci:1"), Principal::local_user(7), Principal::program("cron")];
    for principal in lasting {
        let again = Principal::from_id(principal.id()).unwrap();
        assert_eq!((&again, again.kind()), (&principal, principal.kind()));
    }
    for id in ["connection:7", "token:", "program:", "user:x", "user:007", "user:-1", "", "person", "Local"] {
        assert_eq!(Principal::from_id(id), None, "{id}");
    }
}
