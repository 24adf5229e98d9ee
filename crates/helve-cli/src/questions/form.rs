//! A server's form at the terminal: one question per field, what was answered to see, and a last look before it is sent.

use helve::ElicitationAnswer;
use helve_schema::{Choice as FieldChoice, Field, FieldKind, Form, FormRequest, LeftEmpty};
use serde_json::{Map, Value};

use super::widget::{Choice, Choices, Step, Terminal};
use crate::printer::{Line, Style};

/// What is shown for a field that gets no answer.
const LEFT_OUT: &str = "(left out)";
const KEYS: &str = "  Enter takes an answer, Ctrl-D declines to answer, Esc cancels";
const LIST_KEYS: &str = "  arrows or typing choose";
const MARK_KEYS: &str = "  arrows or typing move, space marks";

/// Asks for everything that was not given beforehand.
pub(crate) fn ask(
    terminal: &mut Terminal<'_>,
    server: &str,
    request: &FormRequest,
    given: &Map<String, Value>,
) -> ElicitationAnswer {
    let form = request.form();
    introduce(terminal, server, &request.message());
    terminal.say(&Line::styled(Style::Dim, KEYS));
    for notice in form.notices() {
        terminal.say(&Line::styled(Style::Dim, format!("  {notice}")));
    }
    if form.fields().is_empty() {
        return agree(terminal, server);
    }
    let mut answers: Map<String, Value> = Map::new();
    loop {
        for field in form.fields() {
            if let Some(value) = given.get(&field.name) {
                terminal.say(&answered(field, Some(value)));
                answers.insert(field.name.clone(), value.clone());
                continue;
            }
            match ask_field(terminal, form, field, answers.get(&field.name)) {
                Step::Done(answer) => {
                    terminal.say(&answered(field, answer.as_ref()));
                    match answer {
                        Some(answer) => drop(answers.insert(field.name.clone(), answer)),
                        None => drop(answers.remove(&field.name)),
                    }
                }
                Step::Decline => return ElicitationAnswer::Decline,
                Step::Cancel => return ElicitationAnswer::Cancel,
            }
        }
        match form.check(&answers) {
            Err(problems) => {
                for problem in problems {
                    terminal.say(&Line::styled(Style::Bad, "  ! ").then(Style::Plain, problem.to_string()));
                }
            }
            Ok(content) => match review(terminal, server) {
                Step::Done(Review::Send) => return ElicitationAnswer::Accept(Some(content)),
                Step::Done(Review::Change) => {}
                Step::Done(Review::Decline) | Step::Decline => return ElicitationAnswer::Decline,
                Step::Cancel => return ElicitationAnswer::Cancel,
            },
        }
    }
}

/// The asking server, and its reason in its own words.
pub(super) fn introduce(terminal: &mut Terminal<'_>, server: &str, message: &str) {
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default();
    let asks = Line::styled(Style::Warning, "?")
        .then(Style::Plain, " the server ")
        .then(Style::Name, server)
        .then(Style::Plain, " asks: ")
        .then(Style::Plain, first);
    terminal.say(&asks);
    for line in lines {
        terminal.say(&Line::plain(format!("  {line}")));
    }
}

/// A form without fields wants a yes.
fn agree(terminal: &mut Terminal<'_>, server: &str) -> ElicitationAnswer {
    let heading = [Line::plain("  Answer ").then(Style::Name, server).then(Style::Plain, " with yes?")];
    let choices = Choices { choices: plain(&["yes", "no"]), start: 1, marked: None };
    match terminal.choose(&heading, &choices, |at, _| Ok(at == 0)) {
        Step::Done(true) => ElicitationAnswer::Accept(None),
        Step::Done(false) | Step::Decline => ElicitationAnswer::Decline,
        Step::Cancel => ElicitationAnswer::Cancel,
    }
}

#[derive(Clone, Copy)]
enum Review {
    Send,
    Change,
    Decline,
}

fn review(terminal: &mut Terminal<'_>, server: &str) -> Step<Review> {
    let heading = [Line::plain("  Send this to ").then(Style::Name, server).then(Style::Plain, "?")];
    let choices = Choices { choices: plain(&["send", "change", "decline"]), start: 0, marked: None };
    terminal.choose(&heading, &choices, |at, _| {
        Ok(match at {
            0 => Review::Send,
            1 => Review::Change,
            _ => Review::Decline,
        })
    })
}

