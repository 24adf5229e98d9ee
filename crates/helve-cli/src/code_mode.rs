//! Owns from where the command line gets code mode: this very program confines itself and becomes the person's Python.

use std::path::{Path, PathBuf};

use helve_code::{Engine, EngineSetup, Limits, NoEngine};
use helve_model::ErrorCode;

use crate::context::Context;
use crate::failure::Failure;

/// Where it is kept what is known about interpreters, below the cache.
const KEPT: &str = "python";

/// The engine for this person's programs.
pub(crate) async fn engine(context: &Context, python: Option<&Path>, limits: &Limits) -> Result<Engine, NoEngine> {
    let confining = context.setup.confining();
    let setup = EngineSetup::new(confining.as_ref().map(|confining| confining.stage.clone())).with(|setup| {
        setup.python = python.map(|path| context.env.working_directory().join(path));
        setup.search_path = context.env.variable_os("PATH").map(ToOwned::to_owned);
        setup.home = context.env.home().map(Path::to_owned);
        if let Some(confining) = confining {
            setup.cache = confining.directory.parent().map(|cache: &Path| -> PathBuf { cache.join(KEPT) });
            setup.own = confining.own;
        }
    });
    Engine::find(&setup, limits).await
}

impl From<NoEngine> for Failure {
    fn from(error: NoEngine) -> Self {
        Self::new(ErrorCode::Config, error.to_string()).hint("all tools work without it, with `helve call`")
    }
}
