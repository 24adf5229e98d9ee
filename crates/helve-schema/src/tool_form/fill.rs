//! Owns how posted values become fields and arguments, in one walk over the type: what is shown is what is sent.

use helve_model::json::ObjectWriter;
use helve_model::text::cut;
use helve_render::ArgumentLimits;
use helve_render::schema::json::{Json, parse, push_pointer};
use helve_render::schema::types::{ObjectField, ObjectType, Others, Type};

use super::filled::{Control, FilledForm, FormEntry, FormField, FormOption, LineKind, Switch};
use super::{MAX_FORM_ITEMS, Posted, prefill};

/// Longest text that is offered one line.
const LINE_CHARACTERS: usize = 80;
/// Names of fields that people write several lines into.
const LONG_NAMES: [&str; 14] = [
    "body",
    "code",
    "comment",
    "content",
    "contents",
    "description",
    "html",
    "markdown",
    "message",
    "prompt",
    "query",
    "script",
    "sql",
    "text",
];
/// Characters of a choice that are shown.
const OPTION_CHARACTERS: usize = 80;

pub(super) fn fill(kind: &Type, posted: &[(String, String)]) -> FilledForm {
    let mut known = Posted::default();
    let mut action = Action::Look;
    for (name, value) in posted {
        if name == "do" {
            action = Action::read(value);
        } else {
            known.0.entry(name.clone()).or_default().push(value.clone());
        }
    }
    if let Action::Remove(place) = &action {
        remove(&mut known, place);
    }
    let mut walk = Walk { posted: known, action, problems: 0, takes_files: false };
    let (fields, arguments) = match kind {
        Type::Object(object) => walk.members("", object, true),
        _ => {
            let asked = Asked {
                place: String::new(),
                label: "arguments".to_owned(),
                is_needed: true,
                is_active: true,
                ..Asked::default()
            };
            let (field, value) = walk.field(asked, &Type::Any);
            (vec![field], value.unwrap_or_else(|| "{}".to_owned()))
        }
    };
    FilledForm { fields, arguments, problems: walk.problems, takes_files: walk.takes_files }
}

/// What the button asks for.
#[derive(Debug, PartialEq)]
enum Action {
    Look,
    Call,
    Add(String),
    Remove(String),
    Json(String),
    Controls(String),
}

impl Action {
    fn read(text: &str) -> Self {
        let with_place = |prefix: &str| text.strip_prefix(prefix).map(str::to_owned);
        match text {
            "call" | "yes" => Self::Call,
            _ => with_place("add:")
                .map(Self::Add)
                .or_else(|| with_place("remove:").map(Self::Remove))
                .or_else(|| with_place("json:").map(Self::Json))
                .or_else(|| with_place("controls:").map(Self::Controls))
                .unwrap_or(Self::Look),
        }
    }
}

/// Takes an item or an entry away; those behind it move up.
fn remove(posted: &mut Posted, place: &str) {
    let Some((list, item)) = place.rsplit_once('/') else { return };
    let (sign, digits) = item.strip_prefix('+').map_or(("", item), |digits| ("+", digits));
    let count = posted.count(list);
    let Some(index) = digits.parse::<usize>().ok().filter(|index| *index < count) else { return };
    for next in index + 1..count {
        posted.shift(&format!("{list}/{sign}{next}"), &format!("{list}/{sign}{}", next - 1));
    }
    posted.clear(&format!("{list}/{sign}{}", count - 1));
    posted.put('n', list, (count - 1).to_string());
}

/// What is known about a field before its type is looked at.
#[derive(Debug, Default, Clone)]
struct Asked {
    place: String,
    label: String,
    description: Option<String>,
    default: Option<String>,
    notes: Vec<String>,
    /// Required by what is around it.
    is_needed: bool,
    /// Whether what is around it is given, so that a required field is missed.
    is_active: bool,
    is_removable: bool,
}

struct Walk {
    posted: Posted,
    action: Action,
    problems: usize,
    takes_files: bool,
}

