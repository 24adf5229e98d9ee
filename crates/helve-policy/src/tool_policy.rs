//! From a call to its decision: rules are matched with a tool once, so that a call only matches its arguments.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use helve_model::json::RawJson;
use helve_model::{
    Action, CallKind, Definition as _, Listed, Principal, PromptDefinition, QualifiedName, Risk, ServerName,
    ToolDefinition, ToolName,
};

use crate::Permit;
use crate::access::{Server, Trust};
use crate::arguments::{ArgumentMatches, MatchContext};
use crate::decision::{Decision, Question, Refusal, Request};
use crate::glob::GlobId;
use crate::ground::{Decider, Ground, ListName};
use crate::party::{CalledBy, PartyMatches};
use crate::pin::DefinitionHash;
use crate::place::{Directories, PATH, Whereabouts, is_place};
use crate::risk::{Claims, Listing, assess};
use crate::rules::{Inner, RuleSet, Stage};

/// The kind of caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caller {
    /// A person who typed this very call at a terminal.
    Person,
    /// A model.
    Agent,
    /// A program, or a command line that nobody watches.
    Script,
    /// A tag in a prompt.
    PromptTag,
    /// A watch that repeats the call.
    Poll,
}

/// What is known about something that can be called.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Which tool, resource (by URI) or prompt, and of which server.
    pub name: QualifiedName,
    /// Which kind of call.
    pub kind: CallKind,
    /// What the server claims about it.
    pub claims: Claims,
    /// Its definition as the server gave it, which approvals are bound to.
    pub definition: Option<RawJson>,
}

/// The rules and lists for one tool, resource or prompt, ready to decide calls.
#[derive(Debug, Clone)]
pub struct ToolPolicy {
    rules: Arc<Inner>,
    /// As the rules had it: see [`RuleSet::denying_unlisted`].
    denies_unlisted: bool,
    subject: Subject,
    risk: Risk,
    /// What the server claims and is believed.
    believed: Believed,
    /// Why it cannot be called at all.
    gate: Option<Decider>,
    /// What holds when no rule matches.
    standing: Standing,
    chains: Chains,
    /// The arguments that rules speak of; `None`: no rule speaks of any.
    keys: Option<RelevantKeys>,
    /// Some pattern may match a relative path only as an absolute one.
    joins: bool,
    /// Some rule is for some callers only.
    names_parties: bool,
    /// Where the server runs; `None`: nobody knows the server.
    directories: Option<Arc<Directories>>,
}

/// The rules that may match a call, in order.
#[derive(Debug, Clone, Default)]
struct Chains {
    /// Of the command line and of files named for this run.
    above: Vec<Candidate>,
    /// Of a project that is not trusted.
    untrusted: Vec<Candidate>,
    project: Vec<Candidate>,
    user: Vec<Candidate>,
    defaults: Vec<Candidate>,
    /// Of any layer: asked last, and only to be stricter.
    narrowing: Vec<Candidate>,
}

/// A rule that matches the tool.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    rule: usize,
    /// The glob of its pattern over arguments, if it has one.
    glob: Option<GlobId>,
    /// Whom it is for; `None`: everybody.
    who: Option<GlobId>,
}

#[derive(Debug, Clone)]
enum RelevantKeys {
    All,
    These {
        keys: Vec<String>,
        /// And whatever names a place: see [`crate::arguments::Condition::speaks_of`].
        places: bool,
    },
}

/// What may be relied on when a call is repeated, or its result kept. A claim counts only under `trust_annotations`.
#[derive(Debug, Clone, Copy, Default)]
struct Believed {
    reads: bool,
    idempotent: bool,
}

/// What holds when no rule matches.
#[derive(Debug, Clone)]
enum Standing {
    Allow(Decider),
    /// The default question, which a person who typed the call has answered.
    Ask(Decider),
    /// Nothing but a rule lets it through.
    Deny(Decider),
}

/// Which action a call meets, before it becomes a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleVerdict {
    pub(crate) action: Action,
    pub(crate) decider: Decider,
    /// The rule that decided.
    pub(crate) rule: Option<usize>,
}

