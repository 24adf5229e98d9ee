//! Which configured servers are this very program, and how deep it runs below itself.
//!
//! An agent that is given helve as a server has it in its own file, where helve finds it among its servers: started, it
//! would start itself without end. So it knows itself, by file and not by name. Where that cannot be told, behind a script for
//! instance, one that was started so knows the server it came through, and how often it stands above itself.

mod command_line;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use helve_model::{ServerSpec, StdioSpec, TransportSpec};
use helve_wire::{HttpTarget, Nesting};

use crate::environment::{Environment, OwnProgram, variable};
use command_line::{Invocation, invocations};

/// Processes above this one that are looked at.
const MAX_ANCESTORS: usize = 128;
/// Bytes of what the system says about a process.
const MAX_PROCESS_BYTES: u64 = 4096;
/// Installed packages that are looked through, in each place where a runner keeps them.
const MAX_PACKAGES: usize = 128;
/// Directories above the working directory in which a runner looks for packages.
const MAX_PARENTS: usize = 32;

/// Where package runners keep programs, below the home directory: each directory in it, and where a program is in that.
const PACKAGES: [(&str, &str); 3] =
    [(".npm/_npx", "node_modules/.bin"), (".local/share/uv/tools", "bin"), (".cache/uv/archive-v0", "bin")];

/// Linux: the program of this process, whatever became of its name.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// What Linux appends to the name of a program that was replaced.
const REPLACED: &str = " (deleted)";

/// The one file, whatever its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FileId {
    device: u64,
    inode: u64,
}

/// What this process knows about itself, found out when it is first asked.
#[derive(Debug, Default)]
pub struct Itself {
    files: OnceLock<BTreeSet<FileId>>,
    depth: OnceLock<u32>,
    nesting: OnceLock<Nesting>,
    listener: OnceLock<Listener>,
    has_warned: AtomicBool,
}

/// Where this process listens.
#[derive(Debug)]
struct Listener {
    address: SocketAddr,
    /// Further names under which agents come.
    hosts: Vec<String>,
}

impl Itself {
    /// True when a server is this very program, serving, or what it listens at, or what it was started through.
    pub fn is(&self, env: &Environment, spec: &ServerSpec) -> bool {
        match &spec.transport {
            TransportSpec::Stdio(stdio) => {
                self.is_program(env, stdio) || self.nesting(env).came_through(stdio.written())
            }
            TransportSpec::Http(http) => self.listener.get().is_some_and(|own| own.is_at(http.url.expose())),
            TransportSpec::Builtin(_) => false,
        }
    }

    /// How many processes of this program stand above this one: as it was told, or as the system says, which no server
    /// can lower.
    pub fn depth(&self, env: &Environment) -> u32 {
        *self.depth.get_or_init(|| {
            let told = env.variable(variable::HELVE_DEPTH).and_then(|depth| depth.parse().ok());
            let above = env.program().map_or(0, |own| ancestors(self.files(env), own));
            told.unwrap_or(0).max(above)
        })
    }

    /// What servers are told about it.
    pub fn nesting(&self, env: &Environment) -> &Nesting {
        self.nesting.get_or_init(|| {
            let trail = env.variable(variable::HELVE_TRAIL).unwrap_or_default();
            Nesting::new(self.depth(env), trail)
        })
    }

    /// The depth, where it is too deep to start anything.
    pub fn too_deep(&self, env: &Environment) -> Option<u32> {
        Some(self.depth(env)).filter(|depth| *depth > Nesting::DEEPEST)
    }

    /// Once for each process: true, so that the person hears of it one time.
    pub fn is_first_warning(&self) -> bool {
        !self.has_warned.swap(true, Ordering::Relaxed)
    }

    /// From now on this is its address.
    pub fn listens_at(&self, address: SocketAddr, hosts: &[String]) {
        // A process listens once.
        drop(self.listener.set(Listener { address, hosts: hosts.to_vec() }));
    }

    fn is_program(&self, env: &Environment, stdio: &StdioSpec) -> bool {
        let words = || std::iter::once(&stdio.command).chain(&stdio.arguments).map(|word| word.expose());
        // Most servers name none of the verbs, and cost no look at any file.
        let Some(own) = env.program().filter(|own| words().any(own.may_serve)) else { return false };
        let variable = |name: &str| match stdio.environment.get(name) {
            Some(value) => Some(value.expose().to_owned()),
            None => env.variable(name).map(str::to_owned),
        };
        let directory = stdio.working_directory.as_deref().unwrap_or_else(|| env.working_directory());
        let directory = env.working_directory().join(directory);
        // The file first: many servers have "server" in their names, and reading a command line costs more than a look at a file.
        invocations(words().map(str::to_owned).collect(), &variable).iter().any(|invocation| {
            self.runs(env, invocation, &directory, variable("PATH").as_deref()) && (own.serves)(&invocation.arguments)
        })
    }

    /// True when it is this program that would be started there.
    fn runs(&self, env: &Environment, invocation: &Invocation, directory: &Path, search_path: Option<&str>) -> bool {
        let own = self.files(env);
        let directory = match &invocation.directory {
            Some(inside) => directory.join(inside),
            None => directory.to_owned(),
        };
        let program = invocation.program.as_str();
        if program.contains('/') && !invocation.is_package {
            return file_id(&directory.join(program)).is_some_and(|file| own.contains(&file));
        }
        let path = invocation.search_path.as_deref().or(search_path).unwrap_or_default();
        let found = std::env::split_paths(path)
            .map(|inside| directory.join(inside).join(program))
            .find(|path| is_program(path));
        if found.and_then(|path| file_id(&path)).is_some_and(|file| own.contains(&file)) {
            return true;
        }
        invocation.is_package && self.is_package(env, program, &directory)
    }

