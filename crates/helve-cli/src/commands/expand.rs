//! `helve expand`: replaces `[use-mcp:server/tool:{…}]` in a text by what the tools say.

use std::io::Read as _;

use helve::tags::{self, Piece};
use helve::{CallContext, CallError};
use helve_policy::Caller;

use crate::context::Context;
use crate::failure::Failure;
use crate::progress::Meter;
use crate::questions::QuestionArgs;
use crate::running::{Manner, Wanted, with_host};

/// Replace tool tags in a text by results
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A tag is [use-mcp:server/tool:{\"key\": \"value\"}], or [use-mcp:server/tool]; \\[use-mcp: is left alone.
A call that fails leaves its error in the text, and the rest goes on.")]
pub(crate) struct Args {
    /// The text; - or nothing for stdin
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<std::path::PathBuf>,

    /// A call that fails fails the command, and nothing is printed
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    questions: QuestionArgs,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let text = match &args.file {
        Some(path) if path.as_os_str() != "-" => {
            let path = context.env.working_directory().join(path);
            fs_err::read_to_string(path).map_err(|error| Failure::file(&error))?
        }
        _ => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| Failure::file(&error))?;
            text
        }
    };
    let pieces = tags::parse(&text);
    for piece in &pieces {
        if let Piece::Problem(problem) = piece {
            let message = format!("line {}, column {}: {}", problem.line, problem.column, problem.message);
            if args.strict {
                return Err(Failure::usage(message));
            }
            context.printer.warning(message);
        }
    }
    let calls: Vec<_> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Tag(tag) => Some((tag.name.clone(), tag.arguments.clone())),
            Piece::Text(_) | Piece::Escape | Piece::Problem(_) => None,
        })
        .collect();
    if calls.is_empty() {
        let text = tags::render(&pieces, &[]);
        return if context.printer.is_json() {
            context.printer.json(&serde_json::json!({"text": text, "errors": []}))
        } else {
            context.printer.data(&text)
        };
    }
    let configuration = context.load()?;
    context.report_problems(&configuration);
    let manner = Manner::answering(&args.questions);
    let results: Vec<Result<String, CallError>> =
        with_host(context, &configuration, Wanted::OnDemand, manner, async |host| {
            let by_tag = CallContext::new(Caller::PromptTag);
            let outcomes = Meter::new(context).during("expanding", host.call_many(calls, &by_tag)).await;
            Ok(outcomes.into_iter().map(|outcome| outcome.map(|outcome| outcome.to_text())).collect())
        })?;
    for result in results.iter().filter(|_| !args.strict) {
        if let Err(error) = result {
            context.printer.warning(error.chain());
            for hint in error.hints() {
                context.printer.hint(hint);
            }
        }
    }
    let text = tags::render(&pieces, &results);
    if context.printer.is_json() && !args.strict {
        let errors: Vec<_> =
            results.iter().filter_map(|result| result.as_ref().err()).map(CallError::to_json).collect();
        return context.printer.json(&serde_json::json!({"text": text, "errors": errors}));
    }
    match results.into_iter().find_map(Result::err) {
        Some(error) if args.strict => Err(error.into()),
        _ => context.printer.data(&text),
    }
}
