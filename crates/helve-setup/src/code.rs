//! Owns from where code mode comes: the person's program confines itself and becomes the Python that they named, or the first
//! on their search path.

use std::path::{Path, PathBuf};

use helve_code::{Engine, EngineSetup, Limits, NoEngine};
use helve_config::Settings;

use crate::Setup;

/// Where it is kept what is known about interpreters, below the cache.
pub(crate) const INTERPRETERS: &str = "python";

impl Setup {
    /// The engine for this person's programs. `python` is what they said for this run: a path, or a name on the search path.
    ///
    /// # Errors
    /// There is no Python that will do, nobody knows where this program is, or this machine cannot confine it.
    pub async fn code_engine(
        &self,
        settings: &Settings,
        python: Option<&str>,
        limits: &Limits,
    ) -> Result<Engine, NoEngine> {
        let environment = self.environment();
        let confining = self.confining();
        let named = python.or(settings.code_python.value.as_deref());
        let setup = EngineSetup::new(confining.as_ref().map(|confining| confining.stage.clone())).with(|setup| {
            // One that is not there is named by the engine.
            let found = |name: &str| environment.find_program(name).unwrap_or_else(|| PathBuf::from(name));
            setup.python = named.map(found);
            setup.search_path = environment.variable_os("PATH").map(ToOwned::to_owned);
            setup.home = environment.home().map(Path::to_owned);
            if let Some(confining) = confining {
                setup.cache = confining.directory.parent().map(|cache| cache.join(INTERPRETERS));
                setup.own = confining.own;
            }
        });
        Engine::find(&setup, limits).await
    }
}
