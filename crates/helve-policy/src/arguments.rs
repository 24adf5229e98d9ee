//! Whether the arguments of a call match the patterns of its rules.
//!
//! A pattern in `deny` or `ask` matches as widely as it can: any leaf of the named argument, any string at any depth
//! where no argument is named, every spelling of a place ([`crate::place_spellings`]), what stands in a text that is JSON itself
//! (servers that want a list or an object take it for one), every one of duplicate keys, and whatever cannot be read. `path` means every argument whose name says that it is a place. A pattern in `allow` matches as
//! narrowly: all leaves and all duplicates of the named argument, a string at the top where none is named, never what
//! cannot be read, only texts whose direct spelling it matches as well, and no text with a `..` component unless the
//! glob spells one, since `/home/*` is not meant to match `/home/../etc`. Where it matches a place by no argument's name,
//! it must match every other place of the call.

use std::borrow::Cow;

use helve_model::Action;
use helve_model::json::scan::{self, MAX_DEPTH, Member};

use crate::glob::{Bits, GlobId, Globs, GlobsBuilder};
use crate::glob_spellings;
use crate::pattern::argument_glob;
use crate::place::{ArgumentPlace, Directories, PATH, is_place};
use crate::place_spellings::{self, HasParent, folded, has_parent_component, without_detours};
use helve_model::json::canonical;

/// How often a text is taken for JSON that stands in a text of JSON.
const MAX_TEXTS_IN_TEXTS: usize = 3;

/// A compiled `pattern`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) key: Option<String>,
    /// Of a rule that restricts: every spelling of its glob. Of one that allows: its glob as written.
    pub(crate) glob: GlobId,
    /// Of a rule that allows: what the direct spelling of a text must match besides.
    direct: GlobId,
    /// The glob has a `..` of its own.
    spells_parent: bool,
    /// It may match a relative path only as an absolute one.
    pub(crate) joins: bool,
}

/// What is looked at besides the arguments themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatchContext<'call> {
    pub(crate) directories: &'call Directories,
    pub(crate) places: &'call [ArgumentPlace],
    /// Some pattern may match a relative path only as an absolute one.
    pub(crate) joins: bool,
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
    /// Globs that match some spelling of some leaf.
    some_leaf: Bits,
    /// Globs that match some spelling of some leaf which is a string.
    some_string: Bits,
    /// Globs that match every leaf as written; none where there is no leaf.
    every_leaf: Bits,
    /// Globs that match every leaf in its direct spelling.
    every_direct: Bits,
    /// Globs that match each place the tool found, by one of its names; `None`: it found none.
    every_place: Option<Bits>,
    top_level_string: bool,
    has_parent_component: bool,
    /// No glob can vouch for it.
    dubious: bool,
}

impl Condition {
    /// Compiles a `pattern` for rules of this kind.
    pub(crate) fn compile(pattern: &str, action: Action, builder: &mut GlobsBuilder) -> Self {
        let parsed = argument_glob(pattern);
        let key = parsed.key.map(ToOwned::to_owned);
        let spells_parent = has_parent_component(parsed.glob);
        if action == Action::Allow {
            let glob = builder.add(parsed.glob);
            let direct = builder.add_any(&glob_spellings::allowing(parsed.glob));
            return Self { key, glob, direct, spells_parent, joins: false };
        }
        let glob = builder.add_any(&glob_spellings::restricting(parsed.glob));
        Self { key, glob, direct: glob, spells_parent, joins: glob_spellings::may_be_absolute(parsed.glob) }
    }

    /// True when a rule with this pattern may look at this argument.
    pub(crate) fn speaks_of(&self, argument: &str, action: Action) -> bool {
        match &self.key {
            None => true,
            Some(key) => key == argument || (action != Action::Allow && key == PATH && is_place(argument)),
        }
    }
}

impl MatchContext<'static> {
    /// Nothing is known but the arguments.
    #[cfg(test)]
    pub(crate) fn unknown() -> Self {
        const NOWHERE: &Directories = &Directories::nowhere();
        Self { directories: NOWHERE, places: &[], joins: true }
    }
}

