//! `helve schema`: the JSON Schema of `helve.toml`, for editors.

use crate::context::Context;
use crate::failure::Failure;

/// Print the JSON Schema of helve.toml, for editors that check as you type
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(context: &Context, _args: &Args) -> Result<(), Failure> {
    context.printer.json(&helve_config::schema::helve_toml())
}
