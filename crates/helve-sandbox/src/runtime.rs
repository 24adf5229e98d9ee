//! Where a program's own files are: its directory, where its links lead, its interpreter, and the runtimes on its path.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::files::{FileKind, Files};

/// How often an interpreter's interpreter is followed.
const MAX_INTERPRETERS: usize = 4;

/// How far above a script its package is looked for.
const MAX_PACKAGE_DEPTH: usize = 4;

/// Directories of programs: what belongs to them lies beside, not inside.
const PROGRAM_DIRECTORIES: [&str; 6] = ["bin", "sbin", "shims", "libexec", "Scripts", ".bin"];

/// Programs that others are run with, by name.
const RUNTIMES: [&str; 13] =
    ["node", "npm", "npx", "pnpm", "yarn", "bun", "bunx", "deno", "python3", "python", "uv", "uvx", "git"];

/// Programs whose first plain argument is the script they run.
const INTERPRETERS: [&str; 11] =
    ["node", "nodejs", "bun", "deno", "python", "ruby", "perl", "php", "sh", "bash", "tsx"];

/// What lies in the directory of a package.
const PACKAGE_FILES: [&str; 4] = ["package.json", "pyproject.toml", "setup.py", "deno.json"];

/// A program file, and the directory that holds what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runtime {
    /// The file itself, without links.
    pub(crate) file: PathBuf,
    /// Its prefix: `/opt/x` for `/opt/x/bin/program`.
    pub(crate) prefix: PathBuf,
}

/// The runtimes that a program needs, the program's own first.
pub(crate) fn of_program(program: &Path, search_path: &[PathBuf], files: &dyn Files) -> Vec<Runtime> {
    let mut found = Vec::new();
    let mut next = Some(program.to_owned());
    for _ in 0..MAX_INTERPRETERS {
        let Some(path) = next.take() else { break };
        add(&mut found, &path, files);
        next = files.interpreter(&path).and_then(|words| interpreter(&words, search_path, files));
    }
    for name in RUNTIMES {
        if let Some(path) = search(OsStr::new(name), search_path, files) {
            add(&mut found, &path, files);
            // Shims and wrappers are scripts themselves.
            if let Some(inner) = files.interpreter(&path).and_then(|words| interpreter(&words, search_path, files)) {
                add(&mut found, &inner, files);
            }
        }
    }
    found
}

/// The directory of the package whose script an interpreter is told to run.
pub(crate) fn package_of_script(
    program: &Path,
    arguments: &[std::ffi::OsString],
    directory: &Path,
    files: &dyn Files,
) -> Option<Runtime> {
    let name = program.file_name()?.to_str()?;
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&plain) {
        return None;
    }
    let is_option = |argument: &&std::ffi::OsString| argument.as_encoded_bytes().starts_with(b"-");
    // `-c`, `-e` and `-m` take what follows for code or a module.
    let first = arguments.first().filter(|first| !is_option(first));
    let script = first.or_else(|| {
        arguments.iter().take_while(is_option).count().checked_sub(1).and_then(|last| {
            let option = arguments.get(last)?.to_str()?;
            let takes_code = matches!(option, "-c" | "-e" | "-m" | "-p" | "--eval" | "--print");
            if takes_code { None } else { arguments.get(last + 1) }
        })
    })?;
    let (file, FileKind::File) = files.resolve(&directory.join(script))? else { return None };
    let own = file.parent()?.to_owned();
    let is_package = |path: &&Path| PACKAGE_FILES.iter().any(|name| files.resolve(&path.join(name)).is_some());
    let package = own.ancestors().take(MAX_PACKAGE_DEPTH).find(is_package).map(Path::to_owned);
    Some(Runtime { prefix: package.unwrap_or(own), file })
}

/// A program as it is called, and where that leads.
fn add(found: &mut Vec<Runtime>, path: &Path, files: &dyn Files) {
    let Some((real, FileKind::File)) = files.resolve(path) else { return };
    // The directory it is called in may hold libraries that it looks for beside itself.
    let called_in = path.parent().and_then(|parent| files.resolve(parent));
    let called =
        called_in.zip(path.file_name()).map(|((directory, _), name)| (directory.clone(), directory.join(name)));
    let own = real.parent().map(|directory| (directory.to_owned(), real.clone()));
    for (directory, file) in called.into_iter().chain(own) {
        let runtime = Runtime { prefix: prefix_of(&directory), file };
        if !found.contains(&runtime) {
            found.push(runtime);
        }
    }
}

fn prefix_of(directory: &Path) -> PathBuf {
    let is_program_directory =
        directory.file_name().and_then(OsStr::to_str).is_some_and(|name| PROGRAM_DIRECTORIES.contains(&name));
    match directory.parent() {
        Some(parent) if is_program_directory && parent.parent().is_some() => parent.to_owned(),
        _ => directory.to_owned(),
    }
}

/// The program that a first line names, through `env` if it says so.
fn interpreter(words: &[String], search_path: &[PathBuf], files: &dyn Files) -> Option<PathBuf> {
    let program = Path::new(words.first()?);
    if program.file_name() != Some(OsStr::new("env")) {
        return program.is_absolute().then(|| program.to_owned());
    }
    let name = words.iter().skip(1).find(|word| !word.starts_with('-') && !word.contains('='))?;
    search(OsStr::new(name), search_path, files)
}

fn search(name: &OsStr, search_path: &[PathBuf], files: &dyn Files) -> Option<PathBuf> {
    search_path
        .iter()
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|candidate| matches!(files.resolve(candidate), Some((_, FileKind::File))))
}
