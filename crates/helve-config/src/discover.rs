//! Which files there are: where every application keeps its servers, on Linux and on macOS.
//!
//! The order of the table is the order of precedence within a layer. A file that does not exist is silence.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use helve_model::Layer;

use crate::dialect::Dialect;
use crate::environment::{Environment, Platform, variable};
use crate::reader::FilePlace;
use crate::settings::Import;

/// Directories above the working directory are looked at no further than this.
const MAX_PARENTS: usize = 64;

/// More profiles or workspaces than this are not looked at.
const MAX_LISTED: usize = 64;

/// Where a path of the table starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// The working directory and its parents up to the repository's root.
    Project,
    /// The home directory.
    Home,
    /// `$XDG_CONFIG_HOME`, or `~/.config`, on both platforms.
    Config,
    /// Personal application data: `~/.config` on Linux, `~/Library/Application Support` on macOS.
    Support,
    /// `/etc`, on Linux.
    Etc,
    /// `/Library/Application Support`, on macOS.
    Library,
    /// A directory or file that a variable names.
    Variable(&'static str),
}

/// One place where one application keeps servers.
struct Location {
    application: &'static str,
    dialect: Dialect,
    base: Base,
    path: &'static str,
}

const fn at(application: &'static str, dialect: Dialect, base: Base, path: &'static str) -> Location {
    Location { application, dialect, base, path }
}

/// helve's file in a project, for everybody who works on it.
pub const PROJECT_FILE: &str = "helve.toml";

/// helve's file in a project, for this person alone; not meant for version control.
pub const LOCAL_FILE: &str = "helve.local.toml";

/// helve's file for the person, in the directory for personal configuration.
const USER_FILE: &str = "helve/helve.toml";

const OWN: &[Location] = &[
    at("helve", Dialect::Helve, Base::Project, LOCAL_FILE),
    at("helve", Dialect::Helve, Base::Project, PROJECT_FILE),
    at("helve", Dialect::Helve, Base::Config, USER_FILE),
];

