//! Code mode: a model writes a small Python program that calls tools as `device.GithubMCP.create_issue(…)`; it is checked,
//! confined and run, and its value is the result.
//!
//! [`Engine`] is the person's own Python in the narrowest sandbox there is; without one no program ever runs. [`Runner`] runs
//! programs beside a host's tools: each call is made by [`helve::PreparedCall::invoke`] on the agent's behalf and is decided
//! there, whatever the program or its worker says.
//!
//! Nothing here decides about permission, opens a connection, or starts a process but by a launcher.

#![warn(missing_docs)]

mod approver;
mod binding;
#[cfg_attr(not(sandbox), path = "confined_nowhere.rs")]
mod confined;
mod driver;
mod engine;
mod frame;
mod limits;
mod lookup;
mod modules;
mod pipes;
mod probe;
mod report;
mod review;
mod run;
mod runner;
mod shorten;
mod slots;
mod tool;
mod value;

pub use engine::{Engine, EngineSetup, NoEngine};
pub use limits::Limits;
pub use report::{ProgramError, Report};
pub use review::{PlannedCall, Problem, Review};
pub use run::CallMade;
pub use runner::{Runner, Session};
