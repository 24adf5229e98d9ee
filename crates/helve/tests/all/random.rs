//! Random changes to three servers: nothing hangs, and in the end there is what was planned.

use std::collections::BTreeMap;
use std::time::Duration;

use helve::{Host, HostSettings};
use helve_model::ServerSpec;
use helve_testkit::{Scenario, wait_until_dead};
use proptest::prelude::*;

use crate::support::{PATIENCE, builder, call, kill, marked, marked_processes, stdio, until};

const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone)]
enum Step {
    /// These servers, in this version each.
    Set([Option<usize>; 3]),
    Toggle(usize, bool),
    Reconnect(usize),
    Kill(usize),
    Call(usize),
    Add(usize, usize),
    Remove(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let server = || 0..NAMES.len();
    prop_oneof![
        2 => proptest::array::uniform3(proptest::option::of(0..2_usize)).prop_map(Step::Set),
        4 => (server(), any::<bool>()).prop_map(|(server, on)| Step::Toggle(server, on)),
        2 => server().prop_map(Step::Reconnect),
        2 => server().prop_map(Step::Kill),
        2 => server().prop_map(Step::Call),
        1 => (server(), 0..2_usize).prop_map(|(server, version)| Step::Add(server, version)),
        1 => server().prop_map(Step::Remove),
    ]
}

/// What there should be: the version of each server, and whether it is on.
type Expected = BTreeMap<usize, (usize, bool)>;

fn mark(run: u32, server: usize) -> String {
    format!("random {run} {server}")
}

/// The second version lists one tool more.
fn spec(run: u32, server: usize, version: usize) -> ServerSpec {
    let scenario = Scenario::modern().hide_builtin_tools().generated_tools(2 + version, 10);
    stdio(NAMES[server], &marked(scenario, &mark(run, server)))
}

/// Does one step, and notes what should come of it. What takes time goes on while the next steps are done.
fn take(host: &Host, run: u32, step: &Step, expected: &mut Expected) -> Option<tokio::task::JoinHandle<()>> {
    let put = |expected: &mut Expected, server: usize, version: usize| {
        // What did not change stays as it is, switched off or not.
        let before = expected.get(&server).copied().filter(|(running, _)| *running == version);
        expected.insert(server, before.unwrap_or((version, true)));
    };
    let host = host.clone();
    match step {
        Step::Set(versions) => {
            let wanted = versions.iter().enumerate().filter_map(|(server, version)| Some((server, (*version)?)));
            let wanted: Vec<(usize, usize)> = wanted.collect();
            expected.retain(|server, _| wanted.iter().any(|(kept, _)| kept == server));
            for (server, version) in &wanted {
                put(expected, *server, *version);
            }
            let specs: Vec<ServerSpec> = wanted.iter().map(|(server, version)| spec(run, *server, *version)).collect();
            Some(begin(async move { drop(host.set_servers(specs).await) }))
        }
        Step::Add(server, version) => {
            put(expected, *server, *version);
            let spec = spec(run, *server, *version);
            Some(begin(async move { drop(host.add_server(spec).await) }))
        }
        Step::Remove(server) => {
            expected.remove(server);
            let name = NAMES[*server];
            Some(begin(async move { drop(host.remove_server(name).await) }))
        }
        Step::Toggle(server, on) => {
            let known = host.toggle(NAMES[*server], *on).is_ok();
            assert_eq!(known, expected.contains_key(server));
            if let Some((_, is_on)) = expected.get_mut(server) {
                *is_on = *on;
            }
            None
        }
        Step::Reconnect(server) => {
            let name = NAMES[*server];
            Some(begin(async move { drop(host.reconnect_server(name).await) }))
        }
        Step::Kill(server) => {
            for process in marked_processes(&mark(run, *server)) {
                kill(process);
            }
            None
        }
        Step::Call(server) => {
            let name = format!("{}/gen_0", NAMES[*server]);
            Some(begin(async move { drop(call(&host, &name, r#"{"path":"x"}"#).await) }))
        }
    }
}

/// Polls a change once, so that it counts from now on, and lets it go on by itself.
fn begin(change: impl Future<Output = ()> + Send + 'static) -> tokio::task::JoinHandle<()> {
    let mut change = Box::pin(change);
    let waker = futures_util::task::noop_waker();
    let done = change.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_ready();
    tokio::spawn(async move {
        if !done {
            change.await;
        }
    })
}

fn is_as_planned(host: &Host, expected: &Expected) -> bool {
    let reports = host.status();
    reports.len() == expected.len()
        && expected.iter().all(|(server, (version, is_on))| {
            let Some(report) = reports.iter().find(|report| report.name.as_str() == NAMES[*server]) else {
                return false;
            };
            match is_on {
                true => report.status.word() == "connected" && report.tools == 2 + version && !report.from_cache,
                false => report.status.to_string() == "disabled (switched off)" && report.tools == 0,
            }
        })
}

async fn run(number: u32, steps: &[Step]) {
    let settings = HostSettings::default().with(|settings| {
        settings.call_timeout = PATIENCE;
        settings.startup_timeout = PATIENCE;
    });
    let host = builder((0..3).map(|server| spec(number, server, 0))).settings(settings).start().await.unwrap();
    let mut expected: Expected = (0..3).map(|server| (server, (0, true))).collect();
    let mut going_on = Vec::new();
    for step in steps {
        going_on.extend(take(&host, number, step, &mut expected));
        tokio::task::yield_now().await;
    }
    // Killed three times in a row, a server waits for a person.
    for server in expected.iter().filter(|(_, (_, is_on))| *is_on).map(|(server, _)| *server) {
        let reconnect = || tokio::time::timeout(PATIENCE, host.reconnect_server(NAMES[server]));
        // An attempt that was on its way may have been killed; the next one is not.
        if reconnect().await.unwrap().is_err() {
            reconnect().await.unwrap().unwrap_or_else(|error| panic!("{error}: {steps:?}"));
        }
    }
    until(&host, &format!("as planned: {expected:?}"), |host| is_as_planned(host, &expected)).await;
    // A change has an end.
    for task in going_on {
        tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap();
    }
    for (server, (version, is_on)) in &expected {
        let last = format!("{}/gen_{}", NAMES[*server], 1 + version);
        assert_eq!(call(&host, &last, r#"{"path":"x"}"#).await.is_ok(), *is_on, "{steps:?}");
    }
    tokio::time::timeout(PATIENCE, host.shutdown()).await.unwrap();
    let left: Vec<u32> = (0..3).flat_map(|server| marked_processes(&mark(number, server))).collect();
    // Those that were killed while they were being started are collected by a thread.
    assert_eq!(wait_until_dead(&left, Duration::from_secs(5)).await, Vec::<u32>::new(), "{steps:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_in_whatever_order_the_plan_is_kept(
        number in any::<u32>(),
        steps in proptest::collection::vec(any_step(), 1..16),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(number, &steps));
    }
}