const IMPORTED: &[Location] = &[
    at("mcp-json", Dialect::McpJson, Base::Project, ".mcp.json"),
    at("mcp-json", Dialect::McpJson, Base::Home, ".mcp.json"),
    at("claude-loop", Dialect::ClaudeLoop, Base::Project, ".claude-loop/mcp-config.json"),
    at("loom", Dialect::Loom, Base::Project, "mcp-config.toml"),
    at("strawberry", Dialect::Strawberry, Base::Project, "config/settings.yaml"),
    at("claude-code", Dialect::ClaudeCode, Base::Variable(variable::CLAUDE_CONFIG_DIR), ".claude.json"),
    at("claude-code", Dialect::ClaudeCode, Base::Home, ".claude.json"),
    at("claude-code", Dialect::ClaudeSettings, Base::Project, ".claude/settings.local.json"),
    at("claude-code", Dialect::ClaudeSettings, Base::Project, ".claude/settings.json"),
    at("claude-code", Dialect::ClaudeSettings, Base::Home, ".claude/settings.json"),
    at("claude-managed", Dialect::McpJson, Base::Etc, "claude-code/managed-mcp.json"),
    at("claude-managed", Dialect::McpJson, Base::Library, "ClaudeCode/managed-mcp.json"),
    at("claude-desktop", Dialect::ClaudeDesktop, Base::Support, "Claude/claude_desktop_config.json"),
    at("vscode", Dialect::VsCode, Base::Project, ".vscode/mcp.json"),
    at("vscode", Dialect::VsCode, Base::Project, ".vscode/settings.json"),
    at("vscode", Dialect::VsCode, Base::Project, "*.code-workspace"),
    at("vscode", Dialect::VsCode, Base::Project, ".devcontainer/devcontainer.json"),
    at("vscode", Dialect::VsCode, Base::Project, ".devcontainer.json"),
    at("vscode", Dialect::VsCode, Base::Support, "Code/User/mcp.json"),
    at("vscode", Dialect::VsCode, Base::Support, "Code/User/settings.json"),
    at("vscode", Dialect::VsCode, Base::Support, "Code/User/profiles/*/mcp.json"),
    at("vscode-insiders", Dialect::VsCode, Base::Support, "Code - Insiders/User/mcp.json"),
    at("vscodium", Dialect::VsCode, Base::Support, "VSCodium/User/mcp.json"),
    at("cursor", Dialect::Cursor, Base::Project, ".cursor/mcp.json"),
    at("cursor", Dialect::Cursor, Base::Home, ".cursor/mcp.json"),
    at("codex", Dialect::Codex, Base::Project, ".codex/config.toml"),
    at("codex", Dialect::Codex, Base::Variable(variable::CODEX_HOME), "config.toml"),
    at("codex", Dialect::Codex, Base::Home, ".codex/config.toml"),
    at("copilot", Dialect::Copilot, Base::Project, ".github/mcp.json"),
    at("copilot", Dialect::Copilot, Base::Home, ".copilot/mcp-config.json"),
    at("gemini", Dialect::Gemini, Base::Project, ".gemini/settings.json"),
    at("gemini", Dialect::Gemini, Base::Home, ".gemini/settings.json"),
    at("opencode", Dialect::Opencode, Base::Project, "opencode.json"),
    at("opencode", Dialect::Opencode, Base::Project, "opencode.jsonc"),
    at("opencode", Dialect::Opencode, Base::Project, ".opencode/opencode.json"),
    at("opencode", Dialect::Opencode, Base::Project, ".opencode/opencode.jsonc"),
    at("opencode", Dialect::Opencode, Base::Variable(variable::OPENCODE_CONFIG), ""),
    at("opencode", Dialect::Opencode, Base::Variable(variable::OPENCODE_CONFIG_DIR), "opencode.json"),
    at("opencode", Dialect::Opencode, Base::Variable(variable::OPENCODE_CONFIG_DIR), "opencode.jsonc"),
    at("opencode", Dialect::Opencode, Base::Config, "opencode/opencode.json"),
    at("opencode", Dialect::Opencode, Base::Config, "opencode/opencode.jsonc"),
    at("zed", Dialect::Zed, Base::Project, ".zed/settings.json"),
    at("zed", Dialect::Zed, Base::Variable(variable::FLATPAK_XDG_CONFIG_HOME), "zed/settings.json"),
    at("zed", Dialect::Zed, Base::Config, "zed/settings.json"),
    at("goose", Dialect::Goose, Base::Project, ".goose/config.yaml"),
    at("goose", Dialect::Goose, Base::Config, "goose/config.yaml"),
    at("windsurf", Dialect::Windsurf, Base::Home, ".codeium/windsurf/mcp_config.json"),
    at("windsurf-next", Dialect::Windsurf, Base::Home, ".codeium/windsurf-next/mcp_config.json"),
    at("antigravity", Dialect::Windsurf, Base::Home, ".gemini/config/mcp_config.json"),
    at(
        "cline",
        Dialect::Cline,
        Base::Support,
        "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ),
    at("cline", Dialect::Cline, Base::Home, ".cline/data/settings/cline_mcp_settings.json"),
    at("kiro", Dialect::Kiro, Base::Project, ".kiro/settings/mcp.json"),
    at("kiro", Dialect::Kiro, Base::Home, ".kiro/settings/mcp.json"),
    at("mcporter", Dialect::Mcporter, Base::Project, "config/mcporter.json"),
    at("mcporter", Dialect::Mcporter, Base::Home, ".mcporter/mcporter.json"),
    at("mcporter", Dialect::Mcporter, Base::Home, ".mcporter/mcporter.jsonc"),
    at("mcporter", Dialect::Mcporter, Base::Config, "mcporter/mcporter.json"),
    at("mcporter", Dialect::Mcporter, Base::Config, "mcporter/mcporter.jsonc"),
    at("mcp-cli", Dialect::McpJson, Base::Project, "mcp_servers.json"),
    at("mcp-cli", Dialect::McpJson, Base::Home, ".mcp_servers.json"),
    at("mcp-cli", Dialect::McpJson, Base::Config, "mcp/mcp_servers.json"),
    at("inspector", Dialect::McpJson, Base::Home, ".mcp-inspector/mcp.json"),
    at("fastmcp", Dialect::McpJson, Base::Project, "mcp.json"),
    at("ibm-mcp-cli", Dialect::McpJson, Base::Project, "server_config.json"),
    at("kilo", Dialect::Opencode, Base::Project, "kilo.json"),
    at("kilo", Dialect::Opencode, Base::Config, "kilo/kilo.json"),
    at("kimi", Dialect::McpJson, Base::Project, ".kimi-code/mcp.json"),
    at("kimi", Dialect::McpJson, Base::Home, ".kimi-code/mcp.json"),
    at("grok", Dialect::Codex, Base::Project, ".grok/config.toml"),
    at("grok", Dialect::Codex, Base::Home, ".grok/config.toml"),
    at("pi", Dialect::McpJson, Base::Project, ".pi/mcp.json"),
    at("pi", Dialect::McpJson, Base::Home, ".pi/agent/mcp.json"),
    at("mastra", Dialect::McpJson, Base::Project, ".mastracode/mcp.json"),
    at("mastra", Dialect::McpJson, Base::Home, ".mastracode/mcp.json"),
    at("fx", Dialect::Opencode, Base::Home, ".fx/mcp.json"),
];

/// The names that the setting `import` knows.
#[must_use]
pub fn applications() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = IMPORTED.iter().map(|location| location.application).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    names
}

