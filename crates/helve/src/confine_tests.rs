//! The machine is asked once what it can enforce, however many servers there are.

use fs_err as fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// S4: `helve doctor` in a project with 500 servers asked 500 times.
#[test]
fn the_machine_is_asked_once_for_all_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let (stage, asked) = (directory.path().join("stage"), directory.path().join("asked"));
    let machine = Machine { landlock_abi: 3, seccomp: true, mounts: false, network: false, counts_processes: false };
    let answer = serde_json::to_string(&machine).unwrap();
    fs::write(&stage, format!("#!/bin/sh\necho x >> '{}'\necho '{answer}'\n", asked.display())).unwrap();
    fs::set_permissions(&stage, std::fs::Permissions::from_mode(0o700)).unwrap();
    let stage = WardenProgram { path: stage, leading: Vec::new() };
    let first = Confining::new(stage, directory.path().join("servers"), None, Vec::new());
    let second = first.for_another_host();
    assert_eq!((first.machine().unwrap(), second.machine().unwrap()), (machine, machine));
    assert_eq!(fs::read_to_string(&asked).unwrap(), "x\n");
}

#[test]
fn hosts_asked_for_in_vain_belong_to_one_host() {
    let stage = WardenProgram { path: "/nowhere".into(), leading: Vec::new() };
    let first = Confining::new(stage, "/nowhere".into(), None, Vec::new());
    let second = first.for_another_host();
    assert!(!Arc::ptr_eq(&first.refused, &second.refused));
    assert!(Arc::ptr_eq(&first.refused, &first.clone().refused));
}
