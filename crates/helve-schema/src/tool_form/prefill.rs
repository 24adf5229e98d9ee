//! Owns the way back: what would have to be posted for a value, so that a call can be made again with a change.

use helve_render::ArgumentLimits;
use helve_render::schema::json::{Json, parse, push_pointer};
use helve_render::schema::types::{Others, Type};

use super::MAX_FORM_ITEMS;
use super::fill::without_null;

/// What was posted, in the making.
type Found = Vec<(String, String)>;

pub(super) fn prefill(kind: &Type, arguments: &str) -> Found {
    let mut found = Found::new();
    let Ok(json) = parse(arguments, ArgumentLimits::default().caps()) else { return found };
    match (kind, &json) {
        // The arguments themselves have no switch: what the form does not know is left out only where it takes nothing else.
        (Type::Object(object), Json::Object(members)) => {
            for field in &object.fields {
                if let Some(value) = members.get(&field.name) {
                    let mut place = String::new();
                    push_pointer(&mut place, &field.name);
                    put(&place, &field.kind, value, &mut found);
                }
            }
        }
        _ => found.push(("a".to_owned(), arguments.to_owned())),
    }
    found
}

/// Posts a value by the controls of its type, or as JSON where they could not give it back.
pub(super) fn put(place: &str, kind: &Type, value: &Json, found: &mut Found) {
    let (kind, is_nullable) = without_null(kind);
    let mut tried = Found::new();
    if !(is_nullable && *value == Json::Null) && by_controls(place, &kind, value, &mut tried).is_some() {
        found.append(&mut tried);
        return;
    }
    if !matches!(kind, Type::Any | Type::Again(_) | Type::Never | Type::Null) {
        found.push((format!("m{place}"), "json".to_owned()));
    }
    found.push((format!("a{place}"), value.to_text()));
}

fn by_controls(place: &str, kind: &Type, value: &Json, found: &mut Found) -> Option<()> {
    match (kind, value) {
        (Type::Object(object), Json::Object(members)) if !members.is_empty() => {
            let is_known = |key: &str| object.fields.iter().any(|field| field.name == key);
            if object.fields.iter().any(|field| field.required && !members.contains_key(&field.name)) {
                return None;
            }
            for field in &object.fields {
                let Some(value) = members.get(&field.name) else { continue };
                let mut inside = place.to_owned();
                push_pointer(&mut inside, &field.name);
                put(&inside, &field.kind, value, found);
            }
            let others: Vec<(&String, &Json)> = members.iter().filter(|(key, _)| !is_known(key)).collect();
            if others.is_empty() {
                // An object of nothing but what is always the same would look as if it were not given.
                return found
                    .iter()
                    .any(|(name, value)| !name.starts_with('n') && !value.trim().is_empty())
                    .then_some(());
            }
            let Others::Of(kind) = &object.others else { return None };
            if others.len() > MAX_FORM_ITEMS
                || others.iter().any(|(key, _)| key.trim().is_empty() || key.contains('\r'))
            {
                return None;
            }
            found.push((format!("n{place}"), others.len().to_string()));
            for (index, (key, value)) in others.into_iter().enumerate() {
                found.push((format!("k{place}/+{index}"), key.clone()));
                put(&format!("{place}/+{index}"), kind, value, found);
            }
        }
        (Type::List(item), Json::Array(items)) if !items.is_empty() => {
            if let Type::Literals(values) = &**item {
                for item in items {
                    let index = values.iter().position(|known| known == item)?;
                    found.push((format!("a{place}"), index.to_string()));
                }
                return Some(());
            }
            if items.len() > MAX_FORM_ITEMS {
                return None;
            }
            found.push((format!("n{place}"), items.len().to_string()));
            for (index, value) in items.iter().enumerate() {
                put(&format!("{place}/{index}"), item, value, found);
            }
        }
        (Type::Tuple(kinds, _), Json::Array(items)) if kinds.len() == items.len() && !items.is_empty() => {
            for (index, (kind, value)) in kinds.iter().zip(items).enumerate() {
                put(&format!("{place}/{index}"), kind, value, found);
            }
        }
        (Type::Union(alternatives), value) => {
            let fitting = alternatives.iter().enumerate().find_map(|(index, kind)| {
                let mut inside = Found::new();
                by_controls(place, kind, value, &mut inside).map(|()| (index, inside))
            });
            let (index, mut inside) = fitting?;
            // What is written as JSON below might belong to another alternative as well.
            found.push((format!("u{place}"), index.to_string()));
            found.append(&mut inside);
        }
        (Type::Literals(values), value) => {
            let index = values.iter().position(|known| known == value)?;
            found.push((format!("a{place}"), index.to_string()));
        }
        (Type::Boolean, Json::Bool(bool)) => {
            found.push((format!("a{place}"), if *bool { "0" } else { "1" }.to_owned()))
        }
        (Type::Integer, Json::Number(number)) if !number.is_f64() => {
            found.push((format!("a{place}"), number.to_string()))
        }
        (Type::Number, Json::Number(number)) => found.push((format!("a{place}"), number.to_string())),
        // Browsers turn every line end into one form, and what is empty is left out.
        (Type::String, Json::String(text)) if !text.trim().is_empty() && !text.contains('\r') => {
            found.push((format!("a{place}"), text.clone()));
        }
        _ => return None,
    }
    Some(())
}
