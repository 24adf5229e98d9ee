//! Owns how JSON of any size becomes a tree of a size that a page can hold.

use helve_render::schema::json::{Caps, Json, RepeatedKeys, parse};

use crate::view::{Leaf, Node, NodeValue, Tree};

/// Values of a tree that are shown.
const MAX_NODES: usize = 400;
/// Characters of one text that are shown.
const MAX_CHARACTERS: usize = 4_000;
/// Characters of all texts together.
const MAX_CHARACTERS_IN_ALL: usize = 24_000;
/// How much JSON is looked at.
const CAPS: Caps = Caps { bytes: 8 * 1024 * 1024, depth: 64, values: 200_000, repeated_keys: RepeatedKeys::LastWins };

/// JSON as a tree. What is not JSON, or too large to be looked at, is shown as text.
#[must_use]
pub fn json_tree(text: &str) -> Tree {
    let mut cutting = Cutting { nodes: MAX_NODES, characters: MAX_CHARACTERS_IN_ALL, left_out: 0 };
    let root = match parse(text, CAPS) {
        Ok(json) => cutting.node(None, &json),
        Err(_) => Some(Node { key: None, value: cutting.text(text) }),
    };
    Tree { root, left_out: cutting.left_out }
}

struct Cutting {
    nodes: usize,
    characters: usize,
    left_out: u64,
}

impl Cutting {
    fn node(&mut self, key: Option<String>, json: &Json) -> Option<Node> {
        if self.nodes == 0 {
            self.left_out += 1;
            return None;
        }
        self.nodes -= 1;
        let leaf = |kind, text: String| NodeValue::Leaf { kind, text, left_out: 0 };
        let key = key.map(|key| key.chars().take(MAX_CHARACTERS).collect());
        let value = match json {
            Json::Null => leaf(Leaf::Null, "null".to_owned()),
            Json::Bool(bool) => leaf(Leaf::Boolean, bool.to_string()),
            Json::Number(number) => leaf(Leaf::Number, number.to_string()),
            Json::String(text) => self.text(text),
            Json::Array(items) => NodeValue::Array(
                items.iter().enumerate().filter_map(|(index, item)| self.node(Some(index.to_string()), item)).collect(),
            ),
            Json::Object(members) => NodeValue::Object(
                members.iter().filter_map(|(key, value)| self.node(Some(key.clone()), value)).collect(),
            ),
        };
        Some(Node { key, value })
    }

    fn text(&mut self, text: &str) -> NodeValue {
        let room = self.characters.min(MAX_CHARACTERS);
        let shown: String = text.chars().take(room).collect();
        let taken = shown.chars().count();
        self.characters -= taken;
        let left_out = text.chars().skip(taken).count() as u64;
        NodeValue::Leaf { kind: Leaf::Text, text: shown, left_out }
    }
}
