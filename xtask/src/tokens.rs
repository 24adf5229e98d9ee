//! Owns `cargo xtask tokens`: the estimate of tokens beside a real tokenizer, over the recorded definitions of real servers; and
//! what tasks cost with code mode and without.

mod tasks;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::install::{Pin, npm};
use crate::programs::interop_directory;

/// The tokenizer; it works without a network.
const TOKENIZER: Pin = ("gpt-tokenizer", "4.0.0");

/// An estimate is never below this share of what is counted.
const LEAST: f64 = 0.9;

/// Texts come in as lines of JSON, counts go out as lines.
const COUNT: &str = r"
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { createInterface } from 'node:readline';
for await (const line of createInterface({ input: process.stdin })) console.log(encode(JSON.parse(line)).length);
";

/// Compare estimated tokens with counted ones
///
/// Over every recorded definition, as JSON and as its description: fails where the estimate is more than a tenth too low. Needs npm and
/// a registry once.
#[derive(Debug, clap::Args)]
pub(crate) struct Tokens {
    /// Compare three tasks over six real servers instead: by direct calls, and by programs
    #[arg(long)]
    tasks: bool,
    /// The program that serves them, instead of one that is built for it
    #[arg(long, value_name = "FILE", requires = "tasks")]
    helve: Option<PathBuf>,
}

impl Tokens {
    #[expect(clippy::print_stdout, reason = "a chore tells its person what came of it")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        if self.tasks {
            return tasks::compare(root, self.helve.as_deref());
        }
        let texts = texts(root)?;
        let counts = counted(root, &texts)?;
        let mut ratios: Vec<(f64, &str)> = Vec::new();
        let (mut estimated_in_all, mut counted_in_all) = (0, 0);
        for (text, counted) in texts.iter().zip(&counts) {
            let estimated = helve_render::estimated_tokens(text);
            estimated_in_all += estimated;
            counted_in_all += counted;
            ratios.push((estimated as f64 / (*counted).max(1) as f64, text));
        }
        ratios.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        let at = |share: f64| ratios.get((ratios.len() as f64 * share) as usize).map_or(0.0, |(ratio, _)| *ratio);
        let (lowest, text) = ratios.first().context("nothing is recorded")?;
        println!(
            "{} texts, {counted_in_all} tokens, {estimated_in_all} estimated ({:.2}); lowest {lowest:.3}, median {:.2}, highest {:.2}",
            ratios.len(),
            estimated_in_all as f64 / f64::from(u32::try_from(counted_in_all)?),
            at(0.5),
            at(0.9999),
        );
        if *lowest < LEAST {
            bail!("the estimate is {lowest:.3} of what is counted, and must be {LEAST}, of: {text}");
        }
        Ok(())
    }
}

fn texts(root: &Path) -> Result<Vec<String>> {
    let recorded = fs_err::read(root.join("crates/helve-render/tests/search/definitions.jsonl.gz"))?;
    let mut text = String::new();
    GzDecoder::new(&*recorded).read_to_string(&mut text)?;
    let mut texts = Vec::new();
    for line in text.lines() {
        let server: Value = serde_json::from_str(line)?;
        for tool in server["tools"].as_array().into_iter().flatten() {
            texts.push(tool.to_string());
            texts.extend(tool["description"].as_str().filter(|text| !text.is_empty()).map(ToOwned::to_owned));
        }
    }
    Ok(texts)
}

fn counted(root: &Path, texts: &[String]) -> Result<Vec<usize>> {
    let directory = interop_directory(root)?.join("tokens");
    npm(&directory, &[TOKENIZER])?;
    let script = directory.join("count.mjs");
    fs_err::write(&script, COUNT)?;
    let mut node = Command::new("node");
    let mut child = node
        .arg(&script)
        .current_dir(&directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("this run needs node")?;
    let mut input = child.stdin.take().context("node has no input")?;
    let lines: Vec<String> = texts.iter().map(|text| format!("{}\n", Value::from(text.as_str()))).collect();
    let writer = std::thread::spawn(move || lines.iter().try_for_each(|line| input.write_all(line.as_bytes())));
    let output = child.wait_with_output()?;
    if !matches!(writer.join(), Ok(Ok(()))) || !output.status.success() {
        bail!("the tokenizer did not read everything ({})", output.status);
    }
    let counts = String::from_utf8(output.stdout)?;
    let counts: Vec<usize> = counts.lines().map(str::parse).collect::<Result<_, _>>()?;
    if counts.len() != texts.len() {
        bail!("the tokenizer counted {} of {} texts", counts.len(), texts.len());
    }
    Ok(counts)
}
