//! Owns the archive: the program with its pages and completions, to be unpacked anywhere.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{Materials, VERSION, date, made, quietly, tree, try_program};

pub(super) fn package(materials: &Materials<'_>, test: bool) -> Result<()> {
    let name = format!("helve-{VERSION}-{}-linux", std::env::consts::ARCH);
    let staging = materials.output.join("staging/tar");
    tree::stage(materials, &staging.join(&name), "")?;
    let archive = materials.output.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -n9"]);
    tar.arg(format!("--mtime=@{}", date(materials.root)?)).arg("-C").arg(&staging).arg("-cf").arg(&archive).arg(&name);
    quietly(&mut tar)?;
    made(&archive)?;
    if !test {
        return Ok(());
    }
    let place: PathBuf = materials.output.join("tar-test");
    if place.exists() {
        fs_err::remove_dir_all(&place)?;
    }
    fs_err::create_dir_all(&place)?;
    quietly(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&place))?;
    let unpacked = place.join(&name);
    ensure!(unpacked.join("share/man/man1/helve.1").is_file(), "the archive has no man page");
    try_program(&unpacked.join("bin/helve"), &place.join("scratch"))
}
