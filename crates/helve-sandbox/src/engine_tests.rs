//! Rules of an engine as data; real ones run in the tests of the launchers and in `cargo xtask escapes`.

use std::path::PathBuf;

use super::{Engine, engine};
use crate::files::Disk;
use crate::plan::PlanRefusal;
use crate::rules::{Access, Calls, Machine, NetworkRule, Rules};

const MACHINE: Machine =
    Machine { landlock_abi: 7, seccomp: true, mounts: true, network: true, counts_processes: true };

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let home = fs_err::canonicalize(directory.path()).unwrap();
    for path in ["py/lib/json", "py/bin", ".ssh"] {
        fs_err::create_dir_all(home.join(path)).unwrap();
    }
    fs_err::write(home.join("py/bin/python3"), "").unwrap();
    fs_err::write(home.join("py/lib/os.py"), "").unwrap();
    (directory, home)
}

#[test]
fn what_is_its_own_is_opened_and_nothing_else() {
    let (_directory, home) = place();
    let asked = Engine {
        programs: vec![home.join("py/bin/python3")],
        libraries: vec![home.join("py/lib/os.py"), home.join("py/lib/json")],
        listed: vec![home.join("py/lib")],
        limits: Engine::LIMITS,
        home: Some(home.clone()),
        own: Vec::new(),
    };
    let rules = engine(&asked, &MACHINE, &Disk).unwrap();
    assert_eq!((rules.calls, &rules.network, rules.mounts), (Calls::Engine, &NetworkRule::Closed, false));
    assert_eq!(rules.grants.len(), 4);
    assert_eq!(rules.access(&home.join("py/lib/json/x.py")), Some(Access::Read));
    assert_eq!(rules.access(&home.join("py/lib/site-packages")), Some(Access::List));
    assert_eq!(rules.access(&home.join("py/bin/pip")), None);
    assert_eq!(Rules::from_bytes(&rules.to_bytes().unwrap()).unwrap(), rules);
}

#[test]
fn it_is_refused_what_no_engine_needs() {
    let (_directory, home) = place();
    let refused = |change: &dyn Fn(&mut Engine), machine: Machine| {
        let mut asked = Engine { home: Some(home.clone()), limits: Engine::LIMITS, ..Engine::default() };
        change(&mut asked);
        engine(&asked, &machine, &Disk).unwrap_err()
    };
    let reaches = |refusal: PlanRefusal| assert!(matches!(refusal, PlanRefusal::Reaches { .. }), "{refusal}");
    reaches(refused(&|asked| asked.libraries.push(home.clone()), MACHINE));
    reaches(refused(&|asked| asked.listed.push(home.join(".ssh")), MACHINE));
    reaches(refused(&|asked| asked.listed.push("/".into()), MACHINE));
    reaches(refused(&|asked| asked.programs.push(home.join("py/bin")), MACHINE));
    let missing = refused(&|asked| asked.libraries.push(home.join("none")), MACHINE);
    assert_eq!(missing, PlanRefusal::DoesNotExist(home.join("none")));
    assert_eq!(refused(&|_| {}, Machine { landlock_abi: 0, ..MACHINE }), PlanRefusal::NoLandlock);
    assert_eq!(refused(&|_| {}, Machine { seccomp: false, ..MACHINE }), PlanRefusal::NoSeccomp);
}
