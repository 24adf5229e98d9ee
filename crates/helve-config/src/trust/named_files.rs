//! Which files of a project a command line runs, or names: the program, what an interpreter reads, every word of a
//! shell's line, and other words that name a file.
//!
//! What is in doubt counts: a file too many asks the person once more, a file too few runs what nobody saw.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use helve_model::{ConfigText, StdioSpec};
use serde_json::Value;

use super::interpreters::{Interpreter, Kind, interpreter, python_flag};
use super::shell::{self, Word};
use super::spelling::{clean, is_assignment, is_data, is_short, location, matches, tidy};
use crate::reading::{self, Budget};

/// Variables that make a program run or load what they name, whatever its extension.
const LOADING_VARIABLES: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "PERL5OPT",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "DENO_CONFIG",
];

/// Words of a shell in front of the command itself.
const PREFIXES: &[&str] = &[
    "exec", "command", "builtin", "time", "nohup", "nice", "ionice", "env", "sudo", "doas", "setsid", "stdbuf",
    "timeout", "then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "fi", "done",
];

/// What `server` can mean to Node and its kin.
const NODE_EXTENSIONS: &[&str] = &["js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "jsx", "json", "node"];

/// Options behind which nothing is code any more.
const LAST_LOADS: &[&str] = &["-jar", "-cp", "-classpath", "--class-path", "-f"];

/// A command line may hold another, as a script of a `package.json` does, this deep.
const MAX_DEPTH: usize = 8;

/// So many looks at words; a command line that needs more is not looked at as a whole: see [`Named::is_whole`].
const MAX_STEPS: usize = 4_096;

/// More files than this are not what anybody starts a server with.
const MAX_FILES: usize = 256;

/// A directory with more entries is not matched against a pattern.
const MAX_ENTRIES: usize = 1_024;

/// A `package.json` or `deno.json` is read up to this size.
const MAX_MANIFEST: u64 = 1024 * 1024;

/// The files a command line names.
#[derive(Debug)]
pub(super) struct Named {
    /// In the order in which they were met, each once.
    pub(super) files: Vec<NamedFile>,
    /// False when the command line names more than anybody would look at.
    pub(super) is_whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedFile {
    /// As it is named, absolute. A `..` stays: behind a link it leads elsewhere than it seems.
    pub(super) path: PathBuf,
    /// It is the program itself, which the system runs.
    pub(super) is_program: bool,
}

/// The files that a program's entry names. `search_path` is where a bare name is looked up, unless the entry says so.
pub(super) fn files(
    stdio: &StdioSpec,
    directory: &Path,
    project: &Path,
    search_path: Option<&str>,
    budget: &Budget,
) -> Named {
    let own_path = stdio.environment.get("PATH").map(ConfigText::expose);
    let mut finder = Finder {
        stdio,
        project,
        search_path: own_path.or(search_path),
        budget,
        directories: vec![directory.to_path_buf()],
        found: Vec::new(),
        known: HashSet::new(),
        manifests: HashMap::new(),
        steps_left: MAX_STEPS,
        is_whole: true,
        is_any_word: false,
    };
    let texts = std::iter::once(&stdio.command).chain(&stdio.arguments);
    let words: Vec<Word> = texts.map(|text| plain(text.expose())).collect();
    finder.command(&words, directory, 0);
    for (name, text) in &stdio.environment {
        let strictness = if LOADING_VARIABLES.contains(&name.as_str()) { Any::Extension } else { Any::ButData };
        for piece in text.expose().split([' ', '\t', '\n', ':', ',']) {
            finder.word(piece, directory, strictness);
        }
    }
    Named { files: finder.found, is_whole: finder.is_whole }
}

/// Whether a word that names data counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Any {
    /// It is run, whatever it is called.
    Extension,
    /// It is named; what a server works on does not count.
    ButData,
}

struct Finder<'a> {
    stdio: &'a StdioSpec,
    project: &'a Path,
    search_path: Option<&'a str>,
    budget: &'a Budget,
    /// Where words are looked up: the directory the command begins in, and each that a shell's line changes to.
    directories: Vec<PathBuf>,
    found: Vec<NamedFile>,
    known: HashSet<PathBuf>,
    manifests: HashMap<PathBuf, Option<Value>>,
    steps_left: usize,
    is_whole: bool,
    /// Something reads code that nobody can see here: every word of its line may be that code.
    is_any_word: bool,
}

