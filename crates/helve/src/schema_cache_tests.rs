//! What was kept comes back, or nothing does: whatever happens to the files.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use helve_model::json::RawJson;
use helve_model::{
    BuiltinSpec, ConfigText, Definition as _, HttpFlavour, HttpSpec, Layer, OAuthSpec, Origin, ServerName, ServerSpec,
    StdioSpec, ToolDefinition, TransportSpec,
};
use helve_policy::Claims;
use helve_wire::{CacheHint, CacheScope, ClientCapabilities, Greeting, NegotiatedVersion, OtherEra};
use indexmap::IndexMap;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::format::{Header, Kind, Texts};
use super::{CacheKey, CachedServer, FILE_SUFFIX, FIRST_READ, MAX_AGE, MAX_ASKERS, MAX_FILES, SchemaCache};

const HOUR: Duration = Duration::from_hours(1);

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

fn cache() -> (TempDir, SchemaCache) {
    let directory = tempfile::tempdir().unwrap();
    let cache = SchemaCache::open(directory.path().join("lists"), None).unwrap();
    (directory, cache)
}

fn stdio() -> StdioSpec {
    StdioSpec {
        command: "npx".into(),
        arguments: vec!["-y".into(), "server".into()],
        environment: IndexMap::new(),
        working_directory: None,
    }
}

fn spec(transport: TransportSpec) -> ServerSpec {
    ServerSpec::new(ServerName::new("github").unwrap(), transport, Origin::Program, Layer::User)
}

fn program() -> ServerSpec {
    spec(TransportSpec::Stdio(stdio()))
}

