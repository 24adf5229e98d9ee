//! What makes a server another one, and what does not.

use std::path::Path;
use std::sync::Arc;

use helve_model::{ConfigText, Layer, Origin, ServerName, ServerSpec, StdioSpec, TransportSpec};

use super::ServerIdentity;

fn spec(layer: Layer, file: &str, command: &str, arguments: &[&str]) -> ServerSpec {
    let stdio = StdioSpec {
        command: command.into(),
        arguments: arguments.iter().map(|argument| (*argument).into()).collect(),
        environment: [("TOKEN".to_owned(), ConfigText::expanded("${TOKEN}", "one"))].into_iter().collect(),
        working_directory: None,
    };
    let origin = Origin::File { path: Arc::from(Path::new(file)), line: 1, column: 1 };
    ServerSpec::new(ServerName::new("a").unwrap(), TransportSpec::Stdio(stdio), origin, layer)
}

#[test]
fn s12_another_project_or_another_program_is_another_server() {
    let one = ServerIdentity::of(&spec(Layer::Project, "/one/helve.toml", "node", &["server.js"]));
    for other in [
        spec(Layer::Project, "/two/helve.toml", "node", &["server.js"]),
        spec(Layer::User, "/one/helve.toml", "node", &["server.js"]),
        spec(Layer::Project, "/one/helve.toml", "deno", &["server.js"]),
        spec(Layer::Project, "/one/helve.toml", "node", &["server.js", ""]),
        spec(Layer::Project, "/one/helve.toml", "node", &["evil.js"]),
    ] {
        assert_ne!(one, ServerIdentity::of(&other), "{other:?}");
    }
}

#[test]
fn s12_the_same_server_elsewhere_in_the_persons_files_is_the_same() {
    let own = |file| ServerIdentity::of(&spec(Layer::User, file, "node", &["server.js"]));
    assert_eq!(own("/home/me/.cursor/mcp.json"), own("/home/me/.config/helve/helve.toml"));
    let mut rotated = spec(Layer::User, "/home/me/x", "node", &["server.js"]);
    rotated.access.readonly = Some(true);
    rotated.call_timeout = Some(std::time::Duration::from_secs(1));
    if let TransportSpec::Stdio(stdio) = &mut rotated.transport {
        stdio.environment.clear();
    }
    assert_eq!(own("/home/me/x"), ServerIdentity::of(&rotated), "a variable that is passed on, rights and time-outs");
    let identity = own("/home/me/x");
    assert_eq!(ServerIdentity::parse(&identity.to_string()), Some(identity));
    assert_eq!(ServerIdentity::parse("12"), None);
}
