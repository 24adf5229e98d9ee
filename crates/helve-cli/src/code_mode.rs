//! Owns how the command line gets code mode, and what it says where there is none.

use helve_code::{Engine, Limits, NoEngine};
use helve_config::Configuration;
use helve_model::ErrorCode;

use crate::context::Context;
use crate::failure::Failure;

/// The engine for this person's programs; `python` is what they said on the command line.
pub(crate) async fn engine(
    context: &Context,
    configuration: &Configuration,
    python: Option<&str>,
    limits: &Limits,
) -> Result<Engine, NoEngine> {
    context.setup.code_engine(&configuration.settings, python, limits).await
}

impl From<NoEngine> for Failure {
    fn from(error: NoEngine) -> Self {
        Self::new(ErrorCode::Config, error.to_string())
            .hint("`python` under `[settings.code]` of your own helve.toml names another one; all tools work without it, with `helve call`")
    }
}
