//! Files that are edited on a person's behalf: which ones are helve's own, why one cannot be written, and the trust that an
//! edit of one's own in a project's file comes with.

use std::path::Path;

use helve_config::trust::{TrustRequest, TrustSubject};
use helve_config::{Configuration, ConfiguredServer, Dialect, FilePlace, discover};
use helve_model::sandbox::Choice;
use helve_model::{Layer, Rule, TransportSpec};
use helve_policy::place_rule;
use rustix::fs::{Access, access};

use crate::error::SetupError;
use crate::setup::{Setup, file_of};
use crate::store::trust::TrustFile;

/// Whose file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnFile {
    /// The person's own, everywhere.
    User,
    /// Everybody's in this project.
    Project,
    /// The person's own in this project.
    Local,
}

impl Setup {
    /// helve's own file of a kind, whether it exists or not.
    ///
    /// # Errors
    /// There is no home directory; or the person stands in it, and it is not a project.
    pub fn own_file(&self, which: OwnFile) -> Result<FilePlace, SetupError> {
        let name = match which {
            OwnFile::User => {
                return discover::own_user_file(self.known_to_configuration()).ok_or_else(|| {
                    SetupError::machine("there is no home directory for your own helve.toml")
                        .with_hint("set HOME or XDG_CONFIG_HOME")
                });
            }
            OwnFile::Project => discover::PROJECT_FILE,
            OwnFile::Local => discover::LOCAL_FILE,
        };
        if self.stands_at_home() {
            return Err(SetupError::machine("your home directory is not a project"));
        }
        Ok(discover::own_project_file(self.known_to_configuration(), name))
    }

    /// The directory of a person is not a project, and its `helve.toml` would never be read.
    #[must_use]
    pub fn stands_at_home(&self) -> bool {
        self.environment.home() == Some(self.environment.working_directory())
    }

    /// Every file that may be edited here: helve's own, and those that the person named. The person's own is among them
    /// although it does not exist yet.
    #[must_use]
    pub fn editable_files(&self, configuration: &Configuration) -> Vec<FilePlace> {
        let mut places: Vec<FilePlace> = Vec::new();
        let read = configuration.files.iter().map(|file| file.place.clone());
        let own = (!self.choices.only_files).then(|| self.own_file(OwnFile::User).ok()).flatten();
        for place in read.chain(own) {
            let is_ours = place.dialect == Dialect::Helve || place.layer == Layer::Explicit;
            if is_ours && !places.iter().any(|known| known.path == place.path) {
                places.push(place);
            }
        }
        places
    }

    /// Why a file cannot be edited here, in words; `None` where it can.
    #[must_use]
    pub fn locked(&self, place: &FilePlace) -> Option<String> {
        let shown = self.environment.shown(&place.path);
        if place.dialect != Dialect::Helve && place.layer != Layer::Explicit {
            return Some(format!("{shown} belongs to {}: it is shown, never written", place.dialect.title()));
        }
        // A file is replaced by a new one beside it.
        let beside = place.path.ancestors().skip(1).find(|directory| directory.is_dir())?;
        let is_barred = |path: &Path| access(path, Access::WRITE_OK).is_err();
        if is_barred(beside) || (place.path.exists() && is_barred(&place.path)) {
            return Some(format!("{shown} cannot be written by the user that the hub runs as"));
        }
        None
    }

    /// Why this system confines no program at all. `None` where it can.
    #[must_use]
    pub fn why_not_confined(&self) -> Option<String> {
        let Some(confining) = self.confining() else {
            return Some("this system cannot confine a program: sandboxes need Linux".to_owned());
        };
        match confining.machine() {
            Ok(machine) => machine.why_not().map(|refusal| refusal.to_string()),
            Err(error) => Some(error.chain()),
        }
    }

