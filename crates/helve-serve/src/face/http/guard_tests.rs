//! Which requests come in, and which do not.

use secrecy::SecretString;

use super::*;
use crate::authenticate::KnownTokens;

/// Known by their number.
fn tokens(tokens: &[&str]) -> Arc<dyn Authenticate> {
    Arc::new(KnownTokens::new(tokens.iter().enumerate().map(|(number, token)| (number, SecretString::from(*token)))))
}

fn admit(guard: &Guard, headers: &[(header::HeaderName, &str)]) -> Result<Principal, Barred> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name, value.parse().unwrap());
    }
    guard.admit(&Uri::from_static("/mcp"), &map, Peer { connection: 7, user: Some(1000) })
}

#[test]
fn only_names_that_are_ours() {
    let guard = Guard { hosts: vec!["tools.example.com".into()], ..Guard::default() };
    for host in ["localhost", "LOCALHOST:80", "127.0.0.1:7332", "[::1]:7332", "[::1]", "tools.example.com:443"] {
        assert_eq!(admit(&guard, &[(header::HOST, host)]), Ok(Principal::local_user(1000)), "{host}");
    }
    for host in ["evil.example.com", "localhost.evil.example.com:80", "127.0.0.1.evil.example.com", ""] {
        assert_eq!(admit(&guard, &[(header::HOST, host)]), Err(Barred::Host), "{host}");
    }
    assert_eq!(admit(&guard, &[]), Err(Barred::Host));
}

#[test]
fn who_listens_everywhere_is_reached_at_any_address_but_under_no_name() {
    let guard = Guard { any_address: true, ..Guard::default() };
    for host in ["192.0.2.7", "192.0.2.7:7332", "[2001:db8::7]:7332"] {
        assert!(admit(&guard, &[(header::HOST, host)]).is_ok(), "{host}");
        assert_eq!(admit(&Guard::default(), &[(header::HOST, host)]), Err(Barred::Host), "{host}");
    }
    for host in ["evil.example.com", "192.0.2.7.evil.example.com", "[evil]", "192.0.2", ""] {
        assert_eq!(admit(&guard, &[(header::HOST, host)]), Err(Barred::Host), "{host}");
    }
}

#[test]
fn s2_without_a_token_only_the_same_user_and_unknown_is_barred() {
    let of = |authenticate: Arc<dyn Authenticate>, user: Option<u32>| {
        let headers = HeaderMap::from_iter([
            (header::HOST, "localhost".parse().unwrap()),
            (header::AUTHORIZATION, "Bearer one".parse().unwrap()),
        ]);
        let guard = Guard { authenticate, ..Guard::default() };
        guard.admit(&Uri::from_static("/mcp"), &headers, Peer { connection: 7, user })
    };
    let only = |user: u32| Arc::new(LocalUsers { only: Some(user) });
    assert_eq!(of(only(1000), Some(1000)), Ok(Principal::local_user(1000)));
    assert_eq!(of(only(1000), Some(0)), Ok(Principal::local_user(0)));
    assert_eq!(of(only(1000), None), Err(Barred::User));
    assert_eq!(of(only(0), None), Err(Barred::User));
    assert_eq!(of(only(1000), Some(1001)), Err(Barred::User));
    assert_eq!(of(tokens(&["one"]), Some(1001)), Ok(Principal::token(0)));
    assert_eq!(of(tokens(&["one"]), None), Ok(Principal::token(0)));
    assert_eq!(of(tokens(&["two"]), Some(1000)), Err(Barred::Token));
}

#[test]
fn s0_what_has_come_too_far_goes_no_further() {
    let counted = |counts: &[&str]| {
        let headers = counts.iter().map(|count| (Nesting::HEADER.parse().unwrap(), count.parse().unwrap()));
        Guard::default().counts(&headers.collect::<HeaderMap>())
    };
    for near in [&[][..], &["1"], &["3"], &["2", "1"]] {
        assert_eq!(counted(near), Ok(()), "{near:?}");
    }
    for far in [&["4"][..], &["1", "4"], &["4294967296"], &["-1"], &[""], &["one"]] {
        assert_eq!(counted(far), Err(Barred::Circle), "{far:?}");
    }
    let guard = Guard::default();
    let through = |trail: &str| {
        let header = (Nesting::TRAIL_HEADER.parse().unwrap(), trail.parse().unwrap());
        guard.counts(&[header].into_iter().collect::<HeaderMap>())
    };
    assert_eq!(through(&Nesting::default().trail()), Ok(()));
    assert_eq!(through(&format!("{}, {}", Nesting::default().trail(), guard.nesting.trail())), Err(Barred::Circle));
}

