//! What this machine can enforce, found out by doing it. In a process of its own, which is not good for anything afterwards.

use rustix::process::geteuid;

use crate::rules::{Machine, NetworkRule, Rules};
use crate::{landlock, mounts, network, seccomp};

/// Tries everything, the harmless things first. This process must have one thread and end afterwards.
#[must_use]
pub fn probe() -> Machine {
    let mut rules = Rules::new(0);
    rules.network = NetworkRule::Open;
    let namespaces = mounts::leave_namespaces(false).is_ok();
    let mounts = namespaces && mounts::part_from_host().is_ok() && mounts::make_read_only(&rules, &[]).is_ok();
    // Inside the first, as a new network needs no more rights than that has.
    let network = namespaces && network::is_to_be_had();
    let landlock_abi = landlock::abi_by_use();
    let seccomp = seccomp::apply(&rules).is_ok();
    Machine { landlock_abi, seccomp, mounts, network, counts_processes: !geteuid().is_root() }
}
