//! What is found out about a tool at its first use: what its definition says, what may be done with it, how its arguments and
//! results are checked. The same for all hosts that have the same definition under the same rules: [`crate::common_parts`].

use helve_model::json::RawJson;
use helve_model::{Definition as _, ServerName, ToolDefinition, ToolView};
use helve_policy::pin::DefinitionHash;
use helve_policy::{RuleSet, Subject, ToolPolicy};
use helve_schema::LazyValidator;

/// The schema of a tool that has none: any object.
pub(crate) const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// What is known of a tool that was used.
pub(crate) struct ToolFacts {
    pub(crate) view: ToolView,
    pub(crate) policy: ToolPolicy,
    pub(crate) validator: LazyValidator<RawJson>,
    /// Checks structured results, where the tool promised a form.
    pub(crate) output_validator: Option<LazyValidator<RawJson>>,
    /// The definition is not the one the person accepted.
    pub(crate) unpinned: bool,
    /// It can only be called as a task.
    pub(crate) requires_task: bool,
    /// The definition the person accepted.
    pinned: Option<DefinitionHash>,
}

impl ToolFacts {
    pub(crate) fn new(
        server: &ServerName,
        definition: &ToolDefinition,
        rules: &RuleSet,
        pinned: Option<DefinitionHash>,
    ) -> Self {
        let view = definition.view();
        let schema = view.input_schema.clone().unwrap_or_else(|| RawJson::assembled(ANY_OBJECT.to_owned()));
        let policy = rules.for_tool(Subject::tool(server, definition));
        let unpinned = policy.is_changed_since(pinned);
        let output_validator = view.output_schema.clone().map(LazyValidator::new);
        let execution = definition.raw().member("execution");
        let support = execution.and_then(|execution| execution.member_str("taskSupport"));
        let requires_task = support.as_deref() == Some("required");
        let validator = LazyValidator::new(schema);
        Self { view, policy, validator, output_validator, unpinned, requires_task, pinned }
    }

    /// True when the same would be found out about this definition. The tool's name is part of it; its server's is not.
    pub(crate) fn is_of(&self, definition: &ToolDefinition, rules: &RuleSet, pinned: Option<DefinitionHash>) -> bool {
        self.pinned == pinned
            && self.policy.is_of(rules)
            && self.policy.subject().definition.as_ref() == Some(definition.raw())
    }
}
