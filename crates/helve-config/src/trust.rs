//! What a project would run, as a hash, and whether the person trusts exactly that.
//!
//! A name or a folder is not enough: the same name can start another program tomorrow. The hash covers the command,
//! its arguments, the names and literal values of its environment, its directory, its address, the names of its
//! headers, what it may do without asking, and the content of every file of the project that its command line names.
//! Values of variables are not in it: a rotated token is still the same server.
//!
//! This crate computes and compares; where approvals are kept is the caller's business.

use std::fmt;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use helve_model::{Action, ConfigText, Listed, Rule, ServerSpec, TransportSpec};
use sha2::{Digest as _, Sha256};

use crate::settings::SettingsPatch;

/// Changed with the recipe, so that hashes of different recipes never meet.
const RECIPE: &str = "helve trust 1";

/// Programs that run what a file of the project says, without naming it.
const IMPLIED_FILES: &[(&str, &[&str])] = &[
    ("npm", &["package.json"]),
    ("npx", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("bun", &["package.json"]),
    ("bunx", &["package.json"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("uv", &["pyproject.toml"]),
    ("uvx", &["pyproject.toml"]),
    ("poetry", &["pyproject.toml"]),
    ("make", &["Makefile", "makefile", "GNUmakefile"]),
    ("just", &["justfile", "Justfile"]),
    ("docker", &["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"]),
];

/// Files that change because a server does its work; hashing them would ask the person again every day.
const DATA_EXTENSIONS: &[&str] = &["db", "sqlite", "sqlite3", "duckdb", "log", "csv", "parquet"];

/// Does the person stand behind a server?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// It comes from the person's own files.
    Own,
    /// It comes from a project, and the person trusts exactly this.
    Trusted,
    /// It comes from a project, and nobody has said anything.
    Untrusted,
}

/// The hash of what would run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrustHash([u8; 32]);

/// What the person is asked to trust.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TrustRequest {
    /// The project's directory, with symbolic links resolved.
    pub project: PathBuf,
    /// The file that says so.
    pub file: PathBuf,
    /// What in that file.
    pub subject: TrustSubject,
    /// The hash of it.
    pub hash: TrustHash,
}

/// What in a file is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TrustSubject {
    /// The server of that name.
    Server(String),
    /// The file's settings, and its rules that allow something.
    Rules,
}

/// Where approvals are kept.
pub trait TrustStore {
    /// True when the person has trusted exactly this. Whoever cannot tell says no.
    fn is_trusted(&self, request: &TrustRequest) -> bool;
}

/// A store without any approval.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingTrusted;

/// A text was not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAHash;

impl TrustStore for NothingTrusted {
    fn is_trusted(&self, _: &TrustRequest) -> bool {
        false
    }
}

impl<F: Fn(&TrustRequest) -> bool> TrustStore for F {
    fn is_trusted(&self, request: &TrustRequest) -> bool {
        self(request)
    }
}

/// The hash of what a server of `project` would run.
#[must_use]
pub fn hash_server(spec: &ServerSpec, rules: &[Rule], project: &Path) -> TrustHash {
    let mut hasher = Hasher::new();
    hasher.part("server", spec.name.as_str());
    match &spec.transport {
        TransportSpec::Stdio(stdio) => {
            hasher.part("command", hashed(&stdio.command));
            hasher.list("arguments", stdio.arguments.iter().map(hashed));
            hasher.list("environment", stdio.environment.iter().flat_map(|(name, text)| [name.as_str(), hashed(text)]));
            let directory = stdio.working_directory.as_deref().unwrap_or(project);
            hasher.part("directory", &directory.to_string_lossy());
            for file in started_files(&stdio.command, &stdio.arguments, directory, project) {
                hasher.file(&file);
            }
        }
        TransportSpec::Http(http) => {
            hasher.part("url", hashed(&http.url));
            hasher.list("headers", http.headers.keys().map(String::as_str));
            hasher.part("flavour", &format!("{:?}", http.flavour));
        }
        TransportSpec::Builtin(builtin) => {
            hasher.part("builtin", &builtin.kind);
            for (option, values) in &builtin.options {
                hasher.list(option, values.iter().map(hashed));
            }
        }
    }
    hasher.part("inherits", if spec.inherit_environment { "yes" } else { "no" });
    if let Some(shared) = spec.shared {
        hasher.part("shared", if shared { "by all" } else { "by nobody" });
    }
    if let Some(oauth) = &spec.oauth {
        hasher.part("client", oauth.client_id.as_ref().map_or("", hashed));
        hasher.part("metadata", oauth.metadata_url.as_ref().map_or("", hashed));
        hasher.part("resource", oauth.resource.as_ref().map_or("", hashed));
        hasher.list("scopes", oauth.scopes.iter().map(String::as_str));
    }
    let access = &spec.access;
    hasher.globs("tools", access.tools.as_deref());
    hasher.globs("write tools", access.write_tools.as_deref());
    hasher.globs("disabled tools", Some(&access.disabled_tools));
    hasher.part("readonly", &format!("{:?}", access.readonly));
    hasher.part("annotations", if access.trust_annotations { "trusted" } else { "claims" });
    hasher.rules(rules);
    hasher.finish()
}