/// The root of the repository around the working directory, or the working directory itself.
#[must_use]
pub fn project_root(environment: &Environment) -> PathBuf {
    project_directories(environment).pop().unwrap_or_else(|| environment.working_directory.clone())
}

/// Where a file of helve's own is for the project the person stands in, whether it exists or not.
#[must_use]
pub fn own_project_file(environment: &Environment, name: &str) -> FilePlace {
    let directories = project_directories(environment);
    let nearest = directories.iter().find(|directory| directory.join(name).is_file());
    let directory = nearest.or_else(|| directories.last()).unwrap_or(&environment.working_directory);
    own_place(directory.join(name), Layer::Project, directory.clone())
}

/// Where the person's own file is, whether it exists or not; `None` without a home directory.
#[must_use]
pub fn own_user_file(environment: &Environment) -> Option<FilePlace> {
    let path = environment.config_home()?.join(USER_FILE);
    Some(own_place(path, Layer::User, project_root(environment)))
}

const fn own_place(path: PathBuf, layer: Layer, project: PathBuf) -> FilePlace {
    FilePlace { path, application: "helve", dialect: Dialect::Helve, layer, project }
}

/// The file that an application reads servers from in this layer, whether it exists or not: of several the one that is there.
/// `None` where it has none, or nobody knows where it would be.
#[must_use]
pub fn file_of_application(environment: &Environment, application: &str, layer: Layer) -> Option<FilePlace> {
    // Claude Code's file for a project is the one that many applications read.
    let named = match (application, layer) {
        ("claude-code", Layer::Project) => "mcp-json",
        _ => application,
    };
    let root = project_root(environment);
    // Of VS Code's files one is for servers; the others may hold some.
    let holds_servers = |location: &&Location| {
        location.application == named
            && !location.path.contains('*')
            && match location.dialect {
                Dialect::ClaudeSettings => false,
                Dialect::VsCode => location.path.ends_with("mcp.json"),
                _ => true,
            }
    };
    let places = IMPORTED.iter().filter(holds_servers).filter_map(|location| {
        let base = match (location.base, layer) {
            (Base::Project, Layer::Project) => root.clone(),
            (Base::Project, _) | (_, Layer::Project) => return None,
            (base, _) => base.directory(environment)?,
        };
        let path = if location.path.is_empty() { base } else { base.join(location.path) };
        let Location { application, dialect, .. } = *location;
        Some(FilePlace { path, application, dialect, layer, project: root.clone() })
    });
    let places: Vec<FilePlace> = places.collect();
    places.iter().find(|place| place.path.is_file()).or_else(|| places.first()).cloned()
}

/// helve's own files that are there, readable or not, those of higher precedence first.
#[must_use]
pub fn own_files(environment: &Environment) -> Vec<FilePlace> {
    existing(OWN, environment, &Import::All)
}

/// The files of other applications that are there, readable or not, those of higher precedence first.
#[must_use]
pub fn imported_files(environment: &Environment, import: &Import) -> Vec<FilePlace> {
    existing(IMPORTED, environment, import)
}

