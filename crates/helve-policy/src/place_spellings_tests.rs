//! S3: however a place is spelled, a pattern that restricts matches it, and no spelling makes a pattern allow more.

use std::path::Path;

use helve_model::{Action, CallKind};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::test_support::*;
use crate::{ArgumentPlace, Caller, Claims, Decision, RuleSet, ServerAccess, Subject, Whereabouts};

/// The server `files`, which works in `/srv/app`, and these rules.
fn rules_of(texts: &[&str]) -> RuleSet {
    let directories = Directories::new([Path::new("/srv/app")]).with_home(Some(Path::new("/home/Ada")));
    let (rules, problems) = compile(texts, vec![ServerAccess { directories, ..server("files") }, server("far")]);
    assert_eq!(problems, vec![]);
    rules
}

fn met(rules: &RuleSet, server: &str, arguments: &serde_json::Value) -> Action {
    let policy = tool(rules, server, "write_file", Claims::default());
    action(&policy.decide(Caller::Agent, json(&arguments.to_string())))
}

fn met_by_path(rules: &RuleSet, path: &str) -> Action {
    met(rules, "files", &json!({ "path": path }))
}

#[test]
fn s3_every_spelling_of_a_denied_path_is_denied() {
    let denying = rules_of(&["user deny files/* pattern:path=secrets/**", "user allow files/*"]);
    for spelling in [
        "secrets/k",
        "./secrets/k",
        "x/../secrets/k",
        ".//secrets//k",
        "/srv/app/secrets/k",
        "/srv/app/./secrets/k",
        "/srv/./app/x/../secrets/k",
        "../app/secrets/k",
        "secrets",
        "secrets/",
        "secrets/.",
        "./secrets",
        "a/b/../../secrets/k",
        "secrets/../secrets/k",
        "%73ecrets/k",
        "secrets%2fk",
        "secrets%2Fk",
        "%2e/secrets/k",
        "%252e%252fsecrets%252fk",
        "%25252e/secrets/k",
        "x/%2e%2e/secrets/k",
        "x/%c0%ae%c0%ae/secrets/k",
        "secrets\\k",
        ".\\secrets\\k",
        "x\\..\\secrets\\k",
        "file:secrets/k",
        "file:/srv/app/secrets/k",
        "file:///srv/app/secrets/k",
        "FILE://localhost/srv/app/secrets/k",
        "file://secrets/k",
        "file:///srv/app/secrets/k?x=1#y",
        "file:///srv/app/%73ecrets/k",
        "SECRETS/k",
        "Secrets/K",
        "/SRV/APP/secrets/k",
        "secrets/k\0.txt",
        "secrets%00",
        " secrets/k",
        "secrets/k ",
        "\tsecrets/k\n",
        "sec\u{200b}rets/k",
        "\u{feff}secrets/k",
        "/proc/self/cwd/secrets/k",
        "/proc/123/cwd/secrets/k",
        "/proc/self/root/srv/app/secrets/k",
        "~/../../srv/app/secrets/k",
    ] {
        assert_eq!(met_by_path(&denying, spelling), Action::Deny, "{spelling:?}");
    }
    for other in ["secret", "secrets2/k", "xsecrets/k", "/srv/other/secrets/k", "a/secrets/k", "notes", ".", "/"] {
        assert_eq!(met_by_path(&denying, other), Action::Allow, "{other:?}");
    }
}

#[test]
fn s3_absolute_and_home_patterns_mean_relative_spellings_too() {
    let absolute = rules_of(&["user deny files/* pattern:path=/srv/app/secrets/**", "user allow files/*"]);
    let home = rules_of(&["user deny files/* pattern:path=~/.ssh/**", "user allow files/*"]);
    for spelling in ["secrets/k", "./secrets", "/srv/app//secrets/k", "file:secrets/k", "x/../secrets/k"] {
        assert_eq!(met_by_path(&absolute, spelling), Action::Deny, "{spelling:?}");
    }
    for spelling in ["~/.ssh/id", "/home/ada/.ssh/id", "/home/Ada/.ssh", "../../home/Ada/.ssh/id", "~/x/../.ssh/id"] {
        assert_eq!(met_by_path(&home, spelling), Action::Deny, "{spelling:?}");
    }
    assert_eq!(met_by_path(&home, "/srv/.ssh/id"), Action::Allow);
}

