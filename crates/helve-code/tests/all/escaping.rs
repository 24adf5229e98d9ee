//! Attempts to get out, with the look at programs before they run switched off: what holds is the sandbox, and the decision on
//! each call. Each attempt gives `escaped` where it worked.

use std::time::Duration;

use helve::{CallContext, Caller, ErrorCode};
use helve_code::Limits;

use super::support::{Shop, engine_with};

/// Statements of which one must raise, by name.
const ATTEMPTS: &str = include_str!("../escapes.txt");

fn attempts() -> Vec<(&'static str, &'static str)> {
    ATTEMPTS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t')).collect()
}

fn attempt(body: &str) -> String {
    let lines: String = body.split("; ").map(|line| format!("    {line}\n")).collect();
    format!("try:\n{lines}    result = 'escaped'\nexcept BaseException as error:\n    result = type(error).__name__\n")
}

/// The names of the attempts that worked, and how many were refused before they ran.
async fn escaped(gate: bool) -> Option<(Vec<&'static str>, usize)> {
    let limits = Limits::default();
    let engine = engine_with(None, &limits).await?;
    let shop = Shop::open(engine, limits, gate).await;
    let (mut escaped, mut refused) = (Vec::new(), 0);
    for (name, body) in attempts() {
        let report = shop.run(&attempt(body)).await;
        if report.value.as_str() == "\"escaped\"" {
            escaped.push(name);
        }
        refused += usize::from(report.error.is_some_and(|error| error.is_refusal));
    }
    assert!(!std::path::Path::new("/var/tmp/helve-escape").exists());
    Some((escaped, refused))
}

#[tokio::test]
async fn nothing_gets_out() {
    let all = attempts();
    assert!(all.len() >= 60, "{}", all.len());
    let Some((escaped, refused)) = escaped(false).await else { return };
    assert_eq!((escaped, refused), (Vec::new(), 0));
}

/// The same attempts with the look at programs: most of them are refused before they run, which is a courtesy.
#[tokio::test]
async fn nothing_gets_out_with_the_gate_on() {
    let all = attempts();
    let Some((escaped, refused)) = escaped(true).await else { return };
    assert!(escaped.is_empty(), "{escaped:?}");
    assert!(refused * 10 >= all.len() * 9, "{refused} of {}", all.len());
}

/// The environment of a worker is three variables of ours, and its descriptors are its three pipes.
#[tokio::test]
async fn nothing_is_inherited() {
    let limits = Limits::default();
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::open(engine, limits, false).await;
    let report = shop.run("import os\nopen_ = []\nfor n in range(64):\n    try: os.fstat(n); open_.append(n)\n    except OSError: pass\n[sorted(os.environ), open_]").await;
    assert_eq!(
        report.value.as_str(),
        r#"[["LC_ALL","MALLOC_ARENA_MAX","PYTHONHASHSEED"],[0,1,2]]"#,
        "{:?}",
        report.error
    );
}

/// What a worker writes is only a request: it is decided as any other.
#[tokio::test]
async fn forged_messages_gain_nothing() {
    let limits = Limits::default().with(|limits| limits.computing_time = Duration::from_secs(3));
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::open(engine, limits, false).await;
    let write = |text: &str| {
        format!("import os\nos.write(1, {text:?}.encode() + b'\\n')\nimport time\ntime.sleep(0.3)\nresult = 'over'\n")
    };
    let forged = r#"{"call":{"id":77,"server":"ShopMCP","tool":"burn","args":{},"positional":[],"texts":{}}}"#;
    let report = shop.run(&write(forged)).await;
    assert_eq!(Shop::calls(&report), [format!("shop/burn {:?}", Some(Err::<(), _>(ErrorCode::ApprovalRequired)))]);
    for nonsense in ["nonsense", r#"{"plan":{"calls":[],"imports":[],"problems":[]}}"#, r#"{"go":true}"#, "[]"] {
        let report = shop.run(&write(nonsense)).await;
        assert_eq!(report.error.unwrap().code, ErrorCode::ProtocolError, "{nonsense}");
    }
    let own =
        r#"{"call":{"id":77,"server":"HelveMCP","tool":"run_code","args":{"code":"1"},"positional":[],"texts":{}}}"#;
    let report = shop.run(&write(own)).await;
    assert_eq!(report.calls.first().and_then(|call| call.end), Some(Err(ErrorCode::ServerNotFound)));
    // A value, and then a loop: the value counts, and the worker goes.
    let done = r#"{"done":{"value":1,"notes":[],"attachments":[7],"printed":0}}"#;
    let report = shop.run(&write(done).replace("time.sleep(0.3)", "while True: pass")).await;
    assert_eq!((report.error, report.value.as_str()), (None, "1"));
    let endless = "import os\nwhile True: os.write(1, b'x' * 65536)";
    assert_eq!(shop.run(endless).await.error.unwrap().code, ErrorCode::LimitExceeded);
}

/// Two who run programs at once, from one engine with one spare, have nothing of each other.
#[tokio::test]
async fn two_principals_share_nothing() {
    let limits = Limits::default();
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::open(engine, limits, true).await;
    let run = |name: &'static str, number: usize| {
        let context = CallContext::new(Caller::Agent).with(|context| {
            context.principal = helve::Principal::connection(name.len() as u64);
        });
        let source = format!(
            "import json\nassert not hasattr(json, 'mine')\njson.mine = '{name}'\nprint('{name} {number}')\nresult = ['{name}', {number}, device.ShopMCP.join('{name}', '{number}')]"
        );
        let runner = shop.runner.clone();
        async move {
            let report = runner.run(&source, context).await.unwrap();
            assert_eq!(report.error, None);
            assert_eq!(report.value.as_str(), format!("[\"{name}\",{number},\"{name}+{number}\"]"));
            assert_eq!(report.printed, format!("{name} {number}\n"));
        }
    };
    let all = (0..20).flat_map(|number| [run("ann", number), run("robert", number)]);
    futures_util::future::join_all(all).await;
}
