//! One cfg for each capability of the system that not every system has, so that code asks what there is and not where it runs:
//! `sandbox` (a program can be confined), `warden` (a process can hold the whole tree below it), `pidfd` (the end of a process
//! can be waited for by a descriptor), `peer_user` (the system says whose process is at the other end of a connection within
//! this machine).
//!
//! With `HELVE_PORTABLE` set there is none of them: what other systems would compile is compiled, and tested, on this one.

#![expect(clippy::print_stdout, reason = "this is how a build script speaks")]
#![expect(clippy::disallowed_methods, reason = "this is what a build script is told by")]

use std::env::{var, var_os};

const CAPABILITIES: [&str; 4] = ["peer_user", "pidfd", "sandbox", "warden"];

fn main() {
    println!("cargo::rerun-if-env-changed=HELVE_PORTABLE");
    let is_portable = var_os("HELVE_PORTABLE").is_some_and(|value| !value.is_empty());
    let has_them = !is_portable && var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    for capability in CAPABILITIES {
        println!("cargo::rustc-check-cfg=cfg({capability})");
        if has_them {
            println!("cargo::rustc-cfg={capability}");
        }
    }
}
