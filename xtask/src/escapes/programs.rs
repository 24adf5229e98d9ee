//! Owns the attempts from inside code mode: what a model's program may try, with the look at programs before they run switched
//! off, and on. Off, only the sandbox and the decision on each call hold it.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};
use helve::{CallContext, Caller, Host};
use helve_code::{Engine, EngineSetup, Limits, Runner};
use helve_wire::launch::WardenProgram;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::WARDEN;

/// First word: make the attempts as the user that the outer run chose.
pub(crate) const PROGRAMS: &str = "__escapes-programs";

/// The attempts: a name, a tab, statements of which one must raise.
const ATTEMPTS: &str = include_str!("../../../crates/helve-code/tests/escapes.txt");

/// What came of all attempts.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    python: String,
    gate: bool,
    attempts: usize,
    /// Refused before they ran.
    refused: usize,
    escaped: Vec<String>,
}

/// Makes the attempts as each of the users; gives what got out.
#[expect(clippy::print_stdout, reason = "a chore tells its person what came of it")]
pub(super) fn run(runner: &Path, users: &[u32]) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for user in users {
        let mut command = Command::new(runner);
        command.arg(PROGRAMS).stdin(Stdio::null()).stdout(Stdio::piped()).env_clear();
        // Another user has no Python but the system's.
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir("/");
        if *user != geteuid().as_raw() {
            command.uid(*user).gid(*user);
        }
        let output = command.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            bail!("programs as user {user}: {}", output.status);
        }
        let all: Vec<Seen> = serde_json::from_slice(&output.stdout).with_context(|| format!("user {user}"))?;
        for Seen { python, gate, attempts, refused, escaped } in all {
            let gate = if gate { "looked at before they run" } else { "not looked at" };
            println!(
                "user {user}, programs in {python}, {gate}: {} of {attempts} get out, {refused} refused before they ran",
                escaped.len()
            );
            wrong.extend(escaped.into_iter().map(|name| format!("user {user}, programs {gate}: {name}")));
        }
    }
    Ok(wrong)
}

/// Makes them as the user that this process is.
#[expect(clippy::print_stdout, reason = "the outer run reads it")]
pub(crate) fn inside() -> ExitCode {
    let outcome = || -> Result<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let seen = runtime
            .block_on(async { Ok::<_, anyhow::Error>([attempt_all(false).await?, attempt_all(true).await?]) })?;
        Ok(serde_json::to_string(&seen)?)
    };
    match outcome() {
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

async fn attempt_all(gate: bool) -> Result<Seen> {
    let host = Host::builder().start().await?;
    let stage = WardenProgram { path: std::env::current_exe()?, leading: vec![WARDEN.into()] };
    let setup = EngineSetup::new(Some(stage)).with(|setup| setup.search_path = std::env::var_os("PATH"));
    let limits = Limits::default();
    let engine = Engine::find(&setup, &limits).await?;
    let mut seen = Seen { python: engine.description(), gate, attempts: 0, refused: 0, escaped: Vec::new() };
    let runner = if gate { Runner::new(&host, engine, limits) } else { Runner::without_gate(&host, engine, limits) };
    runner.offer(&host)?;
    let attempts = ATTEMPTS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'));
    for (name, body) in attempts {
        let report = runner.run(&program(body), CallContext::new(Caller::Agent)).await?;
        seen.attempts += 1;
        seen.refused += usize::from(report.error.is_some_and(|error| error.is_refusal));
        if report.value.as_str() == "\"escaped\"" {
            seen.escaped.push(name.to_owned());
        }
    }
    host.shutdown().await;
    Ok(seen)
}

/// The statements in a program whose value says whether all of them worked.
fn program(body: &str) -> String {
    let lines: String = body.split("; ").map(|line| format!("    {line}\n")).collect();
    format!("try:\n{lines}    result = 'escaped'\nexcept BaseException as error:\n    result = type(error).__name__\n")
}
