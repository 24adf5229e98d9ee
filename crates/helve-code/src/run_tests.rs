//! Programs as messages and a clock: no process, no time that passes by itself.

use super::*;

const PLAN: &[u8] = br#"{"plan": {"calls": [], "imports": [], "problems": []}}"#;

fn running(limits: Limits, now: Instant) -> Run {
    let mut run = Run::new(limits, now);
    assert!(matches!(run.line(PLAN, now).as_slice(), [Action::Review(_)]));
    assert!(matches!(run.go(now).as_slice(), [Action::Send(go)] if go == "{\"go\":true}\n"));
    run
}

fn after(now: Instant, seconds: u64) -> Instant {
    now + Duration::from_secs(seconds)
}

#[test]
fn nothing_is_taken_before_the_plan_was_looked_at() {
    let now = Instant::now();
    for early in [CallFrame::numbered(1, "x"), r#"{"print": "x"}"#.to_owned(), "nonsense".to_owned()] {
        let mut run = Run::new(Limits::default(), now);
        assert!(matches!(run.line(early.as_bytes(), now).as_slice(), [Action::Finish(Ending::Nonsense(_))]));
        let mut run = Run::new(Limits::default(), now);
        run.line(PLAN, now);
        assert!(matches!(run.line(early.as_bytes(), now).as_slice(), [Action::Finish(Ending::Nonsense(_))]));
        // Whatever comes behind it.
        assert!(run.line(CallFrame::numbered(2, "x").as_bytes(), now).is_empty());
    }
}

#[test]
fn calls_beyond_what_runs_at_once_wait_and_too_many_end_it() {
    let now = Instant::now();
    let limits = Limits::default().with(|limits| (limits.calls, limits.calls_at_once) = (4, 2));
    let mut run = running(limits, now);
    let dispatched = |actions: &[Action]| {
        actions
            .iter()
            .filter_map(|action| match action {
                Action::Dispatch(call) => Some(call.id),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let mut seen = Vec::new();
    for id in 1..=4 {
        seen.extend(dispatched(&run.line(CallFrame::numbered(id, "x").as_bytes(), now)));
    }
    assert_eq!(seen, [1, 2]);
    let actions = run.answered(1, "a/x".to_owned(), Ok(()), "{}\n".to_owned(), after(now, 1));
    assert_eq!(dispatched(&actions), [3]);
    let actions = run.line(br#"{"cancel": {"id": 2}}"#, after(now, 2));
    assert!(matches!(actions.as_slice(), [Action::GiveUp(2), Action::Dispatch(call)] if call.id == 4));
    let made = run.calls(after(now, 3));
    assert_eq!(made[0].end, Some(Ok(())));
    assert_eq!(made[0].tool, "a/x");
    assert_eq!(made[1].end, Some(Err(ErrorCode::Cancelled)));
    assert_eq!((made[2].end, made[3].end), (None, None));
    let over = run.line(CallFrame::numbered(5, "x").as_bytes(), after(now, 3));
    assert!(matches!(over.as_slice(), [Action::Finish(Ending::Limit(limit))] if limit.contains("4 calls")));
}

#[test]
fn the_clock_stands_still_while_calls_run_and_while_somebody_is_asked() {
    let now = Instant::now();
    let mut run = running(Limits::default(), now);
    assert_eq!(run.deadline(), Some(after(now, 30)));
    run.line(CallFrame::numbered(1, "x").as_bytes(), after(now, 10));
    assert_eq!(run.deadline(), Some(after(now, 300)));
    run.asks(1, after(now, 20));
    assert_eq!(run.deadline(), None);
    run.asks(0, after(now, 3_600));
    assert!(run.tick(after(now, 3_600)).is_empty());
    run.answered(1, "a/x".to_owned(), Ok(()), "{}\n".to_owned(), after(now, 3_605));
    // It computed for ten seconds before.
    assert_eq!(run.deadline(), Some(after(now, 3_625)));
    assert!(
        matches!(run.tick(after(now, 3_626)).as_slice(), [Action::Finish(Ending::Limit(limit))] if limit.contains("30 s"))
    );
}

#[test]
fn what_is_printed_is_cut_at_whole_characters() {
    let now = Instant::now();
    let mut run = running(Limits::default().with(|limits| limits.print_bytes = 5), now);
    run.line("{\"print\": \"ééé\"}".as_bytes(), now);
    run.line(br#"{"print": "more"}"#, now);
    assert_eq!(run.printed(), ("éém", 4));
}

#[test]
fn one_that_never_stops_talking_is_held_to_its_time() {
    let now = Instant::now();
    let mut run = running(Limits::default(), now);
    let print = br#"{"print": "x"}"#;
    assert!(matches!(run.line(print, after(now, 29)).as_slice(), [Action::Print(_)]));
    let over = run.line(print, after(now, 31));
    assert!(matches!(over.as_slice(), [Action::Finish(Ending::Limit(limit))] if limit.contains("30 s")));
}

#[test]
fn a_call_that_is_given_up_before_its_turn_is_never_made() {
    let now = Instant::now();
    let mut run = running(Limits::default().with(|limits| limits.calls_at_once = 1), now);
    for id in 1..=3 {
        run.line(CallFrame::numbered(id, "x").as_bytes(), now);
    }
    assert!(run.line(br#"{"cancel": {"id": 2}}"#, now).is_empty());
    let actions = run.answered(1, "a/x".to_owned(), Ok(()), "{}\n".to_owned(), after(now, 1));
    assert!(matches!(actions.as_slice(), [Action::Send(_), Action::Dispatch(call)] if call.id == 3));
    let ends: Vec<_> = run.calls(after(now, 1)).into_iter().map(|made| made.end).collect();
    assert_eq!(ends, [Some(Ok(())), Some(Err(ErrorCode::Cancelled)), None]);
}
