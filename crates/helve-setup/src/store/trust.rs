//! `trust.json`: what of which project the person trusts.

use std::path::Path;

use helve_config::trust::{TrustRequest, TrustStore, TrustSubject};
use helve_model::sandbox::{Choice, Profile};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Stored, first_version};

/// All of the person's answers. Several hashes of one server may be trusted: a project has branches.
#[derive(Debug, Serialize, Deserialize)]
pub struct TrustFile {
    #[serde(default = "first_version")]
    version: u64,
    #[serde(default)]
    /// The answers.
    pub trusted: Vec<Trusted>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// One answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Trusted {
    /// The project's directory.
    pub project: String,
    /// The file the answer was given for.
    pub file: String,
    /// The server; without one it is the file's rules and settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The hash of what would run.
    pub hash: String,
    /// The sandbox that was chosen with the answer. A word that is not known here means the narrowest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl TrustFile {
    /// Remembers a yes, and the sandbox that was chosen with it. Without a choice an earlier one stays.
    pub fn trust(&mut self, request: &TrustRequest, sandbox: Option<Choice>) {
        let sandbox = sandbox.map(|choice| choice.to_string());
        if self.is_trusted(request) {
            if sandbox.is_some() {
                let answers = self.trusted.iter_mut().filter(|trusted| trusted.is_for(request));
                answers.for_each(|trusted| trusted.sandbox.clone_from(&sandbox));
            }
            return;
        }
        self.trusted.push(Trusted {
            project: text(&request.project),
            file: text(&request.file),
            server: server(request).map(ToOwned::to_owned),
            hash: request.hash.to_string(),
            sandbox,
            unknown: Map::new(),
        });
    }

    /// Changes the sandbox of every yes that `is_meant` picks; gives how many those are.
    pub fn choose_sandbox(&mut self, is_meant: impl Fn(&Trusted) -> bool, sandbox: Choice) -> usize {
        let meant = self.trusted.iter_mut().filter(|trusted| is_meant(trusted));
        meant.map(|trusted| trusted.sandbox = Some(sandbox.to_string())).count()
    }

    /// The sandbox that was chosen with the newest yes to a server of a project, whatever it was then.
    #[must_use]
    pub fn last_sandbox(&self, request: &TrustRequest) -> Option<Choice> {
        let project = text(&request.project);
        let is_it = |trusted: &&Trusted| trusted.project == project && trusted.server.as_deref() == server(request);
        self.trusted.iter().rev().find(is_it)?.sandbox()
    }

    /// Takes back every yes that `is_meant` picks; gives what was taken back.
    pub fn revoke(&mut self, is_meant: impl Fn(&Trusted) -> bool) -> Vec<Trusted> {
        self.trusted.extract_if(.., |trusted| is_meant(trusted)).collect()
    }
}

impl Trusted {
    fn is_for(&self, request: &TrustRequest) -> bool {
        self.hash == request.hash.to_string()
            && self.project == text(&request.project)
            && self.server.as_deref() == server(request)
    }

    /// The sandbox that was chosen with it.
    #[must_use]
    pub fn sandbox(&self) -> Option<Choice> {
        let word = self.sandbox.as_deref()?;
        Some(word.parse().unwrap_or(Choice::In(Profile::Strict)))
    }
}

impl TrustStore for TrustFile {
    /// The hash covers what would run and where; which file of the project says so makes no difference.
    fn is_trusted(&self, request: &TrustRequest) -> bool {
        self.trusted.iter().any(|trusted| trusted.is_for(request))
    }

    fn sandbox(&self, request: &TrustRequest) -> Option<Choice> {
        self.trusted.iter().filter(|trusted| trusted.is_for(request)).find_map(Trusted::sandbox)
    }
}

impl Stored for TrustFile {
    const FILE: &'static str = "trust.json";
    const VERSION: u64 = 2;

    fn version(&mut self) -> &mut u64 {
        &mut self.version
    }

    /// The recipe of the hashes is another one since: no old yes can be found again.
    fn end_old(&mut self) -> Vec<String> {
        self.trusted.drain(..).map(|trusted| trusted.project).collect()
    }
}

impl Default for TrustFile {
    fn default() -> Self {
        Self { version: Self::VERSION, trusted: Vec::new(), unknown: Map::new() }
    }
}

/// How a project is spelled in the file.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn server(request: &TrustRequest) -> Option<&str> {
    match &request.subject {
        TrustSubject::Server(name) => Some(name),
        TrustSubject::Rules => None,
    }
}
