//! `helve ask`: a rule of one's own by which somebody is asked before calls run.

use helve_model::Action;

use crate::context::Context;
use crate::failure::Failure;
use crate::own_rules::{self, Consent, RuleArgs};

/// Be asked before something is called
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The rule goes to your own helve.toml, as with `helve allow`. `helve rules --undo` takes it back.

Examples:
  helve ask github/create_issue
  helve ask 'github/*'")]
pub(crate) struct Args {
    #[command(flatten)]
    rule: RuleArgs,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    own_rules::write(context, &args.rule, Action::Ask, Consent::NotNeeded)
}
