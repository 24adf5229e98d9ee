//! Which program is a warden, and how it is told to be one. Known on every system, so that whoever describes a machine says the
//! same of all; only where there are wardens can it be started.

use std::ffi::OsString;
use std::path::PathBuf;

/// A program that calls `launch::warden::run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WardenProgram {
    /// Where it is.
    pub path: PathBuf,
    /// The arguments that make it a warden; none for `helve-warden` itself.
    pub leading: Vec<OsString>,
}
