//! What a program may touch: from what somebody asks for ([`Policy`]) and what the machine can do ([`Machine`]) to rules
//! ([`Rules`]) that a process puts on itself before it becomes the program ([`confine`]), and to words that say what holds
//! ([`Report`]).
//!
//! Planning is pure and happens in the host; applying happens in the process that becomes the program, and is all or nothing:
//! a rule that cannot be put in force ends that process. So the report that the plan was made with is true of whatever runs.
//!
//! Nothing here knows MCP, configuration files or an async runtime, and nothing is read from the environment.

mod engine;
#[cfg(sandbox)]
mod engine_calls;
mod files;
#[cfg(sandbox)]
mod landlock;
#[cfg(sandbox)]
mod mounts;
#[cfg(sandbox)]
mod network;
mod plan;
mod policy;
#[cfg(sandbox)]
mod probe;
mod protected_places;
mod report;
mod rules;
mod runtime;
#[cfg(sandbox)]
mod sealed_copies;
#[cfg(sandbox)]
mod seccomp;
mod shared;
#[cfg(sandbox)]
mod stage;
mod system;
mod variables;

pub use engine::{Engine, engine};
pub use files::{Disk, FileKind, Files};
pub use helve_model::sandbox::{BadHostPattern, HostPattern, Limits, Network, Profile};
pub use plan::{Plan, PlanRefusal, Private, Subject, plan};
pub use policy::{Demand, Policy};
#[cfg(sandbox)]
pub use probe::probe;
pub use protected_places::PlaceOwner;
pub use report::{Files as FilesHeld, LeftOut, Metadata, NetworkHeld, Report};
pub use rules::{Access, BadRules, Calls, Grant, Machine, NetworkRule, Rules};
#[cfg(sandbox)]
pub use sealed_copies::SealedCopy;
#[cfg(sandbox)]
pub use stage::{StageError, confine};

/// Where a program finds the proxy that leads to its hosts: a port of its own network namespace.
pub const PROXY_PORT: u16 = 3128;