fn greeting() -> Greeting {
    Greeting {
        negotiated: newest(),
        capabilities: RawJson::from_static(r#"{"tools": {"listChanged": true}, "x-unknown": 1}"#),
        server_info: Some(RawJson::from_static(r#"{"name":"fake","version":"1"}"#)),
        instructions: Some("Be kind.\nAlways.".to_owned()),
    }
}

/// The newest version that helve speaks, whichever it is.
fn newest() -> NegotiatedVersion {
    let days = (2024..2030).flat_map(|year| (1..13).flat_map(move |month| (1..32).map(move |day| (year, month, day))));
    days.rev()
        .find_map(|(year, month, day)| NegotiatedVersion::of_version(&format!("{year}-{month:02}-{day:02}")))
        .unwrap()
}

fn tool(definition: &serde_json::Value) -> ToolDefinition {
    ToolDefinition::from_raw(RawJson::from_value(definition).unwrap()).unwrap()
}

fn tools() -> Vec<ToolDefinition> {
    vec![
        tool(&json!({
            "name": "create_issue",
            "title": "New issue",
            "description": "Creates  an\nissue.",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true},
        })),
        tool(&json!({"name": "läs/fil", "annotations": {"title": "Läs", "readOnlyHint": true}})),
        tool(&json!({"name": ""})),
    ]
}

impl SchemaCache {
    /// The key for one who can do nothing.
    fn plain_key(&self, spec: &ServerSpec) -> CacheKey {
        self.key(spec, &ClientCapabilities::default())
    }
}

fn stored(cache: &SchemaCache) -> CacheKey {
    let key = cache.plain_key(&program());
    cache.store(&key, &greeting(), &tools(), None, at(0)).unwrap();
    key
}

#[test]
fn what_was_stored_comes_back() {
    let (_directory, cache) = cache();
    let key = cache.plain_key(&program());
    assert_eq!(cache.load(&key, at(0), HOUR), None);

    let hint = Some(CacheHint { ttl_ms: 5_000, scope: CacheScope::Private });
    cache.store(&key, &greeting(), &tools(), hint, at(0)).unwrap();
    let expected = CachedServer { greeting: greeting(), tools: tools(), hint, stored_at: at(0), is_fresh: true };
    assert_eq!(cache.load(&key, at(1), HOUR), Some(expected));

    cache.forget(&key).unwrap();
    cache.forget(&key).unwrap();
    assert_eq!(cache.load(&key, at(1), HOUR), None);
    assert!(cache.load_index(&key, at(1), HOUR).is_none());
}

/// A server may list more for one whom it can ask: what one got is not the other's (G11).
#[test]
fn g11_each_kind_of_asker_has_its_own_list() {
    let (_directory, cache) = cache();
    let key = stored(&cache);
    let able = ClientCapabilities { elicitation_form: true, ..ClientCapabilities::default() };
    let other = cache.key(&program(), &able);
    assert_eq!(cache.load(&other, at(0), HOUR), None);
    assert!(cache.load_index(&other, at(0), HOUR).is_none());
    cache.store(&other, &greeting(), &[], None, at(0)).unwrap();
    assert_eq!(cache.load(&key, at(0), HOUR).unwrap().tools, tools());
}

/// Whatever agents say of themselves, one server's lists cost no other server its own (G11).
#[test]
fn g11_many_askers_of_one_server_leave_the_others_alone() {
    let (directory, cache) = cache();
    let other = spec(TransportSpec::Stdio(StdioSpec { command: "other".into(), ..stdio() }));
    let other = cache.plain_key(&other);
    cache.store(&other, &greeting(), &tools(), None, at(0)).unwrap();
    let asker = |number: usize| ClientCapabilities {
        extensions: vec![(format!("example.com/{number}"), RawJson::empty_object())],
        ..ClientCapabilities::default()
    };
    for number in 0..MAX_ASKERS + 20 {
        let key = cache.key(&program(), &asker(number));
        cache.store(&key, &greeting(), &tools(), None, at(1 + number as u64)).unwrap();
    }
    let files = fs_err::read_dir(directory.path().join("lists")).unwrap();
    let lists = files.filter(|file| file.as_ref().unwrap().path().to_string_lossy().ends_with(FILE_SUFFIX)).count();
    assert_eq!(lists, MAX_ASKERS + 1);
    assert!(cache.load(&other, at(100), HOUR).is_some());
    assert!(cache.load(&cache.key(&program(), &asker(MAX_ASKERS + 19)), at(100), HOUR).is_some());
    assert!(cache.load(&cache.key(&program(), &asker(0)), at(100), HOUR).is_none());
}

#[test]
fn a_server_that_says_little_comes_back_too() {
    let (_directory, cache) = cache();
    let key = cache.plain_key(&program());
    let negotiated = NegotiatedVersion { other: OtherEra::Spoken, ..newest() };
    let capabilities = RawJson::empty_object();
    let silent = Greeting { negotiated, capabilities, server_info: None, instructions: None };
    cache.store(&key, &silent, &[], None, at(0)).unwrap();
    let loaded = cache.load(&key, at(0), HOUR).unwrap();
    assert_eq!((loaded.greeting, loaded.tools, loaded.hint), (silent, Vec::new(), None));
    assert!(cache.load_index(&key, at(0), HOUR).unwrap().is_empty());
}

#[test]
fn the_index_has_names_lines_and_claims() {
    let (_directory, cache) = cache();
    let key = stored(&cache);
    let index = cache.load_index(&key, at(0), HOUR).unwrap();
    assert_eq!(index.len(), 3);
    let shown: Vec<String> = index.tools().map(|tool| format!("{tool:?}")).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    IndexedTool { name: "create_issue", title: Some("New issue"), summary: Some("Creates an issue."), claims: Claims { read_only: Some(false), destructive: Some(true), idempotent: None, open_world: Some(true) } }
    IndexedTool { name: "läs/fil", title: Some("Läs"), summary: None, claims: Claims { read_only: Some(true), destructive: None, idempotent: None, open_world: None } }
    IndexedTool { name: "", title: None, summary: None, claims: Claims { read_only: None, destructive: None, idempotent: None, open_world: None } }
    "#);
}

#[test]
fn long_descriptions_are_cut_and_names_are_not() {
    let (_directory, cache) = cache();
    let key = cache.plain_key(&program());
    let name = "n".repeat(FIRST_READ as usize);
    let long = tool(&json!({"name": name, "description": "word ".repeat(100)}));
    cache.store(&key, &greeting(), &[long], None, at(0)).unwrap();
    let index = cache.load_index(&key, at(0), HOUR).unwrap();
    let only = index.tools().next().unwrap();
    assert_eq!(only.name, name);
    assert_eq!(only.summary.unwrap(), format!("{}…", "word ".repeat(32)));
}

#[test]
fn the_shorter_time_of_setting_and_server_counts() {
    let (_directory, cache) = cache();
    let key = cache.plain_key(&program());
    let is_fresh = |now, ttl| {
        let loaded = cache.load(&key, now, ttl).unwrap().is_fresh;
        assert_eq!(cache.load_index(&key, now, ttl).unwrap().is_fresh, loaded);
        loaded
    };
    let store = |ttl_ms: Option<u64>| {
        let hint = ttl_ms.map(|ttl_ms| CacheHint { ttl_ms, scope: CacheScope::Public });
        cache.store(&key, &greeting(), &tools(), hint, at(0)).unwrap();
    };
    store(None);
    assert!(is_fresh(at(3_599), HOUR));
    assert!(!is_fresh(at(3_600), HOUR));
    store(Some(10_000));
    assert!(is_fresh(at(9), HOUR));
    assert!(!is_fresh(at(10), HOUR));
    store(Some(u64::MAX));
    assert!(is_fresh(at(3_599), HOUR));
    assert!(!is_fresh(at(3_600), HOUR));
    store(Some(0));
    assert!(!is_fresh(at(0), HOUR));
    // A clock that was set back.
    store(None);
    assert!(!is_fresh(SystemTime::UNIX_EPOCH, HOUR));
}

#[test]
fn nothing_older_than_a_month_is_used() {
    let (_directory, cache) = cache();
    let key = stored(&cache);
    assert!(cache.load(&key, at(0) + MAX_AGE, Duration::MAX).is_some());
    let too_late = at(1) + MAX_AGE;
    assert!(cache.load(&key, too_late, Duration::MAX).is_none());
    assert!(cache.load_index(&key, too_late, Duration::MAX).is_none());
}

#[test]
fn the_key_is_what_would_run() {
    let (directory, cache) = cache();
    let key = |change: fn(&mut StdioSpec)| {
        let mut changed = stdio();
        change(&mut changed);
        cache.plain_key(&spec(TransportSpec::Stdio(changed)))
    };
    let insert = |environment: &mut IndexMap<String, ConfigText>, name: &str, value: &str| {
        environment.insert(name.to_owned(), ConfigText::expanded("${X}", value));
    };
    let mut with_oauth = program();
    with_oauth.oauth = Some(OAuthSpec { client_id: Some("me".into()), ..OAuthSpec::new() });
    let mut pinned = program();
    pinned.protocol_version = Some("1".to_owned());
    let mut inheriting = program();
    inheriting.inherit_environment = true;
    let http = |url: &str, header: &str, token: &str, flavour| {
        let headers = IndexMap::from([(header.to_owned(), ConfigText::expanded("${T}", token))]);
        cache.plain_key(&spec(TransportSpec::Http(HttpSpec { url: url.into(), headers, flavour })))
    };
    let builtin = |kind: &str, root: &str| {
        let options = IndexMap::from([("roots".to_owned(), vec![root.into()])]);
        cache.plain_key(&spec(TransportSpec::Builtin(BuiltinSpec { kind: kind.to_owned(), options })))
    };
    let mut keys = vec![
        cache.plain_key(&program()),
        key(|stdio| stdio.command = "bunx".into()),
        key(|stdio| stdio.arguments = vec!["-y server".into()]),
        key(|stdio| stdio.arguments = Vec::new()),
        key(|stdio| stdio.working_directory = Some("".into())),
        key(|stdio| stdio.working_directory = Some("a".into())),
        key(|stdio| drop(stdio.environment.insert("A".to_owned(), "1".into()))),
        key(|stdio| drop(stdio.environment.insert("A".to_owned(), "2".into()))),
        key(|stdio| drop(stdio.environment.insert("B".to_owned(), "1".into()))),
        cache.plain_key(&with_oauth),
        cache.plain_key(&pinned),
        cache.plain_key(&inheriting),
        http("https://a", "X-Key", "1", HttpFlavour::Auto),
        http("https://b", "X-Key", "1", HttpFlavour::Auto),
        http("https://a", "X-Other", "1", HttpFlavour::Auto),
        http("https://a", "X-Key", "2", HttpFlavour::Auto),
        http("https://a", "X-Key", "1", HttpFlavour::Streamable),
        http("https://a", "X-Key", "1", HttpFlavour::Sse),
        builtin("filesystem", "."),
        builtin("filesystem", ".."),
        builtin("time", "."),
    ];
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count, "two different servers share a key");

    // Another directory is another server where the command line has relative paths, and only there.
    let in_directory = |started_in: &str, argument: &'static str| {
        let cache = SchemaCache::open(directory.path().join("lists"), Some(started_in.into())).unwrap();
        cache.plain_key(&spec(TransportSpec::Stdio(StdioSpec { arguments: vec![argument.into()], ..stdio() })))
    };
    assert_ne!(in_directory("/one", "server.py"), in_directory("/two", "server.py"), "S27");
    assert_eq!(in_directory("/one", "server"), in_directory("/two", "server"));

    // What is only about helve, or about spelling, does not count.
    let mut same = program();
    same.name = ServerName::new("another").unwrap();
    (same.lazy, same.required, same.call_timeout) = (true, true, Some(HOUR));
    same.access.trust_annotations = true;
    same.layer = Layer::Project;
    assert_eq!(cache.plain_key(&same), cache.plain_key(&program()));
    assert_eq!(http("https://a", "x-key", "1", HttpFlavour::Auto), http("https://a", "X-Key", "1", HttpFlavour::Auto));
    let (mut forth, mut back) = (stdio(), stdio());
    insert(&mut forth.environment, "A", "1");
    insert(&mut forth.environment, "B", "2");
    insert(&mut back.environment, "B", "2");
    insert(&mut back.environment, "A", "1");
    assert_eq!(cache.plain_key(&spec(TransportSpec::Stdio(forth))), cache.plain_key(&spec(TransportSpec::Stdio(back))));
}