impl Subject {
    /// Something about which nothing is known but its name.
    #[must_use]
    pub fn unknown(name: QualifiedName, kind: CallKind) -> Self {
        Self { name, kind, claims: Claims::default(), definition: None }
    }

    /// A tool as its server defines it.
    #[must_use]
    pub fn tool(server: &ServerName, definition: &ToolDefinition) -> Self {
        Self {
            name: QualifiedName::new(server.clone(), definition.name().clone()),
            kind: CallKind::Tool,
            claims: Claims::from(&definition.view().annotations),
            definition: Some(definition.raw().clone()),
        }
    }

    /// A prompt as its server defines it.
    #[must_use]
    pub fn prompt(server: &ServerName, definition: &PromptDefinition) -> Self {
        Self { definition: Some(definition.raw().clone()), ..Self::unknown_prompt(server, definition.name()) }
    }

    /// A prompt of which nothing is known but its name.
    #[must_use]
    pub fn unknown_prompt(server: &ServerName, name: &str) -> Self {
        Self::unknown(QualifiedName::new(server.clone(), ToolName::new(name)), CallKind::Prompt)
    }

    /// A method that is not one of the protocol's.
    #[must_use]
    pub fn method(server: &ServerName, method: &str) -> Self {
        Self::unknown(QualifiedName::new(server.clone(), ToolName::new(method)), CallKind::Method)
    }

    /// A resource, by its URI.
    #[must_use]
    pub fn resource(server: &ServerName, uri: &str) -> Self {
        Self::unknown(QualifiedName::new(server.clone(), ToolName::new(uri)), CallKind::Resource)
    }
}

impl RuleSet {
    /// Matches all rules and lists with one tool, once for all its calls.
    #[must_use]
    pub fn for_tool(&self, subject: Subject) -> ToolPolicy {
        let rules = Arc::clone(&self.inner);
        let known = rules.servers.get(&subject.name.server);
        let directories = known.map(|known| Arc::clone(&known.directories));
        let (gate, standing, risk, believed) = match known {
            Some(known) => place(&known.server, &subject),
            None => {
                let risk = assess(subject.kind, Listing::None, subject.claims, false);
                (Some(Decider::ServerUnknown), Standing::Ask(Decider::ServerUnknown), risk, Believed::default())
            }
        };
        let standing = match standing {
            Standing::Ask(Decider::Default(origin)) if self.denies_unlisted => {
                Standing::Deny(Decider::Unlisted(origin))
            }
            standing => standing,
        };
        let mut policy = ToolPolicy {
            rules,
            denies_unlisted: self.denies_unlisted,
            subject,
            risk,
            believed,
            gate,
            standing,
            chains: Chains::default(),
            keys: None,
            joins: false,
            names_parties: false,
            directories,
        };
        if policy.rules.allow_all && policy.subject.kind != CallKind::Method {
            policy.gate = None;
            policy.standing = Standing::Allow(Decider::AllowAll);
        } else if policy.gate.is_none() {
            policy.find_candidates();
        }
        policy
    }

    /// True when a tool does not exist for any caller: see [`ToolPolicy::hidden`]. Cheaper than asking for its policy,
    /// which matters where ten thousand tools are listed.
    #[must_use]
    pub fn hides(&self, name: &QualifiedName) -> bool {
        self.hidden_of(&name.server)(name.tool.as_str())
    }

    /// The same for all tools of one server.
    pub fn hidden_of(&self, server: &ServerName) -> impl Fn(&str) -> bool {
        let known = self.inner.servers.get(server).map(|known| &known.server);
        let is_visible = |server: &Server, tool: &str| {
            server.switched_off.is_none()
                && server.entry.trust == Trust::Trusted
                && server.disabled_tools.find(tool, Action::Deny).is_none()
                && server.tools.as_ref().is_none_or(|tools| {
                    tools.find(tool, Action::Allow).is_some() || server.write_tools.find(tool, Action::Allow).is_some()
                })
        };
        move |tool| !self.inner.allow_all && !known.is_some_and(|server| is_visible(server, tool))
    }

    /// Decides one request of an agent, about something of which nothing is known but its name.
    #[must_use]
    pub fn decide(&self, request: Request) -> Decision {
        let policy = self.for_tool(Subject::unknown(request.name, request.kind));
        let party = CalledBy::new(Caller::Agent, &request.principal);
        policy.decide_at(party, request.arguments, &Whereabouts::default())
    }
}

