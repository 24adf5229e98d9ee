//! What is refused before it runs, what is asked, what is recorded, and what is told of failures.

use std::time::Duration;

use helve::{ApprovalAnswer, CallContext, CallEnd, Caller, Door, ErrorCode};
use helve_code::Limits;

use super::support::{Shop, engine_with};

macro_rules! shop {
    () => {
        shop!(ApprovalAnswer::Unavailable)
    };
    ($answer:expr) => {{
        let limits = Limits::default();
        let Some(engine) = engine_with(None, &limits).await else { return };
        Shop::with_person(engine, limits, true, $answer, Duration::ZERO).await
    }};
}

#[tokio::test]
async fn all_problems_are_told_at_once_and_nothing_is_called() {
    let shop = shop!();
    let report = shop.run("import os\nx = device.ShopMCP.order(id=1)\ndevice.ShopMCP.ordr(id=1)\ndevice.ShpMCP.order(id=1)\ndevice.ShopMCP.order(idd=1)\ndevice.ShopMCP.order()\nopen('/etc/passwd')\n().__class__.__subclasses__()\n").await;
    assert!(report.calls.is_empty());
    let told = report.to_text(4_000);
    insta::assert_snapshot!(told, @r"
    the program was not run, and no call was made:
    line 1: `import os` is not possible: programs have no files and no environment: use a tool, and `pathlib` to put paths together
    line 3: `device.ShopMCP` has no tool `ordr`: did you mean `order`?
    line 4: there is no server `device.ShpMCP`: did you mean `device.ShopMCP`?
    line 5: device.ShopMCP.order: there is no argument `idd`: did you mean `id`?
    line 6: device.ShopMCP.order: `id` missing
    line 7: `open` is not available to programs
    line 8: the attribute `__subclasses__` is not available to programs (INVALID_PARAMS)
    ");
}

#[tokio::test]
async fn failures_have_lines_and_the_calls_made() {
    let shop = shop!();
    let report = shop.run("def total(rows):\n    return sum(row['price'] for row in rows)\nrows = device.ShopMCP.orders(page=1)['orders']\nprint('so far')\ntotal(rows)\n").await;
    let told = report.to_text(4_000);
    let told =
        told.split(" ms").next().unwrap().trim_end_matches(|last: char| last.is_ascii_digit()).trim_end().to_owned();
    insta::assert_snapshot!(told, @r"
    KeyError: no key 'price' (line 2, in <genexpr>; line 2, in total; line 5) (TOOL_ERROR)
    printed:
    so far
    calls made:
    1: shop/orders
    ");
    let report = shop.run("x = (1,\n").await;
    insta::assert_snapshot!(report.to_text(4_000), @r"
    SyntaxError: '(' was never closed (line 1): x = (1, (TOOL_ERROR)
    calls made: none
    ");
}

#[tokio::test]
async fn each_call_is_recorded_with_its_program() {
    let shop = shop!();
    let report = shop.run("device.ShopMCP.order(id=1)['customer']").await;
    assert_eq!(report.value.as_str(), "\"ann\"");
    let records = shop.records.0.lock().unwrap();
    let [call, program] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!(program.name.as_ref().unwrap().to_string(), "helve/run_code");
    assert_eq!((call.source.door, call.source.parent), (Door::Code, Some(program.id)));
    assert_eq!((call.end, call.caller), (CallEnd::Done, Caller::Agent));
}

#[tokio::test]
async fn what_writes_is_asked_for_once_and_what_destroys_each_time() {
    let shop = shop!(ApprovalAnswer::Once);
    let report =
        shop.run("[device.ShopMCP.pay(id=i) for i in range(3)] + [device.ShopMCP.burn(), device.ShopMCP.burn()]").await;
    assert_eq!(report.error, None);
    assert_eq!(*shop.person.asked.lock().unwrap(), ["helve/run_code", "shop/burn", "shop/burn"]);
    let shop = shop!(ApprovalAnswer::Unavailable);
    let report = shop.run("device.ShopMCP.order(id=1)\ndevice.ShopMCP.pay(id=1)").await;
    let error = report.error.unwrap();
    assert_eq!((error.code, report.calls.len()), (ErrorCode::ApprovalRequired, 0));
}

/// C10: what is left to agents is not left to programs.
#[tokio::test]
async fn what_no_rule_mentions_is_asked_for_in_programs_whatever_is_left_to_agents() {
    let shop = shop!();
    let left = CallContext::new(Caller::Agent).with(|context| context.leaves_unlisted = true);
    for source in [
        "device.ShopMCP.burn()",
        "getattr(device.ShopMCP, 'bu' + 'rn')()",
        "burn = device.ShopMCP.burn\nburn()",
        "import asyncio\nawait asyncio.gather(device.ShopMCP.burn())",
        "devices.local.ShopMCP.burn()",
    ] {
        let report = shop.runner.run(source, left.clone()).await.unwrap();
        assert!(report.error.is_some(), "{source}");
        assert!(report.calls.iter().all(|call| call.end == Some(Err(ErrorCode::ApprovalRequired))), "{source}");
    }
    let person = left.with(|context| context.caller = Caller::Person);
    assert!(shop.runner.run("device.ShopMCP.burn()", person).await.unwrap().error.is_some());
}

#[tokio::test]
async fn a_person_may_take_their_time() {
    let limits = Limits::default().with(|limits| {
        (limits.computing_time, limits.total_time) = (Duration::from_millis(400), Duration::from_millis(800));
    });
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::with_person(engine, limits, true, ApprovalAnswer::Once, Duration::from_secs(2)).await;
    let report = shop.run("device.ShopMCP.burn()").await;
    assert_eq!((report.error, report.value.as_str()), (None, "\"burnt\""));
}

#[tokio::test]
async fn large_results_are_read_whole_and_leave_short() {
    let shop = shop!();
    let report = shop.run("sum(device.ShopMCP.large(bytes=7_000_000))").await;
    assert_eq!(report.value.as_str(), "24500007");
    let report = shop.run("device.ShopMCP.large(bytes=1_000_000)").await;
    let told = report.to_text(40 << 10);
    assert!(told.len() < 41 << 10 && told.contains("more items"), "{}", told.len());
    let report = shop.run("device.ShopMCP.large(bytes=9_000_000)").await;
    assert_eq!(report.error.unwrap().code, ErrorCode::LimitExceeded);
}

/// In a worker that imported nothing: the scanner of JSON is another one then.
#[tokio::test]
async fn text_that_looks_like_json_and_is_not_stays_text() {
    let limits = Limits::default().with(|limits| limits.spare_for = None);
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::open(engine, limits, true).await;
    for source in ["device.ShopMCP.listing()", "import json\ndevice.ShopMCP.listing()"] {
        let report = shop.run(source).await;
        assert_eq!((report.error, report.value.as_str()), (None, "\"[{'name': 'a'}, {'name': 'b'}]\""), "{source}");
    }
}

#[tokio::test]
async fn calls_at_once_take_the_time_of_one() {
    let shop = shop!();
    let began = std::time::Instant::now();
    let report =
        shop.run("import asyncio\nlen(await asyncio.gather(*[device.ShopMCP.slow(ms=400) for _ in range(8)]))").await;
    assert_eq!(report.value.as_str(), "8");
    assert!(began.elapsed() < Duration::from_millis(3_000), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_worker_is_used_once_and_keeps_nothing() {
    let shop = shop!();
    for number in 0..6 {
        let source = format!("import json\nseen = getattr(json, 'mark', None)\njson.mark = {number}\nresult = seen");
        let report = shop.run(&source).await;
        assert_eq!((report.error, report.value.as_str()), (None, "null"), "{number}");
    }
}

#[tokio::test]
async fn a_session_keeps_its_variables() {
    let shop = shop!();
    let mut session = helve_code::Session::default();
    for (source, value) in
        [("x = device.ShopMCP.order(id=2)", "null"), ("x['amount'] + 1", "21"), ("y", "null"), ("x['id']", "2")]
    {
        let context = CallContext::new(Caller::Agent);
        let report = shop.runner.run_in(Some(&mut session), source, context).await.unwrap();
        assert_eq!(report.value.as_str(), value, "{source}: {:?}", report.error);
    }
}

#[tokio::test]
async fn bad_programs_get_one_clear_message() {
    let limits = Limits::default().with(|limits| {
        limits.processor_seconds = 2;
        limits.computing_time = Duration::from_secs(4);
    });
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::open(engine, limits, true).await;
    for (source, told) in [
        ("x".repeat(1 << 20), "65536"),
        ("while True: print('x' * 1000)".to_owned(), "was ended"),
        ("x = [0] * 10**10".to_owned(), "MemoryError"),
        ("def f(): return f()\nf()".to_owned(), "RecursionError"),
        ("while True: device.ShopMCP.order(id=1)".to_owned(), "more than 100 calls"),
        ("import time\ntime.sleep(60)".to_owned(), "4 s"),
        ("9 ** 9 ** 9".to_owned(), "was ended"),
    ] {
        let report = shop.run(&source).await;
        let text = report.to_text(40 << 10);
        assert!(report.error.is_some() && text.contains(told), "{told}: {text}");
        assert!(report.printed.len() <= 64 << 10);
    }
    drop(shop.host);
}
