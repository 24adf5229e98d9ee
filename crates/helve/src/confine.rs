//! From what an entry says about its sandbox to one: which directories are the server's alone, what no sandbox opens, and what a
//! person is told when it is refused or gets in a server's way.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use helve_model::{ErrorCode, Layer, SandboxSpec, ServerName, ServerSpec, StdioSpec};
use helve_sandbox::{Demand, Machine, Plan, PlanRefusal, Policy};
use helve_wire::launch::{RefusedHosts, Sandbox, ServerCommand, WardenProgram};

use crate::connect;
use crate::error::CallError;
use crate::settings::Surroundings;

/// How many denied paths an error names.
const PATHS_SHOWN: usize = 3;

/// Words of programs that were not let.
const DENIALS: [&str; 7] = [
    "permission denied",
    "eacces",
    "eperm",
    "operation not permitted",
    "read-only file system",
    "erofs",
    "unable to open database file",
];

/// What a host confines servers with.
#[derive(Debug, Clone)]
pub struct Confining {
    /// The program that confines itself before it becomes a server: this one, if its `main` calls the warden.
    pub stage: WardenProgram,
    /// Where each confined server gets a directory of its own.
    pub directory: PathBuf,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// Directories that no sandbox opens: this program's own configuration and state.
    pub own: Vec<PathBuf>,
    /// What this machine can enforce, once it was asked.
    machine: Arc<OnceLock<Machine>>,
    /// What the servers of this host asked for in vain.
    refused: Arc<Mutex<HashMap<ServerName, RefusedHosts>>>,
}

impl Confining {
    /// A host that can confine.
    #[must_use]
    pub fn new(stage: WardenProgram, directory: PathBuf, home: Option<PathBuf>, own: Vec<PathBuf>) -> Self {
        Self { stage, directory, home, own, machine: Arc::default(), refused: Arc::default() }
    }

    /// The same for another host: what this machine can enforce is asked once for both, and what the servers of one asked for
    /// in vain stays its own.
    #[must_use]
    pub fn for_another_host(&self) -> Self {
        Self { refused: Arc::default(), ..self.clone() }
    }

    /// The hosts that a server asked for in vain, over all its starts.
    pub(crate) fn refused_hosts(&self, server: &ServerName) -> RefusedHosts {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.entry(server.clone()).or_default().clone()
    }

    /// The same as a list.
    pub(crate) fn list_refused_hosts(&self, server: &ServerName) -> Vec<String> {
        self.refused_hosts(server).list()
    }

    /// What this machine can enforce. Asked once, in a process of its own, which takes a few milliseconds.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn machine(&self) -> Result<Machine, CallError> {
        if let Some(machine) = self.machine.get() {
            return Ok(*machine);
        }
        let machine = helve_wire::launch::probe(&self.stage)
            .map_err(|error| CallError::new(ErrorCode::Config, error.to_string()).with_source(error))?;
        Ok(*self.machine.get_or_init(|| machine))
    }
}

/// What would hold for a server of this spec, without starting it. `None` when it has no sandbox.
///
/// # Errors
/// `CONFIG` when it would not be started, with the reason and the line that would let it.
pub fn sandbox_plan(spec: &ServerSpec, surroundings: &Surroundings) -> Result<Option<Plan>, CallError> {
    let helve_model::TransportSpec::Stdio(stdio) = &spec.transport else { return Ok(None) };
    let Some(sandbox) = of_spec(spec, stdio, surroundings)? else { return Ok(None) };
    let command = connect::command(spec, stdio, surroundings);
    sandbox.plan(&command).map(Some).map_err(|error| {
        let refusal = refusal(&error);
        explain(CallError::from_wire(error, &spec.name), refusal, spec)
    })
}

/// What a server's own words say about paths that its sandbox did not let it use, with the line that would let it: for the text of
/// a result that says it failed. Empty when it has no sandbox.
#[must_use]
pub fn sandbox_hints(words: &str, spec: &ServerSpec, surroundings: &Surroundings) -> Vec<String> {
    let helve_model::TransportSpec::Stdio(stdio) = &spec.transport else { return Vec::new() };
    match of_spec(spec, stdio, surroundings) {
        Ok(Some(sandbox)) => hints(words, &sandbox, &connect::command(spec, stdio, surroundings), spec),
        Ok(None) | Err(_) => Vec::new(),
    }
}

/// The sandbox of a server; `None` when it has none.
pub(crate) fn of_spec(
    spec: &ServerSpec,
    stdio: &StdioSpec,
    surroundings: &Surroundings,
) -> Result<Option<Sandbox>, CallError> {
    let Some(policy) = spec.sandbox.as_ref().and_then(|wanted| policy(wanted, spec.layer)) else { return Ok(None) };
    let Some(confining) = &surroundings.confining else {
        let message = format!("the server `{}` is to run in a sandbox, and this program has none", spec.name);
        return Err(CallError::new(ErrorCode::Config, message).at_server(&spec.name));
    };
    Ok(Some(Sandbox {
        policy,
        machine: confining.machine()?,
        stage: confining.stage.clone(),
        directory: confining.directory.join(directory_name(spec)),
        home: confining.home.clone(),
        own: confining.own.clone(),
        named_variables: stdio.environment.keys().cloned().collect(),
        refused: confining.refused_hosts(&spec.name),
    }))
}

