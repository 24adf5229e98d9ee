//! The tools that ship inside, and which directories they never get to write: helve's own.

use std::path::{Path, PathBuf};

use helve::CallError;
use helve_model::{BuiltinSpec, ErrorCode, ServerSpec};

use crate::environment::Environment;

/// The tools that ship inside.
#[derive(Debug)]
pub struct ShippedTools {
    /// Where this process runs.
    pub working_directory: PathBuf,
    /// helve's own directories: what stands there decides what may be done.
    pub own: Vec<PathBuf>,
}

impl ShippedTools {
    /// For the person whose environment this is.
    #[must_use]
    pub fn new(environment: &Environment) -> Self {
        let directories = environment.directories();
        let own = [&directories.config, &directories.state].into_iter().flatten().cloned().collect();
        Self { working_directory: environment.working_directory().to_path_buf(), own }
    }

    /// A server that writes gets no directory that holds helve's own: its tools could give themselves any right.
    fn check_roots(&self, spec: &ServerSpec, builtin: &BuiltinSpec) -> Result<(), CallError> {
        let option = |name: &str| builtin.options.get(name).map(Vec::as_slice).unwrap_or_default();
        if builtin.kind != "filesystem" || option("writable").iter().all(|flag| flag.expose() == "false") {
            return Ok(());
        }
        let real = |path: &Path| fs_err::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let roots = option("roots").iter().map(|root| real(&self.working_directory.join(root.expose())));
        let roots: Vec<PathBuf> =
            if option("roots").is_empty() { vec![real(&self.working_directory)] } else { roots.collect() };
        for own in self.own.iter().map(|own| real(own)) {
            if let Some(root) = roots.iter().find(|root| own.starts_with(root) || root.starts_with(&own)) {
                let message = format!(
                    "the server `{}` would write to `{}`, which holds helve's own files in `{}`",
                    spec.name,
                    root.display(),
                    own.display()
                );
                return Err(CallError::new(ErrorCode::Config, message)
                    .at_server(&spec.name)
                    .with_hint("name directories in `roots` that do not hold it, or leave `writable` out"));
            }
        }
        Ok(())
    }
}

impl helve::Builtins for ShippedTools {
    fn open(&self, spec: &ServerSpec, builtin: &BuiltinSpec) -> Result<helve::Toolbox, CallError> {
        self.check_roots(spec, builtin)?;
        helve_builtin::open(spec, builtin, &self.working_directory)
    }
}
