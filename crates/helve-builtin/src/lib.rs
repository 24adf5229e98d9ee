//! The tools that ship inside helve: files below chosen directories, one SQLite database, the time.
//!
//! They are native tools, written against [`helve::Tool`]: they run in this process, under the same policy as every
//! other tool, and start no process and open no connection. Directories and files come in through a [`BuiltinSpec`];
//! the environment is not read.
//!
//! ```
//! use helve_builtin::{defaults, open};
//! use helve_model::TransportSpec;
//!
//! let directory = std::path::Path::new(".");
//! for spec in defaults(directory) {
//!     let TransportSpec::Builtin(builtin) = &spec.transport else { continue };
//!     let toolbox = open(&spec, builtin, directory)?;
//!     assert_eq!(toolbox.name(), &spec.name);
//! }
//! # Ok::<(), helve::CallError>(())
//! ```

#![warn(missing_docs)]

mod answer;
mod filesystem;
mod options;
mod sqlite;
mod time;
mod tool;
mod words;

use std::path::Path;
use std::time::SystemTime;

use helve::{CallError, Toolbox};
use helve_model::{BuiltinSpec, ConfigText, ErrorCode, Layer, Origin, ServerName, ServerSpec, TransportSpec};
use indexmap::IndexMap;

use crate::options::Options;

/// Tells the time.
pub type Clock = fn() -> SystemTime;

/// One kind of built-in server.
struct Kind {
    name: &'static str,
    /// Every option it takes.
    options: &'static [&'static str],
    open: fn(&Options<'_>, Clock) -> Result<Toolbox, CallError>,
}

const KINDS: &[Kind] = &[
    Kind { name: "filesystem", options: filesystem::OPTIONS, open: |options, _| filesystem::open(options) },
    Kind { name: "sqlite", options: sqlite::OPTIONS, open: |options, _| sqlite::open(options) },
    Kind { name: "time", options: &[], open: |options, clock| Ok(time::open(options, clock)) },
];

/// Opens a built-in server. Paths among its options that are not absolute start at `working_directory`.
///
/// # Errors
/// With the code `CONFIG`, when there is no such kind or an option is unknown or wrong.
pub fn open(spec: &ServerSpec, builtin: &BuiltinSpec, working_directory: &Path) -> Result<Toolbox, CallError> {
    open_with_clock(spec, builtin, working_directory, system_clock)
}

/// Like [`open`], with a clock of the caller's.
///
/// # Errors
/// With the code `CONFIG`, when there is no such kind or an option is unknown or wrong.
pub fn open_with_clock(
    spec: &ServerSpec,
    builtin: &BuiltinSpec,
    working_directory: &Path,
    clock: Clock,
) -> Result<Toolbox, CallError> {
    let Some(kind) = KINDS.iter().find(|kind| kind.name == builtin.kind) else {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let message = format!("there is no built-in server {}", words::quoted(&builtin.kind));
        let error = CallError::new(ErrorCode::Config, message).at_server(&spec.name);
        return Err(error.with_hint(words::suggestion(&builtin.kind, &names)).with_hint(options::place_of(spec)));
    };
    let options = Options::new(spec, builtin, working_directory, kind.options)?;
    (kind.open)(&options, clock)
}

/// The servers there are without any configuration: the files of `working_directory`, to read, and the time.
#[must_use]
pub fn defaults(working_directory: &Path) -> Vec<ServerSpec> {
    let mut roots = IndexMap::new();
    // A directory whose name is not text is still the default root: see `filesystem::open`.
    if let Some(directory) = working_directory.to_str() {
        roots.insert("roots".to_owned(), vec![ConfigText::literal(directory)]);
    }
    [("filesystem", roots), ("time", IndexMap::new())]
        .into_iter()
        .filter_map(|(kind, options)| {
            let transport = TransportSpec::Builtin(BuiltinSpec { kind: kind.to_owned(), options });
            let mut spec = ServerSpec::new(ServerName::new(kind).ok()?, transport, Origin::BuiltIn, Layer::Defaults);
            spec.access.trust_annotations = true;
            Some(spec)
        })
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the machine; everybody else takes a clock")]
fn system_clock() -> SystemTime {
    SystemTime::now()
}
