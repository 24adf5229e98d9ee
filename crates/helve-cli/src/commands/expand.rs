//! `helve expand`: replaces `[use-mcp:server/tool:{…}]` in a text by what the tools say. What is certain is printed as it
//! comes, in order; what is not a tag passes byte for byte.

use std::pin::Pin;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use helve::tags::{self, Piece, Seams, Tag, TagReader};
use helve::{CallContext, CallError, CallOutcome, CallSource, Door, Host};
use helve_model::ErrorCode;
use helve_policy::Caller;
use helve_setup::Wanted;
use helve_wire::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::content::{self, SavePlace};
use crate::context::Context;
use crate::failure::Failure;
use crate::lossless::Lossless;
use crate::progress::Meter;
use crate::questions::QuestionArgs;
use crate::running::{Manner, block_on, bounded, hosted};
use crate::stdio;

/// So much of the text is read at a time.
const CHUNK: usize = 64 << 10;
/// While so many pieces wait for a call before them, no more is read.
const MAX_WAITING: usize = 1_024;

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
    block_on(async {
        let mut text = Text::open(context, args)?;
        let mut output = Output::new(context, args);
        if context.options.no_mcp {
            bounded(context, text.pass_unchanged(&mut output)).await?;
            return output.finish();
        }
        // A spinner would stand in the middle of what is printed.
        let is_quiet = output.is_whole || !context.console.stdout_is_terminal;
        // Most texts have no tags, and need neither servers nor a configuration.
        let first = bounded(context, text.until_a_call(&mut output)).await?;
        if let Some(pieces) = first {
            let configuration = context.load()?;
            context.report_problems(&configuration);
            let manner = Manner::answering(&args.questions);
            let expanding = async |host: &Host| {
                let work = expand(context, host, &mut text, pieces, &mut output);
                if is_quiet { Meter::new(context).during("expanding", work).await } else { work.await }
            };
            hosted(context, &configuration, Wanted::OnDemand, manner, expanding).await?;
        }
        output.finish()
    })
}

/// The text, as it is taken apart.
struct Text {
    input: Pin<Box<dyn AsyncRead + Send>>,
    lossless: Lossless,
    /// `None` when the text is over.
    tags: Option<TagReader>,
    /// All of it is read before anything is done with it.
    is_gathered: bool,
}

impl Text {
    fn open(context: &Context, args: &Args) -> Result<Self, Failure> {
        let file = args.file.as_ref().filter(|path| path.as_os_str() != "-");
        let input: Pin<Box<dyn AsyncRead + Send>> = match file {
            Some(path) => {
                let path = context.env.working_directory().join(path);
                let bytes = fs_err::read(path).map_err(|error| Failure::file(&error))?;
                Box::pin(std::io::Cursor::new(bytes))
            }
            None => stdio::input().map_err(|error| Failure::file(&error))?,
        };
        // Somebody who types the text cannot answer questions before it is over.
        let is_typed = file.is_none() && context.console.stdin_is_terminal;
        let is_gathered = is_typed || args.strict || context.printer.is_json();
        Ok(Self { input, lossless: Lossless::default(), tags: Some(TagReader::new()), is_gathered })
    }

    /// Passes on all of it: without MCP a tag is text like any other.
    async fn pass_unchanged(&mut self, output: &mut Output<'_>) -> Result<(), Failure> {
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            self.read_into(&mut chunk).await?;
            if chunk.is_empty() {
                return Ok(());
            }
            output.put(&chunk)?;
        }
    }

    async fn read_into(&mut self, chunk: &mut Vec<u8>) -> Result<(), Failure> {
        let read = self.input.read_buf(chunk).await;
        read.map(drop).map_err(|error| Failure::other("the text cannot be read").cause(&error))
    }

    /// Passes on what comes before the first call. Gives it and whatever is known after it; `None` when there is none.
    async fn until_a_call(&mut self, output: &mut Output<'_>) -> Result<Option<Vec<Piece>>, Failure> {
        let mut gathered = Vec::new();
        while let Some(pieces) = self.next().await? {
            gathered.extend(pieces);
            if self.is_gathered && self.tags.is_some() {
                continue;
            }
            if output.is_strict
                && let Some(problem) = gathered.iter().find_map(problem_of)
            {
                return Err(problem);
            }
            if gathered.iter().any(|piece| matches!(piece, Piece::Tag(_))) {
                return Ok(Some(gathered));
            }
            for piece in gathered.drain(..) {
                output.pass(&piece, &mut self.lossless)?;
            }
        }
        Ok(None)
    }

    /// The next pieces, perhaps none of them certain yet; `None` when there are no more.
    ///
    /// Cancel safe: what was read is not lost.
    async fn next(&mut self) -> Result<Option<Vec<Piece>>, Failure> {
        if self.tags.is_none() {
            return Ok(None);
        }
        let mut chunk = Vec::with_capacity(CHUNK);
        self.read_into(&mut chunk).await?;
        let Some(tags) = &mut self.tags else { return Ok(None) };
        if !chunk.is_empty() {
            return Ok(Some(tags.read(&self.lossless.read(&chunk))));
        }
        let mut pieces = tags.read(&self.lossless.finish());
        pieces.extend(self.tags.take().map(TagReader::finish).unwrap_or_default());
        Ok(Some(pieces))
    }
}

