//! From a policy, a program and a machine to rules: which paths are opened, what stays closed, and what is refused. Pure: all
//! it knows about files it asks [`Files`].
//!
//! The one promise that everything here serves: no grant contains a protected place or lies in one, unless a person named
//! that very place. See [`crate::protected`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use helve_model::sandbox::{Network, Profile};

use crate::files::{Files, Remembered};
use crate::policy::{Demand, Policy};
use crate::protected_places::{PlaceOwner, Protected, is_below, plain};
use crate::report::{Files as FilesHeld, LeftOut, Metadata, NetworkHeld, Report};
use crate::rules::{Access, Grant, Machine, NetworkRule, Rules};
use crate::runtime::{self, Runtime};
use crate::shared;
use crate::system::{DEVICES, SYSTEM, SYSTEM_FILES};
use crate::variables;

/// The first version of Landlock that stops truncation, and the first that stops signals.
const ABI_OF_TRUNCATION: u8 = 3;
const ABI_OF_SIGNALS: u8 = 6;

/// What of a prefix that cannot be opened whole belongs to its programs.
const LIBRARIES: [&str; 3] = ["lib", "lib64", "libexec"];

/// The program, and where it is started.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The program's file, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs, absolute.
    pub working_directory: PathBuf,
    /// Where it looks for programs.
    pub search_path: Vec<PathBuf>,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// What belongs to this program alone.
    pub private: Private,
    /// Directories that nobody may open: helve's own configuration and state.
    pub own: Vec<PathBuf>,
    /// The socket that is told of the listener for named hosts.
    pub hand_over_to: Option<String>,
}

/// Directories that exist for one program alone, and that no other program runs anything from.
#[derive(Debug, Clone)]
pub struct Private {
    /// For one run.
    pub temporary: PathBuf,
    /// For packages, kept between runs.
    pub cache: PathBuf,
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What is put in force.
    pub rules: Rules,
    /// Variables that tell the program where it may write and how the network is reached.
    pub environment: Vec<(&'static str, OsString)>,
    /// What holds.
    pub report: Report,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefusal {
    /// Nothing can be enforced.
    #[error(
        "this system cannot confine a program: its kernel has no Landlock (Linux 5.13 and newer have it, unless it is switched off)"
    )]
    NoLandlock,
    /// System calls cannot be filtered.
    #[error("this system cannot confine a program: its kernel has no filters for system calls (seccomp)")]
    NoSeccomp,
    /// Some of what was asked for cannot be enforced here.
    #[error("this system cannot enforce all of its sandbox: {}", .0.join("; "))]
    Missing(Vec<&'static str>),
    /// A path that would open a protected place.
    #[error("its sandbox must not open `{}`: that would open `{}`", .path.display(), .protected.display())]
    Reaches {
        /// What was asked for.
        path: PathBuf,
        /// What it would open.
        protected: PathBuf,
        /// Whose that is.
        owner: PlaceOwner,
    },
    /// A path that is not there.
    #[error("its sandbox names `{}`, which does not exist", .0.display())]
    DoesNotExist(PathBuf),
    /// A link in a directory that the program may write leads out of it: the program may have made it.
    #[error("its sandbox names `{}`, a link that leads to `{}`, out of a directory that the program may write", .path.display(), .to.display())]
    LeadsOut {
        /// What was asked for.
        path: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
}

impl PlanRefusal {
    /// True when less may be asked for instead (`required = false`).
    #[must_use]
    pub const fn can_be_waived(&self) -> bool {
        matches!(self, Self::Missing(_))
    }
}

/// Makes the plan.
///
/// # Errors
/// Something that was asked for would open a protected place, is not there, or cannot be enforced on this machine.
pub fn plan(policy: &Policy, subject: &Subject, machine: &Machine, files: &dyn Files) -> Result<Plan, PlanRefusal> {
    if let Some(refusal) = machine.why_not() {
        return Err(refusal);
    }
    let files = &Remembered::new(files);
    let mut planner = Planner {
        policy,
        subject,
        files,
        protected: Protected::new(subject.home.as_deref(), &subject.own, files),
        grants: Vec::new(),
        left_out: Vec::new(),
        protected_opened: Vec::new(),
    };
    planner.system();
    planner.program();
    planner.private();
    planner.named()?;
    planner.check_links()?;
    let (network, held, hosts_missing) = network(policy, subject, machine);
    let mut rules = Rules::new(machine.landlock_abi);
    rules.mounts = machine.mounts;
    rules.network = network;
    rules.unix = policy.unix;
    rules.limits = policy.limits;
    rules.scratch = machine.mounts.then(|| subject.private.temporary.clone());
    let mut missing = Vec::new();
    if hosts_missing {
        missing.push("it has no network namespaces, which hold a program to named hosts");
    }
    if policy.limits.processes.is_some() && !(machine.mounts && machine.counts_processes) {
        missing.push("processes are counted only for users other than root, in a user namespace");
        rules.limits.processes = None;
    }
    let environment = variables::tell(policy, &subject.private, &rules);
    let Planner { grants, left_out, protected_opened, .. } = planner;
    rules.grants = grants.into_iter().map(|wanted| wanted.grant).collect();
    let report = Report {
        profile: policy.profile,
        files: if machine.mounts || machine.landlock_abi >= ABI_OF_TRUNCATION {
            FilesHeld::Full
        } else {
            FilesHeld::TruncationOpen
        },
        metadata: if machine.mounts { Metadata::Full } else { Metadata::Open },
        network: held,
        unix_closed: !policy.unix,
        signals_closed: machine.landlock_abi >= ABI_OF_SIGNALS,
        landlock_abi: machine.landlock_abi,
        left_out,
        protected_opened,
    };
    missing.extend(match policy.demand {
        Demand::All => report.weaknesses(),
        Demand::Written if policy.profile == Profile::Strict => report.weaknesses(),
        Demand::Written if report.files != FilesHeld::Full => report.weaknesses(),
        Demand::Written | Demand::Weaker => Vec::new(),
    });
    if policy.demand != Demand::Weaker && !missing.is_empty() {
        return Err(PlanRefusal::Missing(missing));
    }
    Ok(Plan { rules, environment, report })
}

struct Planner<'a> {
    policy: &'a Policy,
    subject: &'a Subject,
    files: &'a dyn Files,
    protected: Protected,
    grants: Vec<Wanted>,
    left_out: Vec<LeftOut>,
    protected_opened: Vec<PathBuf>,
}

/// A grant, and the path as it was written.
struct Wanted {
    spelled: PathBuf,
    grant: Grant,
}

impl Planner<'_> {
    fn system(&mut self) {
        for (paths, access) in [(SYSTEM, Access::Run), (SYSTEM_FILES, Access::Read), (DEVICES, Access::Write)] {
            for path in paths {
                self.open_if_safe(Path::new(path), access);
            }
        }
    }

