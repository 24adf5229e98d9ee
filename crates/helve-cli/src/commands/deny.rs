//! `helve deny`: a rule of one's own that keeps calls from running.

use helve_model::Action;

use crate::context::Context;
use crate::failure::Failure;
use crate::own_rules::{self, Consent, RuleArgs};

/// Keep something from being called
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The rule goes to your own helve.toml, before every rule there that would let a part of it through. No project can
lift it. `helve rules --undo` takes it back.

Examples:
  helve deny github/delete_repository
  helve deny files/write_file 'path=**/.env'")]
pub(crate) struct Args {
    #[command(flatten)]
    rule: RuleArgs,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    own_rules::write(context, &args.rule, Action::Deny, Consent::NotNeeded)
}