#[test]
fn only_pages_that_are_ours() {
    let guard = Guard { origins: vec!["https://app.example.com".into()], ..Guard::default() };
    let from = |origin: &str| admit(&guard, &[(header::HOST, "localhost"), (header::ORIGIN, origin)]);
    assert!(from("http://localhost:3000").is_ok() && from("https://app.example.com").is_ok());
    assert_eq!(from("http://app.example.com"), Err(Barred::Origin));
    assert_eq!(from("null"), Err(Barred::Origin));
    assert_eq!(from("http://evil.example.com"), Err(Barred::Origin));
}

#[test]
fn a_token_says_who_it_is() {
    let guard = Guard { authenticate: tokens(&["one", "two"]), ..Guard::default() };
    let with = |value: &str| admit(&guard, &[(header::HOST, "localhost"), (header::AUTHORIZATION, value)]);
    assert_eq!(with("Bearer two"), Ok(Principal::token(1)));
    assert_eq!(with("bearer one"), Ok(Principal::token(0)));
    for wrong in ["Bearer three", "Bearer ", "Basic two", "two"] {
        assert_eq!(with(wrong), Err(Barred::Token), "{wrong}");
    }
    assert_eq!(admit(&guard, &[(header::HOST, "localhost")]), Err(Barred::Token));
}

#[test]
fn s16_a_header_that_decides_comes_once() {
    let guard = Guard { authenticate: tokens(&["one"]), ..Guard::default() };
    let once = [(header::HOST, "localhost"), (header::AUTHORIZATION, "Bearer one"), (header::CONTENT_LENGTH, "2")];
    assert_eq!(admit(&guard, &once), Ok(Principal::token(0)));
    let named = |name: &'static str| HeaderName::from_static(name);
    let twice = [
        (header::HOST, "evil.example.com"),
        (header::HOST, "localhost"),
        (header::AUTHORIZATION, "Bearer other"),
        (header::AUTHORIZATION, "Bearer one"),
        (header::CONTENT_LENGTH, "3"),
    ];
    for header in twice {
        assert_eq!(
            admit(&guard, &[&once[..], std::slice::from_ref(&header)].concat()),
            Err(Barred::Doubled),
            "{header:?}"
        );
    }
    let absent = [header::ORIGIN, header::TRANSFER_ENCODING, header::CONTENT_TYPE, named("mcp-session-id")];
    let protocol = ["mcp-method", "mcp-name", "mcp-protocol-version", "mcp-param-path", "last-event-id"].map(named);
    for name in absent.into_iter().chain(protocol) {
        let both = [(name.clone(), "http://localhost"), (name.clone(), "http://localhost")];
        assert_eq!(admit(&guard, &[&once[..], &both].concat()), Err(Barred::Doubled), "{name}");
        assert_eq!(admit(&guard, &[&once[..], &both[..1]].concat()), Ok(Principal::token(0)), "{name}");
    }
    // Lists may come in parts.
    let lists = [(header::ACCEPT, "application/json"), (header::ACCEPT, "text/event-stream")];
    assert_eq!(admit(&guard, &[&once[..], &lists].concat()), Ok(Principal::token(0)));
}

#[test]
fn s16_a_request_line_names_no_other_host() {
    let headers = HeaderMap::from_iter([(header::HOST, "localhost".parse().unwrap())]);
    let at = |uri: &'static str| {
        Guard::default().admit(&Uri::from_static(uri), &headers, Peer { connection: 7, user: Some(1000) })
    };
    assert!(at("/mcp").is_ok() && at("http://localhost:7332/mcp").is_ok());
    assert_eq!(at("http://evil.example.com/mcp"), Err(Barred::Host));
    assert_eq!(at("http://localhost@evil.example.com/mcp"), Err(Barred::Host));
    assert_eq!(at("http://evil.example.com@localhost/mcp"), Err(Barred::Host));
}