impl ToolPolicy {
    /// Decides one call of the host's own principal of which no more is known than its arguments.
    #[must_use]
    pub fn decide(&self, caller: Caller, arguments: RawJson) -> Decision {
        self.decide_at(caller, arguments, &Whereabouts::default())
    }

    /// Decides one call of somebody, with what is known about the places that its arguments name.
    #[must_use]
    pub fn decide_at<'a>(
        &self,
        party: impl Into<CalledBy<'a>>,
        arguments: RawJson,
        whereabouts: &Whereabouts,
    ) -> Decision {
        let party = party.into();
        let verdict = self.verdict(party, arguments.as_str(), whereabouts);
        let (caller, principal) = (party.caller, party.principal);
        let places = whereabouts.places.clone();
        let ground = Ground { decider: verdict.decider, risk: self.risk };
        let (principal, name) = (principal.clone(), self.subject.name.clone());
        let request = Request { principal, name, kind: self.subject.kind, arguments };
        match verdict.action {
            Action::Allow => Decision::Allow(Permit::grant(request, ground, places)),
            Action::Ask => {
                let server = self.rules.servers.get(&request.name.server).and_then(|known| known.server.identity);
                let definition = self.subject.definition.clone();
                Decision::Ask(Question::new(request, ground, caller, definition, server, places))
            }
            Action::Deny => Decision::Deny(Refusal::new(request, ground)),
        }
    }

    /// True when it was made by these very rules.
    #[must_use]
    pub fn is_of(&self, rules: &RuleSet) -> bool {
        Arc::ptr_eq(&self.rules, &rules.inner) && self.denies_unlisted == rules.denies_unlisted
    }

    /// What the policy is for.
    #[must_use]
    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// How much harm a call could do.
    #[must_use]
    pub const fn risk(&self) -> Risk {
        self.risk
    }

    /// True when a call that may have run may be made again: the server says that twice is once, and is believed.
    #[must_use]
    pub const fn may_be_repeated(&self) -> bool {
        self.believed.idempotent
    }

    /// True when a call is known to change nothing, by the person's list or by a server that is believed.
    #[must_use]
    pub const fn only_reads(&self) -> bool {
        self.believed.reads
    }

    /// True when the result of a call may be given again without making it: it changes nothing, and the server says that
    /// the same call has the same result, and is believed.
    #[must_use]
    pub const fn is_harmless_to_keep(&self) -> bool {
        self.believed.reads && self.believed.idempotent
    }

    /// Why it does not exist for any caller: the server is off, unknown or untrusted, or a list leaves it out.
    #[must_use]
    pub const fn hidden(&self) -> Option<&Decider> {
        self.gate.as_ref()
    }

    /// True when its definition is not the one that was pinned. What was not pinned may be as it likes.
    #[must_use]
    pub fn is_changed_since(&self, pinned: Option<DefinitionHash>) -> bool {
        let is_other = |definition: &RawJson| pinned.is_some_and(|pin| pin != DefinitionHash::of(definition.as_str()));
        self.subject.definition.as_ref().is_some_and(is_other)
    }

    /// What every call of it meets until its person has looked at what changed since it was pinned.
    #[must_use]
    pub fn refuse_changed(&self) -> Refusal {
        let Subject { name, kind, .. } = &self.subject;
        let request = Request {
            principal: Principal::LOCAL,
            name: name.clone(),
            kind: *kind,
            arguments: RawJson::empty_object(),
        };
        Refusal::new(request, Ground { decider: Decider::ChangedSincePinned, risk: self.risk })
    }

    /// What a call would meet whatever its arguments are; `None` when that depends on them.
    #[must_use]
    pub fn foresee<'a>(&self, party: impl Into<CalledBy<'a>>) -> Option<(Action, Ground)> {
        if self.keys.is_some() {
            return None;
        }
        let verdict = self.verdict(party.into(), "{}", &Whereabouts::default());
        Some((verdict.action, Ground { decider: verdict.decider, risk: self.risk }))
    }

    /// True when a rule is for some callers only: what one meets is not what all meet.
    #[must_use]
    pub const fn differs_by_caller(&self) -> bool {
        self.names_parties
    }

    /// True when a call is refused whatever its arguments are.
    #[must_use]
    pub fn denies<'a>(&self, party: impl Into<CalledBy<'a>>) -> bool {
        matches!(self.foresee(party), Some((Action::Deny, _)))
    }

    /// True when a call is refused whatever its arguments are and whoever makes it.
    #[must_use]
    pub fn denies_everybody(&self) -> bool {
        !self.names_parties && self.denies(Caller::Agent)
    }

    pub(crate) fn verdict(&self, party: CalledBy<'_>, arguments: &str, whereabouts: &Whereabouts) -> RuleVerdict {
        if let Some(gate) = &self.gate {
            return RuleVerdict { action: Action::Deny, decider: gate.clone(), rule: None };
        }
        let directories;
        let matches = match &self.keys {
            None => None,
            Some(keys) => {
                directories = self.directories(whereabouts);
                let around = MatchContext { directories: &directories, places: &whereabouts.places, joins: self.joins };
                Some(self.match_arguments(keys, arguments, around))
            }
        };
        let parties = self.names_parties.then(|| PartyMatches::of(&self.rules.party_globs, party));
        let nothing_matches = parties.is_none() && matches.as_ref().is_some_and(ArgumentMatches::is_empty);
        let holds = |candidate: &&Candidate| self.holds(**candidate, parties.as_ref(), matches.as_ref());
        let first = |chain: &[Candidate]| {
            // Only the last rule of a chain can be one without a condition: see `find_candidates`.
            let (last, conditional) = chain.split_last()?;
            let found = if nothing_matches { None } else { conditional.iter().find(holds) };
            found.or_else(|| Some(last).filter(holds)).map(|candidate| candidate.rule)
        };
        let settled = self.settle(party.caller, first);
        let narrowing = self.chains.narrowing.iter().filter(holds);
        narrowing.map(|candidate| self.by_rule(candidate.rule)).fold(settled, stricter)
    }

    /// What the rules say that count as they stand; `first` finds the one that decides in a chain.
    fn settle(&self, caller: Caller, first: impl Fn(&[Candidate]) -> Option<usize>) -> RuleVerdict {
        // A deny of the person's own layer is final.
        let own = first(&self.chains.user);
        if let Some(own) = own
            && self.rules.rules[own].action() == Action::Deny
        {
            return self.by_rule(own);
        }
        if let Some(above) = first(&self.chains.above) {
            return self.by_rule(above);
        }
        let settled = first(&self.chains.project).or(own).or_else(|| first(&self.chains.defaults));
        let settled = settled.map_or_else(|| self.by_standing(caller), |rule| self.by_rule(rule));
        first(&self.chains.untrusted).map(|rule| self.by_rule(rule)).into_iter().fold(settled, stricter)
    }

    /// Whether a rule that names this tool applies to a call by this party with these arguments.
    fn holds(
        &self,
        candidate: Candidate,
        parties: Option<&PartyMatches>,
        matches: Option<&ArgumentMatches<'_>>,
    ) -> bool {
        if candidate.who.is_some() && !parties.is_some_and(|parties| self.party_holds(candidate.rule, parties)) {
            return false;
        }
        let Some(glob) = candidate.glob else { return true };
        matches.is_some_and(|matches| matches.may_hold(glob) && self.condition_holds(candidate.rule, matches))
    }

    pub(crate) fn party_holds(&self, rule: usize, parties: &PartyMatches) -> bool {
        let rule = &self.rules.rules[rule];
        rule.who.is_none_or(|who| parties.hold(&self.rules.party_globs, who, rule.action()))
    }

    pub(crate) fn condition_holds(&self, rule: usize, matches: &ArgumentMatches<'_>) -> bool {
        let rule = &self.rules.rules[rule];
        let holds = |condition| matches.hold(&self.rules.argument_globs, condition, rule.action());
        rule.condition.as_ref().is_none_or(holds)
    }

    fn match_arguments<'call>(
        &self,
        keys: &RelevantKeys,
        arguments: &'call str,
        around: MatchContext<'call>,
    ) -> ArgumentMatches<'call> {
        ArgumentMatches::read(arguments, &self.rules.argument_globs, around, |key| match keys {
            RelevantKeys::All => true,
            RelevantKeys::These { keys, places } => {
                keys.iter().any(|relevant| relevant == key) || (*places && is_place(key))
            }
        })
    }

    /// The directories that the server's paths may be relative to.
    pub(crate) fn directories(&self, whereabouts: &Whereabouts) -> Cow<'_, Directories> {
        static NOWHERE: Directories = Directories::nowhere();
        let own = self.directories.as_deref().unwrap_or(&NOWHERE);
        if whereabouts.roots.is_empty() { Cow::Borrowed(own) } else { Cow::Owned(own.joined(&whereabouts.roots)) }
    }

    /// True when some rule looks at the arguments of a call.
    #[must_use]
    pub const fn looks_at_arguments(&self) -> bool {
        self.keys.is_some()
    }

    /// True when a decision may depend on the places that a call names: some rule looks at its arguments, or a person
    /// is asked who may have approved some of them.
    #[must_use]
    pub fn looks_at_places<'a>(&self, party: impl Into<CalledBy<'a>>) -> bool {
        self.foresee(party).is_none_or(|(action, _)| action == Action::Ask)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.rules
    }

    fn by_rule(&self, index: usize) -> RuleVerdict {
        let rule = &self.rules.rules[index];
        RuleVerdict { action: rule.action(), decider: Decider::Rule(Arc::clone(&rule.source)), rule: Some(index) }
    }

    pub(crate) fn by_standing(&self, caller: Caller) -> RuleVerdict {
        let (action, decider) = match &self.standing {
            Standing::Allow(decider) => (Action::Allow, decider.clone()),
            Standing::Ask(Decider::Default(origin) | Decider::AnnotatedWriting(origin)) if caller == Caller::Person => {
                (Action::Allow, Decider::Typed(origin.clone()))
            }
            Standing::Ask(decider) => (Action::Ask, decider.clone()),
            Standing::Deny(decider) => (Action::Deny, decider.clone()),
        };
        RuleVerdict { action, decider, rule: None }
    }

    /// Finds the rules that can matter: after one without a condition, the rest of its chain never does.
    fn find_candidates(&mut self) {
        let rules = Arc::clone(&self.rules);
        let Some(known) = rules.servers.get(&self.subject.name.server) else { return };
        let mut settled = false;
        let mut ended_stage = None;
        for index in rules.naming(known, &self.subject.name, self.subject.kind) {
            let rule = &rules.rules[index];
            let applies = rule.counts() && rule.is_for_kind(self.subject.kind) && rule.is_for_risk(self.risk);
            // The person's own layer is asked in any case, for a deny that is final.
            let needed = ended_stage != Some(rule.stage) && (!settled || rule.stage == Stage::User);
            if !applies || !(needed || rule.only_narrows) {
                continue;
            }
            let glob = rule.condition.as_ref().map(|condition| condition.glob);
            let candidate = Candidate { rule: index, glob, who: rule.who };
            if rule.only_narrows {
                self.chains.narrowing.push(candidate);
            } else {
                self.chains.of(rule.stage).push(candidate);
            }
            self.names_parties |= rule.who.is_some();
            match &rule.condition {
                Some(condition) => {
                    RelevantKeys::add(&mut self.keys, condition.key.as_deref(), rule.action());
                    self.joins |= condition.joins;
                }
                None if rule.who.is_some() => {}
                None => {
                    ended_stage = Some(rule.stage);
                    settled |= rule.stage != Stage::Untrusted;
                }
            }
        }
    }
}

