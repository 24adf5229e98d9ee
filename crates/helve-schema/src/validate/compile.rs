//! Owns turning the text of a schema into a validator, or into the reason why there is none.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ReferencingError, Retrieve, Uri, ValidationError};
use serde_json::Value;

use super::budget::{self, Counts, Excess, Stop, Survey};
use super::explain;
use super::meter::{Metered, PatternWeight, Weight};
use super::pattern;
use super::{CheckRefusal, SchemaNotice, Unvalidated};
use helve_model::text::{SHOWN_CHARACTERS, folded, quoted};
use helve_render::schema::document::{Document, address};
use helve_render::schema::json::{self, Json, JsonProblem, Object, push_pointer};
use helve_render::schema::limits::SCHEMA_CAPS;

/// Bytes of the program of one pattern, and of its cache while it runs.
const PATTERN_PROGRAM_BYTES: usize = 2 * 1024 * 1024;
const PATTERN_CACHE_BYTES: usize = 1024 * 1024;

/// Characters of the reason why a schema is not valid.
const MAX_REASON: usize = 200;
/// Notices kept about one schema.
const MAX_NOTICES: usize = 20;

/// A schema after the one attempt to compile it.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) state: State,
    pub(crate) notices: Vec<SchemaNotice>,
}

#[derive(Debug)]
pub(crate) enum State {
    Ready(Box<Checker>),
    Unvalidated(Unvalidated),
    Refused(CheckRefusal),
}

/// A compiled schema and what is known of its cost.
#[derive(Debug)]
pub(crate) struct Checker {
    pub(crate) validator: jsonschema::Validator<Metered>,
    pub(crate) weight: Weight,
    pub(crate) counts: Counts,
}

/// Compiles a schema. Never fails: what cannot be compiled is a state of its own.
pub(crate) fn compile(text: &str) -> Compiled {
    let mut notices = Vec::new();
    let state = match attempt(text, &mut notices) {
        Ok(checker) => State::Ready(Box::new(checker)),
        Err(Failure::Unvalidated(reason)) => State::Unvalidated(reason),
        Err(Failure::Refused(reason)) => State::Refused(reason),
    };
    Compiled { state, notices }
}

enum Failure {
    Unvalidated(Unvalidated),
    Refused(CheckRefusal),
}

fn attempt(text: &str, notices: &mut Vec<SchemaNotice>) -> Result<Checker, Failure> {
    let mut schema = json::parse(text, SCHEMA_CAPS).map_err(|problem| {
        Failure::Unvalidated(match problem {
            JsonProblem::TooLarge { .. } => Unvalidated::OverBudget(Excess::Bytes),
            JsonProblem::TooDeep { .. } => Unvalidated::OverBudget(Excess::Depth),
            problem => Unvalidated::InvalidSchema(problem.to_string()),
        })
    })?;
    if schema.as_object().is_none() {
        return Err(Failure::Unvalidated(Unvalidated::InvalidSchema("a schema must be a JSON object".to_owned())));
    }
    let drafts = dialect(&mut schema, notices);
    let document = Document::new(&schema);
    let surveyed = survey(&document)?;
    let too_costly = losses(&surveyed.schemas, pattern::affordable());
    if too_costly.is_empty() {
        return finish(&schema, &surveyed, &drafts, notices);
    }
    let cheaper = without(&too_costly, &schema, "", notices);
    finish(&cheaper, &survey(&Document::new(&cheaper))?, &drafts, notices)
}

fn finish(
    schema: &Json,
    surveyed: &Survey<'_>,
    drafts: &[Draft],
    notices: &mut Vec<SchemaNotice>,
) -> Result<Checker, Failure> {
    let (counts, weight) = (surveyed.counts, weigh(surveyed));
    let validator = match build(schema, drafts, notices) {
        Ok(validator) => validator,
        Err(failure) => {
            let unsupported = losses(&surveyed.schemas, supported);
            if unsupported.is_empty() {
                return Err(failure);
            }
            build(&without(&unsupported, schema, "", notices), drafts, notices)?
        }
    };
    Ok(Checker { validator, weight, counts })
}

