//! What became of a request: a permit, a question to a person, or a refusal that says what to do.

use std::fmt;

use helve_model::json::RawJson;
use helve_model::text::one_line;
use helve_model::{CallKind, ErrorCode, Hint, Principal, PrincipalKind, QualifiedName};

use crate::approval::{Approval, ApprovalSpan};
use crate::ground::{Decider, Ground};
use crate::hints;
use crate::identity::ServerIdentity;
use crate::pin::DefinitionHash;
use crate::place::ArgumentPlace;
use crate::{Caller, Permit};

/// A call somebody wants to make.
#[derive(Debug, Clone)]
pub struct Request {
    /// On whose behalf.
    pub principal: Principal,
    /// What is to be called.
    pub name: QualifiedName,
    /// Which kind of call.
    pub kind: CallKind,
    /// With which arguments.
    pub arguments: RawJson,
}

/// What became of a request.
#[derive(Debug)]
pub enum Decision {
    /// It may run.
    Allow(Permit),
    /// A person has to say.
    Ask(Question),
    /// It may not run.
    Deny(Refusal),
}

/// A call that waits for a person's answer.
///
/// Dropping it, like [`Question::decline`], means no.
#[derive(Debug)]
pub struct Question {
    request: Request,
    ground: Ground,
    caller: Caller,
    definition: Option<RawJson>,
    server: Option<ServerIdentity>,
    places: Vec<ArgumentPlace>,
}

/// A call that may not run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    name: QualifiedName,
    kind: CallKind,
    ground: Ground,
    code: ErrorCode,
}

impl Decision {
    /// What the decision rests on.
    #[must_use]
    pub const fn ground(&self) -> &Ground {
        match self {
            Self::Allow(permit) => permit.ground(),
            Self::Ask(question) => question.ground(),
            Self::Deny(refusal) => refusal.ground(),
        }
    }
}

impl Question {
    pub(crate) const fn new(
        request: Request,
        ground: Ground,
        caller: Caller,
        definition: Option<RawJson>,
        server: Option<ServerIdentity>,
        places: Vec<ArgumentPlace>,
    ) -> Self {
        Self { request, ground, caller, definition, server, places }
    }

    /// The places that the tool found its arguments to name.
    #[must_use]
    pub fn places(&self) -> &[ArgumentPlace] {
        &self.places
    }

    /// On whose behalf.
    #[must_use]
    pub const fn principal(&self) -> &Principal {
        &self.request.principal
    }

    /// What is to be called.
    #[must_use]
    pub const fn name(&self) -> &QualifiedName {
        &self.request.name
    }

    /// Which kind of call.
    #[must_use]
    pub const fn kind(&self) -> CallKind {
        self.request.kind
    }

    /// With which arguments.
    #[must_use]
    pub const fn arguments(&self) -> &RawJson {
        &self.request.arguments
    }

    /// The caller.
    #[must_use]
    pub const fn caller(&self) -> Caller {
        self.caller
    }

    /// Why it is asked, and how much harm the call could do.
    #[must_use]
    pub const fn ground(&self) -> &Ground {
        &self.ground
    }

    /// The hash of the definition an approval would hold for; `None` for what has no definition.
    #[must_use]
    pub fn definition(&self) -> Option<DefinitionHash> {
        self.definition.as_ref().map(|definition| DefinitionHash::of(definition.as_str()))
    }

    /// The server an approval would hold for.
    #[must_use]
    pub const fn server(&self) -> Option<ServerIdentity> {
        self.server
    }

    /// A person said yes: the permit, and the approval to be kept unless it was for this once.
    ///
    /// `pattern`, as in a rule, limits what is kept to calls with such arguments. What is known of a caller only for as
    /// long as its connection lasts can be approved for this run at most: in another, its id is somebody else.
    #[must_use]
    pub fn approve(self, span: ApprovalSpan, pattern: Option<&str>) -> (Permit, Option<Approval>) {
        let is_passing = self.request.principal.kind() == PrincipalKind::Connection;
        let span = if is_passing { span.min(ApprovalSpan::Run) } else { span };
        let kept = (span != ApprovalSpan::Once).then(|| Approval {
            principal: self.request.principal.clone(),
            tool: self.request.name.clone(),
            kind: self.request.kind,
            pattern: pattern.map(ToOwned::to_owned),
            definition: self.definition(),
            server: self.server,
            span,
        });
        (self.permit(span), kept)
    }

