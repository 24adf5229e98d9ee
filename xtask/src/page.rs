//! Owns `cargo xtask page`: the hub's page in a real browser, every screen in every dress, and what people do on it.

mod browser;
mod figures;
mod screens;
mod stage;
mod tasks;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::install::npm;
use crate::programs::{build_unless, interop_directory};
use browser::{Driver, Looks};
use stage::Stage;

/// The checker of accessibility.
const AXE: (&str, &str) = ("axe-core", "4.14.0");

/// The pictures that the documentation shows: a screen and its file below docs/.
const SHOWN: &[(&str, &str)] = &[
    ("overview", "hub.png"),
    ("calls", "hub-calls.png"),
    ("approvals", "hub-approvals.png"),
    ("add-tested", "hub-add.png"),
];

/// Look at the hub's page in chromium: every screen in light and dark, with and without script, and what people do there
///
/// Fails on a screen that does not come, a finding of axe, a broken policy of the page, a screen wider than a phone, and a
/// task that cannot be done. Pictures are kept under target/page. Needs chromium and chromedriver (Debian: chromium,
/// chromium-driver) and npm.
#[derive(Debug, Args)]
pub(crate) struct Page {
    /// Only tasks and screens whose names contain this
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// The program to look at, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    helve: Option<PathBuf>,
    /// The echo server behind it, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Put the pictures that the documentation shows below docs/
    #[arg(long)]
    docs: bool,
}

/// Where everything is that a look at the page needs.
struct Look<'a> {
    driver: &'a Driver,
    stage: &'a Stage,
    /// The source of the checker.
    axe: String,
    pictures: PathBuf,
    only: Option<&'a str>,
}

impl Page {
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let helve = build_unless(self.helve.as_deref(), root, "helve-cli", "helve")?;
        let server = build_unless(self.server.as_deref(), root, "xtask", "xtask-echo-server")?;
        let interop = interop_directory(root)?;
        let axe = npm(&interop.join("axe"), &[AXE])?.join("axe-core/axe.min.js");
        let pictures = interop.parent().context("a target directory")?.join("page");
        if pictures.exists() && self.only.is_none() {
            fs_err::remove_dir_all(&pictures)?;
        }
        fs_err::create_dir_all(&pictures)?;
        let (driver, stage) = (Driver::start()?, Stage::set(&helve, &server)?);
        let look = Look {
            driver: &driver,
            stage: &stage,
            axe: fs_err::read_to_string(axe)?,
            pictures,
            only: self.only.as_deref(),
        };
        let started = Instant::now();
        let mut missed = tasks::run(&look)?;
        missed.extend(screens::run(&look)?);
        figures::take(&look)?;
        tell(&format!("{:.0} s; pictures are in {}", started.elapsed().as_secs_f64(), look.pictures.display()));
        if !missed.is_empty() {
            bail!("{} did not hold:\n{}\n\n{}", missed.len(), missed.join("\n"), stage.log());
        }
        if self.docs {
            for (screen, file) in SHOWN {
                let picture = look.pictures.join(format!("shown-{screen}.png"));
                fs_err::copy(picture, root.join("docs").join(file))?;
            }
        }
        Ok(())
    }
}

impl Look<'_> {
    fn wants(&self, name: &str) -> bool {
        self.only.is_none_or(|only| name.contains(only))
    }

    /// A browser that is signed in.
    fn signed_in(&self, looks: Looks) -> Result<browser::Browser> {
        let mut browser = self.driver.browser(looks)?;
        self.sign_in(&mut browser)?;
        Ok(browser)
    }

    /// Signs a browser in anew.
    fn sign_in(&self, browser: &mut browser::Browser) -> Result<()> {
        browser.go(&self.stage.link()?)?;
        browser.says("Overview")
    }
}

#[expect(clippy::print_stdout, reason = "what was looked at is data for whoever runs the chore")]
fn tell(line: &str) {
    println!("{line}");
}
