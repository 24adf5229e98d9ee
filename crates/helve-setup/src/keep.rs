//! The background process that keeps servers running: where it is found, how both sides know that they mean the same
//! servers, and the way to it.
//!
//! The socket's name is a fingerprint of everything that would run, under a key only its owner can read. Two shells with
//! other tokens, or in other directories, have other sockets and never share a server.

mod directory;
mod preface;

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use helve::{Keeper, Plan, Surroundings, fingerprint, lease};
use helve_model::ServerSpec;
use helve_wire::BoxFuture;
use helve_wire::launch::Launched;
use rustix::process::geteuid;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

use crate::environment::OwnProgram;
use crate::error::SetupError;
use crate::setup::Setup;
pub use preface::{KeeperReport, Preface, Told, hear, say};

/// The file with the key of the fingerprints, in the state directory.
const KEY_FILE: &str = "keep.key";
/// So much of the fingerprint is in a socket's name, which must not be long.
const SHOWN_BYTES: usize = 12;
/// How long a process that was started may take until it listens.
pub const STARTING: Duration = Duration::from_secs(10);
/// How long a process that was told to end may take, with all its servers. One that has to be killed takes some seconds.
pub const ENDING: Duration = Duration::from_secs(30);
/// How often somebody looks whether it listens, or has ended.
pub const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Where the process for one configuration is found, whether it runs or not.
#[derive(Debug, Clone)]
pub struct Place {
    /// The socket it listens at.
    pub socket: PathBuf,
}

impl Place {
    /// Where the servers of this plan are kept. `None` where nobody said where home is.
    pub fn of(setup: &Setup, plan: &Plan, surroundings: &Surroundings) -> Result<Option<Self>, SetupError> {
        let Some(directory) = directory(setup) else { return Ok(None) };
        let Some(key) = key(setup)? else { return Ok(None) };
        let servers: Vec<ServerSpec> =
            plan.servers.iter().filter(|planned| planned.held.is_none()).map(|planned| planned.spec.clone()).collect();
        let print = fingerprint(&servers, surroundings, setup.environment.working_directory(), key);
        let shown: String = print.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Ok(Some(Self { socket: directory.join(format!("keep-{shown}.sock")) }))
    }

    /// All that there may be.
    pub fn all(setup: &Setup) -> Vec<Self> {
        let Some(directory) = directory(setup) else { return Vec::new() };
        // What lies in a directory of another user is not ours to speak with.
        if directory::check(&directory, geteuid().as_raw()).is_err() {
            return Vec::new();
        }
        let Ok(entries) = fs_err::read_dir(directory) else { return Vec::new() };
        let sockets = entries.filter_map(Result::ok).map(|entry| entry.path());
        let mut places: Vec<Self> = sockets
            .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
            .map(|socket| Self { socket })
            .collect();
        places.sort_by(|left, right| left.socket.cmp(&right.socket));
        places
    }

    /// True when somebody listens there.
    pub async fn is_alive(&self) -> bool {
        self.connect().await.is_ok()
    }

    /// The servers that are kept there.
    pub fn connector(&self) -> Connector {
        Connector { place: self.clone() }
    }

    /// The file that whoever listens has locked.
    pub fn lock(&self) -> PathBuf {
        self.socket.with_extension("lock")
    }

    fn log(&self) -> PathBuf {
        self.socket.with_extension("log")
    }

