//! Plans as data, over file systems that exist only here.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use helve_model::sandbox::{Limits, Network, Profile};
use proptest::prelude::*;

use super::{Plan, PlanRefusal, Private, Subject, plan};
use crate::files::{FileKind, Files};
use crate::policy::{Demand, Policy};
use crate::protected_places::{PlaceOwner, Protected};
use crate::rules::{Access, Machine};

const WHOLE: Machine = Machine { landlock_abi: 7, seccomp: true, mounts: true, network: true, counts_processes: true };

/// A tree: directories, files with their first line, and links.
#[derive(Debug, Clone, Default)]
struct Tree(BTreeMap<PathBuf, Node>);

#[derive(Debug, Clone)]
enum Node {
    Directory,
    File(Option<&'static str>),
    Link(PathBuf),
}

impl Tree {
    fn new(paths: &[&str]) -> Self {
        let mut tree = Self::default();
        for path in
            ["/usr/bin/", "/bin -> /usr/bin", "/etc/hosts", "/proc/1/environ", "/proc/cpuinfo"].iter().chain(paths)
        {
            tree.add(path);
        }
        tree
    }

    /// `/directory/`, `/file`, `/script #!/usr/bin/env node`, `/link -> /target`.
    fn add(&mut self, written: &str) {
        let (path, node) = if let Some((path, target)) = written.split_once(" -> ") {
            (path, Node::Link(target.into()))
        } else if let Some((path, line)) = written.split_once(" #!") {
            (path, Node::File(Some(Box::leak(line.to_owned().into_boxed_str()))))
        } else if let Some(path) = written.strip_suffix('/') {
            (path, Node::Directory)
        } else {
            (written, Node::File(None))
        };
        for ancestor in Path::new(path).ancestors().skip(1) {
            self.0.entry(ancestor.to_owned()).or_insert(Node::Directory);
        }
        self.0.insert(path.into(), node);
    }
}

impl Files for Tree {
    fn resolve(&self, path: &Path) -> Option<(PathBuf, FileKind)> {
        let mut left: Vec<PathBuf> = path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect();
        let mut real = PathBuf::from("/");
        for _ in 0..400 {
            let Some(part) = left.pop() else {
                let kind = match self.0.get(&real) {
                    Some(Node::File(_)) => FileKind::File,
                    Some(Node::Directory) => FileKind::Directory,
                    _ => return (real == Path::new("/")).then_some((real, FileKind::Directory)),
                };
                return Some((real, kind));
            };
            match part.components().next()? {
                Component::RootDir => real = PathBuf::from("/"),
                Component::ParentDir => drop(real.pop()),
                Component::CurDir => {}
                Component::Prefix(_) => return None,
                Component::Normal(name) => {
                    let next = real.join(name);
                    match self.0.get(&next)? {
                        Node::Link(target) => {
                            left.extend(target.components().rev().map(|part| PathBuf::from(part.as_os_str())));
                        }
                        Node::Directory | Node::File(_) => real = next,
                    }
                }
            }
        }
        None
    }

