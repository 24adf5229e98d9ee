//! Where a new rule goes among those of a file, so that it decides what it speaks of and no exception is lost.
//!
//! Rules are asked in order and the first that matches decides, so a new one has to stand before every rule that would
//! win over it. A rule about a part of what the new one speaks of (some of its tools, some arguments) is an exception that
//! somebody made: an `allow` goes behind it. A `deny` goes before whatever would let a part of it through.

use std::borrow::Cow;

use helve_model::name::Spelling;
use helve_model::{Action, CallKind, Rule, ServerName, ToolName};

use crate::glob::{Bits, GlobsBuilder, has_wildcard};
use crate::pattern::{Named, View, argument_glob, split};

/// Where a rule goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The position among the rules of the file.
    pub position: usize,
    /// Rules behind it that are stricter and lose what it speaks of, by their positions now.
    pub overrules: Vec<usize>,
}

/// How much of what a new rule speaks of another one speaks of, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Nothing,
    /// A part, or perhaps one.
    Part,
    Whole,
}

/// The place of `new` among `rules`, which stand in one file in this order.
#[must_use]
pub fn place_rule(rules: &[Rule], new: &Rule) -> Placement {
    let reaches: Vec<Reach> = rules.iter().map(|rule| reach(rule, new)).collect();
    let wins = |(rule, reach): (&Rule, &Reach)| match (new.action, rule.action) {
        (Action::Allow, Action::Deny | Action::Ask) | (Action::Ask, Action::Deny) => *reach == Reach::Whole,
        (Action::Deny, Action::Allow | Action::Ask) | (Action::Ask, Action::Allow) => *reach > Reach::Nothing,
        (Action::Allow, Action::Allow) | (Action::Ask, Action::Ask) | (Action::Deny, Action::Deny) => false,
    };
    let position = rules.iter().zip(&reaches).position(wins).unwrap_or(rules.len());
    let loses =
        |index: &usize| reaches[*index] > Reach::Nothing && severity(rules[*index].action) > severity(new.action);
    Placement { position, overrules: (position..rules.len()).filter(loses).collect() }
}

const fn severity(action: Action) -> u8 {
    match action {
        Action::Allow => 0,
        Action::Ask => 1,
        Action::Deny => 2,
    }
}

fn reach(old: &Rule, new: &Rule) -> Reach {
    if old.kind.unwrap_or(CallKind::Tool) != new.kind.unwrap_or(CallKind::Tool) {
        return Reach::Nothing;
    }
    let (named, is_one) = reach_of_names(old, new);
    let arguments = reach_of_patterns(old.pattern.as_deref(), new.pattern.as_deref());
    // How risky one tool is does not change from call to call; among several some are riskier.
    let risk = if old.risk.is_none() || is_one { Reach::Whole } else { Reach::Part };
    let who = if old.who.is_empty() || old.who == new.who { Reach::Whole } else { Reach::Part };
    if named == Reach::Nothing { Reach::Nothing } else { named.min(arguments).min(risk).min(who) }
}

/// How much of the names, and whether the new rule names one thing alone.
fn reach_of_names(old: &Rule, new: &Rule) -> (Reach, bool) {
    let Named::Tools(meant) = split(&new.tool) else { return (Reach::Part, false) };
    let [meant] = meant.as_slice() else { return (Reach::Part, false) };
    if meant.view != View::Identity {
        return (if is_everything(&old.tool) { Reach::Whole } else { Reach::Part }, false);
    }
    let (server, tool) = (literal(&meant.server), literal(&meant.tool));
    let is_one = server.is_some() && tool.is_some();
    let restricts = old.action != Action::Allow;
    let readings = match split(&old.tool) {
        Named::Tools(readings) => readings,
        Named::Bare if restricts => return (one_reach(&old.tool, &meant.tool), is_one),
        Named::Unsplittable if restricts => return (Reach::Whole, is_one),
        Named::Bare | Named::Unsplittable => return (Reach::Nothing, is_one),
    };
    let of = |reading: &crate::pattern::NameGlobs<'_>| {
        let spelling = match reading.view {
            View::Identity | View::Whole => {
                return both(one_reach(&reading.server, &meant.server), one_reach(&reading.tool, &meant.tool));
            }
            View::Provider => Spelling::Provider,
            View::Code => Spelling::Code,
        };
        // In these spellings several names may look alike; of a glob nobody can tell.
        let rendered = server.as_deref().zip(tool.as_deref()).and_then(|(server, tool)| {
            let server = ServerName::new(server).ok()?;
            Some((spelling.render_server(&server), spelling.render_tool(&ToolName::new(tool))))
        });
        match rendered {
            Some((server, tool)) => both(matches(&reading.server, &server), matches(&reading.tool, &tool)),
            None => Reach::Part,
        }
    };
    (readings.iter().map(of).max().unwrap_or(Reach::Nothing), is_one)
}

fn both(left: Reach, right: Reach) -> Reach {
    left.min(right)
}

/// How much of what the glob `new` matches the glob `old` matches, too.
fn one_reach(old: &str, new: &str) -> Reach {
    if is_everything(old) || old == new {
        return Reach::Whole;
    }
    if let Some(text) = literal(new) {
        return matches(old, &text);
    }
    if let Some(text) = literal(old) {
        return if matches(new, &text) == Reach::Whole { Reach::Part } else { Reach::Nothing };
    }
    match (beginning(old), beginning(new)) {
        (Some(old), Some(new)) if new.starts_with(old) => Reach::Whole,
        (Some(old), Some(new)) if !old.starts_with(new) => Reach::Nothing,
        _ => Reach::Part,
    }
}

fn reach_of_patterns(old: Option<&str>, new: Option<&str>) -> Reach {
    let Some(old) = old else { return Reach::Whole };
    let Some(new) = new else { return Reach::Part };
    if old == new {
        return Reach::Whole;
    }
    let (old, new) = (argument_glob(old), argument_glob(new));
    let is_same_key = old.key.is_none() || old.key == new.key;
    // What is written out, or a glob taken letter by letter: a glob within another is one of its texts.
    let is_within = literal(new.glob).map_or_else(|| matches(old.glob, new.glob), |text| matches(old.glob, &text));
    if is_same_key && is_within == Reach::Whole { Reach::Whole } else { Reach::Part }
}

fn matches(glob: &str, text: &str) -> Reach {
    let mut builder = GlobsBuilder::default();
    let id = builder.add(glob);
    let (globs, unreadable) = builder.build();
    let mut matched = Bits::default();
    globs.matches(text, &mut matched);
    if !unreadable.is_empty() {
        return Reach::Part;
    }
    if matched.contains(id) { Reach::Whole } else { Reach::Nothing }
}

fn is_everything(glob: &str) -> bool {
    !glob.is_empty() && (glob.chars().all(|character| character == '*') || glob == "*/*" || glob == "**/*")
}

/// The beginning that all texts of `text*` have.
fn beginning(glob: &str) -> Option<&str> {
    let beginning = glob.trim_end_matches('*');
    (beginning.len() < glob.len() && !has_wildcard(beginning)).then_some(beginning)
}

/// The only text that a glob matches, if there is one.
fn literal(glob: &str) -> Option<Cow<'_, str>> {
    if !has_wildcard(glob) {
        return Some(Cow::Borrowed(glob));
    }
    let mut text = String::with_capacity(glob.len());
    let mut characters = glob.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.push(characters.next()?),
            '*' | '?' | '[' | ']' | '{' | '}' => return None,
            other => text.push(other),
        }
    }
    Some(Cow::Owned(text))
}

#[cfg(test)]
#[path = "placement_tests.rs"]
mod tests;