fn existing(locations: &[Location], environment: &Environment, import: &Import) -> Vec<FilePlace> {
    let directories = project_directories(environment);
    let root = project_root(environment);
    let is_wanted = |location: &&Location| location.dialect == Dialect::Helve || import.includes(location.application);
    let mut places: Vec<FilePlace> = Vec::new();
    let mut known: HashSet<PathBuf> = HashSet::new();
    let mut add = |location: &Location, path: PathBuf, layer: Layer, project: &Path| {
        let Location { application, dialect, .. } = *location;
        if !known.contains(&path) && is_there(&path, dialect) {
            known.insert(path.clone());
            places.push(FilePlace { path, application, dialect, layer, project: project.to_path_buf() });
        }
    };
    // The nearest directory first: what stands closer to the person wins.
    for directory in &directories {
        for location in locations.iter().filter(is_wanted).filter(|location| location.base == Base::Project) {
            for path in expand(directory, location.path) {
                add(location, path, Layer::Project, directory);
            }
        }
    }
    for location in locations.iter().filter(is_wanted) {
        if let Some(base) = location.base.directory(environment) {
            for path in expand(&base, location.path) {
                add(location, path, Layer::User, &root);
            }
        }
    }
    places
}

impl Base {
    fn directory(self, environment: &Environment) -> Option<PathBuf> {
        match (self, environment.platform) {
            (Self::Project, _) => None,
            (Self::Home, _) => environment.home.clone(),
            (Self::Config, _) | (Self::Support, Platform::Linux) => environment.config_home(),
            (Self::Support, Platform::MacOs) => Some(environment.home.as_ref()?.join("Library/Application Support")),
            (Self::Etc, Platform::Linux) => Some(environment.system_root.join("etc")),
            (Self::Library, Platform::MacOs) => Some(environment.system_root.join("Library/Application Support")),
            (Self::Etc, Platform::MacOs) | (Self::Library, Platform::Linux) => None,
            (Self::Variable(name), _) => environment.directory(name),
        }
    }
}

/// The working directory and its parents up to the repository's root, nearest first. Without a repository only the
/// working directory; never the home directory, whose files are the person's own.
fn project_directories(environment: &Environment) -> Vec<PathBuf> {
    let is_home = |path: &Path| environment.home.as_deref() == Some(path);
    let mut directories = Vec::new();
    for directory in environment.working_directory.ancestors().take(MAX_PARENTS) {
        if is_home(directory) {
            break;
        }
        directories.push(directory.to_path_buf());
        if directory.join(".git").exists() {
            return directories;
        }
    }
    directories.truncate(1);
    directories
}

/// The paths a table entry stands for: `*` is every file or directory that fits.
fn expand(base: &Path, path: &str) -> Vec<PathBuf> {
    if path.is_empty() {
        return vec![base.to_path_buf()];
    }
    let Some((before, after)) = path.split_once('*') else { return vec![base.join(path)] };
    let directory = base.join(before);
    let Ok(entries) = fs_err::read_dir(&directory) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .take(MAX_LISTED)
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter_map(|path| match after.strip_prefix('/') {
            Some(below) => Some(path.join(below)),
            None => path.to_str().is_some_and(|name| name.ends_with(after)).then_some(path),
        })
        .collect();
    found.sort();
    found
}

/// True when something has that name, whatever it is and whether it can be read or not.
///
/// Where it may hold rules, *missing* has to be certain: a directory that cannot be searched, a link to nothing and a file
/// in the place of a directory all hide what stands behind them.
pub(crate) fn is_there(path: &Path, dialect: Dialect) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(_) if !dialect.holds_rules() => false,
        Err(error) => match error.kind() {
            ErrorKind::NotFound => is_behind_a_dead_link(path),
            ErrorKind::NotADirectory => {
                let parent = path.parent().map(Path::symlink_metadata);
                parent.is_some_and(|about| about.is_ok_and(|about| !about.is_dir()))
            }
            _ => true,
        },
    }
}

/// True when the nearest directory above that has an entry is a link to nothing.
fn is_behind_a_dead_link(path: &Path) -> bool {
    let nearest = path.ancestors().skip(1).find_map(|above| above.symlink_metadata().ok());
    nearest.is_some_and(|about| about.is_symlink())
}

/// True when a file of the project is a link to somewhere else.
pub(crate) fn leaves(path: &Path, project: &Path) -> bool {
    // Real paths take a look at every directory above; without a link below the project they would tell nothing new.
    let mut below = path.ancestors().take_while(|above| *above != project);
    if path.starts_with(project) && !below.any(|part| part.symlink_metadata().is_ok_and(|about| about.is_symlink())) {
        return false;
    }
    match (fs_err::canonicalize(path), fs_err::canonicalize(project)) {
        (Ok(path), Ok(project)) => !path.starts_with(project),
        // It cannot be read either, and reading tells why.
        _ => false,
    }
}
