//! One user, one set of layers: a home to steal from, a host to attack, and every sandbox in turn.

use std::collections::BTreeMap;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use helve_sandbox::{Demand, Disk, Engine, Machine, Network, PlanRefusal, Policy, Profile};
use helve_wire::launch::{
    ChildEnvironment, Confinement, ExitReport, Launched, Launcher, PlainLauncher, RefusedHosts, Sandbox,
    SandboxedLauncher, ServerCommand, WardenLauncher, WardenProgram, probe, warden,
};
use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::judge::{self, CONTROL};
use super::{Attempt, Case, Missing, WARDEN};

/// What the program says of an attempt that neither worked nor was refused.
const ENDED: &str = "ended";
/// The flag of a user namespace.
const NEW_USER: u64 = 0x1000_0000;
/// What the shim leads to.
const PYTHON: &str = ".pyenv/versions/3.12.0/bin/python3";
/// Landlock's three system calls.
const LANDLOCK: [i64; 3] = [444, 445, 446];

/// Runs inside; the words are those behind [`super::INSIDE`].
#[expect(clippy::print_stdout, reason = "the outer run reads it")]
pub(crate) fn inside(words: &[String]) -> ExitCode {
    let outcome = || -> Result<Vec<Case>> {
        let [missing, place, attempts] = words else { bail!("three words are missing") };
        let missing = Missing::from_word(missing).context("which layers are missing?")?;
        take_away(missing)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(all(missing, Path::new(place), Path::new(attempts)))
    };
    match outcome().and_then(|cases| Ok(serde_json::to_string(&cases)?)) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            crate::complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// From here on this process and its children live with less.
pub(crate) fn take_away(missing: Missing) -> Result<()> {
    let apply = |calls: BTreeMap<i64, Vec<SeccompRule>>, answer: i32| -> Result<()> {
        let action = SeccompAction::Errno(answer.unsigned_abs());
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, action, std::env::consts::ARCH.try_into()?)?;
        let program: seccompiler::BpfProgram = filter.try_into()?;
        Ok(seccompiler::apply_filter(&program)?)
    };
    if !missing.has_landlock() {
        apply(LANDLOCK.into_iter().map(|call| (call, Vec::new())).collect(), libc::ENOSYS)?;
    }
    if !missing.has_namespaces() {
        let flag = || {
            let condition =
                SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(NEW_USER), NEW_USER)?;
            SeccompRule::new(vec![condition])
        };
        let calls = BTreeMap::from([(libc::SYS_unshare, vec![flag()?]), (libc::SYS_clone, vec![flag()?])]);
        apply(calls, libc::EPERM)?;
        apply(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    }
    Ok(())
}

/// What is attacked.
struct Place {
    home: PathBuf,
    directory: PathBuf,
    attempts: PathBuf,
    stage: WardenProgram,
    machine: Machine,
    port: u16,
    /// Where an agent is welcomed unless it is a confined server.
    helve_port: u16,
    name: String,
}

async fn all(missing: Missing, directory: &Path, attempts: &Path) -> Result<Vec<Case>> {
    let stage = WardenProgram { path: std::env::current_exe()?, leading: vec![WARDEN.into()] };
    // On every address of the machine.
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await?;
    let port = listener.local_addr()?.port();
    let name = format!("escapes-{}", std::process::id());
    let _by_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    let _by_path = UnixListener::bind(directory.join("socket"))?;
    let _datagrams = UnixDatagram::bind(directory.join("datagrams"))?;
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let helve_port = listen_as_helve().await?;
    let home = make_home(directory, attempts)?;
    let machine = probe(&stage)?;
    let place = Place {
        home,
        directory: directory.to_owned(),
        attempts: attempts.to_owned(),
        stage,
        machine,
        port,
        helve_port,
        name,
    };
    let is_root = rustix::process::geteuid().is_root();

    let mut cases = Vec::new();
    let control = place.attempt(&PlainLauncher, &place.command(attempts, "project")).await?;
    let wrong = if missing == Missing::Nothing { judge::wrong_control(&control, is_root) } else { Vec::new() };
    cases.push(Case { name: CONTROL.to_owned(), status: format!("{machine:?}"), attempts: control.clone(), wrong });
    check_machine(missing, machine, &mut cases);

    let hosts = |place: &Place| -> Result<Policy> {
        let listed = vec![format!("localhost:{}", place.port).parse()?, "registry.example".parse()?];
        Ok(Policy { network: Some(Network::Hosts(listed)), ..Policy::new(Profile::Standard) })
    };
    let shim = place.home.join(".pyenv/shims/python3");
    let local = place.home.join(".local/bin/attempts");
    for (name, policy, program, directory) in [
        ("standard", Policy::new(Profile::Standard), attempts, "project"),
        ("offline", Policy::new(Profile::Offline), attempts, "project"),
        ("strict", Policy::new(Profile::Strict), attempts, "project"),
        ("standard with hosts", hosts(&place)?, attempts, "project"),
        ("standard, a program of the home started in the home", Policy::new(Profile::Standard), local.as_path(), ""),
        ("standard, by a shim", Policy::new(Profile::Standard), shim.as_path(), "project"),
    ] {
        cases.push(place.case(name, policy, program, directory, &control).await?);
    }
    cases.push(place.engine(&control).await?);
    Ok(cases)
}

