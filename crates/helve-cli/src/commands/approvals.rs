//! `helve approvals`: calls that wait at the hub for a person, answered at a terminal. There is no way to answer without one: no
//! pipe, and no option that says yes.

use serde_json::Value;

use super::hub::control_socket::{Answer, Place, Question, put};
use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style};
use crate::running::block_on;
use crate::tty;

/// So many characters of the arguments are shown.
const SHOWN_ARGUMENTS: usize = 4_000;

/// List calls that wait at the hub for your answer, and answer them
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
A yes runs nothing by itself: it lets the agent's own call go on or, if the agent has gone, the same call
once within ten minutes. Answers are given at a terminal: there is no option that says yes."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Let a call run, once
    Allow {
        /// Its id, as in A-7F3K
        id: String,
    },
    /// Refuse a call
    Deny {
        /// Its id, as in A-7F3K
        id: String,
        /// Why: the agent reads it
        #[arg(long)]
        reason: Option<String>,
    },
}

pub(crate) fn run(context: &Context, args: Args) -> Result<(), Failure> {
    let console = &context.console;
    if !(console.stdin_is_terminal && console.stdout_is_terminal && console.stderr_is_terminal) {
        return Err(Failure::usage("approvals are answered by a person at a terminal")
            .hint("run it in a terminal, without a pipe; or answer on the hub's page"));
    }
    let place = Place::of(context)?;
    match args.what {
        None => list(context, &place),
        Some(What::Allow { id }) => {
            let shown = ask(&place, Question::Approval(id))?;
            show(context, &shown);
            let id = text(&shown, "id").to_owned();
            context.printer.say(&Line::plain(format!("type {id} to let it run once:")));
            let typed = tty::line().map_err(|error| Failure::other("your answer cannot be read").cause(&error))?;
            if !typed.trim().eq_ignore_ascii_case(&id) {
                return Err(Failure::other(format!("{id} still waits: that is not its id")));
            }
            ask(&place, Question::Allow(id.clone()))?;
            context.printer.say(&Line::plain(format!("{id} may run, once")));
            Ok(())
        }
        Some(What::Deny { id, reason }) => {
            let id = ask(&place, Question::Deny { id, reason })?;
            context.printer.say(&Line::plain(format!("{} is refused", id.as_str().unwrap_or_default())));
            Ok(())
        }
    }
}

fn list(context: &Context, place: &Place) -> Result<(), Failure> {
    let list = ask(place, Question::Approvals)?;
    let waiting = list.as_array().map(Vec::as_slice).unwrap_or_default();
    if waiting.is_empty() {
        context.printer.say(&Line::plain("nothing waits for an answer".to_owned()));
    }
    waiting.iter().for_each(|one| show(context, one));
    if !waiting.is_empty() {
        let how = "answer with `helve approvals allow ID` or `helve approvals deny ID --reason WHY`";
        context.printer.say(&Line::styled(Style::Dim, how.to_owned()));
    }
    Ok(())
}

fn show(context: &Context, one: &Value) {
    let say = |line: Line| context.printer.say(&line);
    say(Line::styled(Style::Warning, text(one, "id").to_owned())
        .then(Style::Plain, format!(" {} ({} risk)", text(one, "tool"), text(one, "risk"))));
    let agent = one.get("agent").and_then(Value::as_str).map(|agent| format!(", with {agent}")).unwrap_or_default();
    let pair = |name: &str, said: String| {
        say(Line::styled(Style::Dim, format!("  {name:<9} ")).then(Style::Plain, said));
    };
    pair("who", format!("{}{agent}", text(one, "principal")));
    let place = one.get("place").and_then(Value::as_str).map(|place| format!(", {place}")).unwrap_or_default();
    pair("because", format!("{}{place}", text(one, "rule")));
    let arguments: String = text(one, "arguments").chars().take(SHOWN_ARGUMENTS).collect();
    pair("arguments", arguments);
    if one.get("changed") == Some(&Value::Bool(true)) {
        pair("careful", "the tool's definition changed since it was last approved".to_owned());
    }
    if one.get("callers").and_then(Value::as_u64) == Some(0) {
        pair("note", "the caller has gone: a yes counts for the same call, for ten minutes".to_owned());
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn ask(place: &Place, question: Question) -> Result<Value, Failure> {
    match block_on(async { put(place, &question).await })? {
        Answer::Done(value) => Ok(value),
        Answer::Failed { message, hints } => {
            Err(hints.into_iter().fold(Failure::other(message), |failure, hint| failure.hint(hint)))
        }
    }
}
