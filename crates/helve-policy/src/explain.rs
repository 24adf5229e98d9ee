//! Why a call is decided as it is: the whole chain, as data and as text.

use std::fmt;

use helve_model::json::RawJson;
use helve_model::name::Spelling;
use helve_model::text::{cut, one_line};
use helve_model::{Action, CallKind, Hint, Layer, Origin, Principal, QualifiedName, Risk};

use crate::approval::{Approval, Approvals};
use crate::arguments::{ArgumentMatches, MatchContext, matched_spelling};
use crate::decision::Decision;
use crate::ground::{Decider, Ground};
use crate::hints;
use crate::party::{self, CalledBy, PartyMatches};
use crate::pin::DefinitionHash;
use crate::place::Whereabouts;
use crate::rules::{CompiledRule, RuleSet, Stage};
use crate::tool_policy::{Caller, RuleVerdict, Subject, ToolPolicy};

/// How many characters of a spelling are shown.
const SHOWN_CHARACTERS: usize = 120;

/// The way to a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What is called.
    pub name: QualifiedName,
    /// Which kind of call.
    pub kind: CallKind,
    /// The caller.
    pub caller: Caller,
    /// On whose behalf.
    pub principal: Principal,
    /// What the call meets.
    pub action: Action,
    /// What that rests on.
    pub ground: Ground,
    /// The spelling of an argument by which the rule that decided matches, where that is not how it was written.
    pub matched_as: Option<String>,
    /// Every rule in the order in which it is asked, then the lists and the default.
    pub steps: Vec<Step>,
    /// What to do so that the call may run; none when it may.
    pub hints: Vec<Hint>,
}

/// One link of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was asked, in words.
    pub what: String,
    /// Where it was written; `None` when it stands for several or for none.
    pub origin: Option<Origin>,
    /// What came of it.
    pub finding: Finding,
}

/// What came of asking one rule or list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It decides.
    Decides(Action),
    /// It matches, but what is said here decides.
    Overruled(String),
    /// It does not count, for the reason given.
    Ignored(String),
    /// It does not match, for the reason given.
    NoMatch(String),
    /// Something before it decides.
    NotReached,
}

/// What a person settled about one tool beside the rules.
#[derive(Debug, Clone, Copy)]
pub struct Settled<'a> {
    /// The definition they pinned. Another one is refused, whatever the rules say.
    pub pinned: Option<DefinitionHash>,
    /// What they approved before. It answers what would be asked.
    pub approvals: &'a Approvals,
}

impl RuleSet {
    /// The whole chain of one call's decision.
    #[must_use]
    pub fn explain<'a>(&self, subject: Subject, party: impl Into<CalledBy<'a>>, arguments: &RawJson) -> Explanation {
        self.for_tool(subject).explain(party, arguments, &Whereabouts::default())
    }
}

