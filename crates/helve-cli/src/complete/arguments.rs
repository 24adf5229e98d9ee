//! What could stand in an argument of a tool, of a prompt or of a resource template, and which URIs a server has.
//!
//! A tool's arguments are known from lists that earlier runs kept, so nothing is started for them. Nobody keeps lists of resources and
//! prompts: for those the one server that the line names is asked, for a short time, if it may be started at all.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgMatches, CommandFactory as _};
use helve::Host;
use helve_config::Configuration;
use helve_model::json::RawJson;
use helve_model::name::{NameTable, Resolution};
use helve_model::uri_template::UriTemplate;
use helve_model::{Definition as _, QualifiedName};
use helve_setup::Wanted;
use helve_wire::CompletionSubject;
use serde_json::Value;

use crate::catalog;
use crate::commands::prompt;
use crate::context::Context;
use crate::failure::Failure;
use crate::options::Cli;
use crate::running::{Manner, block_on, hosted};
use crate::spelling;

/// So long a shell waits for a server at most.
const PATIENCE: Duration = Duration::from_secs(4);

/// More candidates than this nobody reads.
const MAX_CANDIDATES: usize = 200;

/// Which argument a shell wants to complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `key=value`.
    Word,
    /// A resource, or a template.
    Uri,
}

/// One candidate: what would stand on the line, and what it is.
pub(super) type Candidate = (String, String);

/// What could stand in the place of `typed`, behind the words of a line. Whatever goes wrong, there is nothing to offer.
pub(super) fn candidates(context: &Context, line: &[OsString], kind: Kind, typed: &str) -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Some((verb, matches)) = parsed(line)
        && let Ok(configuration) = context.load()
    {
        found = offered(context, &configuration, &verb, &matches, kind, typed).unwrap_or_default();
    }
    found.retain(|(value, _)| value.starts_with(typed));
    found.truncate(MAX_CANDIDATES);
    found
}

/// The verb and the arguments of a line that is not finished.
fn parsed(line: &[OsString]) -> Option<(String, ArgMatches)> {
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(line).ok()?;
    let (verb, matches) = matches.subcommand()?;
    Some((verb.to_owned(), matches.clone()))
}

fn offered(
    context: &Context,
    configuration: &Configuration,
    verb: &str,
    matches: &ArgMatches,
    kind: Kind,
    typed: &str,
) -> Option<Vec<Candidate>> {
    let words = || several(matches, "words");
    match (verb, kind) {
        ("call" | "poll" | "explain", Kind::Word) => {
            let target = one(matches, "tool").or_else(|| one(matches, "target"))?;
            let given = words();
            // `helve poll SERVER URI`
            if verb == "poll" && given.is_empty() && configuration.server(&target).is_some() {
                return uris(context, configuration, &target);
            }
            let (name, words) = spelling::tool_and_words(configuration, &target, &given);
            of_tool(context, configuration, &name, words, typed)
        }
        ("prompt", Kind::Word) => {
            let given = words();
            let (named, words) = prompt::server_and_prompt(configuration, &one(matches, "name")?, &given);
            let (server, prompt) = named?;
            of_prompt(context, configuration, &server, &prompt, words, typed)
        }
        ("read" | "watch", Kind::Uri) => uris(context, configuration, &one(matches, "server")?),
        ("read" | "watch", Kind::Word) => {
            let (server, uri) = (one(matches, "server")?, one(matches, "uri")?);
            of_template(context, configuration, &server, &uri, &words(), typed)
        }
        _ => None,
    }
}

/// The arguments of a tool that are not given yet; behind `=`, what its schema allows there.
fn of_tool(
    context: &Context,
    configuration: &Configuration,
    name: &str,
    given: &[String],
    typed: &str,
) -> Option<Vec<Candidate>> {
    let name = identity(context, configuration, name)?;
    let definition = catalog::known_definition(context, configuration, &name)?;
    let schema = definition.view().input_schema.as_ref()?.parse::<Value>().ok()?;
    let properties = schema.get("properties")?.as_object()?;
    if let Some((key, _)) = typed.split_once('=') {
        let property = properties.get(key)?;
        return Some(values(property).into_iter().map(|value| (format!("{key}={value}"), String::new())).collect());
    }
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut open: Vec<(&String, &Value)> = properties.iter().filter(|(key, _)| !is_given(given, key)).collect();
    // What the tool cannot do without comes first.
    open.sort_by_key(|(key, _)| !required.contains(&key.as_str()));
    let described =
        |property: &Value| property.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(open.into_iter().map(|(key, property)| (format!("{key}="), described(property))).collect())
}

/// The tool that a text names, among those that are known.
fn identity(context: &Context, configuration: &Configuration, name: &str) -> Option<QualifiedName> {
    let table = NameTable::new(catalog::known_identities(context, configuration));
    match table.resolve(name) {
        Resolution::Found(found) => Some(found.clone()),
        _ => None,
    }
}

