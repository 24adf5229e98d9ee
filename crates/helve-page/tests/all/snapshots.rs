//! Small views as they are written: each part of a page once.

use helve_page::view::*;
use helve_page::{json_tree, live, page};

/// What stands inside of `<main …>`, after the name of the hub.
fn main_of(html: &str) -> String {
    let (_, after) = html.split_once("<main").unwrap();
    let (_, inside) = after.split_once("<section").unwrap();
    format!("<section{}", inside.split_once("</main>").unwrap().0.trim_end())
}

#[test]
fn the_page_without_a_session_says_how_to_get_one() {
    insta::assert_snapshot!(main_of(&page::link_needed(&LinkNeeded::default())), @r#"<section class="card"><h1>A link opens this page</h1><p>On the machine where the hub runs, this makes one. It works once, for ten minutes.</p><pre class="token" tabindex="0" role="region" aria-label="Command">helve hub link</pre><p class="help">Agents do not sign in here: they bring a token.</p></section>"#);
}

#[test]
fn an_error_says_what_to_do() {
    let view = ErrorPage {
        status: 404,
        what: "There is no call 7.".into(),
        advice: vec!["It may be too old.".into()],
        links: vec![],
    };
    insta::assert_snapshot!(main_of(&page::error(&view)), @r#"<section class="card"><p class="soft">404</p><h1>There is no call 7.</h1><p>It may be too old.</p><div class="row"><a class="button" href="/">Overview</a></div></section>"#);
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
    insta::assert_snapshot!(live::try_tool(&view).trim(), @r##"
    <p class="row"><span class="badge good">answered</span><span class="soft">0 µs · 0 B</span></p>
    <div class="boxed" tabindex="0" role="region" aria-label="JSON, part 1"><div class="tree"><details open><summary><span class="soft">{2}</span></summary><details open><summary><span class="key">a</span> <span class="soft">[2]</span></summary><div><span class="key">0</span> <span class="number">1</span></div><div><span class="key">1</span> <span class="text">&lt;b&gt;<mark>\u{202e}</mark></span></div></details><div><span class="key">c</span> <span class="word">null</span></div></details></div></div>
    "##);
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
    insta::assert_snapshot!(live::server(&head).trim(), @r##"<dl class="pair"><dt>Status</dt><dd><span class="state warn"><svg class="i" aria-hidden="true"><use href="#i-wait"/></svg>starting again</span> <small>exited with status 1; next try in 8 s</small></dd><dt>program</dt><dd><code>npx server</code></dd><dt>Entry</dt><dd><code>helve.toml:3</code></dd></dl>"##);
}

#[test]
fn a_log_has_its_lines_as_text() {
    let lines = [LogLine { at: "14:02".into(), source: "stderr".into(), text: "\u{1b}[31m<red>".into() }];
    insta::assert_snapshot!(live::log(&lines, 3).trim(), @r##"
    <p class="soft">3 earlier lines are not kept.</p>
    <pre class="wrap log" tabindex="0" role="log" aria-label="Log"><time>14:02</time> <b>stderr</b> <mark>\u{1b}</mark>[31m&lt;red&gt;
    </pre>
    "##);
}
