//! `trust.json`: what of which project the person trusts.

use std::path::Path;

use helve_config::trust::{TrustRequest, TrustStore, TrustSubject};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Stored, first_version};

/// All of the person's answers. Several hashes of one server may be trusted: a project has branches.
#[derive(Debug, Serialize, Deserialize)]
pub struct TrustFile {
    #[serde(default = "first_version")]
    version: u64,
    #[serde(default)]
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
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl TrustFile {
    /// Remembers a yes.
    pub fn trust(&mut self, request: &TrustRequest) {
        if self.is_trusted(request) {
            return;
        }
        self.trusted.push(Trusted {
            project: text(&request.project),
            file: text(&request.file),
            server: server(request).map(ToOwned::to_owned),
            hash: request.hash.to_string(),
            unknown: Map::new(),
        });
    }

    /// Takes back every yes that `is_meant` picks; gives what was taken back.
    pub fn revoke(&mut self, is_meant: impl Fn(&Trusted) -> bool) -> Vec<Trusted> {
        self.trusted.extract_if(.., |trusted| is_meant(trusted)).collect()
    }
}

impl TrustStore for TrustFile {
    /// The hash covers what would run and where; which file of the project says so makes no difference.
    fn is_trusted(&self, request: &TrustRequest) -> bool {
        let (project, hash) = (text(&request.project), request.hash.to_string());
        self.trusted.iter().any(|trusted| {
            trusted.hash == hash && trusted.project == project && trusted.server.as_deref() == server(request)
        })
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
