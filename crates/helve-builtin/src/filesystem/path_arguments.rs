//! Which places the arguments of a call name, and that a call opens the places it was permitted for.
//!
//! Before a decision that depends on places, each path is followed to where it leads now. The permit carries what was
//! found, and the call opens that without following any link: a link that is swapped meanwhile leads nowhere.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use helve::{Tool, ToolContext, ToolFailure};
use helve_model::json::RawJson;
use helve_model::{Outcome, ToolDefinition};
use helve_policy::{ArgumentPlace, Permit};
use serde_json::{Map, Value};

use super::Files;
use super::roots::Place;
use crate::answer::Trouble;
use crate::tool::{Run, definition_of, run_blocking};

/// How many places of one call are followed; no tool takes more.
const MAX_PLACES: usize = 100;

/// A tool of the file system.
pub(super) struct FileTool {
    definition: ToolDefinition,
    files: Arc<Files>,
    paths: &'static [PathArgument],
    run: Run<Files>,
}

/// An argument that is a path, or a list of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathArgument {
    name: &'static str,
    last: Last,
    /// What is meant when it is left out.
    default: Option<&'static str>,
}

/// Whether a link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Followed,
    Itself,
}

/// A path to what is there, through links.
pub(super) const FOLLOWED: PathArgument = PathArgument { name: "path", last: Last::Followed, default: None };
/// The same, or the first root.
pub(super) const FOLLOWED_OR_HERE: PathArgument = PathArgument { default: Some("."), ..FOLLOWED };
/// A path to a name in a directory: a link there is meant itself.
pub(super) const ITSELF: PathArgument = PathArgument { last: Last::Itself, ..FOLLOWED };
pub(super) const SEVERAL: PathArgument = PathArgument { name: "paths", ..FOLLOWED };
pub(super) const SOURCE: PathArgument = PathArgument { name: "source", ..ITSELF };
pub(super) const DESTINATION: PathArgument = PathArgument { name: "destination", ..ITSELF };

impl FileTool {
    pub(super) fn new(definition: &str, files: &Arc<Files>, paths: &'static [PathArgument], run: Run<Files>) -> Self {
        Self { definition: definition_of(definition), files: Arc::clone(files), paths, run }
    }
}

impl Tool for FileTool {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn places<'a>(&'a self, arguments: &'a RawJson) -> BoxFuture<'a, Vec<ArgumentPlace>> {
        Box::pin(async move {
            let (files, paths, arguments) = (Arc::clone(&self.files), self.paths, arguments.clone());
            let finding = tokio::task::spawn_blocking(move || files.find_places(paths, &arguments));
            // Without a place nothing is allowed, and nothing opened.
            finding.await.unwrap_or_else(|_| self.paths.iter().map(|path| unknown(path.name)).collect())
        })
    }

    fn call<'a>(&'a self, permit: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        let files = match permit.places() {
            [] => Arc::clone(&self.files),
            places => Arc::new(Files { decided: places.to_vec(), ..Files::clone(&self.files) }),
        };
        Box::pin(run_blocking(files, permit, self.run))
    }
}

fn unknown(argument: &str) -> ArgumentPlace {
    ArgumentPlace { argument: argument.to_owned(), spellings: Vec::new(), other_spellings: Vec::new() }
}

impl Files {
    pub(super) fn find_places(&self, paths: &[PathArgument], arguments: &RawJson) -> Vec<ArgumentPlace> {
        let Ok(arguments) = arguments.parse::<Map<String, Value>>() else {
            return paths.iter().map(|path| unknown(path.name)).collect();
        };
        let mut places = Vec::new();
        for argument in paths {
            let values: Vec<&str> = match arguments.get(argument.name) {
                Some(Value::String(path)) => vec![path],
                Some(Value::Array(paths)) => {
                    paths.iter().take(MAX_PLACES).map(|path| path.as_str().unwrap_or_default()).collect()
                }
                _ => argument.default.into_iter().collect(),
            };
            places.extend(values.into_iter().map(|path| self.find_place(*argument, path)));
        }
        places
    }

    fn find_place(&self, argument: PathArgument, path: &str) -> ArgumentPlace {
        let Ok(place) = self.roots.place(path) else { return unknown(argument.name) };
        let resolved = place.resolve(argument.last);
        let spellings = resolved.map(|resolved| self.roots.spellings(&resolved)).unwrap_or_default();
        ArgumentPlace {
            argument: argument.name.to_owned(),
            spellings,
            other_spellings: self.roots.spellings(&place.at(without_detours(place.relative()))),
        }
    }

    /// Where a path of a call is: the `index`-th of this argument, as it was decided about.
    pub(super) fn place(&self, argument: &str, index: usize, path: &str) -> Result<Place<'_>, Trouble> {
        let place = self.roots.place(path)?;
        if self.decided.is_empty() {
            return Ok(place);
        }
        let decided = self.decided.iter().filter(|place| place.argument == argument).nth(index);
        match decided.and_then(|decided| decided.spellings.first()) {
            Some(absolute) => self.roots.decided(Path::new(absolute), path),
            // It led nowhere when it was decided about; if it leads somewhere now, nobody decided about that.
            None => Err(place.resolve(Last::Followed).map_or_else(|trouble| trouble, |_| place.changed())),
        }
    }
}

/// The path as its letters have it, without looking whether a name is a link.
fn without_detours(path: &Path) -> PathBuf {
    let mut direct = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(direct.pop()),
            Component::Normal(name) => direct.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    direct
}