impl Chains {
    const fn of(&mut self, stage: Stage) -> &mut Vec<Candidate> {
        match stage {
            Stage::CommandLine | Stage::Explicit => &mut self.above,
            Stage::Untrusted => &mut self.untrusted,
            Stage::Project => &mut self.project,
            Stage::User => &mut self.user,
            Stage::Defaults => &mut self.defaults,
        }
    }
}

impl RelevantKeys {
    fn add(keys: &mut Option<Self>, key: Option<&str>, action: Action) {
        let Some(key) = key else {
            *keys = Some(Self::All);
            return;
        };
        match keys.get_or_insert(Self::These { keys: Vec::new(), places: false }) {
            Self::All => {}
            Self::These { keys, places } => {
                *places |= key == PATH && action != Action::Allow;
                if !keys.iter().any(|relevant| relevant == key) {
                    keys.push(key.to_owned());
                }
            }
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Person => "a person",
            Self::Agent => "an agent",
            Self::Script => "a script",
            Self::PromptTag => "a prompt tag",
            Self::Poll => "a poll",
        })
    }
}

/// What a server's entry says about one of its tools, before any rule is asked.
fn place(server: &Server, subject: &Subject) -> (Option<Decider>, Standing, Risk, Believed) {
    let entry = &server.entry;
    let tool = subject.name.tool.as_str();
    let is_tool = subject.kind == CallKind::Tool;
    let listed = |list: Option<&Arc<Listed>>, name| list.map(|entry| Decider::Listed(name, Arc::clone(entry)));

    // The lists name tools; resources and prompts are none of their business.
    let on_tools = server.tools.as_ref().filter(|_| is_tool).and_then(|list| list.find(tool, Action::Allow));
    let on_write_tools = Some(&server.write_tools).filter(|_| is_tool).and_then(|list| list.find(tool, Action::Allow));
    let on_disabled = Some(&server.disabled_tools).filter(|_| is_tool).and_then(|list| list.find(tool, Action::Deny));
    let listing = match (on_write_tools, on_tools) {
        (Some(_), _) => Listing::Writing,
        (None, Some(_)) if server.is_readonly() => Listing::Reading,
        (None, Some(_)) => Listing::Writing,
        (None, None) => Listing::None,
    };
    let trusts_claims = entry.access.trust_annotations;
    let risk = assess(subject.kind, listing, subject.claims, trusts_claims);
    let claims_to_read = subject.claims.read_only == Some(true) && !subject.claims.writes();
    let is_listed_as_reading = listing == Listing::Reading && !subject.claims.writes();
    let believed = Believed {
        reads: !is_tool || (trusts_claims && claims_to_read) || is_listed_as_reading,
        idempotent: trusts_claims && subject.claims.idempotent == Some(true),
    };

    let gate = if let Some(origin) = &server.switched_off {
        Some(Decider::ServerDisabled(origin.clone()))
    } else if entry.trust == Trust::Untrusted {
        Some(Decider::ServerUntrusted(entry.origin.clone()))
    } else if let Some(disabled) = listed(on_disabled, ListName::DisabledTools) {
        Some(disabled)
    } else if is_tool && server.tools.is_some() && on_tools.is_none() && on_write_tools.is_none() {
        Some(Decider::NotListed(entry.origin.clone()))
    } else {
        None
    };

    let may_write = !server.is_readonly();
    let standing = if subject.kind == CallKind::Method {
        Standing::Deny(Decider::Unopened(entry.origin.clone()))
    } else if !is_tool {
        Standing::Allow(Decider::Reading(entry.origin.clone()))
    } else if let Some(decider) = listed(on_write_tools, ListName::WriteTools) {
        Standing::Allow(decider)
    } else if let Some(decider) = listed(on_tools, ListName::Tools)
        && (may_write || !subject.claims.writes())
    {
        Standing::Allow(decider)
    } else if trusts_claims && claims_to_read {
        Standing::Allow(Decider::TrustedAnnotation(entry.origin.clone()))
    } else if on_tools.is_some() {
        Standing::Ask(Decider::AnnotatedWriting(entry.origin.clone()))
    } else {
        Standing::Ask(Decider::Default(entry.origin.clone()))
    };
    (gate, standing, risk, believed)
}

/// The stricter of two. An `ask` rule is stricter than the default question, which a person may have answered by typing
/// the call.
fn stricter(settled: RuleVerdict, narrowed: RuleVerdict) -> RuleVerdict {
    let severity = |verdict: &RuleVerdict| match verdict.action {
        Action::Allow => 0,
        Action::Ask if verdict.rule.is_none() => 1,
        Action::Ask => 2,
        Action::Deny => 3,
    };
    if severity(&narrowed) > severity(&settled) { narrowed } else { settled }
}

#[cfg(test)]
#[path = "tool_policy_tests.rs"]
mod tests;
