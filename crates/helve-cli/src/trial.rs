//! Whether a new server starts in a sandbox: found out by starting it once, before its entry is written.

use helve_config::edit::{Change, EditError, NewServer, NewTransport, edit_text};
use helve_config::trust::ServerTrust;
use helve_config::{ConfiguredServer, Dialect, FilePlace, read_text};
use helve_model::sandbox::Choice;
use helve_model::{ErrorCode, SandboxSpec, ServerStatus};
use helve_setup::Wanted;

use crate::confinement::Confinement;
use crate::context::Context;
use crate::failure::Failure;
use crate::printer::Line;
use crate::progress::Meter;
use crate::running::{Manner, settled, with_host};

/// What came of it.
pub(crate) enum Trial {
    /// The person named a sandbox, or none.
    Named(Choice),
    /// It started in this one.
    Started(Choice),
    /// It did not.
    Failed { tried: Choice, why: String, hints: Vec<String> },
    /// There was nothing to try, or nothing to try it with.
    NotTried,
}

impl Trial {
    /// Without one: the person has said it.
    pub(crate) const fn named(choice: Choice) -> Self {
        Self::Named(choice)
    }

    /// Starts the server in the sandbox that the settings name.
    pub(crate) fn run(context: &Context, place: &FilePlace, name: &str, server: &NewServer) -> Result<Self, Failure> {
        if !matches!(server.transport, NewTransport::Program { .. }) {
            return Ok(Self::NotTried);
        }
        // A file that is yet to be written, or that cannot be read: who writes the entry tells of it.
        let Ok(mut configuration) = context.load() else { return Ok(Self::NotTried) };
        let tried = configuration.settings.sandbox.value;
        if tried == Choice::Off {
            return Ok(Self::NotTried);
        }
        let Some(mut candidate) = candidate(context, place, name, server) else { return Ok(Self::NotTried) };
        let Some(spec) = &mut candidate.spec else { return Ok(Self::NotTried) };
        spec.sandbox = Some(SandboxSpec::new(tried));
        match Confinement::new(context).plan(spec) {
            Ok(_) => {}
            // There is no such program, or it cannot be run: that is nothing about a sandbox.
            Err(error) if error.code() == ErrorCode::TransportError => return Ok(Self::NotTried),
            Err(error) => {
                let hints = context.printer.words.say_all(error.hints());
                return Ok(Self::Failed { tried, why: error.chain(), hints });
            }
        }
        configuration.servers = vec![candidate];
        let only = [name.to_owned()];
        with_host(context, &configuration, Wanted::Only(&only), Manner::reporting(), async |host| {
            let task = format!("trying it in the sandbox `{tried}`");
            Meter::new(context).during(&task, settled(context, host)).await;
            let Some(report) = host.server_status(name) else { return Ok(Self::NotTried) };
            Ok(match report.status {
                ServerStatus::Connected => Self::Started(tried),
                status => {
                    let hints = context.printer.words.say_all(&report.hints);
                    Self::Failed { tried, why: status.to_string(), hints }
                }
            })
        })
    }

    /// What goes into the entry.
    pub(crate) const fn to_write(&self) -> Option<Choice> {
        match self {
            Self::Named(choice @ Choice::In(_)) | Self::Started(choice) => Some(*choice),
            Self::Named(Choice::Off) | Self::Failed { .. } | Self::NotTried => None,
        }
    }

    /// What the person stands behind, where the entry has none.
    pub(crate) const fn choice(&self) -> Option<Choice> {
        match self {
            Self::Named(choice) | Self::Started(choice) => Some(*choice),
            Self::Failed { .. } => Some(Choice::Off),
            Self::NotTried => None,
        }
    }

    /// Says what was found out.
    pub(crate) fn tell(&self, context: &Context, name: &str) {
        let printer = &context.printer;
        match self {
            Self::Named(_) | Self::NotTried => {}
            Self::Started(choice) => printer.say(&Line::plain(format!(
                "it starts in the sandbox `{choice}`, and its entry says so; `--sandbox off` leaves it out"
            ))),
            Self::Failed { tried, why, hints } => {
                printer.warning(format!("it runs without a sandbox: in `{tried}` it did not start ({why})"));
                for hint in hints {
                    printer.hint(hint);
                }
                if hints.is_empty() {
                    printer.hint(format!("`helve add {name} --replace --sandbox {tried} -- …` writes it all the same"));
                }
            }
        }
    }
}

/// The server as it would be, if it can be tried at all: helve's own file, nothing missing, and no word about a sandbox in an entry
/// that is changed.
fn candidate(context: &Context, place: &FilePlace, name: &str, server: &NewServer) -> Option<ConfiguredServer> {
    if place.dialect != Dialect::Helve {
        return None;
    }
    let before = fs_err::read_to_string(&place.path).unwrap_or_default();
    let after = match edit_text(place, &before, name, &Change::Add(server.clone())) {
        Err(EditError::Exists(_)) => edit_text(place, &before, name, &Change::Update(server.clone())),
        added => added,
    };
    let content = read_text(place, &after.ok()?, context.environment());
    let mut found = content.servers.into_iter().find(|found| found.name.as_str() == name)?;
    found.trust = ServerTrust::Own;
    let spec = found.spec.as_ref()?;
    (spec.sandbox.is_none() && context.setup.held(&found).is_none()).then_some(found)
}