#[test]
fn s3_a_pattern_is_read_in_all_its_spellings_too() {
    for pattern in [
        "path=./secrets/**",
        "path=secrets//*",
        "path=secrets/",
        "path=x/../secrets/**",
        "path=SECRETS/**",
        "path=%73ecrets/**",
        "path=file:///srv/app/secrets/**",
        "path=**/secrets/**",
        "path=*/secrets/*",
        "path=/srv/app/secrets",
        "secrets/**",
        "path=/srv/**/secrets",
        "path={secrets,keys}/**",
        "path=s[e]crets/*",
    ] {
        let denying = rules_of(&[&format!("user deny files/* pattern:{pattern}"), "user allow files/*"]);
        for spelling in ["secrets", "./secrets/", "/srv/app/x/../secrets", "%2e/secrets"] {
            assert_eq!(met_by_path(&denying, spelling), Action::Deny, "{pattern} {spelling:?}");
        }
        assert_eq!(met_by_path(&denying, "notes/k"), Action::Allow, "{pattern}");
    }
}

#[test]
fn s3_tools_with_two_paths_are_looked_at_in_both() {
    for pattern in ["path=secrets/**", "secrets/**"] {
        let denying = rules_of(&[&format!("user deny files/* pattern:{pattern}"), "user allow files/*"]);
        for arguments in [
            json!({"source": "./secrets/k", "destination": "notes"}),
            json!({"source": "notes", "destination": "x/../secrets/k"}),
            json!({"from": "notes", "to": "/srv/app/secrets/k"}),
            json!({"paths": ["notes", "secrets//k"]}),
            json!({"files": [{"output_path": "file:secrets/k"}]}),
            json!({"sourcePath": "secrets"}),
        ] {
            assert_eq!(met(&denying, "files", &arguments), Action::Deny, "{pattern} {arguments}");
        }
        assert_eq!(met(&denying, "files", &json!({"source": "a", "destination": "b"})), Action::Allow);
    }
    // What allows a place in one argument says nothing about the other.
    let allowing = rules_of(&["user allow files/* pattern:docs/**"]);
    assert_eq!(met(&allowing, "files", &json!({"source": "docs/a", "destination": "docs/b"})), Action::Allow);
    assert_eq!(met(&allowing, "files", &json!({"source": "docs/a", "destination": "secrets/b"})), Action::Ask);
    assert_eq!(met(&allowing, "files", &json!({"source": "secrets/a", "destination": "docs/b"})), Action::Ask);
    assert_eq!(met(&allowing, "files", &json!({"path": "docs/a", "content": "see /etc/passwd"})), Action::Allow);
}

#[test]
fn s3_no_spelling_widens_an_allow() {
    let allowing = rules_of(&["user allow files/* pattern:path=docs/**"]);
    for allowed in ["docs/a", "docs/a/b.md", "docs/A%20b", "docs/.hidden"] {
        assert_eq!(met_by_path(&allowing, allowed), Action::Allow, "{allowed:?}");
    }
    for spelling in [
        "docs/../secrets/k",
        "docs/%2e%2e/secrets/k",
        "docs/%252e%252e/secrets/k",
        "docs/%25252e%25252e/secrets/k",
        "docs/%2525252525252e",
        "docs/..\\secrets",
        "docs/%5c..%5csecrets",
        "docs/a\0",
        "docs/a%00",
        "docs/%c0%ae%c0%ae/k",
        "/srv/app/docs/a",
        "file:docs/a",
        "DOCS/a",
        "docs",
        "docs/",
        "docs%2fa",
        "docs/%2e%2e%2fsecrets",
        "docs/..",
    ] {
        assert_eq!(met_by_path(&allowing, spelling), Action::Ask, "{spelling:?}");
    }
    let one_deep = rules_of(&["user allow files/* pattern:path=docs/?/b"]);
    assert_eq!(met_by_path(&one_deep, "docs/a/b"), Action::Allow);
    assert_eq!(met_by_path(&one_deep, "docs/./b"), Action::Ask);
    let web = rules_of(&["user allow files/* pattern:url=https://api.example.com*"]);
    let met_by_url = |url: &str| met(&web, "files", &json!({ "url": url }));
    assert_eq!(met_by_url("https://api.example.com/a/?b=c"), Action::Allow);
    assert_eq!(met_by_url("https://api.example.com@evil.example/"), Action::Ask);
    assert_eq!(met_by_url("https://api.example.com/a/../b"), Action::Ask);
}