impl ToolPolicy {
    /// The whole chain of one call's decision.
    #[must_use]
    pub fn explain<'a>(
        &self,
        party: impl Into<CalledBy<'a>>,
        arguments: &RawJson,
        whereabouts: &Whereabouts,
    ) -> Explanation {
        let party = party.into();
        let verdict = self.verdict(party, arguments.as_str(), whereabouts);
        let directories = self.directories(whereabouts);
        let around = MatchContext { directories: &directories, places: &whereabouts.places, joins: true };
        let subject = self.subject();
        let mut steps = Vec::new();
        if let Some(gate) = self.hidden() {
            steps.push(Step::of(gate.to_string(), gate, Finding::Decides(Action::Deny)));
        }
        self.explain_rules(&verdict, party, arguments.as_str(), around, &mut steps);
        if self.hidden().is_none() {
            let standing = self.by_standing(party.caller);
            let finding = if verdict.rule.is_none() { Finding::Decides(standing.action) } else { Finding::NotReached };
            steps.push(Step::of(format!("otherwise: {}", standing.decider), &standing.decider, finding));
        }
        let hints = if verdict.action == Action::Allow {
            Vec::new()
        } else {
            hints::for_decider(&verdict.decider, &subject.name, subject.kind).into_iter().collect()
        };
        Explanation {
            name: subject.name.clone(),
            kind: subject.kind,
            caller: party.caller,
            principal: party.principal.clone(),
            action: verdict.action,
            matched_as: verdict.rule.and_then(|rule| self.matched_as(rule, arguments.as_str(), around)),
            ground: Ground { decider: verdict.decider, risk: self.risk() },
            steps,
            hints,
        }
    }

    /// The same, with the pin that comes before the rules and the approvals that come after them.
    #[must_use]
    pub fn explain_settled<'a>(
        &self,
        party: impl Into<CalledBy<'a>>,
        arguments: &RawJson,
        whereabouts: &Whereabouts,
        settled: Settled<'_>,
    ) -> Explanation {
        let party = party.into();
        let mut explanation = self.explain(party, arguments, whereabouts);
        if self.is_changed_since(settled.pinned) {
            let refusal = self.refuse_changed();
            explanation.overrule(|| Finding::NotReached);
            explanation.steps.insert(0, Step::without_origin(PIN, Finding::Decides(Action::Deny)));
            explanation.action = Action::Deny;
            explanation.matched_as = None;
            explanation.ground = refusal.ground().clone();
            explanation.hints = refusal.hints();
            return explanation;
        }
        if settled.pinned.is_some() {
            let finding = Finding::NoMatch("the definition is still the one that was pinned".to_owned());
            explanation.steps.insert(0, Step::without_origin(PIN, finding));
        }
        let decision = self.decide_at(party, arguments.clone(), whereabouts);
        let Decision::Ask(question) = decision else { return explanation };
        let subject = self.subject();
        if let Some(approval) = settled.approvals.find(&question) {
            let decider = Decider::Approved(approval.span);
            explanation.overrule(|| Finding::Overruled(decider.to_string()));
            explanation.steps.push(Step::without_origin(APPROVALS, Finding::Decides(Action::Allow)));
            explanation.action = Action::Allow;
            explanation.ground.decider = decider;
            explanation.hints.clear();
        } else if let Some(other) = settled.approvals.of(&subject.name, subject.kind).next() {
            let reason = if other.server != question.server() {
                "given to another server of this name"
            } else if other.definition != question.definition() {
                "given for another definition"
            } else {
                "given for other arguments"
            };
            explanation.steps.push(Step::without_origin(APPROVALS, Finding::NoMatch(reason.to_owned())));
        }
        explanation
    }

    /// The same as [`ToolPolicy::foresee`], with the pin and the approvals.
    #[must_use]
    pub fn foresee_settled(&self, caller: Caller, settled: Settled<'_>) -> Option<(Action, Ground)> {
        if self.is_changed_since(settled.pinned) {
            return Some((Action::Deny, self.refuse_changed().ground().clone()));
        }
        let (action, ground) = self.foresee(caller)?;
        let Decision::Ask(question) = self.decide(caller, RawJson::empty_object()) else {
            return Some((action, ground));
        };
        let (definition, server) = (question.definition(), question.server());
        let subject = self.subject();
        let is_current = |one: &&Approval| one.definition == definition && one.server == server;
        let current = || settled.approvals.of(&subject.name, subject.kind).filter(is_current);
        let whole = current().filter(|approval| approval.pattern.is_none()).map(|approval| approval.span).max();
        match whole {
            Some(span) => Some((Action::Allow, Ground { decider: Decider::Approved(span), ..ground })),
            None if current().next().is_some() => None,
            None => Some((action, ground)),
        }
    }

    /// The spelling by which a rule matches, where that is not how the call was written.
    fn matched_as(&self, rule: usize, arguments: &str, around: MatchContext<'_>) -> Option<String> {
        let rule = &self.inner().rules[rule];
        let condition = rule.condition.as_ref().filter(|_| rule.action() != Action::Allow)?;
        matched_spelling(arguments, &self.inner().argument_globs, around, condition, rule.action())
    }

    fn explain_rules(
        &self,
        verdict: &RuleVerdict,
        party: CalledBy<'_>,
        arguments: &str,
        around: MatchContext<'_>,
        steps: &mut Vec<Step>,
    ) {
        let inner = self.inner();
        let parties = PartyMatches::of(&inner.party_globs, party);
        let named = inner
            .servers
            .get(&self.subject().name.server)
            .map(|known| inner.naming(known, &self.subject().name, self.subject().kind))
            .unwrap_or_default();
        let matches = ArgumentMatches::read(arguments, &inner.argument_globs, around, |_| true);
        let mut others: Vec<(Layer, usize)> = Vec::new();
        let shortened =
            [Spelling::Provider, Spelling::Code].map(|spelling| spelling.render_hashed(&self.subject().name));
        for (index, rule) in inner.rules.iter().enumerate() {
            let speaks_of_it = named.contains(&index) && rule.is_for_kind(self.subject().kind);
            if !speaks_of_it && shortened.contains(&rule.source.rule.tool) {
                let name = one_line(&self.subject().name.to_string()).into_owned();
                let finding = Finding::NoMatch(format!("the name is shortened; a rule that allows says `{name}`"));
                steps.push(Step::of_rule(rule, finding));
            } else if !speaks_of_it {
                let layer = rule.source.rule.layer;
                match others.iter_mut().find(|(known, _)| *known == layer) {
                    Some((_, count)) => *count += 1,
                    None => others.push((layer, 1)),
                }
            } else {
                let finding = match self.finding(index, rule, verdict, &matches) {
                    Finding::Decides(action) => Finding::Decides(action),
                    _ if !self.party_holds(index, &parties) => Finding::NoMatch(format!(
                        "it is for {}, this is {}",
                        party::in_words(&rule.source.rule),
                        party.principal
                    )),
                    other => other,
                };
                steps.push(Step::of_rule(rule, finding));
            }
        }
        for (layer, count) in others {
            let what = if count == 1 { "one rule".to_owned() } else { format!("{count} rules") };
            let finding = Finding::NoMatch("about something else".to_owned());
            steps.push(Step { what: format!("{what} of the {layer} layer"), origin: None, finding });
        }
    }

    fn finding(
        &self,
        index: usize,
        rule: &CompiledRule,
        verdict: &RuleVerdict,
        matches: &ArgumentMatches<'_>,
    ) -> Finding {
        if verdict.rule == Some(index) {
            return Finding::Decides(verdict.action);
        }
        let written = &rule.source.rule;
        if !rule.is_for_risk(self.risk()) {
            let bound = written.risk.unwrap_or(Risk::High);
            let (risk, bound) = (
                self.risk(),
                match rule.action() {
                    Action::Allow => format!("up to {bound}"),
                    Action::Deny | Action::Ask => format!("from {bound} up"),
                },
            );
            return Finding::NoMatch(format!("it is for risk {bound}, this is {risk}"));
        }
        if !self.condition_holds(index, matches) {
            let pattern = one_line(written.pattern.as_deref().unwrap_or_default());
            return Finding::NoMatch(format!("`{pattern}` does not match the arguments"));
        }
        if !rule.counts() {
            let reason = if rule.only_narrows {
                "nothing is allowed by what a client calls itself"
            } else if rule.allows_for_a_project() {
                "a project cannot allow something to somebody"
            } else {
                "a project that is not trusted cannot allow"
            };
            return Finding::Ignored(reason.to_owned());
        }
        let winner = whereabouts(&verdict.decider);
        let narrows = |index: usize| self.inner().rules[index].only_narrows;
        let overruled = match verdict.rule.map(|index| self.inner().rules[index].stage) {
            Some(_) if verdict.rule.is_some_and(narrows) => format!("stricter for this agent: {winner}"),
            Some(_) if rule.only_narrows => format!("not stricter than {winner}"),
            None if self.hidden().is_some() => "no rule can lift that".to_owned(),
            Some(Stage::User) if verdict.action == Action::Deny && rule.stage < Stage::User => {
                format!("a deny of your own layer is final: {winner}")
            }
            Some(Stage::Untrusted) if rule.stage > Stage::Untrusted => format!("a project may be stricter: {winner}"),
            Some(stage) if stage <= rule.stage => format!("asked later than {winner}"),
            Some(_) | None => format!("not stricter than {winner}"),
        };
        Finding::Overruled(overruled)
    }
}

