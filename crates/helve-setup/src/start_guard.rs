//! The files of a project's server, as the person trusted them, looked after whenever it is started.

#[cfg(sandbox)]
use std::io;

use helve::{ChangedStartFile, GuardedStart, SharedStartGuard, StartGuard};
use helve_config::ConfiguredServer;
use helve_config::trust::{self, CoveredFile, Difference, HeldFile, ServerTrust};
use helve_wire::launch::Executable;
#[cfg(sandbox)]
use helve_wire::launch::SealedFile;

/// How many files are copied for a sandbox; further ones are looked at again after the start, as without one.
#[cfg(sandbox)]
const MAX_COPIES: usize = 64;

/// The guard of a server that runs files of a project.
pub(crate) fn guard(server: &ConfiguredServer) -> Option<SharedStartGuard> {
    let needs_one = server.trust == ServerTrust::Trusted && !server.files.is_empty();
    needs_one.then(|| SharedStartGuard::new(TrustedFiles(server.files.clone())))
}

#[derive(Debug)]
struct TrustedFiles(Vec<CoveredFile>);

#[derive(Debug)]
struct Held {
    files: Vec<HeldFile>,
    executable: Option<Executable>,
}

impl StartGuard for TrustedFiles {
    fn begin(&self) -> Result<Box<dyn GuardedStart>, ChangedStartFile> {
        let files = self.0.iter().map(CoveredFile::hold).collect::<Result<Vec<_>, _>>().map_err(told)?;
        let program = files.iter().find(|file| file.is_program());
        // Where the system cannot say which file a descriptor is, the program is run by its name and looked at again.
        let executable = program.and_then(|program| Executable::new(program.file().clone()).ok());
        Ok(Box::new(Held { files, executable }))
    }
}

impl GuardedStart for Held {
    fn executable(&self) -> Option<Executable> {
        self.executable.clone()
    }

    #[cfg(sandbox)]
    fn sealed_copies(&self) -> Result<Vec<SealedFile>, ChangedStartFile> {
        let mut copies = Vec::new();
        // A program for the system itself is run from its descriptor.
        for file in self.files.iter().filter(|file| !file.is_program()).take(MAX_COPIES) {
            let mut changed = None;
            let copy = SealedFile::new(file.path(), |copy| {
                file.copy_to(copy).map_err(|why| {
                    changed = Some(why);
                    io::Error::other("it changed")
                })
            });
            match (copy, changed) {
                (_, Some(changed)) => return Err(told(changed)),
                (Ok(copy), None) => copies.push(copy),
                // No room for a copy: the file is looked at again after the start, as without a sandbox.
                (Err(error), None) => tracing::debug!(%error, "a file is not copied for its sandbox"),
            }
        }
        Ok(copies)
    }

    fn check(&self) -> Result<(), ChangedStartFile> {
        self.files.iter().try_for_each(HeldFile::check).map_err(told)
    }
}

fn told(changed: trust::ChangedFile) -> ChangedStartFile {
    let how = match changed.how {
        Difference::Content => "and holds something else than what you trusted".to_owned(),
        Difference::Touched => "while the server started".to_owned(),
        Difference::Unread(reason) => format!("and {reason}"),
        _ => "and is not what you trusted".to_owned(),
    };
    ChangedStartFile { path: changed.path, how }
}
