//! Every kind of failure has its exit status, and scripts rely on it.

use helve::CallError;
use helve_model::{ErrorCode, QualifiedName, ServerName, ToolName};

use super::{Code, Failure, exit_status};
use helve_setup::Environment;

use crate::hint_words::HintWords;

fn words() -> HintWords {
    HintWords::new(&Environment::new("/"))
}

#[test]
fn exit_statuses() {
    let mut table: Vec<String> = [Code::Usage, Code::Other, Code::NobodyReads]
        .into_iter()
        .chain(ErrorCode::ALL.into_iter().map(Code::Error))
        .map(|code| format!("{:>3} {code:?}", exit_status(code)))
        .collect();
    table.sort();
    insta::assert_snapshot!(table.join("\n"), @"
      0 NobodyReads
      1 Error(LimitExceeded)
      1 Other
      2 Error(Config)
      2 Error(InvalidParams)
      2 Usage
      3 Error(ProtocolError)
      3 Error(ServerDisabled)
      3 Error(ServerUnavailable)
      3 Error(TransportError)
      4 Error(Timeout)
      5 Error(PromptNotFound)
      5 Error(ResourceNotFound)
      5 Error(ServerNotFound)
      5 Error(ToolError)
      5 Error(ToolNotFound)
      6 Error(AuthRequired)
      7 Error(ApprovalRequired)
      7 Error(Denied)
      7 Error(Untrusted)
    130 Error(Cancelled)
    ");
}

#[test]
fn an_error_of_the_host_keeps_all_it_says() {
    let name = QualifiedName::new(ServerName::new("github").expect("a name"), ToolName::new("create_issue"));
    let error = CallError::new(ErrorCode::Timeout, "no answer within 30s")
        .at(&name)
        .with_hint("raise timeout_seconds")
        .with_source(std::io::Error::other("the server is busy"));
    let failure = Failure::from(error);
    assert_eq!(failure.exit_status(), 4);
    insta::assert_snapshot!(serde_json::to_string(&failure.to_json(&words())).expect("JSON"), @r#"{"error":"no answer within 30s: the server is busy","code":"TIMEOUT","server":"github","tool":"create_issue","hints":["raise timeout_seconds"]}"#);
}

#[test]
fn as_json() {
    let failure = Failure::new(ErrorCode::ServerNotFound, "there is no server `x`")
        .at_server("x")
        .cause(&std::io::Error::other("why"))
        .hint("look at `helve`");
    insta::assert_snapshot!(serde_json::to_string(&failure.to_json(&words())).expect("JSON"), @r#"{"error":"there is no server `x`: why","code":"SERVER_NOT_FOUND","server":"x","hints":["look at `helve`"]}"#);
}