/// The hash of a project file's settings and of its rules that allow something.
#[must_use]
pub fn hash_rules(rules: &[Rule], settings: &SettingsPatch) -> TrustHash {
    let mut hasher = Hasher::new();
    let widening: Vec<Rule> = rules.iter().filter(|rule| rule.action == Action::Allow).cloned().collect();
    hasher.rules(&widening);
    let value = |text: Option<String>| text.unwrap_or_default();
    hasher.part("call timeout", &value(settings.call_timeout.as_ref().map(|setting| format!("{:?}", setting.value))));
    hasher.part(
        "startup timeout",
        &value(settings.startup_timeout.as_ref().map(|setting| format!("{:?}", setting.value))),
    );
    hasher.part("retries", &value(settings.max_retries.as_ref().map(|setting| setting.value.to_string())));
    hasher.part("watch", &value(settings.watch.as_ref().map(|setting| setting.value.to_string())));
    hasher.part("cache", &value(settings.cache_tool_schemas.as_ref().map(|setting| setting.value.to_string())));
    hasher.part("ttl", &value(settings.schema_cache_ttl.as_ref().map(|setting| format!("{:?}", setting.value))));
    hasher.part("keep", &value(settings.keep.as_ref().map(|setting| setting.value.to_string())));
    hasher.part("keep idle", &value(settings.keep_idle.as_ref().map(|setting| format!("{:?}", setting.value))));
    hasher.part("readonly", &value(settings.readonly.as_ref().map(|setting| setting.value.to_string())));
    hasher.part("import", &value(settings.import.as_ref().map(|setting| format!("{:?}", setting.value))));
    // Only where they are said, so that a yes to a file that does not say them still counts.
    let later = [
        ("roots", settings.roots.as_ref().map(|setting| format!("{:?}", setting.value))),
        ("sampling command", settings.sampling_command.as_ref().map(|setting| format!("{:?}", setting.value))),
        ("sampling calls", settings.sampling_calls.as_ref().map(|setting| setting.value.to_string())),
        ("sampling tokens", settings.sampling_tokens.as_ref().map(|setting| setting.value.to_string())),
        ("sampling concurrent", settings.sampling_concurrent.as_ref().map(|setting| setting.value.to_string())),
        ("sampling timeout", settings.sampling_timeout.as_ref().map(|setting| format!("{:?}", setting.value))),
        ("calls per server", settings.calls_per_server.as_ref().map(|setting| setting.value.to_string())),
        ("result bytes", settings.result_bytes.as_ref().map(|setting| format!("{:?}", setting.value))),
        ("result cache", settings.result_cache_ttl.as_ref().map(|setting| format!("{:?}", setting.value))),
        ("cacheable tools", settings.cacheable_tools.as_ref().map(|setting| format!("{:?}", setting.value))),
    ];
    for (name, said) in later {
        if let Some(said) = said {
            hasher.part(name, &said);
        }
    }
    hasher.finish()
}

/// The hash of a file's whole content, to notice that it changed.
#[must_use]
pub fn hash_content(content: &[u8]) -> TrustHash {
    TrustHash(Sha256::digest(content).into())
}

