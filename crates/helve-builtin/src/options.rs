//! Reading the options of a built-in server: what is unknown or wrong is said with its place, never passed over.

use std::path::{Path, PathBuf};

use helve::CallError;
use helve_model::{BuiltinSpec, ErrorCode, ServerSpec};

use crate::words::{printable, quoted, suggestion};

/// The options of one server.
pub(crate) struct Options<'a> {
    pub(crate) spec: &'a ServerSpec,
    pub(crate) working_directory: &'a Path,
    builtin: &'a BuiltinSpec,
}

impl<'a> Options<'a> {
    /// Takes the options after checking that the server has all of them.
    pub(crate) fn new(
        spec: &'a ServerSpec,
        builtin: &'a BuiltinSpec,
        working_directory: &'a Path,
        known: &[&str],
    ) -> Result<Self, CallError> {
        let options = Self { spec, working_directory, builtin };
        match builtin.options.keys().find(|option| !known.contains(&option.as_str())) {
            None => Ok(options),
            Some(option) => {
                let kind = quoted(&builtin.kind);
                let hint = if known.is_empty() { "it has none".to_owned() } else { suggestion(option, known) };
                Err(options.wrong(format!("the built-in server {kind} has no option {}", quoted(option)), hint))
            }
        }
    }

    /// True or false; false when left away.
    pub(crate) fn flag(&self, option: &str) -> Result<bool, CallError> {
        match self.one(option)? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => {
                let message = format!("{} cannot be {}", quoted(option), quoted(other));
                Err(self.wrong(message, "it is `true` or `false`"))
            }
        }
    }

    /// A number from 1.
    pub(crate) fn count(&self, option: &str, default: u64) -> Result<u64, CallError> {
        let Some(text) = self.one(option)? else { return Ok(default) };
        match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => {
                Err(self.wrong(format!("{} cannot be {}", quoted(option), quoted(text)), "it is a whole number from 1"))
            }
        }
    }

    /// A path; relative ones start at the working directory.
    pub(crate) fn path(&self, option: &str) -> Result<Option<PathBuf>, CallError> {
        Ok(self.one(option)?.map(|text| self.working_directory.join(text)))
    }

    /// Paths, in the order they were written.
    pub(crate) fn paths(&self, option: &str) -> Result<Vec<PathBuf>, CallError> {
        let Some(values) = self.builtin.options.get(option) else { return Ok(Vec::new()) };
        if values.is_empty() {
            // None at all must not mean the usual ones.
            return Err(self.wrong(format!("{} is empty", quoted(option)), "name at least one, or leave it out"));
        }
        if values.iter().any(|value| value.expose().is_empty()) {
            return Err(
                self.wrong(format!("{} holds an empty path", quoted(option)), "write `.` for the directory itself")
            );
        }
        Ok(values.iter().map(|value| self.working_directory.join(value.expose())).collect())
    }

    /// An option is wrong.
    pub(crate) fn wrong(&self, message: impl Into<String>, hint: impl Into<String>) -> CallError {
        CallError::new(ErrorCode::Config, message)
            .at_server(&self.spec.name)
            .with_hint(hint.into())
            .with_hint(place_of(self.spec))
    }

    fn one(&self, option: &str) -> Result<Option<&'a str>, CallError> {
        match self.builtin.options.get(option).map(Vec::as_slice) {
            None => Ok(None),
            Some([value]) if !value.expose().is_empty() => Ok(Some(value.expose())),
            Some(_) => Err(self.wrong(format!("{} takes one value", quoted(option)), "write exactly one")),
        }
    }
}

/// Where the server is configured.
pub(crate) fn place_of(spec: &ServerSpec) -> String {
    format!("server {} comes from {}", quoted(spec.name.as_str()), printable(&spec.origin.to_string()))
}
