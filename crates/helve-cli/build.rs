//! Owns how the program lies in memory: what its runs go through is linked side by side, so that little else is mapped with it.
//!
//! `layout.ld` names it, and `cargo xtask layout` writes that file. A linker that cannot follow it, or a platform whose linkers
//! have no such files, lays the program out as it likes: it works the same and holds some megabytes more.
#![expect(clippy::disallowed_methods, reason = "a build script: cargo speaks to it through the environment")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=layout.ld");
    let layout = format!("-T{}", Path::new(&told("CARGO_MANIFEST_DIR")).join("layout.ld").display());
    if told("PROFILE") == "release" && told("CARGO_CFG_TARGET_OS") == "linux" && is_followed(&layout) {
        println!("cargo::rustc-link-arg-bins={layout}");
    }
}

fn told(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Whether the smallest of programs can be linked like that, by the linker and with the flags that link the real one.
fn is_followed(layout: &str) -> bool {
    let place = told("OUT_DIR");
    let source = Path::new(&place).join("probe.rs");
    let mut compiler = Command::new(told("RUSTC"));
    compiler.arg(&source).args(["--target", &told("TARGET"), "--out-dir", &place, "-C", &format!("link-arg={layout}")]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.args(["-C", &format!("linker={linker}")]);
    }
    // The parts of an empty text are one empty text.
    compiler.args(told("CARGO_ENCODED_RUSTFLAGS").split('\x1f').filter(|flag| !flag.is_empty()));
    compiler.stdout(Stdio::null()).stderr(Stdio::null());
    fs::write(source, "fn main() {}").is_ok() && compiler.status().is_ok_and(|status| status.success())
}