#[test]
fn s3_addresses_are_compared_normalised() {
    let denying = rules_of(&["user deny files/* pattern:url=https://Intra.example/admin/**", "user allow files/*"]);
    for spelling in [
        "https://intra.example/admin/x",
        "HTTPS://INTRA.EXAMPLE/admin/x",
        "https://intra.example:443/admin",
        "https://me@intra.example/admin/x",
        "https://intra.example./admin/x",
        "https://intra.example//admin/x",
        "https://intra.example/a/../admin/x",
        "https://intra.example/%61dmin/x",
        "https:\\\\intra.example\\admin\\x",
        "https://intra.example/admin?x",
        "ht\ntps://intra.example/admin/x",
    ] {
        assert_eq!(met(&denying, "files", &json!({ "url": spelling })), Action::Deny, "{spelling:?}");
    }
    assert_eq!(met(&denying, "files", &json!({"url": "https://intra.example/public"})), Action::Allow);
    assert_eq!(met(&denying, "files", &json!({"url": "http://intra.example/admin/x"})), Action::Allow);
}

#[test]
fn s3_s10_resource_uris_are_compared_normalised() {
    let rules = rules_of(&[
        "user deny files/file:///srv/app/secrets/** kind:resource",
        "user deny files/m://Notes/private/* kind:resource",
        "user allow files/file:///srv/app/docs/* kind:resource",
        "user ask files/* kind:resource",
    ]);
    let met = |uri: &str| {
        let server = helve_model::ServerName::new("files").unwrap();
        action(&rules.for_tool(Subject::resource(&server, uri)).decide(Caller::Agent, json("{}")))
    };
    for spelling in [
        "file:///srv/app/secrets/k",
        "FILE:///srv/app/secrets/k",
        "file://localhost/srv/app/secrets/k",
        "file:/srv/app/secrets/k",
        "file:///srv/app/./secrets/k",
        "file:///srv/app/x/../secrets/k",
        "file:///srv/app//secrets/k",
        "file:///srv/app/%73ecrets/k",
        "file:///srv/app/x/%2e%2e/secrets/k",
        "file:///srv/app/secrets",
        "file:///srv/app/secrets/",
        "file:///srv/app/secrets/k#x",
        "m://notes/private/a",
        "M://NOTES/private/a",
        "m://notes//private/a",
        "m://notes/x/../private/a",
        "m://notes/%70rivate/a",
        "m://notes/private",
    ] {
        assert_eq!(met(spelling), Action::Deny, "{spelling:?}");
    }
    assert_eq!(met("file:///srv/app/docs/a"), Action::Allow);
    for spelling in [
        "file:///srv/app/docs/../other",
        "file:///srv/app/docs/%2e%2e/other",
        "file:///srv/app/docs/a%00",
        "file:/srv/app/docs/a",
    ] {
        assert_eq!(met(spelling), Action::Ask, "{spelling:?}");
    }
}

#[test]
fn s3_what_the_tool_found_counts() {
    let rules = rules_of(&[
        "user deny files/* pattern:path=secrets/**",
        "user allow files/* pattern:path=docs/**",
        "user ask files/*",
    ]);
    let policy = tool(&rules, "files", "read_file", Claims::default());
    let met = |path: &str, spellings: &[&str]| {
        let spellings = spellings.iter().map(|spelling| (*spelling).to_owned()).collect();
        let places = vec![ArgumentPlace { argument: "path".to_owned(), spellings, other_spellings: Vec::new() }];
        let whereabouts = Whereabouts { places, ..Whereabouts::default() };
        policy.decide_at(Caller::Agent, json(&json!({ "path": path }).to_string()), &whereabouts)
    };
    assert_eq!(action(&met("docs/a", &["/r/docs/a", "docs/a"])), Action::Allow);
    assert_eq!(action(&met("docs/link", &["/r/secrets/k", "secrets/k"])), Action::Deny);
    assert_eq!(action(&met("docs/link", &["/r/other/k", "other/k"])), Action::Ask);
    assert_eq!(action(&met("docs/Link", &["/r/Docs/k", "Docs/k"])), Action::Ask);
    assert_eq!(action(&met("docs/a", &[])), Action::Ask);
    let Decision::Allow(permit) = met("docs/a", &["/r/docs/a", "docs/a"]) else { panic!("not allowed") };
    assert_eq!(permit.places()[0].spellings[0], "/r/docs/a");
    assert_eq!(permit.kind(), CallKind::Tool);
}