/// What one server writes no other server and no other project's server of that name runs.
fn directory_name(spec: &ServerSpec) -> String {
    use std::hash::{Hash as _, Hasher as _};
    let plain: String = spec
        .name
        .as_str()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .take(40)
        .collect();
    // Not kept anywhere but in this name: another release may count differently and starts with an empty cache.
    let mut hasher = std::hash::DefaultHasher::new();
    spec.name.as_str().hash(&mut hasher);
    spec.layer.to_string().hash(&mut hasher);
    if let helve_model::Origin::File { path, .. } = &spec.origin {
        path.hash(&mut hasher);
    }
    format!("{plain}-{:016x}", hasher.finish())
}

/// What is asked for; `None` when that is nothing.
fn policy(wanted: &SandboxSpec, layer: Layer) -> Option<Policy> {
    let SandboxSpec { profile, read, write, exec, network, unix, limits, required, is_default } = wanted;
    Some(Policy {
        profile: profile.profile()?,
        read: read.clone(),
        write: write.clone(),
        exec: exec.clone(),
        network: network.clone(),
        unix: *unix,
        limits: *limits,
        demand: match (required, is_default) {
            (Some(true), _) => Demand::All,
            (Some(false), _) | (None, true) => Demand::Weaker,
            (None, false) => Demand::Written,
        },
        // A project's file never opens a person's keys.
        may_name_protected: layer != Layer::Project,
    })
}

/// Why a server was not started, if that was its sandbox.
pub(crate) fn refusal(error: &helve_wire::Error) -> Option<PlanRefusal> {
    std::error::Error::source(error)?.downcast_ref::<PlanRefusal>().cloned()
}

/// A sandbox that was refused: the reason, and the line that would let it.
pub(crate) fn explain(ours: CallError, refusal: Option<PlanRefusal>, spec: &ServerSpec) -> CallError {
    let Some(refusal) = refusal else { return ours };
    let origin = &spec.origin;
    match refusal {
        PlanRefusal::Missing(_) => ours.with_hint(format!(
            "`required = false` in `sandbox` of the server `{}`, in your own file, starts it with what this system can enforce",
            spec.name
        )),
        PlanRefusal::NoLandlock | PlanRefusal::NoSeccomp => {
            ours.with_hint(format!("`sandbox = \"off\"` of the server `{}` at {origin} starts it unconfined", spec.name))
        }
        PlanRefusal::Reaches { owner: helve_sandbox::PlaceOwner::Person, protected, .. } => ours.with_hint(format!(
            "name a directory that does not contain it in `sandbox` of the server `{}` at {origin}; your own file may name `{}` itself",
            spec.name,
            protected.display()
        )),
        PlanRefusal::Reaches { .. } => {
            ours.with_hint(format!("name a directory that does not contain it in `sandbox` at {origin}"))
        }
        PlanRefusal::DoesNotExist(path) => ours.with_hint(format!("make `{}`, or take it out of `sandbox` at {origin}", path.display())),
        PlanRefusal::LeadsOut { .. } => ours.with_hint(format!("name where it leads in `sandbox` at {origin}, or remove the link")),
    }
}

/// What a server's own words say about what its sandbox did not let it do.
pub(crate) fn hints(words: &str, sandbox: &Sandbox, command: &ServerCommand, spec: &ServerSpec) -> Vec<String> {
    let mut hints: Vec<String> = sandbox
        .refused
        .list()
        .into_iter()
        .map(|host| {
            let plain = host.split(' ').next().unwrap_or(&host);
            format!("its sandbox does not let it reach {host}: {}", addition(spec, "network", plain))
        })
        .collect();
    let denied = |line: &&str| {
        let line = line.to_lowercase();
        DENIALS.iter().any(|denial| line.contains(denial))
    };
    let mut paths: Vec<String> = Vec::new();
    let lines: Vec<&str> = words.lines().filter(denied).collect();
    let said: Vec<String> = lines.iter().flat_map(|line| absolute_paths(line)).collect();
    // Where it does not say what it could not open, it may be what it was told to.
    let told = command.args.iter().filter(|_| said.is_empty() && !lines.is_empty()).filter_map(|word| word.to_str());
    let told: Vec<String> = told.flat_map(absolute_paths).collect();
    for path in said.into_iter().chain(told) {
        if !paths.contains(&path) && paths.len() < PATHS_SHOWN {
            paths.push(path);
        }
    }
    let plan = sandbox.plan(command).ok();
    for path in paths {
        let access = plan.as_ref().and_then(|plan| plan.rules.access(std::path::Path::new(&path)));
        hints.push(match access {
            Some(access) if access.is_writable() => continue,
            Some(_) => format!("its sandbox does not let it write {path}: {}", addition(spec, "write", &path)),
            None => format!(
                "its sandbox does not let it use {path}: {}, or with `write` in place of `read`",
                addition(spec, "read", &path)
            ),
        });
    }
    hints
}

/// What to write where, so that a sandbox lets it.
fn addition(spec: &ServerSpec, key: &str, value: &str) -> String {
    let origin = &spec.origin;
    match &spec.sandbox {
        // One word has no room for more: the whole line, as it would be then.
        Some(written)
            if *written == SandboxSpec { is_default: written.is_default, ..SandboxSpec::new(written.profile) } =>
        {
            let profile = written.profile;
            format!("`sandbox = {{ profile = \"{profile}\", {key} = [{value:?}] }}` at {origin} would let it")
        }
        _ => format!("add {value:?} to `{key}` of `sandbox` at {origin}"),
    }
}

/// What looks like a path in a line that a program wrote.
fn absolute_paths(line: &str) -> Vec<String> {
    let ends =
        |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '(' | ')' | ',' | ';' | '<' | '>' | '[' | ']');
    line.split(ends)
        .map(|word| word.trim_end_matches([':', '.', '!']).trim_start_matches("path="))
        .filter(|word| word.starts_with('/') && word.len() > 1)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[path = "confine_tests.rs"]
mod tests;