impl Walk {
    /// A field, and its value as JSON if it has one.
    fn field(&mut self, asked: Asked, kind: &Type) -> (FormField, Option<String>) {
        let (kind, is_nullable) = without_null(kind);
        let place = asked.place.clone();
        let is_free = matches!(kind, Type::Any | Type::Again(_) | Type::Never | Type::Null);
        if self.action == Action::Controls(place.clone()) {
            self.show_controls(&place, &kind);
        }
        if is_free || self.posted.get('m', &place) == Some("json") {
            return self.json(asked, &kind, is_free);
        }
        if self.action == Action::Json(place.clone()) {
            let (_, value) = self.controls(&asked, &kind);
            self.posted.clear(&place);
            self.posted.put('a', &place, value.as_deref().map(pretty).unwrap_or_default());
            return self.json(asked, &kind, false);
        }
        let is_missed = asked.is_needed && asked.is_active && !is_nullable;
        let ((control, problem), mut value) = self.controls(&asked, &kind);
        let mut problem = problem;
        if value.is_none() && asked.is_needed && asked.is_active {
            if is_nullable {
                value = Some("null".to_owned());
            } else if problem.is_none() && self.action == Action::Call {
                problem = Some("is required".to_owned());
            }
        }
        if problem.is_some() {
            self.problems += 1;
        }
        let fits = fits(&kind, &asked.notes, is_nullable);
        let field = FormField {
            place,
            label: asked.label,
            description: asked.description,
            fits,
            is_required: is_missed,
            default: asked.default,
            control,
            problem,
            switch: Switch::ToJson,
            is_removable: asked.is_removable,
        };
        (field, value)
    }

    fn controls(&mut self, asked: &Asked, kind: &Type) -> ((Control, Option<String>), Option<String>) {
        let place = asked.place.as_str();
        let is_given = self.posted.is_given(place);
        let is_active = is_given || (asked.is_needed && asked.is_active);
        match kind {
            Type::Object(object) => {
                let (control, value) = self.group(place, object, is_active);
                ((control, None), is_active.then_some(value))
            }
            Type::List(item) if matches!(&**item, Type::Literals(_)) => {
                let Type::Literals(values) = &**item else {
                    return ((Control::Choices { options: Vec::new() }, None), None);
                };
                let (control, value) = self.choices(place, values);
                let value = value.or_else(|| (asked.is_needed && asked.is_active).then(|| "[]".to_owned()));
                ((control, None), value)
            }
            Type::List(item) => {
                let (control, value) = self.list(place, item);
                let value = value.or_else(|| (asked.is_needed && asked.is_active).then(|| "[]".to_owned()));
                ((control, None), value)
            }
            Type::Tuple(items, _) => {
                let (control, value) = self.tuple(place, items, is_active);
                ((control, None), is_active.then_some(value))
            }
            Type::Union(alternatives) => {
                let (control, value) = self.either(asked, alternatives);
                ((control, None), value)
            }
            Type::Literals(values) if values.len() == 1 && asked.is_needed => {
                let value = values.first().map(Json::to_text).unwrap_or_default();
                ((Control::Fixed { value: value.clone() }, None), asked.is_active.then_some(value))
            }
            Type::Literals(values) => self.choice(place, values),
            Type::Boolean => self.choice(place, &[Json::Bool(true), Json::Bool(false)]),
            Type::Integer | Type::Number => self.number(place, kind),
            _ => {
                let (control, value) = self.text(asked);
                ((control, None), value)
            }
        }
    }

    fn text(&mut self, asked: &Asked) -> (Control, Option<String>) {
        let place = asked.place.as_str();
        let has_note = |note: &str| asked.notes.iter().any(|known| known == note);
        if has_note("base64") || has_note("binary") || has_note("byte") {
            self.takes_files = true;
            let chosen = self.posted.get('f', place).filter(|chosen| !chosen.is_empty());
            let value = chosen.or_else(|| self.posted.get('a', place)).unwrap_or_default().to_owned();
            let sent = (!value.is_empty()).then(|| quoted(&value));
            return (Control::File { value }, sent);
        }
        let value = self.posted.get('a', place).unwrap_or_default().to_owned();
        let sent = (!value.is_empty()).then(|| quoted(&value));
        let is_long = value.contains('\n')
            || value.chars().nth(LINE_CHARACTERS).is_some()
            || LONG_NAMES.contains(&asked.label.to_ascii_lowercase().as_str());
        if is_long {
            return (Control::Text { value }, sent);
        }
        let kind = if has_note("date") {
            LineKind::Date
        } else if has_note("uri") || has_note("url") {
            LineKind::Uri
        } else if has_note("email") {
            LineKind::Email
        } else {
            LineKind::Text
        };
        (Control::Line { value, kind }, sent)
    }