/// A port as `serve --http` has it: it looks who is there before it listens to anybody.
async fn listen_as_helve() -> Result<u16> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, peer)) = listener.accept().await {
            let socket = stream.local_addr().ok().and_then(|local| socket_of(peer, local));
            let is_confined = socket.is_some_and(warden::confines_holder_of);
            let answer: &[u8] = if is_confined { b"refused" } else { b"welcome" };
            stream.write_all(answer).await.ok();
        }
    });
    Ok(port)
}

/// The number of the socket at the other end, as the table of connections has it.
fn socket_of(peer: std::net::SocketAddr, local: std::net::SocketAddr) -> Option<u64> {
    let spelled = |address: std::net::SocketAddr| match address.ip() {
        std::net::IpAddr::V4(ip) => format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port()),
        std::net::IpAddr::V6(_) => String::new(),
    };
    let (near, far) = (spelled(peer), spelled(local));
    let table = fs_err::read_to_string("/proc/net/tcp").ok()?;
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields.get(1) == Some(&near.as_str()) && fields.get(2) == Some(&far.as_str()))
            .then(|| fields.get(9)?.parse().ok())?
    })
}

/// A probe must find what is there, and nothing that was taken away.
fn check_machine(missing: Missing, machine: Machine, cases: &mut [Case]) {
    let Some(case) = cases.first_mut() else { return };
    if !missing.has_landlock() && machine.landlock_abi != 0 {
        case.wrong.push("the probe found Landlock".to_owned());
    }
    if !missing.has_namespaces() && (machine.mounts || machine.network) {
        case.wrong.push("the probe found user namespaces".to_owned());
    }
}

fn make_home(directory: &Path, attempts: &Path) -> Result<PathBuf> {
    let home = directory.join("home");
    for path in [
        ".ssh",
        "project",
        "tools",
        ".config/helve",
        ".local/state/helve",
        ".local/bin",
        ".local/share/uv",
        ".npm/_cacache",
        ".cache/uv",
        ".cache/pip",
        ".cache/helve/sandbox/other/cache",
        ".pyenv/shims",
        ".pyenv/versions/3.12.0/bin",
    ] {
        fs_err::create_dir_all(home.join(path))?;
    }
    for path in [
        ".ssh/id",
        ".npmrc",
        ".bashrc",
        ".claude.json",
        "notes",
        ".config/helve/helve.toml",
        ".local/state/helve/trust.json",
        ".cache/helve/sandbox/other/cache/x",
    ] {
        fs_err::write(home.join(path), "a secret")?;
    }
    fs_err::copy("/bin/true", home.join("tools/true"))?;
    fs_err::copy(attempts, home.join(".local/bin/attempts"))?;
    let (shim, python) = (home.join(".pyenv/shims/python3"), home.join(PYTHON));
    fs_err::copy(attempts, &python)?;
    fs_err::write(&shim, format!("#!/bin/sh\nexec '{}' \"$@\"\n", python.display()))?;
    fs_err::set_permissions(&shim, std::fs::Permissions::from_mode(0o755))?;
    fs_err::create_dir_all(directory.join("tmp"))?;
    Ok(home)
}

