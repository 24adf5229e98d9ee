//! Owns how jobs are run: each in a process of its own, subjects interleaved round by round, in real time where allowed.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::job::{Job, Kind, Sample, Subject, Work};

/// The surroundings of all measures.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) server: PathBuf,
    /// Whose numbers are held to the goals.
    pub(crate) candidate: Kind,
    pub(crate) rounds: usize,
    pub(crate) real_time: bool,
}

impl Bench {
    pub(crate) fn job(&self, subject: Subject, work: Work) -> Job {
        Job { subject, server: self.server.clone(), work }
    }

    /// The candidate as the goals mean it.
    pub(crate) fn candidate(&self) -> Subject {
        Subject::new(self.candidate)
    }

    /// Runs all jobs once per round, beginning with another one each time. Answers in the order of `jobs`.
    pub(crate) fn rounds<const N: usize>(&self, jobs: [Job; N]) -> Result<[Rounds; N]> {
        let mut results: [Rounds; N] = std::array::from_fn(|_| Rounds::default());
        for round in 0..self.rounds {
            for step in 0..N {
                let index = (round + step) % N;
                if let (Some(job), Some(rounds)) = (jobs.get(index), results.get_mut(index)) {
                    rounds.samples.push(self.run(job)?);
                }
            }
        }
        Ok(results)
    }

    fn run(&self, job: &Job) -> Result<Sample> {
        in_child("child", job, self.real_time).with_context(|| format!("{:?} of {:?}", job.work, job.subject))
    }
}

/// Has this program do a job by one of its hidden verbs, in a process of its own. Gives its report.
pub(crate) fn in_child<S: DeserializeOwned>(verb: &str, job: &impl Serialize, real_time: bool) -> Result<S> {
    const PRIORITY: &str = "10";
    let this = std::env::current_exe()?;
    let mut command = if real_time {
        let mut chrt = Command::new("chrt");
        chrt.args(["-f", PRIORITY]).arg(this);
        chrt
    } else {
        Command::new(this)
    };
    let output = command
        .arg(verb)
        .arg(serde_json::to_string(job)?)
        .stdin(Stdio::null())
        .output()
        .context("cannot start the child")?;
    if !output.status.success() {
        bail!("failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("the child did not report")
}

/// One job's samples, round by round.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    samples: Vec<Sample>,
}

impl Rounds {
    pub(crate) fn each(&self, field: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(field).collect()
    }

    pub(crate) fn median(&self, field: impl Fn(&Sample) -> f64) -> f64 {
        crate::stats::median(&mut self.each(field))
    }
}

/// Whether this machine lets us run in real time; without it, timings on a busy machine say little.
pub(crate) fn real_time_allowed() -> bool {
    let tried = Command::new("chrt").args(["-f", "10", "true"]).stdin(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}