#[test]
fn the_salt_is_kept_and_another_cache_has_another() {
    let (directory, cache) = cache();
    let again = SchemaCache::open(directory.path().join("lists"), None).unwrap();
    assert_eq!(cache.plain_key(&program()), again.plain_key(&program()));
    let other = SchemaCache::open(directory.path().join("other"), None).unwrap();
    assert_ne!(cache.plain_key(&program()), other.plain_key(&program()));

    // A salt that cannot be used is replaced, and the new one stays.
    fs_err::write(directory.path().join("lists/salt"), b"short").unwrap();
    let replaced = SchemaCache::open(directory.path().join("lists"), None).unwrap();
    assert_ne!(cache.plain_key(&program()), replaced.plain_key(&program()));
    let again = SchemaCache::open(directory.path().join("lists"), None).unwrap();
    assert_eq!(again.plain_key(&program()), replaced.plain_key(&program()));
}

#[test]
fn all_who_open_a_new_cache_at_once_agree_on_its_salt() {
    let directory = tempfile::tempdir().unwrap();
    let keys: Vec<CacheKey> = std::thread::scope(|scope| {
        let open = || SchemaCache::open(directory.path().join("lists"), None).unwrap().plain_key(&program());
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
}

#[test]
fn no_secret_is_written() {
    let (directory, cache) = cache();
    let mut secretive = stdio();
    secretive.environment.insert("TOKEN".to_owned(), ConfigText::expanded("${TOKEN}", "hunter2"));
    secretive.arguments.push(ConfigText::hidden("hunter3"));
    let key = cache.plain_key(&spec(TransportSpec::Stdio(secretive)));
    cache.store(&key, &greeting(), &tools(), None, at(0)).unwrap();
    let mut files = 0;
    for entry in fs_err::read_dir(directory.path().join("lists")).unwrap() {
        let contents = String::from_utf8_lossy(&fs_err::read(entry.unwrap().path()).unwrap()).into_owned();
        assert!(!contents.contains("hunter"));
        files += 1;
    }
    assert_eq!(files, 2);
    assert!(!format!("{cache:?}").contains("salt"));
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_look_inside() {
    use std::os::unix::fs::PermissionsExt;

    let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = tempfile::tempdir().unwrap();
    let lists = directory.path().join("deep/lists");
    fs_err::create_dir_all(&lists).unwrap();
    fs_err::set_permissions(&lists, PermissionsExt::from_mode(0o755)).unwrap();
    let cache = SchemaCache::open(lists.clone(), None).unwrap();
    let key = stored(&cache);
    assert_eq!(mode(&lists), 0o700);
    assert_eq!(mode(&lists.join("salt")), 0o600);
    assert_eq!(mode(&cache.path(&key)), 0o600);
}

#[test]
fn a_file_of_another_server_is_not_taken() {
    let (_directory, cache) = cache();
    let key = stored(&cache);
    let mut other = program();
    other.protocol_version = Some("1".to_owned());
    let other = cache.plain_key(&other);
    fs_err::copy(cache.path(&key), cache.path(&other)).unwrap();
    assert!(cache.load(&other, at(0), HOUR).is_none());
    assert!(cache.load_index(&other, at(0), HOUR).is_none());
}

#[test]
fn old_files_and_those_above_the_limit_are_removed() {
    let (directory, cache) = cache();
    let lists = directory.path().join("lists");
    let write = |name: &str, modified: SystemTime| {
        fs_err::write(lists.join(name), b"").unwrap();
        fs_err::OpenOptions::new().write(true).open(lists.join(name)).unwrap().file().set_modified(modified).unwrap();
    };
    let exists = |name: &str| lists.join(name).exists();
    let now = at(0) + MAX_AGE;
    write("ancient.list", at(0) - HOUR);
    write(".new-left-behind", at(0) - HOUR);
    write("somebody-elses.txt", at(0) - HOUR);
    write("young.list", at(1));
    write(".new-being-written", now);
    write("tomorrow.list", now + HOUR);
    cache.prune(now).unwrap();
    assert!(!exists("ancient.list") && !exists(".new-left-behind"));
    assert!(exists("young.list") && exists(".new-being-written") && exists("tomorrow.list"));
    assert!(exists("somebody-elses.txt") && exists("salt"));

    for number in 0..MAX_FILES {
        write(&format!("{number}.list"), at(10 + number as u64));
    }
    // Storing does it too, once.
    let key = cache.plain_key(&program());
    cache.store(&key, &greeting(), &tools(), None, now).unwrap();
    let files = fs_err::read_dir(&lists).unwrap();
    let files = files.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(FILE_SUFFIX));
    assert!(files.count() <= MAX_FILES);
    assert!(!exists("young.list") && exists(&format!("{}.list", MAX_FILES - 1)));
    assert!(cache.load(&key, now, HOUR).is_some());
}

#[test]
fn who_writes_and_reads_at_once_sees_whole_files() {
    let (directory, cache) = cache();
    let other = SchemaCache::open(directory.path().join("lists"), None).unwrap();
    let key = cache.plain_key(&program());
    let (few, many) = (tools(), [tools(), tools()].concat());
    // Once from each before they race: the first looks for old files, and by this clock what is being written is old.
    other.store(&key, &greeting(), &few, None, at(0)).unwrap();
    cache.store(&key, &greeting(), &few, None, at(0)).unwrap();
    std::thread::scope(|scope| {
        for (cache, list) in [(&cache, &few), (&other, &many)] {
            scope.spawn(move || (0..200).for_each(|_| cache.store(&key, &greeting(), list, None, at(0)).unwrap()));
        }
        for _ in 0..200 {
            let loaded = cache.load(&key, at(0), HOUR).unwrap().tools;
            assert!(loaded == few || loaded == many);
            let names = cache.load_index(&key, at(0), HOUR).unwrap().len();
            assert!(names == few.len() || names == many.len());
        }
    });
}

/// Damages the kept file and looks whether anything but the truth, or nothing, comes back.
fn check_damage(damage: impl FnOnce(&mut Vec<u8>)) {
    let (_directory, cache) = cache();
    let key = stored(&cache);
    let whole = cache.load(&key, at(0), HOUR).unwrap();
    let names = |cache: &SchemaCache| {
        let index = cache.load_index(&key, at(0), HOUR)?;
        Some(index.tools().map(|tool| format!("{tool:?}")).collect::<Vec<_>>())
    };
    let index = names(&cache).unwrap();
    let mut contents = fs_err::read(cache.path(&key)).unwrap();
    damage(&mut contents);
    fs_err::write(cache.path(&key), contents).unwrap();
    assert!(cache.load(&key, at(0), HOUR).is_none_or(|loaded| loaded == whole));
    assert!(names(&cache).is_none_or(|loaded| loaded == index));
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let (_directory, cache) = cache();
    let key = stored(&cache);
    let whole = fs_err::read(cache.path(&key)).unwrap();
    let header = Header::decode(&whole).unwrap();
    let index = header.find(Kind::ToolIndex).unwrap();
    for position in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[position] ^= 1 << bit;
            fs_err::write(cache.path(&key), &damaged).unwrap();
            let is_in_index = (index.start..index.end).contains(&position);
            // Each of the two reads only what it needs.
            assert_eq!(cache.load(&key, at(0), HOUR).is_some(), is_in_index, "bit {bit} of byte {position}");
            let is_behind = position >= index.end;
            assert_eq!(cache.load_index(&key, at(0), HOUR).is_some(), is_behind, "bit {bit} of byte {position}");
        }
        fs_err::write(cache.path(&key), &whole[..position]).unwrap();
        assert!(cache.load(&key, at(0), HOUR).is_none(), "cut at {position}");
        let is_index_whole = position >= index.end;
        assert_eq!(cache.load_index(&key, at(0), HOUR).is_some(), is_index_whole, "cut at {position}");
    }
    fs_err::write(cache.path(&key), [whole.as_slice(), b"x"].concat()).unwrap();
    assert!(cache.load(&key, at(0), HOUR).is_none());
}

