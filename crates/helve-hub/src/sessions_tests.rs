//! Links are spent, sessions end, guesses are limited.

use super::*;

const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);

#[test]
fn a_link_signs_in_once_and_not_too_late() {
    let sessions = Sessions::default();
    let link = sessions.link(NOW).unwrap();
    let cookie = sessions.sign_in(&link, NOW).unwrap();
    assert!(sessions.sign_in(&link, NOW).is_err(), "it is spent");
    assert!(sessions.find(&cookie, NOW).is_some());
    assert!(sessions.find(&link, NOW).is_none());
    let late = sessions.link(NOW).unwrap();
    assert!(sessions.sign_in(&late, NOW.after(LINK_LIFE)).is_err());
}

#[test]
fn a_session_lasts_while_it_is_used() {
    let sessions = Sessions::default();
    let cookie = sessions.sign_in(&sessions.link(NOW).unwrap(), NOW).unwrap();
    let nearly = Duration::from_secs(11 * 3600);
    assert!(sessions.find(&cookie, NOW.after(nearly)).is_some());
    assert!(sessions.find(&cookie, NOW.after(nearly * 2)).is_some());
    assert!(sessions.find(&cookie, NOW.after(nearly * 2 + IDLE)).is_none());
    assert!(sessions.find(&cookie, NOW).is_some(), "a clock that goes back ends nothing");
    sessions.sign_out_everywhere();
    assert!(sessions.find(&cookie, NOW).is_none());
}

#[test]
fn guesses_are_limited_and_forms_are_the_sessions_own() {
    let sessions = Sessions::default();
    for _ in 0..ATTEMPTS {
        assert!(sessions.sign_in("guess", NOW).is_err());
    }
    let link = sessions.link(NOW).unwrap();
    assert!(sessions.sign_in(&link, NOW).is_err(), "even a right one has to wait");
    let cookie = sessions.sign_in(&link, NOW.after(ATTEMPTS_IN * 2)).unwrap();
    let session = sessions.find(&cookie, NOW).unwrap();
    assert!(session.is_own(&session.csrf.clone()) && !session.is_own("") && !session.is_own(&cookie));
}

/// A page that is left open and only listens is not in use.
#[test]
fn looking_keeps_no_session_alive() {
    let sessions = Sessions::default();
    let cookie = sessions.sign_in(&sessions.link(NOW).unwrap(), NOW).unwrap();
    let nearly = Duration::from_secs(11 * 3600);
    assert!(sessions.is_open(&cookie, NOW.after(nearly)));
    assert!(!sessions.is_open(&cookie, NOW.after(IDLE)), "looking used it");
    sessions.sign_out(&cookie);
    assert!(!sessions.is_open(&cookie, NOW));
}
