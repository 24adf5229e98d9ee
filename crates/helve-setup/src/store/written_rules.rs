//! `written-rules.json`: the rules that `helve allow`, `ask` and `deny` wrote, the newest last, so that they can be taken
//! back.

use std::path::{Path, PathBuf};

use helve_config::edit::NewRule;
use helve_model::{Action, CallKind, Who};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Stored, first_version};

/// So many can be taken back.
const MAX_REMEMBERED: usize = 100;

/// Rules that were written on the person's behalf and can be taken back, the newest last.
#[derive(Debug, Serialize, Deserialize)]
pub struct WrittenRules {
    #[serde(default = "first_version")]
    version: u64,
    #[serde(default)]
    rules: Vec<WrittenRule>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// One rule as it was written.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct WrittenRule {
    file: PathBuf,
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    who: Vec<String>,
    action: String,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl WrittenRules {
    /// Remembers a rule; the oldest is forgotten where there are too many.
    pub fn add(&mut self, file: &Path, rule: &NewRule) {
        self.rules.push(WrittenRule {
            file: file.to_owned(),
            tool: rule.tool.clone(),
            pattern: rule.pattern.clone(),
            kind: rule.kind.map(|kind| kind.to_string()),
            who: rule.who.iter().map(ToString::to_string).collect(),
            action: rule.action.to_string(),
            unknown: Map::new(),
        });
        let surplus = self.rules.len().saturating_sub(MAX_REMEMBERED);
        self.rules.drain(..surplus);
    }

    /// The newest that this version understands.
    pub fn last(&self) -> Option<(PathBuf, NewRule)> {
        self.rules.iter().rev().find_map(WrittenRule::read)
    }

    /// Forgets the newest of this file that says the same.
    pub fn forget(&mut self, file: &Path, rule: &NewRule) {
        let is_it = |written: &WrittenRule| written.read().is_some_and(|(known, said)| known == file && said == *rule);
        if let Some(position) = self.rules.iter().rposition(is_it) {
            self.rules.remove(position);
        }
    }
}

impl WrittenRule {
    fn read(&self) -> Option<(PathBuf, NewRule)> {
        let kinds = [CallKind::Tool, CallKind::Resource, CallKind::Prompt, CallKind::Method];
        let kind = match &self.kind {
            Some(word) => Some(kinds.into_iter().find(|kind| kind.to_string() == *word)?),
            None => None,
        };
        let actions = [Action::Allow, Action::Ask, Action::Deny];
        let action = actions.into_iter().find(|action| action.to_string() == self.action)?;
        let who = self.who.iter().map(|word| Who::parse(word)).collect::<Option<Vec<_>>>()?;
        let rule = NewRule { tool: self.tool.clone(), pattern: self.pattern.clone(), kind, who, action };
        Some((self.file.clone(), rule))
    }
}

impl Stored for WrittenRules {
    const FILE: &'static str = "written-rules.json";
    const VERSION: u64 = 1;

    fn version(&mut self) -> &mut u64 {
        &mut self.version
    }
}

impl Default for WrittenRules {
    fn default() -> Self {
        Self { version: Self::VERSION, rules: Vec::new(), unknown: Map::new() }
    }
}
