//! Owns the archive: the program with its pages and completions, to be unpacked anywhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{Materials, VERSION, date, empty, quietly, tree, try_program};

fn name() -> String {
    format!("helve-{VERSION}-{}-linux", std::env::consts::ARCH)
}

pub(super) fn make(materials: &Materials<'_>) -> Result<PathBuf> {
    let name = name();
    let staging = materials.output.join("staging/tar");
    tree::stage(materials, &staging.join(&name), "")?;
    let archive = materials.output.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -n9"]);
    tar.arg(format!("--mtime=@{}", date(materials.root)?)).arg("-C").arg(&staging).arg("-cf").arg(&archive).arg(&name);
    quietly(&mut tar)?;
    Ok(archive)
}

/// Unpacks it, and runs what is in it; nothing else is installed, so nothing else has to be taken away.
pub(super) fn try_out(materials: &Materials<'_>, archive: &Path) -> Result<()> {
    let place = materials.output.join("tar-test");
    empty(&place)?;
    quietly(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&place))?;
    let unpacked = place.join(name());
    tree::check(&unpacked)?;
    try_program(&unpacked.join("bin/helve"), &place.join("scratch"))
}
