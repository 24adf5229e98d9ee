//! Owns the form of a `.seed` file: scenes, items, steps and what has to come of them.
//!
//! ```text
//! == the words of a scene               a new home and project; what follows up to the first item prepares it
//! -- the title of an item               with the steps that prove it
//! later: why it is not proved here      an item that belongs to another part
//! better: how it differs                an item that is deliberately not as the seed has it
//! partly: what is left out              an item of which only the steps hold, deliberately
//! @ path/of/a/file                      a file, its text in the lines below, four blanks before each
//! & command                             goes on running until the scene ends
//! $ command                             run by the shell; `{name}` is put in from what the stage knows
//! = 7                                   its exit status (0 where nothing is said)
//! + text                                what it says has this in it
//! - text                                and not this
//! < 3000                                it took less than so many milliseconds
//! ! name                                a check in Rust, with the library
//! # a comment
//! ```

use anyhow::{Context, Result, bail};

/// One host, as it describes itself.
#[derive(Debug)]
pub(crate) struct Seed {
    pub(crate) scenes: Vec<Scene>,
}

#[derive(Debug, Default)]
pub(crate) struct Scene {
    pub(crate) line: usize,
    pub(crate) preparation: Vec<Step>,
    pub(crate) items: Vec<Item>,
}

#[derive(Debug, Default)]
pub(crate) struct Item {
    pub(crate) title: String,
    later: Option<String>,
    better: Option<String>,
    partly: Option<String>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    File { path: String, text: String },
    Background(String),
    Run(Run),
    Check(String),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) status: i32,
    pub(crate) says: Vec<String>,
    pub(crate) never_says: Vec<String>,
    pub(crate) milliseconds: Option<u64>,
}

/// What an item that holds is called in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Works,
    Better,
    Partly,
    Later,
}

impl Verdict {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Works => "WORKS",
            Self::Better => "DIFFERS (better)",
            Self::Partly => "PARTLY",
            Self::Later => "LATER",
        }
    }
}

impl Item {
    pub(crate) fn verdict(&self) -> Verdict {
        match (&self.later, &self.better, &self.partly) {
            (Some(_), _, _) => Verdict::Later,
            (None, Some(_), _) => Verdict::Better,
            (None, None, Some(_)) => Verdict::Partly,
            (None, None, None) => Verdict::Works,
        }
    }

    /// What was done, or why nothing was.
    pub(crate) fn evidence(&self) -> String {
        let done = self.steps.iter().filter_map(|step| match step {
            Step::Run(run) => Some(format!(
                "`{}`{}",
                run.command,
                run.says.first().map_or_else(String::new, |says| format!(" -> {says}"))
            )),
            Step::Check(name) => Some(format!("library: {name}")),
            Step::File { .. } | Step::Background(_) => None,
        });
        let reason = self.later.iter().chain(&self.better).chain(&self.partly).cloned();
        let done: Vec<String> = if self.later.is_some() { Vec::new() } else { done.collect() };
        reason.chain(done).collect::<Vec<_>>().join("; ")
    }

    #[cfg(test)]
    pub(crate) fn checks(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| if let Step::Check(name) = step { Some(name.as_str()) } else { None })
    }
}

impl Seed {
    pub(crate) fn read(text: &str) -> Result<Self> {
        let mut seed = Self { scenes: Vec::new() };
        for (index, line) in text.lines().enumerate() {
            seed.take(index + 1, line).with_context(|| format!("line {}: {line}", index + 1))?;
        }
        Ok(seed)
    }

    fn take(&mut self, number: usize, line: &str) -> Result<()> {
        if let Some(content) = line.strip_prefix("    ") {
            let Some(Step::File { text, .. }) = self.steps()?.last_mut() else { bail!("text that belongs to no file") };
            text.push_str(content);
            text.push('\n');
            return Ok(());
        }
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim().to_owned();
        match mark {
            "==" => self.scenes.push(Scene { line: number, ..Scene::default() }),
            "--" => self.scene()?.items.push(Item { title: rest, ..Item::default() }),
            "later:" => self.item()?.later = Some(rest),
            "better:" => self.item()?.better = Some(rest),
            "partly:" => self.item()?.partly = Some(rest),
            "@" => self.steps()?.push(Step::File { path: rest, text: String::new() }),
            "&" => self.steps()?.push(Step::Background(rest)),
            "!" => self.steps()?.push(Step::Check(rest)),
            "$" => self.steps()?.push(Step::Run(Run { line: number, command: rest, ..Run::default() })),
            "=" => self.last_run()?.status = rest.parse()?,
            "+" => self.last_run()?.says.push(rest),
            "-" => self.last_run()?.never_says.push(rest),
            "<" => self.last_run()?.milliseconds = Some(rest.parse()?),
            _ => bail!("no such mark: {mark}"),
        }
        Ok(())
    }

    fn scene(&mut self) -> Result<&mut Scene> {
        self.scenes.last_mut().context("it stands before the first scene")
    }

    fn item(&mut self) -> Result<&mut Item> {
        self.scene()?.items.last_mut().context("it stands before the first item")
    }

    fn steps(&mut self) -> Result<&mut Vec<Step>> {
        let scene = self.scene()?;
        Ok(scene.items.last_mut().map_or(&mut scene.preparation, |item| &mut item.steps))
    }

    fn last_run(&mut self) -> Result<&mut Run> {
        match self.steps()?.last_mut() {
            Some(Step::Run(run)) => Ok(run),
            _ => bail!("it follows no command"),
        }
    }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
