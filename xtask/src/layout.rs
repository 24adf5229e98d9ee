//! Owns `cargo xtask layout`: which functions the program's runs go through, found by running it, and the file that tells the
//! linker to lay them side by side.
//!
//! Code is mapped in windows of many functions. Where the few that a run needs lie among the many it does not, nearly all of
//! the program becomes resident; side by side, a third of it does. The file is a product of the machine that made it: it lies in
//! `target/`, and only a build that asks for it uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use tempfile::TempDir;

use crate::listening::Listening;
use crate::programs::{Profile, build, run};

/// Write target/layout.ld, with which the linker lays side by side what runs of the program go through
///
/// Runs the program under valgrind: calls, lists, and serving over stdio and HTTP in both eras. Prints the command that builds
/// a program laid out like that, which holds some megabytes less.
#[derive(Debug, Args)]
pub(crate) struct Layout {}

const FILE: &str = "target/layout.ld";

const BEGIN: &str = "/* Written by `cargo xtask layout`: what runs of the program go through, the most common first. */
SECTIONS {
  .text : {
";
/// What the compiler takes for unlikely has sections of another name: few are ever reached, and all of them are small.
const END: &str = "    *(.text.unlikely.*)
  }
}
INSERT AFTER .init;
";

const VALGRIND: &str = "valgrind";

/// Under valgrind everything takes fifty times as long.
const PATIENCE: &[&str] = &["--timeout", "120s"];

/// The servers of a configuration that reaches `helve serve`, which speaks any version.
const VERSIONS: &[(&str, &str)] = &[("modern", "2026-07-28"), ("legacy", "2025-11-25")];

impl Layout {
    #[expect(clippy::print_stdout, reason = "the command to go on with is what this chore is run for")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let built = build(root, "helve-cli", Profile::Release, &["helve"])?;
        let [program] = built.as_slice() else { bail!("not everything was built") };
        let watched = Watched { program: program.clone(), place: tempfile::tempdir()? };
        watched.go_through()?;
        let file = root.join(FILE);
        fs_err::write(&file, script(&watched.profiles()?))?;
        println!("cargo rustc --release --package helve-cli --bin helve -- -C link-arg=-T{}", file.display());
        Ok(())
    }
}

/// The program, every run of which leaves a profile in `place`.
struct Watched {
    program: PathBuf,
    place: TempDir,
}

impl Watched {
    /// What people do with the program, and agents.
    fn go_through(&self) -> Result<()> {
        let clock = format!("[servers.clock]\nwrite_tools = [\"*\"]\n{}\n", self.as_server(&["builtin", "time"]));
        let clock = self.configuration("clock", &clock)?;
        self.takes(&clock, &["call", "clock/now", "timezone=UTC"])?;
        self.takes(&clock, &["tools"])?;

        let serve = ["--no-discover", "--config", &clock, "serve", "--prefix", "none"];
        self.calls_through("stdio", &self.as_server(&[&serve, PATIENCE].concat()))?;

        let mut command = self.command(&clock, &["serve", "--http", "127.0.0.1:0", "--prefix", "none"]);
        let listening = Listening::start(&mut command)?;
        self.calls_through("http", &format!("url = {}", json!(listening.url)))?;
        // Asked to end, it writes its profile.
        listening.stop()
    }

    /// One call in each era through a `helve serve` that is reached as `how` says.
    fn calls_through(&self, name: &str, how: &str) -> Result<()> {
        let servers: String = VERSIONS
            .iter()
            .map(|(era, version)| {
                format!("[servers.{era}]\nwrite_tools = [\"*\"]\n{how}\nprotocol_version = \"{version}\"\n")
            })
            .collect();
        let configuration = self.configuration(name, &servers)?;
        for (era, _) in VERSIONS {
            self.takes(&configuration, &["call", &format!("{era}/now"), "timezone=UTC"])?;
        }
        Ok(())
    }

    fn configuration(&self, name: &str, servers: &str) -> Result<String> {
        let file = self.place.path().join(name).with_extension("toml");
        fs_err::write(&file, servers)?;
        Ok(file.display().to_string())
    }

    fn takes(&self, configuration: &str, words: &[&str]) -> Result<()> {
        let mut command = self.command(configuration, &[words, PATIENCE].concat());
        run(
            command.stdout(Stdio::null()),
            "this needs valgrind (Debian: apt-get install valgrind), and a program that works: see what it said",
        )
    }

    fn command(&self, configuration: &str, words: &[&str]) -> Command {
        let mut command = Command::new(VALGRIND);
        command.args(self.arguments(&[&["--no-discover", "--config", configuration], words].concat()));
        command.env("HOME", self.place.path()).current_dir(self.place.path()).stdin(Stdio::null());
        command
    }

