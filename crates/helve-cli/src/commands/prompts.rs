//! `helve prompts`: which prompts there are, and what they take.

use helve_model::{Definition as _, PromptArgument, PromptView};
use serde_json::{Value, json};

use crate::catalog::one_line;
use crate::context::Context;
use crate::failure::Failure;
use crate::offer_requests::{self, Troubles};
use crate::printer::{Line, Style, Table};

/// List prompts
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What a prompt takes may be left out where a question mark stands behind it.
Servers that do not answer are named on stderr; the others are listed.")]
pub(crate) struct Args {
    /// Only those of this server
    #[arg(value_name = "SERVER")]
    server: Option<String>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let only = args.server.as_deref();
    let prompts = offer_requests::ask(context, only, async |host| {
        let mut troubles = Troubles::default();
        Ok((troubles.take(host.prompts(only).await?), troubles))
    })?;
    if context.printer.is_json() {
        let prompts = prompts.iter().map(|offered| {
            let (server, prompt) = (offered.server.as_str(), offered.definition.name());
            json!({
                "name": format!("{server}/{prompt}"),
                "server": server,
                "prompt": prompt,
                "definition": offered.definition.raw(),
            })
        });
        return context.printer.json(&Value::Array(prompts.collect()));
    }
    let mut table = Table::new(["PROMPT", "TAKES", "WHAT IT IS FOR"]);
    for offered in &prompts {
        let view = offered.definition.view();
        table.row([
            Line::styled(Style::Name, format!("{}/{}", offered.server, offered.definition.name())),
            Line::plain(takes(&view)),
            Line::plain(view.description.or(view.title).as_deref().map(one_line).unwrap_or_default()),
        ]);
    }
    context.printer.table(&table)?;
    if prompts.is_empty() {
        let nothing = match only {
            Some(server) => format!("The server `{server}` has no prompts."),
            None => "There are no prompts.".to_owned(),
        };
        context.printer.say(&Line::plain(nothing));
    }
    Ok(())
}

/// `who tone?`: what may be left out has a question mark.
fn takes(view: &PromptView) -> String {
    let shown = |argument: &PromptArgument| {
        let mark = if argument.required { "" } else { "?" };
        format!("{}{mark}", argument.name)
    };
    view.arguments.iter().map(shown).collect::<Vec<_>>().join(" ")
}
