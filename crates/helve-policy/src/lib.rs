//! Decides whether a call may run, and hands out the [`Permit`] without which the wire sends none.
//!
//! [`RuleSet::compile`] takes rules and server entries; [`RuleSet::for_tool`] matches them with one tool, once;
//! [`ToolPolicy::decide`] decides a call. [`RuleSet`] has the order of precedence.
//!
//! ```
//! use helve_model::json::RawJson;
//! use helve_model::{AccessSpec, Action, CallKind, Layer, Origin, QualifiedName, Rule, ServerName, ToolName};
//! use helve_policy::{Caller, Decision, Directories, RuleSet, ServerAccess, SourcedRule, Subject, Trust};
//!
//! let github = ServerName::new("github").unwrap();
//! let server = ServerAccess {
//!     name: github.clone(),
//!     enabled: true,
//!     access: AccessSpec::default(),
//!     origin: Origin::Program,
//!     layer: Layer::User,
//!     trust: Trust::Trusted,
//!     identity: None,
//!     directories: Directories::default(),
//! };
//! let rule = Rule::new("mcp__github__get_*", Action::Allow, Origin::Program, Layer::User);
//! let (rules, problems) = RuleSet::compile([SourcedRule { rule, trust: Trust::Trusted }], [server]);
//! assert!(problems.is_empty());
//!
//! let name = QualifiedName::new(github, ToolName::new("get_issue"));
//! let policy = rules.for_tool(Subject::unknown(name, CallKind::Tool));
//! let Decision::Allow(permit) = policy.decide(Caller::Agent, RawJson::empty_object()) else { panic!("refused") };
//! assert_eq!(permit.name().to_string(), "github/get_issue");
//! ```
//!
//! Pure: no input or output, no async, no clock.

#![warn(missing_docs)]

mod access;
mod approval;
mod arguments;
mod clearance;
mod decision;
mod explain;
mod glob;
mod glob_spellings;
mod ground;
mod hints;
mod identity;
mod party;
mod pattern;
mod permit;
pub mod pin;
mod place;
mod place_spellings;
mod placement;
mod problem;
mod risk;
mod rules;
mod scope;
#[cfg(test)]
mod test_support;
mod tool_policy;

pub use access::{ServerAccess, Trust};
pub use approval::{Answer, Approval, ApprovalSpan, Approvals};
pub use clearance::{Barred, Clearance, MessageForm, Relay};
pub use decision::{Decision, Question, Refusal, Request};
pub use explain::{Explanation, Finding, Settled, Step};
pub use glob::{argument_text, rule_text};
pub use ground::{Decider, Ground, ListName};
pub use identity::ServerIdentity;
pub use party::CalledBy;
pub use permit::Permit;
pub use place::{ArgumentPlace, Directories, Whereabouts};
pub use placement::{Placement, place_rule};
pub use problem::Problem;
pub use risk::Claims;
pub use rules::{RuleSet, SourcedRule};
pub use scope::{Narrowing, Scope, ScopeExclusion, UnreadableNarrowing};
pub use tool_policy::{Caller, Subject, ToolPolicy};
