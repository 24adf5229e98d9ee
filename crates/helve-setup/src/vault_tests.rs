//! The vault as files, keys and accidents make it.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::*;

fn vault(directory: &std::path::Path, given: Option<&str>) -> Vault {
    let given = given.map(|key| GivenKey::Variable("HELVE_VAULT_KEY", SecretString::from(key.to_owned())));
    Vault::new(directory.join("state"), directory.join("config/vault.key"), given, || UNIX_EPOCH)
}

fn vault_file(directory: &std::path::Path) -> PathBuf {
    directory.join("state/credentials.vault")
}

fn text(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

fn opened(vault: &Vault, name: &str) -> Option<String> {
    vault.read(name).unwrap().map(|text| text.expose_secret().to_owned())
}

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER: &str = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

#[test]
fn what_is_kept_is_sealed_and_can_be_listed_without_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let one = vault(directory.path(), None);
    assert!(one.list().unwrap().is_empty());
    assert!(one.write("secret a", &text("hunter2hunter2"), json!({"kind": "secret"})).unwrap(), "a key was made");
    assert!(!one.write("secret b", &text("other"), json!({})).unwrap());
    let file = fs_err::read_to_string(vault_file(directory.path())).unwrap();
    assert!(!file.contains("hunter2"));
    let other = vault(directory.path(), None);
    assert_eq!(opened(&other, "secret a").as_deref(), Some("hunter2hunter2"));
    assert_eq!(opened(&other, "secret c"), None);
    fs_err::remove_file(one.key_file().unwrap()).unwrap();
    let names: Vec<String> = vault(directory.path(), None).list().unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["secret a", "secret b"]);
    for path in [vault_file(directory.path()), directory.path().join("state")] {
        let mode = fs_err::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn a_key_that_is_gone_or_wrong_is_told_and_nothing_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    vault(directory.path(), None).write("secret a", &text("x"), json!({})).unwrap();
    fs_err::remove_file(vault(directory.path(), None).key_file().unwrap()).unwrap();
    let broken = vault(directory.path(), None);
    let error = broken.read("secret a").unwrap_err();
    assert!(error.to_string().ends_with("config/vault.key, is gone"), "{error}");
    assert!(broken.write("secret b", &text("y"), json!({})).is_err());
    assert!(!broken.key_file().unwrap().exists());

    let directory = tempfile::tempdir().unwrap();
    vault(directory.path(), Some(KEY)).write("secret a", &text("x"), json!({})).unwrap();
    let error = vault(directory.path(), Some(OTHER)).read("secret a").unwrap_err();
    assert!(
        error.to_string().ends_with("was sealed with another key: without it secret a cannot be opened"),
        "{error}"
    );
    let error = vault(directory.path(), None).read("secret a").unwrap_err();
    assert!(
        error.to_string().ends_with("HELVE_VAULT_KEY or the setting `vault_key` has to give, and neither is set"),
        "{error}"
    );
    assert_eq!(opened(&vault(directory.path(), Some(KEY)), "secret a").as_deref(), Some("x"));
    assert!(vault(directory.path(), Some("hunter2")).read("secret a").unwrap_err().to_string().contains("32 bytes"));
}

#[test]
fn a_record_that_was_moved_or_changed_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let one = vault(directory.path(), Some(KEY));
    one.write("login a", &text("x"), json!({"resource": "https://a.example"})).unwrap();
    one.write("login b", &text("y"), json!({"resource": "https://b.example"})).unwrap();
    let whole = fs_err::read_to_string(vault_file(directory.path())).unwrap();
    let swapped = whole.replace("login a", "login c").replace("login b", "login a").replace("login c", "login b");
    let renamed = whole.replace("https://a.example", "https://evil.example");
    for changed in [swapped, renamed] {
        fs_err::write(vault_file(directory.path()), changed).unwrap();
        let error = vault(directory.path(), Some(KEY)).read("login a").unwrap_err();
        assert!(error.to_string().starts_with("the record `login a` of "), "{error}");
    }
}

#[test]
fn files_that_others_could_have_written_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let one = vault(directory.path(), Some(KEY));
    one.write("a", &text("x"), json!({})).unwrap();
    let path = vault_file(directory.path());
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = one.list().unwrap_err();
    assert!(error.to_string().ends_with("is not a file of yours alone"), "{error}");
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let real = directory.path().join("real");
    fs_err::rename(&path, &real).unwrap();
    fs_err::os::unix::fs::symlink(&real, &path).unwrap();
    assert!(one.list().is_err(), "no links");
}

#[test]
fn a_vault_that_cannot_be_understood_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let one = vault(directory.path(), Some(KEY));
    one.write("a", &text("x"), json!({})).unwrap();
    for odd in ["", "{", "[]", "{\"version\": 2}", "{\"version\": 1, \"sealed_by\": \"magic\"}"] {
        fs_err::write(vault_file(directory.path()), odd).unwrap();
        assert!(one.list().is_err() && one.write("b", &text("y"), json!({})).is_err() && one.remove("a").is_err());
        assert_eq!(fs_err::read_to_string(vault_file(directory.path())).unwrap(), odd);
    }
}

