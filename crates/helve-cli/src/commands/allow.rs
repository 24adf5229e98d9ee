//! `helve allow`: a rule of one's own that lets calls run.

use helve_model::Action;

use crate::context::Context;
use crate::failure::Failure;
use crate::own_rules::{self, Consent, RuleArgs};

/// Let agents, scripts and prompt tags call something without asking
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The rule goes to your own helve.toml, before the first one there that would win over it; exceptions that you made
stay exceptions. `helve rules` lists all rules, `helve rules --undo` takes the last one back.

Examples:
  helve allow github/create_issue
  helve allow 'github/list_*'
  helve allow files/write_file 'path=/srv/notes/**'
  helve allow 'docs/file:///srv/*' --kind resource")]
pub(crate) struct Args {
    #[command(flatten)]
    rule: RuleArgs,

    /// Do not ask whether that is meant
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let consent = if args.yes { Consent::Given } else { Consent::Wanted };
    own_rules::write(context, &args.rule, Action::Allow, consent)
}
