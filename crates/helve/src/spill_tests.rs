//! What is passed on of a large result, and what is in the files.

use std::path::Path;

use base64::Engine as _;
use helve_model::json::RawJson;
use helve_model::{ContentBody, Outcome, QualifiedName, ServerName, ToolName};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{LENIENT, MAX_MEDIA_FILES, Spilled, spill};

fn name() -> QualifiedName {
    QualifiedName::new(ServerName::new("git hub/../x").unwrap(), ToolName::new("läs\n"))
}

fn outcome(result: &Value) -> Outcome {
    Outcome::new(RawJson::from_value(result).unwrap())
}

fn spilled(result: &Value, limit: usize, directory: &Path) -> Spilled {
    spill(&outcome(result), &name(), limit, Some(directory)).unwrap().unwrap()
}

/// What is passed on, then what is in the files; random names and the directory left out.
fn shown(result: &Value, limit: usize) -> String {
    let directory = tempfile::tempdir().unwrap();
    let Spilled { outcome: passed_on, files } = spilled(result, limit, directory.path());
    let mut text = passed_on.raw().as_str().to_owned();
    passed_on.raw().check().unwrap();
    let (whole, media) = files.split_last().unwrap();
    assert_eq!(fs_err::read_to_string(whole).unwrap(), outcome(result).raw().as_str());
    for file in media {
        text.push_str(&format!("\n{}: {:?}", file.display(), fs_err::read(file).unwrap()));
    }
    for (number, file) in files.iter().enumerate() {
        let random = file.file_stem().unwrap().to_string_lossy().rsplit_once('-').unwrap().1.to_owned();
        text = text.replace(&random, &format!("RANDOM{number}"));
    }
    text.replace(directory.path().to_str().unwrap(), "DIR")
}

#[test]
fn a_small_result_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let small = Outcome::text("hello");
    let length = small.raw().as_str().len();
    assert!(spill(&small, &name(), length, Some(&directory.path().join("new"))).unwrap().is_none());
    // Only what surrounds the content is above the limit.
    assert!(spill(&small, &name(), length - 1, Some(&directory.path().join("new"))).unwrap().is_none());
    assert!(!directory.path().join("new").exists());
    assert!(spill(&small, &name(), 4, Some(&directory.path().join("new"))).unwrap().is_some());
    assert!(directory.path().join("new").exists());
}

