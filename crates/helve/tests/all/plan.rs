//! Which servers there are: changed from many sides at once, held back, switched off, in doubt.

use futures_util::future::join_all;
use helve::{HostSettings, Plan, Planned};
use helve_model::{DisabledReason, ErrorCode, ServerSpec};
use helve_policy::Trust;
use helve_testkit::{Scenario, wait_until_dead};

use crate::fault::crash::endless_calls;
use crate::support::{
    PATIENCE, builder, call, host, marked, marked_processes, program, shown, status, stdio, until_status,
};

/// A server that is not started by being there.
fn lazy(name: &str) -> ServerSpec {
    stdio(name, &Scenario::dual()).with(|spec| spec.lazy = true)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_from_many_tasks_at_once_all_count() {
    let host = builder((0..20).map(|number| lazy(&format!("old-{number}")))).start().await.unwrap();
    let adding = (0..20).map(|number| {
        let host = host.clone();
        tokio::spawn(async move { drop(host.add_server(lazy(&format!("new-{number}"))).await) })
    });
    let removing = (0..20).map(|number| {
        let host = host.clone();
        tokio::spawn(async move { host.remove_server(&format!("old-{number}")).await.unwrap() })
    });
    for done in join_all(adding.chain(removing)).await {
        done.unwrap();
    }
    let mut names: Vec<String> = host.status().iter().map(|report| report.name.to_string()).collect();
    names.sort_by_key(|name| name.strip_prefix("new-").unwrap().parse::<u32>().unwrap());
    assert_eq!(names, (0..20).map(|number| format!("new-{number}")).collect::<Vec<_>>());
    host.shutdown().await;
}

#[tokio::test]
async fn a_change_leaves_the_calls_of_other_servers_alone() {
    let keep = marked(Scenario::legacy(), "kept server");
    let host =
        host([stdio("kept", &keep), stdio("changed", &Scenario::legacy()), stdio("removed", &Scenario::legacy())])
            .await;
    let process = marked_processes("kept server");
    let kept = endless_calls(&host, "kept", 5).await;
    let changed = endless_calls(&host, "changed", 5).await;
    let removed = endless_calls(&host, "removed", 5).await;

    let mut other_rules = stdio("kept", &keep);
    // What may be called does not depend on the process.
    other_rules.access.disabled_tools =
        vec![helve_model::Listed { glob: "echo".to_owned(), origin: helve_model::Origin::Program }];
    let changes = host.set_servers(vec![other_rules, stdio("changed", &Scenario::modern())]).await;
    assert_eq!((changes.kept.len(), changes.changed.len(), changes.removed.len()), (1, 1, 1), "{changes:?}");
    for call in changed.into_iter().chain(removed) {
        let error = call.await.unwrap().unwrap_err();
        assert_eq!((error.code(), error.may_have_run()), (ErrorCode::TransportError, true));
    }
    assert!(kept.iter().all(|call| !call.is_finished()));
    assert_eq!(marked_processes("kept server"), process);
    assert_eq!(call(&host, "kept/echo", "{}").await.unwrap_err().code(), ErrorCode::Denied);
    call(&host, "changed/echo", "{}").await.unwrap();
    host.shutdown().await;
    for call in kept {
        assert_eq!(call.await.unwrap().unwrap_err().code(), ErrorCode::TransportError);
    }
}

#[tokio::test]
async fn who_waits_for_a_server_is_told_when_it_is_removed_or_replaced() {
    let hanging = |name: &str| stdio(name, &marked(Scenario::dual().never_answers(), "waited for"));
    let host = builder([hanging("removed"), hanging("replaced"), hanging("ended")]).start().await.unwrap();
    let waiting = ["removed/echo", "replaced/echo", "ended/echo"].map(|name| {
        let host = host.clone();
        tokio::spawn(async move { call(&host, name, "{}").await.unwrap_err() })
    });
    let reconnecting = tokio::spawn({
        let host = host.clone();
        async move { host.reconnect_server("removed").await.unwrap_err() }
    });
    // All of them have been looked for, and wait.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    host.remove_server("removed").await.unwrap();
    drop(host.add_server(lazy("replaced")).await);
    host.shutdown().await;
    let mut words = String::new();
    for waiting in waiting {
        let error = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap();
        words.push_str(&shown(&error));
        words.push('\n');
    }
    insta::assert_snapshot!(words, @r"
    SERVER_NOT_FOUND: the server `removed` has been removed
    SERVER_UNAVAILABLE: the server `replaced` has been configured anew, and the old one was ended
      hint: make the call again
    SERVER_UNAVAILABLE: the host has been shut down
    ");
    assert_eq!(reconnecting.await.unwrap().code(), ErrorCode::ServerNotFound);
    // Those that were still connecting were killed, and it was waited for that.
    assert_eq!(marked_processes("waited for"), Vec::<u32>::new());
}

#[tokio::test]
async fn a_replaced_server_is_gone_before_the_new_one_starts() {
    // It ends at its own leisure.
    let old = marked(Scenario::legacy().ignores_eof(), "exclusive old");
    let host = host([stdio("a", &old)]).await;
    let before = marked_processes("exclusive old");
    let changing = tokio::spawn({
        let host = host.clone();
        let new = stdio("a", &marked(Scenario::legacy(), "exclusive new"));
        async move { host.add_server(new).await }
    });
    // The call is answered by the new one; by then the old one must be gone.
    while host.snapshot().tool("a/echo").is_ok() {
        tokio::task::yield_now().await;
    }
    call(&host, "a/echo", "{}").await.unwrap();
    assert_eq!(wait_until_dead(&before, std::time::Duration::ZERO).await, Vec::<u32>::new());
    assert_eq!(marked_processes("exclusive new").len(), 1);
    assert_eq!(changing.await.unwrap().changed.len(), 1);
    host.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_held_back_says_why_and_cannot_be_switched_on() {
    let held = |name: &str, reason| Planned::from(lazy(name)).with(|planned| planned.held = Some(reason));
    let mut off = stdio("off", &marked(Scenario::dual(), "held back"));
    off.enabled = false;
    let plan = Plan::default().with(|plan| {
        plan.servers = vec![
            held("variable", DisabledReason::UnsetVariable("GITHUB_TOKEN".to_owned())),
            held("project", DisabledReason::Untrusted).with(|planned| planned.trust = Trust::Untrusted),
            held("broken", DisabledReason::Invalid),
            Planned::from(off),
        ]
    });
    let host = builder([]).start().await.unwrap();
    drop(host.set_servers(plan).await);
    let mut words = String::new();
    for name in ["variable", "project", "broken", "off"] {
        let error = call(&host, &format!("{name}/echo"), "{}").await.unwrap_err();
        words.push_str(&format!("{name} is {}\n{}\n", status(&host, name), shown(&error)));
        let again = host.reconnect_server(name).await.unwrap_err();
        assert_eq!(shown(&again), shown(&error), "{name}");
        if name != "off" {
            assert_eq!(host.toggle(name, true).unwrap_err().code(), error.code(), "{name}");
            host.toggle(name, false).unwrap();
        }
    }
    insta::assert_snapshot!(words, @r"
    variable is disabled (GITHUB_TOKEN is not set)
    CONFIG: the server `variable` needs the variable GITHUB_TOKEN, which is not set
      hint: set GITHUB_TOKEN, or give it a default in the configuration
    project is disabled (untrusted project)
    UNTRUSTED: the server `project` comes from a project that is not trusted yet
      hint: look at what would run, then trust it
    broken is disabled (its configuration has mistakes)
    CONFIG: the configuration of the server `broken` has mistakes
      hint: look for mistakes in the configuration
    off is disabled (switched off in the configuration)
    SERVER_DISABLED: the server `off` is switched off
      hint: switch server `off` on
    ");
    assert_eq!(marked_processes("held back"), Vec::<u32>::new());

    // What is merely switched off can be switched on.
    host.toggle("off", true).unwrap();
    call(&host, "off/echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn mcp_as_a_whole_can_be_off() {
    let mut required = stdio("required", &marked(Scenario::dual(), "all off"));
    required.required = true;
    let host =
        builder([required, stdio("other", &marked(Scenario::dual(), "all off"))]).mcp(false).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    assert_eq!(status(&host, "required"), "disabled (MCP is off)");
    let error = call(&host, "mcp__other__echo", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @"SERVER_DISABLED: the server `other` is off because MCP as a whole is off");
    assert_eq!(host.toggle("other", true).unwrap_err().code(), ErrorCode::ServerDisabled);
    assert_eq!(marked_processes("all off"), Vec::<u32>::new());
    host.shutdown().await;
}

#[tokio::test]
async fn of_two_servers_with_one_name_the_first_stays() {
    let host = builder([]).start().await.unwrap();
    let other = program("a", "no-such-program-anywhere", &[]);
    let changes = host.set_servers(vec![stdio("a", &Scenario::dual()), other, lazy("b")]).await;
    assert_eq!((changes.added.len(), changes.errors.len()), (2, 1));
    let (name, error) = &changes.errors[0];
    assert_eq!((name.as_str(), shown(error).as_str()), ("a", "CONFIG: there are two servers named `a`"));
    call(&host, "a/echo", "{}").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn a_required_server_that_is_held_back_fails_the_start() {
    let mut required = lazy("a");
    required.required = true;
    let held =
        Planned::from(required).with(|planned| planned.held = Some(DisabledReason::UnsetVariable("TOKEN".to_owned())));
    let other = stdio("other", &marked(Scenario::dual(), "beside required"));
    let error = builder([other]).server(held).start().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Config);
    assert_eq!(marked_processes("beside required"), Vec::<u32>::new());
}

#[tokio::test]
async fn a_required_server_that_never_answers_fails_the_start_in_its_time() {
    let mut required = stdio("a", &marked(Scenario::dual().never_answers(), "required hanging"));
    required.required = true;
    let settings =
        HostSettings::default().with(|settings| settings.startup_timeout = std::time::Duration::from_millis(300));
    let error = builder([required]).settings(settings).start().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout);
    assert!(error.message().ends_with("was not ready within 0.3 s"), "{error}");
    assert_eq!(wait_until_dead(&marked_processes("required hanging"), PATIENCE).await, Vec::<u32>::new());
}

#[tokio::test]
async fn switched_off_while_it_is_being_connected_nobody_waits_for_it() {
    let hanging = stdio("a", &marked(Scenario::dual().never_answers(), "off while connecting"));
    let host = builder([hanging]).start().await.unwrap();
    let waiting = ["call", "reconnect"].map(|what| {
        let host = host.clone();
        tokio::spawn(async move {
            match what {
                "call" => call(&host, "a/echo", "{}").await.map(drop).unwrap_err(),
                _ => host.reconnect_server("a").await.unwrap_err(),
            }
        })
    });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    host.toggle("a", false).unwrap();
    for waiting in waiting {
        let error = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap();
        assert_eq!(error.code(), ErrorCode::ServerDisabled, "{error}");
    }
    until_status(&host, "a", "disabled (switched off)").await;
    assert_eq!(wait_until_dead(&marked_processes("off while connecting"), PATIENCE).await, Vec::<u32>::new());
    host.shutdown().await;
}

#[tokio::test]
async fn a_bare_name_does_not_wait_for_a_server_that_hangs() {
    let host = builder([stdio("hanging", &Scenario::dual().never_answers()), stdio("good", &Scenario::dual())])
        .start()
        .await
        .unwrap();
    let outcome = tokio::time::timeout(PATIENCE / 2, call(&host, "contents", "{}")).await.unwrap().unwrap();
    assert_eq!(outcome.name.to_string(), "good/contents");
    host.shutdown().await;
}

/// C7: a server that is to be connected says at once whether it is, and why not.
#[tokio::test]
async fn c7_connecting_a_server_waits_and_reports() {
    let host = host([]).await;
    let report = host.connect_server(stdio("peer", &Scenario::legacy())).await.unwrap();
    assert!(report.tools > 5 && report.status.word() == "connected", "{report:?}");
    call(&host, "peer/echo", "{}").await.unwrap();

    let error = host.connect_server(program("gone", "no-such-program-anywhere", &[])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ServerUnavailable);
    assert!(error.chain().contains("no-such-program-anywhere"), "{}", error.chain());
    // It stays, and is tried again, until somebody removes it.
    assert_eq!(host.server_status("gone").unwrap().status.word(), "failed");
    host.remove_server("gone").await.unwrap();

    let off = stdio("off", &Scenario::legacy()).with(|spec| spec.enabled = false);
    assert_eq!(host.connect_server(off).await.unwrap_err().code(), ErrorCode::ServerDisabled);
    // One that waits for its first use has it now.
    assert_eq!(host.connect_server(lazy("lazy")).await.unwrap().status.word(), "connected");
    host.shutdown().await;
    assert_eq!(host.connect_server(lazy("late")).await.unwrap_err().code(), ErrorCode::ServerUnavailable);
}

/// C7: which servers of a plan did not come, by name.
#[tokio::test]
async fn c7_errors_of_a_plan_are_told_by_server_after_settling() {
    let host = host([stdio("kept", &Scenario::legacy())]).await;
    let plan = vec![
        stdio("kept", &Scenario::legacy()),
        stdio("good", &Scenario::modern()),
        stdio("silent", &Scenario::legacy().exits_at_once(3)),
        program("gone", "no-such-program-anywhere", &[]),
        program("off", "no-such-program-anywhere", &[]).with(|spec| spec.enabled = false),
        program("lazy", "no-such-program-anywhere", &[]).with(|spec| spec.lazy = true),
    ];
    let changes = host.connect_servers(plan).await;
    assert_eq!((changes.added.len(), changes.kept.len()), (5, 1), "{changes:?}");
    let errors: Vec<String> = changes.errors.iter().map(|(name, error)| format!("{name}: {}", error.code())).collect();
    assert_eq!(errors, ["silent: SERVER_UNAVAILABLE", "gone: SERVER_UNAVAILABLE"]);
    assert_eq!(status(&host, "good"), "connected");
    host.shutdown().await;
}