    fn number(&self, place: &str, kind: &Type) -> ((Control, Option<String>), Option<String>) {
        let value = self.posted.get('a', place).unwrap_or_default().trim().to_owned();
        let is_whole = *kind == Type::Integer;
        // Taken as it is written, so that no digit gets lost.
        let is_number = !value.is_empty() && value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        let is_number = is_number && serde_json::from_str::<serde_json::Number>(&value).is_ok();
        let fits = is_number && (!is_whole || !value.contains(['.', 'e', 'E']));
        let problem = (!value.is_empty() && !fits && self.action == Action::Call)
            .then(|| if is_whole { "is not a whole number" } else { "is not a number" }.to_owned());
        let sent = fits.then(|| value.clone());
        let kind = if is_whole { LineKind::Integer } else { LineKind::Number };
        ((Control::Line { value, kind }, problem), sent)
    }

    fn choice(&self, place: &str, values: &[Json]) -> ((Control, Option<String>), Option<String>) {
        let chosen = self.posted.get('a', place).and_then(|index| index.parse::<usize>().ok());
        let options = options(values, |index| chosen == Some(index));
        let value = chosen.and_then(|index| values.get(index)).map(Json::to_text);
        ((Control::Choice { options }, None), value)
    }

    fn choices(&self, place: &str, values: &[Json]) -> (Control, Option<String>) {
        let chosen: Vec<usize> = self.posted.all('a', place).iter().filter_map(|index| index.parse().ok()).collect();
        let options = options(values, |index| chosen.contains(&index));
        // In the order in which they were posted: a list may mean something by it.
        let sent: Vec<String> = chosen.iter().filter_map(|index| values.get(*index)).map(Json::to_text).collect();
        (Control::Choices { options }, (!sent.is_empty()).then(|| array(&sent)))
    }

    fn group(&mut self, place: &str, object: &ObjectType, is_active: bool) -> (Control, String) {
        let (fields, mut value) = self.members(place, object, is_active);
        let Others::Of(kind) = &object.others else { return (Control::Group { fields, entries: None }, value) };
        let mut writer = ObjectWriter::after(&helve_model::json::RawJson::assembled(value));
        let mut entries = Vec::new();
        for (index, item) in self.items(place, "+") {
            let key = self.posted.get('k', &item).unwrap_or_default().to_owned();
            let label = if key.is_empty() { format!("entry {}", index + 1) } else { key.clone() };
            let asked = Asked {
                place: item.clone(),
                label,
                is_needed: !key.is_empty(),
                is_active: true,
                is_removable: true,
                ..Asked::default()
            };
            let (mut field, sent) = self.field(asked, kind);
            let is_repeated = object.fields.iter().any(|known| known.name == key)
                || entries.iter().any(|entry: &FormEntry| entry.key == key && !key.is_empty());
            match sent {
                Some(sent) if !key.is_empty() && !is_repeated => writer.add_raw(&key, sent),
                Some(_) if self.action == Action::Call => {
                    field.problem =
                        Some(if is_repeated { "has a name that is there already" } else { "has no name" }.to_owned());
                    self.problems += 1;
                }
                _ => {}
            }
            entries.push(FormEntry { key, key_name: format!("k{item}"), field });
        }
        value = writer.into_text();
        (Control::Group { fields, entries: Some(entries) }, value)
    }

    /// The named fields of an object, and the object of those that are given.
    fn members(&mut self, place: &str, object: &ObjectType, is_active: bool) -> (Vec<FormField>, String) {
        let mut fields = Vec::with_capacity(object.fields.len());
        let mut writer = ObjectWriter::new();
        for field in &object.fields {
            let asked = asked(place, field, is_active);
            let (shown, sent) = self.field(asked, &field.kind);
            if let Some(sent) = sent {
                writer.add_raw(&field.name, sent);
            }
            fields.push(shown);
        }
        (fields, writer.into_text())
    }

    fn list(&mut self, place: &str, kind: &Type) -> (Control, Option<String>) {
        let mut items = Vec::new();
        let mut sent = Vec::new();
        for (index, item) in self.items(place, "") {
            let asked = Asked { place: item, label: format!("{}", index + 1), is_removable: true, ..Asked::default() };
            let (field, value) = self.field(asked, kind);
            items.push(field);
            sent.extend(value);
        }
        let may_grow = items.len() < MAX_FORM_ITEMS;
        (Control::List { items, may_grow }, (!sent.is_empty()).then(|| array(&sent)))
    }

