//! Which file an edit goes to, and what has to happen behind it.
//!
//! helve writes its own files. The files of other applications are theirs: helve changes one only when the person
//! names it with `--config`.

use std::path::Path;

use clap::ValueEnum;
use helve_config::document::{self, Format};
use helve_config::edit::{Change, EditError, Edited, edit_file};
use helve_config::{Configuration, ConfiguredServer, Dialect, FilePlace, Source, discover};
use helve_model::{ErrorCode, Layer, ServerName, text};
use helve_setup::{OwnFile, file_of};

pub(crate) use helve_setup::name_in_file;

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
        if project.path.is_file() && !context.setup.stands_at_home() { Scope::Project } else { Scope::User }
    });
    own_file(context, scope)
}

/// helve's own file of a scope, whether it exists or not.
pub(crate) fn own_file(context: &Context, scope: Scope) -> Result<FilePlace, Failure> {
    let which = match scope {
        Scope::User => OwnFile::User,
        Scope::Project | Scope::Local if context.setup.stands_at_home() => {
            return Err(
                Failure::usage("your home directory is not a project").hint("use `--scope user`, or go to a project")
            );
        }
        Scope::Project => OwnFile::Project,
        Scope::Local => OwnFile::Local,
    };
    Ok(context.setup.own_file(which)?)
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

/// True when the file is not helve's and the person did not name it.
pub(crate) fn belongs_to_another(context: &Context, place: &FilePlace) -> bool {
    place.dialect != Dialect::Helve
        && !context.options.files.iter().any(|file| context.env.working_directory().join(file) == place.path)
}

fn recognise(path: &Path) -> Option<Dialect> {
    let text = fs_err::read_to_string(path).unwrap_or_default();
    let source = Source::new(path, text);
    let root = document::parse(&source, Format::of(path)).ok()?;
    Dialect::recognise(path, &root)
}
