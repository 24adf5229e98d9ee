//! The whole story: find the files, read them, merge them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use helve_model::Layer;

use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::dialect::Dialect;
use crate::discover;
use crate::document::{self, Format};
use crate::environment::Environment;
use crate::layer::{CommandLine, Configuration, merge};
use crate::reader::{FileContent, FilePlace, read_text};
use crate::settings::{Import, Settings};
use crate::source::Source;
use crate::trust::{NothingTrusted, TrustStore};

/// A file above this size is not read.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What to load.
pub struct Request<'a> {
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

impl<'a> Request<'a> {
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

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Request")
            .field("environment", self.environment)
            .field("discover", &self.discover)
            .field("files", &self.files)
            .field("command_line", &self.command_line)
            .finish_non_exhaustive()
    }
}

/// Loads a configuration. Never fails: whatever cannot be used is a diagnostic, and the rest works.
#[must_use]
pub fn load(request: Request<'_>) -> Configuration {
    let environment = request.environment;
    let mut contents = Vec::new();
    let mut diagnostics = Vec::new();
    for file in &request.files {
        explicit(file, environment, &mut contents, &mut diagnostics);
    }
    if request.discover {
        let own: Vec<FileContent> = discover::own_files(environment)
            .iter()
            .filter_map(|place| default_file(place, environment, &mut diagnostics))
            .collect();
        let import = import_setting(&contents, &own, &request.command_line);
        contents.extend(own);
        let imported = discover::imported_files(environment, &import, &mut diagnostics);
        contents.extend(imported.iter().filter_map(|place| default_file(place, environment, &mut diagnostics)));
    }
    let mut configuration = merge(contents, request.command_line, request.trust);
    diagnostics.append(&mut configuration.diagnostics);
    configuration.diagnostics = diagnostics;
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
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<FileContent> {
    match read_bytes(&place.path) {
        Ok(text) if is_relevant(place, &text) => Some(read_text(place, &text, environment)),
        Ok(_) => None,
        Err(Unreadable::Missing) => None,
        Err(Unreadable::Other(reason)) => {
            let shown = quoted(&place.path.to_string_lossy());
            let diagnostic = match place.dialect {
                // It may hold rules, and nobody knows which.
                Dialect::Helve => Diagnostic::error(Code::Unreadable, format!("{shown} cannot be read: {reason}")),
                _ => Diagnostic::warning(Code::Unreadable, format!("{shown} is left out: {reason}")),
            };
            diagnostics.push(diagnostic.in_file(&place.path));
            None
        }
    }
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
    contents: &mut Vec<FileContent>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let path = environment.working_directory.join(&file.path);
    let shown = quoted(&file.path.to_string_lossy());
    let text = match read_bytes(&path) {
        Ok(text) => text,
        Err(Unreadable::Missing) => {
            let message = format!("there is no file {shown}");
            diagnostics.push(Diagnostic::error(Code::MissingFile, message).in_file(&file.path));
            return;
        }
        Err(Unreadable::Other(reason)) => {
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
                    let hint = format!("say which form it has with --dialect: {}", names.join(", "));
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
    contents.push(read_text(&place, &text, environment));
}

enum Unreadable {
    Missing,
    Other(&'static str),
}

fn read_bytes(path: &Path) -> Result<String, Unreadable> {
    let metadata = fs_err::metadata(path).map_err(|error| unreadable(error.kind()))?;
    if !metadata.is_file() {
        return Err(Unreadable::Missing);
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(Unreadable::Other("it is larger than 64 MiB"));
    }
    let bytes = fs_err::read(path).map_err(|error| unreadable(error.kind()))?;
    String::from_utf8(bytes).map_err(|_| Unreadable::Other("it is not UTF-8"))
}

const fn unreadable(kind: ErrorKind) -> Unreadable {
    match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Unreadable::Missing,
        ErrorKind::PermissionDenied => Unreadable::Other("permission denied"),
        _ => Unreadable::Other("reading it failed"),
    }
}