    /// Remembers that the person stands behind a server they just wrote into a project's file themselves. Its sandbox,
    /// where its entry names none, is `sandbox`; without one it stays as they chose it before, or is the one that their
    /// settings propose.
    ///
    /// # Errors
    /// What is trusted cannot be read or written.
    pub fn trust_own_edit(&self, place: &FilePlace, server: &str, sandbox: Option<Choice>) -> Result<(), SetupError> {
        if place.layer != Layer::Project {
            return Ok(());
        }
        let configuration = self.load()?;
        let is_it = |subject: &TrustSubject| matches!(subject, TrustSubject::Server(name) if name == server);
        let request =
            configuration.untrusted.iter().find(|request| request.file == place.path && is_it(&request.subject));
        request.map_or(Ok(()), |request| self.trust_one(&configuration, request, sandbox))
    }

    /// The same for all that an edit of a whole file changed. What waited for trust before the edit still does: it is not
    /// the person's own.
    ///
    /// # Errors
    /// What is trusted cannot be read or written.
    pub fn trust_own_edits(
        &self,
        before: &Configuration,
        place: &FilePlace,
        sandbox: Option<Choice>,
    ) -> Result<(), SetupError> {
        if place.layer != Layer::Project {
            return Ok(());
        }
        let after = self.read_configuration();
        for request in after.untrusted.iter().filter(|request| request.file == place.path) {
            let waited = |other: &TrustRequest| other.file == request.file && other.subject == request.subject;
            if !before.untrusted.iter().any(waited) {
                self.trust_one(&after, request, sandbox)?;
            }
        }
        Ok(())
    }

    fn trust_one(
        &self,
        configuration: &Configuration,
        request: &TrustRequest,
        sandbox: Option<Choice>,
    ) -> Result<(), SetupError> {
        self.stores()?.update(|file: &mut TrustFile| {
            let proposed = || match configuration.settings.sandbox.value {
                Choice::In(_) if self.why_not_confined().is_some() => Choice::Off,
                proposed => proposed,
            };
            let sandbox = sandbox.or_else(|| file.last_sandbox(request)).unwrap_or_else(proposed);
            file.trust(request, Some(sandbox));
        })
    }
}

/// A server's name as its file has it: `github@cursor` is `github` there.
#[must_use]
pub fn name_in_file(server: &ConfiguredServer) -> &str {
    let name = server.name.as_str();
    name.strip_suffix(server.application).and_then(|name| name.strip_suffix('@')).unwrap_or(name)
}

/// The server that a question of trust is about, also where another of its name hides it.
#[must_use]
pub fn server_of_request<'a>(configuration: &'a Configuration, request: &TrustRequest) -> Option<&'a ConfiguredServer> {
    let TrustSubject::Server(name) = &request.subject else { return None };
    let hidden = configuration.shadowed.iter().map(|shadowed| &shadowed.server);
    configuration
        .servers
        .iter()
        .chain(hidden)
        .find(|server| name_in_file(server) == name && file_of(&server.origin) == Some(request.file.as_path()))
}

/// Whether a yes is for a sandbox too: helve starts the program, and its entry says nothing about one.
#[must_use]
pub fn is_sandbox_choosable(server: &ConfiguredServer) -> bool {
    server.spec.as_ref().is_some_and(|spec| {
        matches!(spec.transport, TransportSpec::Stdio(_))
            && spec.sandbox.as_ref().is_none_or(|sandbox| sandbox.is_default)
    })
}

/// Where a new rule goes among those of a file (`own`, in their order), and the rules it then goes before: of that file and of others of
/// its layer.
#[must_use]
pub fn place_in_file(
    configuration: &Configuration,
    place: &FilePlace,
    own: Vec<Rule>,
    rule: &Rule,
) -> (usize, Vec<Rule>) {
    let elsewhere = |rule: &&Rule| rule.layer == place.layer && file_of(&rule.origin) != Some(place.path.as_path());
    let count = own.len();
    let all: Vec<Rule> = own.into_iter().chain(configuration.rules.iter().filter(elsewhere).cloned()).collect();
    let placement = place_rule(&all, rule);
    let overruled = placement.overrules.iter().filter_map(|index| all.get(*index)).cloned().collect();
    (placement.position.min(count), overruled)
}