    /// How a configuration says that the program is a server. Lists of texts are written in TOML as they are in JSON.
    fn as_server(&self, words: &[&str]) -> String {
        let mut command = self.arguments(words);
        command.insert(0, VALGRIND.to_owned());
        format!("command = {}", json!(command))
    }

    /// What valgrind is told, to run the program with `words`.
    fn arguments(&self, words: &[&str]) -> Vec<String> {
        let profile = format!("--callgrind-out-file={}", self.place.path().join("%p.profile").display());
        let program = self.program.display().to_string();
        let own =
            ["--tool=callgrind", "--log-file=/dev/null", "--demangle=no", "--compress-strings=no", &profile, &program];
        own.iter().chain(words).map(|word| (*word).to_owned()).collect()
    }

    fn profiles(&self) -> Result<Vec<String>> {
        let files = fs_err::read_dir(self.place.path())?.collect::<Result<Vec<_>, _>>()?;
        let files = files
            .iter()
            .map(fs_err::DirEntry::path)
            .filter(|path| path.extension().is_some_and(|end| end == "profile"));
        files.map(|file| Ok(fs_err::read_to_string(file)?)).collect()
    }
}

/// The linker's file for what `profiles` saw: what most of them have first, and in the order of names among equals.
fn script(profiles: &[String]) -> String {
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    for profile in profiles {
        let functions: BTreeSet<String> =
            profile.lines().filter_map(|line| line.strip_prefix("fn=")).filter_map(pattern).collect();
        for function in functions {
            *runs.entry(function).or_default() += 1;
        }
    }
    let mut functions: Vec<(&String, &usize)> = runs.iter().collect();
    functions.sort_by_key(|(_, runs)| std::cmp::Reverse(**runs));
    let lines: String = functions.iter().map(|(function, _)| format!("    *(.text.{function})\n")).collect();
    format!("{BEGIN}{lines}{END}")
}

/// A function's symbol with stars for the compiler's hashes; nothing for what is not Rust.
fn pattern(function: &str) -> Option<String> {
    // Where a function calls itself, callgrind counts the depths behind a quote.
    let symbol = function.split('\'').next()?;
    if symbol.starts_with("_ZN") {
        let end = symbol.rfind("17h")? + "17h".len();
        return Some(format!("{}*", symbol.get(..end)?));
    }
    let symbol = symbol.strip_prefix("_R")?;
    // In the newer spelling a crate is `Cs`, its hash, `_`, and its name with its length in front. What follows a dot tells copies apart.
    let mut parts = symbol.split('.').next()?.split("Cs");
    let mut pattern = format!("_R{}", parts.next()?);
    for part in parts {
        match part.split_once('_') {
            Some((hash, name)) if hash.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                pattern.push_str("Cs*_");
                pattern.push_str(name);
            }
            _ => {
                pattern.push_str("Cs");
                pattern.push_str(part);
            }
        }
    }
    pattern.push('*');
    Some(pattern)
}

#[cfg(test)]
mod tests {
    use super::{pattern, script};

    #[test]
    fn functions_are_named_without_hashes() {
        let of = |symbol| pattern(symbol).unwrap_or_default();
        assert_eq!(of("_ZN5tokio4time5sleep17h0335a4630aaad299E"), "_ZN5tokio4time5sleep17h*");
        assert_eq!(of("_ZN5tokio4time5sleep17h0335a4630aaad299E'2"), "_ZN5tokio4time5sleep17h*");
        assert_eq!(
            of("_RNvMs16_NtCsjrHSEGnQ3l9_3std4pathNtB6_4Path5__join"),
            "_RNvMs16_NtCs*_3std4pathNtB6_4Path5__join*"
        );
        assert_eq!(of("_RNvNtCsgEmf_4core3fmtCslNYA_5alloc.6024"), "_RNvNtCs*_4core3fmtCs*_5alloc*");
        assert_eq!(of("_RNvNtCsgEmf_4core3fmt'2"), "_RNvNtCs*_4core3fmt*");
        assert_eq!(pattern("malloc"), None);
    }

    #[test]
    fn what_most_runs_have_comes_first() {
        let profiles = [
            "fn=_ZN1b17h00\nfn=_ZN1a17h00\nfn=_ZN1a17h11\n1 2\ncfn=_ZN1d17h00\n",
            "fn=_ZN1c17h00\nfn=_ZN1c17h22\nfn=_ZN1b17h00\nfn=malloc\n",
        ];
        insta::assert_snapshot!(script(&profiles.map(str::to_owned)), @"
        /* Written by `cargo xtask layout`: what runs of the program go through, the most common first. */
        SECTIONS {
          .text : {
            *(.text._ZN1b17h*)
            *(.text._ZN1a17h*)
            *(.text._ZN1c17h*)
            *(.text.unlikely.*)
          }
        }
        INSERT AFTER .init;
        ");
    }
}