    fn tuple(&mut self, place: &str, kinds: &[Type], is_active: bool) -> (Control, String) {
        let mut items = Vec::new();
        let mut sent = Vec::new();
        for (index, kind) in kinds.iter().enumerate() {
            let asked = Asked {
                place: format!("{place}/{index}"),
                label: format!("{}", index + 1),
                is_needed: true,
                is_active,
                ..Asked::default()
            };
            let (field, value) = self.field(asked, kind);
            items.push(field);
            sent.extend(value);
        }
        (Control::List { items, may_grow: false }, array(&sent))
    }

    fn either(&mut self, asked: &Asked, alternatives: &[Type]) -> (Control, Option<String>) {
        let place = asked.place.as_str();
        let chosen = self.posted.get('u', place).and_then(|index| index.parse::<usize>().ok());
        let chosen = chosen.filter(|index| *index < alternatives.len()).unwrap_or(0);
        let options = alternatives.iter().enumerate().map(|(index, kind)| FormOption {
            value: index.to_string(),
            label: named(kind),
            is_chosen: index == chosen,
        });
        let options = options.collect();
        let Some(kind) = alternatives.get(chosen) else { return (Control::Json { value: String::new() }, None) };
        let inner =
            Asked { label: named(kind), description: None, default: None, is_removable: false, ..asked.clone() };
        let ((control, problem), value) = if matches!(kind, Type::Any | Type::Again(_) | Type::Never | Type::Null) {
            let (field, value) = self.json(inner.clone(), kind, true);
            ((field.control, field.problem), value)
        } else {
            self.controls(&inner, kind)
        };
        if problem.is_some() {
            self.problems += 1;
        }
        let field = FormField {
            place: asked.place.clone(),
            label: inner.label,
            description: None,
            fits: fits(kind, &asked.notes, false),
            is_required: asked.is_needed && asked.is_active,
            default: None,
            control,
            problem,
            switch: Switch::None,
            is_removable: false,
        };
        (Control::Either { options, field: Box::new(field) }, value)
    }

    /// A field that is written as JSON.
    fn json(&mut self, asked: Asked, kind: &Type, is_only_way: bool) -> (FormField, Option<String>) {
        let value = self.posted.get('a', &asked.place).unwrap_or_default().to_owned();
        let is_checked = self.action == Action::Call;
        let mut problem = None;
        let mut sent = None;
        if value.trim().is_empty() {
            if asked.is_needed && asked.is_active && is_checked {
                problem = Some("is required".to_owned());
            }
        } else {
            match parse(&value, ArgumentLimits::default().caps()) {
                Ok(json) if asked.place.is_empty() && !matches!(json, Json::Object(_)) => {
                    problem = is_checked.then(|| "is not a JSON object".to_owned());
                }
                // As it was written: its numbers and the order of its keys are the person's.
                Ok(_) => sent = Some(value.trim().to_owned()),
                Err(error) => problem = is_checked.then(|| format!("is {error}")),
            }
        }
        if problem.is_some() {
            self.problems += 1;
        }
        let field = FormField {
            fits: fits(kind, &asked.notes, false),
            is_required: asked.is_needed && asked.is_active,
            place: asked.place,
            label: asked.label,
            description: asked.description,
            default: asked.default,
            control: Control::Json { value },
            problem,
            switch: if is_only_way { Switch::None } else { Switch::ToControls },
            is_removable: asked.is_removable,
        };
        (field, sent)
    }

    /// JSON that was written, as what the controls would post; it stays JSON where they cannot.
    fn show_controls(&mut self, place: &str, kind: &Type) {
        let written = self.posted.get('a', place).unwrap_or_default().to_owned();
        if written.trim().is_empty() {
            self.posted.clear(place);
            return;
        }
        let Ok(json) = parse(&written, ArgumentLimits::default().caps()) else { return };
        let mut found = Vec::new();
        prefill::put(place, kind, &json, &mut found);
        self.posted.clear(place);
        for (name, value) in found {
            self.posted.0.entry(name).or_default().push(value);
        }
    }

    /// The places of the items of a list, one more if it is to grow.
    fn items(&mut self, place: &str, sign: &str) -> Vec<(usize, String)> {
        let mut count = self.posted.count(place);
        if self.action == Action::Add(place.to_owned()) {
            count = (count + 1).min(MAX_FORM_ITEMS);
            self.posted.put('n', place, count.to_string());
        }
        (0..count).map(|index| (index, format!("{place}/{sign}{index}"))).collect()
    }
}