impl MatchContext<'_> {
    /// Whether relative paths in this argument are looked at as absolute ones too.
    fn joins(&self, argument: &str) -> bool {
        self.joins && !self.directories.is_empty() && is_place(argument)
    }
}

impl<'call> ArgumentMatches<'call> {
    /// Matches every argument for which `relevant` says that some rule speaks of it.
    pub(crate) fn read(
        arguments: &'call str,
        globs: &Globs,
        around: MatchContext<'call>,
        relevant: impl Fn(&str) -> bool,
    ) -> Self {
        let mut possible = globs.unreadable().clone();
        let readable = visit_members(arguments, &relevant, |key, member| {
            let joins = || around.joins(&key);
            let mut look = |leaf: &str| {
                restricting(leaf, around.directories, joins, &mut |text| globs.matches(text, &mut possible));
            };
            match member.plain_text() {
                Some(text) => {
                    look(text);
                    Some(())
                }
                None => visit_leaves(member.value, MAX_DEPTH, &mut |leaf, _| look(leaf)),
            }
        });
        for place in around.places.iter().filter(|place| relevant(&place.argument)) {
            place_matches(place, globs, &mut possible);
        }
        let mut matches = Self { members: Vec::new(), possible, unreadable: readable.is_none() };
        // Most calls match no pattern at all: which argument matched how is asked only of the others.
        if !matches.is_empty() {
            visit_members(arguments, &relevant, |key, member| {
                matches.members.push(read_member(key, member.value, globs, around));
                Some(())
            });
            matches.add_places(globs, around.places, relevant);
        }
        matches
    }

    /// What the tool found counts for the arguments it was found for; an argument that was left out may have a place.
    fn add_places(&mut self, globs: &Globs, places: &'call [ArgumentPlace], relevant: impl Fn(&str) -> bool) {
        for place in places.iter().filter(|place| relevant(&place.argument)) {
            let (mut matched, mut exactly) = (Bits::default(), Bits::default());
            place_matches(place, globs, &mut matched);
            place.spellings.iter().for_each(|spelling| globs.matches(spelling, &mut exactly));
            if !self.members.iter().any(|member| member.key == place.argument) {
                self.members.push(MemberMatches::left_out(&place.argument, &exactly));
            }
            for member in self.members.iter_mut().filter(|member| member.key == place.argument) {
                member.some_leaf.union(&matched);
                member.some_string.union(&matched);
                match &mut member.every_place {
                    Some(every) => every.intersect(&exactly),
                    none => *none = Some(exactly.clone()),
                }
            }
        }
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
        let named = || self.members.iter().filter(|member| condition.speaks_of(&member.key, action));
        if action != Action::Allow {
            return self.unreadable
                || named().any(|member| {
                    let leaves = if condition.key.is_some() { &member.some_leaf } else { &member.some_string };
                    globs.holds(glob, leaves, action)
                });
        }
        let fits = |member: &MemberMatches<'_>| {
            (condition.spells_parent || !member.has_parent_component)
                && !member.dubious
                && globs.holds(glob, &member.every_leaf, action)
                && globs.holds(condition.direct, &member.every_direct, action)
                && member.every_place.as_ref().is_none_or(|places| globs.holds(condition.direct, places, action))
        };
        if self.unreadable {
            false
        } else if condition.key.is_some() {
            named().next().is_some() && named().all(fits)
        } else {
            let names_place = |member: &MemberMatches<'_>| member.every_place.is_some() || is_place(&member.key);
            let other_places_fit = || named().filter(|member| names_place(member)).all(fits);
            named()
                .any(|member| member.top_level_string && fits(member) && (!names_place(member) || other_places_fit()))
        }
    }
}

impl<'call> MemberMatches<'call> {
    /// An argument that the call leaves out, for which the tool takes a place of its own.
    fn left_out(key: &'call str, matched: &Bits) -> Self {
        Self {
            key: Cow::Borrowed(key),
            some_leaf: Bits::default(),
            some_string: Bits::default(),
            every_leaf: matched.clone(),
            every_direct: matched.clone(),
            every_place: None,
            top_level_string: true,
            has_parent_component: false,
            dubious: false,
        }
    }
}

