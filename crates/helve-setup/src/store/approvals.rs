//! `approvals.json`: the calls a person approved for good. Each holds for one definition of its tool, for one server (where
//! that comes from and what it runs), and for the calls of one principal.

use helve_model::{CallKind, Principal, QualifiedName, ServerName, ToolName};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Approval, ApprovalSpan, ServerIdentity};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Stored, first_version};

/// Every yes that counts for longer than one run.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApprovalFile {
    #[serde(default = "first_version")]
    version: u64,
    #[serde(default)]
    approvals: Vec<StoredApproval>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// One approval as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredApproval {
    server: String,
    tool: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
    /// Which server; without one it is nobody's any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    /// The id of the principal whose calls were approved; without one, the person who runs helve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl ApprovalFile {
    /// All of them as they are kept.
    pub fn stored(&self) -> &[StoredApproval] {
        &self.approvals
    }

    /// The approvals this version understands; the others do not count and stay in the file.
    pub fn approvals(&self) -> impl Iterator<Item = Approval> {
        self.approvals.iter().filter_map(StoredApproval::read)
    }

    /// Remembers an approval for good; others are not for keeping.
    pub fn add(&mut self, approval: &Approval) {
        if approval.span == ApprovalSpan::Always && !self.approvals().any(|known| known == *approval) {
            self.approvals.push(StoredApproval {
                server: approval.tool.server.to_string(),
                tool: approval.tool.tool.to_string(),
                kind: approval.kind.to_string(),
                pattern: approval.pattern.clone(),
                definition: approval.definition.map(|hash| hash.to_string()),
                identity: approval.server.map(|identity| identity.to_string()),
                principal: (approval.principal != Principal::LOCAL).then(|| approval.principal.id().to_owned()),
                unknown: Map::new(),
            });
        }
    }

    /// Takes back every approval that `is_meant` picks; gives what was taken back.
    pub fn revoke(&mut self, is_meant: impl Fn(&Approval) -> bool) -> Vec<Approval> {
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
        let server = match &self.identity {
            Some(identity) => Some(ServerIdentity::parse(identity)?),
            None => None,
        };
        let principal = match &self.principal {
            Some(id) => Principal::from_id(id)?,
            None => Principal::LOCAL,
        };
        Some(Approval {
            principal,
            tool: QualifiedName::new(ServerName::new(&self.server).ok()?, ToolName::new(&self.tool)),
            kind: kind(&self.kind)?,
            pattern: self.pattern.clone(),
            definition,
            server,
            span: ApprovalSpan::Always,
        })
    }
}

impl Stored for ApprovalFile {
    const FILE: &'static str = "approvals.json";
    const VERSION: u64 = 2;

    fn version(&mut self) -> &mut u64 {
        &mut self.version
    }

    /// They were given to a name, and nobody knows which server that was.
    fn end_old(&mut self) -> Vec<String> {
        self.approvals.drain(..).map(|approval| format!("{}/{}", approval.server, approval.tool)).collect()
    }
}

impl Default for ApprovalFile {
    fn default() -> Self {
        Self { version: Self::VERSION, approvals: Vec::new(), unknown: Map::new() }
    }
}

fn kind(word: &str) -> Option<CallKind> {
    [CallKind::Tool, CallKind::Resource, CallKind::Prompt, CallKind::Method]
        .into_iter()
        .find(|kind| kind.to_string() == word)
}
