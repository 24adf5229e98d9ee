//! Owns the question whether a schema may be compiled at all: it is counted first, never timed, so the answer is the
//! same on every machine. What is counted bounds what the validator can be made to do before it looks at any data; the
//! looks it takes at data are bounded by `meter`.

use std::collections::HashMap;
use std::fmt;

use helve_render::schema::document::{Applies, Document, Target, address, references, subschemas};
use helve_render::schema::json::Json;
use helve_render::{MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH};

/// Subschemas in one schema, as written.
pub const MAX_SUBSCHEMAS: usize = 4_000;
/// Subschemas after every local `$ref` is written out. Twenty levels of `anyOf: [ref, ref]` make a million.
pub const MAX_EXPANDED_SUBSCHEMAS: u64 = 10_000;
/// Subschemas that can be entered one inside the other, counted through `$ref`: each holds a piece of the stack.
pub const MAX_NESTED_SUBSCHEMAS: u32 = 128;
/// Values in all `enum`s of one schema together.
pub const MAX_ENUM_VALUES: usize = 10_000;
/// Schemas with an `$id` of their own inside one schema: the validator compiles each way through them anew.
pub const MAX_EMBEDDED_RESOURCES: usize = 3;

/// What a reference to a published meta-schema counts for.
const META_SCHEMA_EXPANDED: u64 = 500;
const META_SCHEMA_NESTED: u32 = 24;

/// The counts of one schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) subschemas: usize,
    pub(crate) expanded: u64,
    pub(crate) nested: u32,
    /// A `$ref` leads back to a schema around it, so depth is up to the data.
    pub(crate) recursive: bool,
    pub(crate) enum_values: usize,
    pub(crate) embedded_resources: usize,
    /// Values in the largest schema under `not`: each error about it carries a copy.
    pub(crate) negated_values: usize,
}

/// Why a schema is not compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It needs a document that is not here.
    External(String),
    /// A `$ref` leads to a place of this document that does not exist.
    Dangling(String),
    Excess(Excess),
}

/// A count that is over its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Excess {
    /// [`MAX_SCHEMA_BYTES`].
    Bytes,
    /// [`MAX_SCHEMA_DEPTH`].
    Depth,
    /// [`MAX_SUBSCHEMAS`].
    Subschemas,
    /// [`MAX_EXPANDED_SUBSCHEMAS`].
    ExpandedSubschemas,
    /// [`MAX_NESTED_SUBSCHEMAS`].
    NestedSubschemas,
    /// [`MAX_ENUM_VALUES`].
    EnumValues,
    /// [`MAX_EMBEDDED_RESOURCES`].
    EmbeddedResources,
    /// A `$ref` leads back to itself without taking a step into the data: it never ends.
    ReferenceLoop,
    /// The values make the validator look more often than it may.
    Looks,
    /// The values and a recursive schema nest deeper together than the stack allows.
    Frames,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => write!(f, "the schema has more than {MAX_SCHEMA_BYTES} bytes"),
            Self::Depth => write!(f, "the schema nests deeper than {MAX_SCHEMA_DEPTH} levels"),
            Self::Subschemas => write!(f, "the schema has more than {MAX_SUBSCHEMAS} subschemas"),
            Self::ExpandedSubschemas => {
                write!(f, "the schema has more than {MAX_EXPANDED_SUBSCHEMAS} subschemas once each `$ref` is followed")
            }
            Self::NestedSubschemas => {
                write!(f, "the schema nests more than {MAX_NESTED_SUBSCHEMAS} subschemas once each `$ref` is followed")
            }
            Self::EnumValues => write!(f, "the schema has more than {MAX_ENUM_VALUES} enum values"),
            Self::EmbeddedResources => {
                write!(f, "the schema has more than {MAX_EMBEDDED_RESOURCES} schemas with an `$id` inside")
            }
            Self::ReferenceLoop => f.write_str("a `$ref` of the schema leads back to itself"),
            Self::Looks => f.write_str("checking these values takes too many steps"),
            Self::Frames => f.write_str("the values nest too deep for this recursive schema"),
        }
    }
}

/// A schema that is within its limits: its counts, and every schema inside it that anything leads to.
#[derive(Debug)]
pub(crate) struct Survey<'a> {
    pub(crate) counts: Counts,
    pub(crate) schemas: Vec<&'a Json>,
}

