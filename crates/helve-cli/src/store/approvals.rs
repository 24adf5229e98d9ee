//! `approvals.json`: the calls a person approved for good. Each holds for one definition of its tool.

use helve_model::{CallKind, QualifiedName, ServerName, ToolName};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Approval, Span};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Stored, version};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ApprovalFile {
    #[serde(default = "version")]
    version: u64,
    #[serde(default)]
    approvals: Vec<StoredApproval>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// One approval as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredApproval {
    server: String,
    tool: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl ApprovalFile {
    /// All of them as they are kept.
    pub(crate) fn stored(&self) -> &[StoredApproval] {
        &self.approvals
    }

    /// The approvals this version understands; the others do not count and stay in the file.
    pub(crate) fn approvals(&self) -> impl Iterator<Item = Approval> {
        self.approvals.iter().filter_map(StoredApproval::read)
    }

    /// Remembers an approval for good; others are not for keeping.
    pub(crate) fn add(&mut self, approval: &Approval) {
        if approval.span == Span::Always && !self.approvals().any(|known| known == *approval) {
            self.approvals.push(StoredApproval {
                server: approval.tool.server.to_string(),
                tool: approval.tool.tool.to_string(),
                kind: approval.kind.to_string(),
                pattern: approval.pattern.clone(),
                definition: approval.definition.map(|hash| hash.to_string()),
                unknown: Map::new(),
            });
        }
    }

    /// Takes back every approval that `is_meant` picks; gives what was taken back.
    pub(crate) fn revoke(&mut self, is_meant: impl Fn(&Approval) -> bool) -> Vec<Approval> {
        let taken = self.approvals.extract_if(.., |stored| stored.read().is_some_and(|approval| is_meant(&approval)));
        taken.filter_map(|stored| stored.read()).collect()
    }
}

impl StoredApproval {
    fn read(&self) -> Option<Approval> {
        let definition = match &self.definition {
            Some(hash) => Some(DefinitionHash::parse(hash)?),
            None => None,
        };
        Some(Approval {
            tool: QualifiedName::new(ServerName::new(&self.server).ok()?, ToolName::new(&self.tool)),
            kind: kind(&self.kind)?,
            pattern: self.pattern.clone(),
            definition,
            span: Span::Always,
        })
    }
}

impl Stored for ApprovalFile {
    const FILE: &'static str = "approvals.json";
}

impl Default for ApprovalFile {
    fn default() -> Self {
        Self { version: version(), approvals: Vec::new(), unknown: Map::new() }
    }
}

fn kind(word: &str) -> Option<CallKind> {
    [CallKind::Tool, CallKind::Resource, CallKind::Prompt].into_iter().find(|kind| kind.to_string() == word)
}
