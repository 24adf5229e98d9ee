//! `helve call`: one tool, called. Its text is the output; the rest is talk.

use std::error::Error as _;
use std::time::{Duration, Instant};

use helve::{CallError, CallOutcome, Host, ServerName, ServerSpec, ToolName};
use helve_model::json::RawJson;
use helve_model::{ErrorCode, OutcomeView, QualifiedName};
use helve_render::{Style, ToolText, signature};
use helve_schema::{WordError, coerce};
use helve_setup::Wanted;
use tokio::io::AsyncReadExt as _;

use super::login::{self, Offered};
use crate::catalog::check_understood;
use crate::confinement::Confinement;
use crate::content::{self, SavePlace};
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::progress::Meter;
use crate::questions::QuestionArgs;
use crate::running::{Manner, timed_out, with_host};
use crate::spelling;
use crate::stdio;

/// What the signature in an error may cost, in tokens.
const SIGNATURE_TOKENS: usize = 200;

/// Call a tool
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Arguments: key=value is read as the tool's schema wants it, key:=JSON is taken as it is, key=@FILE is a file's text.
--args gives all of them at once, as JSON, @FILE, or - for stdin.

A result that is not text (images, audio, binary resources) is saved to a file, and named.")]
pub(crate) struct Args {
    #[command(flatten)]
    called: ToolArgs,

    /// Print the protocol's result, byte for byte
    #[arg(long)]
    raw: bool,

    /// Save images, audio and binary resources here
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    save: Option<std::path::PathBuf>,

    /// Call a server that nothing configures: the command that starts it, as words
    #[arg(long, value_name = "COMMAND", conflicts_with = "http")]
    stdio: Option<String>,

    /// Call a server that nothing configures: its address
    #[arg(long, value_name = "URL")]
    http: Option<String>,

    #[command(flatten)]
    questions: QuestionArgs,
}

/// The name of a server that is given on the command line.
const AD_HOC: &str = "adhoc";

/// So many of its tools are named to somebody who asked for another.
const MOST_NAMED: usize = 20;

pub(crate) fn run(context: &Context, args: Args) -> Result<(), Failure> {
    let given = ad_hoc(&args)?;
    let is_given = given.is_some();
    let may_mean = |server: &ServerName| !is_given && spelling::may_mean(&args.called.tool, server);
    let mut configuration = inputs::load(context, may_mean)?;
    context.report_problems_of(&configuration, may_mean);
    let (tool, words) = match given {
        Some(server) => {
            let tool = QualifiedName::new(server.name.clone(), ToolName::new(&args.called.tool));
            configuration.bring(server);
            (tool.to_string(), &args.called.words[..])
        }
        None => spelling::tool_and_words(&configuration, &args.called.tool, &args.called.words),
    };
    check_understood(context, &configuration, &tool)?;
    let manner = Manner::answering(&args.questions);
    let make = || {
        with_host(context, &configuration, Wanted::OnDemand, manner, async |host| {
            let called = call(context, host, &tool, words, args.called.args.as_deref()).await;
            called.map_err(|failure| if is_given { about_ad_hoc(host, failure) } else { failure })
        })
    };
    let outcome = match make() {
        // Only a person signs in: a script gets the error and its hint. What came in by a pipe is gone by now.
        Err(refused) if context.console.can_ask() && args.called.args.as_deref() != Some("-") => {
            match login::offered(context, refused)? {
                Offered::SignedIn => make()?,
                Offered::Not(refused) => return Err(refused),
            }
        }
        made => made?,
    };
    for warning in &outcome.warnings {
        context.printer.warning(warning);
    }
    let spec = configuration.server(outcome.name.server.as_str()).and_then(|server| server.spec.as_ref());
    print(context, &args, &outcome, spec)
}

/// The server that is given on the command line. Its command is words, and no shell sees it.
fn ad_hoc(args: &Args) -> Result<Option<ServerSpec>, Failure> {
    if let Some(command) = &args.stdio {
        let words = shell_words::split(command)
            .map_err(|error| Failure::usage(format!("`--stdio {command}` is not a command: {error}")))?;
        let Some((program, arguments)) = words.split_first() else {
            return Err(Failure::usage("`--stdio` names no command").hint("--stdio \"npx -y @scope/server\""));
        };
        return Ok(Some(ServerSpec::stdio(AD_HOC, program).args(arguments).build()));
    }
    match &args.http {
        Some(address) if !address.starts_with("http://") && !address.starts_with("https://") => {
            Err(Failure::usage(format!("`--http {address}` is not an address"))
                .hint("it begins with http:// or https://"))
        }
        Some(address) => Ok(Some(ServerSpec::http(AD_HOC, address).build())),
        None => Ok(None),
    }
}