#[test]
fn s3_a_server_whose_directory_nobody_knows_is_told_by_its_roots() {
    let rules = rules_of(&["user deny far/* pattern:path=secrets/**", "user allow far/*"]);
    let policy = tool(&rules, "far", "read_file", Claims::default());
    let met = |path: &str, root: Option<&str>| {
        let roots = Directories::new(root.map(Path::new));
        let whereabouts = Whereabouts { roots, ..Whereabouts::default() };
        action(&policy.decide_at(Caller::Agent, json(&json!({ "path": path }).to_string()), &whereabouts))
    };
    assert_eq!(met("x/../secrets/k", None), Action::Deny);
    assert_eq!(met("/w/secrets/k", None), Action::Allow);
    assert_eq!(met("/w/secrets/k", Some("/w/")), Action::Deny);
    assert_eq!(met("file:///w//secrets/k", Some("/w")), Action::Deny);
}

#[test]
fn s3_the_explanation_says_which_spelling_matched() {
    let rules = rules_of(&["user deny files/* pattern:path=secrets/**"]);
    let policy = tool(&rules, "files", "write_file", Claims::default());
    let explained = |path: &str| {
        let arguments = json(&json!({ "path": path }).to_string());
        policy.explain(Caller::Agent, &arguments, &Whereabouts::default()).matched_as
    };
    assert_eq!(explained("x/../Secrets/k").as_deref(), Some("secrets/k"));
    assert_eq!(explained("/srv/app/secrets/k").as_deref(), Some("secrets/k"));
    assert_eq!(explained("secrets/k"), None);
    assert_eq!(explained("notes"), None);
}

#[test]
fn composed_and_decomposed_letters_are_the_same() {
    let rules = rules_of(&["user deny files/* pattern:path=caf\u{e9}/**", "user allow files/*"]);
    for spelling in ["caf\u{e9}/k", "cafe\u{301}/k", "CAF\u{c9}/k", "CAFE\u{301}", "caf%C3%A9/k", "cafe%CC%81/k"] {
        assert_eq!(met_by_path(&rules, spelling), Action::Deny, "{spelling:?}");
    }
}

/// A way to write the same path otherwise.
#[derive(Debug, Clone)]
enum Detour {
    Dot(usize),
    Slash(usize),
    Parent(usize),
    Encode(usize),
    EncodeAll,
    Backslash(usize),
    UpperCase(usize),
    Absolute,
    FileUri,
    TrailingSlash,
    Nul,
    Space,
    Invisible(usize),
}

fn detour() -> impl Strategy<Value = Detour> {
    let at = 0..64_usize;
    prop_oneof![
        at.clone().prop_map(Detour::Dot),
        at.clone().prop_map(Detour::Slash),
        at.clone().prop_map(Detour::Parent),
        at.clone().prop_map(Detour::Encode),
        Just(Detour::EncodeAll),
        at.clone().prop_map(Detour::Backslash),
        at.clone().prop_map(Detour::UpperCase),
        Just(Detour::Absolute),
        Just(Detour::FileUri),
        Just(Detour::TrailingSlash),
        Just(Detour::Nul),
        Just(Detour::Space),
        at.prop_map(Detour::Invisible),
    ]
}

