//! Owns `cargo xtask deny`: what dependencies may be, as `deny.toml` says it, checked by `cargo deny`.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::programs::run;

/// Check the dependencies' licences, sources and versions against deny.toml, and known advisories with `--advisories`
///
/// Needs `cargo deny` (`cargo install --locked cargo-deny`).
#[derive(Debug, Args)]
pub(crate) struct Deny {
    /// Look for known advisories too, which needs their database and so a network
    #[arg(long)]
    advisories: bool,
}

impl Deny {
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let mut deny = Command::new(env!("CARGO"));
        deny.current_dir(root).args(["deny", "--all-features", "check", "licenses", "bans", "sources"]);
        if self.advisories {
            deny.arg("advisories");
        }
        run(&mut deny, "this needs cargo deny: `cargo install --locked cargo-deny`; see its message above")
    }
}