/// What to do about a call of a server that nothing configures: no other command knows it, and no rule should.
fn about_ad_hoc(host: &Host, failure: Failure) -> Failure {
    match failure.code() {
        Some(ErrorCode::ApprovalRequired) => failure.advising([
            "`--yes` lets a script call it, this once".to_owned(),
            "to allow it for good, configure the server with `helve add`, then `helve allow` its tool".to_owned(),
        ]),
        Some(ErrorCode::ToolNotFound) => {
            let snapshot = host.snapshot();
            let names = snapshot.tools().map(|tool| tool.name()).filter(|name| name.server.as_str() == AD_HOC);
            let names: Vec<String> = names.map(|name| name.tool.as_str().to_owned()).take(MOST_NAMED).collect();
            if names.is_empty() { failure } else { failure.advising([format!("it has: {}", names.join(", "))]) }
        }
        _ => failure,
    }
}

async fn call(
    context: &Context,
    host: &Host,
    tool: &str,
    words: &[String],
    whole: Option<&str>,
) -> Result<CallOutcome, Failure> {
    let meter = Meter::new(context);
    let started = Instant::now();
    let work = async {
        let limited = context.call().with(|call| call.timeout = context.options.timeout);
        // What earlier runs know of the tool is enough to read its arguments; else its server is started now.
        host.recalled().await;
        let prepared = match host.resolve(tool) {
            Ok(known) => host.prepare(known),
            Err(_) => host.connect(tool, &limited).await?,
        };
        let tool = prepared.tool();
        let arguments = arguments(context, tool.name(), tool.input_schema(), words, whole).await?;
        // The call ends before the whole does, and tells more: whose it was, and whether it may have run.
        let total = context.options.timeout.map(|whole| whole.saturating_sub(started.elapsed()) * 19 / 20);
        let on_progress = meter.callback();
        let call = context.call().with(|context| {
            context.on_progress = on_progress;
            context.total = total;
            context.uncut = true;
        });
        prepared.invoke(arguments, call).await.map_err(|error| out_of_time(context, started, error))
    };
    meter.during(tool, Box::pin(work)).await
}

/// A call that ended because the time of the whole was over says so.
fn out_of_time(context: &Context, started: Instant, error: CallError) -> Failure {
    let is_over = |whole: &Duration| error.code() == ErrorCode::Timeout && started.elapsed() >= *whole * 9 / 10;
    let Some(whole) = context.options.timeout.filter(is_over) else { return error.into() };
    let mut failure = timed_out(whole).with_may_have_run(error.may_have_run());
    if let Some(cause) = error.source() {
        failure = failure.cause(cause);
    }
    if let Some(server) = error.server() {
        failure = failure.at_server(server.as_str());
    }
    match error.tool() {
        Some(tool) => failure.at_tool(tool.as_str()),
        None => failure,
    }
}

/// A tool and its arguments, as a person writes them.
#[derive(Debug, clap::Args)]
pub(crate) struct ToolArgs {
    /// The tool: server/tool, or any other spelling
    #[arg(value_name = "TOOL")]
    pub(crate) tool: String,

    /// key=value, key:=JSON or key=@FILE
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) words: Vec<String>,

    /// All arguments as JSON, @FILE or - for stdin
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
}

/// The arguments a person wrote: words by the schema, or all at once.
pub(crate) async fn arguments(
    context: &Context,
    tool: &QualifiedName,
    schema: &str,
    words: &[String],
    whole: Option<&str>,
) -> Result<RawJson, Failure> {
    let Some(whole) = whole else {
        let words = words.iter().map(|word| with_file(context, word)).collect::<Result<Vec<_>, _>>()?;
        let coerced = coerce(schema, &words).map_err(|errors| invalid(tool, schema, &errors))?;
        for warning in &coerced.warnings {
            context.printer.warning(warning);
        }
        return Ok(RawJson::assembled(coerced.arguments));
    };
    if !words.is_empty() {
        return Err(Failure::usage("give the arguments either as words or with --args, not both"));
    }
    let text = match whole.strip_prefix('@') {
        _ if whole == "-" => stdin().await?,
        Some(path) => file(context, path)?,
        None => whole.to_owned(),
    };
    let text = if text.trim().is_empty() { "{}".to_owned() } else { text };
    RawJson::checked(text).map_err(|error| {
        Failure::usage("the arguments are not valid JSON")
            .cause(&error)
            .hint("--args '{\"key\": \"value\"}', --args @FILE or --args -")
    })
}