/// Applies the detours, in an order in which each leaves the place the same: the path, then its URI, then its encoding.
fn spell(path: &str, detours: &[Detour]) -> String {
    let mut text = path.to_owned();
    let slashes = |text: &str| text.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
    let pick =
        |places: &[usize], index: usize| if places.is_empty() { None } else { Some(places[index % places.len()]) };
    for detour in detours {
        match detour {
            Detour::Dot(at) => match pick(&slashes(&text), *at) {
                Some(slash) => text.insert_str(slash, "/."),
                None => text.insert_str(0, "./"),
            },
            Detour::Slash(at) => {
                if let Some(slash) = pick(&slashes(&text), *at) {
                    text.insert(slash, '/')
                }
            }
            Detour::Parent(at) => match pick(&slashes(&text), *at) {
                Some(slash) => text.insert_str(slash, "/zz/.."),
                None => text.insert_str(0, "zz/../"),
            },
            Detour::UpperCase(at) => {
                let at = at % text.len();
                text = text
                    .char_indices()
                    .map(|(index, c)| if index == at { c.to_ascii_uppercase() } else { c })
                    .collect();
            }
            Detour::TrailingSlash => text.push('/'),
            _ => {}
        }
    }
    let has = |wanted: fn(&Detour) -> bool| detours.iter().any(wanted);
    if has(|detour| matches!(detour, Detour::Absolute)) {
        text.insert_str(0, "/srv/app/");
    }
    if has(|detour| matches!(detour, Detour::FileUri)) {
        text.insert_str(0, if text.starts_with('/') { "file://" } else { "file:" });
    }
    for detour in detours {
        match detour {
            Detour::Backslash(at) => {
                if let Some(slash) = pick(&slashes(&text), *at) {
                    text.replace_range(slash..=slash, "\\")
                }
            }
            Detour::Invisible(at) => text.insert(text.floor_char_boundary(at % text.len()), '\u{200d}'),
            _ => {}
        }
    }
    let encode = |character: char| format!("%{:02x}", u32::from(character));
    let mut rounds = 0;
    for detour in detours {
        match detour {
            Detour::EncodeAll if rounds < 3 => {
                rounds += 1;
                text = text.chars().map(|c| if c.is_ascii() { encode(c) } else { c.to_string() }).collect();
            }
            Detour::Encode(at) if rounds < 3 => {
                rounds += 1;
                let at = at % text.chars().count();
                text = text
                    .chars()
                    .enumerate()
                    .map(|(index, c)| if index == at && c.is_ascii() { encode(c) } else { c.to_string() })
                    .collect();
            }
            Detour::Nul => text.push('\0'),
            Detour::Space => text.insert(0, ' '),
            _ => {}
        }
    }
    text
}

/// Where a path leads to a reader who decodes, turns slashes around and stops at a NUL: a second opinion, by itself.
fn second_opinion(text: &str) -> Vec<String> {
    let mut text = text.to_owned();
    while let Some(at) = (0..text.len()).find(|at| {
        text.get(*at..at + 3)
            .is_some_and(|part| part.starts_with('%') && u8::from_str_radix(part.get(1..).unwrap(), 16).is_ok())
    }) {
        let byte = u8::from_str_radix(text.get(at + 1..at + 3).unwrap(), 16).unwrap();
        if !byte.is_ascii() {
            return vec!["undecodable".to_owned()];
        }
        text.replace_range(at..at + 3, &char::from(byte).to_string());
    }
    let text = text.replace('\\', "/");
    let mut components: Vec<String> = Vec::new();
    for component in text.split('\0').next().unwrap().split('/') {
        match component {
            "" | "." => {}
            ".." => {
                if components.pop().is_none() {
                    components.push("outside".to_owned())
                }
            }
            name => components.push(name.to_owned()),
        }
    }
    components
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 192 }))]

    /// Two spellings of one place get the same deny.
    #[test]
    fn s3_no_spelling_passes_a_deny(
        directory in "[a-y]{1,6}(/[a-y]{1,6}){0,2}",
        file in "[a-y]{1,6}",
        form in 0..5_usize,
        detours in prop::collection::vec(detour(), 0..6),
    ) {
        let pattern = match form {
            0 => format!("path={directory}/**"),
            1 => format!("{directory}/*"),
            2 => format!("path=**/{directory}/{file}"),
            3 => format!("path=/srv/app/{directory}/**"),
            _ => format!("path=./{directory}//{file}"),
        };
        let rules = rules_of(&[&format!("user deny files/* pattern:{pattern}"), "user allow files/*"]);
        let path = format!("{directory}/{file}");
        prop_assert_eq!(met_by_path(&rules, &path), Action::Deny);
        let spelling = spell(&path, &detours);
        prop_assert_eq!(met_by_path(&rules, &spelling), Action::Deny, "{:?} {:?}", pattern, spelling);
        let both = json!({"source": "zz", "destination": spelling});
        prop_assert_eq!(met(&rules, "files", &both), Action::Deny, "{:?}", both);
    }

    /// Whatever an allow matches is where the allow says.
    #[test]
    fn s3_no_spelling_is_allowed_elsewhere(text in "docs(/|//|%2[fF]|\\\\|/\\.|/\\.\\.|%2e|%252e%252e|%5c|\0|%00|/k|x|\\.\\.){0,6}") {
        let rules = rules_of(&["user allow files/* pattern:path=docs/**"]);
        if met_by_path(&rules, &text) == Action::Allow {
            let place = second_opinion(&text);
            prop_assert!(place.len() > 1 && place[0] == "docs", "{text:?} leads to {place:?}");
        }
    }
}
