//! Tokens that count, and all that do not.

use helve_model::{CallKind, QualifiedName, Risk, ServerName, ToolName};

use super::*;

const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);

fn request(name: &str) -> TokenRequest {
    TokenRequest {
        name: name.to_owned(),
        kind: TokenKind::Agent,
        approver: false,
        read_only: false,
        servers: Vec::new(),
        tools: Vec::new(),
        life: None,
    }
}

#[test]
fn a_token_counts_until_it_ends_or_is_revoked() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), |_| {}).unwrap();
    let tokens = Tokens::default();
    let made = tokens.make(&store, request("ci"), NOW).unwrap();
    assert!(made.token.starts_with("hv_"));
    assert_eq!(tokens.holder(&made.token, NOW).unwrap().name, "ci");
    assert!(tokens.holder(&made.token, NOW.after(USUAL_LIFE)).is_none());
    let mut other = made.token.clone();
    let last = other.pop().unwrap();
    other.push(if last == '0' { '1' } else { '0' });
    for wrong in [other.as_str(), "", "hv_", "hv__", "ci", made.token.trim_start_matches("hv_")] {
        assert!(tokens.holder(wrong, NOW).is_none(), "{wrong}");
    }
    let again = Tokens::default();
    again.load(&store).unwrap();
    assert!(again.holder(&made.token, NOW).is_some(), "another run knows it");
    tokens.revoke(&store, "ci", NOW).unwrap();
    assert!(tokens.holder(&made.token, NOW).is_none());
    assert!(tokens.make(&store, request("ci"), NOW).is_err(), "a name is never used twice");
    let secret = made.token.rsplit('_').next().unwrap();
    let bytes = fs_err::read(directory.path().join("hub.db")).unwrap();
    assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "the secret is not in the file");
}

#[test]
fn a_scope_narrows_to_servers_tools_and_reading() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), |_| {}).unwrap();
    let tokens = Tokens::default();
    let asked = TokenRequest {
        servers: vec!["git*".to_owned()],
        tools: vec!["*/read".to_owned(), "github/list".to_owned()],
        read_only: true,
        ..request("ci")
    };
    tokens.make(&store, asked, NOW).unwrap();
    let scope = tokens.scope(&Principal::token("ci"));
    let may = |server: &str, tool: &str, risk| {
        let name = QualifiedName::new(ServerName::new(server).unwrap(), ToolName::new(tool));
        scope.refuse(&name, CallKind::Tool, risk).is_none()
    };
    assert!(may("github", "read", Risk::Low) && may("github", "list", Risk::Low));
    assert!(!may("github", "read", Risk::High), "nothing says that it only reads");
    assert!(!may("github", "write", Risk::Low) && !may("files", "read", Risk::Low));
    let nobody = tokens.scope(&Principal::token("nobody"));
    let name = QualifiedName::new(ServerName::new("github").unwrap(), ToolName::new("read"));
    assert!(!nobody.includes(&name), "a token nobody knows has nothing");
}