    /// A connection to whoever listens there, if it is the same user.
    async fn connect(&self) -> io::Result<UnixStream> {
        if let Some(parent) = self.socket.parent() {
            directory::check(parent, geteuid().as_raw())?;
        }
        let stream = UnixStream::connect(&self.socket).await?;
        if stream.peer_cred()?.uid() == geteuid().as_raw() {
            return Ok(stream);
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user listens there"))
    }

    /// Tells the process to end, and waits until it has. `None` where there is none.
    pub async fn stop(&self) -> Result<Option<KeeperReport>, SetupError> {
        let Ok(mut stream) = self.connect().await else { return Ok(None) };
        let told = async {
            preface::say(&mut stream, &Preface::Stop).await?;
            preface::hear(&mut stream).await
        };
        let Ok(Told::Report(report)) = told.await else { return Ok(None) };
        // It says nothing more, and hangs up by ending.
        match tokio::time::timeout(ENDING, stream.read_u8()).await {
            Ok(_) => Ok(Some(report)),
            Err(_) => Err(SetupError::machine(format!(
                "process {} was told to end, and has not within {} s",
                report.process,
                ENDING.as_secs()
            ))
            .with_hint(format!("`kill -9 {}` ends it; its servers end with it", report.process))),
        }
    }

    /// Asks something about the process itself.
    pub async fn ask(&self, what: Preface) -> io::Result<Told> {
        let mut stream = self.connect().await?;
        preface::say(&mut stream, &what).await?;
        preface::hear(&mut stream).await
    }
}

/// Takes servers from whoever keeps them.
#[derive(Debug)]
pub struct Connector {
    place: Place,
}

impl Keeper for Connector {
    fn borrow<'a>(&'a self, server: &'a ServerSpec) -> BoxFuture<'a, Option<Launched>> {
        Box::pin(async move {
            match self.open(server).await {
                Ok(program) => Some(program),
                Err(error) => {
                    tracing::debug!(server = %server.name, %error, "not kept: started as usual");
                    None
                }
            }
        })
    }
}

impl Connector {
    async fn open(&self, server: &ServerSpec) -> io::Result<Launched> {
        let mut stream = self.place.connect().await?;
        preface::say(&mut stream, &Preface::Server(server.name.as_str().to_owned())).await?;
        match preface::hear(&mut stream).await? {
            Told::Ready(process) => lease(Box::pin(stream), process),
            Told::Failed(reason) => Err(io::Error::other(reason)),
            Told::Report(_) => Err(io::Error::other("an answer to something else")),
        }
    }
}

/// Starts the process in the background and waits until it listens. Where one ends just now, the next one waits for that.
pub async fn start(setup: &Setup, place: &Place, idle: Duration) -> Result<KeeperReport, SetupError> {
    let failed = |error: &io::Error| SetupError::machine("the background process cannot be started").with_cause(error);
    let Some(program) = setup.environment.program() else {
        return Err(SetupError::machine("helve does not know where it lies itself"));
    };
    let log = open_private(&place.log()).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => SetupError::machine(error.to_string())
            .with_hint("XDG_RUNTIME_DIR has to be a directory of your own; without it one below HOME is used"),
        _ => failed(&error),
    })?;
    let mut child = command(setup, program, idle)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|error| failed(&error))?;
    let deadline = Instant::now() + STARTING + ENDING;
    loop {
        // Looked at first: one that has ended well has seen that another one listens.
        let ended = child.try_wait();
        if let Ok(Told::Report(report)) = place.ask(Preface::Status).await {
            return Ok(report);
        }
        let problem = match ended {
            Ok(Some(status)) if status.success() => "another one was faster, and has ended since".to_owned(),
            Ok(Some(status)) => status.to_string(),
            Ok(None) | Err(_) if Instant::now() > deadline => "it does not listen".to_owned(),
            Ok(None) | Err(_) => {
                tokio::time::sleep(LOOK_EVERY).await;
                continue;
            }
        };
        let words = fs_err::read_to_string(place.log()).unwrap_or_default();
        let error = SetupError::machine(format!("the background process did not start: {problem}"));
        let words = words.trim();
        return Err(if words.is_empty() { error } else { error.with_hint(format!("it said: {words}")) });
    }
}

/// The same program with the same configuration, as the process that keeps servers.
#[expect(clippy::disallowed_methods, reason = "the one process that is to outlive this one")]
fn command(setup: &Setup, program: &OwnProgram, idle: Duration) -> Command {
    let mut command = Command::new(&program.path);
    command.current_dir(setup.environment.working_directory()).args((program.keeps)(&setup.choices, idle));
    command
}

/// Where sockets are: the runtime directory, or where nobody else can look.
fn directory(setup: &Setup) -> Option<PathBuf> {
    let directories = &setup.environment.directories();
    directories.runtime.clone().or_else(|| directories.state.as_ref().map(|state| state.join("run")))
}

/// The key of the fingerprints; made when it is first needed.
fn key(setup: &Setup) -> Result<Option<[u8; 32]>, SetupError> {
    let Some(state) = &setup.environment.directories().state else { return Ok(None) };
    let path = state.join(KEY_FILE);
    let read = || fs_err::read(&path).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    if let Some(key) = read() {
        return Ok(Some(key));
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key)
        .map_err(|error| SetupError::machine("the system has no randomness").with_cause(&error))?;
    let write = || -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
        let mut file = tempfile::Builder::new().prefix(".keep").tempfile_in(state)?;
        io::Write::write_all(&mut file, &key)?;
        // Whoever was faster wins: one key for all.
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error.error),
        }
    };
    write().map_err(|error| SetupError::file(&error))?;
    Ok(read())
}

/// Opens a file that its owner alone can read, empty, in a directory of its owner's alone.
///
/// # Errors
/// It cannot be made, or somebody else could reach it.
pub fn open_private(path: &Path) -> io::Result<std::fs::File> {
    if let Some(parent) = path.parent() {
        directory::ensure(parent)?;
    }
    std::fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)
}