    fn interpreter(&self, path: &Path) -> Option<Vec<String>> {
        match self.0.get(&self.resolve(path)?.0)? {
            Node::File(line) => Some((*line)?.split_whitespace().map(str::to_owned).collect()),
            Node::Directory | Node::Link(_) => None,
        }
    }
}

fn subject(program: &str, directory: &str, home: &str, search_path: &[&str]) -> Subject {
    Subject {
        program: program.into(),
        arguments: Vec::new(),
        working_directory: directory.into(),
        search_path: search_path.iter().map(PathBuf::from).collect(),
        home: Some(home.into()),
        private: Private { temporary: "/private/tmp".into(), cache: "/private/cache".into() },
        own: vec![Path::new(home).join(".config/helve"), Path::new(home).join(".local/state/helve")],
        hand_over_to: Some("name".into()),
    }
}

/// The grants that are not the system's, in words.
fn grants(plan: &Plan) -> String {
    let is_system = |path: &Path| ["/usr", "/etc", "/proc", "/dev"].iter().any(|system| path.starts_with(system));
    let grants = plan.rules.grants.iter().filter(|grant| !is_system(&grant.path));
    let lines = grants.map(|grant| format!("{} ({})", grant.path.display(), grant.access.as_str()));
    let left_out =
        plan.report.left_out.iter().map(|left| format!("not {}: {}", left.path.display(), left.protected.display()));
    lines.chain(left_out).collect::<Vec<_>>().join("\n")
}

const HOME: &[&str] = &["/home/ann/.ssh/id", "/home/ann/project/", "/private/tmp/", "/private/cache/"];

fn tree(more: &[&str]) -> Tree {
    Tree::new(&[HOME, more].concat())
}

#[test]
fn standard_opens_the_project_and_what_is_private() {
    let tree = tree(&["/usr/bin/server"]);
    let subject = subject("/usr/bin/server", "/home/ann/project", "/home/ann", &["/usr/bin"]);
    let made = plan(&Policy::new(Profile::Standard), &subject, &WHOLE, &tree).unwrap();
    insta::assert_snapshot!(grants(&made), @r"
    /home/ann/project (read, run)
    /private/tmp (read, write, run)
    /private/cache (read, write, run)
    ");
    insta::assert_snapshot!(made.report, @"standard: files full, metadata full, network all (this machine's ports too), unix sockets closed, kernel ABI 7");
    assert!(made.report.is_whole());
    // Not `/proc`, and not another process's part of it.
    assert_eq!(made.rules.access(Path::new("/proc/1/environ")), None);
    assert_eq!(made.rules.access(Path::new("/proc/cpuinfo")), Some(Access::Read));
}

#[test]
fn offline_and_strict_open_less() {
    let tree = tree(&["/usr/bin/server"]);
    let subject = subject("/usr/bin/server", "/home/ann/project", "/home/ann", &["/usr/bin"]);
    let offline = plan(&Policy::new(Profile::Offline), &subject, &WHOLE, &tree).unwrap();
    insta::assert_snapshot!(grants(&offline), @r"
    /home/ann/project (read, run)
    /private/tmp (read, write, run)
    /private/cache (read, run)
    ");
    let strict = plan(&Policy::new(Profile::Strict), &subject, &WHOLE, &tree).unwrap();
    insta::assert_snapshot!(grants(&strict), @"/private/tmp (read, write, run)");
    assert!(strict.environment.contains(&("HOME", "/private/tmp/home".into())));
}

/// A plan is also made for people to look at, before anything of the server exists.
#[test]
fn private_directories_that_are_still_to_be_made_are_in_the_plan() {
    let mut tree = tree(&["/usr/bin/server"]);
    tree.0.retain(|path, _| !path.starts_with("/private"));
    let mut subject = subject("/usr/bin/server", "/home/ann/project", "/home/ann", &["/usr/bin"]);
    let made = plan(&Policy::new(Profile::Standard), &subject, &WHOLE, &tree).unwrap();
    insta::assert_snapshot!(grants(&made), @r"
    /home/ann/project (read, run)
    /private/tmp (read, write, run)
    /private/cache (read, write, run)
    ");
    // Not where that would be among what is protected.
    subject.private.cache = "/home/ann/.ssh/cache".into();
    let made = plan(&Policy::new(Profile::Standard), &subject, &WHOLE, &tree).unwrap();
    assert_eq!(made.rules.access(Path::new("/home/ann/.ssh/cache")), None);
}

#[test]
fn a_home_as_working_directory_stays_closed_and_that_is_said() {
    let tree = tree(&["/usr/bin/server"]);
    let subject = subject("/usr/bin/server", "/home/ann", "/home/ann", &["/usr/bin"]);
    let made = plan(&Policy::new(Profile::Standard), &subject, &WHOLE, &tree).unwrap();
    insta::assert_snapshot!(grants(&made), @r"
    /private/tmp (read, write, run)
    /private/cache (read, write, run)
    not /home/ann: /home/ann/.config/helve
    ");
}

#[test]
fn a_program_in_a_home_opens_itself_and_its_libraries() {
    let tree = tree(&[
        "/home/ann/.local/bin/server -> /home/ann/.local/share/uv/tools/server/bin/server",
        "/home/ann/.local/share/uv/tools/server/bin/server #!/home/ann/.local/share/uv/tools/server/bin/python",
        "/home/ann/.local/share/uv/tools/server/bin/python -> /home/ann/.local/share/uv/python/cpython/bin/python3",
        "/home/ann/.local/share/uv/python/cpython/bin/python3",
        "/home/ann/.local/lib/x",
    ]);
    let subject = subject("/home/ann/.local/bin/server", "/home/ann/project", "/home/ann", &["/usr/bin"]);
    let made = plan(&Policy::new(Profile::Strict), &subject, &WHOLE, &tree).unwrap();
    insta::assert_snapshot!(grants(&made), @r"
    /home/ann/.local/share/uv/tools/server/bin/server (read, run)
    /home/ann/.local/lib (read, run)
    /home/ann/.local/share/uv/tools/server (read, run)
    /home/ann/.local/share/uv/python/cpython (read, run)
    /private/tmp (read, write, run)
    not /home/ann/.local: /home/ann/.local/state/helve
    ");
}

#[test]
fn a_shim_opens_the_runtimes_behind_it() {
    let tree = tree(&[
        "/home/ann/.pyenv/shims/python3 #!/usr/bin/env bash",
        "/home/ann/.pyenv/versions/3.12/bin/python3",
        "/usr/bin/bash",
    ]);
    let subject = subject(
        "/home/ann/.pyenv/shims/python3",
        "/home/ann/project",
        "/home/ann",
        &["/home/ann/.pyenv/shims", "/usr/bin"],
    );
    let made = plan(&Policy::new(Profile::Strict), &subject, &WHOLE, &tree).unwrap();
    insta::assert_snapshot!(grants(&made), @r"
    /home/ann/.pyenv (read, run)
    /private/tmp (read, write, run)
    ");
}

#[test]
fn a_script_opens_its_package() {
    let tree = tree(&["/usr/bin/node", "/srv/tool/package.json", "/srv/tool/dist/index.js", "/srv/other/x"]);
    let mut subject = subject("/usr/bin/node", "/home/ann/project", "/home/ann", &["/usr/bin"]);
    subject.arguments = vec!["--enable-source-maps".into(), "/srv/tool/dist/index.js".into()];
    let made = plan(&Policy::new(Profile::Strict), &subject, &WHOLE, &tree).unwrap();
    assert_eq!(made.rules.access(Path::new("/srv/tool/dist/index.js")), Some(Access::Run));
    assert_eq!(made.rules.access(Path::new("/srv/other/x")), None);
    subject.arguments = vec!["-e".into(), "/srv/tool/dist/index.js".into()];
    let made = plan(&Policy::new(Profile::Strict), &subject, &WHOLE, &tree).unwrap();
    assert_eq!(made.rules.access(Path::new("/srv/tool/dist/index.js")), None);
}

#[test]
fn what_an_entry_names_is_opened_or_refused() {
    let tree = tree(&[
        "/usr/bin/server",
        "/home/ann/notes/x",
        "/home/ann/.config/helve/x",
        "/home/ann/.aws/credentials",
        "/home/ann/link -> /home/ann/.ssh",
        "/proc/4711/environ",
        "/dev/sda",
    ]);
    let subject = subject("/usr/bin/server", "/home/ann/project", "/home/ann", &["/usr/bin"]);
    let try_reading = |path: &str, may_name_protected| {
        let mut policy = Policy::new(Profile::Strict);
        (policy.read, policy.may_name_protected) = (vec![path.into()], may_name_protected);
        match plan(&policy, &subject, &WHOLE, &tree) {
            Ok(made) => format!("opened{}", if made.report.protected_opened.is_empty() { "" } else { ", protected" }),
            Err(refusal) => refusal.to_string(),
        }
    };
    insta::assert_snapshot!(try_reading("/home/ann/notes", false), @"opened");
    insta::assert_snapshot!(try_reading("/home/ann/missing", false), @"its sandbox names `/home/ann/missing`, which does not exist");
    insta::assert_snapshot!(try_reading("/home/ann/.aws", false), @"its sandbox must not open `/home/ann/.aws`: that would open `/home/ann/.aws`");
    insta::assert_snapshot!(try_reading("/home/ann/.aws", true), @"opened, protected");
    insta::assert_snapshot!(try_reading("/home/ann/.aws/credentials", true), @"opened, protected");
    insta::assert_snapshot!(try_reading("/home/ann/link", false), @"its sandbox must not open `/home/ann/.ssh`: that would open `/home/ann/.ssh`");
    // A home holds more than the one place somebody may have meant.
    assert!(try_reading("/home/ann", true).starts_with("its sandbox must not open"));
    assert!(try_reading("/", true).starts_with("its sandbox must not open"));
    // Other processes nobody may name, the host's own least of all; devices only a person's own file.
    assert!(try_reading("/proc", true).starts_with("its sandbox must not open"));
    assert!(try_reading("/proc/4711", true).starts_with("its sandbox must not open"));
    assert!(try_reading("/dev/sda", false).starts_with("its sandbox must not open"));
    assert_eq!(try_reading("/dev/sda", true), "opened, protected");
    // helve's own state nobody may name.
    assert!(try_reading("/home/ann/.config/helve", true).starts_with("its sandbox must not open"));
    assert!(try_reading("/home/ann/.config", true).starts_with("its sandbox must not open"));
}

/// A program that lies among everybody's temporary files, or runs there, gets no more of them than itself.
#[test]
fn the_temporary_files_of_everybody_stay_closed() {
    let tree = tree(&["/var/tmp/server", "/var/tmp/other/key"]);
    let subject = subject("/var/tmp/server", "/var/tmp", "/home/ann", &["/usr/bin"]);
    let made = plan(&Policy::new(Profile::Standard), &subject, &WHOLE, &tree).unwrap();
    assert_eq!(made.rules.access(Path::new("/var/tmp/server")), Some(Access::Run));
    assert_eq!(made.rules.access(Path::new("/var/tmp/other/key")), None);
    assert!(made.report.left_out.iter().any(|left_out| left_out.path == Path::new("/var/tmp")));
}

/// What a program may write can hold links of its making: they must not widen its next sandbox.
#[test]
fn a_link_in_what_it_may_write_is_not_followed_out() {
    let tree = tree(&["/usr/bin/server", "/srv/data/", "/srv/data/sub -> /srv/secret", "/srv/secret/x"]);
    let subject = subject("/usr/bin/server", "/home/ann/project", "/home/ann", &["/usr/bin"]);
    let mut policy = Policy::new(Profile::Strict);
    policy.write = vec!["/srv/data".into()];
    policy.read = vec!["/srv/data/sub".into()];
    let refused = plan(&policy, &subject, &WHOLE, &tree).unwrap_err();
    assert_eq!(refused, PlanRefusal::LeadsOut { path: "/srv/data/sub".into(), to: "/srv/secret".into() });
}

#[test]
fn less_than_asked_for_is_refused_unless_that_was_waived() {
    let tree = tree(&["/usr/bin/server"]);
    let subject = subject("/usr/bin/server", "/home/ann/project", "/home/ann", &["/usr/bin"]);
    let outcome = |policy: &Policy, machine: Machine| match plan(policy, &subject, &machine, &tree) {
        Ok(made) => made.report.to_string(),
        Err(refusal) => format!("{}{refusal}", if refusal.can_be_waived() { "(can be waived) " } else { "" }),
    };
    let standard = |demand| Policy { demand, ..Policy::new(Profile::Standard) };
    let hosts =
        |demand| Policy { network: Some(Network::Hosts(vec!["a.example".parse().unwrap()])), ..standard(demand) };
    let contained = Machine { mounts: false, network: false, ..WHOLE };
    insta::assert_snapshot!(outcome(&standard(Demand::Written), contained), @"standard: files full, metadata open, network all (this machine's ports too), unix sockets closed, kernel ABI 7");
    insta::assert_snapshot!(outcome(&standard(Demand::All), contained), @"(can be waived) this system cannot enforce all of its sandbox: modes and times of your files can be changed: this system gives no user namespaces");
    insta::assert_snapshot!(outcome(&hosts(Demand::Written), WHOLE), @"standard: files full, metadata full, network hosts (a.example), unix sockets closed, kernel ABI 7");
    insta::assert_snapshot!(outcome(&hosts(Demand::Written), contained), @"(can be waived) this system cannot enforce all of its sandbox: it has no network namespaces, which hold a program to named hosts");
    insta::assert_snapshot!(outcome(&hosts(Demand::Weaker), contained), @"standard: files full, metadata open, network open (not held to a.example), unix sockets closed, kernel ABI 7");
    assert!(outcome(&Policy::new(Profile::Strict), contained).starts_with("(can be waived)"));
    let old = Machine { landlock_abi: 2, ..contained };
    insta::assert_snapshot!(outcome(&standard(Demand::Weaker), old), @"standard: files full but for truncation, metadata open, network all (this machine's ports too), unix sockets closed, signals open, kernel ABI 2");
    assert!(outcome(&standard(Demand::Written), old).starts_with("(can be waived)"));
    // Nothing lets a program run where nothing can be enforced.
    for machine in [Machine { landlock_abi: 0, ..WHOLE }, Machine { seccomp: false, ..WHOLE }] {
        assert!(outcome(&standard(Demand::Weaker), machine).starts_with("this system cannot confine a program"));
    }
    let limited = Policy { limits: Limits { processes: Some(9), ..Limits::default() }, ..standard(Demand::Written) };
    assert!(outcome(&limited, Machine { counts_processes: false, ..WHOLE }).contains("processes are counted"));
}

#[test]
fn rules_travel_whole() {
    use std::os::unix::ffi::OsStringExt as _;
    let tree = tree(&["/usr/bin/server"]);
    let subject = subject("/usr/bin/server", "/home/ann/project", "/home/ann", &["/usr/bin"]);
    let mut made = plan(&Policy::new(Profile::Standard), &subject, &WHOLE, &tree).unwrap();
    let path = PathBuf::from(std::ffi::OsString::from_vec(b"/srv/\xff".to_vec()));
    made.rules.grants.push(crate::rules::Grant { path, access: Access::Write });
    let bytes = made.rules.to_bytes().unwrap();
    assert_eq!(crate::rules::Rules::from_bytes(&bytes).unwrap(), made.rules);
    let other = String::from_utf8(bytes).unwrap().replace("\"version\":", "\"version\":9");
    assert!(crate::rules::Rules::from_bytes(other.as_bytes()).is_err());
    assert!(crate::rules::Rules::from_bytes(b"{}").is_err());
}

/// How a server's entry may spell a path: from the root, from its directory, with `..` and doubled slashes.
fn spelling() -> impl Strategy<Value = String> {
    (prop_oneof!["/", "//", "../", "./", "../../", "/home/../", "/usr/bin/../../"], place())
        .prop_map(|(before, path)| format!("{before}{}", path.trim_start_matches('/')))
}

/// Places of a generated machine: few enough that links and homes meet.
fn place() -> impl Strategy<Value = String> {
    let part =
        prop_oneof!["home", "ann", "usr", "opt", "bin", "x", ".local", ".config", ".ssh", "data", "lib", "project"];
    prop::collection::vec(part, 1..4).prop_map(|parts| format!("/{}", parts.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// No plan grants a path from which a protected place can be reached, whatever the home, the program, the working
    /// directory, the path and the links are.
    #[test]
    fn no_plan_reaches_a_protected_place(
        home in place(),
        program in place(),
        directory in place(),
        search_path in prop::collection::vec(place(), 0..3),
        directories in prop::collection::vec(place(), 0..6),
        links in prop::collection::vec((place(), place()), 0..5),
        secrets in prop::collection::vec(prop_oneof![".ssh", ".aws", ".config/gh", ".npmrc", ".local/share/keyrings", ".config/helve"], 0..4),
        secret_links in prop::collection::vec((prop_oneof![".ssh", ".gnupg", ".aws", ".config/helve"], place()), 0..3),
        named in prop::collection::vec((spelling(), 0..3_usize), 0..4),
        private in prop::option::of(place()),
        may_name in any::<bool>(),
        profile in prop_oneof![Just(Profile::Standard), Just(Profile::Offline), Just(Profile::Strict)],
        script in spelling(),
    ) {
        let mut tree = tree(&[]);
        tree.add(&format!("{home}/"));
        tree.add(&format!("{directory}/"));
        for path in &directories {
            tree.add(&format!("{path}/"));
        }
        tree.add(&format!("{program} #!/usr/bin/env node"));
        for path in &search_path {
            tree.add(&format!("{path}/node"));
        }
        for secret in &secrets {
            tree.add(&format!("{home}/{secret}/x"));
        }
        for (from, to) in &links {
            tree.add(&format!("{from} -> {to}"));
        }
        for (secret, to) in &secret_links {
            tree.add(&format!("{to}/"));
            tree.add(&format!("{home}/{secret} -> {to}"));
        }
        let paths: Vec<&str> = search_path.iter().map(String::as_str).collect();
        let mut subject = subject(&program, &directory, &home, &paths);
        subject.arguments = vec![script.into()];
        let mut policy = Policy::new(profile);
        for (path, how) in named {
            [&mut policy.read, &mut policy.write, &mut policy.exec][how].push(path.into());
        }
        if let Some(private) = private {
            // Even where a cache is put into the home itself, or a link leads there.
            tree.add(&format!("{private}/"));
            subject.private = Private { temporary: Path::new(&private).join("runs"), cache: private.into() };
        }
        policy.may_name_protected = may_name;
        policy.demand = Demand::Weaker;
        let protected = Protected::new(subject.home.as_deref(), &subject.own, &tree);
        if let Ok(made) = plan(&policy, &subject, &WHOLE, &tree) {
            for grant in &made.rules.grants {
                // A grant is a place, not a name of one; or is still to be made.
                let real = tree.resolve(&grant.path).map(|(real, _)| real);
                let is_real = real.as_ref().is_none_or(|real| *real == grant.path);
                prop_assert!(is_real, "{} is {real:?}", grant.path.display());
                for place in protected.places() {
                    let reaches = place.path.starts_with(&grant.path) || grant.path.starts_with(&place.path);
                    let is_named = may_name && place.owner == PlaceOwner::Person && made.report.protected_opened.contains(&grant.path)
                        && grant.path.starts_with(&place.path);
                    prop_assert!(!reaches || is_named, "{} reaches {}", grant.path.display(), place.path.display());
                }
                // Nor what a protected name leads to, asked independently of how the list is made.
                for secret in [".ssh", ".aws", ".gnupg", ".npmrc", ".config/gh", ".config/helve", ".local/state/helve"] {
                    if let Some((real, _)) = tree.resolve(&Path::new(&home).join(secret)) {
                        let reaches = real.starts_with(&grant.path) || grant.path.starts_with(&real);
                        prop_assert!(!reaches || made.report.protected_opened.contains(&grant.path), "{} reaches {}", grant.path.display(), real.display());
                    }
                }
            }
        }
    }
}
