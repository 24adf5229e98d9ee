//! A sandbox's rules on their way from the host to the process that applies them: a sealed memory file, which neither the list
//! of processes nor an environment shows, and which nobody can change.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use helve_sandbox::Rules;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};

use super::WardenProgram;
use super::executable::{Executable, Handover};

/// Nothing of it can change.
const SEALS: SealFlags = SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::WRITE);

/// What a process is to put on itself before it becomes a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    rules: Executable,
    /// The program that applies them, where the launcher has none of its own.
    pub(super) stage: WardenProgram,
}

impl Confinement {
    /// These rules, to be applied by `stage`.
    ///
    /// # Errors
    /// The system has no room for them.
    pub fn new(rules: &Rules, stage: WardenProgram) -> io::Result<Self> {
        let bytes = rules.to_bytes().map_err(io::Error::other)?;
        let mut file = File::from(memfd_create("helve-sandbox", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
        file.write_all(&bytes)?;
        fcntl_add_seals(&file, SEALS)?;
        Ok(Self { rules: Executable::new(Arc::new(file))?, stage })
    }

    /// For a process further down, which reads them while this one lives.
    pub(super) fn hand_over(&self) -> Handover {
        self.rules.hand_over()
    }
}

/// Reads the rules that were handed over.
pub(super) fn receive(handover: &Handover) -> io::Result<Rules> {
    let received = handover.open()?;
    let mut file = received.file();
    if !fcntl_get_seals(file)?.contains(SEALS) {
        return Err(io::Error::other("the rules are not sealed"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Rules::from_bytes(&bytes).map_err(io::Error::other)
}
