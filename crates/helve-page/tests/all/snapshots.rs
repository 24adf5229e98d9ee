//! Small views as they are written: each part of a page once.

use helve_page::view::*;
use helve_page::{json_tree, live, page};

/// What stands between `<main …>` and its end.
fn main_of(html: &str) -> String {
    let (_, after) = html.split_once("<main").unwrap();
    let (_, inside) = after.split_once('>').unwrap();
    inside.split_once("</main>").unwrap().0.trim().to_owned()
}

#[test]
fn the_page_without_a_session_says_how_to_get_one() {
    insta::assert_snapshot!(main_of(&page::link_needed(&LinkNeeded::default())), @"");
}

#[test]
fn an_error_says_what_to_do() {
    let view = ErrorPage {
        status: 404,
        what: "There is no call 7.".into(),
        advice: vec!["It may be too old.".into()],
        links: vec![],
    };
    insta::assert_snapshot!(main_of(&page::error(&view)), @"");
}

#[test]
fn a_tree_shows_what_is_hidden() {
    let view = TryTool {
        outcome: TryOutcome::Done(CallResult {
            parts: vec![ResultPart::Json(json_tree("{\"a\": [1, \"<b>\\u202e\"], \"c\": null}"))],
            ..CallResult::default()
        }),
        ..TryTool::default()
    };
    insta::assert_snapshot!(live::try_tool(&view).trim(), @"");
}

#[test]
fn a_server_says_why_and_when() {
    let head = ServerHead {
        name: "postgres".into(),
        status: Status {
            mark: Mark::Waiting,
            word: "starting again".into(),
            reason: Some("exited with status 1".into()),
            next: Some("next try in 8 s".into()),
        },
        transport: "program".into(),
        target: "npx server".into(),
        origin: "helve.toml:3".into(),
        ..ServerHead::default()
    };
    insta::assert_snapshot!(live::server(&head).trim(), @"");
}

#[test]
fn a_log_has_its_lines_as_text() {
    let lines = [LogLine { at: "14:02".into(), source: "stderr".into(), text: "\u{1b}[31m<red>".into() }];
    insta::assert_snapshot!(live::log(&lines, 3).trim(), @"");
}