fn survey<'a>(document: &Document<'a>) -> Result<Survey<'a>, Failure> {
    budget::guard(document).map_err(|stop| match stop {
        Stop::External(reference) => Failure::Refused(CheckRefusal::ExternalReference(reference)),
        Stop::Dangling(reference) => Failure::Unvalidated(Unvalidated::InvalidSchema(format!(
            "the reference {} leads nowhere",
            quoted(&reference, SHOWN_CHARACTERS)
        ))),
        Stop::Excess(excess) => Failure::Unvalidated(Unvalidated::OverBudget(excess)),
    })
}

/// The drafts to try. A schema that names none is 2020-12, as the protocol says; but before it said so servers wrote
/// older ones without saying which, so those are tried too, where 2020-12 refuses.
pub(super) fn dialect(schema: &mut Json, notices: &mut Vec<SchemaNotice>) -> Vec<Draft> {
    let Json::Object(object) = schema else { return vec![Draft::Draft202012] };
    let Some(declared) = object.get("$schema") else { return vec![Draft::Draft202012, Draft::Draft7, Draft::Draft4] };
    let name = declared.as_str().unwrap_or_default().trim_end_matches('#');
    let bare = name.strip_prefix("http://").or_else(|| name.strip_prefix("https://")).unwrap_or(name);
    let draft = match bare.trim_end_matches('/') {
        "json-schema.org/draft/2020-12/schema" | "json-schema.org/schema" => Some(Draft::Draft202012),
        "json-schema.org/draft/2019-09/schema" => Some(Draft::Draft201909),
        "json-schema.org/draft-07/schema" => Some(Draft::Draft7),
        "json-schema.org/draft-06/schema" => Some(Draft::Draft6),
        "json-schema.org/draft-04/schema" => Some(Draft::Draft4),
        _ => None,
    };
    if draft.is_none() {
        notices.push(SchemaNotice::UnknownDialect(declared.as_str().unwrap_or_default().to_owned()));
    }
    // The draft is passed on as such; the validator would look an unknown name up as a document.
    object.shift_remove("$schema");
    vec![draft.unwrap_or(Draft::Draft202012)]
}

fn build(
    schema: &Json,
    drafts: &[Draft],
    notices: &mut Vec<SchemaNotice>,
) -> Result<jsonschema::Validator<Metered>, Failure> {
    let value = schema.to_value();
    let mut first = None;
    for (attempt, draft) in drafts.iter().enumerate() {
        match options(*draft).build(&value) {
            Ok(validator) => {
                if attempt > 0 {
                    notices.push(SchemaNotice::OlderDraft(draft_name(*draft)));
                }
                return Ok(validator);
            }
            Err(error) => {
                first.get_or_insert_with(|| classify(&error, &value));
            }
        }
    }
    Err(first.unwrap_or_else(|| Failure::Unvalidated(Unvalidated::InvalidSchema("no draft to read it by".to_owned()))))
}

fn options(draft: Draft) -> jsonschema::ValidationOptions<'static, std::sync::Arc<dyn Retrieve>, Metered> {
    jsonschema::options_for::<Metered>()
        .with_draft(draft)
        .with_retriever(NoDocuments)
        // In the protocol's dialect a format describes and does not check. The older ones leave it open, and the
        // libraries behind servers disagree with any other library about what a URI or a date is.
        .should_validate_formats(false)
        .with_pattern_options(
            PatternOptions::regex().size_limit(PATTERN_PROGRAM_BYTES).dfa_size_limit(PATTERN_CACHE_BYTES),
        )
}

fn classify(error: &ValidationError<'_>, schema: &Value) -> Failure {
    if let ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) = error.kind() {
        return Failure::Refused(CheckRefusal::ExternalReference(uri.clone()));
    }
    let place = error.instance_path().as_str();
    let problem = match schema.pointer(place) {
        Some(value) if !place.is_empty() => format!("{place} cannot be {}", explain::shown(value)),
        _ => error.masked_with("this").to_string(),
    };
    Failure::Unvalidated(Unvalidated::InvalidSchema(folded(&problem, MAX_REASON)))
}

