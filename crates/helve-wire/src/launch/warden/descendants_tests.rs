//! Both ways to read the tree from `/proc` see the same tree.

#![expect(clippy::disallowed_methods, reason = "a process without a launcher is what is looked at")]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{breadth_first, by_lists, by_parents};

#[test]
fn children_and_grandchildren_are_found_in_either_way() {
    use std::os::unix::process::CommandExt as _;
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "sleep 1000 & first=$!; sh -c 'sleep 1000 & echo $!; wait' & echo $first; wait"])
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
    let mut printed: Vec<Pid> =
        (0..2).map(|_| Pid::from_raw(lines.next().unwrap().unwrap().parse().unwrap()).unwrap()).collect();
    let root = Pid::from_child(&shell);

    let mut by_lists = breadth_first(root, by_lists);
    let mut by_parents = breadth_first(root, by_parents());
    kill_process_group(root, Signal::KILL).unwrap();
    shell.wait().unwrap();

    let number = |process: &Pid| process.as_raw_nonzero();
    let grandparent = by_lists.iter().position(|process| !printed.contains(process)).unwrap();
    assert!(grandparent < 2, "parents come before their children: {by_lists:?}");
    assert_eq!(by_lists.len(), 3);
    by_lists.sort_by_key(number);
    by_parents.sort_by_key(number);
    assert_eq!(by_lists, by_parents);
    by_lists.retain(|process| printed.contains(process));
    printed.sort_by_key(number);
    assert_eq!(by_lists, printed);
}

#[test]
fn a_circle_ends() {
    let process = |number| Pid::from_raw(number).unwrap();
    let circle = breadth_first(process(1), |parent| vec![process(parent.as_raw_nonzero().get() % 3 + 1)]);
    assert_eq!(circle, [process(2), process(3)]);
}