#[test]
fn what_a_killed_writer_left_is_swept_away() {
    let directory = tempfile::tempdir().unwrap();
    let one = vault(directory.path(), Some(KEY));
    one.write("a", &text("x"), json!({})).unwrap();
    let left = directory.path().join("state").join(".unfinished-credentials.x7Yz");
    fs_err::write(&left, "half of a vault").unwrap();
    one.write("b", &text("y"), json!({})).unwrap();
    assert!(!left.exists());
    assert_eq!((opened(&one, "a").as_deref(), opened(&one, "b").as_deref()), (Some("x"), Some("y")));
}

#[test]
fn records_are_forgotten_without_the_key() {
    let directory = tempfile::tempdir().unwrap();
    vault(directory.path(), Some(KEY)).write("a", &text("x"), json!({})).unwrap();
    let other = vault(directory.path(), None);
    assert!(other.remove("a").unwrap());
    assert!(!other.remove("a").unwrap());
}

#[test]
fn what_is_exported_is_opened_elsewhere_with_its_key_alone() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, two) = (vault(here.path(), None), vault(there.path(), Some(KEY)));
    assert!(one.export().is_err(), "nothing is there yet");
    one.write("secret a", &text("hunter2hunter2"), json!({"kind": "secret"})).unwrap();
    one.write("login https://x", &text("tokens"), json!({"kind": "login"})).unwrap();
    one.write("pending https://x", &text("verifier"), json!({"kind": "pending"})).unwrap();
    let (bundle, key) = one.export().unwrap();
    assert!(!bundle.contains("hunter2") && !bundle.contains(key.expose_secret()));
    assert!(two.import(&bundle, &text(OTHER), false).unwrap_err().to_string().contains("another key"));
    two.write("secret a", &text("mine"), json!({})).unwrap();
    let imported = two.import(&bundle, &key, false).unwrap();
    assert_eq!((imported.taken, imported.left), (vec!["login https://x".to_owned()], vec!["secret a".to_owned()]));
    assert_eq!(opened(&two, "secret a").as_deref(), Some("mine"));
    assert_eq!(two.import(&bundle, &key, true).unwrap().taken.len(), 2);
    assert_eq!(opened(&two, "secret a").as_deref(), Some("hunter2hunter2"));
    assert_eq!(opened(&two, "pending https://x"), None);
    assert!(two.import("{}", &key, false).is_err());
}

#[test]
fn a_key_that_a_program_prints_is_asked_for_when_something_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let printed = |key: Option<&'static str>| {
        let asked = Arc::clone(&asked);
        let print = move || {
            asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            key.map(text).ok_or_else(|| VaultError::new("it printed nothing"))
        };
        let given = Some(GivenKey::Printed(Box::new(print)));
        Vault::new(directory.path().join("state"), directory.path().join("vault.key"), given, || UNIX_EPOCH)
    };
    let one = printed(Some(KEY));
    one.write("secret a", &text("hunter2hunter2"), json!({})).unwrap();
    assert_eq!(opened(&one, "secret a").as_deref(), Some("hunter2hunter2"));
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
    assert_eq!(printed(None).list().unwrap().len(), 1);
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1, "lists ask nobody");
    assert!(printed(None).read("secret a").unwrap_err().to_string().contains("it printed nothing"));
    assert!(!directory.path().join("vault.key").exists());
}

#[tokio::test]
async fn whoever_keeps_documents_keeps_the_vault_too() {
    let documents = Arc::new(crate::store::MemoryStateStore::default());
    let open = |key: Option<&str>| {
        let given = key.map(|key| GivenKey::Variable("HELVE_VAULT_KEY", text(key)));
        Vault::in_documents(Arc::clone(&documents) as Arc<dyn StateStore>, None, given, || UNIX_EPOCH)
    };
    assert!(!open(None).remove("secret a").unwrap());
    let error = open(None).write("secret a", &text("x"), json!({})).unwrap_err();
    assert_eq!(error.to_string(), "there is no place for the key of the vault");
    assert!(open(Some(KEY)).list().unwrap().is_empty(), "what failed changed nothing");
    open(Some(KEY)).write("secret a", &text("hunter2hunter2"), json!({})).unwrap();
    let sealed = documents.read("credentials.vault").unwrap().unwrap();
    assert!(!sealed.contains("hunter2"), "{sealed}");
    assert_eq!(opened(&open(Some(KEY)), "secret a").as_deref(), Some("hunter2hunter2"));
    assert!(open(Some(OTHER)).write("secret b", &text("x"), json!({})).is_err());
    assert_eq!(open(None).list().unwrap().len(), 1);

    let one = Arc::new(open(Some(KEY)));
    let held = one.place.turn("login x").await.unwrap();
    let other = Arc::clone(&one);
    let waiting = tokio::spawn(async move { drop(other.place.turn("login x").await.unwrap()) });
    drop(one.place.turn("login y").await.unwrap());
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "one at a time");
    drop(held);
    waiting.await.unwrap();
    assert!(one.remove("secret a").unwrap() && !one.remove("secret a").unwrap());
}

