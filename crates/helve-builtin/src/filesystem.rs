//! The built-in server `filesystem`: reading below chosen directories, and writing where the person said so.

mod beneath;
mod edit;
mod info;
mod list;
mod media;
mod path_arguments;
mod read;
mod roots;
mod search;
mod write;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve::{CallError, Toolbox};
use helve_policy::ArgumentPlace;

use crate::options::Options;
use crate::tool::Run;
use crate::words::quoted;

use path_arguments::{DESTINATION, FOLLOWED, FOLLOWED_OR_HERE, FileTool, ITSELF, PathArgument, SEVERAL, SOURCE};
use roots::Roots;

pub(crate) const OPTIONS: &[&str] = &["roots", "writable", "max_file_bytes"];

/// The largest file that is read at once, and the most that a call gives back; option `max_file_bytes`.
const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// What the tools work on.
#[derive(Debug, Clone)]
struct Files {
    roots: Arc<Roots>,
    max_file_bytes: u64,
    /// Held while something is changed: two edits of one file must not lose one of them.
    changing: Arc<Mutex<()>>,
    /// The places that the call is permitted for; empty: whatever its arguments name.
    decided: Vec<ArgumentPlace>,
}

/// Those who only look.
const READING: &[(&str, &[PathArgument], Run<Files>)] = &[
    (read::READ_FILE, &[FOLLOWED], read::read_file),
    (read::READ_MANY, &[SEVERAL], read::read_many),
    (list::LIST_DIRECTORY, &[FOLLOWED_OR_HERE], list::list_directory),
    (search::SEARCH_FILES, &[FOLLOWED_OR_HERE], search::search_files),
    (info::FILE_INFO, &[ITSELF], info::file_info),
];

/// Those who change something.
const WRITING: &[(&str, &[PathArgument], Run<Files>)] = &[
    (write::WRITE_FILE, &[ITSELF], write::write_file),
    (edit::EDIT_FILE, &[ITSELF], edit::edit_file),
    (write::CREATE_DIRECTORY, &[FOLLOWED], write::create_directory),
    (write::MOVE_FILE, &[SOURCE, DESTINATION], write::move_file),
    (write::DELETE_FILE, &[ITSELF], write::delete_file),
];

pub(crate) fn open(options: &Options<'_>) -> Result<Toolbox, CallError> {
    let mut directories = options.paths("roots")?;
    if directories.is_empty() {
        directories.push(options.working_directory.to_path_buf());
    }
    let roots = Roots::open(&directories).map_err(|(directory, error)| {
        let message = format!("the root {} cannot be opened: {error}", quoted(&directory.to_string_lossy()));
        options.wrong(
            message,
            "`roots` lists directories that exist; relative ones start where the file that names them says",
        )
    })?;
    let writable = options.flag("writable")?;
    let max_file_bytes = options.count("max_file_bytes", MAX_FILE_BYTES)?;
    let files =
        Arc::new(Files { roots: Arc::new(roots), max_file_bytes, changing: Arc::default(), decided: Vec::new() });

    let mut toolbox = Toolbox::for_server(options.spec).with_instructions(instructions(&files.roots, writable));
    for (definition, paths, run) in READING.iter().chain(if writable { WRITING } else { &[] }) {
        toolbox = toolbox.with(FileTool::new(definition, &files, paths, *run));
    }
    Ok(toolbox)
}

fn instructions(roots: &Roots, writable: bool) -> String {
    let what = if writable { "read and changed" } else { "read, not changed" };
    format!(
        "Files below these directories can be {what}: {}. Relative paths start at the first of them; \
         whatever leads out of them is refused.",
        roots.shown()
    )
}

impl Files {
    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "filesystem_tests.rs"]
mod tests;
