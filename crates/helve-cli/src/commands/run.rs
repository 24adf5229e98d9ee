//! `helve run`: a program that calls tools. What it prints and its value are the output; the rest is talk.

use std::path::PathBuf;

use helve::Foreseen;
use helve_code::{Limits, Report, Review, Runner, Session};
use helve_setup::Wanted;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::code_mode;
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::line_editor::LineEditor;
use crate::questions::QuestionArgs;
use crate::running::{Manner, with_host};
use crate::stdio;

/// No more of a program is read than any engine takes.
const SOURCE_BYTES: u64 = 2 << 20;

/// Run a Python program that calls tools
#[derive(Debug, clap::Args)]
#[command(after_help = "\
In the program every tool is a function: device.GithubMCP.create_issue(title=\"…\"), with await and
asyncio.gather where calls are to run at once. Its value is a `return` at top level, else its last expression,
else the variable `result`. search_skills(\"words\") finds tools.

The program runs in your own Python (3.10 or newer) without files, network and processes. Each of its
calls is decided as any other: by your rules, or by asking you.")]
pub(crate) struct Args {
    /// The program, or - for stdin
    #[arg(value_name = "FILE", required_unless_present = "interactive", value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// Show what it would call, and how each call is decided; run nothing
    #[arg(long)]
    plan: bool,

    /// Read programs from the terminal, one after the other; variables stay
    #[arg(short, long, conflicts_with_all = ["file", "plan"])]
    interactive: bool,

    /// The Python that programs run in, instead of the one of your settings or the first python3 on PATH
    #[arg(long, value_name = "PROGRAM", value_hint = clap::ValueHint::ExecutablePath)]
    python: Option<String>,

    #[command(flatten)]
    questions: QuestionArgs,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let configuration = inputs::load(context, |_| true)?;
    context.report_problems(&configuration);
    let manner = Manner::answering(&args.questions);
    with_host(context, &configuration, Wanted::OnDemand, manner, async |host| {
        // One program, or a few of one person: none waits for the next.
        let limits = Limits::default().with(|limits| limits.spare_for = None);
        let engine = code_mode::engine(context, &configuration, args.python.as_deref(), &limits).await?;
        let runner = Runner::new(host, engine, limits);
        runner.offer(host)?;
        host.recalled().await;
        match &args.file {
            None => interact(context, &runner).await,
            Some(file) => {
                let source = source(context, file).await?;
                if args.plan {
                    plan(context, &runner, &source).await
                } else {
                    let report = Box::pin(runner.run(&source, context.call())).await?;
                    print(context, &report)
                }
            }
        }
    })
}

async fn source(context: &Context, file: &std::path::Path) -> Result<String, Failure> {
    if file.as_os_str() != "-" {
        let path = context.env.working_directory().join(file);
        return fs_err::read_to_string(path).map_err(|error| Failure::file(&error));
    }
    let failed = |error: std::io::Error| Failure::other("standard input cannot be read").cause(&error);
    let mut text = String::new();
    let input = stdio::input().map_err(failed)?;
    input.take(SOURCE_BYTES).read_to_string(&mut text).await.map_err(failed)?;
    Ok(text)
}

fn print(context: &Context, report: &Report) -> Result<(), Failure> {
    if context.printer.is_json() {
        context.printer.raw_json(&report.to_json())?;
        return outcome(report).map_err(Failure::said);
    }
    show(context, report)?;
    outcome(report)
}

/// What a program printed, and its value: text as it is, else JSON.
fn show(context: &Context, report: &Report) -> Result<(), Failure> {
    let mut text = report.printed.clone();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if report.error.is_none() && report.value.as_str() != "null" {
        text.push_str(&report.value.parse::<String>().unwrap_or_else(|_| report.value.as_str().to_owned()));
        text.push('\n');
    }
    context.printer.data(&text)?;
    for note in &report.notes {
        context.printer.warning(note);
    }
    Ok(())
}

/// The program's failure, with the calls that were made: they are not undone.
fn outcome(report: &Report) -> Result<(), Failure> {
    let Some(error) = &report.error else { return Ok(()) };
    let mut message = error.message.clone();
    if !error.is_refusal {
        let calls = report.calls.iter().enumerate();
        let lines: Vec<String> =
            calls.map(|(index, call)| format!("\n  {}: {} {}", index + 1, call.tool, call.outcome())).collect();
        message.push_str("\ncalls made:");
        message.push_str(&if lines.is_empty() { " none".to_owned() } else { lines.concat() });
    }
    Err(Failure::new(error.code, message))
}

async fn plan(context: &Context, runner: &Runner, source: &str) -> Result<(), Failure> {
    let review = match runner.plan(source, &context.call()).await? {
        Ok(review) => review,
        Err(report) => return outcome(&report),
    };
    if context.printer.is_json() {
        let calls: Vec<_> = review
            .calls
            .iter()
            .map(|call| json!({"line": call.line, "tool": call.tool.to_string(), "decision": decision(&call.foreseen), "why": why(&call.foreseen), "in_loop": call.in_loop}))
            .collect();
        let problems: Vec<_> = review
            .problems
            .iter()
            .map(|problem| json!({"line": problem.line, "code": problem.code.as_str(), "message": problem.message}))
            .collect();
        context.printer.json(&json!({"calls": calls, "problems": problems}))?;
    } else {
        context.printer.data(&planned(&review))?;
    }
    if review.problems.is_empty() {
        return Ok(());
    }
    let code = review.problems.first().map_or(helve_model::ErrorCode::InvalidParams, |problem| problem.code);
    Err(Failure::new(code, format!("the program would not run:\n{}", review.problems_in_lines())))
}

fn planned(review: &Review) -> String {
    if review.calls.is_empty() {
        return "no calls can be seen in it\n".to_owned();
    }
    let mut text = String::new();
    for call in &review.calls {
        let often = if call.in_loop { ", maybe several times" } else { "" };
        text.push_str(&format!("line {}: {} {}{often}\n", call.line, call.tool, decision(&call.foreseen)));
        if let Some(why) = why(&call.foreseen) {
            text.push_str(&format!("  {why}\n"));
        }
    }
    text
}

const fn decision(foreseen: &Foreseen) -> &'static str {
    match foreseen {
        Foreseen::Allowed => "runs",
        Foreseen::Asks => "asks you",
        Foreseen::Denied(_) => "is refused",
        _ => "depends on its arguments",
    }
}

/// The rule behind it, which is the person's to know.
fn why(foreseen: &Foreseen) -> Option<String> {
    match foreseen {
        Foreseen::Denied(error) => Some(error.chain()),
        _ => None,
    }
}

/// Programs one after the other, until the end of input.
async fn interact(context: &Context, runner: &Runner) -> Result<(), Failure> {
    if !context.console.can_ask() {
        return Err(
            Failure::usage("there is no terminal to read programs from").hint("`helve run -` reads one from stdin")
        );
    }
    let mut session = Session::default();
    let mut editor = LineEditor::default();
    loop {
        let reading = tokio::task::spawn_blocking(move || (editor.program(), editor));
        let Ok((Some(source), given_back)) = reading.await else { return Ok(()) };
        editor = given_back;
        if source.trim().is_empty() {
            continue;
        }
        match Box::pin(runner.run_in(Some(&mut session), &source, context.call())).await {
            Ok(report) => {
                show(context, &report)?;
                if let Err(failure) = outcome(&report) {
                    context.printer.failure(&failure);
                }
            }
            Err(error) => context.printer.failure(&Failure::from(error)),
        }
    }
}
