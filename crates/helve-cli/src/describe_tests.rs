//! Command lines and addresses without the secrets that are spelt out in them.

use helve_model::{ConfigText, StdioSpec};
use indexmap::IndexMap;

use super::{Secrets, address, command_line};

fn shown(arguments: &[ConfigText], secrets: Secrets) -> String {
    let stdio = StdioSpec {
        command: ConfigText::literal("my server"),
        arguments: arguments.to_vec(),
        environment: IndexMap::new(),
        working_directory: None,
    };
    command_line(&stdio, secrets)
}

#[test]
fn command_lines() {
    let arguments = [
        "--api-key".into(),
        "hunter2".into(),
        "--token=hunter2".into(),
        "--name=it's".into(),
        "--password".into(),
        ConfigText::expanded("${PASSWORD}", "hunter2"),
        "plain".into(),
    ];
    insta::assert_snapshot!(shown(&arguments, Secrets::Hidden), @r#"'my server' --api-key '(hidden)' '--token=(hidden)' '--name=it'\''s' --password '${PASSWORD}' plain"#);
    insta::assert_snapshot!(shown(&arguments, Secrets::AsWritten), @r#"'my server' --api-key hunter2 '--token=hunter2' '--name=it'\''s' --password '${PASSWORD}' plain"#);
}

#[test]
fn addresses() {
    let shown = |url: &str| address(&ConfigText::literal(url), Secrets::Hidden);
    insta::assert_snapshot!(shown("https://example.com/mcp?team=core&api_key=hunter2&token=${TOKEN}"), @"https://example.com/mcp?team=core&api_key=(hidden)&token=${TOKEN}");
    insta::assert_snapshot!(shown("https://me:hunter2@example.com/mcp"), @"https://(hidden)@example.com/mcp");
    insta::assert_snapshot!(shown("https://example.com/@me"), @"https://example.com/@me");
    insta::assert_snapshot!(address(&"https://me:hunter2@example.com/?key=x".into(), Secrets::AsWritten), @"https://me:hunter2@example.com/?key=x");
}
