//! A server as one file configures it: its spec if it has one, and everything that keeps it from running.

use std::path::PathBuf;
use std::time::Duration;

use helve_model::sandbox::Choice;
use helve_model::{Layer, Origin, Rule, ServerName, ServerSpec, Validation};

use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::trust::{CoveredFile, ServerTrust, TrustHash};

/// One entry of a configuration file.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredServer {
    /// Its name, unique in a [`crate::Configuration`].
    pub name: ServerName,
    /// The application whose file it stands in, like `cursor`.
    pub application: &'static str,
    /// The dialect it is written in.
    pub dialect: Dialect,
    /// The layer of its file.
    pub layer: Layer,
    /// Where its name is written.
    pub origin: Origin,
    /// The person configured it for this directory alone, in a file of their own; it wins over the project's files.
    pub is_local: bool,
    /// How it is reached; `None` when the entry does not say so in a way that can be understood.
    pub spec: Option<ServerSpec>,
    /// Why it cannot run, all reasons.
    pub blockers: Vec<Blocker>,
    /// What switched it off.
    pub disabled_by: Option<Origin>,
    /// Rules that the application keeps beside the server, like tools approved for good.
    pub rules: Vec<Rule>,
    /// The variables it refers to: what a person should see before trusting a project.
    pub variables: Vec<String>,
    /// Does the person stand behind it?
    pub trust: ServerTrust,
    /// The hash of what would run; for servers of a project only.
    pub trust_hash: Option<TrustHash>,
    /// The sandbox that the person chose when they trusted it; for servers of a project only.
    pub chosen_sandbox: Option<Choice>,
    /// The files that it runs or names and that count by their content; for servers of a project only.
    pub files: Vec<CoveredFile>,
    /// What its entry says where the spec only has what that means.
    pub(crate) as_written: AsWritten,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// What an entry says, where its spec only has what that means now: a variable may be unset today and set tomorrow.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AsWritten {
    pub(crate) directory: Option<String>,
    pub(crate) passed_variables: Vec<String>,
    pub(crate) bearer_variable: Option<String>,
    /// Headers with the variables that hold their values.
    pub(crate) header_variables: Vec<(String, String)>,
    /// The file with more variables, and where it is.
    pub(crate) environment_file: Option<(String, PathBuf)>,
    /// Those variables, as the spec refers to them.
    pub(crate) file_variables: Vec<(String, String)>,
    pub(crate) startup_timeout: Option<Duration>,
    pub(crate) call_timeout: Option<Duration>,
    pub(crate) validation: Option<Validation>,
    /// The files whose content became values.
    pub(crate) files: Vec<Referenced>,
    /// The ids of the inputs it refers to.
    pub(crate) inputs: Vec<String>,
    /// Where the person's programs are looked up.
    pub(crate) search_path: Option<String>,
}

/// A file whose content became a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Referenced {
    pub(crate) path: PathBuf,
    /// The hash of the content that was read; `None` when none was.
    pub(crate) content: Option<TrustHash>,
}

/// Why a server cannot run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Blocker {
    /// Its entry has mistakes; its diagnostics name them.
    Invalid,
    /// A variable it needs is not set.
    UnsetVariable {
        /// The variable.
        variable: String,
        /// The field that refers to it, like `env.TOKEN`.
        field: String,
        /// Where that is.
        origin: Origin,
    },
    /// The person has to be asked for a value first.
    NeedsInput {
        /// The id of the [`Input`].
        id: String,
        /// The field that refers to it.
        field: String,
        /// Where that is.
        origin: Origin,
    },
    /// helve has no such transport.
    Unsupported(String),
}

/// A value the person is asked for, instead of having it in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// What `${input:id}` names.
    pub id: String,
    /// The question.
    pub description: String,
    /// Must not be echoed or kept in the open.
    pub secret: bool,
    /// The answers to choose from; empty when any will do.
    pub options: Vec<String>,
    /// The answer to suggest.
    pub default: Option<String>,
    /// Where it is declared.
    pub origin: Origin,
}

/// A list of one file that switches servers of other files off.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Switch {
    pub(crate) kind: SwitchKind,
    /// Servers of these dialects.
    pub(crate) dialects: &'static [Dialect],
    pub(crate) origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SwitchKind {
    /// This one is off.
    Off(String),
    /// All but these are off.
    AllBut(Vec<String>),
}

impl ConfiguredServer {
    /// A server of the person's own that no file has an entry for.
    pub(crate) fn without_entry(application: &'static str, layer: Layer, origin: Origin, spec: ServerSpec) -> Self {
        Self {
            name: spec.name.clone(),
            application,
            dialect: Dialect::Helve,
            layer,
            origin,
            is_local: false,
            disabled_by: None,
            spec: Some(spec),
            blockers: Vec::new(),
            rules: Vec::new(),
            variables: Vec::new(),
            trust: ServerTrust::Own,
            trust_hash: None,
            chosen_sandbox: None,
            files: Vec::new(),
            as_written: AsWritten::default(),
            diagnostics: Vec::new(),
        }
    }

    /// True when nothing keeps it from being started: understood, complete, trusted and switched on.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.enabled)
            && self.blockers.is_empty()
            && self.disabled_by.is_none()
            && self.trust != ServerTrust::Untrusted
    }

    /// True when it configures nothing and switches off what another file configures under its name.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.spec.is_none() && self.blockers.is_empty() && self.disabled_by.is_some()
    }

    pub(crate) fn switch_off(&mut self, by: Origin) {
        if let Some(spec) = &mut self.spec {
            spec.enabled = false;
        }
        self.disabled_by.get_or_insert(by);
    }
}
