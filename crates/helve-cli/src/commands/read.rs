//! `helve read`: one resource. Text is the output; what is not text goes to a file, or to stdout with `-o -`.

use std::io::Write as _;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use helve_model::uri_template::{FillProblem, TemplateValue, TemplateValues, UriTemplate};
use helve_model::{ErrorCode, ResourceBody, ResourceContents};
use helve_setup::Wanted;

use crate::content::SavePlace;
use crate::context::Context;
use crate::failure::Failure;
use crate::offer_requests::load_for_server;
use crate::printer::Line;
use crate::progress::Meter;
use crate::questions::QuestionArgs;
use crate::running::{Manner, with_host};

/// More text than this does not go to a terminal but to a file: nobody could read it there.
const SHOWN_AT_A_TERMINAL: usize = 1024 * 1024;

/// Read a resource
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A template is filled: `helve read SERVER 'demo://{id}/{part}' id=3 part=head`. A variable that takes several values is
named several times.

What is not text is saved to a file, and named; -o FILE says which file, -o - is stdout. At a terminal, characters that
would steer it are shown and not obeyed, unless -o - is given.")]
pub(crate) struct Args {
    #[command(flatten)]
    resource: ResourceArgs,

    /// Write the contents to this file, byte for byte; - for stdout
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "json")]
    output: Option<PathBuf>,

    #[command(flatten)]
    questions: QuestionArgs,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let server = args.resource.server.as_str();
    let uri = args.resource.uri()?;
    let configuration = load_for_server(context, server)?;
    let manner = Manner::answering(&args.questions);
    let read = with_host(context, &configuration, Wanted::OnDemand, manner, async |host| {
        let call = context.call().with(|context| context.uncut = true);
        let reading = Box::pin(host.read_resource(server, &uri, &call));
        let read = Meter::new(context).during(&uri, reading).await;
        read.map_err(|error| match error.code() {
            ErrorCode::ResourceNotFound => {
                Failure::from(error).hint(format!("`helve resources {server}` lists what it has"))
            }
            _ => error.into(),
        })
    })?;
    if context.printer.is_json() {
        return context.printer.raw_json(read.outcome.raw());
    }
    let contents = read.outcome.contents();
    match &args.output {
        Some(path) => write(context, path, &contents),
        None => show(context, &contents),
    }
}

/// A resource of a server, as a person names it.
#[derive(Debug, clap::Args)]
pub(crate) struct ResourceArgs {
    /// The server
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,

    /// The resource, or a template with variables in braces
    #[arg(value_name = "URI")]
    uri: String,

    /// The variables of a template
    #[arg(value_name = "KEY=VALUE")]
    words: Vec<String>,
}

impl ResourceArgs {
    /// The URI that is meant.
    pub(crate) fn uri(&self) -> Result<String, Failure> {
        uri(&self.uri, &self.words)
    }
}

/// The URI a person means: as it is, or what a template makes of the words.
pub(crate) fn uri(text: &str, words: &[String]) -> Result<String, Failure> {
    let mut values = TemplateValues::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(Failure::usage(format!("`{word}` is not a variable: write key=value")));
        };
        match values.get_mut(key) {
            None => drop(values.insert(key.to_owned(), TemplateValue::from(value))),
            Some(TemplateValue::List(items)) => items.push(value.to_owned()),
            Some(several) => {
                let first = std::mem::replace(several, TemplateValue::List(Vec::new()));
                if let (TemplateValue::Text(first), TemplateValue::List(items)) = (first, several) {
                    items.extend([first, value.to_owned()]);
                }
            }
        }
    }
    // No URI has braces.
    if !text.contains(['{', '}']) {
        return match words.first() {
            None => Ok(text.to_owned()),
            Some(word) => Err(Failure::usage(format!("`{text}` has no variables, so `{word}` means nothing"))
                .hint("a template has them in braces: 'demo://{id}'")),
        };
    }
    let template = UriTemplate::parse(text).map_err(|problem| Failure::usage(problem.to_string()))?;
    template.fill(&values).map_err(|problem| {
        let failure = Failure::usage(problem.to_string());
        match &problem {
            FillProblem::Missing(names) => {
                let words: Vec<String> = names.iter().map(|name| format!("{name}=…")).collect();
                failure.hint(format!("add {}", words.join(" ")))
            }
            _ => failure.hint(format!("it has {}", template.variables().join(", "))),
        }
    })
}

/// Text to stdout, everything else to files.
pub(crate) fn show(context: &Context, contents: &[ResourceContents]) -> Result<(), Failure> {
    if contents.is_empty() {
        context.printer.say(&Line::plain("The resource is empty."));
    }
    let mut place = SavePlace::new(context, None, "resource");
    for piece in contents {
        let text = match &piece.body {
            ResourceBody::Text(text) if is_shown(context.console.stdout_is_terminal, text) => text.clone(),
            ResourceBody::Text(text) => {
                let mime = piece.mime_type.as_deref().or(Some("text/plain"));
                place.save("text", mime, text.as_bytes())?
            }
            ResourceBody::Blob(_) => place.save("resource", piece.mime_type.as_deref(), &bytes(piece)?)?,
        };
        let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        context.printer.data(&format!("{text}{end}"))?;
    }
    Ok(())
}

/// A pipe gets everything, however much it is.
const fn is_shown(to_terminal: bool, text: &str) -> bool {
    !to_terminal || text.len() <= SHOWN_AT_A_TERMINAL
}

fn write(context: &Context, path: &std::path::Path, contents: &[ResourceContents]) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        let mut stdout = std::io::stdout().lock();
        for piece in contents {
            stdout.write_all(&bytes(piece)?).map_err(Failure::stdout)?;
        }
        return stdout.flush().map_err(Failure::stdout);
    }
    let [piece] = contents else {
        return Err(Failure::usage(format!("the resource has {} contents, not one for one file", contents.len()))
            .hint("--json gives all of them, and so does reading without -o"));
    };
    let path = context.env.working_directory().join(path);
    let bytes = bytes(piece)?;
    fs_err::write(&path, &bytes).map_err(|error| Failure::file(&error))?;
    context.printer.say(&Line::plain(format!("{} bytes written to {}", bytes.len(), context.env.shown(&path))));
    Ok(())
}

fn bytes(piece: &ResourceContents) -> Result<Vec<u8>, Failure> {
    match &piece.body {
        ResourceBody::Text(text) => Ok(text.clone().into_bytes()),
        ResourceBody::Blob(data) => STANDARD.decode(data).map_err(|error| {
            Failure::new(ErrorCode::ProtocolError, format!("the server's blob of {} is not base 64", piece.uri))
                .cause(&error)
                .hint("--json shows it as it came")
        }),
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
