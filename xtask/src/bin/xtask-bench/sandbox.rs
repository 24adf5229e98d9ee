//! What a sandbox adds to a server's start, and its proxy to a connection: differences within each round, since what a busy
//! machine does to a round it does to both.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use helve_sandbox::{Demand, Machine, Network, Policy, Profile};
use helve_wire::launch::{
    ExitReport, Launched, Launcher, RefusedHosts, Sandbox, SandboxedLauncher, ServerCommand, WardenLauncher,
    WardenProgram, probe,
};
use tokio::io::AsyncReadExt as _;

use crate::report::{Goal, Line};
use crate::stats::median;

/// Milliseconds.
const FILES: Goal = Goal::AtMost(2.0);
const WITH_MOUNTS: Goal = Goal::AtMost(3.0);
const WITH_HOSTS: Goal = Goal::AtMost(10.0);
const CONNECTION: Goal = Goal::AtMost(1.0);

/// Connections that one confined client makes.
const CONNECTIONS: usize = 200;

pub(crate) fn measure(rounds: usize) -> Result<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(Place::new()?.measure(rounds))
}

struct Place {
    directory: tempfile::TempDir,
    program: PathBuf,
    stage: WardenProgram,
    machine: Machine,
}

impl Place {
    fn new() -> Result<Self> {
        let program = std::env::current_exe()?;
        let stage = WardenProgram { path: program.clone(), leading: vec!["warden".into()] };
        let machine = probe(&stage)?;
        Ok(Self { directory: tempfile::tempdir()?, program, stage, machine })
    }

    async fn measure(&self, rounds: usize) -> Result<Vec<Line>> {
        let without = Machine { mounts: false, network: false, ..self.machine };
        let hosts = Policy { network: Some(Network::Hosts(vec!["api.example".parse()?])), ..policy(Profile::Standard) };
        let mut lines = Vec::new();
        let cases = [
            ("added by Landlock and seccomp, ms", FILES, policy(Profile::Standard), without, true),
            ("added with mounts, ms", WITH_MOUNTS, policy(Profile::Standard), self.machine, self.machine.mounts),
            ("added with hosts, ms", WITH_HOSTS, hosts, self.machine, self.machine.network),
        ];
        for (name, goal, policy, machine, is_to_be_had) in cases {
            if !is_to_be_had {
                lines.push(Line::unmeasured(name, goal, "this machine does not have it"));
                continue;
            }
            let (plain, confined) = (self.free(), self.confined(policy, machine));
            let (mut differences, mut plain_times) = (Vec::new(), Vec::new());
            for round in 0..rounds {
                let (without, with) = if round % 2 == 0 {
                    let without = self.start(&plain).await?;
                    (without, self.start(&confined).await?)
                } else {
                    let with = self.start(&confined).await?;
                    (self.start(&plain).await?, with)
                };
                differences.push((with - without) * 1e3);
                plain_times.push(without * 1e3);
            }
            let seen = format!("{rounds} differences; without a sandbox {:.2} ms", median(&mut plain_times));
            lines.push(Line::new(name, median(&mut differences), goal, seen));
        }
        lines.push(self.connections(rounds).await?);
        Ok(lines)
    }

    /// A connection through the proxy against one without, both from inside.
    async fn connections(&self, rounds: usize) -> Result<Line> {
        let name = "added by the proxy to a connection, ms";
        if !self.machine.network {
            return Ok(Line::unmeasured(name, CONNECTION, "this machine has no network namespaces"));
        }
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
            }
        });
        let listed = Network::Hosts(vec![format!("private:localhost:{port}").parse()?]);
        let by_proxy = Policy { network: Some(listed), ..policy(Profile::Standard) };
        let (mut differences, mut direct_times) = (Vec::new(), Vec::new());
        for _ in 0..rounds.div_ceil(CONNECTIONS).max(3) {
            let direct = self.client(self.confined(policy(Profile::Standard), self.machine), port, "direct").await?;
            let through = self.client(self.confined(by_proxy.clone(), self.machine), port, "proxy").await?;
            differences.push(through - direct);
            direct_times.push(direct);
        }
        let seen = format!("medians of {CONNECTIONS}; without it {:.3} ms", median(&mut direct_times));
        Ok(Line::new(name, median(&mut differences), CONNECTION, seen))
    }

    async fn client(&self, launcher: impl Launcher, port: u16, way: &str) -> Result<f64> {
        let mut command = self.command(&self.program);
        command.args = vec!["sandbox-client".into(), port.to_string().into(), way.into()];
        let Launched { stdin, mut stdout, mut stderr, process } = launcher.launch(&command)?;
        drop(stdin);
        let (mut said, mut complained) = (String::new(), String::new());
        let (out, err) = tokio::join!(stdout.read_to_string(&mut said), stderr.read_to_string(&mut complained));
        out?;
        err?;
        process.wait().await;
        said.trim().parse().with_context(|| format!("the client said: {said}{complained}"))
    }

    fn free(&self) -> WardenLauncher {
        WardenLauncher::new(self.stage.clone())
    }

    fn confined(&self, policy: Policy, machine: Machine) -> SandboxedLauncher<WardenLauncher> {
        let sandbox = Sandbox {
            policy,
            machine,
            stage: self.stage.clone(),
            directory: self.directory.path().join("sandbox"),
            home: Some(self.directory.path().join("home")),
            own: Vec::new(),
            named_variables: Vec::new(),
            refused: RefusedHosts::default(),
        };
        SandboxedLauncher::new(self.free(), Arc::new(sandbox))
    }

    fn command(&self, program: &Path) -> ServerCommand {
        ServerCommand {
            program: program.into(),
            working_directory: Some(self.directory.path().to_owned()),
            environment: [("PATH", "/usr/local/bin:/usr/bin:/bin")].into_iter().collect(),
            ..ServerCommand::default()
        }
    }

    /// Seconds from the call until the program, which does nothing, has closed its output.
    async fn start(&self, launcher: &impl Launcher) -> Result<f64> {
        let command = self.command(Path::new("/bin/true"));
        let started = Instant::now();
        let Launched { stdin, mut stdout, stderr, process } = launcher.launch(&command)?;
        let mut said = Vec::new();
        stdout.read_to_end(&mut said).await?;
        let took = started.elapsed().as_secs_f64();
        drop((stdin, stderr));
        let exit = process.wait().await;
        ensure!(exit == ExitReport::Exited(0), "/bin/true: {exit}");
        Ok(took)
    }
}

fn policy(profile: Profile) -> Policy {
    Policy { demand: Demand::Weaker, ..Policy::new(profile) }
}

/// The program inside: connects again and again, and says the median in milliseconds.
pub(crate) fn client(port: u16, is_by_proxy: bool) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..CONNECTIONS {
        let started = Instant::now();
        let mut stream = TcpStream::connect(("127.0.0.1", if is_by_proxy { helve_sandbox::PROXY_PORT } else { port }))?;
        stream.set_nodelay(true)?;
        if is_by_proxy {
            stream.write_all(format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n").as_bytes())?;
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte)?;
                head.extend(byte);
            }
            ensure!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
        }
        stream.write_all(b"x")?;
        stream.read_exact(&mut [0])?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    println!("{}", median(&mut times));
    Ok(())
}
