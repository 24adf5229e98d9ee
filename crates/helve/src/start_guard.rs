//! Files that a server is started from and that somebody has trusted: looked at before it is started, and again before
//! anything but the handshake is said to it.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use helve_model::{ErrorCode, ServerName};
use helve_wire::launch::Executable;
#[cfg(sandbox)]
use helve_wire::launch::SealedFile;
use tokio::task::spawn_blocking;

use crate::error::CallError;

/// Knows what the files hold that a server may be started from.
pub trait StartGuard: fmt::Debug + Send + Sync {
    /// Opens the files and looks whether they hold what they may. Called before every start; may block.
    ///
    /// # Errors
    /// One of them does not, and nothing is started.
    fn begin(&self) -> Result<Box<dyn GuardedStart>, ChangedStartFile>;
}

/// One start, with the files open that it was begun with.
pub trait GuardedStart: fmt::Debug + Send + Sync {
    /// The program itself, where it is one of the files and can be run from its descriptor.
    fn executable(&self) -> Option<Executable>;

    /// Copies of the files, with the content that may be: they lie over the files for a server whose sandbox has mounts. May
    /// block. None where there is no such thing.
    ///
    /// # Errors
    /// A file was written since the start was begun.
    #[cfg(sandbox)]
    fn sealed_copies(&self) -> Result<Vec<SealedFile>, ChangedStartFile> {
        Ok(Vec::new())
    }

    /// Looks again. Called after the server's first answer; may block.
    ///
    /// # Errors
    /// A file is another one now, or was written: what the server read of it is not known, so it is ended.
    fn check(&self) -> Result<(), ChangedStartFile>;
}

/// A file is not what it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedStartFile {
    /// The file.
    pub path: PathBuf,
    /// How, as the end of a sentence about it: `it was replaced`.
    pub how: String,
}

/// A [`StartGuard`] as a plan has it; equal to its clones alone.
#[derive(Debug, Clone)]
pub struct SharedStartGuard(Arc<dyn StartGuard>);

impl SharedStartGuard {
    /// This guard.
    pub fn new(guard: impl StartGuard + 'static) -> Self {
        Self(Arc::new(guard))
    }

    /// Begins a start, off the threads that serve.
    pub(crate) async fn begin_start(&self, server: &ServerName) -> Result<Begun, CallError> {
        let guard = Arc::clone(&self.0);
        match spawn_blocking(move || guard.begin()).await {
            Ok(Ok(start)) => Ok(Begun(Arc::from(start))),
            Ok(Err(changed)) => Err(untrusted(server, &changed)),
            Err(_) => Err(unknown(server)),
        }
    }
}

impl PartialEq for SharedStartGuard {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A start that was begun.
#[derive(Debug)]
pub(crate) struct Begun(Arc<dyn GuardedStart>);

impl Begun {
    /// The copies for a sandbox, made off the threads that serve.
    #[cfg(sandbox)]
    pub(crate) async fn copies(&self, server: &ServerName) -> Result<Vec<SealedFile>, CallError> {
        let start = Arc::clone(&self.0);
        match spawn_blocking(move || start.sealed_copies()).await {
            Ok(Ok(copies)) => Ok(copies),
            Ok(Err(changed)) => Err(untrusted(server, &changed)),
            Err(_) => Err(unknown(server)),
        }
    }

    /// Looks again, off the threads that serve.
    pub(crate) async fn check_again(&self, server: &ServerName) -> Result<(), CallError> {
        let start = Arc::clone(&self.0);
        match spawn_blocking(move || start.check()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(changed)) => Err(untrusted(server, &changed)),
            Err(_) => Err(unknown(server)),
        }
    }
}

impl Deref for Begun {
    type Target = dyn GuardedStart;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

fn untrusted(server: &ServerName, changed: &ChangedStartFile) -> CallError {
    let ChangedStartFile { path, how } = changed;
    let message = format!("the server `{server}` is not trusted as it is now: `{}` changed, {how}", path.display());
    CallError::new(ErrorCode::Untrusted, message)
        .at_server(server)
        .with_hint("look at the file, and trust the server again if it is as it should be")
        .for_agents(format!("the server `{server}` is not trusted as it is now"))
}

fn unknown(server: &ServerName) -> CallError {
    let message = format!("nobody can tell whether the server `{server}` is still what was trusted");
    CallError::new(ErrorCode::Untrusted, message).at_server(server)
}
