//! The order of steps by which a process confines itself. Each has to succeed; what a later step forbids an earlier one has done.

use std::fmt;
use std::path::Path;

use helve_model::sandbox::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
};

use crate::rules::{Calls, NetworkRule, Rules};
use crate::sealed_copies::{self, SealedCopy};
use crate::{engine_calls, landlock, mounts, network, seccomp};

/// One of the steps failed: the process must end, because it may be half confined.
#[derive(Debug)]
pub struct StageError {
    what: String,
}

/// Confines this process, and with it all that it becomes and starts. To be called while it has one thread, right before it
/// becomes the program.
///
/// Where the rules have mounts, each of `copies` lies over the file at its path from then on.
///
/// # Errors
/// A rule cannot be put in force. End the process then.
pub fn confine(rules: &Rules, copies: &[SealedCopy]) -> Result<(), StageError> {
    let failed = |what: &'static str| move |error: rustix::io::Errno| StageError::new(what, error);
    let way_out = match &rules.network {
        NetworkRule::Proxy { hand_over_to } => Some(network::connect(hand_over_to)?),
        NetworkRule::Open | NetworkRule::Closed => None,
    };
    if rules.mounts || way_out.is_some() {
        mounts::leave_namespaces(way_out.is_some())?;
    }
    if let Some(way_out) = &way_out {
        network::hand_out_listener(way_out)?;
    }
    if rules.mounts {
        mounts::part_from_host()?;
        sealed_copies::cover(rules, copies)?;
        mounts::make_read_only(rules, &copies.iter().map(|copy| copy.path.as_path()).collect::<Vec<_>>())?;
    }
    limit(&rules.limits)?;
    if rules.calls == Calls::Engine {
        limit_engine()?;
        // No directory that it could ask its way from.
        rustix::process::chdir(c"/").map_err(failed("cannot leave its directory"))?;
    }
    set_no_new_privs(true).map_err(failed("cannot give up new privileges"))?;
    landlock::restrict(rules)?;
    drop_capabilities()?;
    match rules.calls {
        Calls::Most => seccomp::apply(rules),
        Calls::Engine => engine_calls::apply(),
    }
}

/// What an engine has no use for at all.
fn limit_engine() -> Result<(), StageError> {
    for resource in [Resource::Memlock, Resource::Msgqueue] {
        setrlimit(resource, Rlimit { current: Some(0), maximum: Some(0) })
            .map_err(|error| StageError::new("cannot limit an engine", error))?;
    }
    Ok(())
}

fn limit(limits: &Limits) -> Result<(), StageError> {
    let Limits { memory, processes, open_files, file_size, processor_seconds } = limits;
    for (resource, limit, name) in [
        (Resource::As, memory, "memory"),
        (Resource::Nproc, processes, "processes"),
        (Resource::Nofile, open_files, "open files"),
        (Resource::Fsize, file_size, "the size of a file"),
        (Resource::Cpu, processor_seconds, "processor time"),
    ] {
        let Some(limit) = *limit else { continue };
        // A limit that is lower already stays.
        let limit = getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
            .map_err(|error| StageError::new(format!("cannot limit {name}"), error))?;
    }
    // Memory of a confined program is not written out where others find it.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })
        .map_err(|error| StageError::new("cannot limit core files", error))
}

/// Root without the powers of root; and root of a user namespace without the powers that it has there.
fn drop_capabilities() -> Result<(), StageError> {
    let failed = |error: rustix::io::Errno| StageError::new("cannot give up capabilities", error);
    let none = CapabilitySet::empty();
    let has_any = rustix::thread::capabilities(None).map_err(failed)?.permitted != none;
    if has_any {
        let locked = CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
            | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
        // Without this one, `exec` gives root everything back.
        set_capabilities_secure_bits(locked).map_err(failed)?;
        clear_ambient_capability_set().map_err(failed)?;
        for capability in CapabilitySet::all().iter() {
            // One that this kernel does not know cannot be had either.
            match remove_capability_from_bounding_set(capability) {
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).map_err(failed)
}

impl StageError {
    pub(crate) fn new(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self { what: format!("{what}: {why}") }
    }

    pub(crate) fn at(what: &str, path: &Path, why: rustix::io::Errno) -> Self {
        Self { what: format!("{what} `{}`: {why}", path.display()) }
    }
}

impl fmt::Display for StageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for StageError {}