/// One field; `None` when it is left out.
fn ask_field(terminal: &mut Terminal<'_>, form: &Form, field: &Field, earlier: Option<&Value>) -> Step<Option<Value>> {
    match &field.kind {
        FieldKind::Boolean => {
            let offered = [("yes", Value::Bool(true)), ("no", Value::Bool(false))];
            let offered = offered.map(|(label, value)| (chosen(label, &value), value));
            one_of(terminal, field, &offered, earlier)
        }
        FieldKind::Choice(choices) => {
            let offered: Vec<(Choice, Value)> =
                choices.iter().map(|choice| (shown(choice), choice.value.clone())).collect();
            one_of(terminal, field, &offered, earlier)
        }
        FieldKind::Choices { choices, .. } => some_of(terminal, form, field, choices, earlier),
        _ => {
            let initial = earlier.map(as_text).unwrap_or_default();
            terminal.text(&heading(field, None), &initial, |text| {
                if text.is_empty() {
                    match field.left_empty() {
                        LeftEmpty::Default(default) => return Ok(Some(default.clone())),
                        LeftEmpty::Omitted => return Ok(None),
                        LeftEmpty::NeedsAnswer => {}
                    }
                }
                form.check_field(&field.name, text).map(Some)
            })
        }
    }
}

fn one_of(
    terminal: &mut Terminal<'_>,
    field: &Field,
    offered: &[(Choice, Value)],
    earlier: Option<&Value>,
) -> Step<Option<Value>> {
    let mut choices: Vec<Choice> = offered.iter().map(|(choice, _)| choice.clone()).collect();
    let place = |value: &Value| offered.iter().position(|(_, offered)| offered == value);
    let mut start = earlier.or(field.default.as_ref()).and_then(place).unwrap_or(0);
    if !field.required && field.default.is_none() {
        choices.push(Choice { label: LEFT_OUT.to_owned(), value: String::new() });
        // Nobody answers by mistake what nobody has to answer.
        start = earlier.and_then(place).unwrap_or(offered.len());
    }
    let choices = Choices { choices, start, marked: None };
    terminal
        .choose(&heading(field, Some(LIST_KEYS)), &choices, |at, _| Ok(offered.get(at).map(|(_, value)| value.clone())))
}

fn some_of(
    terminal: &mut Terminal<'_>,
    form: &Form,
    field: &Field,
    choices: &[FieldChoice],
    earlier: Option<&Value>,
) -> Step<Option<Value>> {
    let before = earlier.or(field.default.as_ref()).and_then(Value::as_array);
    let is_marked = |choice: &FieldChoice| before.is_some_and(|before| before.contains(&choice.value));
    let list = Choices {
        choices: choices.iter().map(shown).collect(),
        start: 0,
        marked: Some(choices.iter().map(is_marked).collect()),
    };
    terminal.choose(&heading(field, Some(MARK_KEYS)), &list, |_, marked| {
        let values = choices.iter().zip(marked).filter(|(_, is_marked)| **is_marked);
        let values: Vec<Value> = values.map(|(choice, _)| choice.value.clone()).collect();
        if values.is_empty() && !field.required {
            return Ok(None);
        }
        form.check_field(&field.name, &Value::Array(values).to_string()).map(Some)
    })
}

/// The question: what is asked for, whether it must be answered, what is proposed, what to know about it.
fn heading(field: &Field, keys: Option<&str>) -> Vec<Line> {
    let mut question = Line::plain("  ").then(Style::Name, field.label());
    if field.required {
        question = question.then(Style::Dim, " (required)");
    }
    if let Some(default) = field.default_shown() {
        question = question.then(Style::Dim, format!(" [{default}]"));
    }
    if let Some(keys) = keys {
        question = question.then(Style::Dim, keys);
    }
    let mut lines = vec![question];
    lines.extend(field.help().map(|help| Line::plain(format!("  {help}"))));
    if let Some(secret) = field.looks_like_secret() {
        let warning = format!(" this looks like {} {secret}: better not enter it", article(secret));
        lines.push(Line::styled(Style::Warning, "  warning:").then(Style::Plain, warning));
    }
    lines
}

const fn article(noun: &str) -> &'static str {
    match noun.as_bytes() {
        [b'a' | b'e' | b'i' | b'o' | b'u' | b'A' | b'E' | b'I' | b'O' | b'U', ..] => "an",
        _ => "a",
    }
}

/// The line that stays: what was answered.
fn answered(field: &Field, answer: Option<&Value>) -> Line {
    let label = |value: &Value| match field.choices().iter().find(|choice| choice.value == *value) {
        Some(choice) => choice.label(),
        None => as_text(value),
    };
    let text = match answer {
        None => LEFT_OUT.to_owned(),
        Some(Value::Array(chosen)) => chosen.iter().map(label).collect::<Vec<_>>().join(", "),
        Some(value) => label(value),
    };
    Line::styled(Style::Good, "  = ").then(Style::Name, field.label()).then(Style::Plain, format!(": {text}"))
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        other => other.to_string(),
    }
}

fn shown(choice: &FieldChoice) -> Choice {
    Choice { label: choice.label(), value: choice.value_text() }
}

fn chosen(label: &str, value: &Value) -> Choice {
    Choice { label: label.to_owned(), value: value.to_string() }
}

fn plain(labels: &[&str]) -> Vec<Choice> {
    labels.iter().map(|label| Choice { label: (*label).to_owned(), value: (*label).to_owned() }).collect()
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
