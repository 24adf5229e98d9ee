//! How tools are named for agents, and that no two share a name.

use std::collections::HashSet;

use helve_model::{ServerName, ToolName};
use proptest::prelude::*;

use super::*;

fn identities(pairs: &[(&str, &str)]) -> Vec<QualifiedName> {
    let name =
        |(server, tool): &(&str, &str)| QualifiedName::new(ServerName::new(server).unwrap(), ToolName::new(tool));
    let mut names: Vec<_> = pairs.iter().map(name).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn each_way_of_naming() {
    let names = identities(&[("git hub", "search"), ("files", "read.all"), ("files", "search"), ("time", "now")]);
    let shown = |naming: Naming| naming.names(&names).join("\n");
    insta::assert_snapshot!(shown(Naming::Mcp), @"
    mcp__files__read_all
    mcp__files__search
    mcp__git_hub__search
    mcp__time__now
    ");
    insta::assert_snapshot!(shown(Naming::Server), @"
    files__read_all
    files__search
    git_hub__search
    time__now
    ");
    insta::assert_snapshot!(shown(Naming::Own("acme".to_owned())), @"
    acme__files__read_all
    acme__files__search
    acme__git_hub__search
    acme__time__now
    ");
    insta::assert_snapshot!(shown(Naming::None), @"
    read.all
    files__search
    git_hub__search
    now
    ");
}

/// G13: with what agents put in front, a name still fits what model providers take.
#[test]
fn g13_names_leave_room_for_an_agents_own_prefix() {
    let long = "a_tool_with_a_name_that_says_everything_about_it_at_once";
    let names =
        identities(&[("own", "search"), ("github-enterprise", long), ("github-enterprise", long.get(..31).unwrap())]);
    insta::assert_snapshot!(Naming::default().names(&names).join("\n"), @"
    github-enterprise__a_tool_with_a_name_that_says_ev
    github-enterprise__a_tool_with_a_name_t_hohwtd36xj
    own__search
    ");
    for naming in [Naming::Server, Naming::Own("a".repeat(24))] {
        assert!(naming.names(&names).iter().all(|name| "mcp__helve__".len() + name.len() <= MAX_PROVIDER_NAME));
    }
}

#[test]
fn words() {
    assert_eq!(Naming::from_word("none"), Ok(Naming::None));
    assert_eq!(Naming::from_word("acme"), Ok(Naming::Own("acme".to_owned())));
    insta::assert_snapshot!(Naming::from_word("a b").unwrap_err(), @"a prefix has letters, digits, `_` and `-` only");
    insta::assert_snapshot!(Naming::from_word(&"a".repeat(25)).unwrap_err(), @"a prefix has at most 24 characters");
}

proptest! {
    #[test]
    fn no_two_tools_share_a_name(
        pairs in prop::collection::vec(("[ab_]{1,3}", "[ab_.]{0,5}(__[ab]{1,2})?"), 1..20),
        naming in prop::sample::select(vec![Naming::Mcp, Naming::Server, Naming::Own("x".to_owned()), Naming::None]),
    ) {
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
        let identities = identities(&pairs);
        let names = naming.names(&identities);
        prop_assert_eq!(names.len(), identities.len());
        prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        let limit = match naming {
            Naming::Mcp => MAX_PROVIDER_NAME,
            Naming::Server | Naming::Own(_) => MAX_SERVED_NAME,
            Naming::None => usize::MAX,
        };
        prop_assert!(names.iter().all(|name| name.len() <= limit));
        let one_server = identities.iter().all(|name| Some(&name.server) == identities.first().map(|name| &name.server));
        if naming == Naming::None && one_server {
            prop_assert!(names.iter().zip(&identities).all(|(name, identity)| name == identity.tool.as_str()));
        }
    }
}