/// One piece on its way out.
enum Done {
    Piece(Piece),
    Called(Tag, Result<CallOutcome, CallError>),
}

/// Makes the calls at once, and puts their results out in order.
async fn expand(
    context: &Context,
    host: &Host,
    text: &mut Text,
    pieces: Vec<Piece>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let mut waiting: FuturesOrdered<BoxFuture<'_, Done>> = FuturesOrdered::new();
    let begin = |piece: Piece| -> BoxFuture<'_, Done> {
        let Piece::Tag(tag) = piece else { return Box::pin(std::future::ready(Done::Piece(piece))) };
        Box::pin(async move {
            let by_tag = CallContext::new(Caller::PromptTag).with(|context| {
                context.uncut = true;
                context.source = CallSource::new(Door::PromptTag);
            });
            let outcome = host.call(&tag.name, tag.arguments.clone(), by_tag).await;
            Done::Called(tag, outcome.and_then(CallOutcome::into_result))
        })
    };
    waiting.extend(pieces.into_iter().map(begin));
    loop {
        tokio::select! {
            biased;
            Some(done) = waiting.next() => match done {
                Done::Piece(piece) => output.pass(&piece, &mut text.lossless)?,
                Done::Called(tag, result) => {
                    // What the tag was written as is spoken for, too.
                    drop(text.lossless.bytes_of(&tag.source));
                    output.replace(context, &tag, result)?;
                }
            },
            pieces = text.next(), if text.tags.is_some() && waiting.len() < MAX_WAITING => {
                waiting.extend(pieces?.unwrap_or_default().into_iter().map(begin));
            }
            else => return Ok(()),
        }
    }
}

/// Where the finished text goes.
struct Output<'a> {
    context: &'a Context,
    is_strict: bool,
    /// Nothing is printed before all is done.
    is_whole: bool,
    /// What is not printed yet.
    waiting: Vec<u8>,
    /// Keeps results from making tags of what is put together.
    seams: Seams,
    errors: Vec<Value>,
}

impl<'a> Output<'a> {
    fn new(context: &'a Context, args: &Args) -> Self {
        // A text that is there already need not be shown in the middle of questions.
        let is_shown_late = args.file.is_some() && context.console.stdout_is_terminal;
        let is_whole = args.strict || context.printer.is_json() || is_shown_late;
        Self {
            context,
            is_strict: args.strict,
            is_whole,
            waiting: Vec::new(),
            seams: Seams::default(),
            errors: Vec::new(),
        }
    }

    /// A piece that is not a call.
    fn pass(&mut self, piece: &Piece, lossless: &mut Lossless) -> Result<(), Failure> {
        if let Some(problem) = problem_of(piece) {
            self.context.printer.warning(problem.message());
            self.errors.push(as_value(&problem.to_json(&self.context.printer.words)));
        }
        let bytes = lossless.bytes_of(piece.passed_on().unwrap_or_default());
        let bytes = self.seams.text(&bytes);
        self.put(&bytes)
    }

    /// A call, by its result.
    fn replace(&mut self, context: &Context, tag: &Tag, result: Result<CallOutcome, CallError>) -> Result<(), Failure> {
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) if self.is_strict => return Err(error.into()),
            Err(error) => {
                let words = match error.code() {
                    ErrorCode::ToolError => format!("`{}` says that it failed: {}", tag.name, error.chain()),
                    _ => error.chain(),
                };
                context.printer.warning(words);
                error.hints().iter().for_each(|hint| context.printer.hint(hint));
                self.errors.push(as_value(&error.to_json()));
                return self.put_result(&tags::failure(tag, &error));
            }
        };
        let Ok(view) = outcome.outcome.open() else { return self.put_result(outcome.outcome.raw().as_str()) };
        let mut place = SavePlace::new(context, None, outcome.name.tool.as_str());
        let text = content::to_text(&view, &mut place)?;
        self.put_result(&text)
    }

    fn put_result(&mut self, text: &str) -> Result<(), Failure> {
        let bytes = self.seams.result(text);
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.waiting.extend_from_slice(bytes);
        if self.is_whole {
            return Ok(());
        }
        // Nobody prints into a question.
        let Ok(_turn) = self.context.turn.try_lock() else { return Ok(()) };
        self.context.printer.bytes(&std::mem::take(&mut self.waiting))
    }

    fn finish(self) -> Result<(), Failure> {
        if self.context.printer.is_json() && !self.is_strict {
            let text = String::from_utf8_lossy(&self.waiting);
            return self.context.printer.json(&json!({"text": text, "errors": self.errors}));
        }
        self.context.printer.bytes(&self.waiting)
    }
}

fn problem_of(piece: &Piece) -> Option<Failure> {
    let Piece::Problem(problem) = piece else { return None };
    Some(Failure::usage(format!("line {}, column {}: {}", problem.line, problem.column, problem.message)))
}

fn as_value(error: &impl serde::Serialize) -> Value {
    serde_json::to_value(error).unwrap_or_default()
}