impl Finder<'_> {
    /// False when enough has been looked at; then the answer is not whole.
    const fn may_look(&mut self) -> bool {
        match self.steps_left.checked_sub(1) {
            Some(left) => self.steps_left = left,
            None => self.is_whole = false,
        }
        self.is_whole
    }

    /// The same for a command line inside another.
    const fn may_enter(&mut self, depth: usize) -> bool {
        self.is_whole &= depth <= MAX_DEPTH;
        self.may_look()
    }

    /// One simple command: a program and its words.
    fn command(&mut self, words: &[Word], directory: &Path, depth: usize) {
        if !self.may_enter(depth) {
            return;
        }
        let is_prefix = |word: &Word| {
            PREFIXES.contains(&word.text.as_str()) || is_assignment(&word.text) || word.text.starts_with('-')
        };
        // `env A=1 ./run`, `exec ./run`: each of these words may be the program's, and nothing is lost by a look.
        let first = words.iter().position(|word| !is_prefix(word)).unwrap_or(0);
        for word in words.iter().take(first + 1) {
            if word.is_open {
                self.is_any_word = true;
            }
            self.program(&word.text, directory);
        }
        for (index, word) in words.iter().enumerate() {
            let rest = words.get(index + 1..).unwrap_or_default();
            if let Some(found) = interpreter(&word.text) {
                self.interpret(found, rest, directory, depth);
            }
            match word.text.as_str() {
                "." | "source" if index == first => match rest.first() {
                    Some(word) if !word.is_open => self.word(&word.text, directory, Any::Extension),
                    _ => self.is_any_word = true,
                },
                "eval" | "xargs" | "parallel" => self.is_any_word = true,
                _ => {}
            }
        }
        for word in words.iter().skip(1) {
            let any = if self.is_any_word { Any::Extension } else { Any::ButData };
            self.word(&word.text, directory, any);
            // `env -S "sh server"`, `--command "node ."`.
            if word.text.contains([' ', '\t', '\n']) {
                self.line(&word.text, directory, depth + 1);
            }
        }
    }

    /// A line of a shell.
    fn line(&mut self, line: &str, directory: &Path, depth: usize) {
        if !self.may_enter(depth) {
            return;
        }
        let stdio = self.stdio;
        let here = directory.to_path_buf();
        let variable = |name: &str| match name {
            "PWD" => Some(here.to_string_lossy().into_owned()),
            _ => stdio.environment.get(name).map(|text| text.expose().to_owned()),
        };
        let commands = shell::commands(line, variable);
        let before = std::mem::replace(&mut self.is_any_word, false);
        let outer = self.directories.len();
        let mut current = directory.to_path_buf();
        for words in &commands {
            if !self.may_look() {
                break;
            }
            if let [word, target, ..] = &words[..]
                && matches!(word.text.as_str(), "cd" | "pushd")
            {
                if !target.is_open {
                    current = tidy(&current.join(&target.text));
                    self.directories.push(current.clone());
                }
                continue;
            }
            // A subshell's `cd` ends with it: what follows may run in any directory so far.
            for directory in self.directories.get(outer..).unwrap_or_default().to_vec() {
                self.command(words, &directory, depth);
            }
            self.command(words, directory, depth);
        }
        if self.is_any_word {
            for word in commands.iter().flatten() {
                for directory in self.directories.clone() {
                    self.word(&word.text, &directory, Any::Extension);
                }
            }
        }
        self.directories.truncate(outer);
        self.is_any_word |= before;
    }

    /// What an interpreter reads, given the words behind its name.
    fn interpret(&mut self, interpreter: &'static Interpreter, words: &[Word], directory: &Path, depth: usize) {
        let mut directory = directory.to_path_buf();
        let (mut has_entry, mut is_line, mut index) = (false, false, 0);
        let mut follows_unknown = false;
        while let Some(word) = words.get(index) {
            if !self.may_look() {
                return;
            }
            index += 1;
            let text = word.text.as_str();
            let next = words.get(index);
            if word.is_input {
                // What it reads from its input may be what it runs.
                self.entry(interpreter, text, &directory);
                continue;
            }
            if text.starts_with(['-', '+']) && text.len() > 1 && text != "--" {
                let (option, value) = match text.split_once('=') {
                    Some((option, value)) => (option, Some(value)),
                    None => (text, None),
                };
                let takes = |options: &[&str]| options.contains(&option);
                let separate = || next.map(|word| word.text.as_str());
                follows_unknown = false;
                if interpreter.kind == Kind::Shell && is_short(text) && text.contains('c') {
                    is_line = true;
                } else if let Some((letter, attached)) = python_flag(interpreter.kind, text) {
                    let value = if attached.is_empty() { separate().unwrap_or_default() } else { attached };
                    match letter {
                        'm' => self.python_module(value, &directory),
                        _ => self.code(value, &directory),
                    }
                    has_entry = true;
                    break;
                } else if takes(interpreter.directories) {
                    directory = tidy(&directory.join(value.or_else(separate).unwrap_or_default()));
                    index += usize::from(value.is_none());
                } else if takes(interpreter.code) {
                    self.code(value.or_else(separate).unwrap_or_default(), &directory);
                    (has_entry, index) = (true, index + usize::from(value.is_none()));
                } else if takes(interpreter.loads) {
                    let loaded = value.or_else(separate).unwrap_or_default();
                    for path in loaded.split(':') {
                        self.entry(interpreter, path, &directory);
                    }
                    index += usize::from(value.is_none());
                    if interpreter.kind == Kind::Plain && LAST_LOADS.contains(&option) {
                        has_entry = true;
                        break;
                    }
                } else if takes(interpreter.values) {
                    index += usize::from(value.is_none());
                } else {
                    follows_unknown = value.is_none();
                }
                continue;
            }
            if interpreter.verbs.contains(&text) || text == "--" {
                continue;
            }
            if is_line {
                self.line(text, &directory, depth + 1);
                self.is_any_word |= word.is_open;
                has_entry = true;
                break;
            }
            if word.is_open {
                self.is_any_word = true;
            }
            let entry = match interpreter.kind {
                Kind::Package | Kind::Deno => {
                    self.script(text, &directory, depth) | self.entry(interpreter, text, &directory)
                }
                Kind::Recipes => false,
                Kind::PythonRunner => {
                    let rest = words.get(index - 1..).unwrap_or_default();
                    self.command(rest, &directory, depth + 1);
                    self.entry(interpreter, text, &directory)
                }
                Kind::Shell | Kind::Python | Kind::Node | Kind::Plain => self.entry(interpreter, text, &directory),
            };
            has_entry |= entry;
            // Only a word that may be the value of an option nobody here knows leaves the question to the next one.
            let may_be_value = matches!(interpreter.kind, Kind::Shell | Kind::Python | Kind::Node | Kind::Plain);
            if entry || !(follows_unknown && may_be_value) {
                break;
            }
            follows_unknown = false;
        }
        for file in interpreter.implied {
            self.word(file, &directory, Any::Extension);
        }
        let reads_input = matches!(interpreter.kind, Kind::Shell | Kind::Python | Kind::Node | Kind::Plain);
        self.is_any_word |= reads_input && !has_entry;
    }

    /// A word that an interpreter takes for what it runs. True when there is such a file.
    fn entry(&mut self, interpreter: &Interpreter, word: &str, directory: &Path) -> bool {
        let before = self.found.len();
        let known = |finder: &Self, path: &Path| finder.known.contains(path);
        let path = tidy(&directory.join(location(word)));
        self.word(word, directory, Any::Extension);
        let mut is_there = known(self, &path);
        if is_there || word.is_empty() {
            return is_there;
        }
        match interpreter.kind {
            Kind::Python | Kind::PythonRunner if path.is_dir() => {
                self.word("__main__.py", &path, Any::Extension);
                self.word("__init__.py", &path, Any::Extension);
            }
            Kind::Node | Kind::Package | Kind::Deno => {
                if interpreter.kind == Kind::Package {
                    self.word(word, &directory.join("node_modules/.bin"), Any::Extension);
                }
                self.node_module(&path, true);
            }
            _ => {}
        }
        is_there |= self.found.len() > before;
        is_there
    }

    /// What Node takes a path for that is not a file.
    fn node_module(&mut self, path: &Path, follows_main: bool) {
        // `.` is the directory itself, and never a name with something behind it.
        if !self.directories.iter().any(|directory| directory.starts_with(path))
            && let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned())
        {
            let parent = path.parent().unwrap_or(path).to_path_buf();
            for extension in NODE_EXTENSIONS {
                self.word(&format!("{name}.{extension}"), &parent, Any::Extension);
            }
        }
        if !path.is_dir() {
            return;
        }
        for extension in NODE_EXTENSIONS {
            self.word(&format!("index.{extension}"), path, Any::Extension);
        }
        self.word("package.json", path, Any::Extension);
        if !follows_main {
            return;
        }
        let Some(manifest) = self.manifest(path, &["package.json"]) else { return };
        for key in ["main", "module", "bin"] {
            if let Some(main) = manifest.get(key).and_then(Value::as_str) {
                self.word(main, path, Any::Extension);
                self.node_module(&tidy(&path.join(main)), false);
            }
        }
    }

    /// `python -m package.module`: below the directory, and below what `PYTHONPATH` names.
    fn python_module(&mut self, module: &str, directory: &Path) {
        let more = self.stdio.environment.get("PYTHONPATH").map(ConfigText::expose).unwrap_or_default();
        for base in std::iter::once("").chain(more.split(':').filter(|base| !base.is_empty())) {
            let mut path = tidy(&directory.join(base));
            for name in module.split('.').filter(|name| !name.is_empty() && !name.contains('/')) {
                self.word(&format!("{name}.py"), &path, Any::Extension);
                path.push(name);
                self.word("__init__.py", &path, Any::Extension);
                self.word("__main__.py", &path, Any::Extension);
            }
        }
    }

    /// A script or task that a manifest names. True when it does.
    fn script(&mut self, name: &str, directory: &Path, depth: usize) -> bool {
        let Some(manifest) = self.manifest(directory, &["package.json", "deno.json", "deno.jsonc"]) else {
            return false;
        };
        let lines: Vec<String> = [name.to_owned(), format!("pre{name}"), format!("post{name}")]
            .iter()
            .flat_map(|name| ["scripts", "tasks"].map(|table| manifest.get(table).and_then(|table| table.get(name))))
            .flatten()
            .filter_map(|script| script.as_str().or_else(|| script.get("command")?.as_str()).map(ToOwned::to_owned))
            .collect();
        for line in &lines {
            self.line(line, directory, depth + 1);
        }
        !lines.is_empty()
    }

    fn manifest(&mut self, directory: &Path, names: &[&str]) -> Option<Value> {
        names.iter().find_map(|name| {
            let path = directory.join(name);
            let budget = self.budget;
            // Read once more for what it says; what it is counts by its content.
            let read = |path: &PathBuf| -> Option<Value> {
                serde_json::from_str(&reading::text(path, MAX_MANIFEST, budget).ok()?).ok()
            };
            self.manifests.entry(path).or_insert_with_key(read).clone()
        })
    }

    /// Code on the command line: whatever in it looks like a path.
    fn code(&mut self, code: &str, directory: &Path) {
        let is_part = |letter: char| letter.is_alphanumeric() || "._-/~+@".contains(letter);
        for piece in code.split(|letter| !is_part(letter)) {
            self.word(piece, directory, Any::Extension);
        }
    }

    /// The program: a path, or a name that is looked up.
    fn program(&mut self, word: &str, directory: &Path) {
        if word.contains('/') {
            return self.take(&directory.join(word), !word.starts_with('/'), true, Any::Extension);
        }
        // helve itself never searches a relative entry; a shell in between does. What lies outside is not the project's.
        for base in self.search_path.unwrap_or_default().split(':').filter(|base| !base.is_empty()) {
            let base = directory.join(base);
            if clean(&base).starts_with(self.project) && !word.is_empty() {
                self.take(&base.join(word), false, true, Any::Extension);
            }
        }
    }

    /// A word that may name a file: by itself, behind `=`, `@` or a short option, or as a pattern.
    fn word(&mut self, word: &str, directory: &Path, any: Any) {
        if word.is_empty() || !self.may_look() {
            return;
        }
        let mut spellings = vec![location(word)];
        if let Some((_, value)) = word.split_once('=') {
            spellings.push(location(value));
        }
        if let Some(rest) = word.strip_prefix('@') {
            spellings.push(rest);
        }
        if is_short(word)
            && let Some(attached) = word.get(2..)
        {
            spellings.push(attached);
        }
        for spelling in spellings {
            if spelling.is_empty() || spelling.contains('\0') {
                continue;
            }
            let path = directory.join(spelling);
            if spelling.contains(['*', '?', '[']) {
                self.pattern(&path, any);
            }
            if any == Any::ButData && is_data(&path) {
                continue;
            }
            self.take(&path, !spelling.starts_with('/'), false, any);
        }
    }

    /// The files that a shell's pattern stands for, its last part that is.
    fn pattern(&mut self, path: &Path, any: Any) {
        let (Some(parent), Some(pattern)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return;
        };
        if !clean(parent).starts_with(self.project) {
            return;
        }
        let Ok(entries) = fs_err::read_dir(parent) else { return };
        let mut names: Vec<String> = entries
            .take(MAX_ENTRIES)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| matches(pattern, name))
            .collect();
        names.sort();
        for name in names {
            let path = parent.join(&name);
            if any == Any::Extension || !is_data(&path) {
                self.take(&path, true, false, any);
            }
        }
    }

    /// Takes a file that is there and is the project's: it lies inside, before links are followed or after, or it is named
    /// from where the project says.
    fn take(&mut self, named: &Path, is_relative: bool, is_program: bool, any: Any) {
        let path = tidy(named);
        if self.known.contains(&path) {
            if is_program && let Some(file) = self.found.iter_mut().find(|file| file.path == path) {
                file.is_program = true;
            }
            return;
        }
        // Most words are not files, which one look tells; a real path takes one for each component.
        let Ok(about) = fs_err::symlink_metadata(named) else { return };
        if about.is_dir() {
            return;
        }
        let Ok(real) = fs_err::canonicalize(named) else { return };
        let is_projects = is_relative || clean(&path).starts_with(self.project) || real.starts_with(self.project);
        // A pipe or a device that is run cannot be read, which whoever hashes it says; one that is named is a server's work.
        if !is_projects || real.is_dir() || (any == Any::ButData && !real.is_file()) {
            return;
        }
        if self.found.len() >= MAX_FILES {
            self.is_whole = false;
            return;
        }
        self.known.insert(path.clone());
        self.found.push(NamedFile { path, is_program });
    }
}

fn plain(text: &str) -> Word {
    Word { text: text.to_owned(), is_open: false, is_input: false }
}