/// The step before all rules.
const PIN: &str = "the definition that was pinned";
/// The step after all rules.
const APPROVALS: &str = "what was approved before";

impl Explanation {
    /// What decided does not any more.
    fn overrule(&mut self, finding: impl Fn() -> Finding) {
        for step in &mut self.steps {
            if matches!(step.finding, Finding::Decides(_)) {
                step.finding = finding();
            }
        }
    }
}

/// The place of what decided, which says enough where its words stand in the same text.
fn whereabouts(decider: &Decider) -> String {
    decider.origin().map_or_else(|| decider.to_string(), ToString::to_string)
}

impl Step {
    fn of_rule(rule: &CompiledRule, finding: Finding) -> Self {
        Self { what: rule.source.to_string(), origin: Some(rule.source.rule.origin.clone()), finding }
    }

    fn without_origin(what: &str, finding: Finding) -> Self {
        Self { what: what.to_owned(), origin: None, finding }
    }

    fn of(what: String, decider: &Decider, finding: Finding) -> Self {
        Self { what, origin: decider.origin().cloned(), finding }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ground { decider, risk } = &self.ground;
        let name = one_line(&self.name.to_string()).into_owned();
        let on_behalf = match &self.principal {
            principal if *principal == Principal::LOCAL => String::new(),
            principal => format!(" as {}", one_line(principal.name())),
        };
        writeln!(
            formatter,
            "{} {name}, called by {}{on_behalf}, {risk} risk: {}",
            self.kind, self.caller, self.action
        )?;
        writeln!(formatter, "because {decider}")?;
        if let Some(spelling) = &self.matched_as {
            writeln!(formatter, "matched as `{}`", cut(spelling, SHOWN_CHARACTERS))?;
        }
        for step in &self.steps {
            writeln!(formatter, "  {step}")?;
        }
        for hint in &self.hints {
            writeln!(formatter, "hint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, words) = match &self.finding {
            Finding::Decides(action) => ("=>", format!("decides: {action}")),
            Finding::Overruled(reason) => (" -", format!("matches, but {reason}")),
            Finding::Ignored(reason) => (" -", format!("ignored: {reason}")),
            Finding::NoMatch(reason) => (" -", format!("no match: {reason}")),
            Finding::NotReached => (" -", "not reached".to_owned()),
        };
        write!(formatter, "{mark} {}\n       {words}", self.what)
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
