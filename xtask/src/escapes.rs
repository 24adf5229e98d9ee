//! `cargo xtask escapes`: a program that tries everything it can think of to get out of a sandbox, in every profile, as root and as
//! another user, and again with Landlock and user namespaces taken away. What works must be what the sandbox's own report says
//! is open, and nothing else. Then the same from inside the programs of code mode, where nothing may work.

mod inside;
mod judge;
pub(crate) mod programs;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::programs as chores;

pub(crate) use inside::{inside, take_away};

/// First word: run inside, as the user and with the layers that the outer run chose.
pub(crate) const INSIDE: &str = "__escapes";
/// First word: this program is a warden.
pub(crate) const WARDEN: &str = "__warden";

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

/// All of it, over every user and every set of layers; it takes half a minute.
const PATIENCE: Duration = Duration::from_secs(170);

/// Try to escape from every sandbox
#[derive(Debug, clap::Args)]
pub(crate) struct Escapes {
    /// Show every attempt, not only what is wrong
    #[arg(long)]
    all: bool,
}

/// What the outer run takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Nothing,
    Landlock,
    Namespaces,
    Both,
}

/// What came of one sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Case {
    /// The profile, and what is special.
    pub(crate) name: String,
    /// The line that people are shown; or why nothing was started.
    pub(crate) status: String,
    /// Each attempt with what came of it.
    pub(crate) attempts: BTreeMap<String, Attempt>,
    /// What must not be.
    pub(crate) wrong: Vec<String>,
}

/// One attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) worked: bool,
    /// It neither worked nor was refused: it hung, or was killed.
    pub(crate) has_ended: bool,
    pub(crate) why: String,
}

impl Missing {
    const ALL: [Self; 4] = [Self::Nothing, Self::Landlock, Self::Namespaces, Self::Both];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
            Self::Both => "both",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|missing| missing.word() == word)
    }

    pub(crate) const fn has_landlock(self) -> bool {
        matches!(self, Self::Nothing | Self::Namespaces)
    }

    pub(crate) const fn has_namespaces(self) -> bool {
        matches!(self, Self::Nothing | Self::Landlock)
    }
}

impl Escapes {
    #[expect(clippy::print_stdout, reason = "a chore tells its person what came of it")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            bail!("the attempts are written for Linux on x86-64");
        }
        let started = Instant::now();
        let base = tempfile::Builder::new().prefix("helve-escapes-").tempdir()?;
        let base_path = fs_err::canonicalize(base.path())?;
        fs_err::set_permissions(&base_path, std::fs::Permissions::from_mode(0o755))?;
        let attempts = compile(root, &base_path)?;
        // Another user must be able to run this very program.
        let runner = base_path.join("runner");
        fs_err::copy(std::env::current_exe()?, &runner)?;
        fs_err::set_permissions(&runner, std::fs::Permissions::from_mode(0o755))?;
        let own = geteuid().as_raw();
        let users = if own == 0 { vec![own, NOBODY] } else { vec![own] };
        if users.len() == 1 {
            println!("not tried: root and another user (this is not root)");
        }
        let mut wrong = Vec::new();
        for user in users.iter().copied() {
            for missing in Missing::ALL {
                for case in run_inside(&runner, &attempts, &base_path, user, missing, started + PATIENCE)? {
                    self.tell(user, missing, &case);
                    wrong.extend(
                        case.wrong
                            .iter()
                            .map(|what| format!("user {user}, without {}, {}: {what}", missing.word(), case.name)),
                    );
                }
            }
        }
        wrong.extend(programs::run(&runner, &users)?);
        println!("{:.0} s", started.elapsed().as_secs_f64());
        if wrong.is_empty() { Ok(()) } else { bail!("{} beyond what is said:\n{}", wrong.len(), wrong.join("\n")) }
    }

    #[expect(clippy::print_stdout, reason = "a chore tells its person what came of it")]
    fn tell(&self, user: u32, missing: Missing, case: &Case) {
        let worked = case.attempts.values().filter(|attempt| attempt.worked).count();
        let without = if missing == Missing::Nothing { String::new() } else { format!(" without {}", missing.word()) };
        println!(
            "user {user}{without}, {}: {worked} of {} work, {} wrong",
            case.name,
            case.attempts.len(),
            case.wrong.len()
        );
        println!("    {}", case.status);
        if case.name == judge::CONTROL {
            let idle: Vec<String> = judge::idle(&case.attempts);
            println!("    says nothing here, because it fails without a sandbox too: {}", idle.join(", "));
        }
        for (name, attempt) in
            case.attempts.iter().filter(|(_, attempt)| self.all || attempt.worked && case.name != judge::CONTROL)
        {
            println!("    {} {name} {}", if attempt.worked { "works:  " } else { "refused:" }, attempt.why);
        }
        for wrong in &case.wrong {
            println!("    WRONG: {wrong}");
        }
    }
}

fn compile(root: &Path, base: &Path) -> Result<PathBuf> {
    let program = base.join("attempts");
    let source = root.join("xtask/escapes/attempts.rs");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    // Static: it needs no file of the system.
    rustc.args(["--edition", "2024", "-O", "-C", "target-feature=+crt-static", "-o"]).arg(&program).arg(source);
    chores::run(&mut rustc, "the program of attempts needs nothing but rustc")?;
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

fn run_inside(
    runner: &Path,
    attempts: &Path,
    base: &Path,
    user: u32,
    missing: Missing,
    deadline: Instant,
) -> Result<Vec<Case>> {
    let place = base.join(format!("{user}-{}", missing.word()));
    fs_err::create_dir(&place)?;
    let mut command = Command::new(runner);
    command.arg(INSIDE).arg(missing.word()).arg(&place).arg(attempts).stdin(Stdio::null()).stdout(Stdio::piped());
    if user != geteuid().as_raw() {
        std::os::unix::fs::chown(&place, Some(user), Some(user))?;
        command.uid(user).gid(user);
    }
    let mut child = command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(&place).spawn()?;
    // Read while it runs: a pipe holds less than the answer may be long.
    let mut stdout = child.stdout.take().context("it has no output")?;
    let reader = std::thread::spawn(move || {
        let mut answer = Vec::new();
        stdout.read_to_end(&mut answer).map(|_| answer)
    });
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("user {user} without {}: the whole run took longer than {} s", missing.word(), PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let answer = reader.join().map_err(|_| anyhow::Error::msg("its answer was lost"))??;
    if !status.success() {
        bail!("user {user} without {}: {status}", missing.word());
    }
    serde_json::from_slice(&answer).with_context(|| format!("user {user} without {}", missing.word()))
}
