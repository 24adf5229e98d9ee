//! A second reader of HTML: elements with their attributes, as a browser would find them in what the pages write.

use std::collections::BTreeMap;

/// An element: its name, and its attributes with their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
}

/// Elements whose content is text up to their own end.
const TEXT_ONLY: [&str; 4] = ["textarea", "title", "script", "style"];

/// The elements of a page, in their order. Panics where the page is not written as ours are.
pub(crate) fn elements(html: &str) -> Vec<Element> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        if let Some(after) = rest.strip_prefix("<!") {
            rest = &after[after.find('>').expect("a declaration ends")..];
        } else if let Some(after) = rest.strip_prefix("</") {
            let end = after.find('>').expect("an end ends");
            let name = &after[..end];
            assert_eq!(open.pop().as_deref(), Some(name), "before {after:.120}");
            rest = &after[end + 1..];
        } else {
            let (element, is_closed, after) = element(&rest[1..]);
            rest = after;
            if TEXT_ONLY.contains(&element.name.as_str()) {
                let end = format!("</{}>", element.name);
                rest = &rest[rest.find(&end).expect("it ends") + end.len()..];
            } else if !is_closed && !["meta", "link", "input", "img", "br"].contains(&element.name.as_str()) {
                open.push(element.name.clone());
            }
            found.push(element);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

fn element(text: &str) -> (Element, bool, &str) {
    let length = text.find(|c: char| !c.is_ascii_alphanumeric()).expect("a name ends");
    let mut element = Element { name: text[..length].to_owned(), attributes: BTreeMap::new() };
    assert!(length > 0, "a bare < before {text:.60}");
    let mut rest = text[length..].trim_start();
    loop {
        if let Some(after) = rest.strip_prefix("/>") {
            return (element, true, after);
        }
        if let Some(after) = rest.strip_prefix('>') {
            return (element, false, after);
        }
        let end = rest.find(|c: char| c.is_whitespace() || "=/>".contains(c)).expect("an attribute ends");
        let name = rest[..end].to_owned();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-:".contains(c)), "the attribute {name:?}");
        rest = &rest[end..];
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix('=') {
            let quote = after.chars().next().expect("a value");
            assert!(quote == '"' || quote == '\'', "a value without quotes: {after:.60}");
            let close = after[1..].find(quote).expect("a value ends") + 1;
            value = after[1..close].to_owned();
            rest = &after[close + 1..];
        }
        assert!(element.attributes.insert(name.clone(), value).is_none(), "{name} comes twice");
        rest = rest.trim_start();
    }
}