impl Place {
    fn command(&self, program: &Path, directory: &str) -> ServerCommand {
        let python = self.home.join(PYTHON);
        let own = if program.ends_with("shims/python3") { python.as_path() } else { program };
        let environment: ChildEnvironment = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", self.home.display().to_string()),
            ("TMPDIR", self.directory.join("tmp").display().to_string()),
            ("ESCAPES_HOME", self.home.display().to_string()),
            ("ESCAPES_PROGRAM", own.display().to_string()),
            ("ESCAPES_HOST", std::process::id().to_string()),
            ("ESCAPES_PORT", self.port.to_string()),
            ("ESCAPES_HELVE", self.helve_port.to_string()),
            ("ESCAPES_NAME", self.name.clone()),
            ("ESCAPES_SOCKET", self.directory.join("socket").display().to_string()),
            ("ESCAPES_DATAGRAMS", self.directory.join("datagrams").display().to_string()),
        ]
        .into_iter()
        .collect();
        ServerCommand {
            program: program.into(),
            working_directory: Some(self.home.join(directory)),
            environment,
            ..ServerCommand::default()
        }
    }

    async fn attempt(&self, launcher: &dyn Launcher, command: &ServerCommand) -> Result<BTreeMap<String, Attempt>> {
        let Launched { stdin, mut stdout, mut stderr, process } = launcher.launch(command).map_err(chain)?;
        drop(stdin);
        let (mut said, mut complained) = (String::new(), String::new());
        let (out, err) = tokio::join!(stdout.read_to_string(&mut said), stderr.read_to_string(&mut complained));
        out?;
        err?;
        let exit = process.wait().await;
        if !said.ends_with("end\n") {
            bail!("the attempts did not get to their end ({exit}): {complained}");
        }
        let mut attempts = BTreeMap::new();
        for line in said.lines() {
            let mut fields = line.split('\t');
            if let (Some(name), Some(word), Some(why)) = (fields.next(), fields.next(), fields.next()) {
                let attempt = Attempt { worked: word == "worked", has_ended: word == ENDED, why: why.to_owned() };
                attempts.insert(name.to_owned(), attempt);
            }
        }
        Ok(attempts)
    }

    /// Every attempt in the narrowest sandbox, each in one of its own: nothing there can start another process.
    async fn engine(&self, control: &BTreeMap<String, Attempt>) -> Result<Case> {
        let mut case =
            Case { name: "engine".to_owned(), status: String::new(), attempts: BTreeMap::new(), wrong: Vec::new() };
        let wanted = Engine {
            programs: vec![self.attempts.clone()],
            limits: Engine::LIMITS,
            home: Some(self.home.clone()),
            ..Engine::default()
        };
        let rules = match helve_sandbox::engine(&wanted, &self.machine, &Disk) {
            Ok(rules) => rules,
            Err(refusal) => {
                case.status = refusal.to_string();
                if self.machine.landlock_abi != 0 {
                    case.wrong.push(format!("it was refused with ABI {}", self.machine.landlock_abi));
                }
                return Ok(case);
            }
        };
        case.status = format!("a list of system calls, kernel ABI {}", self.machine.landlock_abi);
        for name in control.keys() {
            let mut command = self.command(&self.attempts, "project");
            command.args = vec!["one".into(), name.into()];
            command.confinement = Some(Confinement::new(&rules, self.stage.clone())?);
            let launched = WardenLauncher::new(self.stage.clone()).launch(&command).map_err(chain)?;
            let Launched { stdin, mut stdout, mut stderr, process } = launched;
            drop(stdin);
            let (mut why, mut complained) = (String::new(), String::new());
            let (out, err) = tokio::join!(stdout.read_to_string(&mut why), stderr.read_to_string(&mut complained));
            out?;
            err?;
            let (worked, word) = match process.wait().await {
                ExitReport::Exited(0) => (true, "worked"),
                ExitReport::Exited(1) => (false, "refused"),
                _ => (false, ENDED),
            };
            if word == ENDED {
                why = complained.replace('\n', " ");
            }
            case.attempts.insert(name.clone(), Attempt { worked, has_ended: word == ENDED, why });
        }
        case.wrong.extend(judge::wrong_engine(&case.attempts));
        Ok(case)
    }

    async fn case(
        &self,
        name: &str,
        policy: Policy,
        program: &Path,
        directory: &str,
        control: &BTreeMap<String, Attempt>,
    ) -> Result<Case> {
        let sandbox = |demand| Sandbox {
            policy: Policy { demand, ..policy.clone() },
            machine: self.machine,
            stage: self.stage.clone(),
            directory: self.home.join(".cache/helve/sandbox/own"),
            home: Some(self.home.clone()),
            own: vec![self.home.join(".config/helve"), self.home.join(".local/state/helve")],
            named_variables: Vec::new(),
            refused: RefusedHosts::default(),
        };
        let mut case =
            Case { name: name.to_owned(), status: String::new(), attempts: BTreeMap::new(), wrong: Vec::new() };
        let command = self.command(program, directory);
        let weaker = sandbox(Demand::Weaker);
        let plan = match weaker.plan(&command) {
            Ok(plan) => plan,
            Err(error) => {
                case.status = chain(error).to_string();
                // Without Landlock nothing is started, whatever was waived; and only then is nothing.
                let launched =
                    SandboxedLauncher::new(WardenLauncher::new(self.stage.clone()), Arc::new(weaker)).launch(&command);
                if self.machine.landlock_abi != 0 || launched.is_ok() {
                    case.wrong.push(format!("it was refused with ABI {}", self.machine.landlock_abi));
                }
                return Ok(case);
            }
        };
        case.status = plan.report.to_string();
        // `required` starts nothing that is weaker than all of it.
        let required = sandbox(Demand::All).plan(&command);
        let is_refused = required.as_ref().err().is_some_and(|error| {
            std::error::Error::source(error).is_some_and(|source| source.downcast_ref::<PlanRefusal>().is_some())
        });
        if plan.report.is_whole() == is_refused {
            case.wrong.push(format!("`required` is refused: {is_refused}"));
        }
        let launcher = SandboxedLauncher::new(WardenLauncher::new(self.stage.clone()), Arc::new(weaker));
        case.attempts = self.attempt(&launcher, &command).await?;
        case.wrong.extend(judge::wrong(&case.attempts, control, &plan.report));
        Ok(case)
    }
}

fn chain(error: helve_wire::Error) -> anyhow::Error {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    anyhow::Error::msg(text)
}