/// The values that a schema lists, of whichever of its alternatives.
fn values(schema: &Value) -> Vec<String> {
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_true) => Some(is_true.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"));
    let mut found: Vec<String> = listed.filter_map(word).collect();
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    // One level of alternatives is what schemas of optional arguments have.
    for alternative in alternatives {
        let listed =
            alternative.get("enum").and_then(Value::as_array).into_iter().flatten().chain(alternative.get("const"));
        found.extend(listed.filter_map(word));
    }
    if found.is_empty() && schema.get("type").and_then(Value::as_str) == Some("boolean") {
        found.extend(["true", "false"].map(str::to_owned));
    }
    found
}

fn of_prompt(
    context: &Context,
    configuration: &Configuration,
    server: &str,
    prompt: &str,
    given: &[String],
    typed: &str,
) -> Option<Vec<Candidate>> {
    asking(context, configuration, server, async |host| {
        if let Some((key, value)) = typed.split_once('=') {
            return completed(host, server, CompletionSubject::Prompt(prompt), (key, value), given).await;
        }
        let prompts = host.prompts(Some(server)).await?;
        let found = prompts.items.iter().find(|offer| offer.definition.name() == prompt);
        let arguments = found.map(|offer| offer.definition.view().arguments).unwrap_or_default();
        let open = arguments.into_iter().filter(|argument| !is_given(given, &argument.name));
        Ok(open.map(|argument| (format!("{}=", argument.name), argument.description.unwrap_or_default())).collect())
    })
}

fn of_template(
    context: &Context,
    configuration: &Configuration,
    server: &str,
    uri: &str,
    given: &[String],
    typed: &str,
) -> Option<Vec<Candidate>> {
    let template = UriTemplate::parse(uri).ok()?;
    let Some((key, value)) = typed.split_once('=') else {
        let open = template.variables().into_iter().filter(|name| !is_given(given, name));
        return Some(open.map(|name| (format!("{name}="), String::new())).collect());
    };
    asking(context, configuration, server, async |host| {
        completed(host, server, CompletionSubject::ResourceTemplate(uri), (key, value), given).await
    })
}

/// The resources and templates of a server.
fn uris(context: &Context, configuration: &Configuration, server: &str) -> Option<Vec<Candidate>> {
    asking(context, configuration, server, async |host| {
        let (resources, templates) =
            (host.resources(Some(server)).await?, host.resource_templates(Some(server)).await?);
        let title = |raw: &RawJson| raw.member_str("title").or_else(|| raw.member_str("name")).unwrap_or_default();
        let resources = resources.items.iter().filter_map(|offer| {
            let raw = offer.definition.raw();
            Some((raw.member_str("uri")?, title(raw)))
        });
        let templates = templates.items.iter().filter_map(|offer| {
            let raw = offer.definition.raw();
            Some((raw.member_str("uriTemplate")?, title(raw)))
        });
        Ok(resources.chain(templates).collect())
    })
}

/// What a server says could stand in an argument.
async fn completed(
    host: &Host,
    server: &str,
    subject: CompletionSubject<'_>,
    (key, value): (&str, &str),
    given: &[String],
) -> Result<Vec<Candidate>, Failure> {
    let known: serde_json::Map<String, Value> = given
        .iter()
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    let known = (!known.is_empty()).then(|| RawJson::assembled(Value::Object(known).to_string()));
    let values = host.complete(server, subject, key, value, known.as_ref()).await?;
    Ok(values.into_iter().map(|value| (format!("{key}={value}"), String::new())).collect())
}

/// Asks one server, for a short time. One that is held back, for want of trust or otherwise, is not started.
fn asking(
    context: &Context,
    configuration: &Configuration,
    server: &str,
    body: impl AsyncFnOnce(&Host) -> Result<Vec<Candidate>, Failure>,
) -> Option<Vec<Candidate>> {
    let only = [server.to_owned()];
    let work = async {
        let asked = hosted(context, configuration, Wanted::Only(&only), Manner::reporting(), body);
        match tokio::time::timeout(PATIENCE, Box::pin(asked)).await {
            Ok(found) => found,
            // A shell shows nothing, and the person types on.
            Err(_) => Ok(Vec::new()),
        }
    };
    block_on(work).ok()
}

fn is_given(words: &[String], key: &str) -> bool {
    words.iter().filter_map(|word| word.split_once('=')).any(|(given, _)| given.trim_end_matches(':') == key)
}

fn one(matches: &ArgMatches, id: &str) -> Option<String> {
    matches.try_get_one::<String>(id).ok().flatten().cloned()
}

fn several(matches: &ArgMatches, id: &str) -> Vec<String> {
    matches.try_get_many::<String>(id).ok().flatten().into_iter().flatten().cloned().collect()
}