fn any_definition() -> impl Strategy<Value = ToolDefinition> {
    let texts = (any::<String>(), proptest::option::of(any::<String>()), proptest::option::of(any::<String>()));
    let claims = proptest::collection::vec(proptest::option::of(any::<bool>()), 4);
    (texts, claims, 0..2_000_usize).prop_map(|((name, title, description), claims, padding)| {
        tool(&json!({
            "description": description,
            "inputSchema": {"type": "object", "padding": "ü".repeat(padding)},
            "title": title,
            "annotations": {
                "readOnlyHint": claims[0],
                "destructiveHint": claims[1],
                "idempotentHint": claims[2],
                "openWorldHint": claims[3],
            },
            "name": name,
        }))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_definitions_come_back(tools in proptest::collection::vec(any_definition(), 0..60), ttl_ms in any::<u64>()) {
        let (_directory, cache) = cache();
        let key = cache.plain_key(&program());
        let hint = Some(CacheHint { ttl_ms, scope: CacheScope::Public });
        cache.store(&key, &greeting(), &tools, hint, at(0)).unwrap();
        let loaded = cache.load(&key, at(0), HOUR).unwrap();
        prop_assert_eq!((&loaded.tools, loaded.hint), (&tools, hint));
        let index = cache.load_index(&key, at(0), HOUR).unwrap();
        prop_assert_eq!(index.len(), tools.len());
        for (indexed, tool) in index.tools().zip(&tools) {
            let view = tool.view();
            prop_assert_eq!(indexed.name, tool.name().as_str());
            prop_assert_eq!(indexed.claims, Claims::from(&view.annotations));
            prop_assert_eq!(indexed.summary.is_some(), view.description.is_some());
            prop_assert!(!indexed.summary.unwrap_or_default().contains('\n'));
        }
    }

    #[test]
    fn damage_is_a_miss_or_the_same(
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        check_damage(|contents| {
            for (place, value) in places {
                let place = place.index(contents.len());
                contents[place] = value;
            }
            if let Some(cut) = cut {
                contents.truncate(cut.index(contents.len()));
            }
        });
    }

    /// Somebody who knows the format: the checksums are right, the rest is anything.
    #[test]
    fn a_forged_file_never_panics(
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let (_directory, cache) = cache();
        let key = stored(&cache);
        let mut contents = fs_err::read(cache.path(&key)).unwrap();
        for (place, value) in places {
            // The key stays, or nothing behind it would be looked at.
            let place = place.index(contents.len());
            if !(16..48).contains(&place) {
                contents[place] = value;
            }
        }
        forge_checksums(&mut contents);
        fs_err::write(cache.path(&key), contents).unwrap();
        if let Some(loaded) = cache.load(&key, at(0), HOUR) {
            drop(loaded.tools.iter().map(ToolDefinition::view).collect::<Vec<_>>());
        }
        if let Some(index) = cache.load_index(&key, at(0), HOUR) {
            prop_assert_eq!(index.tools().count(), index.len());
        }
    }

    #[test]
    fn any_bytes_as_a_section(section in proptest::collection::vec(any::<u8>(), 0..64), count in 0..8_u8) {
        drop(Header::decode(&section));
        let mut counted = vec![count, 0, 0, 0];
        counted.extend(section);
        if let Some(texts) = Texts::decode(Bytes::from(counted)) {
            let length: usize = texts.iter().flatten().map(str::len).sum();
            prop_assert_eq!((texts.iter().count(), length), (texts.len(), texts.shared().len()));
        }
    }
}

/// Makes all checksums right, as far as the table of sections can be followed.
fn forge_checksums(contents: &mut [u8]) {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
    contents[..8].copy_from_slice(b"helveL01");
    let sections = number(&contents[12..16]).min(8);
    let mut start = 68 + sections * 16;
    if start > contents.len() {
        return;
    }
    for section in 0..sections {
        let entry = 68 + section * 16;
        let Some(end) = start.checked_add(number(&contents[entry + 8..entry + 16])) else { break };
        let Some(checksum) = contents.get(start..end).map(crc32fast::hash) else { break };
        contents[entry + 4..entry + 8].copy_from_slice(&checksum.to_le_bytes());
        start = end;
    }
    let checksum = crc32fast::hash(&contents[12..68 + sections * 16]);
    contents[8..12].copy_from_slice(&checksum.to_le_bytes());
}
