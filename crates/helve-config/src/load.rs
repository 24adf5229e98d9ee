//! The whole story: find the files, read them, merge them.

use std::path::PathBuf;

use helve_model::Layer;

use crate::allowance::Allowance;
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::dialect::Dialect;
use crate::discover;
use crate::document::{self, Format};
use crate::environment::Environment;
use crate::layer::{CommandLine, Configuration, merge};
use crate::reader::{FileContent, FilePlace, read_within};
use crate::reading::{self, Unread};
use crate::settings::{Import, Settings};
use crate::source::Source;
use crate::trust::{NothingTrusted, TrustStore};

/// A file above this size is not read.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// A project's file above this size is not read.
pub const MAX_PROJECT_FILE_BYTES: u64 = 1024 * 1024;

/// What one load may take: a project's files share one allowance, whatever they hold, and the person's another.
struct Allowances {
    project: Allowance,
    own: Allowance,
}

/// What to load.
pub struct LoadRequest<'a> {
    /// The surroundings.
    pub environment: &'a Environment,
    /// Look for files where the applications keep them.
    pub discover: bool,
    /// Files the person named.
    pub files: Vec<ExplicitFile>,
    /// What the command line adds.
    pub command_line: CommandLine,
    /// What the person trusts.
    pub trust: &'a dyn TrustStore,
}

/// A file the person named.
#[derive(Debug, Clone)]
pub struct ExplicitFile {
    /// Its name.
    pub path: PathBuf,
    /// Its dialect; `None` finds out.
    pub dialect: Option<Dialect>,
}

impl<'a> LoadRequest<'a> {
    /// Everything that is found, and nothing trusted.
    #[must_use]
    pub fn new(environment: &'a Environment) -> Self {
        Self {
            environment,
            discover: true,
            files: Vec::new(),
            command_line: CommandLine::default(),
            trust: &NothingTrusted,
        }
    }
}

impl std::fmt::Debug for LoadRequest<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LoadRequest")
            .field("environment", self.environment)
            .field("discover", &self.discover)
            .field("files", &self.files)
            .field("command_line", &self.command_line)
            .finish_non_exhaustive()
    }
}

/// Loads a configuration. Never fails: whatever cannot be used is a diagnostic, and the rest works.
#[must_use]
pub fn load(request: LoadRequest<'_>) -> Configuration {
    let environment = request.environment;
    let mut contents = Vec::new();
    let mut diagnostics = Vec::new();
    let allowances = Allowances::new();
    let mut unread = Vec::new();
    for file in &request.files {
        explicit(file, environment, &allowances, &mut contents, &mut diagnostics);
    }
    if request.discover {
        let own: Vec<FileContent> = discover::own_files(environment)
            .iter()
            .filter_map(|place| default_file(place, environment, &allowances, &mut unread, &mut diagnostics))
            .collect();
        let import = import_setting(&contents, &own, &request.command_line);
        contents.extend(own);
        let imported = discover::imported_files(environment, &import);
        let read = |place| default_file(place, environment, &allowances, &mut unread, &mut diagnostics);
        contents.extend(imported.iter().filter_map(read));
    }
    let mut configuration = merge(contents, request.command_line, request.trust);
    diagnostics.append(&mut configuration.diagnostics);
    configuration.diagnostics = diagnostics;
    configuration.unread = unread;
    configuration
}

/// Which applications to import from. A project cannot change it: it would choose what the person's tools are.
fn import_setting(explicit: &[FileContent], own: &[FileContent], command_line: &CommandLine) -> Import {
    let mut settings = Settings::default();
    for content in own.iter().filter(|content| content.place.layer == Layer::User).chain(explicit) {
        settings.apply(&content.settings);
    }
    settings.apply(&command_line.settings);
    settings.import.value
}

