//! Whether the arguments of a call match the patterns of its rules.
//!
//! A pattern in `deny` or `ask` matches as widely as it can: any leaf of the named argument, any string at any depth
//! where no argument is named, every one of duplicate keys, and whatever cannot be read. A pattern in `allow` matches
//! as narrowly: all leaves and all duplicates of the named argument, a string at the top where none is named, never
//! what cannot be read, and no text with a `..` component unless the glob spells one, since `/home/*` is not meant to
//! match `/home/../etc`.

use std::borrow::Cow;

use helve_model::Action;
use helve_model::json::scan::{self, MAX_DEPTH, Member};

use crate::glob::{Bits, GlobId, Globs};
use crate::pin::canonical;

/// A compiled `pattern`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) key: Option<String>,
    pub(crate) glob: GlobId,
    /// The glob has a `..` of its own.
    pub(crate) spells_parent: bool,
}

/// What the patterns make of one call's arguments.
#[derive(Debug)]
pub(crate) struct ArgumentMatches<'call> {
    members: Vec<MemberMatches<'call>>,
    /// Globs that match any leaf at all, or cannot be read: no other can decide anything.
    possible: Bits,
    unreadable: bool,
}

#[derive(Debug)]
struct MemberMatches<'call> {
    key: Cow<'call, str>,
    /// Globs that match some leaf.
    some_leaf: Bits,
    /// Globs that match some leaf which is a string.
    some_string: Bits,
    /// Globs that match every leaf; none where there is no leaf.
    every_leaf: Bits,
    top_level_string: bool,
    has_parent_component: bool,
}

impl<'call> ArgumentMatches<'call> {
    /// Matches every argument for which `relevant` says that some rule speaks of it.
    pub(crate) fn read(arguments: &'call str, globs: &Globs, relevant: impl Fn(&str) -> bool) -> Self {
        let mut possible = globs.unreadable().clone();
        let readable = visit_members(arguments, &relevant, |_, member| match member.plain_text() {
            Some(text) => {
                globs.matches(text, &mut possible);
                Some(())
            }
            None => visit_leaves(member.value, MAX_DEPTH, &mut |leaf, _| globs.matches(leaf, &mut possible)),
        });
        let mut matches = Self { members: Vec::new(), possible, unreadable: readable.is_none() };
        // Most calls match no pattern at all: which argument matched how is asked only of the others.
        if !matches.is_empty() {
            visit_members(arguments, &relevant, |key, member| {
                matches.members.push(read_member(key, member.value, globs));
                Some(())
            });
        }
        matches
    }

    /// True when no rule with a pattern can apply.
    pub(crate) fn is_empty(&self) -> bool {
        !self.unreadable && self.possible.is_empty()
    }

    /// False when no rule with this glob can apply: the cheap test that spares most rules the whole one.
    pub(crate) fn may_hold(&self, glob: GlobId) -> bool {
        self.unreadable || self.possible.contains(glob)
    }

    /// Whether a rule with this pattern and this action applies to the call.
    pub(crate) fn hold(&self, globs: &Globs, condition: &Condition, action: Action) -> bool {
        let glob = condition.glob;
        let named = || self.members.iter().filter(|member| condition.key.as_ref().is_none_or(|key| *key == member.key));
        if action != Action::Allow {
            return self.unreadable
                || named().any(|member| {
                    let leaves = if condition.key.is_some() { &member.some_leaf } else { &member.some_string };
                    globs.holds(glob, leaves, action)
                });
        }
        let fits = |member: &MemberMatches<'_>| {
            (condition.spells_parent || !member.has_parent_component) && globs.holds(glob, &member.every_leaf, action)
        };
        if self.unreadable {
            false
        } else if condition.key.is_some() {
            named().next().is_some() && named().all(fits)
        } else {
            named().any(|member| member.top_level_string && fits(member))
        }
    }
}

/// True when `..` stands as a whole component of the path that `text` may be.
pub(crate) fn has_parent_component(text: &str) -> bool {
    text.contains("..") && text.split(['/', '\\']).any(|component| component == "..")
}

/// Gives every argument that some rule speaks of to `visit`; `None` when something cannot be read.
fn visit_members<'call>(
    arguments: &'call str,
    relevant: impl Fn(&str) -> bool,
    mut visit: impl FnMut(Cow<'call, str>, Member<'call>) -> Option<()>,
) -> Option<()> {
    for member in scan::members(arguments).ok()? {
        let member = member.ok()?;
        let key = member.key()?;
        if relevant(&key) {
            visit(key, member)?;
        }
    }
    Some(())
}

fn read_member<'call>(key: Cow<'call, str>, value: &str, globs: &Globs) -> MemberMatches<'call> {
    let mut matches = MemberMatches {
        key,
        some_leaf: Bits::default(),
        some_string: Bits::default(),
        every_leaf: Bits::default(),
        top_level_string: value.starts_with('"'),
        has_parent_component: false,
    };
    let mut first = true;
    // What cannot be read was noticed at the first look.
    visit_leaves(value, MAX_DEPTH, &mut |leaf, is_string| {
        let mut matched = Bits::default();
        globs.matches(leaf, &mut matched);
        if first {
            matches.every_leaf = matched.clone();
        } else {
            matches.every_leaf.intersect(&matched);
        }
        first = false;
        matches.some_leaf.union(&matched);
        if is_string {
            matches.some_string.union(&matched);
        }
        matches.has_parent_component |= has_parent_component(leaf);
    });
    matches
}

/// Gives every string, number, boolean and null inside `value` to `visit`; `None` when something cannot be read.
fn visit_leaves(value: &str, depth: u32, visit: &mut impl FnMut(&str, bool)) -> Option<()> {
    match value.as_bytes().first()? {
        b'{' => {
            for member in scan::members(value).ok()? {
                visit_leaves(member.ok()?.value, depth.checked_sub(1)?, visit)?;
            }
        }
        b'[' => {
            for element in scan::elements(value).ok()? {
                visit_leaves(element.ok()?, depth.checked_sub(1)?, visit)?;
            }
        }
        b'"' => visit(&canonical::string(value)?, true),
        _ if matches!(value, "true" | "false" | "null") => visit(value, false),
        _ => visit(&canonical::number(value)?, false),
    }
    Some(())
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
