//! Owns the list of chores behind `cargo xtask` and how their failure is told.
#![expect(
    clippy::disallowed_methods,
    reason = "a developer's tool: it starts cargo, npm, python and the benchmarks itself and reads its own environment"
)]

mod attack;
mod bench;
mod confined_servers;
mod conformance;
mod deny;
mod docs;
mod escapes;
mod frameworks;
mod http;
mod hub_stage;
mod install;
mod interop;
mod layers;
mod layout;
mod listening;
mod package;
mod page;
mod portable;
mod programs;
mod seeds;
mod soak;
mod tidy;
mod tokens;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own chores
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    Attack(attack::Attack),
    Bench(bench::Bench),
    ConfinedServers(confined_servers::ConfinedServers),
    Conformance(conformance::Conformance),
    Deny(deny::Deny),
    Docs(docs::Docs),
    Escapes(escapes::Escapes),
    Frameworks(frameworks::Frameworks),
    Interop(interop::Interop),
    Layout(layout::Layout),
    Package(package::Package),
    Page(page::Page),
    Portable(portable::Portable),
    Seeds(seeds::Seeds),
    Soak(soak::Soak),
    Tidy(tidy::Tidy),
    Tokens(tokens::Tokens),
}

fn main() -> ExitCode {
    // Before anything else, and before any thread: this program as a warden, and as the run inside of what a chore prepared.
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(|word| word.to_str()) {
        Some(escapes::WARDEN) => return helve_wire::launch::warden::run(&[escapes::WARDEN], words),
        Some(escapes::programs::PROGRAMS) => return escapes::programs::inside(),
        Some(escapes::INSIDE) => {
            return escapes::inside(&words.filter_map(|word| word.into_string().ok()).collect::<Vec<_>>());
        }
        _ => {}
    }
    let arguments = Arguments::parse();
    let root = workspace_root();
    let outcome = match arguments.chore {
        Chore::Attack(attack) => attack.run(&root),
        Chore::Bench(bench) => bench.run(&root),
        Chore::ConfinedServers(servers) => servers.run(&root),
        Chore::Conformance(conformance) => conformance.run(&root),
        Chore::Deny(deny) => deny.run(&root),
        Chore::Docs(docs) => docs.run(&root),
        Chore::Escapes(escapes) => escapes.run(&root),
        Chore::Frameworks(frameworks) => frameworks.run(&root),
        Chore::Interop(interop) => interop.run(&root),
        Chore::Layout(layout) => layout.run(&root),
        Chore::Package(package) => package.run(&root),
        Chore::Page(page) => page.run(&root),
        Chore::Portable(portable) => portable.run(&root),
        Chore::Seeds(seeds) => seeds.run(&root),
        Chore::Soak(soak) => soak.run(&root),
        Chore::Tidy(tidy) => tidy.run(&root),
        Chore::Tokens(tokens) => tokens.run(&root),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn workspace_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

#[expect(clippy::print_stderr, reason = "errors are talk for the person at the terminal")]
fn complain(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}