fn draft_name(draft: Draft) -> &'static str {
    match draft {
        Draft::Draft4 => "draft 4",
        Draft::Draft6 => "draft 6",
        Draft::Draft7 => "draft 7",
        Draft::Draft201909 => "2019-09",
        _ => "2020-12",
    }
}

/// No reference ever reaches a network or a file.
#[derive(Debug)]
struct NoDocuments;

impl Retrieve for NoDocuments {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err(Box::new(NoDocument))
    }
}

#[derive(Debug)]
struct NoDocument;

impl fmt::Display for NoDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("schemas are never fetched")
    }
}

impl Error for NoDocument {}

/// Whether the linear engine takes the pattern: it has no look-around and no back-references.
fn supported(pattern: &str) -> bool {
    let schema = Value::Object(serde_json::Map::from_iter([("pattern".to_owned(), Value::String(pattern.to_owned()))]));
    options(Draft::Draft202012).build(&schema).is_ok()
}

/// The patterns each schema loses, by the schema's address.
type Losses = HashMap<usize, Vec<String>>;

fn losses(schemas: &[&Json], mut keep: impl FnMut(&str) -> bool) -> Losses {
    let mut losses = Losses::new();
    for schema in schemas {
        let keys = schema.get("patternProperties").and_then(Json::as_object).into_iter().flat_map(|named| named.keys());
        let lost: Vec<String> = schema
            .text("pattern")
            .into_iter()
            .chain(keys.map(String::as_str))
            .filter(|pattern| !keep(pattern))
            .map(str::to_owned)
            .collect();
        if !lost.is_empty() {
            losses.insert(address(schema), lost);
        }
    }
    losses
}

/// The tree without the lost patterns, with a notice for each. Where a key of `patternProperties` goes, what holds for
/// the other keys of that object goes too: they can no longer be told apart.
fn without(losses: &Losses, json: &Json, pointer: &str, notices: &mut Vec<SchemaNotice>) -> Json {
    let below = |token: &str| {
        let mut below = pointer.to_owned();
        push_pointer(&mut below, token);
        below
    };
    match json {
        Json::Array(items) => {
            let items = items.iter().enumerate();
            Json::Array(items.map(|(index, item)| without(losses, item, &below(&index.to_string()), notices)).collect())
        }
        Json::Object(object) => {
            let mut kept: Object =
                object.iter().map(|(key, value)| (key.clone(), without(losses, value, &below(key), notices))).collect();
            for pattern in losses.get(&address(json)).into_iter().flatten() {
                if notices.len() < MAX_NOTICES {
                    notices.push(SchemaNotice::UnvalidatedPattern {
                        pointer: pointer.to_owned(),
                        pattern: pattern.clone(),
                    });
                }
                if object.get("pattern").and_then(Json::as_str) == Some(pattern) {
                    kept.shift_remove("pattern");
                }
                if let Some(Json::Object(named)) = kept.get_mut("patternProperties")
                    && named.shift_remove(pattern).is_some()
                {
                    kept.shift_remove("additionalProperties");
                    kept.shift_remove("unevaluatedProperties");
                }
            }
            Json::Object(kept)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json.clone(),
    }
}

fn weigh(survey: &Survey<'_>) -> Weight {
    let negated = u32::try_from(survey.counts.negated_values).unwrap_or(u32::MAX);
    let mut weight =
        Weight { values: PatternWeight::default(), keys: PatternWeight::default(), error: 1 + negated / 16 };
    for schema in &survey.schemas {
        if let Some(pattern) = schema.text("pattern") {
            weight.values = PatternWeight { patterns: 1, atoms: weight.values.atoms.max(pattern::atoms(pattern)) };
        }
        for pattern in schema.get("patternProperties").and_then(Json::as_object).into_iter().flat_map(|map| map.keys())
        {
            weight.keys.patterns += 1;
            weight.keys.atoms = weight.keys.atoms.saturating_add(pattern::atoms(pattern));
        }
    }
    weight
}