#[test]
fn text_is_cut_at_a_character() {
    let result = json!({"content": [{"type": "text", "text": "aüöäüöäüöäüöäüöäüöä"}], "isError": true});
    insta::assert_snapshot!(shown(&result, 10), @r#"{"content":[{"type":"text","text":"aüöäü"},{"type":"text","text":"[cut: 28 more bytes of text left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}],"isError":true}"#);
    insta::assert_snapshot!(shown(&json!({"content": "just a string that is too long"}), 20), @r#"{"content":[{"type":"text","text":"just a string that i"},{"type":"text","text":"[cut: 10 more bytes of text left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}]}"#);
    insta::assert_snapshot!(shown(&json!({"content": "too long"}), 0), @r#"{"content":[{"type":"text","text":"[cut: 8 more bytes of text left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}]}"#);
}

#[test]
fn nothing_follows_a_gap() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let long = "b".repeat(60);
    let link = json!({"type": "resource_link", "uri": "a://b", "name": "b"});
    let result = json!({"content": [text("a"), text(&long), text("c"), link, {"type": "hologram", "x": 1}]});
    insta::assert_snapshot!(shown(&result, 60), @r#"{"content":[{"text":"a","type":"text"},{"type":"text","text":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},{"type":"text","text":"[cut: 27 more bytes of text, a link to a://b of 49 bytes, content of kind \"hologram\" of 25 bytes left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}]}"#);
}

#[test]
fn media_are_put_into_files() {
    let data = LENIENT.encode([1, 2, 3, 4, 5, 6, 7, 8]);
    let result = json!({"content": [
        {"type": "image", "data": data, "mimeType": "image/png; x=1"},
        {"type": "audio", "data": data.trim_end_matches('='), "mimeType": "Audio/WAV"},
        {"type": "image", "data": "no!", "mimeType": "image/gif"},
        {"type": "resource", "resource": {"uri": "a://b\n", "blob": data}},
        {"type": "resource", "resource": {"uri": "a://c", "text": "words of a resource"}},
    ]});
    insta::assert_snapshot!(shown(&result, 40), @r#"
    {"content":[{"type":"text","text":"[image image/png; x=1, 8 bytes, is in DIR/git_hub____x-l_s_-RANDOM0.png]"},{"type":"text","text":"[audio Audio/WAV, 8 bytes, is in DIR/git_hub____x-l_s_-RANDOM1.wav]"},{"type":"text","text":"[resource a://b, 8 bytes, is in DIR/git_hub____x-l_s_-RANDOM2.bin]"},{"type":"text","text":"[resource a://c]"},{"type":"text","text":"words of a resource"},{"type":"text","text":"[cut: image image/gif that is not base 64 left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM3.json]"}]}
    DIR/git_hub____x-l_s_-RANDOM0.png: [1, 2, 3, 4, 5, 6, 7, 8]
    DIR/git_hub____x-l_s_-RANDOM1.wav: [1, 2, 3, 4, 5, 6, 7, 8]
    DIR/git_hub____x-l_s_-RANDOM2.bin: [1, 2, 3, 4, 5, 6, 7, 8]
    "#);
}

#[test]
fn a_text_may_lose_what_hangs_on_it() {
    let result = json!({"content": [{"type": "text", "text": "short", "_meta": {"x": "m".repeat(80)}}]});
    insta::assert_snapshot!(shown(&result, 60), @r#"{"content":[{"type":"text","text":"short"},{"type":"text","text":"[the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}]}"#);
}

#[test]
fn media_that_fit_stay() {
    let picture = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let result = json!({"content": [picture, {"type": "text", "text": "x".repeat(80)}]});
    insta::assert_snapshot!(shown(&result, 60), @r#"{"content":[{"data":"AAAA","mimeType":"image/png","type":"image"},{"type":"text","text":"xxxxxxx"},{"type":"text","text":"[cut: 73 more bytes of text left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}]}"#);
}

#[test]
fn structured_content_is_whole_or_absent() {
    let result = json!({"content": [{"type": "text", "text": "short"}], "structuredContent": {"a": "x".repeat(50)}});
    insta::assert_snapshot!(shown(&result, 60), @r#"{"content":[{"text":"short","type":"text"},{"type":"text","text":"[cut: structured content of 58 bytes left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}]}"#);
    insta::assert_snapshot!(shown(&json!({"structuredContent": {"a": "x".repeat(50)}}), 20), @r#"{"content":[{"type":"text","text":"{\"a\":\"xxxxxxxxxxxxxx"},{"type":"text","text":"[cut: 38 more bytes of text, structured content of 58 bytes left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}]}"#);
}

#[test]
fn other_members_have_a_share_of_their_own() {
    let result = json!({
        "_meta": {"long": "m".repeat(60)},
        "content": [{"type": "text", "text": "t".repeat(60)}],
        "isError": false,
        "resultType": "complete",
    });
    insta::assert_snapshot!(shown(&result, 100), @r#"{"content":[{"text":"tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt","type":"text"},{"type":"text","text":"[cut: `_meta` of 71 bytes, `resultType` of 10 bytes left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}],"isError":false}"#);
    insta::assert_snapshot!(shown(&result, 10), @r#"{"content":[{"type":"text","text":"tttttttttt"},{"type":"text","text":"[cut: 50 more bytes of text, `_meta` of 71 bytes, `resultType` of 10 bytes left out; the whole result is in DIR/git_hub____x-l_s_-RANDOM0.json]"}],"isError":false}"#);
}

#[test]
fn thousands_of_pieces_make_neither_thousands_of_files_nor_a_long_line() {
    let picture = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let directory = tempfile::tempdir().unwrap();
    let Spilled { outcome, files } = spilled(&json!({"content": vec![picture; 5_000]}), 10, directory.path());
    assert_eq!(files.len(), 1 + MAX_MEDIA_FILES);
    let text = outcome.open().unwrap().to_text();
    let last = text.lines().last().unwrap();
    assert!(last.contains("image image/png, 4976 more left out"), "{last}");
}

#[test]
fn what_is_no_json_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let broken = Outcome::new(RawJson::assembled("{\"content\":[nonsense]}".to_owned()));
    assert!(spill(&broken, &name(), 1, Some(directory.path())).is_err());
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = tempfile::tempdir().unwrap();
    let made = directory.path().join("a/b");
    let result = json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]});
    let first = spilled(&result, 1, &made).files;
    let second = spilled(&result, 1, &made).files;
    assert_eq!(mode(&made), 0o700);
    assert!(first.iter().chain(&second).all(|file| mode(file) == 0o600));
    assert!(first.iter().all(|file| !second.contains(file)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_passed_on_is_json_and_bounded(
        texts in proptest::collection::vec(any::<String>(), 0..6),
        structured in proptest::option::of(any::<String>()),
        limit in 0..200_usize,
    ) {
        let content: Vec<_> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let result = outcome(&json!({"content": content, "structuredContent": {"x": structured}}));
        let directory = tempfile::tempdir().unwrap();
        let Some(spilled) = spill(&result, &name(), limit, Some(directory.path())).unwrap() else {
            prop_assert!(texts.concat().len() <= limit);
            return Ok(());
        };
        let view = spilled.outcome.open().unwrap();
        let blocks = view.content.iter().map(|block| match &block.body {
            ContentBody::Text(text) => text.as_str(),
            other => panic!("{other:?}"),
        });
        let kept: String = blocks.clone().take(blocks.count() - 1).collect();
        prop_assert!(kept.len() <= limit);
        prop_assert!(texts.is_empty() || texts.concat().starts_with(&kept));
        prop_assert!(view.structured.is_none_or(|value| value.as_str().len() <= limit));
    }
}

#[test]
fn without_a_directory_the_rest_is_gone_and_the_part_says_so() {
    let cut = |result: Value, limit: usize| {
        let Spilled { outcome, files } = spill(&outcome(&result), &name(), limit, None).unwrap().unwrap();
        assert!(files.is_empty());
        outcome.raw().as_str().to_owned()
    };
    insta::assert_snapshot!(cut(json!({"content": [{"type": "text", "text": "more than fits"}]}), 9), @r#"{"content":[{"type":"text","text":"more than"},{"type":"text","text":"[cut: 5 more bytes of text left out]"}]}"#);
    let picture = json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAAAAAAA"}]});
    insta::assert_snapshot!(cut(picture, 9), @r#"{"content":[{"type":"text","text":"[cut: image image/png of 6 bytes left out]"}]}"#);
}