/// A file that may be missing.
fn default_file(
    place: &FilePlace,
    environment: &Environment,
    allowances: &Allowances,
    unread: &mut Vec<FilePlace>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<FileContent> {
    let (max, allowance) = allowances.of(place.layer);
    let reason = if place.layer == Layer::Project && discover::leaves(&place.path, &place.project) {
        "it is a link to a file outside of the project".to_owned()
    } else {
        match reading::text(&place.path, max, &allowance.budget) {
            Ok(text) if is_relevant(place, &text) => return Some(read_within(place, &text, environment, allowance)),
            Ok(_) => return None,
            // Gone since it was found, or never the directory that it would have been in.
            Err(Unread::Missing) if !discover::is_there(&place.path, place.dialect) => return None,
            Err(Unread::Missing) => "it is a link to nothing".to_owned(),
            Err(reason) => reason.to_string(),
        }
    };
    let shown = quoted(&place.path.to_string_lossy());
    let diagnostic = if place.dialect.holds_rules() {
        // Nobody knows which rules those are.
        Diagnostic::error(Code::Unreadable, format!("{shown} cannot be read: {reason}"))
    } else {
        Diagnostic::warning(Code::Unreadable, format!("{shown} is left out: {reason}"))
    };
    diagnostics.push(diagnostic.in_file(&place.path));
    unread.push(place.clone());
    None
}

/// Some applications use names that anybody may use, `config/settings.yaml` for instance. Such a file that does not
/// speak of servers is somebody else's, and its mistakes are none of ours.
fn is_relevant(place: &FilePlace, text: &str) -> bool {
    let is_anybodys = match place.dialect {
        Dialect::Strawberry => true,
        Dialect::VsCode => !place.path.ends_with("mcp.json"),
        _ => place.path.ends_with("server_config.json"),
    };
    !is_anybodys || text.contains("mcp")
}

fn explicit(
    file: &ExplicitFile,
    environment: &Environment,
    allowances: &Allowances,
    contents: &mut Vec<FileContent>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let path = environment.working_directory.join(&file.path);
    let shown = quoted(&file.path.to_string_lossy());
    let (max, allowance) = allowances.of(Layer::Explicit);
    let text = match reading::text(&path, max, &allowance.budget) {
        Ok(text) => text,
        Err(Unread::Missing | Unread::NotADirectory) => {
            let message = format!("there is no file {shown}");
            diagnostics.push(Diagnostic::error(Code::MissingFile, message).in_file(&file.path));
            return;
        }
        Err(reason) => {
            let message = format!("{shown} cannot be read: {reason}");
            diagnostics.push(Diagnostic::error(Code::Unreadable, message).in_file(&file.path));
            return;
        }
    };
    let dialect = match file.dialect {
        Some(dialect) => dialect,
        None => match document::parse(&Source::new(&path, &text), Format::of(&path)) {
            Err(diagnostic) => {
                diagnostics.push(*diagnostic);
                return;
            }
            Ok(root) => match Dialect::recognise(&path, &root) {
                Some(dialect) => dialect,
                None => {
                    let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
                    let message = format!("{shown} has no servers in any known form");
                    let hint = format!("say which form it has: {}", names.join(", "));
                    diagnostics.push(Diagnostic::error(Code::UnknownDialect, message).hint(hint).in_file(&file.path));
                    return;
                }
            },
        },
    };
    let place = FilePlace {
        path,
        application: dialect.name(),
        dialect,
        layer: Layer::Explicit,
        project: discover::project_root(environment),
    };
    contents.push(read_within(&place, &text, environment, allowance));
}

impl Allowances {
    const fn new() -> Self {
        Self { project: Allowance::of(Layer::Project), own: Allowance::of(Layer::User) }
    }

    const fn of(&self, layer: Layer) -> (u64, &Allowance) {
        match layer {
            Layer::Project => (MAX_PROJECT_FILE_BYTES, &self.project),
            _ => (MAX_FILE_BYTES, &self.own),
        }
    }
}
