//! Rules put into helve's own file and taken out again: everything else stays as it is, to the byte.

use helve_config::Dialect;
use helve_config::edit::{NewRule, RuleChange, edit_rules_text, find_rule};
use helve_model::{Action, CallKind, Layer, Who};

use crate::support::place;

const PATH: &str = "/home/me/.config/helve/helve.toml";

fn new(tool: &str, action: Action) -> NewRule {
    NewRule { tool: tool.to_owned(), pattern: None, kind: None, who: Vec::new(), action }
}

fn edit(text: &str, change: &RuleChange) -> String {
    let place = place(Dialect::Helve, PATH, Layer::User);
    edit_rules_text(&place, text, change).unwrap_or_else(|error| format!("refused: {error}"))
}

fn insert(text: &str, rule: NewRule, position: usize) -> String {
    edit(text, &RuleChange::Insert { rule, position })
}

const FILE: &str = "\
# my file
[servers.a]
command = \"a\" # why

# first: never
[[rules]]
tool = \"a/delete\" # really
action = \"deny\"

# then
# the rest
[[rules]]
tool = \"a/*\"
action = \"ask\"

[settings]
watch = false
";

#[test]
fn a_rule_goes_before_another_one_and_its_comments() {
    insta::assert_snapshot!(insert(FILE, new("a/b", Action::Allow), 1), @r#"
    # my file
    [servers.a]
    command = "a" # why

    # first: never
    [[rules]]
    tool = "a/delete" # really
    action = "deny"

    [[rules]]
    tool = "a/b"
    action = "allow"

    # then
    # the rest
    [[rules]]
    tool = "a/*"
    action = "ask"

    [settings]
    watch = false
    "#);
    insta::assert_snapshot!(insert(FILE, new("a/b", Action::Allow), 2), @r#"
    # my file
    [servers.a]
    command = "a" # why

    # first: never
    [[rules]]
    tool = "a/delete" # really
    action = "deny"

    # then
    # the rest
    [[rules]]
    tool = "a/*"
    action = "ask"

    [settings]
    watch = false

    [[rules]]
    tool = "a/b"
    action = "allow"
    "#);
}

#[test]
fn the_first_rule_of_a_file() {
    insta::assert_snapshot!(insert("", new("a/b", Action::Allow), 0), @r#"
    [[rules]]
    tool = "a/b"
    action = "allow"
    "#);
    let rule = NewRule {
        pattern: Some("uri=\"x\\y\"/**".to_owned()),
        kind: Some(CallKind::Resource),
        ..new("a/get\\[x\\]", Action::Deny)
    };
    insta::assert_snapshot!(insert("# nothing yet\n", rule, 0), @r#"
    # nothing yet

    [[rules]]
    tool = 'a/get\[x\]'
    pattern = 'uri="x\y"/**'
    kind = "resource"
    action = "deny"
    "#);
}

#[test]
fn a_rule_for_some_says_for_whom() {
    let place = place(Dialect::Helve, PATH, Layer::User);
    let token = || Who::Token("ci-1".to_owned());
    let rule = NewRule { who: vec![token()], ..new("a/b", Action::Allow) };
    insta::assert_snapshot!(insert("", rule.clone(), 0), @r#"
    [[rules]]
    tool = "a/b"
    who = "token:ci-1"
    action = "allow"
    "#);
    let several = NewRule { who: vec![token(), Who::Local], ..new("a/b", Action::Allow) };
    let text = insert(&insert("", rule.clone(), 0), several.clone(), 1);
    insta::assert_snapshot!(text, @r#"
    [[rules]]
    tool = "a/b"
    who = "token:ci-1"
    action = "allow"

    [[rules]]
    tool = "a/b"
    who = ["token:ci-1", "local"]
    action = "allow"
    "#);
    assert_eq!(find_rule(&place, &text, &rule), Some(0));
    assert_eq!(find_rule(&place, &text, &several), Some(1));
    assert_eq!(find_rule(&place, &text, &new("a/b", Action::Allow)), None, "one for everybody is another rule");
}

#[test]
fn rules_in_one_array_stay_in_it() {
    let one_line = "rules = [{ tool = \"a/b\", action = \"deny\" }]\n";
    insta::assert_snapshot!(insert(one_line, new("x/y", Action::Allow), 0), @r#"rules = [{ tool = "x/y", action = "allow" }, { tool = "a/b", action = "deny" }]"#);
    insta::assert_snapshot!(insert(one_line, new("x/y", Action::Allow), 1), @r#"rules = [{ tool = "a/b", action = "deny" }, { tool = "x/y", action = "allow" }]"#);
    let lines = "rules = [\n  # never\n  { tool = \"a/b\", action = \"deny\" },\n]\n\n[settings]\nwatch = true\n";
    insta::assert_snapshot!(insert(lines, new("x/y", Action::Allow), 0), @r#"
    rules = [
      { tool = "x/y", action = "allow" },
      # never
      { tool = "a/b", action = "deny" },
    ]

    [settings]
    watch = true
    "#);
    insta::assert_snapshot!(edit(lines, &RuleChange::Remove { position: 0 }), @"
    rules = [
    ]

    [settings]
    watch = true
    ");
}

#[test]
fn what_was_put_in_is_taken_out_without_a_trace() {
    let place = place(Dialect::Helve, PATH, Layer::User);
    for text in [FILE, "", "# a\n", &FILE.replace('\n', "\r\n"), "[[rules]]\ntool = \"a/b\"\naction = \"deny\"\n"] {
        let count = text.matches("[[rules]]").count();
        for position in 0..=count {
            let rule = NewRule { pattern: Some("k=v*".to_owned()), ..new("new/one", Action::Ask) };
            let added =
                edit_rules_text(&place, text, &RuleChange::Insert { rule: rule.clone(), position }).expect("put in");
            assert_eq!(find_rule(&place, &added, &rule), Some(position), "{added}");
            let removed = edit_rules_text(&place, &added, &RuleChange::Remove { position }).expect("taken out");
            assert_eq!(removed.trim_end(), text.trim_end(), "from {added:?}");
        }
    }
}

#[test]
fn what_cannot_be_told_apart_is_left_alone() {
    let allow = || new("a/b", Action::Allow);
    insta::assert_snapshot!(insert("[[rules]]\naction = \"deny\"\n", allow(), 0), @"refused: the rules of this file have mistakes: repair them first");
    insta::assert_snapshot!(insert("[[rules]\n", allow(), 0), @"refused: the file has to be repaired first: /home/me/.config/helve/helve.toml:1:9: error: this is not TOML: unclosed array table, expected `]`");
    insta::assert_snapshot!(insert(FILE, new("a/b\naction = \"allow\"", Action::Deny), 0), @"refused: a rule has to be on one line");
    insta::assert_snapshot!(insert(FILE, allow(), 9), @"refused: its rules, from line 6, cannot be changed without touching something else; edit them by hand");
    let place = place(Dialect::McpJson, "/p/.mcp.json", Layer::Project);
    let change = RuleChange::Insert { rule: allow(), position: 0 };
    insta::assert_snapshot!(edit_rules_text(&place, "{}", &change).expect_err("refused"), @"rules are kept in helve's own file, not in one of Claude Code");
}
