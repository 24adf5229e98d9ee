//! A program the person named: started without a shell and held like a server, fed, heard to its
//! end, bounded in time and output.

use std::sync::Arc;
use std::time::Duration;

use helve_wire::launch::{ChildEnvironment, ExitReport, Launcher, ServerCommand};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use crate::environment::variable;
use crate::recipe::launcher;
use crate::setup::Setup;

/// Bytes of a program's stderr that are kept: the newest ones.
const KEPT_STDERR: usize = 16 * 1024;
/// Bytes taken from a pipe at once.
const CHUNK: usize = 16 * 1024;

/// A program and how it is started.
#[derive(Debug, Clone)]
pub struct Program {
    command: ServerCommand,
    launcher: Arc<dyn Launcher>,
    shown: String,
}

/// How much a run may cost.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// `None`: as long as it likes.
    pub time: Option<Duration>,
    /// Bytes of its output.
    pub output: usize,
}

/// What a program said, once it has ended well.
#[derive(Debug)]
pub struct Said {
    /// Its output.
    pub stdout: Vec<u8>,
    /// Its other output, as text.
    pub stderr: String,
}

/// Why a run came to nothing: a sentence about the program, and what it said nevertheless.
#[derive(Debug)]
pub struct Broken {
    /// The sentence.
    pub problem: String,
    /// Its output until then.
    pub stdout: Vec<u8>,
    /// Its other output, as text.
    pub stderr: String,
}

impl Program {
    /// The person's own program, with the person's own environment.
    #[must_use]
    pub fn new(setup: &Setup, program: &str, arguments: &[String]) -> Self {
        let mut environment = ChildEnvironment::default();
        for (name, value) in setup.environment.variables() {
            environment.set(name, value);
        }
        let depth = setup.itself.depth(&setup.environment).saturating_add(1);
        environment.set(variable::HELVE_DEPTH, depth.to_string());
        let command = ServerCommand {
            program: program.into(),
            args: arguments.iter().map(Into::into).collect(),
            working_directory: Some(setup.environment.working_directory().to_owned()),
            environment,
            ..ServerCommand::default()
        };
        Self { command, launcher: launcher(&setup.environment), shown: program.to_owned() }
    }

    /// Another program, started in the same way; `None` when there are no words.
    pub fn running(&self, words: &[String]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        let mut other = self.clone();
        other.command.program = program.into();
        other.command.args = arguments.iter().map(Into::into).collect();
        other.shown.clone_from(program);
        Some(other)
    }

    /// The same with one more variable.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.command.environment.set(name, value);
        self
    }

    /// Runs it to its end with this input. Dropping the future kills it.
    pub async fn run(&self, input: &[u8], bounds: Bounds) -> Result<Said, Broken> {
        let launched = self.launcher.launch(&self.command).map_err(|error| Broken {
            problem: format!("`{}` cannot be started: {error}", self.shown),
            stdout: Vec::new(),
            stderr: String::new(),
        })?;
        let (mut stdin, stdout, stderr) = (launched.stdin, launched.stdout, launched.stderr);
        let mut heard = Vec::new();
        let work = async {
            let feed = async {
                // A caller that does not want all of it goes on without.
                drop(stdin.write_all(input).await);
                drop(stdin);
            };
            let ((), stdout, ()) =
                tokio::join!(feed, read_up_to(stdout, bounds.output), keep_newest(stderr, &mut heard));
            (stdout, launched.process.wait().await)
        };
        let ended = match bounds.time {
            Some(time) => tokio::time::timeout(time, Box::pin(work)).await.map_err(|_| time),
            None => Ok(work.await),
        };
        let stderr = String::from_utf8_lossy(&heard).into_owned();
        let problem = match &ended {
            Err(time) => Some(format!("did not end within {} s", time.as_secs_f64())),
            Ok((None, _)) => Some(format!("said more than {} bytes", bounds.output)),
            Ok((Some(_), ExitReport::Exited(0))) => None,
            Ok((Some(_), report)) => Some(report.to_string()),
        };
        let stdout = ended.ok().and_then(|(stdout, _)| stdout).unwrap_or_default();
        match problem {
            None => Ok(Said { stdout, stderr }),
            Some(problem) => Err(Broken { problem: format!("`{}` {problem}", self.shown), stdout, stderr }),
        }
    }
}

/// Everything up to the end; `None` when that is too much.
async fn read_up_to(mut pipe: impl AsyncRead + Unpin, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match pipe.read(&mut chunk).await {
            Ok(0) | Err(_) => return Some(bytes),
            Ok(count) => bytes.extend(chunk.iter().take(count)),
        }
        if bytes.len() > most {
            return None;
        }
    }
}

async fn keep_newest(mut pipe: impl AsyncRead + Unpin, kept: &mut Vec<u8>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        kept.extend(chunk.iter().take(count));
        let excess = kept.len().saturating_sub(KEPT_STDERR);
        kept.drain(..excess);
    }
}