    /// The program's own files; but for `strict` the working directory too.
    fn program(&mut self) {
        let Subject { program, arguments, working_directory, search_path, .. } = self.subject;
        let called = working_directory.join(program);
        for runtime in runtime::of_program(&called, search_path, self.files) {
            self.open_runtime(&runtime);
        }
        if let Some(package) = runtime::package_of_script(program, arguments, working_directory, self.files) {
            self.open_runtime(&package);
        }
        if self.policy.profile != Profile::Strict {
            self.open_if_safe(working_directory, Access::Run);
        }
    }

    fn private(&mut self) {
        let Private { temporary, cache } = &self.subject.private;
        self.open_made(temporary, Access::WriteRun);
        match self.policy.profile {
            Profile::Standard => self.open_made(cache, Access::WriteRun),
            Profile::Offline => self.open_made(cache, Access::Run),
            Profile::Strict => {}
        }
    }

    /// Opens what is made before the program starts, where it is not there yet: a plan says so before anything is started.
    fn open_made(&mut self, path: &Path, access: Access) {
        if self.files.resolve(path).is_some() {
            return self.open_if_safe(path, access);
        }
        let nearest = path.ancestors().skip(1).find_map(|parent| {
            let (real, _) = self.files.resolve(parent)?;
            Some(real.join(path.strip_prefix(parent).ok()?))
        });
        let Some(real) = nearest else { return };
        match self.closed(&real) {
            Some(protected) => self.leave_out(real, protected),
            None => self.push(path.to_owned(), real, access),
        }
    }

    /// What the entry names.
    fn named(&mut self) -> Result<(), PlanRefusal> {
        let Policy { read, write, exec, .. } = self.policy;
        for (paths, access) in [(read, Access::Read), (write, Access::Write), (exec, Access::WriteRun)] {
            for path in paths {
                let spelled = self.subject.working_directory.join(path);
                let Some((real, _)) = self.files.resolve(&spelled) else {
                    if self.policy.demand == Demand::Weaker {
                        continue;
                    }
                    return Err(PlanRefusal::DoesNotExist(spelled));
                };
                if let Some((shared, owner)) = shared::refused(&real, access) {
                    if !(owner == PlaceOwner::Person && self.policy.may_name_protected) {
                        return Err(PlanRefusal::Reaches { path: real, protected: shared.to_owned(), owner });
                    }
                    self.protected_opened.push(real.clone());
                }
                if let Some(place) = self.protected.reached_from(&real) {
                    if !(self.policy.may_name_protected && self.protected.is_nameable(&real)) {
                        let protected = place.path.clone();
                        return Err(PlanRefusal::Reaches { path: real, protected, owner: place.owner });
                    }
                    self.protected_opened.push(real.clone());
                }
                self.push(spelled, real, access);
            }
        }
        Ok(())
    }

