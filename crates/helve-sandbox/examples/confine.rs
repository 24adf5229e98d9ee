//! Runs a program in a sandbox: `confine standard|offline|strict PROGRAM ARGUMENTS…`. What holds is said on stderr first.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use helve_sandbox::{Demand, Disk, Machine, Policy, Private, Profile, Subject, confine, plan, probe};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to its person")]
fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    // What a machine can do is found out in a process that is good for nothing afterwards.
    if first.as_deref() == Some("probe".as_ref()) {
        println!("{}", serde_json::to_string(&probe()).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    let profile = first.as_deref().and_then(|word| word.to_str()?.parse::<Profile>().ok());
    let (Some(profile), Some(program)) = (profile, words.next()) else {
        eprintln!("confine standard|offline|strict PROGRAM ARGUMENTS…");
        return ExitCode::FAILURE;
    };
    match run(profile, &program, words.collect()) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("confine: {error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program: it reads its surroundings and starts another"
)]
fn run(
    profile: Profile,
    program: &OsString,
    arguments: Vec<OsString>,
) -> Result<std::convert::Infallible, Box<dyn std::error::Error>> {
    let machine: Machine =
        serde_json::from_slice(&Command::new(std::env::current_exe()?).arg("probe").output()?.stdout)?;
    let home = std::env::home_dir();
    let private = home.clone().unwrap_or_else(std::env::temp_dir).join(".cache/helve/sandbox/example");
    let private = Private { temporary: private.join("tmp"), cache: private.join("cache") };
    for directory in [&private.temporary, &private.cache, &private.temporary.join("home")] {
        fs_err::create_dir_all(directory)?;
    }
    let search_path: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let found = search_path.iter().map(|directory| directory.join(program)).find(|path| path.is_file());
    let subject = Subject {
        program: if Path::new(program).components().count() > 1 {
            program.into()
        } else {
            found.unwrap_or_else(|| program.into())
        },
        arguments: arguments.clone(),
        working_directory: std::env::current_dir()?,
        search_path,
        own: home.iter().flat_map(|home| [home.join(".config/helve"), home.join(".local/state/helve")]).collect(),
        home,
        private,
        hand_over_to: None,
    };
    let policy = Policy { demand: Demand::Weaker, ..Policy::new(profile) };
    let plan = plan(&policy, &subject, &machine, &Disk)?;
    eprintln!("{}", plan.report);
    let mut command = Command::new(&subject.program);
    command.args(arguments).envs(plan.environment.iter().map(|(name, value)| (name, value)));
    confine(&plan.rules, &[])?;
    Err(command.exec().into())
}
