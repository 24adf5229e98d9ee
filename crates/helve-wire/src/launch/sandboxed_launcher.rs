//! A launcher that confines what it starts: it plans for the very command, makes the directories that are the server's alone,
//! and has another launcher start it with rules.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use helve_model::ErrorCode;
use helve_sandbox::{Disk, Machine, Network, NetworkRule, Plan, PlanRefusal, Policy, Private, Subject};

use super::confinement::Confinement;
use super::handover_socket::HandoverSocket;
use super::host_proxy::RefusedHosts;
use super::{Launched, Launcher, ServerCommand, WardenProgram, warden};
use crate::{Error, Result};

/// The directory of one run, below the server's own.
const RUNS: &str = "runs";
/// The directory of its packages.
const CACHE: &str = "cache";
/// How many bytes the answer of a probe may have.
const MAX_PROBE: usize = 4096;

/// What a sandbox is made from.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// What is asked for.
    pub policy: Policy,
    /// What this machine can enforce: see [`probe`].
    pub machine: Machine,
    /// The program that applies the rules.
    pub stage: WardenProgram,
    /// A directory for this server alone. It is made when it is needed.
    pub directory: PathBuf,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// Directories that no sandbox opens.
    pub own: Vec<PathBuf>,
    /// Variables that the server's entry sets itself, and that are left as they are.
    pub named_variables: Vec<String>,
    /// Hosts that the server asks for in vain are noted here.
    pub refused: RefusedHosts,
}

/// Starts servers in a sandbox, by another launcher: any that starts processes on this machine. One that does not know of rules
/// ([`Launcher::confines`]) is handed a command that applies them to itself and then becomes the server.
///
/// Rules are applied by a program that calls [`warden::run`] early in `main`; the embedding program itself can be that one.
///
/// ```no_run
/// use std::process::ExitCode;
/// use std::sync::Arc;
///
/// use helve_sandbox::{Policy, Profile};
/// use helve_wire::launch::{
///     Launcher as _, PlainLauncher, RefusedHosts, Sandbox, SandboxedLauncher, ServerCommand, WardenProgram, probe, warden,
/// };
///
/// fn main() -> ExitCode {
///     let mut arguments = std::env::args_os().skip(1);
///     if std::env::args_os().nth(1).is_some_and(|word| word == "confine-a-server") {
///         return warden::run(&["confine-a-server"], arguments.by_ref().skip(1));
///     }
///     match start() {
///         Ok(()) => ExitCode::SUCCESS,
///         Err(error) => {
///             eprintln!("{error}");
///             ExitCode::FAILURE
///         }
///     }
/// }
///
/// #[tokio::main]
/// async fn start() -> Result<(), Box<dyn std::error::Error>> {
///     let stage = WardenProgram { path: std::env::current_exe()?, leading: vec!["confine-a-server".into()] };
///     let sandbox = Arc::new(Sandbox {
///         policy: Policy { write: vec!["/srv/notes".into()], ..Policy::new(Profile::Offline) },
///         machine: probe(&stage)?,
///         stage,
///         directory: "/var/cache/my-agent/notes-server".into(),
///         home: Some("/home/ann".into()),
///         own: vec!["/home/ann/.config/my-agent".into()],
///         named_variables: Vec::new(),
///         refused: RefusedHosts::default(),
///     });
///     let command = ServerCommand { program: "/usr/bin/notes-server".into(), ..ServerCommand::default() };
///     println!("{}", sandbox.plan(&command)?.report);
///     let launched = SandboxedLauncher::new(PlainLauncher, sandbox).launch(&command)?;
///     launched.process.wait().await;
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct SandboxedLauncher<L> {
    inner: L,
    sandbox: Arc<Sandbox>,
}

impl<L: Launcher> SandboxedLauncher<L> {
    /// A launcher that confines what `inner` starts.
    pub fn new(inner: L, sandbox: Arc<Sandbox>) -> Self {
        Self { inner, sandbox }
    }
}

impl Sandbox {
    /// What would hold for this command, and why it would not be started. Starts nothing and makes nothing.
    ///
    /// # Errors
    /// There is no such program, or its sandbox is refused: then the source is a [`PlanRefusal`].
    pub fn plan(&self, command: &ServerCommand) -> Result<Plan> {
        self.plan_with(command, self.directory.join(RUNS).join("look"), "look").map(|(plan, _)| plan)
    }

    fn plan_with(&self, command: &ServerCommand, temporary: PathBuf, hand_over_to: &str) -> Result<(Plan, Subject)> {
        let program = command.resolve()?;
        let here = command.working_directory.as_deref().unwrap_or(Path::new("."));
        let working_directory =
            std::path::absolute(here).map_err(|error| failed("cannot find the directory it runs in", error))?;
        let search_path = command.environment.get("PATH").map(|path| std::env::split_paths(path).collect());
        let subject = Subject {
            program: working_directory.join(program),
            arguments: command.args.clone(),
            working_directory,
            search_path: search_path.unwrap_or_default(),
            home: self.home.clone(),
            private: Private { temporary, cache: self.directory.join(CACHE) },
            own: self.own.clone(),
            hand_over_to: Some(hand_over_to.to_owned()),
        };
        let plan = helve_sandbox::plan(&self.policy, &subject, &self.machine, &Disk).map_err(refused)?;
        Ok((plan, subject))
    }
}

