//! What may work: exactly what a sandbox's report says is open, and what leads no further than its own network.

use std::collections::BTreeMap;

use helve_sandbox::{FilesHeld, Metadata, NetworkHeld, Report};

use super::Attempt;

/// The run without a sandbox, which shows that an attempt can work at all.
pub(super) const CONTROL: &str = "no sandbox";

/// How many attempts must work without a sandbox for the others to say something.
const MIN_CONTROL: usize = 55;

/// Attempts that make sense only where there is a proxy.
const BY_PROXY: [&str; 2] = ["reach a listed name on this machine", "reach a host that is not listed"];

/// Whether a report says that an attempt may work.
fn is_declared(attempt: &str, report: &Report) -> bool {
    let all = matches!(report.network, NetworkHeld::All | NetworkHeld::Open(_));
    let own_network = matches!(report.network, NetworkHeld::Hosts(_));
    match attempt {
        "connect to a port of this machine" | "connect to a port by another address" => all,
        // In a network of its own these reach itself.
        "send a datagram" | "listen" => all || own_network,
        "change the mode of the key" | "change the time of the key" | "take the key again" => {
            report.metadata == Metadata::Open
        }
        "truncate the key" => report.files == FilesHeld::TruncationOpen,
        "signal the host" => !report.signals_closed,
        _ => false,
    }
}

/// What worked and must not, and what was not tried.
pub(super) fn wrong(
    attempts: &BTreeMap<String, Attempt>,
    control: &BTreeMap<String, Attempt>,
    report: &Report,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, attempt) in attempts {
        if attempt.worked && !is_declared(name, report) {
            wrong.push(format!("{name}: it works"));
        }
    }
    // One that hung says nothing, unless it does so without a sandbox too.
    let ended =
        |attempts: &BTreeMap<String, Attempt>, name: &String| attempts.get(name).is_some_and(|one| one.has_ended);
    for name in attempts.keys().filter(|name| ended(attempts, name) && !ended(control, name)) {
        wrong.push(format!("{name}: it did not come to an end"));
    }
    for name in control.keys().filter(|name| !attempts.contains_key(*name)) {
        wrong.push(format!("{name}: it was not tried"));
    }
    let has_proxy = matches!(report.network, NetworkHeld::Hosts(_));
    for name in BY_PROXY.iter().filter(|_| has_proxy) {
        if !attempts.get(*name).is_some_and(|attempt| attempt.why.contains("403")) {
            wrong.push(format!("{name}: the proxy did not refuse it"));
        }
    }
    wrong
}

/// What is wrong with a run that nothing holds.
pub(super) fn wrong_control(attempts: &BTreeMap<String, Attempt>, is_root: bool) -> Vec<String> {
    let worked = attempts.values().filter(|attempt| attempt.worked).count();
    // Another user may do less to begin with.
    let least = if is_root { MIN_CONTROL } else { MIN_CONTROL - 15 };
    if worked >= least { Vec::new() } else { vec![format!("only {worked} attempts work without a sandbox")] }
}

/// Attempts that fail without a sandbox, with their reason: on this machine they prove nothing.
pub(super) fn idle(attempts: &BTreeMap<String, Attempt>) -> Vec<String> {
    let failed = attempts.iter().filter(|(_, attempt)| !attempt.worked);
    failed.map(|(name, attempt)| format!("{name} ({})", attempt.why)).collect()
}

/// What an engine did although nothing of it may work.
pub(super) fn wrong_engine(attempts: &BTreeMap<String, Attempt>) -> Vec<String> {
    let mut wrong: Vec<String> =
        attempts.iter().filter(|(_, one)| one.worked).map(|(name, _)| format!("{name}: it works")).collect();
    wrong.extend(
        attempts.iter().filter(|(_, one)| one.has_ended).map(|(name, one)| format!("{name}: ended, {}", one.why)),
    );
    wrong
}