    pub(crate) fn permit(self, span: ApprovalSpan) -> Permit {
        Permit::grant(self.request, Ground { decider: Decider::Approved(span), ..self.ground }, self.places)
    }

    /// What no rule and no list mentions is left to an agent that asks its person itself.
    ///
    /// # Errors
    /// The question, where a rule or a list wants it to be asked.
    #[expect(clippy::result_large_err, reason = "the question is not an error: it goes on to be asked")]
    pub fn leave_to_agent(self) -> Result<Permit, Self> {
        let Decider::Default(origin) = &self.ground.decider else { return Err(self) };
        let ground = Ground { decider: Decider::LeftToAgent(origin.clone()), risk: self.ground.risk };
        Ok(Permit::grant(self.request, ground, self.places))
    }

    /// A person said no.
    #[must_use]
    pub fn decline(self) -> Refusal {
        let ground = Ground { decider: Decider::Declined, ..self.ground };
        Refusal { name: self.request.name, kind: self.request.kind, ground, code: ErrorCode::Denied }
    }

    /// Nobody is there to ask.
    #[must_use]
    pub fn refuse_unanswered(self) -> Refusal {
        Refusal {
            name: self.request.name,
            kind: self.request.kind,
            ground: self.ground,
            code: ErrorCode::ApprovalRequired,
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = one_line(&self.request.name.to_string()).into_owned();
        let Ground { decider, risk } = &self.ground;
        write!(formatter, "{} wants to {} `{name}` ({risk} risk): {decider}", self.caller, verb(self.request.kind))
    }
}

impl Refusal {
    pub(crate) fn new(request: Request, ground: Ground) -> Self {
        let code = match ground.decider {
            Decider::ServerUnknown => ErrorCode::ServerNotFound,
            Decider::ServerDisabled(_) => ErrorCode::ServerDisabled,
            Decider::ServerUntrusted(_) => ErrorCode::Untrusted,
            Decider::Rule(_)
            | Decider::Listed(..)
            | Decider::NotListed(_)
            | Decider::TrustedAnnotation(_)
            | Decider::AnnotatedWriting(_)
            | Decider::Reading(_)
            | Decider::Default(_)
            | Decider::Unlisted(_)
            | Decider::LeftToAgent(_)
            | Decider::Unopened(_)
            | Decider::Typed(_)
            | Decider::ChangedSincePinned
            | Decider::Approved(_)
            | Decider::Declined
            | Decider::OutOfScope(_)
            | Decider::AllowAll => ErrorCode::Denied,
        };
        Self { name: request.name, kind: request.kind, ground, code }
    }

    pub(crate) const fn of(name: QualifiedName, kind: CallKind, ground: Ground) -> Self {
        Self { name, kind, ground, code: ErrorCode::Denied }
    }

    /// What was to be called.
    #[must_use]
    pub const fn name(&self) -> &QualifiedName {
        &self.name
    }

    /// Which kind of call.
    #[must_use]
    pub const fn kind(&self) -> CallKind {
        self.kind
    }

    /// The kind of refusal, to branch on.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    /// What the refusal rests on.
    #[must_use]
    pub const fn ground(&self) -> &Ground {
        &self.ground
    }

    /// What to do so that the call may run.
    #[must_use]
    pub fn hints(&self) -> Vec<Hint> {
        hints::for_refusal(self)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = one_line(&self.name.to_string()).into_owned();
        let decider = &self.ground.decider;
        match self.code {
            ErrorCode::ApprovalRequired => {
                write!(formatter, "`{name}` needs an approval and nobody is there to ask: {decider}")
            }
            _ => write!(formatter, "`{name}` may not {}: {decider}", passive(self.kind)),
        }
    }
}

impl std::error::Error for Refusal {}

const fn verb(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Tool => "call",
        CallKind::Resource => "read resource",
        CallKind::Prompt => "get prompt",
        CallKind::Method => "send",
    }
}

const fn passive(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Tool => "be called",
        CallKind::Resource => "be read",
        CallKind::Prompt => "be used",
        CallKind::Method => "be sent",
    }
}