    /// The prefix of a program; where that would open too much, the program's file and its libraries.
    fn open_runtime(&mut self, runtime: &Runtime) {
        if self.covers(&runtime.prefix, Access::Run) {
            return;
        }
        match self.closed(&runtime.prefix) {
            None => self.open_if_safe(&runtime.prefix, Access::Run),
            Some(protected) => {
                self.leave_out(runtime.prefix.clone(), protected);
                self.open_if_safe(&runtime.file, Access::Run);
                for directory in LIBRARIES {
                    self.open_if_safe(&runtime.prefix.join(directory), Access::Run);
                }
            }
        }
    }

    /// Opens what exists, unless that opens a protected place.
    fn open_if_safe(&mut self, path: &Path, access: Access) {
        let Some((real, _)) = self.files.resolve(path) else { return };
        match self.closed(&real) {
            Some(protected) => self.leave_out(real, protected),
            None => self.push(path.to_owned(), real, access),
        }
    }

    /// What stays closed, so that a path which nobody named does too.
    fn closed(&self, path: &Path) -> Option<PathBuf> {
        let protected = self.protected.reached_from(path).map(|place| place.path.clone());
        protected.or_else(|| shared::opened_by(path).map(Path::to_owned))
    }

    fn leave_out(&mut self, path: PathBuf, protected: PathBuf) {
        if !self.left_out.iter().any(|left_out| left_out.path == path) {
            self.left_out.push(LeftOut { path, protected });
        }
    }

    fn push(&mut self, spelled: PathBuf, real: PathBuf, access: Access) {
        // The root contains every protected place there may ever be, and whoever opens it wants no sandbox.
        if real.parent().is_none() {
            return self.leave_out(real.clone(), real);
        }
        if !self.covers(&real, access) {
            self.grants.push(Wanted { spelled, grant: Grant { path: real, access } });
        }
    }

    /// True when a grant holds this already. Both are spelled without links, and so plainly.
    fn covers(&self, path: &Path, access: Access) -> bool {
        let includes = |own: Access| match access {
            Access::List => true,
            Access::Read => own != Access::List,
            Access::Run => matches!(own, Access::Run | Access::WriteRun),
            Access::Write => matches!(own, Access::Write | Access::WriteRun),
            Access::WriteRun => own == Access::WriteRun,
        };
        self.grants.iter().any(|Wanted { grant, .. }| is_below(path, &grant.path) && includes(grant.access))
    }

    /// A program must not widen its next sandbox by a link in what it may write.
    fn check_links(&self) -> Result<(), PlanRefusal> {
        let writable: Vec<&Path> =
            self.grants.iter().filter(|w| w.grant.access.is_writable()).map(|w| w.grant.path.as_path()).collect();
        for Wanted { spelled, grant } in &self.grants {
            let spelled_plainly = plain(spelled);
            let real_parent = spelled.parent().and_then(|parent| self.files.resolve(parent));
            let passes = |directory: &&&Path| {
                is_below(&spelled_plainly, directory)
                    || real_parent.as_ref().is_some_and(|(parent, _)| is_below(parent, directory))
            };
            // Where a program may write, what is below may be its work; the directory itself is not.
            let led_out = writable
                .iter()
                .filter(|directory| **directory != grant.path)
                .filter(passes)
                .any(|directory| !is_below(&grant.path, directory));
            if led_out {
                return Err(PlanRefusal::LeadsOut { path: spelled.clone(), to: grant.path.clone() });
            }
        }
        Ok(())
    }
}

/// How the network is held, what is said about it, and whether hosts were asked for in vain.
fn network(policy: &Policy, subject: &Subject, machine: &Machine) -> (NetworkRule, NetworkHeld, bool) {
    match policy.network() {
        Network::All => (NetworkRule::Open, NetworkHeld::All, false),
        Network::None => (NetworkRule::Closed, NetworkHeld::None, false),
        Network::Hosts(hosts) => {
            let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
            match &subject.hand_over_to {
                Some(name) if machine.network => {
                    (NetworkRule::Proxy { hand_over_to: name.clone() }, NetworkHeld::Hosts(hosts), false)
                }
                _ => (NetworkRule::Open, NetworkHeld::Open(hosts), true),
            }
        }
    }
}

impl Machine {
    /// Why this machine confines nothing at all. `None` where it can.
    #[must_use]
    pub const fn why_not(&self) -> Option<PlanRefusal> {
        match (self.landlock_abi, self.seccomp) {
            (0, _) => Some(PlanRefusal::NoLandlock),
            (_, false) => Some(PlanRefusal::NoSeccomp),
            _ => None,
        }
    }
}

impl Plan {
    /// Directories that the environment names and that programs expect to exist.
    #[must_use]
    pub fn directories(&self, subject: &Subject) -> Vec<PathBuf> {
        let home = self.environment.iter().find(|(name, _)| *name == "HOME").map(|(_, home)| PathBuf::from(home));
        home.into_iter().chain([subject.private.temporary.clone()]).collect()
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
