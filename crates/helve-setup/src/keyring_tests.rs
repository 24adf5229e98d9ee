//! A keyring that works, and every way in which one does not: none costs more than its time, and that once.

use helve_testkit::secret_service::{FakeKeyring, KeyringKind};
use secrecy::ExposeSecret as _;

use super::*;

/// What a machine under load may add to [`TIME`].
const SLACK: Duration = Duration::from_millis(200);

fn keyring(bus: Option<String>) -> Keyring {
    Keyring { bus, silent_since: Mutex::new(None) }
}

fn item() -> Attributes {
    vec![("service", "mail".to_owned()), ("username", "me".to_owned())]
}

fn found(keyring: &Keyring) -> Result<Option<String>, KeyringProblem> {
    keyring.find(vec![item()]).map(|found| found.map(|value| value.expose_secret().to_owned()))
}

fn keep(keyring: &Keyring, value: &str) -> Result<(), KeyringProblem> {
    keyring.keep("a test", item(), SecretString::from(value.to_owned()))
}

#[test]
fn what_is_kept_is_found_by_its_attributes_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let fake = FakeKeyring::start(directory.path(), KeyringKind::Working).unwrap();
    let keyring = keyring(Some(fake.address()));
    assert_eq!(fake.connections(), 0, "a keyring that nobody asks is not connected to");
    assert_eq!(found(&keyring), Ok(None));
    keep(&keyring, "first").unwrap();
    keep(&keyring, "hunter2 \u{fc}").unwrap();
    assert_eq!((found(&keyring), fake.items()), (Ok(Some("hunter2 \u{fc}".to_owned())), 1));
    fake.keep(&[("service", "other"), ("account", "me"), ("more", "x")], "theirs");
    let other = vec![("service", "other".to_owned()), ("account", "me".to_owned())];
    let value = keyring.find(vec![item_of("other"), other]).unwrap().unwrap();
    assert_eq!(value.expose_secret(), "theirs");
}

fn item_of(service: &str) -> Attributes {
    vec![("service", service.to_owned()), ("username", "nobody".to_owned())]
}

#[test]
fn one_that_hangs_costs_its_time_once() {
    for kind in [KeyringKind::SilentBus, KeyringKind::SilentKeyring, KeyringKind::Trickling] {
        let directory = tempfile::tempdir().unwrap();
        let fake = FakeKeyring::start(directory.path(), kind).unwrap();
        let keyring = keyring(Some(fake.address()));
        let start = Instant::now();
        assert_eq!(keep(&keyring, "x"), Err(KeyringProblem::Silent), "{kind:?}");
        let first = start.elapsed();
        assert!(first >= TIME && first < TIME + SLACK, "{kind:?}: {first:?}");
        for _ in 0..10 {
            assert_eq!(found(&keyring), Err(KeyringProblem::Silent));
        }
        assert!(start.elapsed() < TIME + SLACK, "{kind:?}: {:?}", start.elapsed());
        assert_eq!(fake.connections(), 1);
    }
}

#[test]
fn many_who_ask_at_once_wait_once() {
    let directory = tempfile::tempdir().unwrap();
    let fake = FakeKeyring::start(directory.path(), KeyringKind::SilentKeyring).unwrap();
    let keyring = keyring(Some(fake.address()));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert_eq!(found(&keyring), Err(KeyringProblem::Silent)));
        }
    });
    assert!(start.elapsed() < TIME + SLACK, "{:?}", start.elapsed());
}

#[test]
fn one_that_cannot_be_used_says_why_at_once() {
    for (kind, problem) in [
        (KeyringKind::Absent, KeyringProblem::NoService),
        (KeyringKind::Locked, KeyringProblem::Locked),
        (KeyringKind::Volatile, KeyringProblem::Volatile),
        (KeyringKind::Forgetful, KeyringProblem::Failed("does not give back what it was given".to_owned())),
        (KeyringKind::Odd, KeyringProblem::Failed("answers in a form that nobody knows".to_owned())),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let fake = FakeKeyring::start(directory.path(), kind).unwrap();
        let start = Instant::now();
        assert_eq!(keep(&keyring(Some(fake.address())), "x"), Err(problem), "{kind:?}");
        assert!(start.elapsed() < TIME, "{kind:?}");
    }
    assert_eq!(found(&keyring(None)), Err(KeyringProblem::NoBus));
    for address in ["", "tcp:host=localhost,port=1", "unix:path=/nowhere/at/all", "unix:abstract=%zz", "unix:", "x;y"] {
        assert_eq!(found(&keyring(Some(address.to_owned()))), Err(KeyringProblem::NoBus), "{address}");
    }
}

#[test]
fn of_several_addresses_the_first_that_answers_counts() {
    let directory = tempfile::tempdir().unwrap();
    let fake = FakeKeyring::start(directory.path(), KeyringKind::Working).unwrap();
    let address = fake.address().replace("/bus,", "/%62us,");
    let keyring = keyring(Some(format!("unix:path=/nowhere;{address}")));
    assert_eq!(found(&keyring), Ok(None));
}