/// The written form, or the value itself where it is written out.
fn hashed(text: &ConfigText) -> &str {
    if text.written() == ConfigText::HIDDEN { text.expose() } else { text.written() }
}

/// The files of the project that a command line names, in its order.
fn started_files(
    command: &ConfigText,
    arguments: &[ConfigText],
    directory: &Path,
    project: &Path,
) -> Vec<(PathBuf, PathBuf)> {
    let mut files: Vec<(PathBuf, PathBuf)> = Vec::new();
    let directory = fs_err::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
    let mut consider = |name: &str| {
        let named = directory.join(name);
        // Most words of a command line are no files, which one look tells; a real path takes one for each component.
        if fs_err::symlink_metadata(&named).is_err() {
            return;
        }
        let Ok(real) = fs_err::canonicalize(&named) else { return };
        let inside = lexically_inside(&named, project) || real.starts_with(project);
        if inside && real.is_file() && !is_data(&real) && !files.iter().any(|(_, known)| *known == real) {
            files.push((named, real));
        }
    };
    for text in std::iter::once(command).chain(arguments) {
        let value = text.expose();
        consider(value);
        if let Some((_, value)) = value.split_once('=') {
            consider(value);
        }
        // `sh -c "./run.sh --fast"` starts a script too.
        if value.contains(' ') {
            shell_words::split(value).unwrap_or_default().iter().for_each(|word| consider(word));
        }
    }
    let program = Path::new(command.expose()).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    for (_, implied) in IMPLIED_FILES.iter().filter(|(name, _)| *name == program) {
        implied.iter().for_each(|name| consider(name));
    }
    files
}

/// True for a file that a server works on and nobody runs.
fn is_data(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    DATA_EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
}

/// True when `path` is below `project` before symbolic links are followed: a link out of it is still the project's.
fn lexically_inside(path: &Path, project: &Path) -> bool {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean.starts_with(project)
}

/// Every part goes in with its name and its length, so that no two lists of parts look alike.
struct Hasher(Sha256);

impl Hasher {
    fn new() -> Self {
        let mut hasher = Self(Sha256::new());
        hasher.bytes(RECIPE.as_bytes());
        hasher
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes.len().to_le_bytes());
        self.0.update(bytes);
    }

    fn part(&mut self, name: &str, value: &str) {
        self.bytes(name.as_bytes());
        self.bytes(value.as_bytes());
    }

    fn list<'text>(&mut self, name: &str, values: impl Iterator<Item = &'text str>) {
        let values: Vec<&str> = values.collect();
        self.part(name, &values.len().to_string());
        for value in values {
            self.bytes(value.as_bytes());
        }
    }

    fn globs(&mut self, name: &str, listed: Option<&[Listed]>) {
        match listed {
            Some(listed) => self.list(name, listed.iter().map(|item| item.glob.as_str())),
            None => self.part(name, "unlisted"),
        }
    }

    fn rules(&mut self, rules: &[Rule]) {
        self.part("rules", &rules.len().to_string());
        for rule in rules {
            self.part("tool", &rule.tool);
            self.part("pattern", rule.pattern.as_deref().unwrap_or(""));
            self.part("when", &format!("{:?} {:?} {}", rule.risk, rule.kind, rule.action));
        }
    }

    fn file(&mut self, (named, real): &(PathBuf, PathBuf)) {
        self.part("file", &named.to_string_lossy());
        self.part("is", &real.to_string_lossy());
        let mut content = Sha256::new();
        let mut buffer = [0; 16 * 1024];
        let read = fs_err::File::open(real).and_then(|mut file| {
            loop {
                match file.read(&mut buffer)? {
                    0 => return Ok(()),
                    count => content.update(buffer.get(..count).unwrap_or_default()),
                }
            }
        });
        match read {
            Ok(()) => self.bytes(&content.finalize()),
            Err(_) => self.bytes(b"unreadable"),
        }
    }

    fn finish(self) -> TrustHash {
        TrustHash(self.0.finalize().into())
    }
}

impl fmt::Display for TrustHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for TrustHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for TrustHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(NotAHash);
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NotAHash)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NotAHash)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for NotAHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a trust hash is 64 hexadecimal digits")
    }
}

impl std::error::Error for NotAHash {}
