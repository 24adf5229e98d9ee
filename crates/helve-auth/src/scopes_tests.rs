//! Which scopes win over which (Q19, Q20).

use super::*;

fn chosen(
    configured: Option<&[&str]>,
    challenge: Option<&str>,
    resource: Option<&[&str]>,
    before: &[&str],
    server: Option<&[&str]>,
) -> String {
    let owned = |list: &[&str]| list.iter().map(|scope| (*scope).to_owned()).collect::<Vec<_>>();
    let (configured, resource, server) = (configured.map(owned), resource.map(owned), server.map(owned));
    ScopeSources {
        configured: configured.as_deref(),
        challenge,
        resource: resource.as_deref(),
        before: &owned(before),
        server: server.as_deref(),
    }
    .choose()
    .join(" ")
}

#[test]
fn the_strongest_source_wins() {
    assert_eq!(chosen(None, None, None, &[], None), "");
    assert_eq!(chosen(None, None, Some(&["r"]), &[], None), "r");
    assert_eq!(chosen(None, Some("c d"), Some(&["r"]), &[], None), "c d");
    assert_eq!(chosen(Some(&["p"]), Some("c"), Some(&["r"]), &["b"], Some(&["offline_access"])), "p");
    assert_eq!(chosen(Some(&[]), Some("c"), None, &[], None), "");
}

#[test]
fn a_step_up_adds_to_what_was_asked_before() {
    assert_eq!(chosen(None, Some("w"), Some(&["r"]), &["a", "b"], None), "a b w");
    assert_eq!(chosen(None, Some("a w"), None, &["a", "b"], None), "a b w");
}

#[test]
fn offline_access_is_asked_for_where_the_authorization_server_has_it() {
    assert_eq!(chosen(None, Some("c"), None, &[], Some(&["c", "offline_access"])), "c offline_access");
    assert_eq!(chosen(None, Some("c offline_access"), None, &[], Some(&["offline_access"])), "c offline_access");
    assert_eq!(chosen(None, Some("c"), Some(&["offline_access"]), &[], Some(&["c"])), "c");
    assert_eq!(chosen(None, None, None, &[], Some(&["offline_access"])), "", "alone it would narrow what is given");
}

#[test]
fn what_is_not_a_scope_is_left_out() {
    assert_eq!(
        chosen(None, None, Some(&["a", "b c", "", "d\"e", "\u{fc}", "f\\g", "h:i/j.k"]), &[], None),
        "a h:i/j.k"
    );
}