impl<L: Launcher> Launcher for SandboxedLauncher<L> {
    fn launch(&self, command: &ServerCommand) -> Result<Launched> {
        let sandbox = &self.sandbox;
        let run = RunDirectory::make(&sandbox.directory).map_err(|error| failed("cannot make its directory", error))?;
        let door = match sandbox.policy.network() {
            Network::Hosts(hosts) => {
                Some(HandoverSocket::open(hosts).map_err(|error| failed("cannot make its way out", error))?)
            }
            Network::All | Network::None => None,
        };
        let hand_over_to = door.as_ref().map_or("", |door| &door.name);
        let (plan, subject) = sandbox.plan_with(command, run.path.clone(), hand_over_to)?;
        for directory in plan.directories(&subject) {
            make_directory(&directory).map_err(|error| failed("cannot make its directory", error))?;
        }
        let confinement = Confinement::new(&plan.rules, sandbox.stage.clone())
            .map_err(|error| failed("cannot write down its rules", error))?
            .covering(if plan.rules.mounts { command.sealed.clone() } else { Vec::new() });
        let mut command = command.clone();
        for (name, value) in plan.environment {
            if !sandbox.named_variables.iter().any(|named| named == name) {
                command.environment.set(name, value);
            }
        }
        let launched = if self.inner.confines() {
            command.confinement = Some(confinement.clone());
            self.inner.launch(&command)?
        } else {
            self.inner.launch(&through_stage(&command, &confinement)?)?
        };
        // The stage opens the rules once it runs, which is after this returns: they stay open here as long as the process is.
        launched.process.keep_until_gone(confinement);
        launched.process.keep_until_gone(run);
        if let (Some(door), NetworkRule::Proxy { .. }) = (door, &plan.rules.network) {
            let proxy = door.wait_and_serve(sandbox.refused.clone());
            launched.process.keep_until_gone(proxy.map_err(|error| failed("cannot make its way out", error))?);
        }
        Ok(launched)
    }

    fn confines(&self) -> bool {
        // One sandbox is enough; whoever asks for two would get only the inner one.
        false
    }
}

/// The command that applies the rules and becomes the server, for launchers that do not know of rules.
fn through_stage(command: &ServerCommand, confinement: &Confinement) -> Result<ServerCommand> {
    let program = command.resolve()?;
    let stage = std::path::absolute(&confinement.stage.path).map_err(|error| failed("cannot find its stage", error))?;
    let mut args = confinement.stage.leading.clone();
    args.extend(warden::confine_arguments(confinement, command.executable.as_ref()));
    args.push(program.into());
    args.extend(command.args.iter().cloned());
    Ok(ServerCommand { program: stage.into(), args, executable: None, confinement: None, ..command.clone() })
}

fn failed(what: &str, error: io::Error) -> Error {
    Error::new(ErrorCode::TransportError, format!("cannot confine the server: {what}")).with_source(error)
}

fn refused(refusal: PlanRefusal) -> Error {
    Error::new(ErrorCode::Config, "the server cannot be confined").with_source(refusal)
}

/// A directory that goes when the server is gone.
#[derive(Debug)]
struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    fn make(directory: &Path) -> io::Result<Self> {
        make_directory(&directory.join(CACHE))?;
        let runs = directory.join(RUNS);
        make_directory(&runs)?;
        sweep(&runs);
        let path = runs.join(format!("{}-{}", std::process::id(), random_name()?));
        make_directory(&path)?;
        Ok(Self { path })
    }
}

/// Removes what hosts that were killed left behind.
#[expect(clippy::disallowed_methods, reason = "what cannot be listed or removed stays, and nobody has to be told")]
fn sweep(runs: &Path) {
    let Ok(entries) = std::fs::read_dir(runs) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let host = name.to_str().and_then(|name| name.split_once('-')).and_then(|(host, _)| host.parse::<u32>().ok());
        if host.is_some_and(|host| !Path::new(&format!("/proc/{host}")).exists()) {
            std::fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// A name that nobody guesses.
pub(super) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u128::from_ne_bytes(bytes).to_string())
}

impl Drop for RunDirectory {
    #[expect(clippy::disallowed_methods, reason = "nobody is left who could be told")]
    fn drop(&mut self) {
        // What cannot be removed lies in the server's own directory, which nobody else reads.
        std::fs::remove_dir_all(&self.path).ok();
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// What this machine can enforce, asked of `stage` in a process of its own. Takes a few milliseconds; the answer holds until the
/// machine is set up otherwise.
///
/// # Errors
/// The program cannot be started, or does not answer.
#[expect(clippy::disallowed_methods, reason = "a process that lives for milliseconds and starts nothing")]
pub fn probe(stage: &WardenProgram) -> Result<Machine> {
    let output = Command::new(&stage.path)
        .args(&stage.leading)
        .arg(warden::PROBE)
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(|error| failed("cannot ask what this machine can enforce", error))?;
    let answer = output.stdout.get(..output.stdout.len().min(MAX_PROBE)).unwrap_or_default();
    serde_json::from_slice(answer).map_err(|error| {
        failed("cannot understand what this machine can enforce", io::Error::new(io::ErrorKind::InvalidData, error))
    })
}
