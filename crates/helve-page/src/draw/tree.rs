//! Owns how JSON is shown: as a tree that folds without script, each kind of value in a colour of its own.

use std::fmt::Write as _;

use crate::escape::marked;
use crate::view::{Leaf, Node, NodeValue, Tree};

/// Branches with so many parts or fewer are open.
const OPEN_PARTS: usize = 24;
/// Levels that are open.
const OPEN_DEPTH: usize = 4;

/// The tree as HTML.
pub(crate) fn tree(tree: &Tree) -> String {
    let mut html = String::from("<div class=\"tree\">");
    if let Some(root) = &tree.root {
        node(&mut html, root, 0);
    }
    if tree.left_out > 0 {
        let _: std::fmt::Result = write!(html, "<p class=\"soft\">{} more values are not shown</p>", tree.left_out);
    }
    html.push_str("</div>");
    html
}

fn node(html: &mut String, shown: &Node, depth: usize) {
    let key =
        shown.key.as_deref().map(|key| format!("<span class=\"key\">{}</span> ", marked(key))).unwrap_or_default();
    match &shown.value {
        NodeValue::Leaf { kind, text, left_out } => {
            let class = match kind {
                Leaf::Text => "text",
                Leaf::Number => "number",
                Leaf::Boolean | Leaf::Null => "word",
            };
            let _: std::fmt::Result = write!(html, "<div>{key}<span class=\"{class}\">{}</span>", marked(text));
            if *left_out > 0 {
                let _: std::fmt::Result = write!(html, " <span class=\"soft\">… {left_out} more characters</span>");
            }
            html.push_str("</div>");
        }
        NodeValue::Object(parts) => branch(html, &key, ('{', '}'), parts, depth),
        NodeValue::Array(parts) => branch(html, &key, ('[', ']'), parts, depth),
    }
}

fn branch(html: &mut String, key: &str, (open, close): (char, char), parts: &[Node], depth: usize) {
    if parts.is_empty() {
        let _: std::fmt::Result = write!(html, "<div>{key}<span class=\"soft\">{open}{close}</span></div>");
        return;
    }
    let is_open = if parts.len() <= OPEN_PARTS && depth < OPEN_DEPTH { " open" } else { "" };
    let _: std::fmt::Result = write!(
        html,
        "<details{is_open}><summary>{key}<span class=\"soft\">{open}{}{close}</span></summary>",
        parts.len()
    );
    for part in parts {
        node(html, part, depth + 1);
    }
    html.push_str("</details>");
}
