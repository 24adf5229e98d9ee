//! A program the person named (`--sampler`, `--exec`): started without a shell and held like a server, fed, heard to its
//! end, bounded in time and output.

use std::sync::Arc;
use std::time::Duration;

use helve_wire::launch::{Environment, ExitReport, Launcher, ServerCommand};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use crate::context::Context;
use crate::env::variable;
use crate::failure::Failure;

/// Bytes of a program's stderr that are kept: the newest ones.
const KEPT_STDERR: usize = 16 * 1024;
/// Bytes taken from a pipe at once.
const CHUNK: usize = 16 * 1024;

/// A program and how it is started.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    command: ServerCommand,
    launcher: Arc<dyn Launcher>,
    shown: String,
}

/// How much a run may cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// `None`: as long as it likes.
    pub(crate) time: Option<Duration>,
    /// Bytes of its output.
    pub(crate) output: usize,
}

/// What a program said, once it has ended well.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Why a run came to nothing: a sentence about the program, and what it said nevertheless.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) problem: String,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Program {
    /// A command line as a person writes it: words, with quotation marks where they are needed.
    pub(crate) fn parse(context: &Context, option: &str, text: &str) -> Result<Self, Failure> {
        let words = shell_words::split(text)
            .map_err(|error| Failure::usage(format!("`{option} {text}` is no command: {error}")))?;
        Self::new(context, option, &words)
    }

    pub(crate) fn new(context: &Context, option: &str, words: &[String]) -> Result<Self, Failure> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(Failure::usage(format!("`{option}` names no command")));
        };
        let mut environment = Environment::default();
        // The person's own program, with the person's own environment.
        for (name, value) in context.env.variables() {
            environment.set(name, value);
        }
        environment.set(variable::HELVE_DEPTH, context.itself.depth(&context.env).saturating_add(1).to_string());
        let command = ServerCommand {
            program: program.into(),
            args: arguments.iter().map(Into::into).collect(),
            working_directory: Some(context.env.working_directory().to_owned()),
            environment,
            ..ServerCommand::default()
        };
        Ok(Self { command, launcher: crate::running::launcher(context), shown: program.clone() })
    }

    /// Another program, started in the same way; `None` when there are no words.
    pub(crate) fn running(&self, words: &[String]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        let mut other = self.clone();
        other.command.program = program.into();
        other.command.args = arguments.iter().map(Into::into).collect();
        other.shown.clone_from(program);
        Some(other)
    }

    /// The same with one more variable.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.command.environment.set(name, value);
        self
    }

    /// Runs it to its end with this input. Dropping the future kills it.
    pub(crate) async fn run(&self, input: &[u8], bounds: Bounds) -> Result<Said, Broken> {
        let launched = self.launcher.launch(&self.command).map_err(|error| Broken {
            problem: format!("`{}` cannot be started: {error}", self.shown),
            stdout: Vec::new(),
            stderr: String::new(),
        })?;
        let (mut stdin, stdout, stderr) = (launched.stdin, launched.stdout, launched.stderr);
        let mut heard = Vec::new();
        let work = async {
            let feed = async {
                // Who does not want to hear it all may go on without.
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