    /// True when a package runner would find this program under that name.
    fn is_package(&self, env: &Environment, package: &str, directory: &Path) -> bool {
        let program = program_of(package);
        let above =
            directory.ancestors().take(MAX_PARENTS).map(|parent| parent.join("node_modules/.bin").join(program));
        let kept = PACKAGES.iter().filter_map(|(place, inside)| Some((env.home()?.join(place), inside)));
        let kept = kept.flat_map(|(place, inside)| {
            let entries = fs_err::read_dir(place).into_iter().flatten().filter_map(Result::ok).take(MAX_PACKAGES);
            entries.map(|entry| entry.path().join(inside).join(program)).collect::<Vec<_>>()
        });
        above.chain(kept).any(|path| self.is_or_starts(env, &path))
    }

    /// True for this program, and for the script of a package that starts the program beside it.
    fn is_or_starts(&self, env: &Environment, path: &Path) -> bool {
        let Some(file) = file_id(path) else { return false };
        if self.files(env).contains(&file) {
            return true;
        }
        let packages = |path: &Path| {
            let real = fs_err::canonicalize(path).ok()?;
            let inside = real.ancestors().find(|parent| parent.file_name() == Some(OsStr::new("node_modules")))?;
            Some(inside.to_owned())
        };
        let own = env.executable().and_then(packages);
        own.is_some() && own == packages(path)
    }

    fn files(&self, env: &Environment) -> &BTreeSet<FileId> {
        self.files.get_or_init(|| {
            let Some(named) = env.executable() else { return BTreeSet::new() };
            // Replaced while it runs: what has its name now is it, too.
            let renewed = named.to_str().and_then(|name| name.strip_suffix(REPLACED)).map(PathBuf::from);
            // A process that embeds helve has it beside itself: its own program, an interpreter for instance, is another.
            let is_this_process = fs_err::read_link(OWN_PROGRAM).is_ok_and(|program| program == named);
            let running = is_this_process.then(|| PathBuf::from(OWN_PROGRAM));
            let paths = [running, Some(named.to_owned()), renewed];
            paths.iter().flatten().filter_map(|path| file_id(path)).collect()
        })
    }
}

impl Listener {
    /// True when an address leads here. Names that only the network knows are left to the count of hops.
    fn is_at(&self, url: &str) -> bool {
        let Ok(target) = HttpTarget::new(url) else { return false };
        let (host, port) = target.host_and_port();
        if port != self.address.port() {
            return false;
        }
        let host = host.trim_end_matches('.');
        if self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)) {
            return true;
        }
        let own = self.address.ip();
        if host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost") {
            return own.is_loopback() || own.is_unspecified();
        }
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let Ok(address) = bare.parse::<IpAddr>() else { return false };
        let address = address.to_canonical();
        // Where all addresses are listened at, each one of this machine leads here.
        address == own.to_canonical()
            || address.is_unspecified()
            || (own.is_unspecified() && is_of_this_machine(address))
    }
}

/// Only an address of this machine can be bound.
fn is_of_this_machine(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// The program a package's name stands for: `@scope/name@1.2`, `name==1.2`, `name[extra]`.
fn program_of(package: &str) -> &str {
    let name = package.strip_prefix('@').and_then(|scoped| scoped.split_once('/')).map_or(package, |(_, name)| name);
    name.split(['@', '=', '<', '>', '~', '!', '[', ';', ' ']).next().unwrap_or(name)
}

fn file_id(path: &Path) -> Option<FileId> {
    let about = fs_err::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some(FileId { device: about.dev(), inode: about.ino() })
}

fn is_program(path: &Path) -> bool {
    fs_err::metadata(path).is_ok_and(|about| about.is_file() && about.mode() & 0o111 != 0)
}

/// The processes above this one that run this program. A warden only holds a server, and does not count.
fn ancestors(own: &BTreeSet<FileId>, program: &OwnProgram) -> u32 {
    let mut count = 0;
    let mut next = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get());
    for _ in 0..MAX_ANCESTORS {
        let Some(process) = next.filter(|process| *process > 0 && !own.is_empty()) else { break };
        let directory = PathBuf::from(format!("/proc/{process}"));
        if file_id(&directory.join("exe")).is_some_and(|file| own.contains(&file)) && !is_warden(&directory, program) {
            count += 1;
        }
        next = parent_of(&directory);
    }
    count
}

fn is_warden(process: &Path, program: &OwnProgram) -> bool {
    let words = about(&process.join("cmdline")).unwrap_or_default();
    let first = program.warden.first().map(|word| word.as_encoded_bytes());
    first.is_some() && words.split(|byte| *byte == 0).nth(1) == first
}

fn parent_of(process: &Path) -> Option<i32> {
    let stat = about(&process.join("stat"))?;
    // A program's name stands in parentheses, and may have some in it.
    let after = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(after + 1..)?).ok()?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

fn about(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fs_err::File::open(path).ok()?.take(MAX_PROCESS_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
#[path = "itself_tests.rs"]
mod tests;
