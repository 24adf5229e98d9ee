//! Owns how the arguments of a program's call become those of the tool: by position in the order of the signature, by name in
//! any form that Python can write, without what the tool does not take as `null`.

use helve_model::json::{ObjectWriter, RawJson, scan};
use helve_model::text::nearest;
use helve_render::{Parameter, Parameters};

use crate::frame::CallFrame;

/// Why arguments do not fit.
pub(crate) type Misfit = String;

/// The arguments as the tool wants them.
pub(crate) fn bind(parameters: &Parameters, call: &CallFrame) -> Result<RawJson, Misfit> {
    let mut given: Vec<(String, RawJson)> = Vec::new();
    let positional = call.positional.elements().unwrap_or_default();
    let mut put = |name: &str, text_key: &str, value: RawJson| -> Result<(), Misfit> {
        let parameter = parameters.named.iter().find(|parameter| parameter.name == name);
        if value.as_str() == "null" && parameter.is_some_and(|parameter| !parameter.takes_null) {
            return Ok(());
        }
        if given.iter().any(|(other, _)| other == name) {
            return Err(format!("the argument `{name}` is given twice"));
        }
        let text =
            if parameter.is_some_and(|parameter| parameter.is_text) { call.texts.member_str(text_key) } else { None };
        given.push((name.to_owned(), text.map_or(value, |text| RawJson::string(&text))));
        Ok(())
    };
    let in_order: Vec<&Parameter> = by_position(parameters).collect();
    for (index, value) in positional.into_iter().enumerate() {
        let Some(parameter) = in_order.get(index) else { return Err(too_many(in_order.len())) };
        put(&parameter.name, &index.to_string(), value)?;
    }
    for member in scan::members(call.args.as_str()).into_iter().flatten().map_while(Result::ok) {
        let written = member.key().ok_or_else(|| "an argument's name cannot be read".to_owned())?;
        let name = meant(parameters, &written).map_or(&*written, |parameter| &parameter.name);
        put(name, &written, RawJson::part_of(call.args.shared(), member.value))?;
    }
    let mut object = ObjectWriter::new();
    for (name, value) in given {
        object.add_raw(&name, value);
    }
    Ok(object.finish())
}

/// What does not fit of a call that is only seen: how many by position, and these names.
pub(crate) fn misfits(parameters: &Parameters, positional: usize, names: &[String], is_open: bool) -> Vec<Misfit> {
    let in_order: Vec<&Parameter> = by_position(parameters).collect();
    let mut problems = Vec::new();
    if positional > in_order.len() && !parameters.takes_others {
        problems.push(too_many(in_order.len()));
    }
    for name in names {
        if meant(parameters, name).is_none() && !parameters.takes_others {
            let known = parameters.named.iter().map(|parameter| parameter.name.as_str());
            problems.push(match nearest(name, known.clone()) {
                Some(near) => format!("there is no argument `{name}`: did you mean `{near}`?"),
                None => {
                    let known: Vec<&str> = known.collect();
                    format!("there is no argument `{name}`: it takes {}", listed(&known))
                }
            });
        }
    }
    let is_given = |parameter: &&Parameter| {
        in_order.iter().take(positional).any(|given| given.name == parameter.name)
            || names.iter().any(|name| meant(parameters, name).is_some_and(|meant| meant.name == parameter.name))
    };
    if !is_open && problems.is_empty() {
        let missing: Vec<&str> = parameters
            .named
            .iter()
            .filter(|parameter| parameter.is_required && !is_given(parameter))
            .map(|parameter| parameter.name.as_str())
            .collect();
        if !missing.is_empty() {
            problems.push(format!("{} missing", listed(&missing)));
        }
    }
    problems
}

fn too_many(at_most: usize) -> Misfit {
    format!("it takes at most {at_most} arguments by position")
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}

fn by_position(parameters: &Parameters) -> impl Iterator<Item = &Parameter> {
    let is_name = |name: &str| !name.starts_with(|first: char| first.is_ascii_digit()) && identifier(name) == name;
    parameters.named.iter().filter(move |parameter| is_name(&parameter.name))
}

/// The parameter that a name means: its own, or the form in which Python can write it (`from_`, `user_id` for `user-id`).
fn meant<'a>(parameters: &'a Parameters, written: &str) -> Option<&'a Parameter> {
    let named = &parameters.named;
    named
        .iter()
        .find(|parameter| parameter.name == written)
        .or_else(|| named.iter().find(|parameter| written.strip_suffix('_') == Some(&parameter.name)))
        .or_else(|| named.iter().find(|parameter| identifier(&parameter.name) == written))
}

fn identifier(name: &str) -> String {
    name.chars()
        .map(|character| if character.is_ascii_alphanumeric() || character == '_' { character } else { '_' })
        .collect()
}