#[cfg(feature = "keyring")]
mod with_a_keyring {
    use helve_testkit::secret_service::{FakeKeyring, KeyringKind};

    use super::*;
    use crate::environment::{Environment, variable};

    fn in_keyring(directory: &std::path::Path, fake: &FakeKeyring) -> Vault {
        let bus = (variable::DBUS_SESSION_BUS_ADDRESS.into(), fake.address().into());
        let keyring = Keyring::new(&Environment::new("/").with_variables([bus]));
        vault(directory, None).with_keyring(Arc::new(keyring))
    }

    #[test]
    fn the_key_is_in_the_keyring_and_lists_do_not_ask_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let fake = FakeKeyring::start(directory.path(), KeyringKind::Working).unwrap();
        let one = in_keyring(directory.path(), &fake);
        assert!(!one.write("secret a", &text("hunter2hunter2"), json!({})).unwrap(), "no key file was made");
        assert!(!one.key_file().unwrap().exists() && one.no_keyring().is_none());
        assert_eq!(one.opening_asks(), None, "its key is known");
        let asked = fake.connections();
        let other = in_keyring(directory.path(), &fake);
        assert_eq!(other.list().unwrap().len(), 1);
        assert_eq!(other.opening_asks(), Some(OpeningAsks::Keyring));
        assert!(other.remove("secret b").is_ok());
        assert_eq!(fake.connections(), asked);
        for _ in 0..3 {
            assert_eq!(opened(&other, "secret a").as_deref(), Some("hunter2hunter2"));
        }
        assert_eq!(fake.connections(), asked + 1, "once a run");

        fake.clear();
        let error = in_keyring(directory.path(), &fake).read("secret a").unwrap_err();
        assert!(error.to_string().ends_with("their key is gone from the system's keyring"), "{error}");
        let error = vault(directory.path(), None).read("secret a").unwrap_err();
        assert!(error.to_string().contains("is in the system's keyring"), "{error}");
        assert!(in_keyring(directory.path(), &fake).write("secret b", &text("x"), json!({})).is_err());
        assert_eq!(fake.items(), 0, "nothing is made anew");
    }

    #[test]
    fn two_vaults_have_two_items() {
        let (directory, first, second) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let fake = FakeKeyring::start(directory.path(), KeyringKind::Working).unwrap();
        for place in [&first, &second] {
            in_keyring(place.path(), &fake).write("secret a", &text("hunter2hunter2"), json!({})).unwrap();
        }
        assert_eq!(fake.items(), 2);
        assert_eq!(opened(&in_keyring(first.path(), &fake), "secret a").as_deref(), Some("hunter2hunter2"));
    }

    #[test]
    fn without_one_that_answers_the_key_is_a_file_and_why_is_said() {
        for (kind, why) in [
            (KeyringKind::Locked, "is locked"),
            (KeyringKind::Volatile, "keeps nothing beyond this session"),
            (KeyringKind::SilentKeyring, "did not answer within 2 s"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let fake = FakeKeyring::start(directory.path(), kind).unwrap();
            let one = in_keyring(directory.path(), &fake);
            assert!(one.write("secret a", &text("hunter2hunter2"), json!({})).unwrap(), "a key file was made");
            assert_eq!(one.no_keyring(), Some(why));
            let asked = fake.connections();
            assert_eq!(opened(&in_keyring(directory.path(), &fake), "secret a").as_deref(), Some("hunter2hunter2"));
            assert_eq!(fake.connections(), asked, "the vault says where its key is: nobody is asked again");
        }
    }

    #[test]
    fn a_keyring_that_is_away_is_told_and_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let fake = FakeKeyring::start(directory.path(), KeyringKind::Working).unwrap();
        in_keyring(directory.path(), &fake).write("secret a", &text("hunter2hunter2"), json!({})).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let locked = FakeKeyring::start(elsewhere.path(), KeyringKind::Absent).unwrap();
        let away = in_keyring(directory.path(), &locked);
        let error = away.read("secret a").unwrap_err();
        assert!(error.to_string().ends_with("which holds their key, is not there: no program keeps one"), "{error}");
        assert!(error.hint().unwrap().contains("gnome-keyring"));
        assert!(away.write("secret b", &text("x"), json!({})).is_err());
        assert_eq!(opened(&in_keyring(directory.path(), &fake), "secret a").as_deref(), Some("hunter2hunter2"));
    }
}