fn asked(place: &str, field: &ObjectField, is_active: bool) -> Asked {
    let mut inside = place.to_owned();
    push_pointer(&mut inside, &field.name);
    Asked {
        place: inside,
        label: field.name.clone(),
        description: field.description.clone(),
        default: field.default.as_ref().map(Json::to_text),
        notes: field.notes.clone(),
        is_needed: field.required,
        is_active,
        is_removable: false,
    }
}

/// A type without `null`, and whether it had it.
pub(super) fn without_null(kind: &Type) -> (Type, bool) {
    let Type::Union(alternatives) = kind else { return (kind.clone(), false) };
    let mut others: Vec<Type> = alternatives.iter().filter(|one| **one != Type::Null).cloned().collect();
    let is_nullable = others.len() < alternatives.len();
    match others.len() {
        1 => (others.remove(0), is_nullable),
        _ => (Type::Union(others), is_nullable),
    }
}

fn options(values: &[Json], is_chosen: impl Fn(usize) -> bool) -> Vec<FormOption> {
    let option = |(index, value): (usize, &Json)| FormOption {
        value: index.to_string(),
        label: match value {
            Json::Bool(true) => "yes".to_owned(),
            Json::Bool(false) => "no".to_owned(),
            Json::String(text) if !text.is_empty() => cut(text, OPTION_CHARACTERS).into_owned(),
            other => cut(&other.to_text(), OPTION_CHARACTERS).into_owned(),
        },
        is_chosen: is_chosen(index),
    };
    values.iter().enumerate().map(option).collect()
}

/// A type in a word or two.
fn named(kind: &Type) -> String {
    match kind {
        Type::Any | Type::Never => "anything".to_owned(),
        Type::Null => "nothing".to_owned(),
        Type::Boolean => "yes or no".to_owned(),
        Type::Integer => "whole number".to_owned(),
        Type::Number => "number".to_owned(),
        Type::String => "text".to_owned(),
        Type::Literals(values) => {
            let shown: Vec<String> = values.iter().take(3).map(Json::to_text).collect();
            let more = if values.len() > 3 { ", …" } else { "" };
            cut(&format!("{}{more}", shown.join(", ")), OPTION_CHARACTERS).into_owned()
        }
        Type::List(item) => format!("list of {}", named(item)),
        Type::Tuple(items, _) => format!("{} values", items.len()),
        Type::Object(object) => {
            // What tells alternatives apart is mostly a field with one value.
            let told = object.fields.iter().find_map(|field| match &field.kind {
                Type::Literals(values) if values.len() == 1 => {
                    values.first().map(|value| format!("{} {}", field.name, value.to_text()))
                }
                _ => None,
            });
            let fields: Vec<&str> = object.fields.iter().take(3).map(|field| field.name.as_str()).collect();
            let more = if object.fields.len() > 3 { ", …" } else { "" };
            let told = told.unwrap_or_else(|| {
                if fields.is_empty() { "object".to_owned() } else { format!("{}{more}", fields.join(", ")) }
            });
            cut(&told, OPTION_CHARACTERS).into_owned()
        }
        Type::Union(alternatives) => {
            let shown: Vec<String> = alternatives.iter().take(3).map(named).collect();
            cut(&shown.join(" or "), OPTION_CHARACTERS).into_owned()
        }
        Type::Again(name) => cut(name, OPTION_CHARACTERS).into_owned(),
    }
}

fn fits(kind: &Type, notes: &[String], is_nullable: bool) -> String {
    let mut words = vec![match kind {
        Type::Literals(values) if values.len() > 1 => "one of these".to_owned(),
        Type::Object(_) => "object".to_owned(),
        Type::Union(_) => "one of several forms".to_owned(),
        kind => named(kind),
    }];
    words.extend(notes.iter().cloned());
    if is_nullable {
        words.push("or null".to_owned());
    }
    words.join(", ")
}

fn array(items: &[String]) -> String {
    helve_model::json::RawJson::array(items).as_str().to_owned()
}

fn quoted(text: &str) -> String {
    helve_model::json::RawJson::string(text).as_str().to_owned()
}

fn pretty(json: &str) -> String {
    let parsed = parse(json, ArgumentLimits::default().caps()).ok();
    parsed.and_then(|json| serde_json::to_string_pretty(&json).ok()).unwrap_or_else(|| json.to_owned())
}