/// Counts a schema and holds the counts against the limits.
pub(crate) fn guard<'a>(document: &Document<'a>) -> Result<Survey<'a>, Stop> {
    let (graph, schemas) = Graph::of(document)?;
    let counts = graph.counts(document.embedded_resources()).map_err(Stop::Excess)?;
    let limits = [
        (counts.expanded > MAX_EXPANDED_SUBSCHEMAS, Excess::ExpandedSubschemas),
        (counts.nested > MAX_NESTED_SUBSCHEMAS, Excess::NestedSubschemas),
        (counts.enum_values > MAX_ENUM_VALUES, Excess::EnumValues),
        (counts.embedded_resources > MAX_EMBEDDED_RESOURCES, Excess::EmbeddedResources),
    ];
    match limits.into_iter().find(|(over, _)| *over) {
        Some((_, excess)) => Err(Stop::Excess(excess)),
        None => Ok(Survey { counts, schemas }),
    }
}

/// The schemas of a document and which of them lead to which.
struct Graph {
    nodes: Vec<GraphNode>,
    enum_values: usize,
    negated_values: usize,
}

#[derive(Default)]
struct GraphNode {
    edges: Vec<Edge>,
    /// `unevaluated…` makes the validator go through its neighbours a second time.
    twice: bool,
    meta_schemas: u32,
}

#[derive(Clone, Copy)]
struct Edge {
    to: usize,
    inside: bool,
}

