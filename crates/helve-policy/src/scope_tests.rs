//! A scope names tools as rules do, and never gives more than it was made from.

use helve_model::{CallKind, QualifiedName, Risk, ServerName, ToolName};

use super::{Narrowing, Scope};

fn name(server: &str, tool: &str) -> QualifiedName {
    QualifiedName::new(ServerName::from(server), ToolName::new(tool))
}

fn scope(narrowing: &Narrowing) -> Scope {
    Scope::everything(Some(ServerName::from("native"))).narrow(narrowing).unwrap()
}

#[test]
fn every_spelling_of_a_rule_names_the_tools_of_a_scope() {
    let create = name("github", "create_issue");
    for glob in [
        "github/create_issue",
        "github:create_*",
        "mcp__github__create_issue",
        "mcp__github__*",
        "device.GithubMCP.create_issue",
        "*",
        "**",
        "git*/*",
    ] {
        assert!(scope(&Narrowing::only([glob])).includes(&create), "{glob}");
        assert!(!scope(&Narrowing::without([glob])).includes(&create), "{glob}");
    }
    for glob in ["gitlab/*", "create_issue", "*/delete_*"] {
        assert!(!scope(&Narrowing::only([glob])).includes(&create), "{glob}");
        assert!(scope(&Narrowing::without([glob])).includes(&create), "{glob}");
    }
}

#[test]
fn a_bare_name_is_one_of_the_programs_own() {
    let only = scope(&Narrowing::only(["greet", "add*"]));
    assert!(only.includes(&name("native", "greet")) && only.includes(&name("native", "add_two")));
    assert!(!only.includes(&name("other", "greet")) && !only.includes(&name("native", "leave")));
    // Where nothing is the program's own, it names nothing.
    let nobodys = Scope::everything(None).narrow(&Narrowing::only(["greet"])).unwrap();
    assert!(!nobodys.includes(&name("native", "greet")));
}

#[test]
fn two_scopes_have_in_common_what_both_have() {
    let (files, readers) = (scope(&Narrowing::only(["files/*"])), scope(&Narrowing::only(["*/read"])));
    for both in [files.intersect(&readers), readers.intersect(&files)] {
        assert!(both.includes(&name("files", "read")));
        assert!(!both.includes(&name("files", "write")) && !both.includes(&name("mail", "read")));
    }
    assert!(Scope::default().intersect(&Scope::default()).is_everything());
}

#[test]
fn a_refusal_rests_on_the_scope_and_says_so() {
    let scope = scope(&Narrowing::only(["files/*"]).and_without(["*/write"]));
    let said = |server, tool| {
        scope.refuse(&name(server, tool), CallKind::Tool, Risk::Low).map_or_else(String::new, |no| no.to_string())
    };
    insta::assert_snapshot!(
        [said("mail", "send"), said("files", "write"), said("files", "read")].join("\n"),
        @r"
    `mail/send` may not be called: it is not among the tools of this agent
    `files/write` may not be called: `*/write` takes it from the tools of this agent
    "
    );
}

#[test]
fn what_cannot_be_read_makes_no_scope() {
    let unreadable = |glob: &str| Scope::default().narrow(&Narrowing::without([glob])).unwrap_err().to_string();
    insta::assert_snapshot!(
        [unreadable("files/[a-"), unreadable("{files/,mail/}x"), unreadable("/read")].join("\n"),
        @"
    the glob `files/[a-` of a scope cannot be read: unclosed character class; missing ']'
    the glob `{files/,mail/}x` of a scope cannot be read: it does not say where the server's name ends
    the glob `/read` of a scope cannot be read: it does not say where the server's name ends
    "
    );
}