/// Words that do not fit the schema, told as JSON that does not fit is.
fn invalid(tool: &QualifiedName, schema: &str, errors: &[WordError]) -> Failure {
    let name = tool.tool.as_str();
    let problems = if let [_] = errors { "1 problem".to_owned() } else { format!("{} problems", errors.len()) };
    let mut message = format!("invalid arguments for {name}: {problems}");
    for error in errors {
        message.push_str(&format!("\n  `{}`: {}", error.word, error.problem));
    }
    let line = signature(&ToolText::new(name, schema), Style::Line, SIGNATURE_TOKENS);
    message.push_str(&format!("\nusage: {line}"));
    Failure::new(ErrorCode::InvalidParams, message)
        .at_server(tool.server.as_str())
        .at_tool(name)
        .hint(format!("`helve tool {tool}` shows the whole schema"))
}

/// `key=@file` becomes the text of the file; `key=@@x` is the text `@x`.
fn with_file(context: &Context, word: &str) -> Result<String, Failure> {
    let Some((key, value)) = word.split_once('=') else { return Ok(word.to_owned()) };
    match value.strip_prefix('@') {
        Some(rest) if rest.starts_with('@') => Ok(format!("{key}={rest}")),
        Some(path) if !key.ends_with(':') => {
            // As JSON, so that the schema does not read a file that holds `12` as a number.
            let text = serde_json::Value::from(file(context, path)?);
            Ok(format!("{key}:={text}"))
        }
        Some(path) => Ok(format!("{key}={}", file(context, path)?)),
        None => Ok(word.to_owned()),
    }
}

fn file(context: &Context, path: &str) -> Result<String, Failure> {
    fs_err::read_to_string(context.env.working_directory().join(path)).map_err(|error| Failure::file(&error))
}

/// All of standard input. Dropping the future stops waiting for it.
async fn stdin() -> Result<String, Failure> {
    let failed = |error: &std::io::Error| Failure::other("standard input cannot be read").cause(error);
    let mut input = stdio::input().map_err(|error| failed(&error))?;
    let mut text = String::new();
    input.read_to_string(&mut text).await.map_err(|error| failed(&error))?;
    Ok(text)
}

fn print(context: &Context, args: &Args, outcome: &CallOutcome, spec: Option<&ServerSpec>) -> Result<(), Failure> {
    if args.raw {
        context.printer.data(&format!("{}\n", outcome.outcome.raw().as_str()))?;
        return fail_if_failed(outcome, true);
    }
    if context.printer.is_json() {
        context.printer.raw_json(outcome.outcome.raw())?;
        return fail_if_failed(outcome, true);
    }
    let view: OutcomeView = outcome.outcome.open().map_err(|error| {
        Failure::new(ErrorCode::ProtocolError, "the server's result is not valid JSON")
            .cause(&error)
            .hint("--raw shows it")
    })?;
    let mut place = SavePlace::new(context, args.save.as_deref(), outcome.name.tool.as_str());
    let mut text = content::to_text(&view, &mut place)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    context.printer.data(&text)?;
    fail_if_failed(outcome, false).map_err(|failure| {
        // It may have failed at a path that its sandbox does not open.
        let hints = spec.map(|spec| Confinement::new(context).hints(spec, &text)).unwrap_or_default();
        hints.into_iter().fold(failure, Failure::hint)
    })
}

/// The tool's own failure is the answer, and an exit status. JSON output already carries the failure.
fn fail_if_failed(outcome: &CallOutcome, is_told: bool) -> Result<(), Failure> {
    if !outcome.outcome.is_error() {
        return Ok(());
    }
    let failure = Failure::new(ErrorCode::ToolError, format!("`{}` says that it failed", outcome.name));
    Err(if is_told { failure.said() } else { failure })
}
