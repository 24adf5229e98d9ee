//! `helve prompt`: the messages of one prompt, as text or as a model provider wants them.

use helve::Host;
use helve_config::Configuration;
use helve_model::json::RawJson;
use helve_model::name::Spelling;
use helve_model::text::nearest;
use helve_model::{ErrorCode, OutcomeView, PromptOutcome};
use helve_render::{Provider, provider_messages};
use helve_setup::Wanted;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::offer_requests::check_server;
use crate::printer::{Line, Style};
use crate::progress::Meter;
use crate::questions::QuestionArgs;
use crate::running::{Manner, with_host};
use crate::spelling;

/// Get a prompt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The arguments of a prompt are texts; `helve prompts` says which ones it takes.")]
pub(crate) struct Args {
    /// The prompt: server/prompt, or its name where only one server has it
    #[arg(value_name = "PROMPT")]
    name: String,

    /// key=value
    #[arg(value_name = "KEY=VALUE")]
    words: Vec<String>,

    /// As messages for a model provider
    #[arg(long, value_enum, value_name = "FORM")]
    format: Option<Format>,

    #[command(flatten)]
    questions: QuestionArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Anthropic,
    /// Chat Completions
    Openai,
    /// Responses
    OpenaiResponses,
    Gemini,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let configuration = inputs::load(context, |server| spelling::may_mean(&args.name, server))?;
    context.report_problems_of(&configuration, |server| spelling::may_mean(&args.name, server));
    let (named, words) = server_and_prompt(&configuration, &args.name, &args.words);
    let arguments = arguments(words)?;
    if let Some((server, _)) = &named {
        check_server(context, &configuration, &context.setup.plan(&configuration)?, server)?;
    }
    let manner = Manner::answering(&args.questions);
    let outcome = with_host(context, &configuration, Wanted::OnDemand, manner, async |host| {
        let getting = async {
            let (server, prompt) = match named {
                Some(found) => found,
                None => (find(context, host, &args.name).await?, args.name.clone()),
            };
            let call = context.call();
            Ok(host.get_prompt(&server, &prompt, arguments, &call).await?)
        };
        Meter::new(context).during(&args.name, Box::pin(getting)).await
    })?;
    match args.format {
        Some(format) => formatted(context, &outcome, format),
        None if context.printer.is_json() => context.printer.raw_json(outcome.raw()),
        None => shown(context, &outcome),
    }
}

/// What the command line names: `server/prompt`, `server prompt` or a name alone; and the words that are left.
pub(crate) fn server_and_prompt<'a>(
    configuration: &Configuration,
    name: &str,
    words: &'a [String],
) -> (Option<(String, String)>, &'a [String]) {
    let mut servers: Vec<_> = configuration.servers.iter().map(|server| &server.name).collect();
    if let Some((prompt, rest)) = words.split_first()
        && !prompt.contains('=')
        && let Some(server) = servers.iter().find(|server| server.as_str() == name)
    {
        return (Some((server.to_string(), prompt.clone())), rest);
    }
    // The longest name first: `a/b` may be a server.
    servers.sort_by_key(|server| std::cmp::Reverse(server.as_str().len()));
    let known = servers.iter().find_map(|server| {
        let spelled = Spelling::Slash.render_server(server);
        let rest = name.strip_prefix(&spelled).or_else(|| name.strip_prefix(server.as_str()))?;
        Some((server.to_string(), rest.strip_prefix(['/', ':'])?.to_owned()))
    });
    // A slash names a server, even one that does not exist.
    let unknown = || name.split_once('/').map(|(server, prompt)| (server.to_owned(), prompt.to_owned()));
    (known.or_else(unknown), words)
}

/// The only server that has a prompt of this name.
async fn find(context: &Context, host: &Host, name: &str) -> Result<String, Failure> {
    let offers = host.prompts(None).await?;
    for error in &offers.errors {
        context.printer.warning(error.chain());
    }
    let having: Vec<String> =
        offers.items.iter().filter(|one| one.definition.name() == name).map(|one| one.server.to_string()).collect();
    match having.as_slice() {
        [server] => Ok(server.clone()),
        [] => {
            let names: Vec<&str> = offers.items.iter().map(|one| one.definition.name()).collect();
            let failure = Failure::new(ErrorCode::PromptNotFound, format!("no server has a prompt `{name}`"));
            Err(match nearest(name, names.iter().copied()) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint("`helve prompts` lists what there is"),
            })
        }
        several => {
            let several: Vec<String> = several.iter().map(|server| format!("`{server}/{name}`")).collect();
            Err(Failure::new(ErrorCode::PromptNotFound, format!("several servers have a prompt `{name}`"))
                .hint(format!("say which one: {}", several.join(", "))))
        }
    }
}

/// A prompt's arguments are texts, whatever they look like.
fn arguments(words: &[String]) -> Result<RawJson, Failure> {
    let mut arguments = Map::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(Failure::usage(format!("`{word}` is not an argument: write key=value")));
        };
        if arguments.insert(key.to_owned(), Value::from(value)).is_some() {
            return Err(Failure::usage(format!("`{key}` is given twice")));
        }
    }
    Ok(RawJson::assembled(Value::Object(arguments).to_string()))
}

fn formatted(context: &Context, outcome: &PromptOutcome, format: Format) -> Result<(), Failure> {
    let provider = match format {
        Format::Anthropic => Provider::Anthropic,
        Format::Openai => Provider::OpenAiChat,
        Format::OpenaiResponses => Provider::OpenAiResponses,
        Format::Gemini => Provider::Gemini,
    };
    let messages = provider_messages(provider, &outcome.messages());
    for notice in messages.notices() {
        context.printer.warning(notice.to_string());
    }
    context.printer.data(&format!("{}\n", messages.json()))
}

fn shown(context: &Context, outcome: &PromptOutcome) -> Result<(), Failure> {
    let messages = outcome.messages();
    if messages.is_empty() {
        context.printer.say(&Line::plain("The prompt has no messages."));
    }
    for message in messages {
        context.printer.line(&Line::styled(Style::Heading, format!("{}:", message.role)))?;
        let view = OutcomeView { is_error: false, content: vec![message.content], structured: None, meta: None };
        context.printer.data(&format!("{}\n", view.to_text().trim_end()))?;
    }
    Ok(())
}
