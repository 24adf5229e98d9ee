//! What opens, and what does not.

use proptest::prelude::*;

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn fresh() -> Seal {
    Seal::new(&GatewayKey::random(), early)
}

proptest! {
    #[test]
    fn only_the_owner_opens_what_was_sealed_and_only_unchanged(
        call in any::<[u8; 32]>(), state in ".{0,200}", user in any::<u32>(), at in any::<prop::sample::Index>(), bit in 0..6_u8,
    ) {
        let seal = fresh();
        let owner = Principal::local_user(user);
        let sealed = Sealed::State { call: CallDigest(call), state };
        let text = seal.seal(&owner, &sealed, HOUR);
        prop_assert_eq!(seal.open(&owner, &text), Some(sealed));
        prop_assert_eq!(seal.open(&Principal::local_user(user ^ 1), &text), None);
        prop_assert_eq!(seal.open(&Principal::connection(u64::from(user)), &text), None);
        prop_assert_eq!(fresh().open(&owner, &text), None);
        let mut bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(VERSION).unwrap()).unwrap();
        let place = at.index(bytes.len());
        bytes[place] ^= 1 << bit;
        prop_assert_eq!(seal.open(&owner, &format!("{VERSION}{}", URL_SAFE_NO_PAD.encode(bytes))), None);
    }

    #[test]
    fn nonsense_is_not_opened(text in ".{0,200}") {
        prop_assert_eq!(fresh().open(&Principal::token(0), &text), None);
    }
}

#[test]
fn a_call_is_known_by_what_it_does() {
    let server = ServerName::new("one").unwrap();
    let digest = |method: &str, tool: &str, arguments: Option<&'static str>| {
        CallDigest::new(&server, method, tool, arguments.map(RawJson::from_static).as_ref())
    };
    let call = digest("tools/call", "a", Some(r#"{"x":1,"y":[{"b":"\"","a":2}]}"#));
    assert_eq!(call, digest("tools/call", "a", Some(r#" { "y" : [ {"a": 2,"b":"\""} ], "x":1}"#)));
    for arguments in [r#"{"x":1,"y":[{"b":"\"","a":3}]}"#, r#"{"x":1}"#, r#"{"x":1,"y":{"b":"\"","a":2}}"#, "[1]"] {
        assert_ne!(call, digest("tools/call", "a", Some(arguments)), "{arguments}");
    }
    assert_ne!(digest("tools/call", "a", None), digest("tools/call", "b", None));
    assert_ne!(digest("tools/call", "a", None), digest("prompts/get", "a", None));
    assert_eq!(digest("tools/call", "a", None), digest("tools/call", "a", Some("{}")));
}

fn early() -> SystemTime {
    UNIX_EPOCH + HOUR
}

fn just_in_time() -> SystemTime {
    early() + HOUR
}

fn too_late() -> SystemTime {
    just_in_time() + Duration::from_millis(1)
}

#[test]
fn a_seal_grows_old_and_another_process_with_the_key_opens_it_until_then() {
    let key = GatewayKey::new([7; 32]);
    let sealed = Sealed::Parked { call: CallDigest([1; 32]), handle: 7 };
    let text = Seal::new(&key, early).seal(&Principal::token(1), &sealed, HOUR);
    let opened = |clock| Seal::new(&key, clock).open(&Principal::token(1), &text);
    assert_eq!(opened(early), Some(sealed.clone()));
    assert_eq!(opened(just_in_time), Some(sealed));
    assert_eq!(opened(too_late), None);
    assert_eq!(Seal::new(&GatewayKey::new([8; 32]), early).open(&Principal::token(1), &text), None);
}

#[test]
fn a_text_of_another_version_is_not_opened() {
    let seal = Seal::new(&GatewayKey::new([7; 32]), early);
    let text = seal.seal(&Principal::LOCAL, &Sealed::Parked { call: CallDigest([1; 32]), handle: 7 }, HOUR);
    let rest = text.strip_prefix(VERSION).unwrap();
    assert!(seal.open(&Principal::LOCAL, rest).is_none());
    assert!(seal.open(&Principal::LOCAL, &format!("h2.{rest}")).is_none());
}