impl Graph {
    fn of<'a>(document: &Document<'a>) -> Result<(Self, Vec<&'a Json>), Stop> {
        let mut graph = Self { nodes: vec![GraphNode::default()], enum_values: 0, negated_values: 0 };
        let mut numbers = HashMap::from([(address(document.root), 0)]);
        let mut waiting = vec![(0, document.root)];
        let mut schemas = Vec::new();
        while let Some((number, schema)) = waiting.pop() {
            schemas.push(schema);
            let mut node = GraphNode::default();
            let mut lead_to = |target, inside: Option<bool>| -> Result<(), Stop> {
                let next = numbers.len();
                let to = *numbers.entry(address(target)).or_insert_with(|| {
                    waiting.push((next, target));
                    next
                });
                if next >= MAX_SUBSCHEMAS && to == next {
                    return Err(Stop::Excess(Excess::Subschemas));
                }
                if let Some(inside) = inside {
                    node.edges.push(Edge { to, inside });
                }
                Ok(())
            };
            for child in subschemas(schema) {
                lead_to(
                    child.schema,
                    match child.applies {
                        Applies::InPlace => Some(false),
                        Applies::Inside => Some(true),
                        Applies::WhenReferred => None,
                    },
                )?;
            }
            let mut meta_schemas = 0;
            for (keyword, reference) in references(schema) {
                let targets = if keyword == "$ref" {
                    vec![document.resolve(schema, reference)]
                } else {
                    document.resolve_dynamic(schema, reference)
                };
                for target in targets {
                    match target {
                        Target::Inside(target) => lead_to(target, Some(false))?,
                        Target::MetaSchema => meta_schemas += 1,
                        Target::Elsewhere => return Err(Stop::External(reference.to_owned())),
                        Target::Nowhere => return Err(Stop::Dangling(reference.to_owned())),
                    }
                }
            }
            node.meta_schemas = meta_schemas;
            node.twice = schema.get("unevaluatedProperties").is_some() || schema.get("unevaluatedItems").is_some();
            graph.enum_values += schema.get("enum").and_then(Json::as_array).map_or(0, <[Json]>::len);
            if let Some(negated) = schema.get("not") {
                graph.negated_values = graph.negated_values.max(negated.values());
            }
            if graph.nodes.len() < numbers.len() {
                graph.nodes.resize_with(numbers.len(), GraphNode::default);
            }
            if let Some(slot) = graph.nodes.get_mut(number) {
                *slot = node;
            }
        }
        Ok((graph, schemas))
    }

    /// Counts every way from the root through the graph. A step into the data that leads back to a schema around it is
    /// counted once and not followed: how often it is taken is up to the data.
    fn counts(&self, embedded_resources: usize) -> Result<Counts, Excess> {
        if self.postorder(|edge, _| !edge.inside).is_none() {
            return Err(Excess::ReferenceLoop);
        }
        let component = self.components();
        let returns = |edge: &Edge, from: usize| edge.inside && component.get(edge.to) == component.get(from);
        let order = self.postorder(|edge, from| !returns(edge, from)).unwrap_or_default();
        let mut expanded = vec![1_u64; self.nodes.len()];
        let mut nested = vec![1_u32; self.nodes.len()];
        let mut recursive = false;
        for &number in &order {
            let Some(node) = self.nodes.get(number) else { continue };
            let meta = u64::from(node.meta_schemas);
            let mut sum = 1_u64.saturating_add(META_SCHEMA_EXPANDED.saturating_mul(meta));
            let mut deepest = if node.meta_schemas > 0 { META_SCHEMA_NESTED } else { 0 };
            recursive |= node.meta_schemas > 0;
            for edge in &node.edges {
                if returns(edge, number) {
                    recursive = true;
                    sum = sum.saturating_add(1);
                    continue;
                }
                let below = expanded.get(edge.to).copied().unwrap_or(1);
                let times = if node.twice && !edge.inside { 2 } else { 1 };
                sum = sum.saturating_add(below.saturating_mul(times));
                deepest = deepest.max(nested.get(edge.to).copied().unwrap_or(1));
            }
            if let (Some(count), Some(depth)) = (expanded.get_mut(number), nested.get_mut(number)) {
                *count = sum;
                *depth = deepest.saturating_add(1);
            }
        }
        Ok(Counts {
            subschemas: self.nodes.len(),
            expanded: expanded.first().copied().unwrap_or(1),
            nested: nested.first().copied().unwrap_or(1),
            recursive,
            enum_values: self.enum_values,
            embedded_resources,
            negated_values: self.negated_values,
        })
    }

    /// The nodes so that each comes after all it leads to over the edges that count; nothing if those have a circle.
    fn postorder(&self, counts: impl Fn(&Edge, usize) -> bool) -> Option<Vec<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for start in 0..self.nodes.len() {
            let mut path = vec![(start, 0)];
            while let Some((number, next)) = path.pop() {
                let (Some(node), Some(mark)) = (self.nodes.get(number), marks.get_mut(number)) else { continue };
                if next == 0 {
                    match mark {
                        Mark::New => *mark = Mark::Open,
                        Mark::Open => return None,
                        Mark::Done => continue,
                    }
                }
                if let Some(edge) = node.edges.get(next) {
                    path.push((number, next + 1));
                    if counts(edge, number) {
                        path.push((edge.to, 0));
                    }
                } else {
                    *mark = Mark::Done;
                    order.push(number);
                }
            }
        }
        Some(order)
    }

    /// Numbers the groups of schemas that lead to one another (Kosaraju: finish times forward, then backward).
    fn components(&self) -> Vec<usize> {
        let mut backward = vec![Vec::new(); self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            for edge in &node.edges {
                if let Some(into) = backward.get_mut(edge.to) {
                    into.push(number);
                }
            }
        }
        let unassigned = usize::MAX;
        let mut component = vec![unassigned; self.nodes.len()];
        for (group, &start) in self.finish_order().iter().rev().enumerate() {
            let mut waiting = vec![start];
            while let Some(number) = waiting.pop() {
                if let Some(slot) = component.get_mut(number)
                    && *slot == unassigned
                {
                    *slot = group;
                    waiting.extend(backward.get(number).into_iter().flatten());
                }
            }
        }
        component
    }

    /// Like [`Self::postorder`] over all edges, circles allowed.
    fn finish_order(&self) -> Vec<usize> {
        let mut seen = vec![false; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for start in 0..self.nodes.len() {
            let mut path = vec![(start, 0)];
            while let Some((number, next)) = path.pop() {
                let (Some(node), Some(seen)) = (self.nodes.get(number), seen.get_mut(number)) else { continue };
                if next == 0 && std::mem::replace(seen, true) {
                    continue;
                }
                if let Some(edge) = node.edges.get(next) {
                    path.push((number, next + 1));
                    path.push((edge.to, 0));
                } else {
                    order.push(number);
                }
            }
        }
        order
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