/// The spelling by which a restricting pattern matches, where that is not how the argument was written.
pub(crate) fn matched_spelling(
    arguments: &str,
    globs: &Globs,
    around: MatchContext<'_>,
    condition: &Condition,
    action: Action,
) -> Option<String> {
    let matches = |text: &str| {
        let mut matched = Bits::default();
        globs.matches(text, &mut matched);
        globs.holds(condition.glob, &matched, action)
    };
    let mut as_written = false;
    let mut found = None;
    visit_members(
        arguments,
        |key| condition.speaks_of(key, action),
        |key, member| {
            visit_leaves(member.value, MAX_DEPTH, &mut |leaf, _| {
                as_written |= matches(leaf);
                let joins = || around.joins(&key);
                restricting(leaf, around.directories, joins, &mut |text| {
                    if found.is_none() && text != leaf && matches(text) {
                        found = Some(text.to_owned());
                    }
                });
            })
        },
    )?;
    let places = around.places.iter().filter(|place| condition.speaks_of(&place.argument, action));
    let of_tool = || {
        let mut spellings = places.flat_map(|place| place.spellings.iter().chain(&place.other_spellings));
        spellings.find(|spelling| matches(&folded(&without_detours(spelling)))).cloned()
    };
    if as_written { None } else { found.or_else(of_tool) }
}

fn place_matches(place: &ArgumentPlace, globs: &Globs, matched: &mut Bits) {
    for spelling in place.spellings.iter().chain(&place.other_spellings) {
        globs.matches(spelling, matched);
        globs.matches(&folded(&without_detours(spelling)), matched);
    }
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

fn read_member<'call>(
    key: Cow<'call, str>,
    value: &str,
    globs: &Globs,
    around: MatchContext<'call>,
) -> MemberMatches<'call> {
    let joins = around.joins(&key);
    let mut matches = MemberMatches {
        key,
        some_leaf: Bits::default(),
        some_string: Bits::default(),
        every_leaf: Bits::default(),
        every_direct: Bits::default(),
        every_place: None,
        top_level_string: value.starts_with('"'),
        has_parent_component: false,
        dubious: false,
    };
    let mut first = true;
    // What cannot be read was noticed at the first look.
    visit_leaves(value, MAX_DEPTH, &mut |leaf, is_string| {
        let mut matched = Bits::default();
        globs.matches(leaf, &mut matched);
        let mut direct = matched.clone();
        if is_string {
            let parent = place_spellings::allowing(leaf, &mut |text| {
                let mut matched = Bits::default();
                globs.matches(text, &mut matched);
                direct.intersect(&matched);
            });
            match parent {
                Some(HasParent(has_parent)) => matches.has_parent_component |= has_parent,
                None => matches.dubious = true,
            }
        }
        if first {
            matches.every_leaf = matched.clone();
            matches.every_direct = direct;
        } else {
            matches.every_leaf.intersect(&matched);
            matches.every_direct.intersect(&direct);
        }
        first = false;
        if is_string {
            restricting(leaf, around.directories, || joins, &mut |text| globs.matches(text, &mut matched));
            matches.some_string.union(&matched);
        }
        matches.some_leaf.union(&matched);
    });
    matches
}

/// Gives every spelling of a text that a restricting pattern is matched with to `visit`, and of every text inside it where
/// it is JSON itself.
fn restricting(text: &str, directories: &Directories, joins: impl Fn() -> bool + Copy, visit: &mut impl FnMut(&str)) {
    place_spellings::restricting(text, directories, joins, visit);
    visit_inside(text, MAX_TEXTS_IN_TEXTS, &mut |inner| place_spellings::restricting(inner, directories, joins, visit));
}

fn visit_inside(text: &str, rounds: usize, visit: &mut dyn FnMut(&str)) {
    let inner = text.trim_start();
    if rounds == 0 || !matches!(inner.as_bytes().first(), Some(b'{' | b'[' | b'"')) {
        return;
    }
    let inner = inner.trim_end();
    // What cannot be read is not JSON: it means what it says.
    let _: Option<()> = visit_leaves(inner, MAX_DEPTH, &mut |leaf, is_string| {
        visit(leaf);
        if is_string {
            visit_inside(leaf, rounds - 1, visit);
        }
    });
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
