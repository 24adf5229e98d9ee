//! Which file an edit goes to, and what has to happen behind it.
//!
//! helve writes its own files. The files of other applications are theirs: helve changes one only when the person
//! names it with `--config`.

use std::path::Path;

use clap::ValueEnum;
use helve_config::document::{self, Format};
use helve_config::edit::{Change, EditError, Edited, edit_file};
use helve_config::trust::TrustSubject;
use helve_config::{Configuration, ConfiguredServer, Dialect, FilePlace, Source, discover};
use helve_model::sandbox::Choice;
use helve_model::{ErrorCode, Layer, ServerName, text};
use helve_setup::file_of;
use helve_setup::store::trust::TrustFile;

use crate::confinement;
use crate::context::Context;
use crate::failure::Failure;

/// Whose file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Yours, everywhere: helve.toml in your configuration directory
    User,
    /// Everybody's in this project: its helve.toml
    Project,
    /// Yours in this project: its helve.local.toml
    Local,
}

/// The file a person means: the one named with `--config`, or the one of the scope. Without either it is the
/// project's `helve.toml` where there is one, else the person's own.
pub(crate) fn target(context: &Context, scope: Option<Scope>) -> Result<FilePlace, Failure> {
    if let Some(place) = named_file(context)? {
        return match scope {
            None => Ok(place),
            Some(_) => Err(Failure::usage("--scope and --config both say which file to change")),
        };
    }
    let scope = scope.unwrap_or_else(|| {
        let project = discover::own_project_file(context.environment(), discover::PROJECT_FILE);
        if project.path.is_file() && !stands_at_home(context) { Scope::Project } else { Scope::User }
    });
    own_file(context, scope)
}

/// helve's own file of a scope, whether it exists or not.
pub(crate) fn own_file(context: &Context, scope: Scope) -> Result<FilePlace, Failure> {
    let name = match scope {
        Scope::User => {
            return discover::own_user_file(context.environment()).ok_or_else(|| {
                Failure::other("there is no home directory for your own helve.toml").hint("set HOME or XDG_CONFIG_HOME")
            });
        }
        Scope::Project => discover::PROJECT_FILE,
        Scope::Local => discover::LOCAL_FILE,
    };
    if stands_at_home(context) {
        return Err(
            Failure::usage("your home directory is not a project").hint("use `--scope user`, or go to a project")
        );
    }
    Ok(discover::own_project_file(context.environment(), name))
}

/// The file named with `--config`, when there is one.
pub(crate) fn named_file(context: &Context) -> Result<Option<FilePlace>, Failure> {
    let [file] = &context.options.files[..] else {
        return match context.options.files.len() {
            0 => Ok(None),
            _ => Err(Failure::usage("only one file can be changed at a time").hint("name one with --config")),
        };
    };
    let path = context.env.working_directory().join(file);
    let dialect = match context.options.dialect {
        Some(dialect) => dialect,
        None => recognise(&path).ok_or_else(|| {
            let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
            Failure::new(ErrorCode::Config, format!("{} has no form that helve knows", file.display()))
                .hint(format!("say which one it has with --dialect: {}", names.join(", ")))
        })?,
    };
    let project = discover::project_root(context.environment());
    Ok(Some(FilePlace { path, application: dialect.name(), dialect, layer: Layer::Explicit, project }))
}

/// The file a loaded server stands in.
pub(crate) fn file_of_server(configuration: &Configuration, server: &ConfiguredServer) -> Option<FilePlace> {
    file_at(configuration, file_of(&server.origin)?)
}

/// A file that was loaded.
pub(crate) fn file_at(configuration: &Configuration, path: &Path) -> Option<FilePlace> {
    configuration.files.iter().find(|file| file.place.path == path).map(|file| file.place.clone())
}

/// A server's name as its file has it: `github@cursor` is `github` there.
pub(crate) fn name_in_file(server: &ConfiguredServer) -> &str {
    let name = server.name.as_str();
    name.strip_suffix(server.application).and_then(|name| name.strip_suffix('@')).unwrap_or(name)
}

/// Changes one server in a file.
pub(crate) fn edit(context: &Context, place: &FilePlace, server: &str, change: &Change) -> Result<Edited, Failure> {
    edit_file(place, None, server, change).map_err(|error| refused(context, place, server, &error))
}

/// An edit that was refused, in words.
pub(crate) fn refused(context: &Context, place: &FilePlace, server: &str, error: &EditError) -> Failure {
    Failure::edit(error, &context.env.shown(&place.path)).at_server(server)
}

/// A name for a new server, if it can be one.
pub(crate) fn new_name(name: &str) -> Result<ServerName, Failure> {
    if name.trim() != name || name.chars().any(text::is_invisible) {
        let message = format!("`{}` cannot be a server's name", text::one_line(name));
        return Err(Failure::usage(message).hint("use letters, digits, `-` and `_`"));
    }
    ServerName::new(name).map_err(|error| Failure::usage(error.to_string()))
}

/// Remembers that the person stands behind a server they just wrote into a project's file themselves. Its sandbox, where its
/// entry names none, is `sandbox`; without one it stays as they chose it before, or is the one that their settings propose.
pub(crate) fn trust_own_edit(
    context: &Context,
    place: &FilePlace,
    server: &str,
    sandbox: Option<Choice>,
) -> Result<(), Failure> {
    if place.layer != Layer::Project {
        return Ok(());
    }
    let configuration = context.load()?;
    let is_it = |subject: &TrustSubject| matches!(subject, TrustSubject::Server(name) if name == server);
    let request = configuration.untrusted.iter().find(|request| request.file == place.path && is_it(&request.subject));
    match request {
        Some(request) => Ok(context.stores()?.update(|file: &mut TrustFile| {
            let proposed = || match configuration.settings.sandbox.value {
                Choice::In(_) if confinement::why_not(context).is_some() => Choice::Off,
                proposed => proposed,
            };
            let sandbox = sandbox.or_else(|| file.last_sandbox(request)).unwrap_or_else(proposed);
            file.trust(request, Some(sandbox));
        })?),
        None => Ok(()),
    }
}

/// True when the file is not helve's and the person did not name it.
pub(crate) fn belongs_to_another(context: &Context, place: &FilePlace) -> bool {
    place.dialect != Dialect::Helve
        && !context.options.files.iter().any(|file| context.env.working_directory().join(file) == place.path)
}

/// The directory of a person is not a project, and its `helve.toml` would never be read.
fn stands_at_home(context: &Context) -> bool {
    context.env.home() == Some(context.env.working_directory())
}

fn recognise(path: &Path) -> Option<Dialect> {
    let text = fs_err::read_to_string(path).unwrap_or_default();
    let source = Source::new(path, text);
    let root = document::parse(&source, Format::of(path)).ok()?;
    Dialect::recognise(path, &root)
}
