//! JSON as a tree that can be folded; [`crate::json_tree`] makes one from text.

/// A JSON value, cut where it is very large.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tree {
    /// Its root; `None` for nothing.
    pub root: Option<Node>,
    /// Values that are left out.
    pub left_out: u64,
}

/// One value, with the key it has.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its key or index in the value around it.
    pub key: Option<String>,
    /// The value.
    pub value: NodeValue,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// One that has no parts.
    Leaf {
        /// Which kind.
        kind: Leaf,
        /// As shown; a text without its quotes.
        text: String,
        /// Characters that are left out.
        left_out: u64,
    },
    /// An object.
    Object(Vec<Node>),
    /// An array.
    Array(Vec<Node>),
}

/// The kinds of values without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the kinds of JSON")]
pub enum Leaf {
    Text,
    Number,
    Boolean,
    Null,
}
